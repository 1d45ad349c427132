/* SPDX-License-Identifier: BSD-2-Clause
 * asl.c - the layer that selects is found on the way: the first at which the ranks of tokens,
 * by what the end of the prompt attends to, have stopped changing from layer to layer.
 * Taniguchi, Dong, Onizuka, Xiao: "Adaptive Layer Selection for Layer-Wise Token Pruning in LLM
 * Inference" (2026), Algorithm 2, as the authors' code has it.
 *
 *     asl         one pass; caches as SnapKV's, or full up to the layer that selects
 *     asl-2pass   stops there; a second pass sees the tokens selected                          */
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

enum { WINDOW, KERNEL, POOL, LMIN, LOBS, TAU, LAST };   /* LAST: kv of one, score of the other */
enum { SNAPKV, FULL };
enum { ASL, GEM };

#define COMMON_PARAMS                                                                           \
    [WINDOW] = { "window", "32", "last tokens of the prompt, that observe and are kept", 1, 4096 }, \
    [KERNEL] = { "kernel", "7", "width of the pool, an odd number of tokens", 1, 255, .odd = true }, \
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS }, \
    [LMIN] = { "lmin", "-1", "first layer that may select; -1: a third of the depth", -1, 4096 }, \
    [LOBS] = { "lobs", "8", "layers whose ranks are compared", 2, 64 },                         \
    [TAU] = { "tau", "0.3", "select when the variance of ranks falls below so much of that at lmin", 0, 1 }

static const struct gkv__param params_one[] = {
    COMMON_PARAMS,
    [LAST] = { "kv", "snapkv", "what caches keep before a layer selects", .words = "snapkv full" },
    { .name = NULL },
};

static const struct gkv__param params_two[] = {
    COMMON_PARAMS,
    [LAST] = { "score", "asl", "what the layer found selects by: its own ranks, or GemFilter's score",
               .words = "asl gem" },
    { .name = NULL },
};

/* ---- state ------------------------------------------------------------------------------ */

struct state {
    double   first;             /* variance at lmin                                          */
    bool     selected;
    uint32_t n_ranks;           /* layers ranked so far                                      */
    uint64_t sort[];            /* [n]; then ranks [lobs][n] of uint32_t, a ring             */
};

static uint32_t lobs(const struct gkv__context *c)
{
    return (uint32_t)c->param[LOBS];
}

static uint32_t lmin(const struct gkv__context *c)
{
    const uint32_t third = c->m->shape.n_layer / 3;

    if (c->param[LMIN] >= 0)
        return (uint32_t)c->param[LMIN];
    return third + 1 > lobs(c) ? third : lobs(c) - 1;   /* it takes lobs layers to compare them */
}

static uint64_t state_bytes(const struct gkv__context *c)
{
    return sizeof(struct state) + gkv__times(c->n, sizeof(uint64_t) + lobs(c) * sizeof(uint32_t));
}

static uint32_t *ranks_of(struct gkv__sweep *s, uint32_t layer)
{
    struct state *t = s->state;

    return (uint32_t *)(void *)(t->sort + s->stride) + (size_t)(layer % lobs(s->c)) * s->stride;
}

/* ---- ranks ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* rank[j] of score[n]: 1 is the largest; equal scores, the smaller index first.  Scores are sums of
 * attention, so not negative, and their bits are in their order. */
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

/* Mean, over the tokens among the best k of any of the last lobs layers, of the variance of their
 * ranks over these layers. */
static double variance(struct gkv__sweep *s, size_t n, size_t k)
{
    const uint32_t rows = lobs(s->c);
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

/* Ranks of this layer, whose scores are in s->score; whether it selects. */
static bool settled(struct gkv__sweep *s, size_t window)
{
    const struct gkv__context *c = s->c;
    struct state *t = s->state;
    const size_t n = s->n - window, k = gkv__min(c->k - window, n);
    double v;

    rank(ranks_of(s, s->il), t->sort, s->score, n);
    if (s->il < lmin(c))
        return false;
    v = variance(s, n, k);
    if (s->il == lmin(c))
        t->first = v;
    return (s->il == lmin(c) || t->first == 0 ? 1 : v / t->first) < c->param[TAU];
}

/* ---- one pass --------------------------------------------------------------------------- */

static size_t rows(const struct gkv__context *c, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return (size_t)c->param[WINDOW];
}

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    (void)il;
    return (int)c->param[LAST] == FULL ? c->n : c->k;
}

static gkv_status layer_one(struct gkv__sweep *s, gkv_error *err)
{
    struct gkv__context *c = s->c;
    struct state *t = s->state;
    const size_t window = (size_t)c->param[WINDOW];

    (void)err;
    gkv__window_pool(s, window, (size_t)c->param[KERNEL], (int)c->param[POOL]);
    if (!t->selected) {
        gkv__window_score(s, window, 0, c->m->shape.n_head);
        if (settled(s, window)) {
            t->selected = true;
            c->chosen = (int32_t)s->il;
            s->n_go = gkv__window_best(s, window, (size_t)c->k, s->go);
        }
    }
    if ((int)c->param[LAST] == SNAPKV)
        gkv__window_keep(s, window, (size_t)c->k);
    return GKV_OK;
}

static gkv_status fits(const struct gkv__context *c, gkv_error *err)
{
    if (lmin(c) + 1 < lobs(c) || lmin(c) >= c->m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "lmin=%u: at least lobs - 1 = %u, and less than the %u layers "
                         "of the model", lmin(c), lobs(c) - 1, c->m->shape.n_layer);
    return gkv__window_fits(c, (size_t)c->param[WINDOW], c->k, err);
}

static const struct gkv__watch watch_one = {
    .rows = rows, .layer = layer_one, .room = room, .state_bytes = state_bytes,
};

static gkv_status run_one(struct gkv__context *c, gkv_error *err)
{
    GKV__TRY(fits(c, err));
    return gkv__sweep(c, &watch_one, err);
}

const struct gkv__select gkv__select_asl = {
    .name = "asl",
    .summary = "one pass; tokens are selected at the layer where their ranks settle",
    .params = params_one,
    .run = run_one,
    .watch = &watch_one,
    .order = "layer",
};

/* ---- two passes ------------------------------------------------------------------------- */

static uint64_t room_none(const struct gkv__context *c, uint32_t il)
{
    (void)c;
    (void)il;
    return 1;                           /* nobody will see it */
}

static bool raw(const struct gkv__context *c, uint32_t il)
{
    return (int)c->param[LAST] == GEM && il >= lmin(c);
}

/* When no layer settles, the last selects. */
static gkv_status layer_two(struct gkv__sweep *s, gkv_error *err)
{
    struct gkv__context *c = s->c;
    const size_t window = (size_t)c->param[WINDOW];
    const bool gem = (int)c->param[LAST] == GEM;

    (void)err;
    s->n_keep = 1;
    if (gem)                            /* raw scores, but for the ranks */
        memcpy(c->score, s->score, s->n * sizeof *s->score);
    gkv__window_pool(s, window, (size_t)c->param[KERNEL], (int)c->param[POOL]);
    gkv__window_score(s, window, 0, c->m->shape.n_head);
    if (!settled(s, window) && s->il + 1 < c->m->shape.n_layer)
        return GKV_OK;
    c->chosen = (int32_t)s->il;
    c->restart = s->stop = true;
    if (gem) {
        gkv__pool(c->score, s->spare, s->n, 5, GKV__POOL_AVG);
        memcpy(s->spare, c->score, s->n * sizeof *s->spare);
        gkv__force(s->spare, s->n, c->keep_first, c->keep_last);
        c->n_kept = (size_t)c->k;
        gkv__top(s->spare, s->n, c->n_kept, c->kept);
    } else {
        memcpy(c->score, s->score, s->n * sizeof *s->score);
        c->n_kept = gkv__window_best(s, window, (size_t)c->k, c->kept);
    }
    return GKV_OK;
}

static const struct gkv__watch watch_two = {
    .rows = rows, .raw = raw, .layer = layer_two, .room = room_none, .state_bytes = state_bytes,
};

static gkv_status run_two(struct gkv__context *c, gkv_error *err)
{
    GKV__TRY(fits(c, err));
    return gkv__sweep(c, &watch_two, err);
}

const struct gkv__select gkv__select_asl_2pass = {
    .name = "asl-2pass",
    .summary = "restart with the tokens selected at the layer where their ranks settle",
    .params = params_two,
    .run = run_two,
    .watch = &watch_two,
    .restarts = true,
    .order = "layer",
};
