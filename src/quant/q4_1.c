/* SPDX-License-Identifier: BSD-2-Clause
 * q4_1.c - blocks of 32: f16 scale and minimum, 4-bit integers */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 32

void gkv__to_f32_q4_1(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q4_1 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d, m;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        m = gkv__f16_to_f32(b.m);
        for (size_t j = 0; j < QK / 2; j++) {
            dst[i + j] = d * (b.q[j] & 15) + m;
            dst[i + j + QK / 2] = d * (b.q[j] >> 4) + m;
        }
    }
}

void gkv__from_f32_q4_1(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q4_1 b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        float min = src[0], max = src[0], d, inverse;

        for (size_t j = 1; j < QK; j++) {
            min = src[j] < min ? src[j] : min;
            max = src[j] > max ? src[j] : max;
        }
        d = (max - min) / 15;
        inverse = d > 0 ? 1 / d : 0;
        b.d = gkv__f32_to_f16(d);
        b.m = gkv__f32_to_f16(min);
        for (size_t j = 0; j < QK / 2; j++) {
            int lo = gkv__cut((src[j] - min) * inverse + 0.5f, 0, 15);
            int hi = gkv__cut((src[j + QK / 2] - min) * inverse + 0.5f, 0, 15);

            b.q[j] = (uint8_t)(lo | hi << 4);
        }
        memcpy(p, &b, sizeof b);
    }
}
