/* SPDX-License-Identifier: BSD-2-Clause
 * pyramidinfer.c - one pass in which fewer tokens go on from layer to layer.  Yang, Han, Gao
 * et al.: "PyramidInfer: Pyramid KV Cache Compression for High-throughput LLM Inference" (2024),
 * its prefill, as the authors' code has it.  Of the tokens before the recent ones a share goes on,
 * which falls along a cosine over the layers: those that receive most attention from the recent
 * tokens, averaged over heads, with later rows weighing more.  A layer's cache keeps all tokens that
 * entered the layer. */
#include "config.h"
#include <math.h>
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_pyramidinfer;

enum { RECENT, DECAY, LEAST, SINKS, WEIGHT };

static const struct gkv__param params[] = {
    [RECENT] = { "recent", "0.2", "share of the prompt, at its end, that chooses and is kept", 0, 0.9 },
    [DECAY] = { "decay", "0.9", "share of tokens that go on after the last layers", 0.01, 1 },
    [LEAST] = { "least", "64", "fewest tokens before the recent ones that go on", 1, 1 << 20 },
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 4096 },
    [WEIGHT] = { "weight", "1.2", "weight of the last row, relative to the first recent one", 0.1, 100 },
    { .name = NULL },
};

static size_t recent(const struct gkv__task *t)
{
    size_t n = 1 + (size_t)((double)t->n * t->param[RECENT]);

    n = n < t->keep_last ? t->keep_last : n;
    return n < t->n ? n : (size_t)t->n;
}

/* Tokens that go on after layer il, when n entered it. */
static size_t next(const struct gkv__task *t, uint32_t il, size_t n)
{
    const double p = t->param[DECAY], pi = 3.14159265358979323846;
    const double ratio = (1 - p) * (cos(pi * il / t->m->shape.n_layer) + 1) / 2 + p;
    const size_t before = n - recent(t), want = (size_t)((double)before * ratio);
    size_t least = (size_t)t->param[LEAST];

    least = least < t->n - recent(t) ? least : (size_t)t->n - recent(t);
    return before > least && ratio < 1 && want > least ? want + recent(t) : n;
}

static size_t rows(const struct gkv__task *t, uint32_t il, size_t n)
{
    return next(t, il, n) < n ? recent(t) : 0;
}

static float weight(const struct gkv__task *t, size_t i, size_t rows)
{
    return rows > 1 ? (float)(1 + (t->param[WEIGHT] - 1) * (double)i / (double)(rows - 1)) : 1;
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    size_t n = (size_t)t->n;

    for (uint32_t i = 0; i < il; i++)
        n = next(t, i, n);
    return n;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const size_t go = next(c->t, s->il, s->n), last = recent(c->t);
    size_t sinks = (size_t)c->t->param[SINKS];

    (void)err;
    if (go == s->n)
        return GKV_OK;
    gkv__window_score(s, last, 0, c->t->m->shape.n_head);
    sinks = sinks < c->t->keep_first ? c->t->keep_first : sinks;
    for (size_t j = 0; j < sinks && j < s->n - last; j++)
        s->score[j] = INFINITY;
    gkv__top(s->score, s->n - last, go - last, s->go);
    for (size_t i = 0; i < last; i++)
        s->go[go - last + i] = (uint32_t)(s->n - last + i);
    s->n_go = go;
    return GKV_OK;
}

static const struct gkv__watch watch = { .rows = rows, .weight = weight, .layer = layer, .room = room };

const struct gkv__select gkv__select_pyramidinfer = {
    .name = "pyramidinfer",
    .summary = "one pass in which fewer tokens go on from layer to layer",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
    .own_budget = true,
};
