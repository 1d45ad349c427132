/* SPDX-License-Identifier: BSD-2-Clause
 * fastkv.c - one pass; after one layer, only the tokens that the end of the prompt attends to at
 * that layer go on, at their own positions.  Separately, each layer's cache keeps tokens chosen
 * as in SnapKV.  Jo, Song, Kim, Kim: "FastKV: KV Cache Compression for Fast Long-Context
 * Processing with Token-Selective Propagation" (2025), with the pooling that the authors ran. */
#include "config.h"
#include "src/base/pool.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_fastkv;

enum { TSP, TSP_RATE, KV_RATE, TSP_LEN, KV_LEN, WINDOW, KERNEL, POOL };

static const struct gkv__param params[] = {
    [TSP] = { "tsp", "-1", "layer after which tokens are selected; -1: --layer, or the model's", -1, 4096 },
    [TSP_RATE] = { "tsp_rate", "0.2", "share of the prompt that goes on", 0, 1 },
    [KV_RATE] = { "kv_rate", "0.1", "share of the prompt that each head keeps", 0, 1 },
    [TSP_LEN] = { "tsp_len", "0", "tokens that go on, instead of the share", 0, 1 << 30 },
    [KV_LEN] = { "kv_len", "0", "tokens that each head keeps, instead of the share", 0, 1 << 30 },
    [WINDOW] = { "window", "8", "last tokens of the prompt, which choose and are kept", 1, 4096 },
    [KERNEL] = { "kernel", "7", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [POOL] = { "pool", "max", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    { .name = NULL },
};

static uint32_t tsp(const struct gkv__task *t)
{
    const double p = t->param[TSP];

    return p >= 0 ? (uint32_t)p : t->layer >= 0 ? (uint32_t)t->layer : t->m->tsp_layer;
}

/* The number given, or the share of the prompt; at least the tokens that are always kept. */
static size_t count(const struct gkv__task *t, int len, int rate)
{
    size_t n = t->param[len] > 0 ? (size_t)t->param[len] : (size_t)((double)t->n * t->param[rate]);
    size_t window = (size_t)t->param[WINDOW];
    const size_t least = t->keep_first + (t->keep_last > window ? t->keep_last : window);

    n = n < least ? least : n;
    return n < t->n ? n : (size_t)t->n;
}

static size_t rows(const struct gkv__task *t, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return gkv__min((uint64_t)t->param[WINDOW], t->n);
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    const size_t here = il <= tsp(t) ? (size_t)t->n : count(t, TSP_LEN, TSP_RATE);

    return gkv__min(here, count(t, KV_LEN, KV_RATE));
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const size_t window = rows(c->t, s->il, s->n), go = count(c->t, TSP_LEN, TSP_RATE);

    (void)err;
    gkv__window_pool(s, window, (size_t)c->t->param[KERNEL], (int)c->t->param[POOL]);
    gkv__window_keep(s, window, count(c->t, KV_LEN, KV_RATE));
    if (s->il == tsp(c->t) && go < s->n) {
        gkv__window_score(s, window, 0, c->t->m->shape.n_head);
        s->n_go = gkv__window_best(s, window, go, s->go);
    }
    return GKV_OK;
}

static gkv_status check(const struct gkv__task *t, gkv_error *err)
{
    if (tsp(t) >= t->m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "tsp=%u: the model has layers 0 .. %u", tsp(t),
                         t->m->shape.n_layer - 1);
    return GKV_OK;
}

static gkv_status begin(struct gkv__sweep *s, gkv_error *err)
{
    (void)err;
    s->c->chosen = (int32_t)tsp(s->c->t);
    return GKV_OK;
}

static const struct gkv__watch watch = {
    .rows = rows, .check = check, .begin = begin, .layer = layer, .room = room,
};

const struct gkv__select gkv__select_fastkv = {
    .name = "fastkv",
    .summary = "one pass; after one layer, only tokens that the end of the prompt attends to go on",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
    .own_budget = true,
};
