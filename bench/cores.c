/* SPDX-License-Identifier: BSD-2-Clause
 * bench/cores.c - how unequal the processors of a machine are, and what is left of each when all compute:
 *
 *     bench/cores [SECONDS]
 *
 * GFLOP/s of products of Q8_0 as prefill computes them, at the level in use (GEMKV_CPU caps it): of each processor alone,
 * one after another, then of all at the same time, each with a thread of its own.  Two hardware threads of a core
 * share its multipliers, whether both are ours or one is another virtual machine's. */
#define _GNU_SOURCE
#include "config.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "src/engine/gemm.h"

enum { ROWS = 256, N_OUT = 256, N_IN = 2048, MOST = CPU_SETSIZE };

struct worker {
    int       cpu;
    pthread_t id;
    double    rate;
};

static const struct gkv__shape shape = { .n_layer = 1, .n_embd = N_IN, .n_head = 32, .n_head_kv = 8, .head_dim = 64,
                                         .n_ff = N_IN, .n_rot = 64 };
static double limit = 0.3;
static atomic_int ready, wanted;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)(i % 251) / 251 - 0.5f;
    return x;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_Q8_0);
    float *x = numbers((size_t)ROWS * N_IN), *y = numbers((size_t)ROWS * N_OUT), *form = numbers(ROWS * gkv__gemm_form(N_IN));
    float *from = numbers((size_t)N_OUT * N_IN);
    uint8_t *packed = malloc((size_t)N_OUT * N_IN * 2);
    struct gkv__exec e = { 0 };
    double began, took = 0;
    cpu_set_t only;
    long n = 0;

    CPU_ZERO(&only);
    CPU_SET((size_t)w->cpu, &only);
    if (!x || !y || !form || !from || !packed || sched_setaffinity(0, sizeof only, &only) ||
        gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &shape, 1, 16, NULL) != GKV_OK) {
        fprintf(stderr, "bench/cores: processor %d: no memory, or not allowed\n", w->cpu);
        exit(1);
    }
    q->from_f32(from, packed, (size_t)N_OUT * N_IN);
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < atomic_load(&wanted))
        ;
    for (began = now(); took < limit; took = now() - began, n++) {
        struct gkv__rows in = { x, ROWS, form, NULL };

        gkv__gemm(&e, y, &in, &(struct gkv__mat){ q, packed, N_OUT, N_IN }, false);
    }
    w->rate = 2e-9 * (double)n * ROWS * N_OUT * N_IN / took;
    gkv__exec_close(&e);
    free(x);
    free(y);
    free(form);
    free(from);
    free(packed);
    return NULL;
}

/* All of them at once; prints each one's rate and returns the sum. */
static double run(struct worker *w, int n)
{
    double sum = 0;

    ready = 0;
    wanted = n;
    for (int i = 0; i < n; i++)
        if (pthread_create(&w[i].id, NULL, work, &w[i]))
            exit(1);
    for (int i = 0; i < n; i++) {
        pthread_join(w[i].id, NULL);
        printf(" %.0f", w[i].rate);
        sum += w[i].rate;
    }
    return sum;
}

int main(int argc, char **argv)
{
    static struct worker w[MOST];
    double alone = 0, together;
    cpu_set_t may;
    int n = 0;

    limit = argc > 1 ? atof(argv[1]) : limit;
    if (!gkv__simd() || sched_getaffinity(0, sizeof may, &may)) {
        fprintf(stderr, "bench/cores: this processor or system is not known\n");
        return 1;
    }
    for (int i = 0; i < MOST; i++)
        if (CPU_ISSET((size_t)i, &may))
            w[n++].cpu = i;
    printf("level %s, %d processors, GFLOP/s\nalone   ", gkv__simd()->level, n);
    for (int i = 0; i < n; i++)
        alone += run(&w[i], 1);
    printf("\ntogether");
    together = run(w, n);
    printf("\nsum of those alone %.0f, together %.0f: %.2f\n", alone, together, together / alone);
    return 0;
}
