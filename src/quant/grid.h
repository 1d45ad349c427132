/* SPDX-License-Identifier: BSD-2-Clause
 * grid.h - what types iq1 to iq3 share: groups of four or eight weights are points of a fixed grid, times a scale
 * and, in iq2 and iq3, with a sign for each weight.  The points are ggml's. */
#ifndef GKV__QUANT_GRID_H
#define GKV__QUANT_GRID_H

#include <stddef.h>
#include <stdint.h>

/* Points of eight weights, and of four (iq3), a byte each, the first in the lowest: u, for a weight of
 * d * (u - OFF).  OFF and the unit of d are such that u is also what kernels multiply with. */
extern const uint64_t gkv__grid_iq2_xxs[256], gkv__grid_iq2_xs[512], gkv__grid_iq2_s[1024], gkv__grid_iq1[2048];
extern const uint32_t gkv__grid_iq3_xxs[256], gkv__grid_iq3_s[512];

enum { GKV__IQ2_OFF = 64, GKV__IQ3_XXS_OFF = 32, GKV__IQ3_S_OFF = 16, GKV__IQ1_OFF = 16 };

/* iq1: -1, 0 or 1, moved up by an eighth; a point that is moved down instead is this much less. */
#define GKV__IQ1_DOWN UINT64_C(0x0202020202020202)

/* n weights: d * (u - off), with the opposite sign where a bit of `signs` is set.  Signs are random, so a branch for
 * each would cost more than all else. */
static inline void gkv__grid_floats(float *to, float d, uint64_t point, size_t n, int off, unsigned signs)
{
    const float scale[2] = { d, -d };

#pragma GCC unroll 8
    for (size_t j = 0; j < n; j++)
        to[j] = scale[signs >> j & 1] * (float)((int)(point >> 8 * j & 255) - off);
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
