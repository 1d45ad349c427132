/* SPDX-License-Identifier: BSD-2-Clause
 * team.h - threads that help whoever calls.  The build has one of two (configure --with-threads):
 *
 *   team-openmp.c   OpenMP's.  They spin while they wait, and a caller waits for all of them, also for one that the
 *                   system has not woken yet.
 *   team-pool.c     one pool for the process, of as many helpers as the largest n_threads needs.  A helper that
 *                   waits spins for a moment, because on an idle machine the next work comes within
 *                   microseconds; then it sleeps, because on a busy machine it would take time from those who
 *                   work.  A caller waits for those helpers only that have begun.  When several threads call at
 *                   the same time, they share the helpers: no more than n_threads threads work in all. */
#ifndef GKV__TEAM_H
#define GKV__TEAM_H

/* Calls fn(arg, 0) in this thread and fn(arg, i), 0 < i < n_threads, in helpers, each i once at most: in as
 * many as come in time.  Returns when all calls have returned.  What fn(arg, 0) would do alone has to be all of the
 * work.  Called from within fn, it has no helpers. */
void gkv__team(unsigned n_threads, void (*fn)(void *arg, unsigned thread), void *arg);

#endif
