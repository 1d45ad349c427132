/* SPDX-License-Identifier: BSD-2-Clause
 * fastkv.c - one pass; after one layer only the tokens that the end of the prompt attends
 * to there go on, at their own positions; what each layer's cache keeps is chosen apart from
 * that, as SnapKV does.  Jo, Song, Kim, Kim: "FastKV: KV Cache Compression for Fast Long-Context
 * Processing with Token-Selective Propagation" (2025), with the pooling of the authors' runs. */
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
    [WINDOW] = { "window", "8", "last tokens of the prompt, that observe and are kept", 1, 4096 },
    [KERNEL] = { "kernel", "7", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [POOL] = { "pool", "max", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    { .name = NULL },
};

static uint32_t tsp(const struct gkv__context *c)
{
    const double p = c->param[TSP];

    return p >= 0 ? (uint32_t)p : c->layer >= 0 ? (uint32_t)c->layer : c->m->tsp_layer;
}

/* The number, or the share of the prompt; with the tokens that are always kept. */
static size_t count(const struct gkv__context *c, int len, int rate)
{
    size_t n = c->param[len] > 0 ? (size_t)c->param[len] : (size_t)((double)c->n * c->param[rate]);
    size_t window = (size_t)c->param[WINDOW];
    const size_t least = c->keep_first + (c->keep_last > window ? c->keep_last : window);

    n = n < least ? least : n;
    return n < c->n ? n : (size_t)c->n;
}

static size_t rows(const struct gkv__context *c, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return gkv__min((uint64_t)c->param[WINDOW], c->n);
}

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    const size_t here = il <= tsp(c) ? (size_t)c->n : count(c, TSP_LEN, TSP_RATE);

    return gkv__min(here, count(c, KV_LEN, KV_RATE));
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const size_t window = rows(c, s->il, s->n), go = count(c, TSP_LEN, TSP_RATE);

    (void)err;
    gkv__window_pool(s, window, (size_t)c->param[KERNEL], (int)c->param[POOL]);
    gkv__window_keep(s, window, count(c, KV_LEN, KV_RATE));
    if (s->il == tsp(c) && go < s->n) {
        gkv__window_score(s, window, 0, c->m->shape.n_head);
        s->n_go = gkv__window_best(s, window, go, s->go);
    }
    return GKV_OK;
}

static const struct gkv__watch watch = { .rows = rows, .layer = layer, .room = room };

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    if (tsp(c) >= c->m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "tsp=%u: the model has layers 0 .. %u", tsp(c),
                         c->m->shape.n_layer - 1);
    c->chosen = (int32_t)tsp(c);
    return gkv__sweep(c, &watch, err);
}

const struct gkv__select gkv__select_fastkv = {
    .name = "fastkv",
    .summary = "one pass; after one layer only the tokens that the end attends to go on",
    .params = params,
    .run = run,
    .watch = &watch,
    .own_budget = true,
    .order = "layer",
};
