/* SPDX-License-Identifier: BSD-2-Clause
 * neon.c - every AArch64: 32 registers of 4 floats.  With 8 x 3 accumulators a step loads 3
 * vectors and 8 scalars for 24 multiply-adds, enough to hide their latency on cores with two or
 * four pipes; and 8 divides all usual head dimensions. */
#ifndef __ARM_NEON
#error "neon.c needs Advanced SIMD"
#endif
#include "config.h"
#include "simd/simd.h"

#define SUFFIX neon
#define VW 4
#define MR 8
#define NV 3
#define AMR 8
#define ANV 3
#include "simd/vec_impl.h"

void gkv__simd_neon(struct gkv__simd *k)
{
    fill_neon(k);
}
