/* SPDX-License-Identifier: BSD-2-Clause
 * bench/kernels.c - one thread: GFLOP/s of the kernels at the level in use (GEMKV_CPU caps it),
 * beside what the same core does in a loop of nothing but FMA, and beside OpenBLAS when
 * configured with it.  Candidates alternate; median of nine and the range are printed. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/peak.h"
#include "simd/simd.h"
#include "src/mem.h"
#if HAVE_OPENBLAS
#include <cblas.h>
#endif

enum { RUNS = 9, M = 1024, N = 1536, K = 512, NC = 96, D = 64, KEYS = 128, TILES = 16, BLOCKS = 8 };

static const struct gkv__simd *simd;
static float *a, *b, *c, *panels, *qt, *ot, *kv, *score, *row;

static float *numbers(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);

    for (size_t i = 0; p && i < n; i++)
        p[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return p;
}

/* Each returns its floating-point operations. */
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
    const size_t lanes = simd->lanes;

    for (int i = 0; i < BLOCKS * 4; i++)
        for (size_t t = 0; t < TILES; t++)
            simd->attend(ot + t * D * lanes, row, row + lanes, qt + t * D * lanes,
                         kv + i % BLOCKS * 2 * KEYS * D, kv + (i % BLOCKS * 2 + 1) * KEYS * D, KEYS, D,
                         NULL, score);
    return 4.0 * BLOCKS * 4 * TILES * (double)lanes * KEYS * D;
}

#if HAVE_OPENBLAS
static double run_openblas(void)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, N, K, 1, a, K, b, K, 0, c, N);
    return 2.0 * M * N * K;
}
#endif

static const struct { const char *name; double (*run)(void); } cases[] = {
    { "fma peak", run_peak },
    { "gemm, packing included", run_gemm },
#if HAVE_OPENBLAS
    { "openblas sgemm", run_openblas },
#endif
    { "attend", run_attend },
};

enum { N_CASES = sizeof cases / sizeof *cases };

static int ascending(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
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
    panels = numbers((size_t)NC * K);
    qt = numbers(TILES * D * simd->lanes);
    ot = numbers(TILES * D * simd->lanes);
    kv = numbers((size_t)BLOCKS * 2 * KEYS * D);
    score = numbers(KEYS * simd->lanes);
    row = numbers(2 * simd->lanes);
#if HAVE_OPENBLAS
    openblas_set_num_threads(1);
#endif
    for (int r = -1; r < RUNS; r++)             /* run -1 warms up */
        for (size_t i = 0; i < N_CASES; i++) {
            double start = gkv__seconds(), flop = cases[i].run();
            if (r >= 0)
                rate[i][r] = flop / (gkv__seconds() - start) * 1e-9;
        }
    printf("level %s, one thread, f32 GFLOP/s\n", simd->level);
    for (size_t i = 0; i < N_CASES; i++) {
        qsort(rate[i], RUNS, sizeof **rate, ascending);
        printf("%-24s %7.1f  (%.1f - %.1f)  %3.0f %% of peak\n", cases[i].name, rate[i][RUNS / 2],
               rate[i][0], rate[i][RUNS - 1], 100 * rate[i][RUNS / 2] / rate[0][RUNS / 2]);
    }
    return 0;
}
