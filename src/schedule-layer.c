/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-layer.c - layer by layer over the whole text: exact.
 *
 * Causality allows one sweep per layer, in place: when a block of rows is replaced by its
 * output, the blocks after it need only its keys and values, which are in the cache.  So the
 * whole text costs one row of n_embd per token and one layer's cache, whatever the depth; each
 * layer's weights are read once, and given back.  The rows may lie in a file: each layer reads
 * and writes it once, from the beginning to the end. */
#include "config.h"
#include <inttypes.h>
#include "src/layer.h"
#include "src/mem.h"
#include "src/schedule.h"
#include "src/spill.h"

extern const struct gkv__schedule gkv__schedule_layer;

static const struct gkv__param params[] = { { .name = NULL } };

static uint64_t bytes(const struct gkv__first *f, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__shape *s = &f->m->shape;
    const uint64_t rows = f->spill ? gkv__least(chunk, f->n) : f->n;

    (void)n_threads;
    return gkv__plus(gkv__times(rows, s->n_embd * sizeof(float)),
                     gkv__cache_bytes(f->kv, 1, s->n_head_kv, s->head_dim, f->n));
}

/* Keys are never stored.  The last block goes first, for it has the query. */
static gkv_status score_all(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                            gkv_error *err)
{
    const struct gkv__shape *s = &f->m->shape;
    const size_t n = (size_t)f->n, chunk = e->chunk, n_chunks = (n + chunk - 1) / chunk;
    float *q = gkv__pages(s->n_head_kv, s->head_dim * sizeof *q), *row;
    gkv_status status = q ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    for (size_t c = n_chunks; status == GKV_OK && c-- > 0;) {
        const size_t at = c * chunk, nc = gkv__least(chunk, n - at);

        status = gkv__spill_get(x, at, nc, &row, err);
        if (status != GKV_OK)
            break;
        gkv__layer_qk(e, f->m, f->il, row, nc, at, at + nc == n ? nc - 1 : nc);
        if (at + nc == n)
            gkv__fold_query(e, nc - 1, q);
        gkv__score(e, e->k, nc, q, f->score + at);
        gkv__progress(e, (double)nc * s->n_embd * s->n_head_kv * (double)s->head_dim);
        if (gkv__cancelled(e))
            status = gkv__fail(err, GKV_CANCELLED, "cancelled while scoring");
    }
    gkv__pages_free(q, s->n_head_kv, s->head_dim * sizeof *q);
    return status;
}

static gkv_status layers(struct gkv__exec *e, const struct gkv__first *f, struct gkv__spill *x,
                         struct gkv__cache *cache, gkv_error *err)
{
    const size_t n = (size_t)f->n;
    float *row;

    for (size_t at = 0; at < n; at += e->chunk) {
        const size_t nc = gkv__least(e->chunk, n - at);

        GKV__TRY(gkv__spill_get(x, at, 0, &row, err));
        gkv__embed(e, f->m, f->id + at, row, nc);
        GKV__TRY(gkv__spill_put(x, at, nc, err));
    }
    for (uint32_t i = 0; i < f->il; i++) {
        gkv__model_layer_need(f->m, i, true);
        for (size_t at = 0; at < n; at += e->chunk) {
            const size_t nc = gkv__least(e->chunk, n - at);

            GKV__TRY(gkv__spill_get(x, at, nc, &row, err));
            gkv__layer(e, f->m, i, row, nc, at, cache, 0);
            GKV__TRY(gkv__spill_put(x, at, nc, err));
            gkv__progress(e, gkv__layer_work(&f->m->shape, at, nc));
            if (gkv__cancelled(e))
                return gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u, %.0f %% of the "
                                 "first pass done", i, f->il, 100 * e->done / e->total);
        }
        gkv__model_layer_need(f->m, i, false);
    }
    return GKV_OK;
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__shape *s = &f->m->shape;
    struct gkv__spill x = { 0 };
    struct gkv__cache cache = { 0 };
    gkv_status status;

    gkv__stage(e, "first pass", f->n, f->il * gkv__layer_work(s, 0, f->n) +
               (double)f->n * s->n_embd * s->n_head_kv * s->head_dim);
    status = gkv__spill_open(&x, f->n, s->n_embd, f->spill ? e->chunk : 0, err);
    if (status == GKV_OK)
        status = gkv__cache_open(&cache, f->kv, 1, s->n_head_kv, s->head_dim, f->n, err);
    if (status == GKV_OK)
        status = layers(e, f, &x, &cache, err);
    if (status == GKV_OK)
        status = score_all(e, f, &x, err);
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
    .kv_type = "f32",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_largest,
};
