/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-layer.c - layer by layer over the whole text: exact.
 *
 * Causality allows one pass over the rows per layer, in place: when a block of rows is replaced
 * by its output, later blocks need only its keys and values, which are in the cache.  So memory
 * is one row of n_embd per token and the cache of one layer, however many layers there are.  Each
 * layer's weights are read once, then released.  The rows may lie in a file: each layer reads and
 * writes it once, from beginning to end. */
#include "config.h"
#include <inttypes.h>
#include "src/engine/gram.h"
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"
#include "src/base/spill.h"
#include "src/first/split.h"

extern const struct gkv__schedule gkv__schedule_layer;

static const struct gkv__param params[] = { { .name = NULL } };

/* Floats of one token's keys. */
static size_t width(const struct gkv__task *t)
{
    return (size_t)t->m->shape.n_head_kv * t->m->shape.head_dim;
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__shape *s = &t->m->shape;
    const uint64_t rows = t->spill ? gkv__min(chunk, t->n) : t->n;

    const uint64_t gram = width(t) * (width(t) * sizeof(double) + chunk * sizeof(float));

    if (gkv__grouped(t))
        return gkv__split_bytes(t, chunk);
    return gkv__plus(gkv__times(rows, s->n_embd * sizeof(float)) + (t->row == GKV__ROW_LARGEST ? gram : 0),
                     gkv__plus(gkv__plus(gkv__cache_largest(t->m, gkv__first_kv(gkv__simd(), t), t->filter, t->n),
                                         gkv__first_sparse_bytes(t, n_threads)),
                               gkv__state_floats(s) * sizeof(float)));
}

/* Positions of the prompt and its answer; of chosen passages (f->again) just their number, since they get
 * no answer. */
static uint64_t span(const struct gkv__first *f)
{
    return f->again ? f->t->n : gkv__plus(f->t->n, f->t->n_new);
}

/* Loads rows at .. at + nc - 1 of x; leaves their keys, and their queries from first_q on, in e. */
static gkv_status block(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x, size_t at,
                        size_t nc, size_t first_q, gkv_error *err)
{
    float *row;

    GKV__TRY(gkv__spill_get(x, at, nc, &row, err));
    gkv__layer_qk(&(struct gkv__pass){ .e = e, .m = f->t->m, .span = span(f) }, f->t->filter, row, nc, at,
                  first_q);
    if (gkv__cancelled(e))
        return gkv__fail(err, GKV_CANCELLED, "cancelled while scoring");
    return GKV_OK;
}

/* The row whose scores, for all keys without a causal mask, have the largest sum of squares.  That sum is
 * q^T (sum_j k_j k_j^T) q  for the row's folded query q, so the n x n products are not needed. */
static gkv_status largest(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                          size_t *row, gkv_error *err)
{
    const size_t n = (size_t)f->t->n, w = width(f->t);
    double *gram = gkv__pages(w, w * sizeof *gram), best = -1;
    float *q = gkv__pages(e->chunk, w * sizeof *q);
    gkv_status status = gram && q ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    for (size_t at = 0; status == GKV_OK && at < n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - at);

        status = block(e, f, x, at, nc, nc, err);
        if (status == GKV_OK)
            gkv__gram_add(e, e->k, nc, w, gram);
    }
    for (size_t at = 0; status == GKV_OK && at < n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - at);

        status = block(e, f, x, at, nc, 0, err);
        for (size_t i = 0; status == GKV_OK && i < nc; i++)
            gkv__fold_query(e, i, q + i * w);
        if (status == GKV_OK)
            gkv__gram_largest(e, q, nc, w, gram, at, &best, row);
    }
    gkv__pages_free(gram, w, w * sizeof *gram);
    gkv__pages_free(q, e->chunk, w * sizeof *q);
    return status;
}

/* Scores all keys without storing them.  The block that has the query's row goes first. */
static gkv_status score_all(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                            gkv_error *err)
{
    const struct gkv__shape *s = &f->t->m->shape;
    const size_t n = (size_t)f->t->n, chunk = e->chunk, n_chunks = (n + chunk - 1) / chunk;
    size_t row = f->t->row == GKV__ROW_MIDDLE ? n / 2 : n - 1;
    float *q = gkv__pages(s->n_head_kv, s->head_dim * sizeof *q);
    gkv_status status = q ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    if (status == GKV_OK && f->t->row == GKV__ROW_LARGEST)
        status = largest(e, f, x, &row, err);
    for (size_t i = 0; status == GKV_OK && i < n_chunks; i++) {
        const size_t at = (row / chunk + n_chunks - i) % n_chunks * chunk, nc = gkv__min(chunk, n - at);

        status = block(e, f, x, at, nc, i ? nc : row - at, err);
        if (status != GKV_OK)
            break;
        if (!i)
            gkv__fold_query(e, row - at, q);
        gkv__score(e, e->k, nc, q, f->score + at);
        gkv__progress(e, (double)nc * s->n_embd * s->n_head_kv * (double)s->head_dim);
    }
    gkv__pages_free(q, s->n_head_kv, s->head_dim * sizeof *q);
    return status;
}

/* The scores of an earlier layer, whose input x is. */
static gkv_status score_also(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                             struct gkv__also *also, gkv_error *err)
{
    struct gkv__task t = *f->t;
    struct gkv__first there = *f;

    t.filter = also->layer;
    there.t = &t;
    there.score = also->score;
    also->after = gkv__seconds();
    GKV__TRY(score_all(e, &there, x, err));
    also->took = gkv__seconds() - also->after;
    return GKV_OK;
}

static gkv_status layers(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                         struct gkv__cache *cache, struct gkv__sparse *sparse, gkv_error *err)
{
    const struct gkv__pass p = { .e = e, .m = f->t->m, .span = span(f), .c = cache,
                                 .sparse = sparse->threshold > 0 ? sparse : NULL };
    const size_t n = (size_t)f->t->n;
    size_t also = 0;
    float *row;

    for (size_t at = 0; at < n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - at);

        GKV__TRY(gkv__spill_get(x, at, 0, &row, err));
        gkv__embed(e, f->t->m, f->id + at, row, nc);
        GKV__TRY(gkv__spill_put(x, at, nc, err));
    }
    for (uint32_t i = 0; i < f->t->filter; i++) {
        gkv__model_layer_need(f->t->m, i, true);
        if (also < f->n_also && f->also[also].layer == i)
            GKV__TRY(score_also(e, f, x, &f->also[also++], err));
        gkv__cache_lay_out(cache, 0, f->t->m, i);
        for (size_t at = 0; at < n; at += e->chunk) {
            const size_t nc = gkv__min(e->chunk, n - at);

            GKV__TRY(gkv__spill_get(x, at, nc, &row, err));
            gkv__layer(&p, i, f->id + at, row, nc, at, 0);
            GKV__TRY(gkv__spill_put(x, at, nc, err));
            gkv__progress(e, gkv__layer_work(&f->t->m->shape, at, nc));
            if (gkv__cancelled(e))
                return gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u, %.0f %% of the "
                                 "first pass done", i, f->t->filter, 100 * e->done / e->total);
        }
        gkv__model_layer_need(f->t->m, i, false);
    }
    return GKV_OK;
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__shape *s = &f->t->m->shape;
    struct gkv__spill x = { 0 };
    struct gkv__cache cache = { 0 };
    struct gkv__sparse sparse = { 0 };
    gkv_status status;

    if (gkv__grouped(f->t))
        return gkv__split(e, f, err);
    gkv__stage(e, f->again ? GKV_STAGE_PASSAGES : GKV_STAGE_FIRST_PASS, f->t->n,
               f->t->filter * gkv__layer_work(s, 0, f->t->n) +
               (double)(1 + f->n_also) * (double)f->t->n * s->n_embd * s->n_head_kv * s->head_dim);
    status = gkv__spill_open(&x, f->t->n, s->n_embd, f->t->spill ? e->chunk : 0, err);
    if (status == GKV_OK)
        status = gkv__cache_open_one(&cache, f->t->m, gkv__first_kv(e->simd, f->t), f->t->filter, f->t->n, err);
    if (status == GKV_OK && gkv__has_states(f->t->m))
        status = gkv__cache_state(&cache, 0, gkv__state_floats(s), err);
    if (status == GKV_OK)
        status = gkv__first_sparse_open(&sparse, e, f, err);
    if (status == GKV_OK)
        status = layers(e, f, &x, &cache, &sparse, err);
    if (status == GKV_OK)
        status = score_all(e, f, &x, err);
    gkv__first_sparse_close(&sparse, f);
    gkv__cache_close(&cache);
    gkv__spill_close(&x);
    return status;
}

const struct gkv__schedule gkv__schedule_layer = {
    .name = "layer",
    .summary = "layer by layer over the whole text: exact",
    .params = params,
    .exact = true,
    .can_spill = true,
    .any_row = true,
    .splits = true,
    .many = true,
    .has_sparse = true,
    .kv_type = "f32",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_largest,
};
