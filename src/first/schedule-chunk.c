/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-chunk.c - chunk by chunk through all early layers, keeping all their keys and values.
 * Exact: the same scores as `layer`, to the bit.  It needs the text in pieces only, and only the
 * query depends on the question; the price is a cache for every early layer. */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"

extern const struct gkv__schedule gkv__schedule_chunk;

static const struct gkv__param params[] = { { .name = NULL } };

static size_t width(const struct gkv__task *t)
{
    return (size_t)t->m->shape.n_head_kv * t->m->shape.head_dim;
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    return gkv__plus(gkv__times(gkv__min(chunk, t->n), t->m->shape.n_embd * sizeof(float)),
                     gkv__plus(gkv__early_bytes(t, t->n), gkv__first_sparse_bytes(t, n_threads)));
}

/* Keeps the cache of an earlier question if it fits this one.  Whole chunks of the document are the same for
 * every question.  A new cache gets `more` slots than needed, enough for most next questions. */
static gkv_status reserve(struct gkv__early *c, const struct gkv__exec *e, const struct gkv__task *t, uint32_t more,
                          gkv_error *err)
{
    const struct gkv__shape *s = &t->m->shape;
    const struct gkv__quant *type = gkv__first_kv(e->simd, t);
    const struct gkv__rope *rope = gkv__model_rope(t->m, 0, gkv__plus(t->n, t->n_new));

    if (c->slots >= t->n && c->filter == t->filter && c->chunk == e->chunk && c->cache.type == type &&
        c->rope == rope)
        return GKV_OK;
    gkv__early_close(c);
    c->rope = rope;
    c->slots = gkv__plus(t->n, more);
    c->filter = t->filter;
    c->chunk = e->chunk;
    /* With filter layer 0 the cache has no layers, but its sizes are still used. */
    GKV__TRY(gkv__cache_open_for(&c->cache, t->m, type, t->filter, c->slots, err));
    c->n_states = gkv__states_floats(t->m, t->filter);
    if (c->n_states && !(c->states = gkv__pages(c->n_states, sizeof *c->states)))
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for the states of the early layers",
                         gkv__needed(c->n_states * sizeof *c->states).text);
    c->keys = gkv__pages(c->slots * s->n_head_kv, s->head_dim * sizeof *c->keys);
    return c->keys ? GKV_OK : gkv__fail(err, GKV_NOMEM, "the system refused %s for the keys of the filter layer",
                                        gkv__needed(c->slots * width(t) * sizeof *c->keys).text);
}

/* The first n tokens are done for the next question, too.  States are saved once, at the last such chunk: a state
 * cannot be cut back to fewer tokens. */
static void keep(struct gkv__early *c, size_t n, bool last)
{
    if (c->states && !last)
        return;
    c->n = n;
    if (c->states)
        gkv__states_save(&c->cache, c->states);
}

static gkv_status chunks(struct gkv__exec *e, const struct gkv__first *f, struct gkv__early *c,
                         struct gkv__sparse *sparse, float *x, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const struct gkv__shape *s = &t->m->shape;
    const struct gkv__pass p = { .e = e, .m = t->m, .span = gkv__plus(t->n, t->n_new), .c = &c->cache,
                                 .sparse = sparse->threshold > 0 ? sparse : NULL };
    const size_t n = (size_t)t->n, w = width(t);

    if (c->n && c->states)
        gkv__states_restore(&c->cache, c->states);
    for (size_t at = (size_t)c->n; at < n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - at);

        c->touched = gkv__max(c->touched, at + nc);
        gkv__embed(e, t->m, f->id + at, x, nc);
        for (uint32_t i = 0; i < t->filter; i++) {
            gkv__layer(&p, i, f->id + at, x, nc, at, i);
            gkv__progress(e, gkv__layer_work(s, at, nc));
            if (gkv__cancelled(e))
                return gkv__fail(err, GKV_CANCELLED, "cancelled at token %zu of %zu, %.0f %% of the "
                                 "first pass done", at, n, 100 * e->done / e->total);
        }
        gkv__layer_qk(&p, t->filter, x, nc, at, at + nc == n ? nc - 1 : nc);
        memcpy(c->keys + at * w, e->k, nc * w * sizeof *c->keys);
        if (at + nc <= f->n_fixed && nc == e->chunk)
            keep(c, at + nc, at + nc + e->chunk > f->n_fixed);
        if (at + nc == n)       /* x is idle from here on */
            gkv__fold_query(e, nc - 1, x);
    }
    gkv__score(e, c->keys, n, x, f->score);
    return GKV_OK;
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__shape *s = &f->t->m->shape;
    const size_t rows = gkv__min(e->chunk, f->t->n), row = gkv__max(s->n_embd, width(f->t));
    struct gkv__early own = { 0 }, *c = f->early ? f->early : &own;
    const uint32_t more = f->early ? e->chunk : 0;
    struct gkv__sparse sparse = { 0 };
    float *x = gkv__pages(rows, row * sizeof *x);
    gkv_status status = x ? reserve(c, e, f->t, more, err)
                          : gkv__fail(err, GKV_NOMEM, "out of memory");

    gkv__stage(e, GKV_STAGE_FIRST_PASS, f->t->n,
               f->t->filter * gkv__layer_work(s, c->n, f->t->n - gkv__min(c->n, f->t->n)));
    if (status == GKV_OK)
        status = gkv__first_sparse_open(&sparse, e, f, err);
    if (status == GKV_OK)
        status = chunks(e, f, c, &sparse, x, err);
    gkv__first_sparse_close(&sparse, f);
    gkv__early_close(&own);
    gkv__pages_free(x, rows, row * sizeof *x);
    return status;
}

const struct gkv__schedule gkv__schedule_chunk = {
    .name = "chunk",
    .summary = "chunk by chunk with every early layer's keys and values: exact",
    .params = params,
    .exact = true,
    .reuses = true,
    .has_sparse = true,
    .kv_type = "f32",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
