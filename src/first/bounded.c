/* SPDX-License-Identifier: BSD-2-Clause
 * bounded.c - see bounded.h. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "src/first/bounded.h"
#include "src/engine/layer.h"
#include "src/engine/attention-sums.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"
#include "src/base/thread.h"
#include "src/base/top.h"

enum { ROWS = 64 };             /* cache entries of a work item */

/* ---- sizes ------------------------------------------------------------------------------ */

static size_t width(const struct gkv__bounded *b)
{
    return b->budget + b->max_rows;
}

static size_t sets(const struct gkv__bounded *b)
{
    return b->per_head ? b->m->shape.n_head_kv : 1;
}

static size_t n_origins(const struct gkv__bounded *b)
{
    return b->n_layer * sets(b) * b->budget;
}

/* KV heads of the layer that has most. */
static size_t heads(const struct gkv__bounded *b)
{
    return gkv__max(b->m->shape.n_head_kv, b->m->near.n_head_kv);
}

uint64_t gkv__bounded_bytes(const struct gkv__bounded *b, uint64_t n)
{
    const struct gkv__shape *s = &b->m->shape;
    const uint64_t states = gkv__states_floats(b->m, b->n_layer) + gkv__state_floats(s);   /* and those in the cache */
    uint64_t sum = gkv__cache_bytes_for(b->m, b->kv, b->n_layer, gkv__min(b->budget, n));

    sum = gkv__plus(sum, states * sizeof(float));
    sum = gkv__plus(sum, gkv__cache_largest(b->m, gkv__quant_of(GKV__TYPE_F32), b->n_layer,
                                            gkv__min(width(b), n + b->max_rows)));
    sum = gkv__plus(sum, gkv__times(b->max_rows, s->n_embd * sizeof(float)));
    sum = gkv__plus(sum, gkv__times(gkv__min(width(b), n + b->max_rows), s->n_head * sizeof(float)));
    return gkv__plus(sum, (heads(b) * b->budget + 2 * b->max_rows + (b->origins ? n_origins(b) : 0)) * sizeof(uint32_t));
}

void gkv__bounded_close(struct gkv__bounded *b)
{
    gkv__cache_close(&b->store);
    gkv__cache_close(&b->work);
    if (!b->s)
        return;
    gkv__pages_free(b->x, b->max_rows, b->s->n_embd * sizeof *b->x);
    gkv__pages_free(b->received, width(b), b->s->n_head * sizeof *b->received);
    gkv__pages_free(b->weight, b->max_rows, sizeof *b->weight);
    gkv__pages_free(b->keep, b->budget, heads(b) * sizeof *b->keep);
    gkv__pages_free(b->row_id, b->max_rows, sizeof *b->row_id);
    gkv__pages_free(b->origin, n_origins(b), sizeof *b->origin);
}

gkv_status gkv__bounded_open(struct gkv__bounded *b, struct gkv__exec *e, gkv_error *err)
{
    const struct gkv__shape *s = &b->m->shape;

    b->e = e;
    b->s = s;
    b->p = (struct gkv__pass){ .e = e, .m = b->m, .span = b->span, .c = &b->work };
    b->x = gkv__pages(b->max_rows, s->n_embd * sizeof *b->x);
    b->received = gkv__pages(width(b), s->n_head * sizeof *b->received);
    b->weight = gkv__pages(b->max_rows, sizeof *b->weight);
    b->keep = gkv__pages(b->budget, heads(b) * sizeof *b->keep);
    b->row_id = gkv__pages(b->max_rows, sizeof *b->row_id);
    if (b->origins && b->n_layer)
        b->origin = gkv__pages(n_origins(b), sizeof *b->origin);
    if (!b->x || !b->received || !b->weight || !b->keep || !b->row_id || (b->origins && b->n_layer && !b->origin))
        return gkv__fail(err, GKV_NOMEM, "the system refused %s",
                         gkv__needed(gkv__bounded_bytes(b, UINT64_MAX >> 1)).text);
    if (!b->n_layer)
        return GKV_OK;
    GKV__TRY(gkv__cache_open(&b->store, b->kv, b->n_layer, s->n_head_kv, s->head_dim, 0, err));
    for (uint32_t il = 0; il < b->n_layer; il++) {
        gkv__cache_lay_out(&b->store, il, b->m, il);
        GKV__TRY(gkv__attends(b->m, il) ? gkv__cache_room(&b->store, il, b->budget, err)
                                        : gkv__cache_state(&b->store, il, 2 * gkv__state_floats(s), err));
    }
    GKV__TRY(gkv__cache_open_one(&b->work, b->m, gkv__quant_of(GKV__TYPE_F32), b->n_layer, width(b), err));
    return gkv__has_states(b->m) ? gkv__cache_state(&b->work, 0, gkv__state_floats(s), err) : GKV_OK;
}

/* ---- caches ----------------------------------------------------------------------------- */

/* The steps below are on layer il. */
static void begin(struct gkv__bounded *b, uint32_t il)
{
    b->il = il;
    b->s = gkv__shape_of(b->m, il);
    gkv__cache_lay_out(&b->work, 0, b->m, il);
}

static uint64_t row_bytes(const struct gkv__bounded *b)
{
    return b->s->head_dim / b->store.type->block * b->store.type->bytes;
}

/* Unpacks entries of one head from the store, at b->first .. b->first + b->count - 1, to the same places in
 * work, and rotates the keys. */
static void load_item(void *arg, size_t i, unsigned thread)
{
    const struct gkv__bounded *b = arg;
    const uint32_t ih = (uint32_t)(i % b->s->n_head_kv);
    const size_t d = b->s->head_dim, at = i / b->s->n_head_kv * ROWS, n = gkv__min(ROWS, b->count - at);
    const size_t row = b->first + at;
    gkv__unpack_fn *unpack = b->e->simd->unpack[b->store.type->type];
    float *k = (float *)(void *)gkv__cache_k(&b->work, 0, ih, row);

    (void)thread;
    unpack(gkv__cache_k(&b->store, b->il, ih, row), k, n * d);
    unpack(gkv__cache_v(&b->store, b->il, ih, row),
           (float *)(void *)gkv__cache_v(&b->work, 0, ih, row), n * d);
    for (size_t t = 0; t < n; t++)
        gkv__rotate(b->s, k + t * d, b->e->turn + (at + t) * b->s->n_rot, false);
}

static void load(struct gkv__bounded *b)
{
    for (b->first = 0; b->first < b->held; b->first += b->count) {
        b->count = gkv__min(b->e->chunk, b->held - b->first);
        gkv__turn(&b->p, b->il, b->count, b->first);
        gkv__for(b->e->n_threads, (b->count + ROWS - 1) / ROWS * b->s->n_head_kv, load_item, b);
    }
}

static const uint32_t *keep_of(const struct gkv__bounded *b, size_t ih)
{
    return b->keep + (b->per_head ? ih * b->budget : 0);
}

/* Moves the entries of the store that are kept to its beginning. */
static void squeeze_item(void *arg, size_t ih, unsigned thread)
{
    const struct gkv__bounded *b = arg;
    const uint64_t bytes = row_bytes(b);
    const uint32_t *keep = keep_of(b, ih);
    uint8_t *k = gkv__cache_k(&b->store, b->il, (uint32_t)ih, 0);
    uint8_t *v = gkv__cache_v(&b->store, b->il, (uint32_t)ih, 0);

    (void)thread;
    for (size_t i = 0; i < b->count && keep[i] < b->held; i++) {
        memmove(k + i * bytes, k + keep[i] * bytes, bytes);
        memmove(v + i * bytes, v + keep[i] * bytes, bytes);
    }
}

/* Appends to the store the rows of work that are kept, of rows first .. first + e->chunk - 1. */
static void take_item(void *arg, size_t ih, unsigned thread)
{
    const struct gkv__bounded *b = arg;
    const size_t d = b->s->head_dim;
    const uint32_t *keep = keep_of(b, ih);
    void (*const pack)(const float *, void *, size_t) = b->store.type->from_f32;

    (void)thread;
    for (size_t i = 0; i < b->count; i++) {
        const size_t row = keep[i];
        float *k;

        if (row < b->first || row >= b->first + b->e->chunk)
            continue;
        k = (float *)(void *)gkv__cache_k(&b->work, 0, (uint32_t)ih, row);
        gkv__rotate(b->s, k, b->e->turn + (row - b->first) * b->s->n_rot, true);
        pack(k, gkv__cache_k(&b->store, b->il, (uint32_t)ih, i), d);
        pack((float *)(void *)gkv__cache_v(&b->work, 0, (uint32_t)ih, row),
             gkv__cache_v(&b->store, b->il, (uint32_t)ih, i), d);
    }
}

/* ---- choosing --------------------------------------------------------------------------- */

/* Adds what keys received from heads first .. first + n - 1, into the first of them, and chooses the
 * n_keep highest sums. */
static void choose(struct gkv__bounded *b, size_t first, size_t n, size_t n_keep, uint32_t *keep)
{
    const size_t n_text = b->held + b->n_warm + b->n_new;
    float *sum = b->received + first * width(b);

    for (size_t h = 1; h < n; h++)
        for (size_t j = 0; j < n_text; j++)
            sum[j] += sum[h * width(b) + j];
    for (size_t j = b->held; j < b->held + b->n_warm; j++)
        sum[j] = -INFINITY;
    for (size_t j = 0; j < b->sinks && j < n_text; j++)
        sum[j] = INFINITY;
    for (size_t j = n_text - gkv__min(b->recent, b->n_new); j < n_text; j++)
        sum[j] = INFINITY;
    gkv__top(sum, n_text, n_keep, keep);
}

static void remember(struct gkv__bounded *b, size_t at, size_t n_keep)
{
    for (size_t i = 0; i < sets(b); i++) {
        uint32_t *origin = b->origin + (b->il * sets(b) + i) * b->budget;
        const uint32_t *keep = keep_of(b, i);

        for (size_t j = 0; j < n_keep; j++)     /* ascending: reads stay ahead of writes */
            origin[j] = keep[j] < b->held ? origin[keep[j]]
                                          : (uint32_t)(at + keep[j] - b->held - b->n_warm);
    }
}

/* Adds what the rows of x at .. at + b->count - 1, whose queries are in e->q, give to the keys of cache and text, if they
 * are among those that choose. */
static void observe(struct gkv__bounded *b, size_t at)
{
    const size_t text = b->n_warm + b->n_new, row = (size_t)b->s->n_head * b->s->head_dim;
    const size_t first = gkv__max(at, b->guide == GKV__BY_QUESTION ? text : b->n_warm);
    const size_t end = gkv__min(at + b->count, b->guide == GKV__BY_TEXT ? text : b->n_rows);
    struct gkv__observers l = { .c = &b->work, .view = gkv__view_of(&b->m->layer[b->il]) };

    if (first >= end)
        return;
    l.q = b->e->q + (first - at) * row;
    l.n = end - first;
    l.slot = b->held + first;
    l.weight = b->rising ? b->weight + first : NULL;
    gkv__attention_sums(b->e, &l, b->received, width(b), b->held + text);
}

/* Afterwards the store holds the entries that the layer keeps. */
static void cut(struct gkv__bounded *b, size_t at, size_t n_keep)
{
    const size_t n_heads = b->s->n_head_kv, group = b->s->n_head / n_heads;
    const size_t n_text = b->held + b->n_warm + b->n_new;

    for (size_t i = 0; i < sets(b); i++)
        choose(b, i * group, b->per_head ? group : b->s->n_head, n_keep, b->keep + i * b->budget);
    if (b->origin)
        remember(b, at, n_keep);

    b->count = n_keep;
    gkv__for(b->e->n_threads, n_heads, squeeze_item, b);
    for (b->first = b->held; b->first < n_text; b->first += b->e->chunk) {
        gkv__turn(&b->p, b->il, gkv__min(b->e->chunk, n_text - b->first), b->first);
        gkv__for(b->e->n_threads, n_heads, take_item, b);
    }
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Runs all rows of x through one layer, behind the entries that it holds, and adds up what those that choose attend
 * to.  Only the first block may be short: blocks end where the question does. */
static void layer(struct gkv__bounded *b)
{
    const size_t chunk = b->e->chunk, left = b->n_rows % chunk;

    load(b);
    for (size_t i = 0; i < b->n_rows; i++)
        b->weight[i] = (float)((double)(b->held + i + 1) / (double)(b->held + b->n_rows));
    for (size_t h = 0; h < b->s->n_head; h++)
        memset(b->received + h * width(b), 0, (b->held + b->n_rows - b->n_q) * sizeof *b->received);
    for (size_t at = 0; at < b->n_rows; at += b->count) {
        b->count = at || !left ? chunk : left;
        gkv__layer(&b->p, b->il, b->row_id + at, b->x + at * b->s->n_embd, b->count, b->held + at, 0);
        if (b->n_new)
            observe(b, at);
    }
}

/* The same for a layer with a state, for tokens at .. of the text.  The store has two states: that before the next
 * warm-up, and that at the end of the text so far, for a question alone. */
static void state_layer(struct gkv__bounded *b, size_t at)
{
    const size_t n = gkv__state_floats(b->s), text = b->n_warm + b->n_new, end = at + b->n_new;
    const size_t stop[] = { b->n_new ? text - gkv__min(b->warm, end) : 0, text, b->n_rows };
    float *saved = b->store.layer[b->il].state, *now = b->work.layer[0].state;
    size_t row = 0;

    memcpy(now, saved + (b->n_new ? 0 : n), n * sizeof *now);
    for (size_t i = 0; i < 3; i++) {
        for (; row < stop[i]; row += b->count) {
            b->count = gkv__min(b->e->chunk, stop[i] - row);
            gkv__layer(&b->p, b->il, b->row_id + row, b->x + row * b->s->n_embd, b->count, at - b->n_warm + row, 0);
        }
        if (b->n_new && i < 2 && stop[i])
            memcpy(saved + i * n, now, n * sizeof *now);
    }
}

void gkv__bounded_begin(struct gkv__bounded *b, uint32_t il, const float *state)
{
    const size_t n = gkv__state_floats(&b->m->shape);

    memcpy(b->store.layer[il].state + n, state, n * sizeof *state);
}

gkv_status gkv__bounded_step(struct gkv__bounded *b, size_t at, size_t n, size_t keep, gkv_error *err)
{
    const size_t d = b->s->n_embd;

    b->n_new = n;
    b->n_warm = n ? gkv__min(b->warm, at) : 0;
    b->n_rows = b->n_warm + n + b->n_q;
    for (size_t i = 0; i < b->n_warm + n; i += b->e->chunk)
        gkv__embed(b->e, b->m, b->id + at - b->n_warm + i, b->x + i * d,
                   gkv__min(b->e->chunk, b->n_warm + n - i));
    gkv__embed(b->e, b->m, b->question, b->x + (b->n_warm + n) * d, b->n_q);
    memcpy(b->row_id, b->id + at - b->n_warm, (b->n_warm + n) * sizeof *b->row_id);
    memcpy(b->row_id + b->n_warm + n, b->question, b->n_q * sizeof *b->row_id);
    for (uint32_t il = 0; il < b->n_layer; il++) {
        begin(b, il);
        if (gkv__attends(b->m, b->il))
            layer(b);
        else
            state_layer(b, at);
        if (n && gkv__attends(b->m, b->il))
            cut(b, at, keep);
        gkv__progress(b->e, gkv__layer_work(b->s, b->held, b->n_rows));
        if (gkv__cancelled(b->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %zu, %.0f %% of the %s done", at,
                             100 * b->e->done / b->e->total, gkv_stage_name(b->e->stage));
    }
    if (n)
        b->held = keep;
    return GKV_OK;
}

double gkv__bounded_work(const struct gkv__bounded *b, size_t held, size_t at, size_t n)
{
    const size_t warm = n ? gkv__min(b->warm, at) : 0;

    return b->n_layer * gkv__layer_work(&b->m->shape, held, warm + n + b->n_q);
}

/* ---- the end ---------------------------------------------------------------------------- */

void gkv__bounded_deliver(struct gkv__bounded *b, struct gkv__cache *to)
{
    void (*const pack)(const float *, void *, size_t) = to->type->from_f32;

    for (uint32_t il = 0; il < b->n_layer; il++) {
        begin(b, il);
        load(b);
        for (uint32_t ih = 0; ih < b->s->n_head_kv; ih++) {
            const size_t n = b->held * b->s->head_dim;

            pack((float *)(void *)gkv__cache_k(&b->work, 0, ih, 0), gkv__cache_k(to, b->il, ih, 0), n);
            pack((float *)(void *)gkv__cache_v(&b->work, 0, ih, 0), gkv__cache_v(to, b->il, ih, 0), n);
        }
    }
}
