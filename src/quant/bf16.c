/* SPDX-License-Identifier: BSD-2-Clause
 * bf16.c - the upper half of a binary32 */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"

void gkv__to_f32_bf16(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned                            */

    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        uint32_t x;

        memcpy(&h, p + i * sizeof h, sizeof h);
        x = (uint32_t)h << 16;
        memcpy(&dst[i], &x, sizeof x);
    }
}

void gkv__from_f32_bf16(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;

    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        uint16_t h;

        memcpy(&x, &src[i], sizeof x);
        if ((x & 0x7fffffff) > 0x7f800000)  /* NaN: rounding could make it infinite */
            h = (uint16_t)(x >> 16 | 0x40);
        else
            h = (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
        memcpy(p + i * sizeof h, &h, sizeof h);
    }
}
