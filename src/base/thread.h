/* SPDX-License-Identifier: BSD-2-Clause
 * thread.h - all use of threads.  Work is divided by problem size, never by the number of
 * threads, and sums across work items run in index order, so results are the same bytes with
 * 1 or 64 threads. */
#ifndef GKV__THREAD_H
#define GKV__THREAD_H

#include <signal.h>
#include <stddef.h>

/* Run fn(arg, i, thread) for i in [0, n), each once, in any order, on up to n_threads
 * threads numbered from 0; returns when all are done. */
void gkv__for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned thread),
              void *arg);

/* The same, for work that reads memory from end to end, or whose items had better be large: fn gets from .. to - 1,
 * at most `most` of the n at a time, and only the last of a thread are fewer; a multiple of `most` is never between
 * them.  Each thread goes through a part of its own in order, then helps with the parts of other threads. */
typedef void gkv__range_fn(void *arg, size_t from, size_t to, unsigned thread);
void gkv__for_parts(unsigned n_threads, size_t n, size_t most, gkv__range_fn *fn, void *arg);

/* One thread beside those above, for code that waits for something other than this processor. */
struct gkv__task;
struct gkv__task *gkv__task_start(void (*fn)(void *arg), void *arg);    /* NULL: refused     */
void gkv__task_join(struct gkv__task *t);                               /* t may be NULL     */

/* Before a thread is started, which then blocks these signals: they are for the caller's threads.  Not those that
 * say what this thread itself did: the program may explain them, such as SIGBUS for a model that became shorter. */
void gkv__block_signals(sigset_t *before);

#endif
