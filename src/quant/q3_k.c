/* SPDX-License-Identifier: BSD-2-Clause
 * q3_k.c - 16 groups of 16: 6-bit scales, 3-bit integers less 4 */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"
#include "src/quant/scale.h"

#define QK 256

/* Low four bits of scale s: a nibble of byte s % 8, the low one for s < 8.  High two bits: in
 * byte 8 + s % 4. */
static int scale_of(const uint8_t p[12], size_t s)
{
    return ((p[s % 8] >> s / 8 * 4 & 15) | (p[8 + s % 4] >> s / 4 * 2 & 3) << 4) - 32;
}

void gkv__to_f32_q3_k(const void *src, float *dst, size_t n)
{
    const uint8_t         *p = src;     /* need not be aligned */
    struct gkv__block_q3_k b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK; j++) {
            int   low = b.q[j / 128 * 32 + j % 32] >> j / 32 % 4 * 2 & 3;
            int   high = b.h[j % 32] >> j / 32 & 1;
            float dl = d * (float)scale_of(b.scale, j / 16);

            dst[i + j] = dl * (float)(low + 4 * high - 4);
        }
    }
}

void gkv__from_f32_q3_k(const float *src, void *dst, size_t n)
{
    uint8_t               *p = dst;
    struct gkv__block_q3_k b;

    for (size_t i = 0; i < n; i += QK, src += QK, p += sizeof b) {
        struct gkv__groups g;

        gkv__groups_symmetric(&g, src, 16, 4, 32);
        memset(&b, 0, sizeof b);
        b.d = g.d;
        for (size_t s = 0; s < QK / 16; s++) {
            int scale = g.scale[s] + 32;

            b.scale[s % 8] |= (uint8_t)((scale & 15) << s / 8 * 4);
            b.scale[8 + s % 4] |= (uint8_t)(scale >> 4 << s / 4 * 2);
        }
        for (size_t j = 0; j < QK; j++) {
            b.q[j / 128 * 32 + j % 32] |= (uint8_t)((g.u[j] & 3) << j / 32 % 4 * 2);
            b.h[j % 32] |= (uint8_t)(g.u[j] >> 2 << j / 32);
        }
        memcpy(p, &b, sizeof b);
    }
}
