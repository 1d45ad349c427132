/* SPDX-License-Identifier: BSD-2-Clause
 * iq4_nl.c - blocks of 32: one f16 scale, 16 unequal steps */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 32

static const int8_t value[16] = { GKV__IQ4_VALUES };

void gkv__to_f32_iq4_nl(const void *src, float *dst, size_t n)
{
    const uint8_t           *p = src;     /* need not be aligned */
    struct gkv__block_iq4_nl b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 2; j++) {
            dst[i + j] = d * value[b.q[j] & 15];
            dst[i + j + QK / 2] = d * value[b.q[j] >> 4];
        }
    }
}

/* The value of largest magnitude becomes -127; see scale.h for the quality. */
void gkv__from_f32_iq4_nl(const float *src, void *dst, size_t n)
{
    uint8_t                 *p = dst;
    struct gkv__block_iq4_nl b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        float max = 0, d, inverse;

        for (size_t j = 0; j < QK; j++)
            if (fabsf(src[j]) > fabsf(max))
                max = src[j];
        d = max / -127;
        inverse = d < 0 || d > 0 ? 1 / d : 0;
        b.d = gkv__f32_to_f16(d);
        for (size_t j = 0; j < QK / 2; j++) {
            int lo = gkv__iq4_nearest(src[j] * inverse);
            int hi = gkv__iq4_nearest(src[j + QK / 2] * inverse);

            b.q[j] = (uint8_t)(lo | hi << 4);
        }
        memcpy(p, &b, sizeof b);
    }
}
