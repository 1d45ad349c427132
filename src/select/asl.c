/* SPDX-License-Identifier: BSD-2-Clause
 * asl.c - finds during the pass the layer that selects: the first at which the ranks of tokens, by
 * the attention they receive from the end of the prompt, no longer change from layer to layer.
 * Taniguchi, Dong, Onizuka, Xiao: "Adaptive Layer Selection for Layer-Wise Token Pruning in LLM
 * Inference" (2026), Algorithm 2, as the authors' code has it.
 *
 *     asl         one pass; caches as in SnapKV, or full up to the layer that selects
 *     asl-2pass   stops at that layer; a second pass processes the selected tokens             */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/base/pool.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_asl, gkv__select_asl_2pass;

enum { WINDOW, KERNEL, POOL, LMIN, LOBS, TAU, LAST, REFINE };   /* LAST: kv of asl, score of asl-2pass */
enum { SNAPKV, FULL };
enum { ASL, GEM };

#define COMMON_PARAMS                                                                           \
    [WINDOW] = { "window", "32", "last tokens of the prompt, which choose and are kept", 1, 4096 }, \
    [KERNEL] = { "kernel", "7", "width of the pool, an odd number of tokens", 1, 255, .odd = true }, \
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS }, \
    [LMIN] = { "lmin", "-1", "first layer that may select; -1: a third of the depth, lobs - 1 at least", -1, 4096 }, \
    [LOBS] = { "lobs", "8", "layers whose ranks are compared", 2, 64 },                         \
    [TAU] = { "tau", "0.3", "select when the variance of ranks falls below this share of that at lmin", 0, 1 }

static const struct gkv__param params_one[] = {
    COMMON_PARAMS,
    [LAST] = { "kv", "snapkv", "what caches keep before a layer selects", .words = "snapkv full" },
    { .name = NULL },
};

static const struct gkv__param params_two[] = {
    COMMON_PARAMS,
    [LAST] = { "score", "asl", "scores by which that layer selects: its own ranks, or GemFilter's score",
               .words = "asl gem" },
    [REFINE] = { "refine", "0", "tokens of the best passages that are read again, for each token that is kept; 0: the "
                 "paper's method", 0, 64 },
    { .name = NULL },
};

/* ---- state ------------------------------------------------------------------------------ */

struct state {
    double   first;             /* variance at lmin                                          */
    bool     selected;
    uint32_t n_ranks;           /* layers ranked so far                                      */
    uint64_t sort[];            /* [n]; then uint32_t ranks[lobs][n], a ring buffer          */
};

static uint32_t lobs(const struct gkv__task *t)
{
    return (uint32_t)t->param[LOBS];
}

static uint32_t lmin(const struct gkv__task *t)
{
    const uint32_t third = t->m->shape.n_layer / 3;

    if (t->param[LMIN] >= 0)
        return (uint32_t)t->param[LMIN];
    return third + 1 > lobs(t) ? third : lobs(t) - 1;   /* ranks of lobs layers are compared */
}

static uint64_t state_bytes(const struct gkv__task *t)
{
    return sizeof(struct state) + gkv__times(t->n, sizeof(uint64_t) + lobs(t) * sizeof(uint32_t));
}

static uint32_t *ranks_of(struct gkv__sweep *s, uint32_t layer)
{
    struct state *t = s->state;

    return (uint32_t *)(void *)(t->sort + s->stride) + (size_t)(layer % lobs(s->c->t)) * s->stride;
}

/* ---- ranks ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* rank[j] of score[n]: 1 is the largest; of equal scores the one with the smaller index comes first.
 * Scores are sums of attention, so not negative, and their bit patterns have the same order. */
static void rank(uint32_t *rank_of, uint64_t *sort, const float *score, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t bits;

        memcpy(&bits, &score[j], sizeof bits);
        sort[j] = (uint64_t)(UINT32_MAX - bits) << 32 | j;
    }
    qsort(sort, n, sizeof *sort, ascending);
    for (size_t i = 0; i < n; i++)
        rank_of[(uint32_t)sort[i]] = (uint32_t)i + 1;
}

/* For each token that is among the best k in any of the last lobs layers: the variance of its ranks over
 * these layers.  Returns the mean of these variances. */
static double variance(struct gkv__sweep *s, size_t n, size_t k)
{
    const uint32_t rows = lobs(s->c->t);
    double sum = 0;
    size_t count = 0;

    for (size_t j = 0; j < n; j++) {
        double mean = 0, square = 0;
        bool any = false;

        for (uint32_t r = 0; r < rows; r++) {
            const uint32_t x = ranks_of(s, r)[j];

            any = any || x <= k;
            mean += x;
        }
        if (!any)
            continue;
        mean /= rows;
        for (uint32_t r = 0; r < rows; r++) {
            const double d = ranks_of(s, r)[j] - mean;

            square += d * d;
        }
        sum += square / rows;
        count++;
    }
    return count ? sum / (double)count : 0;
}

/* Ranks the tokens by s->score of this layer; returns whether this layer selects. */
static bool settled(struct gkv__sweep *s, size_t window)
{
    const struct gkv__context *c = s->c;
    struct state *t = s->state;
    const size_t n = s->n - window, k = gkv__min(c->t->k - window, n);
    double v;

    rank(ranks_of(s, s->il), t->sort, s->score, n);
    if (s->il < lmin(c->t))
        return false;
    v = variance(s, n, k);
    if (s->il == lmin(c->t))
        t->first = v;
    return (s->il == lmin(c->t) || t->first == 0 ? 1 : v / t->first) < c->t->param[TAU];
}

/* ---- one pass --------------------------------------------------------------------------- */

static size_t rows(const struct gkv__task *t, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return (size_t)t->param[WINDOW];
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    (void)il;
    return (int)t->param[LAST] == FULL ? t->n : t->k;
}

static gkv_status layer_one(struct gkv__sweep *s, gkv_error *err)
{
    struct gkv__context *c = s->c;
    struct state *t = s->state;
    const size_t window = (size_t)c->t->param[WINDOW];

    (void)err;
    gkv__window_pool(s, window, (size_t)c->t->param[KERNEL], (int)c->t->param[POOL]);
    if (!t->selected) {
        gkv__window_score(s, window, 0, c->t->m->shape.n_head);
        if (settled(s, window)) {
            t->selected = true;
            c->chosen = (int32_t)s->il;
            s->n_go = gkv__window_best(s, window, (size_t)c->t->k, s->go);
        }
    }
    if ((int)c->t->param[LAST] == SNAPKV)
        gkv__window_keep(s, window, (size_t)c->t->k);
    return GKV_OK;
}

static gkv_status fits(const struct gkv__task *t, gkv_error *err)
{
    if (lmin(t) + 1 < lobs(t) || lmin(t) >= t->m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "lmin=%u: at least lobs - 1 = %u, and less than the %u layers "
                         "of the model", lmin(t), lobs(t) - 1, t->m->shape.n_layer);
    return gkv__window_fits(t, (size_t)t->param[WINDOW], t->k, err);
}

static const struct gkv__watch watch_one = {
    .rows = rows, .check = fits, .layer = layer_one, .room = room, .state_bytes = state_bytes,
};

const struct gkv__select gkv__select_asl = {
    .name = "asl",
    .summary = "one pass; tokens are selected at the layer where their ranks settle",
    .params = params_one,
    .kind = GKV__SWEEPS,
    .watch = &watch_one,
};

/* ---- two passes ------------------------------------------------------------------------- */

static bool raw(const struct gkv__task *t, uint32_t il)
{
    return (int)t->param[LAST] == GEM && il >= lmin(t);
}

/* If ranks settle at no layer, the last layer selects. */
static gkv_status layer_two(struct gkv__sweep *s, gkv_error *err)
{
    struct gkv__context *c = s->c;
    const size_t window = (size_t)c->t->param[WINDOW];
    const bool gem = (int)c->t->param[LAST] == GEM;

    (void)err;
    if (gem)                            /* the raw scores; s->score is needed for ranks */
        memcpy(c->score, s->score, s->n * sizeof *s->score);
    gkv__window_pool(s, window, (size_t)c->t->param[KERNEL], (int)c->t->param[POOL]);
    gkv__window_score(s, window, 0, c->t->m->shape.n_head);
    if (!settled(s, window) && s->il + 1 < c->t->m->shape.n_layer)
        return GKV_OK;
    c->chosen = (int32_t)s->il;
    s->stop = true;
    if (gem) {
        gkv__pool(c->score, s->spare, s->n, 5, GKV__POOL_AVG);
        memcpy(s->spare, c->score, s->n * sizeof *s->spare);
        gkv__force(s->spare, s->n, c->t->keep_first, c->t->keep_last);
        c->n_kept = (size_t)c->t->k;
        gkv__top(s->spare, s->n, c->n_kept, c->kept);
    } else {
        memcpy(c->score, s->score, s->n * sizeof *s->score);
        c->n_kept = gkv__window_best(s, window, (size_t)c->t->k, c->kept);
    }
    return GKV_OK;
}

static const struct gkv__watch watch_two = {
    .rows = rows, .raw = raw, .check = fits, .layer = layer_two, .state_bytes = state_bytes,
};

const struct gkv__select gkv__select_asl_2pass = {
    .name = "asl-2pass",
    .summary = "restart with the tokens selected at the layer where their ranks settle",
    .params = params_two,
    .kind = GKV__SWEEPS,
    .watch = &watch_two,
    .restarts = true,
};
