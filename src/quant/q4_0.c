/* SPDX-License-Identifier: BSD-2-Clause
 * q4_0.c - blocks of 32: one f16 scale, 4-bit integers less 8 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 32

void gkv__to_f32_q4_0(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q4_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 2; j++) {
            dst[i + j] = d * (float)((b.q[j] & 15) - 8);
            dst[i + j + QK / 2] = d * (float)((b.q[j] >> 4) - 8);
        }
    }
}

/* As ggml does: the value of largest magnitude becomes -8. */
void gkv__from_f32_q4_0(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q4_0 b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        float max = 0, d, inverse;

        for (size_t j = 0; j < QK; j++)
            if (fabsf(src[j]) > fabsf(max))
                max = src[j];
        d = max / -8;
        inverse = d < 0 || d > 0 ? 1 / d : 0;
        b.d = gkv__f32_to_f16(d);
        for (size_t j = 0; j < QK / 2; j++) {
            int lo = gkv__cut(src[j] * inverse + 8.5f, 0, 15);
            int hi = gkv__cut(src[j + QK / 2] * inverse + 8.5f, 0, 15);

            b.q[j] = (uint8_t)(lo | hi << 4);
        }
        memcpy(p, &b, sizeof b);
    }
}
