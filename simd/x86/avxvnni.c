/* SPDX-License-Identifier: BSD-2-Clause
 * avxvnni.c - Alder Lake (2021) on, where there is no AVX-512: vpdpbusd, which adds four products of an unsigned and
 * a signed byte to each of eight lanes.  6 x 2 accumulators leave four of 16 registers for what is multiplied, and
 * 2,048 inputs of a panel stay in the first cache.  It has products with quantised weights; all else is AVX2's.
 * vpdpbssd and the like (AVX-VNNI-INT8) would save little, as weights are made unsigned in few instructions (gemm_int.h);
 * that was counted, not measured. */
#ifndef __AVXVNNI__
#error "avxvnni.c needs CFLAGS_AVXVNNI"
#endif
#include "config.h"
#include "simd/simd.h"

#include <immintrin.h>
#define SUFFIX avxvnni
#define VW 8
#define NV 2
#define ANV 3
#define IMR 6
#define INV 2
#define I8_SIGNED 0
#define I16 0
#include "simd/impl/vec.h"
#include "simd/impl/bytes.h"
#include "simd/impl/tile.h"
#include "simd/impl/scales.h"

INLINE int32_t i8_start(int32_t a, int32_t b) { return a + b; }
INLINE vi i8_finish(vi s) { return s; }
#define i8_pauses(top) 0

/* The empty asm keeps sums in the order written. */
INLINE vi i8_step(vi s, vi u, vi q)
{
    s = (vi)_mm256_dpbusd_avx_epi32((__m256i)s, (__m256i)u, (__m256i)q);
    __asm__("" : "+x"(s));
    return s;
}

#define i8_dot32(u, q) i8_step((vi){ 0 }, (vi)(u), (vi)(q))
#define i8_dot64(u, q, v, r) i8_step(i8_dot32(u, q), (vi)(v), (vi)(r))

#include "simd/impl/gemm_int.h"

void gkv__simd_avxvnni(struct gkv__simd *k)
{
    fill_int_avxvnni(k);
}
