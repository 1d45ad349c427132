/* SPDX-License-Identifier: BSD-2-Clause
 * q5_0.c - blocks of 32: one f16 scale, 5-bit integers less 16 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 32

void gkv__to_f32_q5_0(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q5_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK / 2; j++) {
            int lo = (b.q[j] & 15) | (b.h[j / 8] >> j % 8 & 1) << 4;
            int hi = b.q[j] >> 4 | (b.h[2 + j / 8] >> j % 8 & 1) << 4;

            dst[i + j] = d * (float)(lo - 16);
            dst[i + j + QK / 2] = d * (float)(hi - 16);
        }
    }
}

/* As ggml does: the value of largest magnitude becomes -16. */
void gkv__from_f32_q5_0(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q5_0 b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        float max = 0, d, inverse;

        for (size_t j = 0; j < QK; j++)
            if (fabsf(src[j]) > fabsf(max))
                max = src[j];
        d = max / -16;
        inverse = d < 0 || d > 0 ? 1 / d : 0;
        b.d = gkv__f32_to_f16(d);
        memset(b.h, 0, sizeof b.h);
        for (size_t j = 0; j < QK / 2; j++) {
            int lo = gkv__cut(src[j] * inverse + 16.5f, 0, 31);
            int hi = gkv__cut(src[j + QK / 2] * inverse + 16.5f, 0, 31);

            b.q[j] = (uint8_t)((lo & 15) | (hi & 15) << 4);
            b.h[j / 8] |= (uint8_t)(lo >> 4 << j % 8);
            b.h[2 + j / 8] |= (uint8_t)(hi >> 4 << j % 8);
        }
        memcpy(p, &b, sizeof b);
    }
}
