/* SPDX-License-Identifier: BSD-2-Clause
 * avx512.c - Cascade Lake (2019), Zen 4 (2022) on: 32 registers of 16 floats.  With 8 x 2 and
 * 8 x 3 accumulators a step loads 2 or 3 vectors and broadcasts 8 scalars for 16 or 24 FMA,
 * and 8 divides all usual head dimensions. */
#ifndef __AVX512F__
#error "avx512.c needs CFLAGS_AVX512"
#endif
#include "config.h"
#include "simd/simd.h"

#include <immintrin.h>
#define SUFFIX avx512
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

INLINE int32_t i8_start(int32_t a, int32_t b) { return a + b; }
INLINE vi i8_finish(vi s) { return s; }
#define i8_pauses(top) 0

INLINE vi i8_step(vi s, vi u, vi q)
{
    return (vi)_mm512_dpbusd_epi32((__m512i)s, (__m512i)u, (__m512i)q);
}

#define i8_dot32(u, q) \
    (v8i)_mm256_dpbusd_epi32(_mm256_setzero_si256(), (__m256i)(u), (__m256i)(q))
#define i8_dot64(u, q, v, r) \
    (v8i)_mm256_dpbusd_epi32((__m256i)i8_dot32(u, q), (__m256i)(v), (__m256i)(r))

#include "simd/vec_impl.h"

void gkv__simd_avx512(struct gkv__simd *k)
{
    fill_avx512(k);
}
