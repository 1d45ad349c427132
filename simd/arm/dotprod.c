/* SPDX-License-Identifier: BSD-2-Clause
 * dotprod.c - Cortex-A55, A75 and A76 (2018), Neoverse N1 on: SDOT adds sixteen products of
 * signed bytes to four lanes.  With 4 x 2 accumulators four steps load 8 vectors of weights
 * and 4 of activations, whose lanes SDOT selects itself, for 32 SDOT.  8 integer and 8 float
 * accumulators and the operands for half a block fit 32 registers. */
#ifndef __ARM_FEATURE_DOTPROD
#error "dotprod.c needs CFLAGS_DOTPROD"
#endif
#include "config.h"
#include <stddef.h>
#include "simd/simd.h"

#define SUFFIX dotprod
#define VW 4
#define NV 3
#define ANV 3
#define IMR 4
#define INV 2
#define I8_SIGNED 1
#define I16 0
#include "simd/impl/vec.h"
#include "simd/impl/bytes.h"
#include "simd/impl/tile.h"
#include "simd/impl/scales.h"

INLINE int32_t i8_start(int32_t a, int32_t b) { return (void)a, (void)b, 0; }
INLINE vi i8_finish(vi s) { return s; }
#define i8_pauses(top) 0

INLINE vi i8_take(const uint8_t *x, int t) { return load_i(x + t / 4 * 16); }

/* Keeps loads and sums in the order written: GCC's scheduling would begin so many chains early that
 * registers are spilled. */
#define KEEP_ORDER(s) __asm__ volatile("" : "+w"(s))

/* A switch, because the lane is an immediate of the instruction. */
INLINE vi i8_at(vi s, vi u, vi q, int t)
{
    const int8x16_t a = (int8x16_t)u, b = (int8x16_t)q;
    int32x4_t sum = (int32x4_t)s;

    switch (t % 4) {
    case 0:  sum = vdotq_laneq_s32(sum, a, b, 0); break;
    case 1:  sum = vdotq_laneq_s32(sum, a, b, 1); break;
    case 2:  sum = vdotq_laneq_s32(sum, a, b, 2); break;
    default: sum = vdotq_laneq_s32(sum, a, b, 3);
    }
    KEEP_ORDER(sum);
    return (vi)sum;
}

union bytes { v32 both; int8x16_t half[2]; };

INLINE v8i dot_more(v8i s, v32 u, v32 q)
{
    const union bytes a = { u }, b = { q };
    union ints x = { s };

    for (int h = 0; h < 2; h++)
        x.half[h] = vdotq_s32(x.half[h], a.half[h], b.half[h]);
    return x.both;
}

#define i8_dot32(u, q) dot_more((v8i){ 0 }, u, q)
#define i8_dot64(u, q, v, r) dot_more(i8_dot32(u, q), v, r)

#include "simd/impl/gemm_int.h"

void gkv__simd_dotprod(struct gkv__simd *k)
{
    fill_int_dotprod(k);
}
