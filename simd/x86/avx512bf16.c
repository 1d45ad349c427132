/* SPDX-License-Identifier: BSD-2-Clause
 * avx512bf16.c - Cooper Lake (2020), Zen 4 (2022) on: vdpbf16ps, two products of bfloat16 per
 * lane.  On AMD it issues as often as FMA in f32, so it does twice the work; on Intel a
 * quarter as often, so simd.c uses this level there only if it is named.  It has attention in
 * tiles and products with bf16 weights; all else is AVX-512's.  8 x 3 accumulators, as there. */
#ifndef __AVX512BF16__
#error "avx512bf16.c needs CFLAGS_AVX512BF16"
#endif
#include "config.h"
#include "simd/simd.h"

#include <immintrin.h>
#define SUFFIX avx512bf16
#define VW 16
#define MR 8
#define NV 2
#define AMR 8
#define ANV 3
#define BMR 8
#define BNV 3
#include "simd/impl/vec.h"

INLINE vf bf16_dp(vf s, vi w, vi x)
{
    return (vf)_mm512_dpbf16_ps((__m512)s, (__m512bh)w, (__m512bh)x);
}

INLINE vi bf16_row(vf lo, vf hi)
{
    return (vi)_mm512_cvtne2ps_pbh((__m512)hi, (__m512)lo);
}

INLINE vh bf16_half(vf x)
{
    return (vh)_mm512_cvtneps_pbh((__m512)x);
}

#include "simd/impl/tile.h"
#include "simd/impl/gemm_bf16.h"
#include "simd/impl/pairs.h"
#include "simd/impl/softmax.h"
#include "simd/impl/attend_bf16.h"
#include "simd/impl/attend_few.h"
#include "simd/impl/attend_few_bf16.h"

void gkv__simd_avx512bf16(struct gkv__simd *k)
{
    k->attend = (struct gkv__attend){ "bf16", GKV__TYPE_BF16, 3, LANES, 128, 2, pairs_bf16_avx512bf16,
                                      narrow_bf16_avx512bf16, NULL, attend_bf16_avx512bf16 };
    k->attend_few[GKV__TYPE_F16] = attend_few_pairs_f16_avx512bf16;
    k->attend_few[GKV__TYPE_BF16] = attend_few_pairs_bf16_avx512bf16;
    fill_bf16_avx512bf16(k);
}
