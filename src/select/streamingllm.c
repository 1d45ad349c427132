/* SPDX-License-Identifier: BSD-2-Clause
 * streamingllm.c - one pass; every layer keeps the first tokens, that attention rests on,
 * and the last ones.  Xiao, Tian, Chen, Han, Lewis: "Efficient Streaming Language Models with
 * Attention Sinks" (2023), as FastKV and kvpress take it for a baseline: the prompt itself is
 * read in full. */
#include "config.h"
#include "src/engine/layer.h"
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_streamingllm;

enum { SINKS, POSITIONS };
enum { ORIGINAL, CACHE };

static const struct gkv__param params[] = {
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 65536 },
    [POSITIONS] = { "positions", "original", "whether kept tokens stand where they stood in the prompt, or "
                    "side by side", .words = "original cache" },
    { .name = NULL },
};

static uint64_t room(const struct gkv__context *c, uint32_t il)
{
    (void)il;
    return c->k;
}

static size_t sinks(const struct gkv__context *c)
{
    return gkv__sinks(c, c->param[SINKS]);
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const size_t k = (size_t)s->c->k, first = sinks(s->c);

    (void)err;
    for (size_t ih = 0; ih < s->c->m->shape.n_head_kv; ih++)
        for (size_t i = 0; i < k; i++)
            s->keep[ih * s->stride + i] = (uint32_t)(i < first ? i : s->n - k + i);
    s->n_keep = k;
    return GKV_OK;
}

static const struct gkv__watch watch = { .layer = layer, .room = room };

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    const size_t k = (size_t)c->k, first = sinks(c);

    GKV__TRY(gkv__sweep(c, &watch, err));
    if ((int)c->param[POSITIONS] == CACHE) {
        /* The sinks stay where they are, the others move down. */
        gkv__move_keys(c->e, c->m, &c->cache, first, k - first, c->n - k + first, first);
        for (uint32_t il = 0; il < c->cache.n_layer; il++)
            c->cache.layer[il].away = 0;
        c->next = k;
    }
    return GKV_OK;
}

const struct gkv__select gkv__select_streamingllm = {
    .name = "streamingllm",
    .summary = "one pass; every layer keeps the beginning and the end",
    .params = params,
    .run = run,
    .watch = &watch,
    .order = "layer",
};
