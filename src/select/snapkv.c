/* SPDX-License-Identifier: BSD-2-Clause
 * snapkv.c - one pass; each KV head keeps the tokens that an observation window at the end of the
 * prompt attends to.  Li, Huang, Yang et al.: "SnapKV: LLM Knows What You are Looking for Before
 * Generation" (2024): attention of the window's rows after the softmax, summed, pooled over
 * neighbours.  The query heads that share a KV head choose together or, as in the authors' code, each
 * for itself; the cache is then as many times larger. */
#include "config.h"
#include "src/base/pool.h"
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_snapkv;

enum { WINDOW, KERNEL, POOL, HEADS };
enum { KV, QUERY };

static const struct gkv__param params[] = {
    [WINDOW] = { "window", "32", "last tokens of the prompt, which choose and are kept", 1, 4096 },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    [HEADS] = { "heads", "kv", "whether the query heads of a KV head choose together, or each for itself",
                .words = "kv query" },
    { .name = NULL },
};

static size_t rows(const struct gkv__task *t, uint32_t il, size_t n)
{
    (void)il;
    (void)n;
    return (size_t)t->param[WINDOW];
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    (void)il;
    return t->k;
}

static uint32_t heads(const struct gkv__task *t)
{
    const struct gkv__shape *s = &t->m->shape;

    return (int)t->param[HEADS] == QUERY ? s->n_head : s->n_head_kv;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const double *p = s->c->t->param;
    const size_t window = (size_t)p[WINDOW];

    (void)err;
    gkv__window_pool(s, window, (size_t)p[KERNEL], (int)p[POOL]);
    gkv__window_keep(s, window, (size_t)s->c->t->k);
    return GKV_OK;
}

static gkv_status check(const struct gkv__task *t, gkv_error *err)
{
    return gkv__window_fits(t, (size_t)t->param[WINDOW], t->k, err);
}

static const struct gkv__watch watch = {
    .heads = heads, .rows = rows, .check = check, .layer = layer, .room = room,
};

const struct gkv__select gkv__select_snapkv = {
    .name = "snapkv",
    .summary = "one pass; each head keeps what the end of the prompt attends to",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
};
