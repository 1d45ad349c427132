/* SPDX-License-Identifier: BSD-2-Clause
 * finch.c - chunk by chunk through all layers, each with a bounded cache whose entries the question
 * chooses after each chunk (bounded.h); decoding uses these caches.  Corallo and Papotti:
 * "FINCH: Prompt-guided Key-Value Cache Compression for Large Language Models" (2024). */
#include "config.h"
#include <string.h>
#include "src/first/bounded.h"
#include "src/engine/forward.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_finch;

enum { CHUNK, NORMALIZE, HEADS, RATIO, GUIDE };
enum { ON };
enum { ALL, KV };
enum { EXACT, CEIL };

static const struct gkv__param params[] = {
    [CHUNK] = { "chunk", "1024", "tokens of the document per step", 1, 65536 },
    [NORMALIZE] = { "normalize", "on", "whether later of the rows that choose weigh more, as they see more",
                    .words = "on off" },
    [HEADS] = { "heads", "all", "whether heads choose together, or each KV head for itself", .words = "all kv" },
    [RATIO] = { "ratio", "exact", "share of a chunk that is kept: one that leads to the budget, or the authors' "
                "rounded ratio", .words = "exact ceil" },
    [GUIDE] = { "guide", "question", "whose attention chooses: that of the question, of the chunk, or of both",
                .words = "question document both" },
    { .name = NULL },
};

/* ---- sizes ------------------------------------------------------------------------------ */

/* Entries for the document: the budget less the question. */
static size_t target(const struct gkv__task *t)
{
    return t->k > t->n_tail ? (size_t)(t->k - t->n_tail) : 1;
}

static size_t text(const struct gkv__task *t)
{
    return (size_t)t->n - t->n_tail;
}

static size_t step_of(const struct gkv__task *t)
{
    return gkv__min((uint64_t)t->param[CHUNK], text(t));
}

/* Entries after a chunk of n tokens that ends at token `end`, when there were `held` before. */
static size_t entries(const struct gkv__task *t, size_t held, size_t end, size_t n)
{
    const size_t all = text(t), to = target(t);

    return (int)t->param[RATIO] == EXACT ? (size_t)((uint64_t)to * end / all)
                                         : held + n / ((all + to - 1) / to);
}

static struct gkv__bounded caches(const struct gkv__task *t, size_t chunk)
{
    const size_t n_q = gkv__min(gkv__min(t->n_tail, GKV__MAX_QUESTION), chunk);

    return (struct gkv__bounded){
        .m = t->m, .n_layer = t->m->shape.n_layer, .kv = t->kv, .budget = target(t),
        .max_rows = step_of(t) + n_q, .n_q = n_q, .guide = (enum gkv__guide)t->param[GUIDE],
        .rising = (int)t->param[NORMALIZE] == ON,
        .per_head = (int)t->param[HEADS] == KV, .origins = true,
    };
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk)
{
    const struct gkv__shape *s = &t->m->shape;
    struct gkv__bounded b = caches(t, chunk);
    const uint64_t cache = gkv__cache_bytes(t->kv, s->n_layer, s->n_head_kv, s->head_dim,
                                            gkv__plus(t->k, t->n_new));

    return gkv__plus(gkv__plus(gkv__bounded_bytes(&b, text(t)), cache),
                     gkv__plus(gkv__model_weight_bytes(t->m), t->n * sizeof(float)));
}

/* ---- running ---------------------------------------------------------------------------- */

/* Results to show: the document's tokens that most layers hold (or heads, if each head chooses). */
static void show(struct gkv__context *c, const struct gkv__bounded *b)
{
    const uint32_t n_heads = c->t->m->shape.n_head_kv;
    const size_t sets = b->n_layer * (b->per_head ? n_heads : 1), n = text(c->t);

    memset(c->score, 0, c->t->n * sizeof *c->score);
    for (size_t i = 0; i < sets; i++)
        for (size_t j = 0; j < b->held; j++)
            c->score[b->origin[i * b->budget + j]] += 1 / (float)sets;
    for (uint32_t i = 0; c->holds && i < b->n_layer * n_heads; i++)
        c->holds(c->holds_arg, i / n_heads, i % n_heads,
                 b->origin + (b->per_head ? i : i / n_heads) * b->budget, b->held);
    for (size_t j = n; j < c->t->n; j++)
        c->score[j] = 1;
    c->n_kept = b->held + c->t->n_tail;
    gkv__top(c->score, n, b->held, c->kept);
    for (size_t j = n; j < c->t->n; j++)
        c->kept[b->held + j - n] = (uint32_t)j;
}

static double work_of(const struct gkv__task *t, const struct gkv__bounded *b)
{
    const size_t all = text(t), step = step_of(t);
    double sum = 0;
    size_t held = 0;

    for (size_t at = 0; at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        sum += gkv__bounded_work(b, held, at, n);
        held = entries(t, held, at + n, n);
    }
    return sum + t->m->shape.n_layer * gkv__layer_work(&t->m->shape, held, t->n_tail);
}

/* Positions of all steps and of the answer. */
static uint64_t span_of(const struct gkv__task *t, const struct gkv__bounded *b)
{
    const size_t all = text(t), step = step_of(t);
    size_t held = 0, most = 0;

    for (size_t at = 0; at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        most = held + n + b->n_q > most ? held + n + b->n_q : most;
        held = entries(t, held, at + n, n);
    }
    return held + t->n_tail + t->n_new > most ? held + t->n_tail + t->n_new : most;
}

static gkv_status answer(struct gkv__context *c, struct gkv__bounded *b, gkv_error *err)
{
    const struct gkv__shape *s = &c->t->m->shape;

    GKV__TRY(gkv__cache_open(&c->cache, c->t->kv, s->n_layer, s->n_head_kv, s->head_dim,
                             b->held + c->t->n_tail + c->t->n_new, err));
    gkv__bounded_deliver(b, &c->cache);
    c->next = b->held + c->t->n_tail;
    c->span = b->span;
    return gkv__forward(&(struct gkv__pass){ .e = c->e, .m = c->t->m, .span = b->span, .c = &c->cache },
                        c->id + text(c->t), c->t->n_tail, b->held, c->x, err);
}

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    struct gkv__bounded b = caches(c->t, c->e->chunk);
    const size_t all = text(c->t), step = step_of(c->t);
    gkv_status status;

    if (c->t->k <= c->t->n_tail)
        return gkv__fail(err, GKV_INVALID, "a budget of %zu tokens has no room beside the question's %zu; "
                         "raise --keep", (size_t)c->t->k, c->t->n_tail);
    b.span = span_of(c->t, &b);
    b.id = c->id;
    b.question = c->id + c->t->n - b.n_q;
    status = gkv__bounded_open(&b, c->e, err);
    if (status == GKV_OK)
        gkv__stage(c->e, GKV_STAGE_PREFILL, c->t->n, work_of(c->t, &b));
    for (size_t at = 0; status == GKV_OK && at < all; at += step) {
        const size_t n = gkv__min(step, all - at);

        status = gkv__bounded_step(&b, at, n, entries(c->t, b.held, at + n, n), err);
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
    .summary = "chunk by chunk; every layer keeps what the question attends to",
    .params = params,
    .kind = GKV__RUNS,
    .run = run,
    .bytes = bytes,
};
