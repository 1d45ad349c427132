/* SPDX-License-Identifier: BSD-2-Clause
 * sweep.c - see sweep.h. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/engine/attention-sums.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

/* ---- memory ----------------------------------------------------------------------------- */

static bool watches(const struct gkv__task *t, const struct gkv__watch *w)
{
    bool any = false;

    for (uint32_t il = 0; w->rows && il < t->m->shape.n_layer; il++)
        any = any || w->rows(t, il, (size_t)t->n);
    return any;
}

static uint32_t heads(const struct gkv__task *t, const struct gkv__watch *w)
{
    return w->heads ? w->heads(t) : t->m->shape.n_head_kv;
}

/* Bytes per token: its row, position, scores, votes, and its part of `received` and `keep`. */
static uint64_t token_bytes(const struct gkv__task *t, const struct gkv__watch *w)
{
    const struct gkv__shape *s = &t->m->shape;

    return (s->n_embd + 2 + (w->weight ? 1 : 0) + (watches(t, w) ? s->n_head : 0)) * sizeof(float) +
           (3 + heads(t, w)) * sizeof(uint32_t);
}

static uint64_t caches(const struct gkv__task *t, uint32_t n_heads,
                       uint64_t (*room)(const struct gkv__task *, uint32_t))
{
    const struct gkv__shape *s = &t->m->shape;
    uint64_t sum = 0;

    for (uint32_t il = 0; il < s->n_layer; il++)
        sum = gkv__plus(sum, gkv__plus(room(t, il), t->n_new));
    return gkv__times(sum, gkv__cache_bytes(t->kv, 1, n_heads, s->head_dim, 1));
}

/* Type of the current layer's keys and values.  If a second pass computes them again, they only serve
 * scores, so they have the type of the first pass. */
static const struct gkv__quant *work_type(const struct gkv__task *t)
{
    return t->method->restarts ? t->kv_first : t->kv;
}

/* The larger of: during the pass, one layer's weights, the whole prompt's rows and what is kept so far;
 * afterwards, the whole model's weights and what is kept. */
uint64_t gkv__sweep_bytes(const struct gkv__task *t, const struct gkv__watch *w, uint32_t chunk)
{
    const struct gkv__shape *s = &t->m->shape;
    const uint32_t n_heads = heads(t, w);
    const uint64_t own = w->hook_bytes ? w->hook_bytes(t) : 0;
    const uint64_t kept = t->method->restarts ? 0 : gkv__plus(caches(t, n_heads, w->room), own);
    const uint64_t before = w->before ? caches(t, n_heads, w->before) : 0;
    uint64_t first = gkv__times(t->n, token_bytes(t, w)), second;

    first = gkv__plus(first, watches(t, w) ? chunk * s->n_head * 2 * sizeof(float) : 0);
    first = gkv__plus(first, gkv__cache_bytes(work_type(t), 1, s->n_head_kv, s->head_dim, t->n));
    first = gkv__plus(first, w->state_bytes ? w->state_bytes(t) : 0);
    first = gkv__plus(first, gkv__weights_largest(t->m, s->n_layer - 1));
    first = gkv__plus(first, kept > before ? kept : before);
    second = gkv__plus(gkv__model_weight_bytes(t->m), kept);
    return (first > second ? first : second) + s->n_embd * sizeof(float);
}

static void close(struct gkv__sweep *s, const struct gkv__watch *w)
{
    const struct gkv__context *c = s->c;
    const struct gkv__shape *h = &c->t->m->shape;

    gkv__cache_close(&s->work);
    gkv__pages_free(s->x, c->t->n, h->n_embd * sizeof *s->x);
    gkv__pages_free(s->received, c->t->n, h->n_head * sizeof *s->received);
    gkv__pages_free(s->score, c->t->n, sizeof *s->score);
    gkv__pages_free(s->spare, c->t->n, sizeof *s->spare);
    gkv__pages_free(s->weight, c->t->n, sizeof *s->weight);
    gkv__pages_free(s->at, c->t->n, sizeof *s->at);
    gkv__pages_free(s->go, c->t->n, sizeof *s->go);
    gkv__pages_free(s->votes, c->t->n, sizeof *s->votes);
    gkv__pages_free(s->keep, c->t->n, heads(c->t, w) * sizeof *s->keep);
    gkv__pages_free(s->q, h->n_head_kv, h->head_dim * sizeof *s->q);
    gkv__pages_free(s->sums, c->e->chunk, h->n_head * 2 * sizeof *s->sums);
    if (w->state_bytes)
        gkv__pages_free(s->state, w->state_bytes(c->t), 1);
}

static gkv_status open(struct gkv__sweep *s, const struct gkv__watch *w, gkv_error *err)
{
    struct gkv__context *c = s->c;
    const struct gkv__shape *h = &c->t->m->shape;
    const bool received = watches(c->t, w);

    s->n = s->stride = (size_t)c->t->n;
    s->x = gkv__pages(c->t->n, h->n_embd * sizeof *s->x);
    s->received = received ? gkv__pages(c->t->n, h->n_head * sizeof *s->received) : NULL;
    s->weight = w->weight ? gkv__pages(c->t->n, sizeof *s->weight) : NULL;
    s->score = gkv__pages(c->t->n, sizeof *s->score);
    s->spare = gkv__pages(c->t->n, sizeof *s->spare);
    s->at = gkv__pages(c->t->n, sizeof *s->at);
    s->go = gkv__pages(c->t->n, sizeof *s->go);
    s->votes = gkv__pages(c->t->n, sizeof *s->votes);
    s->keep = gkv__pages(c->t->n, heads(c->t, w) * sizeof *s->keep);
    s->q = gkv__pages(h->n_head_kv, h->head_dim * sizeof *s->q);
    s->sums = received ? gkv__pages(c->e->chunk, h->n_head * 2 * sizeof *s->sums) : NULL;
    if (w->state_bytes)
        s->state = gkv__pages(w->state_bytes(c->t), 1);
    if (!s->x || (received && !(s->received && s->sums)) || (w->weight && !s->weight) || !s->score ||
        !s->spare || !s->at || !s->go || !s->votes || !s->keep || !s->q || (w->state_bytes && !s->state))
        return gkv__fail(err, GKV_NOMEM, "the system refused %s",
                         gkv__needed(gkv__times(c->t->n, token_bytes(c->t, w))).text);
    for (size_t i = 0; i < s->n; i++)
        s->at[i] = (uint32_t)i;
    GKV__TRY(gkv__cache_open(&s->work, work_type(c->t), 1, h->n_head_kv, h->head_dim, c->t->n, err));
    s->p = (struct gkv__pass){ .e = c->e, .m = c->t->m, .span = gkv__plus(c->t->n, c->t->n_new), .c = &s->work };
    if (!c->t->method->restarts)
        GKV__TRY(gkv__cache_open(&c->cache, c->t->kv, h->n_layer, heads(c->t, w), h->head_dim, 0, err));
    c->cache.repeat = heads(c->t, w) / h->n_head_kv;
    if (w->hook_bytes && w->hook_bytes(c->t))
        GKV__TRY(gkv__hook_open(&c->hook, w->hook_bytes(c->t), err));
    return w->begin ? w->begin(s, err) : GKV_OK;
}

/* ---- one layer -------------------------------------------------------------------------- */

/* Folds the last row's query at layer il into s->q, before the layer replaces the row. */
static void last_query(struct gkv__sweep *s)
{
    struct gkv__exec *e = s->c->e;

    gkv__layer_qk(&s->p, s->il, s->x + (s->n - 1) * s->c->t->m->shape.n_embd, 1, s->at[s->n - 1], 0);
    gkv__fold_query(e, 0, s->q);
}

/* Adds to the attention sums what the watched rows give: the last `rows` rows of the layer, as far as they
 * are among rows from .. from + n - 1, whose queries are in e->q. */
static void look(struct gkv__sweep *s, size_t from, size_t n, size_t rows)
{
    const struct gkv__shape *h = &s->c->t->m->shape;
    const size_t first = s->n - rows, skip = first > from ? first - from : 0;
    struct gkv__observers l = { &s->work, 0, NULL, n - skip, from + skip, NULL,
                              gkv__view_of(&s->c->t->m->layer[s->il]), s->sums + skip * h->n_head * 2 };

    if (skip >= n)
        return;
    l.q = s->c->e->q + skip * h->n_head * h->head_dim;
    if (s->weight)
        l.weight = s->weight + (from + skip - first);
    gkv__attention_sums(s->c->e, &l, s->received, s->stride, s->n);
}

static gkv_status layer(struct gkv__sweep *s, const struct gkv__watch *w, gkv_error *err)
{
    const struct gkv__context *c = s->c;
    const struct gkv__shape *h = &c->t->m->shape;
    struct gkv__exec *e = c->e;
    const size_t rows = w->rows ? w->rows(c->t, s->il, s->n) : 0;
    const bool raw = w->raw && w->raw(c->t, s->il), whole = s->n == c->t->n;
    for (size_t i = 0; rows && w->weight && i < rows; i++)
        s->weight[i] = w->weight(c->t, i, rows);
    for (size_t ih = 0; rows && ih < h->n_head; ih++)
        memset(s->received + ih * s->stride, 0, s->n * sizeof *s->received);
    if (raw)
        last_query(s);
    s->p.sums = rows ? s->sums : NULL;
    for (size_t at = 0; at < s->n; at += e->chunk) {
        const size_t nc = gkv__min(e->chunk, s->n - at);
        float *x = s->x + at * h->n_embd;

        if (whole)
            gkv__layer(&s->p, s->il, NULL, x, nc, at, 0);
        else
            gkv__layer_at(&s->p, s->il, NULL, x, nc, at, s->at + at, 0);
        if (rows)
            look(s, at, nc, rows);
        if (raw)
            gkv__score(e, e->k, nc, s->q, s->score + at);
        gkv__progress(e, gkv__layer_work(h, at, nc));
        if (gkv__cancelled(e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u, %.0f %% of the prefill "
                             "done", s->il, h->n_layer, 100 * e->done / e->total);
    }
    return GKV_OK;
}

/* ---- what the method decided ------------------------------------------------------------- */

static void tell(struct gkv__sweep *s, uint32_t il, uint32_t ih, const uint32_t *keep, size_t n)
{
    uint32_t *at = (uint32_t *)(void *)s->spare;

    for (size_t i = 0; i < n; i++)
        at[i] = s->at[keep ? keep[i] : i];
    s->c->holds(s->c->holds_arg, il, ih, at, n);
}

/* Layer il of the result gets entries keep[ih * stride ..] of layer sl of src; n = 0: all s->n. */
static gkv_status store(struct gkv__sweep *s, uint32_t il, const struct gkv__cache *src, uint32_t sl,
                        const uint32_t *keep, size_t stride, size_t n, gkv_error *err)
{
    struct gkv__context *c = s->c;
    const size_t count = n ? n : s->n;

    GKV__TRY(gkv__cache_room(&c->cache, il, count + c->t->n_new, err));
    c->cache.layer[il].shift = c->next - count;
    for (uint32_t ih = 0; ih < c->cache.n_head_kv; ih++) {
        const uint32_t *at = n ? keep + ih * stride : NULL;

        gkv__cache_take(&c->cache, il, src, sl, ih, at, count);
        if (c->holds)
            tell(s, il, ih, at, count);
    }
    return GKV_OK;
}

gkv_status gkv__sweep_cut(struct gkv__sweep *s, uint32_t il, const uint32_t *keep, size_t n,
                          gkv_error *err)
{
    struct gkv__cache old = s->c->cache;
    struct gkv__cache_layer was = old.layer[il];
    gkv_status status;

    old.layer = &was;
    old.n_layer = 1;
    s->c->cache.layer[il] = (struct gkv__cache_layer){ 0 };
    status = store(s, il, &old, 0, keep, 0, n, err);
    gkv__cache_drop(&old, 0);
    for (size_t i = 0; i < s->n; i++)           /* all heads kept all tokens */
        s->votes[s->at[i]] -= s->c->cache.n_head_kv;
    for (size_t i = 0; i < n; i++)
        s->votes[s->at[keep[i]]] += s->c->cache.n_head_kv;
    return status;
}

static gkv_status settle(struct gkv__sweep *s, gkv_error *err)
{
    const size_t d = s->c->t->m->shape.n_embd;
    const uint32_t n_heads = s->c->cache.n_head_kv;

    GKV__TRY(store(s, s->il, &s->work, 0, s->keep, s->stride, s->n_keep, err));
    for (uint32_t ih = 0; ih < n_heads; ih++)
        for (size_t i = 0; i < (s->n_keep ? s->n_keep : s->n); i++)
            s->votes[s->at[s->n_keep ? s->keep[ih * s->stride + i] : i]]++;
    for (size_t i = 0; i < s->n_go; i++) {
        s->at[i] = s->at[s->go[i]];
        memmove(s->x + i * d, s->x + s->go[i] * d, d * sizeof *s->x);
    }
    if (s->n_go)
        s->n = s->n_go;
    s->n_keep = s->n_go = 0;
    return GKV_OK;
}

/* Results to show: as many tokens as a head keeps on average, those that most heads keep. */
static void show(struct gkv__sweep *s)
{
    struct gkv__context *c = s->c;
    const double heads = (double)c->cache.n_layer * c->cache.n_head_kv;
    double sum = 0;

    for (size_t i = 0; i < c->t->n; i++) {
        sum += s->votes[i];
        c->score[i] = (float)(s->votes[i] / heads);
    }
    c->n_kept = gkv__min((uint64_t)(sum / heads + 0.5), c->t->n);
    gkv__top(c->score, (size_t)c->t->n, c->n_kept, c->kept);
}

gkv_status gkv__sweep(struct gkv__context *c, const struct gkv__watch *w, gkv_error *err)
{
    const struct gkv__shape *h = &c->t->m->shape;
    struct gkv__sweep s = { .c = c };
    gkv_status status = w->check ? w->check(c->t, err) : GKV_OK;

    if (status != GKV_OK)
        return status;
    status = open(&s, w, err);
    c->next = c->t->n;
    c->span = s.p.span;
    c->restart = c->t->method->restarts;
    gkv__stage(c->e, GKV_STAGE_PREFILL, c->t->n, h->n_layer * gkv__layer_work(h, 0, c->t->n));
    for (size_t at = 0; status == GKV_OK && at < s.n; at += c->e->chunk)
        gkv__embed(c->e, c->t->m, c->id + at, s.x + at * h->n_embd, gkv__min(c->e->chunk, s.n - at));
    for (; status == GKV_OK && s.il < h->n_layer && !s.stop; s.il++) {
        gkv__model_layer_need(c->t->m, s.il, true);
        status = layer(&s, w, err);
        if (status == GKV_OK)
            status = w->layer(&s, err);
        if (status == GKV_OK && !c->t->method->restarts)
            status = settle(&s, err);
        gkv__model_layer_need(c->t->m, s.il, false);
    }
    if (status == GKV_OK && !c->t->method->restarts) {
        memcpy(c->x, s.x + (s.n - 1) * h->n_embd, h->n_embd * sizeof *c->x);
        show(&s);
    }
    if (status == GKV_OK && w->end)
        w->end(&s);
    close(&s, w);
    return status;
}

/* ---- the observation window --------------------------------------------------------------- */

gkv_status gkv__window_fits(const struct gkv__task *t, size_t window, uint64_t budget,
                            gkv_error *err)
{
    const uint64_t least = t->keep_first + (t->keep_last > window ? t->keep_last : window);

    if (window >= t->n)
        return gkv__fail(err, GKV_INVALID, "a window of %zu tokens: the prompt has %" PRIu64, window, t->n);
    if (least > budget)
        return gkv__fail(err, GKV_INVALID, "a budget of %" PRIu64 " tokens is less than the %" PRIu64
                         " that are always kept; raise --keep, or lower --keep-first, --keep-last or the "
                         "window of %zu", budget, least, window);
    return GKV_OK;
}

void gkv__window_pool(struct gkv__sweep *s, size_t window, size_t kernel, int pool)
{
    for (size_t h = 0; h < s->c->t->m->shape.n_head; h++)
        gkv__pool(s->received + h * s->stride, s->spare, s->n - window, kernel, (enum gkv__pool)pool);
}

void gkv__window_score(struct gkv__sweep *s, size_t window, size_t first, size_t n)
{
    for (size_t j = 0; j < s->n - window; j++) {
        float sum = 0;

        for (size_t h = first; h < first + n; h++)
            sum += s->received[h * s->stride + j];
        s->score[j] = sum;
    }
}

size_t gkv__window_best(struct gkv__sweep *s, size_t window, size_t budget, uint32_t *out)
{
    const struct gkv__context *c = s->c;
    const size_t before = s->n - window, n = gkv__min(budget - window, before);

    gkv__force(s->score, before, gkv__min(c->t->keep_first, before),
               gkv__min(c->t->keep_last > window ? c->t->keep_last - window : 0, before));
    gkv__top(s->score, before, n, out);
    for (size_t i = 0; i < window; i++)
        out[n + i] = (uint32_t)(before + i);
    return n + window;
}

void gkv__window_keep(struct gkv__sweep *s, size_t window, size_t budget)
{
    const size_t n_heads = s->c->cache.n_head_kv, group = s->c->t->m->shape.n_head / n_heads;

    if (s->n <= budget)
        return;
    for (size_t ih = 0; ih < n_heads; ih++) {
        gkv__window_score(s, window, ih * group, group);
        s->n_keep = gkv__window_best(s, window, budget, s->keep + ih * s->stride);
    }
}
