/* SPDX-License-Identifier: BSD-2-Clause
 * iq1_m.c - points of eight weights, each with a sign of its shift; each two share a scale of three bits.  The
 * scale of the block is spread over the highest four bits of four numbers */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq1_m(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq1_m b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32((uint16_t)(b.scale[0] >> 12 | (b.scale[1] >> 12) << 4 | (b.scale[2] >> 12) << 8 |
                                       (b.scale[3] >> 12) << 12));
        for (size_t j = 0; j < QK / 8; j++) {
            const unsigned h = (unsigned)b.h[j / 2] >> 4 * (j % 2), scale = b.scale[j / 8] >> 3 * (j / 2 % 4) & 7;

            gkv__grid_floats(dst + i + 8 * j, d * (float)(2 * scale + 1) * 0.125f,
                             gkv__grid_iq1[b.q[j] | (h & 7) << 8] - (h >> 3 & 1) * GKV__IQ1_DOWN, 8, GKV__IQ1_OFF, 0);
        }
    }
}
