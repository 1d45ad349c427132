/* SPDX-License-Identifier: BSD-2-Clause
 * tq1_0.c - ternary weights, five in a byte, as digits to the base of three of the byte as a fraction of 256 */
#include "config.h"
#include <stdbool.h>
#include <string.h>
#include "src/quant/convert.h"

#define QK 256

static const uint8_t power[5] = { 1, 3, 9, 27, 81 };

void gkv__to_f32_tq1_0(const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;             /* need not be aligned */
    struct gkv__block_tq1_0 b;

    for (size_t i = 0; i < n; i += QK, p += sizeof b) {
        float d;

        memcpy(&b, p, sizeof b);
        d = gkv__f16_to_f32(b.d);
        for (size_t j = 0; j < QK; j++) {
            /* Five times 32, five times 16 and four times 4 digits. */
            const bool    first = j < 160, last = j >= 240;
            const size_t  at = first ? j : last ? j - 240 : j - 160, wide = first ? 32 : last ? 4 : 16;
            const uint8_t byte = first ? b.q[at % wide] : last ? b.h[at % wide] : b.q[32 + at % wide];
            const uint8_t fraction = (uint8_t)(byte * power[at / wide]);

            dst[i + j] = d * (float)((fraction * 3 >> 8) - 1);
        }
    }
}
