/* SPDX-License-Identifier: BSD-2-Clause
 * avxvnni.c - simd/x86/avxvnni.c for a processor with AVX2 alone: vpdpbusd as Intel's manual defines it. */
#include "config.h"
#include <immintrin.h>

/* s += the sum of four products of an unsigned and a signed byte, exact in each of eight lanes. */
static __m256i dpbusd(__m256i s, __m256i u, __m256i q)
{
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(u, _mm256_set1_epi16(255)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(u, 8), _mm256_srai_epi16(q, 8));

    return _mm256_add_epi32(s, _mm256_add_epi32(even, odd));
}

#define __AVXVNNI__ 1                           /* the compiler is not told, so that it uses none itself */
#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 dpbusd
#include "simd/x86/avxvnni.c"
