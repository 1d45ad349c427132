/* SPDX-License-Identifier: BSD-2-Clause
 * file.h - whole reads and writes, whatever interrupts them. */
#ifndef GKV__FILE_H
#define GKV__FILE_H

#include <stdbool.h>
#include <stdint.h>

/* n bytes at `at` of fd.  False: errno says why; 0 when the file ends too early. */
bool gkv__read_at(int fd, void *p, uint64_t n, uint64_t at);
bool gkv__write_at(int fd, const void *p, uint64_t n, uint64_t at);

#endif
