/* SPDX-License-Identifier: BSD-2-Clause
 * iq1_s.c - groups of 32: four points of eight weights; a scale of three bits, and a sign of the shift */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq1_s(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq1_s b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 8; j++) {
            const unsigned h = b.h[j / 4], high = h >> 3 * (j % 4) & 7;

            gkv__grid_floats(dst + i + 8 * j, d * (float)(2 * (h >> 12 & 7) + 1) * 0.125f,
                             gkv__grid_iq1[b.q[j] | high << 8] - (h >> 15) * GKV__IQ1_DOWN, 8, GKV__IQ1_OFF, 0);
        }
    }
}
