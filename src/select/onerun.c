/* SPDX-License-Identifier: BSD-2-Clause
 * onerun.c - GemFilter in one pass: all layers over the whole prompt, and every layer and head
 * keeps the tokens that the filter layer chose.  Shi et al. 2024, appendix E.3. */
#include "config.h"
#include <string.h>
#include "src/base/pool.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_onerun;

enum { POOL, KERNEL };

static const struct gkv__param params[] = {
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = GKV__POOL_WORDS },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    { .name = NULL },
};

static bool raw(const struct gkv__task *t, uint32_t il)
{
    return il == t->filter;
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    (void)il;
    return t->k;
}

/* Layers before the filter layer keep everything until it has selected. */
static uint64_t before(const struct gkv__task *t, uint32_t il)
{
    return il < t->filter ? t->n : 0;
}

static uint64_t state_bytes(const struct gkv__task *t)
{
    return gkv__times(t->k, sizeof(uint32_t));
}

static gkv_status begin(struct gkv__sweep *s, gkv_error *err)
{
    (void)err;
    s->c->chosen = (int32_t)s->c->t->filter;
    return GKV_OK;
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const size_t k = (size_t)c->t->k;
    uint32_t *chosen = s->state;

    if (s->il < c->t->filter)
        return GKV_OK;
    if (s->il == c->t->filter) {
        gkv__pool(s->score, s->spare, s->n, (size_t)c->t->param[KERNEL], (enum gkv__pool)c->t->param[POOL]);
        gkv__force(s->score, s->n, c->t->keep_first, c->t->keep_last);
        gkv__top(s->score, s->n, k, chosen);
        for (uint32_t il = 0; il < s->il; il++)
            GKV__TRY(gkv__sweep_cut(s, il, chosen, k, err));
    }
    for (size_t ih = 0; ih < c->t->m->shape.n_head_kv; ih++)
        memcpy(s->keep + ih * s->stride, chosen, k * sizeof *chosen);
    s->n_keep = k;
    return GKV_OK;
}

static const struct gkv__watch watch = {
    .raw = raw, .begin = begin, .layer = layer, .room = room, .before = before, .state_bytes = state_bytes,
};

const struct gkv__select gkv__select_onerun = {
    .name = "gemfilter-onerun",
    .summary = "one pass; every layer keeps the tokens that one early layer attends to",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
};
