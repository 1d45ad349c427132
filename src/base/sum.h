/* SPDX-License-Identifier: BSD-2-Clause
 * sum.h - a checksum that finds damage, as fast as memory is read.  It is no signature: who wants to can
 * make a file that fits. */
#ifndef GKV__SUM_H
#define GKV__SUM_H

#include <stddef.h>
#include <stdint.h>

/* Of p[n], going on from the sum of what came before; GKV__SUM_START at the beginning. */
#define GKV__SUM_START UINT64_C(0xcbf29ce484222325)
uint64_t gkv__sum(uint64_t sum, const void *p, size_t n);

#endif
