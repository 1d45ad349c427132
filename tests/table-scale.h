/* SPDX-License-Identifier: BSD-2-Clause
 * table-scale.h - sets the scale of a block of a type that is read and not written. */
#ifndef TESTS_TABLE_SCALE_H
#define TESTS_TABLE_SCALE_H

#include <stddef.h>
#include <string.h>
#include "src/quant/quant.h"

static void table_scale(const struct gkv__quant *q, uint8_t *block, uint16_t d)
{
#define AT(name) offsetof(struct gkv__block_##name, d)
    static const size_t at[GKV__N_TYPES] = {
        [GKV__TYPE_IQ2_XXS] = AT(iq2_xxs), [GKV__TYPE_IQ2_XS] = AT(iq2_xs), [GKV__TYPE_IQ2_S] = AT(iq2_s),
        [GKV__TYPE_IQ3_XXS] = AT(iq3_xxs), [GKV__TYPE_IQ3_S] = AT(iq3_s), [GKV__TYPE_IQ1_S] = AT(iq1_s),
        [GKV__TYPE_TQ1_0] = AT(tq1_0), [GKV__TYPE_TQ2_0] = AT(tq2_0),
    };
#undef AT
    uint8_t *spread = block + offsetof(struct gkv__block_iq1_m, scale);

    if (q->type != GKV__TYPE_IQ1_M)
        memcpy(block + at[q->type], &d, sizeof d);
    for (size_t j = 0; j < 4 && q->type == GKV__TYPE_IQ1_M; j++) {      /* the highest bits of four numbers */
        uint16_t number;

        memcpy(&number, spread + 2 * j, sizeof number);
        number = (uint16_t)((number & 0xfff) | (d >> 4 * j & 15) << 12);
        memcpy(spread + 2 * j, &number, sizeof number);
    }
}

#endif
