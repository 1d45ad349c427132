/* SPDX-License-Identifier: BSD-2-Clause
 * avx512.c - Cascade Lake (2019), Zen 4 (2022) on: 32 registers of 16 floats.  With 8 x 2 and
 * 8 x 3 accumulators a step loads 2 or 3 vectors and broadcasts 8 scalars for 16 or 24 FMA,
 * and 8 divides all usual head dimensions. */
#ifndef __AVX512F__
#error "avx512.c needs CFLAGS_AVX512"
#endif
#include "config.h"
#include "simd/simd.h"

#define SUFFIX avx512
#define VW 16
#define MR 8
#define NV 2
#define AMR 8
#define ANV 3
#include "simd/vec_impl.h"

void gkv__simd_avx512(struct gkv__simd *k)
{
    fill_avx512(k);
}
