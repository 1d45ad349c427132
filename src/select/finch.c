/* SPDX-License-Identifier: BSD-2-Clause
 * finch.c - chunk by chunk through all layers, each with a cache that the question chooses
 * from chunk to chunk (bounded.h); the answer is written from these caches.  Corallo and Papotti:
 * "FINCH: Prompt-guided Key-Value Cache Compression for Large Language Models" (2024). */
#include "config.h"
#include <string.h>
#include "src/first/bounded.h"
#include "src/engine/forward.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_finch;

enum { CHUNK, NORMALIZE, HEADS, RATIO };
enum { ON };
enum { ALL, KV };
enum { EXACT, CEIL };

static const struct gkv__param params[] = {
    [CHUNK] = { "chunk", "1024", "tokens of the document per step", 1, 65536 },
    [NORMALIZE] = { "normalize", "on", "whether later rows of the question count more, as they see more",
                    .words = "on off" },
    [HEADS] = { "heads", "all", "whether heads choose together or each KV head its own", .words = "all kv" },
    [RATIO] = { "ratio", "exact", "share of a chunk that is kept: what ends at the budget, or the authors' "
                "whole number", .words = "exact ceil" },
    { .name = NULL },
};

/* ---- sizes ------------------------------------------------------------------------------ */

/* Of the budget the question takes its part; the rest is for the document. */
static size_t target(const struct gkv__context *c)
{
    return c->k > c->n_tail ? (size_t)(c->k - c->n_tail) : 1;
}

static size_t text(const struct gkv__context *c)
{
    return (size_t)c->n - c->n_tail;
}

static size_t step_of(const struct gkv__context *c)
{
    return gkv__min((uint64_t)c->param[CHUNK], text(c));
}

/* Entries after the chunk that ends at token `end`, of n tokens, when there were `held`. */
static size_t entries(const struct gkv__context *c, size_t held, size_t end, size_t n)
{
    const size_t all = text(c), to = target(c);

    return (int)c->param[RATIO] == EXACT ? (size_t)((uint64_t)to * end / all)
                                         : held + n / ((all + to - 1) / to);
}

static struct gkv__bounded caches(const struct gkv__context *c, size_t chunk)
{
    const size_t n_q = gkv__min(gkv__min(c->n_tail, GKV__MAX_QUESTION), chunk);

    return (struct gkv__bounded){
        .m = c->m, .n_layer = c->m->shape.n_layer, .kv = c->kv, .budget = target(c),
        .max_rows = step_of(c) + n_q, .n_q = n_q, .rising = (int)c->param[NORMALIZE] == ON,
        .per_head = (int)c->param[HEADS] == KV, .origins = true, .id = c->id,
        .question = c->id ? c->id + c->n - n_q : NULL,
    };
}

static uint64_t bytes(const struct gkv__context *c, uint32_t chunk)
{
    const struct gkv__shape *s = &c->m->shape;
    struct gkv__bounded b = caches(c, chunk);
    const uint64_t cache = gkv__cache_bytes(c->kv, s->n_layer, s->n_head_kv, s->head_dim,
                                            gkv__plus(c->k, c->n_new));

    return gkv__plus(gkv__plus(gkv__bounded_bytes(&b, text(c)), cache),
                     gkv__plus(gkv__model_weight_bytes(c->m), c->n * sizeof(float)));
}

/* ---- running ---------------------------------------------------------------------------- */

/* The document's part of what to show: the tokens that most layers, or heads of them, hold. */
static void show(struct gkv__context *c, const struct gkv__bounded *b)
{
    const uint32_t n_heads = c->m->shape.n_head_kv;
    const size_t sets = b->n_layer * (b->per_head ? n_heads : 1), n = text(c);

    memset(c->score, 0, c->n * sizeof *c->score);
    for (size_t i = 0; i < sets; i++)
        for (size_t j = 0; j < b->held; j++)
            c->score[b->origin[i * b->budget + j]] += 1 / (float)sets;
    for (uint32_t i = 0; c->holds && i < b->n_layer * n_heads; i++)
        c->holds(c->holds_arg, i / n_heads, i % n_heads,
                 b->origin + (b->per_head ? i : i / n_heads) * b->budget, b->held);
    for (size_t j = n; j < c->n; j++)
        c->score[j] = 1;
    c->n_kept = b->held + c->n_tail;
    gkv__top(c->score, n, b->held, c->kept);
    for (size_t j = n; j < c->n; j++)
        c->kept[b->held + j - n] = (uint32_t)j;
}

static double work_of(const struct gkv__context *c, const struct gkv__bounded *b)
{
    const size_t all = text(c), step = step_of(c);
    double sum = 0;
    size_t held = 0;

    for (size_t at = 0; at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        sum += gkv__bounded_work(b, held, at, n);
        held = entries(c, held, at + n, n);
    }
    return sum + c->m->shape.n_layer * gkv__layer_work(&c->m->shape, held, c->n_tail);
}

/* Positions of all steps, and of the answer. */
static uint64_t span_of(const struct gkv__context *c, const struct gkv__bounded *b)
{
    const size_t all = text(c), step = step_of(c);
    size_t held = 0, most = 0;

    for (size_t at = 0; at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        most = held + n + b->n_q > most ? held + n + b->n_q : most;
        held = entries(c, held, at + n, n);
    }
    return held + c->n_tail + c->n_new > most ? held + c->n_tail + c->n_new : most;
}

static gkv_status answer(struct gkv__context *c, struct gkv__bounded *b, gkv_error *err)
{
    const struct gkv__shape *s = &c->m->shape;

    GKV__TRY(gkv__cache_open(&c->cache, c->kv, s->n_layer, s->n_head_kv, s->head_dim,
                             b->held + c->n_tail + c->n_new, err));
    gkv__bounded_deliver(b, &c->cache);
    c->next = b->held + c->n_tail;
    return gkv__forward(c->e, c->m, c->id + text(c), c->n_tail, b->held, &c->cache, c->x, err);
}

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    struct gkv__bounded b = caches(c, c->e->chunk);
    const size_t all = text(c), step = step_of(c);
    gkv_status status;

    if (c->k <= c->n_tail)
        return gkv__fail(err, GKV_INVALID, "a budget of %zu tokens has no room beside the question's %zu; "
                         "raise --keep", (size_t)c->k, c->n_tail);
    c->e->span = span_of(c, &b);
    status = gkv__bounded_open(&b, c->e, err);
    if (status == GKV_OK)
        gkv__stage(c->e, "prefill", c->n, work_of(c, &b));
    for (size_t at = 0; status == GKV_OK && at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        status = gkv__bounded_step(&b, at, n, entries(c, b.held, at + n, n), err);
    }
    if (status == GKV_OK)
        status = answer(c, &b, err);
    if (status == GKV_OK)
        show(c, &b);
    gkv__bounded_close(&b);
    return status;
}

const struct gkv__select gkv__select_finch = {
    .name = "finch",
    .summary = "chunk by chunk, every layer remembering what the question attends to",
    .params = params,
    .run = run,
    .bytes = bytes,
    .order = "stream",
};
