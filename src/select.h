/* SPDX-License-Identifier: BSD-2-Clause
 * select.h - methods: what of the prompt the second pass gets to see.  One file, one struct,
 * one line in select.c each. */
#ifndef GKV__SELECT_H
#define GKV__SELECT_H

#include "src/param.h"

/* What the first pass must compute. */
enum gkv__needs {
    GKV__NEEDS_NOTHING,                 /* no first pass                                     */
    GKV__NEEDS_LAST_ROW,                /* score[j] = sum_h q_h(last) . k_h(j), filter layer */
};

struct gkv__pick {
    size_t        n;                    /* tokens of the prompt                              */
    size_t        k;                    /* budget, keep_first + keep_last <= k <= n          */
    size_t        keep_first, keep_last;
    const double *param;                /* in the order of the method's rows                 */
    float        *score;                /* [n] of the first pass; pick may refine it         */
    float        *spare;                /* [n] scratch                                       */
};

struct gkv__select {
    const char              *name, *summary;
    const struct gkv__param *params;    /* ends with a row without a name                    */
    enum gkv__needs          needs;
    /* Ascending indices of the tokens for the second pass into out[n]; returns how many.
     * NULL: all of them, whatever the budget. */
    size_t                 (*pick)(const struct gkv__pick *in, uint32_t *out);
};

/* Parse "name" or "name:key=value,...".  GKV_INVALID names what would be right. */
gkv_status gkv__select_parse(const char *spec, const struct gkv__select **out,
                             double param[GKV__MAX_PARAMS], gkv_error *err);

#endif
