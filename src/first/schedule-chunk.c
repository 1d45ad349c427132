/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-chunk.c - chunk by chunk through all early layers, with all their keys and values:
 * exact, the same scores as `layer` to the bit.  The text is needed in pieces only, and nothing
 * but the query depends on the question; the price is a cache of every early layer. */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"

extern const struct gkv__schedule gkv__schedule_chunk;

static const struct gkv__param params[] = { { .name = NULL } };

static size_t key_bytes(const struct gkv__shape *s)
{
    return (size_t)s->n_head_kv * s->head_dim * sizeof(float);
}

static uint64_t bytes(const struct gkv__first *f, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__shape *s = &f->m->shape;
    uint64_t sum = gkv__times(gkv__min(chunk, f->n), s->n_embd * sizeof(float));

    (void)n_threads;
    sum = gkv__plus(sum, gkv__times(f->n, key_bytes(s)));
    return gkv__plus(sum, gkv__cache_bytes(f->kv, f->il, s->n_head_kv, s->head_dim, f->n));
}

static gkv_status chunks(struct gkv__exec *e, const struct gkv__first *f, struct gkv__cache *cache,
                         float *x, float *keys, gkv_error *err)
{
    const size_t n = (size_t)f->n, width = (size_t)f->m->shape.n_head_kv * f->m->shape.head_dim;

    for (size_t at = 0; at < n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - at);

        gkv__embed(e, f->m, f->id + at, x, nc);
        for (uint32_t i = 0; i < f->il; i++) {
            gkv__layer(e, f->m, i, x, nc, at, cache, i);
            gkv__progress(e, gkv__layer_work(&f->m->shape, at, nc));
            if (gkv__cancelled(e))
                return gkv__fail(err, GKV_CANCELLED, "cancelled at token %zu of %zu, %.0f %% of the "
                                 "first pass done", at, n, 100 * e->done / e->total);
        }
        gkv__layer_qk(e, f->m, f->il, x, nc, at, at + nc == n ? nc - 1 : nc);
        memcpy(keys + at * width, e->k, nc * width * sizeof *keys);
        if (at + nc == n)       /* x is idle from here on */
            gkv__fold_query(e, nc - 1, x);
    }
    gkv__score(e, keys, n, x, f->score);
    return GKV_OK;
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__shape *s = &f->m->shape;
    const size_t rows = gkv__min(e->chunk, f->n), kv = (size_t)s->n_head_kv * s->head_dim;
    const size_t width = s->n_embd > kv ? s->n_embd : kv;
    float *x = gkv__pages(rows, width * sizeof *x), *keys = gkv__pages(f->n, key_bytes(s));
    struct gkv__cache cache = { 0 };
    gkv_status status = GKV_OK;

    gkv__stage(e, "first pass", f->n, f->il * gkv__layer_work(s, 0, f->n));
    if (!x || !keys)
        status = gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes for the keys of the "
                           "filter layer", f->n * key_bytes(s));
    if (status == GKV_OK && f->il)
        status = gkv__cache_open(&cache, f->kv, f->il, s->n_head_kv, s->head_dim, f->n, err);
    if (status == GKV_OK)
        status = chunks(e, f, &cache, x, keys, err);
    gkv__cache_close(&cache);
    gkv__pages_free(x, rows, width * sizeof *x);
    gkv__pages_free(keys, f->n, key_bytes(s));
    return status;
}

const struct gkv__schedule gkv__schedule_chunk = {
    .name = "chunk",
    .summary = "chunk by chunk with every early layer's keys and values: exact",
    .params = params,
    .exact = true,
    .kv_type = "f32",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
