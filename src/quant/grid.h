/* SPDX-License-Identifier: BSD-2-Clause
 * grid.h - what types iq1 to iq3 share: groups of four or eight weights are points of a fixed grid, times a scale
 * and, in iq2 and iq3, with a sign for each weight.  The points are ggml's. */
#ifndef GKV__QUANT_GRID_H
#define GKV__QUANT_GRID_H

#include <stddef.h>
#include <stdint.h>

/* Points of eight weights, two bits each; of four (iq3), three bits each; the first in the lowest bits. */
extern const uint16_t gkv__grid_iq2_xxs[256], gkv__grid_iq2_xs[512], gkv__grid_iq2_s[1024], gkv__grid_iq1[2048],
    gkv__grid_iq3_xxs[256], gkv__grid_iq3_s[512];

/* What these bits index. */
#define GKV__IQ2_VALUES     8, 25, 43, 0
#define GKV__IQ3_XXS_VALUES 4, 12, 20, 28, 36, 44, 52, 62
#define GKV__IQ3_S_VALUES   1, 3, 5, 7, 9, 11, 13, 15
/* iq1: -1, 0 and 1, moved by an eighth up or down. */

/* Eight weights of iq2, and four of iq3: d * value, negative where a bit of `signs` is set.  Signs are random, so
 * a branch for each would cost more than all else. */
static inline void gkv__grid_eight(float *to, float d, uint16_t point, unsigned signs)
{
    static const float value[4] = { GKV__IQ2_VALUES };
    const float scale[2] = { d, -d };

#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++)
        to[j] = scale[signs >> j & 1] * value[point >> 2 * j & 3];
}

static inline void gkv__grid_four(float *to, float d, uint16_t point, unsigned signs, const float value[8])
{
    const float scale[2] = { d, -d };

#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++)
        to[j] = scale[signs >> j & 1] * value[point >> 3 * j & 7];
}

/* Eight weights of iq1. */
static inline void gkv__grid_ternary(float *to, float d, uint16_t point, float shift)
{
    const float value[4] = { d * (shift - 1), d * shift, d * (shift + 1), 0 };

#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++)
        to[j] = value[point >> 2 * j & 3];
}

/* Seven signs; the eighth makes the number of negative weights even. */
static inline unsigned gkv__even_signs(unsigned seven)
{
    unsigned x = seven & 127;

    x ^= x >> 4;
    x ^= x >> 2;
    x ^= x >> 1;
    return (seven & 127) | (x & 1) << 7;
}

#endif
