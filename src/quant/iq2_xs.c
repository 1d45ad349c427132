/* SPDX-License-Identifier: BSD-2-Clause
 * iq2_xs.c - points of eight weights with seven signs; each two share a scale of four bits */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq2_xs(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq2_xs b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 8; j++) {
            const unsigned scale = b.scale[j / 4] >> 4 * (j / 2 % 2) & 15;

            gkv__grid_floats(dst + i + 8 * j, d * (0.5f + (float)scale) * 0.25f, gkv__grid_iq2_xs[b.q[j] & 511], 8,
                             GKV__IQ2_OFF, gkv__even_signs(b.q[j] >> 9));
        }
    }
}
