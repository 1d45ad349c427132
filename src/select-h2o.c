/* SPDX-License-Identifier: BSD-2-Clause
 * select-h2o.c - one pass; each KV head keeps the heavy hitters, the tokens that got most attention
 * from all rows, and the most recent ones.  Zhang, Sheng, Zhou et al.: "H2O: Heavy-Hitter Oracle
 * for Efficient Generative Inference of Large Language Models" (2023), once after the prompt.
 * Every row attends causally, which the baselines of other papers do not all do right. */
#include "config.h"
#include "src/schedule.h"
#include "src/select.h"
#include "src/sweep.h"
#include "src/top.h"

extern const struct gkv__select gkv__select_h2o;

enum { RECENT };

static const struct gkv__param params[] = {
    [RECENT] = { "recent", "32", "last tokens of the prompt, always kept", 1, 65536 },
    { .name = NULL },
};

static size_t rows(const struct gkv__context *c, uint32_t il, size_t n)
{
    (void)c;
    (void)il;
    return n;
}

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    (void)il;
    return c->k;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__shape *h = &s->c->m->shape;
    const size_t group = h->n_head / h->n_head_kv;

    (void)err;
    for (size_t ih = 0; ih < h->n_head_kv; ih++) {
        gkv__window_score(s, (size_t)s->c->param[RECENT], ih * group, group);
        s->n_keep = gkv__window_best(s, (size_t)s->c->param[RECENT], (size_t)s->c->k,
                                     s->keep + ih * s->stride);
    }
    return GKV_OK;
}

static const struct gkv__watch watch = { .rows = rows, .layer = layer, .room = room };

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    GKV__TRY(gkv__window_fits(c, (size_t)c->param[RECENT], c->k, err));
    return gkv__sweep(c, &watch, err);
}

static uint64_t bytes(const struct gkv__context *c, uint32_t chunk)
{
    return gkv__sweep_bytes(c, &watch, chunk);
}

const struct gkv__select gkv__select_h2o = {
    .name = "h2o",
    .summary = "one pass; each head keeps what got most attention from all tokens, and the end",
    .params = params,
    .run = run,
    .bytes = bytes,
    .order = "layer",
};
