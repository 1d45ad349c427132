/* SPDX-License-Identifier: BSD-2-Clause
 * cores.h - how many threads this process should use when nobody says.
 *
 * One per physical core: two hardware threads of a core share its multipliers, which one keeps busy.  Of a
 * processor with fast and slow cores, one per fast core: all wait for the last piece of a work, and on a slow core
 * that takes longer.  Both are what llama.cpp does.  Not more than the processors' worth of time that the control
 * group has: further threads would use it up early in each period, and then all would stand still. */
#ifndef GKV__CORES_H
#define GKV__CORES_H

#include <stdbool.h>
#include <stddef.h>

struct gkv__cores {
    unsigned threads;           /* to use, at least 1                                        */
    unsigned processors;        /* hardware threads that this process may run on             */
    unsigned cores;             /* that these belong to                                      */
    unsigned fast;              /* of the cores; all, if there is one kind                   */
    unsigned quota;             /* processors' worth of time, rounded up; 0: no limit        */
};

/* may[n]: whether this process may run on the processor of that number.  root: what comes before /sys and /proc in
 * the names of files. */
struct gkv__cores gkv__cores_of(const char *root, const bool *may, size_t n);

struct gkv__cores gkv__cores(void);     /* of this process, now                              */

/* How many threads each of so many processes on this machine should use: an equal part of all cores, but no core that this
 * process may not run on. */
unsigned gkv__cores_share(unsigned processes);

/* The i-th line "name: number", NULL when there is none; it is valid until this thread's next call. */
const char *gkv__cores_describe(size_t i);

#endif
