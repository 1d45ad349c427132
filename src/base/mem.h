/* SPDX-License-Identifier: BSD-2-Clause
 * mem.h - large buffers that really go back to the system, and what the system says. */
#ifndef GKV__MEM_H
#define GKV__MEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed pages straight from the kernel; NULL when there are none (also for 0 bytes or an
 * overflow of n * size).  Freed memory leaves the resident set at once, which malloc does
 * not promise. */
void *gkv__pages(uint64_t n, uint64_t size);
void  gkv__pages_free(void *p, uint64_t n, uint64_t size);      /* p may be NULL             */

uint64_t gkv__mem_resident(void);       /* of this process, now; 0: unknown                  */
uint64_t gkv__mem_peak(void);           /* of this process, so far: what time(1) shows       */
uint64_t gkv__mem_available(void);      /* what could still be used without swapping,
                                           control groups respected; 0: unknown              */
double   gkv__seconds(void);            /* monotonic clock                                   */

#endif
