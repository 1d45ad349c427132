/* SPDX-License-Identifier: BSD-2-Clause
 * q6_k.c - 16 groups of 16: 8-bit scales, 6-bit integers less 32 */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 256

void gkv__to_f32_q6_k(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q6_k b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK; j++) {
            size_t half = j / 128;
            int    low = b.q[half * 64 + j % 64] >> j / 64 % 2 * 4 & 15;
            int    high = b.h[half * 32 + j % 32] >> j / 32 % 4 * 2 & 3;

            dst[i + j] = d * b.scale[j / 16] * (float)((low | high << 4) - 32);
        }
    }
}

void gkv__from_f32_q6_k(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q6_k b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        struct gkv__groups g;

        gkv__groups_symmetric(&g, src, 16, 32, 128);
        memset(&b, 0, sizeof b);
        b.d = g.d;
        memcpy(b.scale, g.scale, sizeof b.scale);
        for (size_t j = 0; j < QK; j++) {
            size_t half = j / 128;

            b.q[half * 64 + j % 64] |= (uint8_t)((g.u[j] & 15) << j / 64 % 2 * 4);
            b.h[half * 32 + j % 32] |= (uint8_t)(g.u[j] >> 4 << j / 32 % 4 * 2);
        }
        memcpy(p, &b, sizeof b);
    }
}
