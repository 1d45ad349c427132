/* SPDX-License-Identifier: BSD-2-Clause
 * q2_k.c - 16 groups of 16: 4-bit scales and minima, 2-bit integers */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 256

void gkv__to_f32_q2_k(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q2_k b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d, dmin;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        dmin = gkv__f16_to_f32(b.dmin);
        for (size_t j = 0; j < QK; j++) {
            uint8_t scale = b.scale[j / 16], byte = b.q[j / 128 * 32 + j % 32];
            float   dl = d * (scale & 15), ml = dmin * (scale >> 4);

            dst[i + j] = dl * (byte >> j / 32 % 4 * 2 & 3) - ml;
        }
    }
}

void gkv__from_f32_q2_k(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q2_k b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        struct gkv__groups g;

        gkv__groups_affine(&g, src, 16, 3, 15);
        memset(&b, 0, sizeof b);
        b.d = g.d;
        b.dmin = g.dmin;
        for (size_t s = 0; s < QK / 16; s++)
            b.scale[s] = (uint8_t)(g.scale[s] | g.min[s] << 4);
        for (size_t j = 0; j < QK; j++)
            b.q[j / 128 * 32 + j % 32] |= (uint8_t)(g.u[j] << j / 32 % 4 * 2);
        memcpy(p, &b, sizeof b);
    }
}
