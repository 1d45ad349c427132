/* SPDX-License-Identifier: BSD-2-Clause
 * first.c - see pass.h
 *
 * Causality allows one sweep per layer, in place: when a block of rows is replaced by its
 * output, the blocks after it need only its keys and values, which are in the cache.  So the
 * whole text costs one row of n_embd per token and one layer's cache, whatever the depth; each
 * layer's weights are read once, and given back. */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "src/layer.h"
#include "src/mem.h"
#include "src/pass.h"
#include "src/thread.h"

enum { ROWS = 64 };

uint64_t gkv__first_bytes(const gkv_model *m, const struct gkv__quant *kv, uint64_t n)
{
    const struct gkv__shape *s = &m->shape;
    uint64_t rows, sum;

    if (!gkv__mul(n, s->n_embd * sizeof(float), &rows) ||
        !gkv__add(rows, gkv__cache_bytes(kv, 1, s->n_head_kv, s->head_dim, n), &sum))
        return UINT64_MAX;
    return sum;
}

uint64_t gkv__first_weights(const gkv_model *m, uint32_t il)
{
    uint64_t max = 0;

    for (uint32_t i = 0; i <= il; i++) {
        uint64_t b = gkv__model_layer_bytes(m, i);
        max = b > max ? b : max;
    }
    return max + gkv__mat_bytes(&m->embed);
}

/* ---- scores of the filter layer --------------------------------------------------------- */

struct scoring {
    const struct gkv__exec *e;
    const float            *q;          /* [n_head_kv * head_dim]                            */
    float                  *score;
    size_t                  n, width;
};

static void score_item(void *arg, size_t i, unsigned thread)
{
    const struct scoring *s = arg;

    (void)thread;
    for (size_t t = i * ROWS; t < (i + 1) * ROWS && t < s->n; t++)
        s->score[t] = s->e->simd->dot[GKV__TYPE_F32](s->e->k + t * s->width, s->q, s->width);
}

/* The query heads of a group meet the same key, so they are added first: one dot product per
 * KV head, and since KV heads lie side by side, one per token.  Keys are never stored.  The
 * last block goes first, for it has the query. */
static gkv_status score_all(struct gkv__exec *e, const gkv_model *m, uint32_t il, const float *x,
                            size_t n, float *score, float *q, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const size_t chunk = e->chunk, d = s->head_dim, g = s->n_head / s->n_head_kv;
    const size_t n_chunks = (n + chunk - 1) / chunk;

    for (size_t c = n_chunks; c-- > 0;) {
        size_t at = c * chunk, nc = n - at < chunk ? n - at : chunk;
        struct scoring job = { e, q, score + at, nc, s->n_head_kv * d };

        gkv__layer_qk(e, m, il, x + at * s->n_embd, nc, at, at + nc == n ? nc - 1 : nc);
        if (at + nc == n)
            for (size_t u = 0; u < s->n_head_kv; u++)
                for (size_t i = 0; i < d; i++) {
                    const float *head = e->q + (nc - 1) * s->n_head * d + u * g * d + i;
                    float sum = 0;
                    for (size_t h = 0; h < g; h++)
                        sum += head[h * d];
                    q[u * d + i] = sum;
                }
        gkv__for(e->n_threads, (nc + ROWS - 1) / ROWS, score_item, &job);
        gkv__progress(e, (double)nc * s->n_embd * s->n_head_kv * (double)d);
        if (gkv__cancelled(e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled while scoring");
    }
    return GKV_OK;
}

gkv_status gkv__first_pass(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, size_t n,
                           uint32_t il, const struct gkv__quant *kv, float *score, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const size_t chunk = e->chunk, d = s->n_embd;
    float *x = gkv__pages(n, d * sizeof *x), *q = gkv__pages(s->n_head_kv, s->head_dim * sizeof *q);
    struct gkv__cache cache = { 0 };
    gkv_status status = GKV_OK;

    if (!x || !q)
        status = gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes for the hidden "
                           "states", (uint64_t)n * d * sizeof *x);
    if (status == GKV_OK)
        status = gkv__cache_open(&cache, kv, 1, s->n_head_kv, s->head_dim, n, err);
    if (status != GKV_OK)
        goto out;

    gkv__stage(e, "first pass", n, il * gkv__layer_work(s, 0, n) +
               (double)n * d * s->n_head_kv * s->head_dim);
    gkv__embed(e, m, id, x, n);
    for (uint32_t i = 0; i < il; i++) {
        gkv__model_layer_need(m, i, true);
        for (size_t at = 0; at < n; at += chunk) {
            size_t nc = n - at < chunk ? n - at : chunk;

            gkv__layer(e, m, i, x + at * d, nc, at, &cache, 0);
            gkv__progress(e, gkv__layer_work(s, at, nc));
            if (gkv__cancelled(e)) {
                status = gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u, %.0f %% of the "
                                   "first pass done", i, il, 100 * e->done / e->total);
                goto out;
            }
        }
        gkv__model_layer_need(m, i, false);
    }
    status = score_all(e, m, il, x, n, score, q, err);
out:
    gkv__cache_close(&cache);
    gkv__pages_free(x, n, d * sizeof *x);
    gkv__pages_free(q, s->n_head_kv, s->head_dim * sizeof *q);
    return status;
}
