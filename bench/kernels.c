/* SPDX-License-Identifier: BSD-2-Clause
 * bench/kernels.c - one thread: GFLOP/s of the kernels at the level in use (GEMKV_CPU caps it) and of a
 * loop of FMA only on the same core; then of products as the engine calls them, with every --gemm of this
 * build; then GB/s of K and V in decode, and of a loop that only reads them.
 * Candidates alternate; prints the median of nine and the range. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/peak.h"
#include "simd/simd.h"
#include "src/engine/gemm.h"
#include "src/base/mem.h"
#include "tests/table-scale.h"

enum { RUNS = 9, M = 1024, N = 1536, K = 512, NC = 96, D = 64, KEYS = 128, TILES = 16, BLOCKS = 8 };

static const struct gkv__simd *simd;
static float *a, *b, *c, *panels, *qt, *ot, *kv, *score, *row, *form;
static uint8_t *weights[GKV__N_TYPES];

/* CPU time of this thread, so that other work of the machine counts less. */
static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *numbers(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);

    for (size_t i = 0; p && i < n; i++)
        p[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return p;
}

/* Each run returns the number of its floating-point operations. */
static double run_peak(void)
{
    return bench_peak(20000000);
}

static double run_gemm(void)
{
    for (size_t j = 0; j < N; j += NC) {
        for (size_t i = 0; i < NC; i += simd->nr)
            simd->pack(panels + i * K, b + (j + i) * K, K, simd->nr, K);
        simd->gemm(c + j, N, a, K, panels, M, NC, K, 0);
    }
    return 2.0 * M * N * K;
}

static double run_attend(void)
{
    const size_t lanes = simd->attend.lanes;

    for (int i = 0; i < BLOCKS * 4; i++)
        for (size_t t = 0; t < TILES; t++)
            simd->attend.run(ot + t * D * lanes, row, row + lanes, qt + t * D * lanes,
                         kv + i % BLOCKS * 2 * KEYS * D, kv + (i % BLOCKS * 2 + 1) * KEYS * D, KEYS, D,
                         NULL, score);
    return 4.0 * BLOCKS * 4 * TILES * (double)lanes * KEYS * D;
}

/* The same with weights of a type in its own form; activations are prepared once. */
static double run_mul(enum gkv__type type)
{
    const struct gkv__product *mul = &simd->product[type];
    const size_t stride = K / gkv__quant_of(type)->block * gkv__quant_of(type)->bytes;
    const size_t units = K / mul->unit, ldx = units * mul->x_bytes;

    for (size_t r = 0; r < M; r++)
        mul->prepare((uint8_t *)form + r * ldx, a + r * K, K);
    for (size_t j = 0; j < N; j += NC) {
        for (size_t i = 0; i < NC; i += mul->nr)
            mul->pack((uint8_t *)panels + i * units * mul->w_bytes, weights[type] + (j + i) * stride,
                      stride, mul->nr, K);
        mul->gemm(c + j, N, form, ldx, panels, M, NC, K, 0);
    }
    return 2.0 * M * N * K;
}

/* Decode: returns the bytes of weights read. */
static double run_gemv(enum gkv__type type)
{
    enum { LONG = 4 * K };
    const size_t stride = LONG / gkv__quant_of(type)->block * gkv__quant_of(type)->bytes;
    const struct gkv__band all = { weights[type], stride, N / 4, 0, gkv__band_most(N / 4) };

    simd->product[type].prepare_one(form, a, LONG);
    for (int i = 0; i < 100; i++)
        simd->product[type].gemv(c, &all, form, LONG, 0);
    return 100.0 * (double)(N / 4 * stride);
}

static const struct { const char *name; double (*run)(void); } cases[] = {
    { "fma peak", run_peak },
    { "gemm, packing included", run_gemm },
    { "attend", run_attend },
};

enum { N_CASES = sizeof cases / sizeof *cases };

static int ascending(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
}

/* Unpacking f32 weights is only a copy, so this is the speed of products as the engine calls them. */
static void gemms(void)
{
    enum { MOST = 8 };
    static const struct gkv__shape s = { .n_layer = 1, .n_embd = K, .n_head = 1, .n_head_kv = 1,
                                         .head_dim = D, .n_ff = K, .n_rot = D };
    const struct gkv__mat w = { gkv__quant_of(GKV__TYPE_F32), (const uint8_t *)b, N, K };
    static double rate[MOST][RUNS];
    const char *name;

    for (int r = -1; r < RUNS; r++)
        for (size_t i = 0; i < MOST && (name = gkv__gemm_at(i)); i++) {
            struct gkv__rows x = { a, M, form, NULL };
            struct gkv__exec e = { 0 };
            double start;

            if (gkv__exec_open(&e, simd, gkv__gemm_named(name), &s, 1, 16, NULL) != GKV_OK)
                return;
            gkv__gemm(&e, c, &x, &w, false);    /* its own preparations */
            start = cpu_seconds();
            gkv__gemm(&e, c, &x, &w, false);
            if (r >= 0)
                rate[i][r] = 2e-9 * M * N * K / (cpu_seconds() - start);
            gkv__exec_close(&e);
        }
    printf("\nproducts with f32 weights, --gemm: GFLOP/s\n");
    for (size_t i = 0; i < MOST && (name = gkv__gemm_at(i)); i++) {
        qsort(rate[i], RUNS, sizeof **rate, ascending);
        printf("%-24s %7.1f  (%.1f - %.1f)\n", name, rate[i][RUNS / 2], rate[i][0], rate[i][RUNS - 1]);
    }
}

/* N * K weights; of types that are only read, random bits. */
static void make_weights(const struct gkv__quant *q, uint8_t *to)
{
    if (q->from_f32) {
        q->from_f32(b, to, (size_t)N * K);
        return;
    }
    for (size_t i = 0; i < (size_t)N * K / q->block * q->bytes; i++)
        to[i] = (uint8_t)rand();
    for (size_t i = 0; i < (size_t)N * K / q->block; i++)
        table_scale(q, to + i * q->bytes, gkv__f32_to_f16(1));
}

/* Compares in one run all types that have a form of their own. */
static void formats(void)
{
    static double gemm[GKV__N_TYPES][RUNS], gemv[GKV__N_TYPES][RUNS];

    for (int r = -1; r < RUNS; r++)
        for (size_t t = 0; t < GKV__N_TYPES; t++) {
            double start = cpu_seconds(), mid, work, bytes;

            if (!simd->product[t].form)
                continue;
            if (!weights[t]) {
                weights[t] = (uint8_t *)numbers((size_t)N * K);
                make_weights(gkv__quant_of((enum gkv__type)t), weights[t]);
            }
            start = cpu_seconds();
            work = run_mul((enum gkv__type)t);
            mid = cpu_seconds();
            bytes = run_gemv((enum gkv__type)t);
            if (r < 0)
                continue;
            gemm[t][r] = work / (mid - start) * 1e-9;
            gemv[t][r] = bytes / (cpu_seconds() - mid) * 1e-9;
        }
    printf("\nproducts in integers: GOP/s with packing included; GB/s of weights from cache\n");
    for (size_t t = 0; t < GKV__N_TYPES; t++) {
        if (!simd->product[t].form)
            continue;
        qsort(gemm[t], RUNS, sizeof **gemm, ascending);
        qsort(gemv[t], RUNS, sizeof **gemv, ascending);
        printf("%-8s %-5s %7.1f  (%.1f - %.1f)   %6.1f  (%.1f - %.1f)\n",
               gkv__quant_of((enum gkv__type)t)->name, simd->product[t].form, gemm[t][RUNS / 2], gemm[t][0],
               gemm[t][RUNS - 1], gemv[t][RUNS / 2], gemv[t][0], gemv[t][RUNS - 1]);
    }
}

/* Prefill: products of many rows with each type, as the engine calls them, activations prepared each time. */
static void prefill(const char *gemm)
{
    enum { ROWS = 512, WIDE = 2048 };
    static const struct gkv__shape s = { .n_layer = 1, .n_embd = WIDE, .n_head = 1, .n_head_kv = 1,
                                         .head_dim = D, .n_ff = WIDE, .n_rot = D };
    static double rate[GKV__N_TYPES][RUNS];
    float *x = numbers((size_t)ROWS * WIDE), *y = numbers((size_t)ROWS * WIDE);
    float *f = numbers(ROWS * gkv__gemm_form(WIDE));
    struct gkv__exec e = { 0 };

    if (!x || !y || !f || gkv__exec_open(&e, simd, gkv__gemm_named(gemm), &s, 1, 16, NULL) != GKV_OK)
        return;
    for (int r = -1; r < RUNS; r++)
        for (size_t t = 0; t < GKV__N_TYPES; t++) {
            const struct gkv__quant *q = gkv__quant_of((enum gkv__type)t);
            static uint8_t *w[GKV__N_TYPES];
            const struct gkv__mat m = { q, w[t], WIDE, WIDE };
            struct gkv__rows in = { x, ROWS, f, NULL };
            double start;

            if (!simd->product[t].form)
                continue;
            if (r < 0) {
                const size_t have = (size_t)N * K / q->block * q->bytes;
                const size_t bytes = (size_t)WIDE * WIDE / q->block * q->bytes;

                w[t] = (uint8_t *)numbers((size_t)WIDE * WIDE);
                for (size_t at = 0; at < bytes; at += have)
                    memcpy(w[t] + at, weights[t], bytes - at < have ? bytes - at : have);
                continue;
            }
            start = cpu_seconds();
            gkv__gemm(&e, y, &in, &m, false);
            rate[t][r] = 2e-9 * ROWS * WIDE * WIDE / (cpu_seconds() - start);
        }
    printf("\n--gemm %s, products of %d rows, %d inputs and outputs, as the engine calls them: GOP/s\n", gemm, ROWS, WIDE);
    for (size_t t = 0; t < GKV__N_TYPES; t++)
        if (simd->product[t].form) {
            qsort(rate[t], RUNS, sizeof **rate, ascending);
            printf("%-8s %-6s %7.1f  (%.1f - %.1f)\n", gkv__quant_of((enum gkv__type)t)->name,
                   !strcmp(gemm, "coarse") && simd->many_coarse[t].form ? simd->many_coarse[t].form
                   : simd->many[t].form ? simd->many[t].form
                   : !strcmp(gemm, "coarse") && simd->coarse[t].form ? simd->coarse[t].form : simd->product[t].form,
                   rate[t][RUNS / 2], rate[t][0], rate[t][RUNS - 1]);
        }
    gkv__exec_close(&e);
}

/* Decoding: query heads that share a KV head; more f16 keys and values than CPU caches hold, in
 * pieces as in src/engine/attend.c.  The first line is a loop that only reads them. */
static void decode(void)
{
    enum { KV = 1 << 19, PIECE = 512, N_ROWS = 5 };
    static const size_t rows[N_ROWS] = { 0, 1, 2, 4, 8 };
    static double rate[N_ROWS][RUNS];
    const size_t bytes = (size_t)KV * D * 2;
    uint8_t *k = gkv__pages(2, bytes), *v = k + bytes;
    volatile double sink = 0;
    float l[8], q[8 * GKV__FEW_ROW(D)];

    if (!k)
        return;
    for (size_t i = 0; i < 2 * bytes; i += 2)
        memcpy(k + i, &(uint16_t){ (uint16_t)(0x3000 + i / 2 * 40503 % 2048) }, 2);
    for (int r = 0; r < RUNS; r++)
        for (size_t i = 0; i < N_ROWS; i++) {
            double start = cpu_seconds();

            for (size_t j = 0; j < 8; j++)
                row[j] = GKV__ATTEND_MIN, l[j] = 0;
            memset(ot, 0, 8 * D * sizeof *ot);
            if (rows[i])
                for (size_t at = 0; at < bytes; at += PIECE * D * 2) {
                    memcpy(q, qt, sizeof q);
                    simd->attend_few[GKV__TYPE_F16](ot, row, l, q, k + at, v + at, rows[i], PIECE, D,
                                                    NULL);
                }
            else
                sink += bench_read(k, 2 * bytes);
            rate[i][r] = 2e-9 * (double)bytes / (cpu_seconds() - start);
        }
    printf("\nattend_few, head_dim %d, f16: GB/s of K and V from memory\n", D);
    for (size_t i = 0; i < N_ROWS; i++) {
        qsort(rate[i], RUNS, sizeof **rate, ascending);
        printf("%zu rows%s %*.1f  (%.1f - %.1f)\n", rows[i], rows[i] ? "          " : ", only read",
               14, rate[i][RUNS / 2], rate[i][0], rate[i][RUNS - 1]);
    }
    gkv__pages_free(k, 2, bytes);
}

int main(void)
{
    static double rate[N_CASES][RUNS];

    simd = gkv__simd();
    if (!simd)
        return 2;
    a = numbers((size_t)M * K);
    b = numbers((size_t)N * K);
    c = numbers((size_t)M * N);
    panels = numbers((size_t)NC * K * 2);
    qt = numbers(TILES * D * simd->attend.lanes);
    ot = numbers(TILES * D * simd->attend.lanes);
    kv = numbers((size_t)BLOCKS * 2 * KEYS * D);
    score = numbers(KEYS * simd->attend.lanes);
    row = numbers(2 * simd->attend.lanes);
    form = numbers((size_t)M * K);
    for (int r = -1; r < RUNS; r++)             /* run -1 warms up */
        for (size_t i = 0; i < N_CASES; i++) {
            double start = cpu_seconds(), flop = cases[i].run();
            if (r >= 0)
                rate[i][r] = flop / (cpu_seconds() - start) * 1e-9;
        }
    printf("level %s, one thread, f32 GFLOP/s\n", simd->level);
    for (size_t i = 0; i < N_CASES; i++) {
        qsort(rate[i], RUNS, sizeof **rate, ascending);
        printf("%-24s %7.1f  (%.1f - %.1f)  %3.0f %% of peak\n", cases[i].name, rate[i][RUNS / 2],
               rate[i][0], rate[i][RUNS - 1], 100 * rate[i][RUNS / 2] / rate[0][RUNS / 2]);
    }
    gemms();
    formats();
    prefill("own");
    prefill("coarse");
    decode();
    return 0;
}
