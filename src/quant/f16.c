/* SPDX-License-Identifier: BSD-2-Clause
 * f16.c - IEEE 754 binary16
 *
 * Uses integers only, so results do not depend on the rounding mode or on flush-to-zero, and
 * equal those of F16C and NEON to the bit: NaNs become quiet and keep their payload. */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"

float gkv__f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, m = h & 0x3ff;
    uint32_t bits;
    float    f;

    if (exponent == 31) {
        bits = 0x7f800000 | m << 13 | (m ? 0x400000 : 0);
    } else if (exponent) {
        bits = (exponent + 127 - 15) << 23 | m << 13;
    } else if (m) {
        uint32_t shift = (uint32_t)__builtin_clz(m) - 21;   /* top bit to 2^10 */

        bits = (127 - 14 - shift) << 23 | (m << shift & 0x3ff) << 13;
    } else {
        bits = 0;
    }
    bits |= sign;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint16_t gkv__f32_to_f16(float f)
{
    uint32_t x, sign, exponent, m, shift;

    memcpy(&x, &f, sizeof x);
    sign = x >> 16 & 0x8000;
    x &= 0x7fffffff;
    exponent = x >> 23;
    if (x > 0x7f800000)                 /* NaN                                            */
        return (uint16_t)(sign | 0x7e00 | (x >> 13 & 0x3ff));
    if (x >= 0x477ff000)                /* 65520, halfway to 2^16: from here on, infinity */
        return (uint16_t)(sign | 0x7c00);
    if (exponent < 102)                 /* less than 2^-25, half the smallest subnormal   */
        return (uint16_t)sign;
    if (exponent < 113) {               /* subnormal: units of 2^-24                      */
        m = (x & 0x7fffff) | 0x800000;
        shift = 126 - exponent;
    } else {                            /* a carry into the exponent is right             */
        m = x - ((127 - 15) << 23);
        shift = 13;
    }
    m += (1u << (shift - 1)) - 1 + (m >> shift & 1);
    return (uint16_t)(sign | m >> shift);
}

void gkv__to_f32_f16(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned                            */

    for (size_t i = 0; i < n; i++) {
        uint16_t h;

        memcpy(&h, p + i * sizeof h, sizeof h);
        dst[i] = gkv__f16_to_f32(h);
    }
}

void gkv__from_f32_f16(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;

    for (size_t i = 0; i < n; i++) {
        uint16_t h = gkv__f32_to_f16(src[i]);

        memcpy(p + i * sizeof h, &h, sizeof h);
    }
}
