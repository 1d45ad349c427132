/* SPDX-License-Identifier: BSD-2-Clause
 * iq3_s.c - groups of 32: eight points of four weights, with a sign for each and a scale of four bits */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/grid.h"

#define QK 256

void gkv__to_f32_iq3_s(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_iq3_s b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 4; j++) {
            const unsigned scale = b.scale[j / 16] >> 4 * (j / 8 % 2) & 15, high = b.h[j / 8] >> j % 8 & 1;

            gkv__grid_floats(dst + i + 4 * j, d * (float)(1 + 2 * scale), gkv__grid_iq3_s[b.q[j] | high << 8], 4,
                             GKV__IQ3_S_OFF, (unsigned)b.sign[j / 2] >> 4 * (j % 2));
        }
    }
}
