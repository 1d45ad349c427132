/* SPDX-License-Identifier: BSD-2-Clause
 * avx512.c - Skylake-X (2017), Zen 4 (2022) on: 32 registers of 16 floats, and FMA that
 * broadcasts a scalar from memory for nothing.  8 x 2 and 8 x 3 leave registers to spare. */
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
