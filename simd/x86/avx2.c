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

#define SUFFIX avx2
#define VW 8
#define MR 6
#define NV 2
#define AMR 4
#define ANV 3
#include "simd/vec_impl.h"

void gkv__simd_avx2(struct gkv__simd *k)
{
    fill_avx2(k);
}
