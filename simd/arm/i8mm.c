/* SPDX-License-Identifier: BSD-2-Clause
 * i8mm.c - Neoverse V1 and N2 (2021), Cortex-X2, Apple M2 on: SMMLA multiplies 2 x 8 by 8 x 2
 * signed bytes, twice the products of SDOT.  prepare handles one row at a time, so two rows are
 * interleaved when they are read: one instruction for every four SMMLA.  With three pairs of
 * rows and four of outputs there are 12 integer and 12 float accumulators, and a step loads 4
 * vectors of weights and 3 of activations for 12 SMMLA.
 *
 * Products of one row use dotprod's kernels. */
#ifndef __ARM_FEATURE_MATMUL_INT8
#error "i8mm.c needs CFLAGS_I8MM"
#endif
#include "config.h"
#include <stddef.h>
#include "simd/simd.h"

#define SUFFIX i8mm
#define VW 4
#define NV 3
#define ANV 3
#define INV 2
#define I8_SIGNED 1
#include "simd/impl/vec.h"
#include "simd/impl/bytes.h"
#include "simd/impl/tile.h"
#include "simd/impl/form_int.h"

enum { PAIRS = 3, OUT = INR / 2 };

/* A block of a panel: u[4][INR][8], d and m as in form_int.h. */
INLINE void pack(FN(bytes_fn) *bytes, int off, int halves, int min, uint8_t *to,
                 const uint8_t *w, size_t stride, size_t n, size_t k)
{
    for (size_t i = 0; i < k / 32; i++, to += i8_block(halves, min)) {
        float *d = (float *)(void *)(to + 32 * INR), *m = d + (halves + 1) * INR;

        for (size_t j = 0; j < INR; j++) {
            float dd[2] = { 0 }, mm[2] = { 0 };
            v32 u = { 0 };

            if (j < n)
                u = i8_weights(bytes(w + j * stride, i, dd, mm), off);
            for (size_t t = 0; t < 4; t++)
                memcpy(to + (t * INR + j) * 8, (const uint8_t *)&u + 8 * t, 8);
            for (int h = 0; h <= halves; h++) {
                d[(size_t)h * INR + j] = dd[h];
                if (min)
                    m[(size_t)h * INR + j] = mm[h];
            }
        }
    }
}

/* Keeps sums in the order written: GCC's scheduling would begin so many that registers are spilled. */
#define KEEP_ORDER(s) __asm__ volatile("" : "+w"(s))

INLINE vi step(vi s, int64x2_t x, vi u)
{
    int32x4_t sum = vmmlaq_s32((int32x4_t)s, (int8x16_t)x, (int8x16_t)u);

    KEEP_ORDER(sum);
    return (vi)sum;
}

/* Lanes a a b b, for the scales of two rows; lanes a b a b, for those of two outputs. */
INLINE vf of_rows(const uint8_t *a, const uint8_t *b)
{
    float x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (vf)vcombine_f32(vdup_n_f32(x), vdup_n_f32(y));
}

INLINE vf of_outputs(const float *p)
{
    uint64_t both;

    memcpy(&both, p, sizeof both);
    return (vf)vdupq_n_u64(both);
}

/* Lanes of an accumulator: the first row with both outputs, then the second row with both.  If the last pair
 * has only one row, that row is used twice. */
INLINE void tile(int mr, int halves, int min, float *c, size_t ldc, const uint8_t *x, size_t ldx,
                 const uint8_t *w, size_t n, size_t k, int add)
{
    const size_t xb = halves ? sizeof(struct FN(i8h)) : sizeof(struct FN(i8));
    const size_t xq = halves ? offsetof(struct FN(i8h), q) : offsetof(struct FN(i8), q);
    const size_t xm = halves ? offsetof(struct FN(i8h), sum) : offsetof(struct FN(i8), sum);
    const int pairs = (mr + 1) / 2, sixteens = halves ? 1 : 2;
    vf acc[PAIRS][OUT], out[8][4];

#pragma GCC unroll 4
    for (int p = 0; p < pairs; p++)
#pragma GCC unroll 4
        for (int j = 0; j < OUT; j++)
            acc[p][j] = splat(0);
    for (size_t i = 0; i < k / 32; i++, x += xb, w += i8_block(halves, min)) {
        const float *d = (const float *)(const void *)(w + 32 * INR);
        const float *m = d + (halves + 1) * INR;

#pragma GCC unroll 2
        for (int h = 0; h <= halves; h++) {
            vi s[PAIRS][OUT];

#pragma GCC unroll 4
            for (int p = 0; p < pairs; p++)
#pragma GCC unroll 4
                for (int j = 0; j < OUT; j++)
                    s[p][j] = isplat(0);
#pragma GCC unroll 2
            for (int e = 0; e < sixteens; e++) {
                const int g = halves ? h : e;
                int64x2_t both[PAIRS][2];       /* inputs 0-7, 8-15 of both rows */

#pragma GCC unroll 4
                for (int p = 0; p < pairs; p++) {
                    const uint8_t *q = x + (size_t)(2 * p) * ldx + xq + 16 * (size_t)g;
                    const int64x2_t a = (int64x2_t)load_i(q);
                    const int64x2_t b = (int64x2_t)load_i(2 * p + 1 < mr ? q + ldx : q);

                    both[p][0] = vzip1q_s64(a, b);
                    both[p][1] = vzip2q_s64(a, b);
                }
#pragma GCC unroll 2
                for (int t = 0; t < 2; t++)
#pragma GCC unroll 4
                    for (int j = 0; j < OUT; j++) {
                        vi u = load_i(w + ((size_t)(2 * g + t) * INR + 2 * (size_t)j) * 8);
#pragma GCC unroll 4
                        for (int p = 0; p < pairs; p++)
                            s[p][j] = step(s[p][j], both[p][t], u);
                    }
            }
#pragma GCC unroll 4
            for (int p = 0; p < pairs; p++) {
                const uint8_t *a = x + (size_t)(2 * p) * ldx, *b = 2 * p + 1 < mr ? a + ldx : a;
                const size_t at = xm + 4 * (size_t)h;
                const vf f = of_rows(a, b), sum = min ? of_rows(a + at, b + at) : f;

#pragma GCC unroll 4
                for (int j = 0; j < OUT; j++) {
                    const size_t o = (size_t)h * INR + 2 * (size_t)j;

                    acc[p][j] = fused(__builtin_convertvector(s[p][j], vf), of_outputs(d + o) * f, acc[p][j]);
                    if (min)
                        acc[p][j] = fused(of_outputs(m + o), sum, acc[p][j]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < pairs; p++)
#pragma GCC unroll 4
        for (int j = 0; j < OUT; j += 2) {
            const float64x2_t a = (float64x2_t)acc[p][j], b = (float64x2_t)acc[p][j + 1];

            out[2 * p][j / 2] = (vf)vzip1q_f64(a, b);
            out[2 * p + 1][j / 2] = (vf)vzip2q_f64(a, b);
        }
    tile_store(mr, INV, c, ldc, out, n, add);
}

INLINE void gemm(int halves, int min, float *c, size_t ldc, const uint8_t *x, size_t ldx,
                 const uint8_t *w, size_t m, size_t n, size_t k, int add)
{
    for (size_t j = 0; j < n; j += INR, w += k / 32 * i8_block(halves, min)) {
        size_t nj = n - j < INR ? n - j : INR, r = 0;

        for (; r + 2 * PAIRS <= m; r += 2 * PAIRS)
            tile(2 * PAIRS, halves, min, c + r * ldc + j, ldc, x + r * ldx, ldx, w, nj, k, add);
        for (; r + 2 <= m; r += 2)
            tile(2, halves, min, c + r * ldc + j, ldc, x + r * ldx, ldx, w, nj, k, add);
        if (r < m)
            tile(1, halves, min, c + r * ldc + j, ldc, x + r * ldx, ldx, w, nj, k, add);
    }
}

#define GEMM(name, halves, min)                                                             \
    static void gemm_##name##_i8mm(float *c, size_t ldc, const void *x, size_t ldx,         \
                                   const void *panels, size_t m, size_t n, size_t k,        \
                                   int add)                                                 \
    {                                                                                       \
        gemm(halves, min, c, ldc, x, ldx, panels, m, n, k, add);                            \
    }
GEMM(i8, 0, 0) GEMM(i8_min, 0, 1) GEMM(i8_halves, 1, 0) GEMM(i8_halves_min, 1, 1)

#define PACK(TYPE, name, ...)                                                               \
    static void pack_##name##_i8mm(void *panel, const void *w, size_t stride, size_t n,     \
                                   size_t k)                                                \
    {                                                                                       \
        pack(bytes_##name, OFF_##name, HALVES_##name, MIN_##name, panel, w, stride, n, k);  \
    }
GKV__BYTE_TYPES(PACK)

void gkv__simd_i8mm(struct gkv__simd *k)
{
    static void (*const by[2][2])(float *, size_t, const void *, size_t, const void *, size_t,
                                  size_t, size_t, int) = {      /* halves, min */
        { gemm_i8_i8mm, gemm_i8_min_i8mm }, { gemm_i8_halves_i8mm, gemm_i8_halves_min_i8mm },
    };
    struct gkv__product *p;

#define SLOT(TYPE, name, ...)                                                               \
    p = &k->product[GKV__TYPE_##TYPE];                                                      \
    p->w_bytes = (uint16_t)(i8_block(HALVES_##name, MIN_##name) / INR);                     \
    p->nr = INR;                                                                            \
    p->pack = pack_##name##_i8mm;                                                           \
    p->gemm = by[HALVES_##name][MIN_##name];
    GKV__BYTE_TYPES(SLOT)
}
