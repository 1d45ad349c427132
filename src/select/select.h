/* SPDX-License-Identifier: BSD-2-Clause
 * select.h - methods: what of the prompt the answer is written from.  One file, one struct,
 * one line in select.c each.  There are two kinds:
 *
 *     those that pick tokens, for a second pass that sees nothing else (pick)
 *     those that act inside of one pass and leave a cache that holds a part of it (run) */
#ifndef GKV__SELECT_H
#define GKV__SELECT_H

#include "src/select/context.h"
#include "src/base/param.h"
#include "src/first/schedule.h"

struct gkv__watch;                      /* sweep.h */

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
    enum gkv__row          (*row)(const double *param);     /* of the first pass; NULL: the last */
    /* Ascending indices of the tokens for the second pass into out[n]; returns how many.
     * NULL: all of them, whatever the budget. */
    size_t                 (*pick)(const struct gkv__pick *in, uint32_t *out);
    /* The whole pass over the prompt (context.h), and what it allocates and leaves, in bytes, with
     * blocks of `chunk` rows.  Where the budget has room for the whole prompt, it is not called,
     * unless the method has a budget of its own. */
    gkv_status             (*run)(struct gkv__context *c, gkv_error *err);
    uint64_t               (*bytes)(const struct gkv__context *c, uint32_t chunk);
    const struct gkv__watch *watch;     /* of a run that is a sweep, in place of bytes       */
    bool                     own_budget;
    bool                     restarts;  /* a run that ends with a second pass                */
    const char              *order;     /* of a run, as the schedules are called             */
};

/* Parse "name" or "name:key=value,...".  GKV_INVALID names what would be right. */
gkv_status gkv__select_parse(const char *spec, const struct gkv__select **out,
                             double param[GKV__MAX_PARAMS], gkv_error *err);

/* First tokens that stay: as many as are asked for, keep_first at least, the budget at most. */
size_t gkv__sinks(const struct gkv__context *c, double asked);

#endif
