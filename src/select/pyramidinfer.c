/* SPDX-License-Identifier: BSD-2-Clause
 * pyramidinfer.c - one pass in which fewer tokens go on from layer to layer.  Yang, Han, Gao
 * et al.: "PyramidInfer: Pyramid KV Cache Compression for High-throughput LLM Inference" (2024),
 * the prompt's part, as the authors' code has it: of the tokens before the recent ones a share
 * that falls along a cosine goes on, by the attention that the recent ones, later ones counting
 * more, give them on average over heads.  A layer's cache is what entered it. */
#include "config.h"
#include <math.h>
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_pyramidinfer;

enum { RECENT, DECAY, LEAST, SINKS, WEIGHT };

static const struct gkv__param params[] = {
    [RECENT] = { "recent", "0.2", "share of the prompt, its end, that observes and is kept", 0, 0.9 },
    [DECAY] = { "decay", "0.9", "share of tokens that goes on after the last layers", 0.01, 1 },
    [LEAST] = { "least", "64", "tokens before the recent ones that are never dropped below", 1, 1 << 20 },
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 4096 },
    [WEIGHT] = { "weight", "1.2", "how much the last row counts, the first recent one counting 1", 0.1, 100 },
    { .name = NULL },
};

static size_t recent(const struct gkv__context *c)
{
    size_t n = 1 + (size_t)((double)c->n * c->param[RECENT]);

    n = n < c->keep_last ? c->keep_last : n;
    return n < c->n ? n : (size_t)c->n;
}

/* Tokens that go on after layer il, of n in it. */
static size_t next(const struct gkv__context *c, uint32_t il, size_t n)
{
    const double p = c->param[DECAY], pi = 3.14159265358979323846;
    const double ratio = (1 - p) * (cos(pi * il / c->m->shape.n_layer) + 1) / 2 + p;
    const size_t before = n - recent(c), want = (size_t)((double)before * ratio);
    size_t least = (size_t)c->param[LEAST];

    least = least < c->n - recent(c) ? least : (size_t)c->n - recent(c);
    return before > least && ratio < 1 && want > least ? want + recent(c) : n;
}

static size_t rows(const struct gkv__context *c, uint32_t il, size_t n)
{
    return next(c, il, n) < n ? recent(c) : 0;
}

static float weight(const struct gkv__context *c, size_t i, size_t rows)
{
    return rows > 1 ? (float)(1 + (c->param[WEIGHT] - 1) * (double)i / (double)(rows - 1)) : 1;
}

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    size_t n = (size_t)c->n;

    for (uint32_t i = 0; i < il; i++)
        n = next(c, i, n);
    return n;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const size_t go = next(c, s->il, s->n), last = recent(c);
    size_t sinks = (size_t)c->param[SINKS];

    (void)err;
    if (go == s->n)
        return GKV_OK;
    gkv__window_score(s, last, 0, c->m->shape.n_head);
    sinks = sinks < c->keep_first ? c->keep_first : sinks;
    for (size_t j = 0; j < sinks && j < s->n - last; j++)
        s->score[j] = INFINITY;
    gkv__top(s->score, s->n - last, go - last, s->go);
    for (size_t i = 0; i < last; i++)
        s->go[go - last + i] = (uint32_t)(s->n - last + i);
    s->n_go = go;
    return GKV_OK;
}

static const struct gkv__watch watch = { .rows = rows, .weight = weight, .layer = layer, .room = room };

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    return gkv__sweep(c, &watch, err);
}

const struct gkv__select gkv__select_pyramidinfer = {
    .name = "pyramidinfer",
    .summary = "one pass in which fewer tokens go on from layer to layer",
    .params = params,
    .run = run,
    .watch = &watch,
    .own_budget = true,
    .order = "layer",
};
