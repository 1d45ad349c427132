/* SPDX-License-Identifier: BSD-2-Clause
 * gemfilter.c - restarts with the tokens that the last token of the prompt attends to at one
 * early layer.  Shi, Ming, Nguyen, Liang, Joty: "Discovering the Gems in Early Layers"
 * (2024), Algorithm 1, as the authors' code has it: raw q . k summed over heads, no softmax,
 * pooled over neighbours, one set of indices for all layers and heads. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/pool.h"
#include "src/select/select.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_gemfilter;

enum { POOL, KERNEL, ROW, REFINE };

static const struct gkv__param params[] = {
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [ROW] = { "row", "last", "token of the prompt whose query scores: the last, the middle one, or the one "
              "with the largest scores (appendix E.2)", .words = "last middle largest" },
    [REFINE] = { "refine", "0", "tokens of the best passages that are read again, for each token that is kept; 0: the "
                 "paper's method, and what the schedule does", 0, 64 },
    { .name = NULL },
};

static enum gkv__row row(const double *param)
{
    return (enum gkv__row)param[ROW];
}

static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    const size_t n = (size_t)t->n, k = (size_t)t->k;

    gkv__pool(score, spare, n, (size_t)t->param[KERNEL], (enum gkv__pool)t->param[POOL]);
    memcpy(spare, score, n * sizeof *score);
    gkv__force(spare, n, t->keep_first, t->keep_last);
    gkv__top(spare, n, k, out);
    return k;
}

const struct gkv__select gkv__select_gemfilter = {
    .name = "gemfilter",
    .summary = "restart with the tokens that one early layer attends to",
    .params = params,
    .kind = GKV__SCORES,
    .row = row,
    .pick = pick,
};
