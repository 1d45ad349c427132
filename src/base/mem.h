/* SPDX-License-Identifier: BSD-2-Clause
 * mem.h - large buffers that go back to the system when freed, and how much memory there is. */
#ifndef GKV__MEM_H
#define GKV__MEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed pages straight from the kernel; NULL when it refuses, for 0 bytes, and when
 * n * size overflows.  Freed memory leaves the resident set at once, which malloc does
 * not promise. */
void *gkv__pages(uint64_t n, uint64_t size);
void  gkv__pages_free(void *p, uint64_t n, uint64_t size);      /* p may be NULL             */

uint64_t gkv__mem_resident(void);       /* of this process, in bytes; 0: unknown             */
uint64_t gkv__mem_peak(void);           /* its largest so far, as time(1) shows it           */
uint64_t gkv__mem_available(void);      /* bytes that can be used without swapping, control
                                           groups respected; 0: unknown                      */
double   gkv__seconds(void);            /* monotonic clock                                   */

#endif
