/* SPDX-License-Identifier: BSD-2-Clause
 * streamingllm.c - one pass; every layer keeps the first tokens, the attention sinks, and the last
 * ones.  Xiao, Tian, Chen, Han, Lewis: "Efficient Streaming Language Models with Attention Sinks"
 * (2023), as FastKV and kvpress use it for a baseline: the prefill itself attends to the whole
 * prompt. */
#include "config.h"
#include "src/engine/layer.h"
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_streamingllm;

enum { SINKS, POSITIONS };
enum { ORIGINAL, CACHE };

static const struct gkv__param params[] = {
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 65536 },
    [POSITIONS] = { "positions", "original", "whether kept tokens keep their positions in the prompt, or "
                    "get consecutive ones", .words = "original cache" },
    { .name = NULL },
};

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    (void)il;
    return t->k;
}

static size_t sinks(const struct gkv__task *t)
{
    return gkv__sinks(t, t->param[SINKS]);
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const size_t k = (size_t)s->c->t->k, first = sinks(s->c->t);

    (void)err;
    for (size_t ih = 0; ih < s->c->t->m->shape.n_head_kv; ih++)
        for (size_t i = 0; i < k; i++)
            s->keep[ih * s->stride + i] = (uint32_t)(i < first ? i : s->n - k + i);
    s->n_keep = k;
    return GKV_OK;
}

/* Rotates keys to consecutive positions: the sinks stay where they are, the others move down. */
static void end(struct gkv__sweep *s)
{
    struct gkv__context *c = s->c;
    const size_t n = (size_t)c->t->n, k = (size_t)c->t->k, first = sinks(c->t);
    const struct gkv__pass p = { .e = c->e, .m = c->t->m, .span = s->p.span, .c = &c->cache };

    if ((int)c->t->param[POSITIONS] != CACHE)
        return;
    gkv__move_keys(&p, first, k - first, n - k + first, first);
    for (uint32_t il = 0; il < c->cache.n_layer; il++)
        c->cache.layer[il].shift = 0;
    c->next = k;
}

static const struct gkv__watch watch = { .layer = layer, .end = end, .room = room };

const struct gkv__select gkv__select_streamingllm = {
    .name = "streamingllm",
    .summary = "one pass; every layer keeps the beginning and the end",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
};
