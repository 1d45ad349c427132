/* SPDX-License-Identifier: BSD-2-Clause
 * iq2_xxs.c - groups of 32: four points of eight weights, whose signs and scale follow in 32 bits */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq2_xxs(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq2_xxs b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t s = 0; s < QK / 32; s++) {
            const uint16_t *q = b.q + 4 * s;            /* four numbers of points, and the rest   */
            const uint32_t  rest = q[2] | (uint32_t)q[3] << 16;
            const float     dl = d * (0.5f + (float)(rest >> 28)) * 0.25f;

            for (size_t j = 0; j < 4; j++)
                gkv__grid_floats(dst + i + 32 * s + 8 * j, dl, gkv__grid_iq2_xxs[q[j / 2] >> 8 * (j % 2) & 255], 8,
                                 GKV__IQ2_OFF, gkv__even_signs(rest >> 7 * j));
        }
    }
}
