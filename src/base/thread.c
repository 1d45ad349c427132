/* SPDX-License-Identifier: BSD-2-Clause
 * thread.c - see thread.h */
#include "config.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "src/base/team.h"
#include "src/base/thread.h"

struct items {
    atomic_size_t next;
    size_t        n;
    void        (*fn)(void *arg, size_t i, unsigned thread);
    void         *arg;
};

static void take_items(void *arg, unsigned thread)
{
    struct items *x = arg;

    for (size_t i; (i = atomic_fetch_add(&x->next, 1)) < x->n; )
        x->fn(x->arg, i, thread);
}

void gkv__for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned thread),
              void *arg)
{
    struct items x = { .n = n, .fn = fn, .arg = arg };

    gkv__team(n_threads < n ? n_threads : (unsigned)n, take_items, &x);
}

enum { PARTS = 64, LINE = 64 };

struct part { _Alignas(LINE) atomic_size_t next; };

struct parts {
    size_t        n_parts, n, most;
    gkv__range_fn *fn;
    void         *arg;
    struct part   part[PARTS];
};

/* Each thread starts with its own part, then continues with the parts of others.  It takes half of what is
 * left of a part, so that the last pieces are small and no thread waits long for another.  No piece goes across a
 * multiple of `most`. */
static void take_parts(void *arg, unsigned thread)
{
    struct parts *x = arg;

    for (size_t k = 0; k < x->n_parts; k++) {
        const size_t p = (thread + k) % x->n_parts, end = x->n * (p + 1) / x->n_parts;
        size_t at = atomic_load(&x->part[p].next);

        while (at < end) {
            const size_t half = (end - at + 1) / 2, whole = x->most - at % x->most;
            const size_t to = at + (half < whole ? half : whole);

            if (atomic_compare_exchange_weak(&x->part[p].next, &at, to)) {
                x->fn(x->arg, at, to, thread);
                at = atomic_load(&x->part[p].next);
            }
        }
    }
}

void gkv__for_parts(unsigned n_threads, size_t n, size_t most, gkv__range_fn *fn, void *arg)
{
    struct parts x = { .n_parts = n_threads < PARTS ? n_threads : PARTS, .n = n, .most = most, .fn = fn, .arg = arg };

    x.n_parts = x.n_parts ? x.n_parts : 1;
    for (size_t p = 0; p < x.n_parts; p++)
        atomic_init(&x.part[p].next, n * p / x.n_parts);
    gkv__team(n > 1 ? n_threads : 1, take_parts, &x);
}

struct gkv__task {
    pthread_t thread;
    void    (*fn)(void *arg);
    void     *arg;
};

static void *run(void *arg)
{
    struct gkv__task *t = arg;

    t->fn(t->arg);
    return NULL;
}

void gkv__block_signals(sigset_t *before)
{
    static const int own[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    pthread_sigmask(SIG_SETMASK, &set, before);
}

struct gkv__task *gkv__task_start(void (*fn)(void *arg), void *arg)
{
    struct gkv__task *t = malloc(sizeof *t);
    sigset_t before;
    int refused;

    if (!t)
        return NULL;
    t->fn = fn;
    t->arg = arg;
    gkv__block_signals(&before);
    refused = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (refused) {
        free(t);
        return NULL;
    }
    return t;
}

void gkv__task_join(struct gkv__task *t)
{
    if (!t)
        return;
    pthread_join(t->thread, NULL);
    free(t);
}
