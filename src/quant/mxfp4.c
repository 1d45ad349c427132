/* SPDX-License-Identifier: BSD-2-Clause
 * mxfp4.c - blocks of 32 four-bit floats with a power of two as their scale (Open Compute Project, Microscaling
 * Formats, 2023).  Values are doubled, so that they are integers, and the scale is halved. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/quant/convert.h"

#define QK 32

static const int8_t value[16] = { GKV__FP4_VALUES };

void gkv__to_f32_mxfp4(const void *src, float *dst, size_t n)
{
    const uint8_t          *p = src;
    struct gkv__block_mxfp4 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__e8m0_half(b.d);
        for (size_t j = 0; j < QK / 2; j++) {
            dst[i + j] = d * value[b.q[j] & 15];
            dst[i + j + QK / 2] = d * value[b.q[j] >> 4];
        }
    }
}

static unsigned nearest(float x, float d)
{
    unsigned best = 0;

    for (unsigned i = 1; i < 16; i++)
        if (fabsf(value[i] * d - x) < fabsf(value[best] * d - x))
            best = i;
    return best;
}

/* The largest magnitude lies between 4 and 8 units of the scale, as in ggml. */
void gkv__from_f32_mxfp4(const float *src, void *dst, size_t n)
{
    uint8_t                *p = dst;
    struct gkv__block_mxfp4 b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        float max = 0, d;
        int   exponent = 0;

        for (size_t j = 0; j < QK; j++)
            if (fabsf(src[j]) > max)
                max = fabsf(src[j]);
        if (max > 0 && max < INFINITY) {
            frexpf(max, &exponent);
            exponent += 124;                    /* max = 2^(exponent - 124) * 0.5 .. 1       */
        } else if (max > 0) {
            exponent = 254;
        }
        b.d = (uint8_t)(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent);
        d = gkv__e8m0_half(b.d);
        for (size_t j = 0; j < QK / 2; j++)
            b.q[j] = (uint8_t)(nearest(src[j], d) | nearest(src[j + QK / 2], d) << 4);
        memcpy(p, &b, sizeof b);
    }
}
