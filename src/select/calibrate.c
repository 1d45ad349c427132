/* SPDX-License-Identifier: BSD-2-Clause
 * calibrate.c - see calibrate.h.
 *
 * GemFilter's Algorithm 2 runs a prompt with a known answer through the model and asks at each
 * layer whether the best tokens there contain the answer.  One pass serves all layers, since a
 * layer's score needs only its queries and keys.  FastKV's equation 3 measures, for each layer, how
 * far the final hidden state of the last token (before the final norm) moves when only some tokens
 * go on after that layer.  One pass over all tokens serves all layers here too; for each layer, the
 * chosen tokens then go through the layers after it.
 *
 * The pass goes layer by layer, as in schedule-layer.c, so that one layer's cache is enough. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/select/calibrate.h"
#include "src/engine/layer.h"
#include "src/engine/attention-sums.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"
#include "src/base/top.h"

struct work {
    struct gkv__exec            *e;
    const struct gkv__calibrate *c;
    struct gkv__cache            cache, tsp_cache;      /* one layer: all tokens, those that go on */
    struct gkv__pass             p, tsp_p;              /* over these caches */
    float    *x, *y;                    /* [n][n_embd]; [tsp][n_embd]                        */
    float    *score, *pooled;           /* [n]                                               */
    float    *received;                 /* [n_head][n]                                       */
    float    *q;                        /* [window][n_head * head_dim]                       */
    float    *final;                    /* [n_tsp][n_embd]: last rows, with TSP at each layer */
    uint32_t *kept;                     /* [n]                                               */
};

/* ---- memory ------------------------------------------------------------------------------ */

static size_t q_width(const struct gkv__calibrate *c)
{
    return (size_t)c->m->shape.n_head * c->m->shape.head_dim;
}

struct buffer { void *at; uint64_t n, size; };

enum { N_BUFFERS = 8 };

static void buffers(struct work *w, const struct gkv__calibrate *c, struct buffer b[N_BUFFERS])
{
    const struct gkv__shape *s = &c->m->shape;
    const uint64_t row = s->n_embd * sizeof(float), tsp = c->n_tsp ? c->tsp : 0;
    const struct buffer all[N_BUFFERS] = {
        { &w->x, c->n, row }, { &w->y, tsp, row }, { &w->final, c->n_tsp, row },
        { &w->score, c->n, sizeof(float) }, { &w->pooled, c->n, sizeof(float) },
        { &w->received, c->n_tsp ? s->n_head : 0, c->n * sizeof(float) },
        { &w->q, c->window, q_width(c) * sizeof(float) }, { &w->kept, c->n, sizeof(uint32_t) },
    };

    memcpy(b, all, sizeof all);
}

/* Layers that are run: the last ones are not, where they have no keys of their own and so cannot be the filter layer. */
static uint32_t n_layers(const gkv_model *m)
{
    return m->shape.n_layer - m->shape.n_sharing;
}

uint64_t gkv__calibrate_bytes(const struct gkv__calibrate *c)
{
    const struct gkv__shape *s = &c->m->shape;
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    struct buffer b[N_BUFFERS];
    struct work w;
    uint64_t sum = gkv__cache_largest(c->m, f32, n_layers(c->m), c->n);

    sum = gkv__plus(sum, gkv__state_floats(s) * sizeof(float));
    if (c->n_tsp)
        sum = gkv__plus(sum, gkv__cache_bytes(f32, 1, s->n_head_kv, s->head_dim, c->tsp));
    buffers(&w, c, b);
    for (size_t i = 0; i < N_BUFFERS; i++)
        sum = gkv__plus(sum, gkv__times(b[i].n, b[i].size));
    return gkv__plus(sum, gkv__weights_largest(c->m, s->n_layer - 1));
}

static gkv_status reserve(struct work *w, gkv_error *err)
{
    const struct gkv__shape *s = &w->c->m->shape;
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    struct buffer b[N_BUFFERS];

    buffers(w, w->c, b);
    for (size_t i = 0; i < N_BUFFERS; i++) {
        void *p = b[i].n ? gkv__pages(b[i].n, b[i].size) : NULL;

        if (b[i].n && !p)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        memcpy(b[i].at, &p, sizeof p);
    }
    GKV__TRY(gkv__cache_open_one(&w->cache, w->c->m, f32, n_layers(w->c->m), w->c->n, err));
    if (gkv__has_states(w->c->m))
        GKV__TRY(gkv__cache_state(&w->cache, 0, gkv__state_floats(s), err));
    if (w->c->n_tsp)
        GKV__TRY(gkv__cache_open(&w->tsp_cache, f32, 1, s->n_head_kv, s->head_dim, w->c->tsp, err));
    return GKV_OK;
}

static void release(struct work *w)
{
    struct buffer b[N_BUFFERS];

    buffers(w, w->c, b);
    for (size_t i = 0; i < N_BUFFERS; i++) {
        void *p;

        memcpy(&p, b[i].at, sizeof p);
        gkv__pages_free(p, b[i].n, b[i].size);
    }
    gkv__cache_close(&w->cache);
    gkv__cache_close(&w->tsp_cache);
}

/* ---- GemFilter --------------------------------------------------------------------------- */

/* The score of every token at layer il, as the first pass computes it.  The last block goes first, because
 * it has the query. */
static void score(struct work *w, uint32_t il)
{
    const struct gkv__calibrate *c = w->c;
    const struct gkv__shape *s = &c->m->shape;
    const size_t chunk = w->e->chunk, n_chunks = (c->n + chunk - 1) / chunk;

    for (size_t i = n_chunks; i-- > 0;) {
        const size_t at = i * chunk, nc = gkv__min(chunk, c->n - at);
        const bool last = at + nc == c->n;

        gkv__layer_qk(&w->p, il, w->x + at * s->n_embd, nc, at, last ? nc - 1 : nc);
        if (last)
            gkv__fold_query(w->e, nc - 1, w->q);
        gkv__score(w->e, w->e->k, nc, w->q, w->score + at);
    }
}

/* The share of the wanted tokens that is among the best k, and the distance from them to the nearest of
 * the best. */
static void cover(struct work *w, gkv_layer_probe *out)
{
    const struct gkv__calibrate *c = w->c;
    size_t inside = 0, nearest = c->n;

    gkv__pool(w->score, w->pooled, c->n, c->kernel, GKV__POOL_AVG);
    gkv__top(w->score, c->n, c->k, w->kept);
    for (size_t i = 0; i < c->k; i++) {
        const size_t j = w->kept[i];
        const size_t away = j < c->from ? c->from - j : j >= c->to ? j - c->to + 1 : 0;

        inside += !away;
        nearest = away < nearest ? away : nearest;
    }
    out->covered = (double)inside / (double)(c->to - c->from);
    out->distance = nearest;
}

/* ---- FastKV ------------------------------------------------------------------------------ */

/* Saves the queries of the window, before the layer replaces the rows. */
static void window_queries(struct work *w, uint32_t il)
{
    const struct gkv__calibrate *c = w->c;
    const size_t at = c->n - c->window;

    gkv__layer_qk(&w->p, il, w->x + at * c->m->shape.n_embd, c->window, at, 0);
    memcpy(w->q, w->e->q, c->window * q_width(c) * sizeof *w->q);
}

/* Chooses the tokens that go on after layer il: those that the window attends to most (pooled head by
 * head, then summed over heads) and the window itself. */
static void choose(struct work *w, uint32_t il)
{
    const struct gkv__calibrate *c = w->c;
    const size_t n = c->n - c->window, k = c->tsp - c->window;
    const struct gkv__observers l = { &w->cache, 0, w->q, c->window, n, NULL, gkv__view_of(&c->m->layer[il]),
                                       NULL };

    memset(w->received, 0, c->m->shape.n_head * c->n * sizeof *w->received);
    memset(w->score, 0, n * sizeof *w->score);
    gkv__attention_sums(w->e, &l, w->received, c->n, n);
    for (uint32_t h = 0; h < c->m->shape.n_head; h++) {
        float *received = w->received + h * c->n;

        gkv__pool(received, w->pooled, n, c->tsp_kernel, c->tsp_pool);
        for (size_t i = 0; i < n; i++)
            w->score[i] += received[i];
    }
    gkv__top(w->score, n, k, w->kept);
    for (size_t i = 0; i < c->window; i++)
        w->kept[k + i] = (uint32_t)(n + i);
}

/* Runs the chosen tokens through all layers after il, and saves the last row. */
static gkv_status go_on(struct work *w, uint32_t il, gkv_error *err)
{
    const struct gkv__calibrate *c = w->c;
    const size_t d = c->m->shape.n_embd;

    for (size_t i = 0; i < c->tsp; i++)
        memcpy(w->y + i * d, w->x + w->kept[i] * d, d * sizeof *w->y);
    for (uint32_t i = il + 1; i < c->m->shape.n_layer; i++)
        for (size_t at = 0; at < c->tsp; at += w->e->chunk) {
            const size_t nc = gkv__min(w->e->chunk, c->tsp - at);

            gkv__layer_at(&w->tsp_p, i, NULL, w->y + at * d, nc, at, w->kept + at, 0);
            gkv__progress(w->e, gkv__layer_work(&c->m->shape, at, nc));
            if (gkv__cancelled(w->e))
                return gkv__fail(err, GKV_CANCELLED, "cancelled after layer %u", il);
        }
    memcpy(w->final + il * d, w->y + (c->tsp - 1) * d, d * sizeof *w->y);
    return GKV_OK;
}

static double distance(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* ---- all layers -------------------------------------------------------------------------- */

static double total_work(const struct gkv__calibrate *c)
{
    const struct gkv__shape *s = &c->m->shape;
    double sum = n_layers(c->m) * gkv__layer_work(s, 0, c->n);

    for (uint32_t il = 0; il < c->n_tsp; il++)
        sum += (s->n_layer - 1 - il) * gkv__layer_work(s, 0, c->tsp);
    return sum;
}

static gkv_status layer(struct work *w, uint32_t il, gkv_error *err)
{
    const struct gkv__calibrate *c = w->c;
    const struct gkv__shape *s = &c->m->shape;

    for (size_t at = 0; at < c->n; at += w->e->chunk) {
        const size_t nc = gkv__min(w->e->chunk, c->n - at);

        gkv__layer(&w->p, il, c->id + at, w->x + at * s->n_embd, nc, at, 0);
        gkv__progress(w->e, gkv__layer_work(s, at, nc));
        if (gkv__cancelled(w->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u", il, s->n_layer);
    }
    return GKV_OK;
}

static gkv_status layers(struct work *w, gkv_layer_probe *out, gkv_error *err)
{
    const struct gkv__calibrate *c = w->c;
    const struct gkv__shape *s = &c->m->shape;

    for (size_t at = 0; at < c->n; at += w->e->chunk)
        gkv__embed(w->e, c->m, c->id + at, w->x + at * s->n_embd,
                   gkv__min(w->e->chunk, c->n - at));
    for (uint32_t il = 0; il < s->n_layer; il++)        /* what cannot filter finds nothing */
        out[il] = (gkv_layer_probe){ .distance = c->n, .error = NAN };
    for (uint32_t il = 0; il < n_layers(c->m); il++) {
        gkv__model_layer_need(c->m, il, true);
        gkv__cache_lay_out(&w->cache, 0, c->m, il);
        if (gkv__can_filter(c->m, il)) {
            score(w, il);
            cover(w, &out[il]);
        }
        if (il < c->n_tsp)
            window_queries(w, il);
        GKV__TRY(layer(w, il, err));
        if (il < c->n_tsp) {
            choose(w, il);
            GKV__TRY(go_on(w, il, err));
        }
        gkv__model_layer_need(c->m, il, false);
    }
    for (uint32_t il = 0; il < c->n_tsp; il++)
        out[il].error = distance(w->final + il * s->n_embd, w->x + (c->n - 1) * s->n_embd, s->n_embd);
    return GKV_OK;
}

gkv_status gkv__calibrate(struct gkv__exec *e, const struct gkv__calibrate *c,
                          gkv_layer_probe *out, gkv_error *err)
{
    struct work w = { .e = e, .c = c };
    gkv_status status = reserve(&w, err);

    w.p = (struct gkv__pass){ .e = e, .m = c->m, .span = c->n, .c = &w.cache };
    w.tsp_p = (struct gkv__pass){ .e = e, .m = c->m, .span = c->n, .c = &w.tsp_cache };
    gkv__stage(e, GKV_STAGE_CALIBRATE, c->n, total_work(c));
    if (status == GKV_OK)
        status = layers(&w, out, err);
    release(&w);
    return status;
}
