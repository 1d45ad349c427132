/* SPDX-License-Identifier: BSD-2-Clause
 * thread.h - the only place with threads.  Work is cut by problem size, never by the number
 * of threads, and nothing is summed across work items but in index order: the same bytes
 * with 1 or 64 threads. */
#ifndef GKV__THREAD_H
#define GKV__THREAD_H

#include <stddef.h>

/* Run fn(arg, i, thread) for i in [0, n), each once, in any order, on up to n_threads
 * threads numbered from 0; returns when all are done. */
void gkv__for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned thread),
              void *arg);

/* The same, for work that reads memory from end to end: fn gets at most `most` of i at a time, from up
 * to but not `to`; every thread goes through a part of its own, in order, and then helps with the
 * others'. */
typedef void gkv__range_fn(void *arg, size_t from, size_t to, unsigned thread);
void gkv__for_parts(unsigned n_threads, size_t n, size_t most, gkv__range_fn *fn, void *arg);

/* One thread beside those: what waits for something else than this processor. */
struct gkv__task;
struct gkv__task *gkv__task_start(void (*fn)(void *arg), void *arg);    /* NULL: refused     */
void gkv__task_join(struct gkv__task *t);                               /* t may be NULL     */

unsigned gkv__physical_cores(void);     /* that this process may run on; at least 1 */

#endif
