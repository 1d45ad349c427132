/* SPDX-License-Identifier: BSD-2-Clause
 * wide.c - the source of the AVX-512 kernels with AVX-512's width and tile shapes, compiled for AVX2
 * (the compiler splits each vector), so that tails, packing and tiles of that width are tested on
 * machines without it.  It does not test the instructions themselves. */
#include "config.h"
#include "simd/simd.h"
#include "tests/kernels.h"

#define SUFFIX wide
#define VW 16
#define MR 8
#define NV 2
#define AMR 8
#define ANV 3
#define IMR 6
#define INV 2
#define I8_SIGNED 0
#define I16 0
#include "simd/impl/vec.h"

/* Emulated instructions are functions: inlined into every kernel they would take the compiler a third longer. */
#define EMULATED __attribute__((noinline)) static

/* VNNI's instruction in plain arithmetic. */
INLINE int32_t i8_start(int32_t a, int32_t b) { return a + b; }
INLINE vi i8_finish(vi s) { return s; }
#define i8_pauses(top) 0

EMULATED void products(int32_t *s, const void *u, const void *q, int lanes)
{
    for (int i = 0; i < 4 * lanes; i++)
        s[i / 4] += ((const uint8_t *)u)[i] * ((const int8_t *)q)[i];
}

static vi i8_step(vi s, vi u, vi q)
{
    products((int32_t *)&s, &u, &q, 16);
    return s;
}

typedef int32_t eight __attribute__((vector_size(32)));
#define i8_dot32(u, q) dot32((eight)(u), (eight)(q))
#define i8_dot64(u, q, v, r) (i8_dot32(u, q) + i8_dot32(v, r))
static eight dot32(eight u, eight q)
{
    eight s = { 0 };
    products((int32_t *)&s, &u, &q, 8);
    return s;
}

#define BMR 8
#define BNV 3
/* Subnormals count as 0. */
INLINE vf flushed(vi x)
{
    return (vf)(x & ((x & 0x7f800000) != 0));
}

EMULATED vf bf16_dp(vf s, vi w, vi x)
{
    s += flushed(w << 16) * flushed(x << 16);
    return s + flushed(w & (int32_t)0xffff0000) * flushed(x & (int32_t)0xffff0000);
}

#include "simd/vec_impl.h"
#include "simd/impl/gemm_bf16.h"

EMULATED vu round_bf16(vf x)
{
    vu u = (vu)x, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, nan = u >> 16 | 0x40;
    vu is_nan = (vu)((u & 0x7fffffff) > 0x7f800000);

    return (nan & is_nan) | (rounded & ~is_nan);
}

INLINE vi bf16_row(vf lo, vf hi)
{
    const vu rounded[2] = { round_bf16(lo), round_bf16(hi) };
    uint16_t row[2 * VW];
    vi w;

    for (size_t i = 0; i < 2 * VW; i++)
        row[i] = (uint16_t)rounded[i / VW][i % VW];
    memcpy(&w, row, sizeof w);
    return w;
}

INLINE vh bf16_half(vf x)
{
    const vu u = round_bf16(x);

    return __builtin_convertvector(u, vh);
}

#include "simd/impl/pairs.h"
#include "simd/impl/attend_bf16.h"
#include "simd/impl/attend_few_bf16.h"

void fill_wide_table(struct gkv__simd *k)
{
    gkv__simd_ref(k);
    fill_wide(k);
    fill_bf16_wide(k);
    k->level = "avx512's shapes on avx2";
}

void fill_wide_bf16_table(struct gkv__simd *k)
{
    fill_wide_table(k);
    k->attend = (struct gkv__attend){ "bf16", GKV__TYPE_BF16, 3, LANES, 128, 2, pairs_bf16_wide,
                                      narrow_bf16_wide, NULL, attend_bf16_wide };
    k->attend_few[GKV__TYPE_F16] = attend_few_pairs_f16_wide;
    k->attend_few[GKV__TYPE_BF16] = attend_few_pairs_bf16_wide;
    k->level = "avx512bf16's shapes on avx2";
}
