/* SPDX-License-Identifier: BSD-2-Clause
 * wide.c - the AVX-512 kernels' source at AVX-512's width and tile shapes, compiled for AVX2
 * (the compiler splits each vector): so that tails, packing and tiles of that width are tested
 * on machines without it.  What it cannot test is the instructions themselves. */
#include "config.h"
#include "simd/simd.h"
#include "tests/kernels.h"

#define SUFFIX wide
#define VW 16
#define MR 8
#define NV 2
#define AMR 8
#define ANV 3
#include "simd/vec_impl.h"

void fill_wide_table(struct gkv__simd *k)
{
    gkv__simd_ref(k);
    fill_wide(k);
    k->level = "avx512's shapes on avx2";
}
