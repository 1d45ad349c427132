/* SPDX-License-Identifier: BSD-2-Clause
 * q8_0.c - blocks of 32: one f16 scale, 8-bit integers */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/quant/convert.h"

#define QK 32

void gkv__to_f32_q8_0(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned                            */
    struct gkv__block_q8_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK; j++)
            dst[i + j] = d * b.q[j];    /* 11 by 7 bits: exact                            */
    }
}

/* Byte for byte what ggml's quantize_row_q8_0_ref writes, also that halves round away from zero,
 * so that files made by either are the same.  Blocks whose scale has no finite reciprocal become
 * zeros, and so do NaNs. */
void gkv__from_f32_q8_0(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q8_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float max = 0, d, inverse;

        for (size_t j = 0; j < QK; j++)
            max = fabsf(src[i + j]) > max ? fabsf(src[i + j]) : max;
        d = max / 127;
        inverse = d > 0 ? 1 / d : 0;
        b.d = gkv__f32_to_f16(d);
        for (size_t j = 0; j < QK; j++) {
            float x = roundf(src[i + j] * inverse);

            b.q[j] = fabsf(x) <= 127 ? (int8_t)x : 0;
        }
        memcpy(p, &b, sizeof b);
    }
}
