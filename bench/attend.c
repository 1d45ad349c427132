/* SPDX-License-Identifier: BSD-2-Clause
 * bench/attend.c - attention as the engine runs it, deep in a text:
 *
 *     bench/attend [THREADS [TYPE]]
 *
 * GFLOP/s of causal attention of a block of tokens at several depths, with 32 query heads, 8 KV heads and
 * a cache of TYPE (f16), and those of a loop of FMA in f32 only, on the same number of threads.  Sizes
 * alternate; prints the median of five and the range. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/peak.h"
#include "src/base/cores.h"
#include "src/engine/attend.h"
#include "src/engine/gemm.h"
#include "src/base/thread.h"

enum { RUNS = 5, HEADS = 32, HEADS_KV = 8, ROWS = 512 };

/* Depths are multiples of ROWS. */
static const struct { uint32_t head_dim; uint64_t depth; } cases[] = {
    { 64, 1024 }, { 64, 8192 }, { 64, 32768 }, { 64, 131072 },
    { 128, 1024 }, { 128, 8192 }, { 128, 32768 }, { 128, 131072 },
};

enum { N_CASES = sizeof cases / sizeof *cases };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* Returns the seconds for one block of rows. */
static double run(unsigned n_threads, const struct gkv__quant *type, size_t i)
{
    const size_t d = cases[i].head_dim;
    const struct gkv__shape s = { .n_layer = 1, .n_embd = HEADS * (uint32_t)d, .n_head = HEADS,
                                  .n_head_kv = HEADS_KV, .head_dim = (uint32_t)d, .n_ff = 256,
                                  .n_rot = (uint32_t)d };
    struct gkv__exec e = { 0 };
    struct gkv__cache c = { 0 };
    double start;

    if (gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &s, n_threads, ROWS, NULL) != GKV_OK ||
        gkv__cache_open(&c, type, 1, HEADS_KV, (uint32_t)d, cases[i].depth + ROWS, NULL) != GKV_OK) {
        fprintf(stderr, "bench/attend: not enough memory\n");
        exit(1);
    }
    fill(e.q, ROWS * HEADS * d);
    fill(e.k, ROWS * HEADS_KV * d);
    fill(e.v, ROWS * HEADS_KV * d);
    for (uint64_t at = 0; at <= cases[i].depth; at += ROWS)
        gkv__cache_put(&c, 0, at, e.k, e.v, ROWS, 1);
    gkv__attend(&e, &c, 0, e.att, e.q, ROWS / 16, cases[i].depth, &(struct gkv__view){ 0 }, NULL);          /* warms up */
    start = seconds();
    gkv__attend(&e, &c, 0, e.att, e.q, ROWS, cases[i].depth, &(struct gkv__view){ 0 }, NULL);
    start = seconds() - start;
    gkv__cache_close(&c);
    gkv__exec_close(&e);
    return start;
}

static void peak_item(void *arg, size_t i, unsigned thread)
{
    (void)thread;
    ((double *)arg)[i] = bench_peak(20000000);
}

static double peak(unsigned n_threads)
{
    double flop[256] = { 0 }, start = seconds(), sum = 0;

    gkv__for(n_threads, n_threads, peak_item, flop);
    start = seconds() - start;
    for (unsigned i = 0; i < n_threads; i++)
        sum += flop[i];
    return sum / start * 1e-9;
}

static int ascending(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
}

int main(int argc, char **argv)
{
    static double rate[N_CASES + 1][RUNS];
    const unsigned n_threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : gkv__cores().threads;
    const struct gkv__quant *type = gkv__quant_named(argc > 2 ? argv[2] : "f16");

    if (!gkv__simd() || !type || !n_threads || n_threads > 256) {
        fprintf(stderr, "usage: bench/attend [THREADS [f32|f16|bf16|q8_0]]\n");
        return 2;
    }
    for (int r = 0; r < RUNS; r++) {
        rate[N_CASES][r] = peak(n_threads);
        for (size_t i = 0; i < N_CASES; i++) {
            const double n = ROWS, took = run(n_threads, type, i);
            const double pairs = n * (double)cases[i].depth + n * (n + 1) / 2;

            rate[i][r] = 4 * pairs * HEADS * cases[i].head_dim / took * 1e-9;
        }
    }
    qsort(rate[N_CASES], RUNS, sizeof **rate, ascending);
    printf("level %s, %u threads, keys and values in %s; FMA in f32 %.0f GFLOP/s\n", gkv__simd()->level,
           n_threads, type->name, rate[N_CASES][RUNS / 2]);
    for (size_t i = 0; i < N_CASES; i++) {
        qsort(rate[i], RUNS, sizeof **rate, ascending);
        printf("head_dim %3u after %6llu tokens  %7.1f  (%.1f - %.1f)  %3.0f %%\n", cases[i].head_dim,
               (unsigned long long)cases[i].depth, rate[i][RUNS / 2], rate[i][0], rate[i][RUNS - 1],
               100 * rate[i][RUNS / 2] / rate[N_CASES][RUNS / 2]);
    }
    return 0;
}
