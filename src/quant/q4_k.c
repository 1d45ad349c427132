/* SPDX-License-Identifier: BSD-2-Clause
 * q4_k.c - 8 groups of 32: 6-bit scales and minima, 4-bit integers */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 256

void gkv__to_f32_q4_k(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q4_k b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d, dmin;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        dmin = gkv__f16_to_f32(b.dmin);
        for (size_t s = 0; s < QK / 32; s++) {
            int   scale, min;
            float dl, ml;

            gkv__scale_min(b.scale, s, &scale, &min);
            dl = d * (float)scale;
            ml = dmin * (float)min;
            for (size_t j = 0; j < 32; j++) {
                int u = b.q[s / 2 * 32 + j] >> s % 2 * 4 & 15;

                dst[i + 32 * s + j] = dl * (float)u - ml;
            }
        }
    }
}

void gkv__from_f32_q4_k(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q4_k b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        struct gkv__groups g;

        gkv__groups_affine(&g, src, 32, 15, 63);
        memset(&b, 0, sizeof b);
        b.d = g.d;
        b.dmin = g.dmin;
        gkv__pack_scales(&g, b.scale);
        for (size_t j = 0; j < QK; j++)
            b.q[j / 64 * 32 + j % 32] |= (uint8_t)(g.u[j] << j / 32 % 2 * 4);
        memcpy(p, &b, sizeof b);
    }
}
