/* SPDX-License-Identifier: BSD-2-Clause
 * tq2_0.c - ternary weights, two bits each */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"

#define QK 256

void gkv__to_f32_tq2_0(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_tq2_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t s = 0; s < QK / 32; s++)
            for (size_t j = 0; j < 32; j++)
                dst[i + 32 * s + j] = d * (float)((b.q[s / 4 * 32 + j] >> s % 4 * 2 & 3) - 1);
    }
}
