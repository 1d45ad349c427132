/* SPDX-License-Identifier: BSD-2-Clause
 * iq4_xs.c - 8 groups of 32: 6-bit scales, 16 unequal steps */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 256

static const int8_t value[16] = { GKV__IQ4_VALUES };

void gkv__to_f32_iq4_xs(const void *src, float *dst, size_t n)
{
    const uint8_t           *p = src;     /* need not be aligned */
    struct gkv__block_iq4_xs b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t s = 0; s < QK / 32; s++) {
            int   scale = (b.scale_l[s / 2] >> s % 2 * 4 & 15) | (b.scale_h >> s * 2 & 3) << 4;
            float dl = d * (float)(scale - 32);

            for (size_t j = 0; j < 16; j++) {
                uint8_t byte = b.q[16 * s + j];

                dst[i + 32 * s + j] = dl * value[byte & 15];
                dst[i + 32 * s + 16 + j] = dl * value[byte >> 4];
            }
        }
    }
}

void gkv__from_f32_iq4_xs(const float *src, void *dst, size_t n)
{
    uint8_t                 *p = dst;
    struct gkv__block_iq4_xs b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        struct gkv__groups g;
        float              d;

        gkv__groups_symmetric(&g, src, 32, 127, 32);
        memset(&b, 0, sizeof b);
        b.d = g.d;
        d = gkv__f16_to_f32(b.d);
        for (size_t s = 0; s < QK / 32; s++) {
            int   scale = g.scale[s] + 32;
            float dl = d * g.scale[s], inverse = dl < 0 || dl > 0 ? 1 / dl : 0;

            b.scale_l[s / 2] |= (uint8_t)((scale & 15) << s % 2 * 4);
            b.scale_h |= (uint16_t)(scale >> 4 << s * 2);
            for (size_t j = 0; j < 16; j++) {
                int lo = gkv__iq4_nearest(src[32 * s + j] * inverse);
                int hi = gkv__iq4_nearest(src[32 * s + 16 + j] * inverse);

                b.q[16 * s + j] = (uint8_t)(lo | hi << 4);
            }
        }
        memcpy(p, &b, sizeof b);
    }
}
