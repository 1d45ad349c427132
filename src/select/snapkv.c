/* SPDX-License-Identifier: BSD-2-Clause
 * snapkv.c - one pass; each KV head keeps what an observation window at the end of the
 * prompt attends to.  Li, Huang, Yang et al.: "SnapKV: LLM Knows What You are Looking for Before
 * Generation" (2024): attention of the window's rows after the softmax, summed, pooled over
 * neighbours.  The query heads that share a KV head choose together, or, as the authors do it, each for
 * itself: the cache is then that many times as large. */
#include "config.h"
#include "src/base/pool.h"
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_snapkv;

enum { WINDOW, KERNEL, POOL, HEADS };
enum { KV, QUERY };

static const struct gkv__param params[] = {
    [WINDOW] = { "window", "32", "last tokens of the prompt, that observe and are kept", 1, 4096 },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    [HEADS] = { "heads", "kv", "who chooses: the query heads of a KV head together, or each query head",
                .words = "kv query" },
    { .name = NULL },
};

static size_t rows(const struct gkv__context *c, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return (size_t)c->param[WINDOW];
}

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    (void)il;
    return c->k;
}

static uint32_t heads(const struct gkv__context *c)
{
    const struct gkv__shape *s = &c->m->shape;

    return (int)c->param[HEADS] == QUERY ? s->n_head : s->n_head_kv;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const double *p = s->c->param;
    const size_t window = (size_t)p[WINDOW];

    (void)err;
    gkv__window_pool(s, window, (size_t)p[KERNEL], (int)p[POOL]);
    gkv__window_keep(s, window, (size_t)s->c->k);
    return GKV_OK;
}

static const struct gkv__watch watch = { .heads = heads, .rows = rows, .layer = layer, .room = room };

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    GKV__TRY(gkv__window_fits(c, (size_t)c->param[WINDOW], c->k, err));
    return gkv__sweep(c, &watch, err);
}

const struct gkv__select gkv__select_snapkv = {
    .name = "snapkv",
    .summary = "one pass; each head keeps what the end of the prompt attends to",
    .params = params,
    .run = run,
    .watch = &watch,
    .order = "layer",
};
