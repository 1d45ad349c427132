/* SPDX-License-Identifier: BSD-2-Clause
 * gemfilter.c - restart with the tokens that one early layer attends to from the last
 * token of the prompt.  Shi, Ming, Nguyen, Liang, Joty: "Discovering the Gems in Early Layers"
 * (2024), Algorithm 1, as the authors' code has it: raw q . k summed over heads, no softmax,
 * pooled over neighbours, one set of indices for all layers and heads. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/pool.h"
#include "src/select/select.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_gemfilter;

enum { POOL, KERNEL, ROW };

static const struct gkv__param params[] = {
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [ROW] = { "row", "last", "whose attention counts: the prompt's last token's, its middle's, or that of "
              "the token with the largest scores (appendix E.2)", .words = "last middle largest" },
    { .name = NULL },
};

static enum gkv__row row(const double *param)
{
    return (enum gkv__row)param[ROW];
}

static size_t pick(const struct gkv__pick *in, uint32_t *out)
{
    gkv__pool(in->score, in->spare, in->n, (size_t)in->param[KERNEL],
              (enum gkv__pool)in->param[POOL]);
    memcpy(in->spare, in->score, in->n * sizeof *in->score);
    gkv__force(in->spare, in->n, in->keep_first, in->keep_last);
    gkv__top(in->spare, in->n, in->k, out);
    return in->k;
}

const struct gkv__select gkv__select_gemfilter = {
    .name = "gemfilter",
    .summary = "restart with the tokens that one early layer attends to",
    .params = params,
    .needs = GKV__NEEDS_LAST_ROW,
    .row = row,
    .pick = pick,
};
