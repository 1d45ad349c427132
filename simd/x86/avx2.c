/* SPDX-License-Identifier: BSD-2-Clause
 * avx2.c - Haswell (2013) and Zen (2017) on: 16 registers of 8 floats, two FMA a cycle.
 * 12 accumulators cover four to five cycles of FMA latency; with 6 x 2 (GEMM) a step loads 2
 * vectors and broadcasts 6 scalars, with 4 x 3 (attention) 3 and 4, and 4 divides all usual
 * head dimensions. */
#ifndef __AVX2__
#error "avx2.c needs CFLAGS_AVX2"
#endif
#include "config.h"
#include "simd/simd.h"

#include <immintrin.h>
#define SUFFIX avx2
#define VW 8
#define MR 6
#define NV 2
#define AMR 4
#define ANV 3
#define IMR 3
#define INV 4
#define I8_SIGNED 0
#define I16 1
#include "simd/impl/vec.h"

/* Sums of bytes are kept in pairs of 16-bit lanes.  Intermediate sums may wrap: with the start
 * that turns u into u - OFF, the result fits (|u - 16| * 127 * 16 < 2^15, |u - 32| * 127 * 8). */
INLINE int32_t i8_start(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a & 0xffff) | (int32_t)((uint32_t)b << 16);
}

/* GCC turns a chain of integer sums into a tree, for which there are not enough registers. */
#define KEEP_ORDER(s) __asm__("" : "+x"(s))

INLINE vi i8_step(vi s, vi u, vi q)
{
    s = (vi)_mm256_add_epi16((__m256i)s, _mm256_maddubs_epi16((__m256i)u, (__m256i)q));
    KEEP_ORDER(s);
    return s;
}

INLINE vi i8_finish(vi s)
{
    return (vi)_mm256_madd_epi16((__m256i)s, _mm256_set1_epi16(1));
}

/* If a sum starts from zero, 16 * 127 * u must fit 16 bits. */
#define i8_pauses(top) ((top) > 16)

#define i8_dot32(u, q) i8_finish(i8_step((vi){ 0 }, (vi)(u), (vi)(q)))
#define i8_dot64(u, q, v, r) \
    i8_finish(i8_step(i8_step((vi){ 0 }, (vi)(u), (vi)(q)), (vi)(v), (vi)(r)))

INLINE vi i16_step(vi s, vi w, vi q)
{
    s = (vi)_mm256_add_epi32((__m256i)s, _mm256_madd_epi16((__m256i)w, (__m256i)q));
    KEEP_ORDER(s);
    return s;
}

INLINE vi i16_dot32(const vi w[2], const uint8_t *q)
{
    const __m256i *p = (const __m256i *)(const void *)q;

    return i16_step((vi)_mm256_madd_epi16((__m256i)w[0], _mm256_loadu_si256(p)), w[1],
                    (vi)_mm256_loadu_si256(p + 1));
}

/* The first sixteen products in the lower four lanes. */
INLINE vi i16_dot32_halves(const vi w[2], const uint8_t *q)
{
    const __m256i *p = (const __m256i *)(const void *)q;
    const __m256i a = _mm256_madd_epi16((__m256i)w[0], _mm256_loadu_si256(p));
    const __m256i b = _mm256_madd_epi16((__m256i)w[1], _mm256_loadu_si256(p + 1));

    return (vi)_mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

typedef uint8_t bytes32 __attribute__((vector_size(32)));

INLINE void i16_widen(bytes32 s, vi out[2])
{
    out[0] = (vi)_mm256_cvtepi8_epi16(_mm256_castsi256_si128((__m256i)s));
    out[1] = (vi)_mm256_cvtepi8_epi16(_mm256_extracti128_si256((__m256i)s, 1));
}

#include "simd/vec_impl.h"

void gkv__simd_avx2(struct gkv__simd *k)
{
    fill_avx2(k);
}
