/* SPDX-License-Identifier: BSD-2-Clause
 * iq3_xxs.c - groups of 32: eight points of four weights; signs and a scale in 32 bits of their own */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq3_xxs(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq3_xxs b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t s = 0; s < QK / 32; s++) {
            const uint32_t rest = b.rest[2 * s] | (uint32_t)b.rest[2 * s + 1] << 16;
            const float    dl = d * (0.5f + (float)(rest >> 28));

            for (size_t j = 0; j < 8; j++)
                gkv__grid_floats(dst + i + 32 * s + 4 * j, dl, gkv__grid_iq3_xxs[b.q[8 * s + j]], 4, GKV__IQ3_XXS_OFF,
                                 gkv__even_signs(rest >> 7 * (j / 2)) >> 4 * (j % 2));
        }
    }
}
