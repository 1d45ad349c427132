/* SPDX-License-Identifier: BSD-2-Clause
 * thread.c - see thread.h */
#include "config.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "src/base/thread.h"

void gkv__for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned thread),
              void *arg)
{
#ifdef _OPENMP
    if (n_threads > 1 && n > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
        for (size_t i = 0; i < n; i++)
            fn(arg, i, (unsigned)omp_get_thread_num());
        return;
    }
#endif
    (void)n_threads;
    for (size_t i = 0; i < n; i++)
        fn(arg, i, 0);
}

enum { PARTS = 64, LINE = 64 };

struct part { _Alignas(LINE) atomic_size_t next; };

/* Each thread starts with its own part, then goes on to the parts of others.  It takes half of what is left
 * of a part, so that the last pieces are small and no thread waits long for another. */
static void take(struct part *part, size_t n_parts, size_t n, size_t most, gkv__range_fn *fn, void *arg,
                 unsigned thread)
{
    for (size_t k = 0; k < n_parts; k++) {
        const size_t p = (thread + k) % n_parts, end = n * (p + 1) / n_parts;
        size_t at = atomic_load(&part[p].next);

        while (at < end) {
            const size_t half = (end - at + 1) / 2, to = at + (half < most ? half : most);

            if (atomic_compare_exchange_weak(&part[p].next, &at, to)) {
                fn(arg, at, to, thread);
                at = atomic_load(&part[p].next);
            }
        }
    }
}

void gkv__for_parts(unsigned n_threads, size_t n, size_t most, gkv__range_fn *fn, void *arg)
{
    const size_t n_parts = n_threads < PARTS ? n_threads : PARTS;
    struct part part[PARTS];

    for (size_t p = 0; p < n_parts; p++)
        atomic_init(&part[p].next, n * p / n_parts);
#ifdef _OPENMP
    if (n_threads > 1 && n > 1) {
#pragma omp parallel num_threads(n_threads)
        take(part, n_parts, n, most, fn, arg, (unsigned)omp_get_thread_num());
        return;
    }
#endif
    take(part, n_parts, n, most, fn, arg, 0);
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

/* The new thread blocks all signals: they are for the caller's threads. */
struct gkv__task *gkv__task_start(void (*fn)(void *arg), void *arg)
{
    struct gkv__task *t = malloc(sizeof *t);
    sigset_t all, before;
    int refused;

    if (!t)
        return NULL;
    t->fn = fn;
    t->arg = arg;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
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

/* The lowest-numbered hardware thread of the core that CPU c belongs to. */
static int first_sibling(int c)
{
    char path[96];
    int first = c;
    FILE *f;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c);
    f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%d", &first) != 1)
            first = c;
        fclose(f);
    }
    return first;
}

unsigned gkv__physical_cores(void)
{
    unsigned n = 0;
#ifdef CPU_SETSIZE
    cpu_set_t mine, seen;

    if (!sched_getaffinity(0, sizeof mine, &mine)) {
        CPU_ZERO(&seen);
        for (int c = 0; c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, &mine)) {
                int core = first_sibling(c);
                if (core < 0 || core >= CPU_SETSIZE)
                    core = c;
                n += !CPU_ISSET(core, &seen);
                CPU_SET(core, &seen);
            }
    }
#endif
    if (!n) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online > 0 ? (unsigned)online : 1;
    }
    return n;
}
