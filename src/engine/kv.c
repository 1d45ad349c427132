/* SPDX-License-Identifier: BSD-2-Clause
 * kv.c - see kv.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/kv.h"
#include "src/quant/convert.h"
#include "src/base/mem.h"
#include "src/base/thread.h"

enum { TOKENS = 32 };           /* tokens of a piece of work                                 */

const struct gkv__quant *gkv__kv_in_runs(uint32_t run)
{
    static const struct gkv__quant types[] = {
        { .name = "bf16", .block = 1, .bytes = 2, .type = GKV__TYPE_BF16, .to_f32 = gkv__to_f32_bf16,
          .from_f32 = gkv__from_f32_bf16, .run = 2 },
        { .name = "bf16", .block = 1, .bytes = 2, .type = GKV__TYPE_BF16, .to_f32 = gkv__to_f32_bf16,
          .from_f32 = gkv__from_f32_bf16, .run = 32 },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].run == run)
            return &types[i];
    return NULL;
}

/* n slots, and those that fill the last run. */
static uint64_t whole_runs(const struct gkv__quant *type, uint64_t n)
{
    const uint64_t run = type->run ? type->run : 1;

    return n > UINT64_MAX - run ? n : (n + run - 1) / run * run;
}

static uint64_t row_bytes(const struct gkv__quant *type, uint32_t head_dim)
{
    return (uint64_t)(head_dim / type->block) * type->bytes;
}

uint64_t gkv__cache_bytes(const struct gkv__quant *type, uint32_t n_layer, uint32_t n_head_kv,
                          uint32_t head_dim, uint64_t n_max)
{
    uint64_t per = 2 * row_bytes(type, head_dim) * n_head_kv * n_layer, all;

    return gkv__mul(per, whole_runs(type, n_max), &all) ? all : UINT64_MAX;
}

static uint64_t layer_bytes(const struct gkv__cache *c, uint32_t il, uint64_t n_max)
{
    return gkv__cache_bytes(c->type, 1, gkv__cache_heads(c, il), gkv__cache_dim(c, il), n_max);
}

uint64_t gkv__cache_size(const struct gkv__cache *c)
{
    uint64_t sum = 0;

    for (uint32_t il = 0; c->layer && il < c->n_layer; il++)
        sum += (c->layer[il].k ? layer_bytes(c, il, c->layer[il].n_max) : 0) + c->layer[il].n_state * sizeof(float);
    return sum;
}

uint64_t gkv__cache_used(const struct gkv__cache *c, uint64_t n)
{
    uint64_t sum = 0;

    for (uint32_t il = 0; c->layer && il < c->n_layer; il++)
        sum += (c->layer[il].k ? layer_bytes(c, il, n) : 0) + c->layer[il].n_state * sizeof(float);
    return sum;
}

static gkv_status room(struct gkv__cache *c, uint32_t il, uint64_t bytes, uint64_t n_max, gkv_error *err)
{
    struct gkv__cache_layer *l = &c->layer[il];

    l->k = gkv__pages(bytes, 1);
    if (!l->k)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for the KV cache",
                         gkv__needed(bytes).text);
    l->bytes = bytes;
    l->v = l->k + bytes / 2;
    l->n_max = whole_runs(c->type, n_max);
    return GKV_OK;
}

gkv_status gkv__cache_room(struct gkv__cache *c, uint32_t il, uint64_t n_max, gkv_error *err)
{
    return room(c, il, layer_bytes(c, il, n_max), n_max, err);
}

gkv_status gkv__cache_open(struct gkv__cache *c, const struct gkv__quant *type, uint32_t n_layer,
                           uint32_t n_head_kv, uint32_t head_dim, uint64_t n_max, gkv_error *err)
{
    gkv_status status = GKV_OK;

    *c = (struct gkv__cache){ type, n_layer, n_head_kv, head_dim, calloc(n_layer + 1, sizeof *c->layer),
                              .repeat = 1 };
    if (!c->layer)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t il = 0; n_max && il < n_layer && status == GKV_OK; il++)
        status = gkv__cache_room(c, il, n_max, err);
    if (status != GKV_OK)
        gkv__cache_close(c);
    return status;
}

void gkv__cache_drop(struct gkv__cache *c, uint32_t il)
{
    if (c->layer[il].k)
        gkv__pages_free(c->layer[il].k, c->layer[il].bytes, 1);
    if (c->layer[il].state)
        gkv__pages_free(c->layer[il].state, c->layer[il].n_state, sizeof(float));
    c->layer[il] = (struct gkv__cache_layer){ 0 };
}

void gkv__cache_close(struct gkv__cache *c)
{
    for (uint32_t il = 0; c->layer && il < c->n_layer; il++)
        gkv__cache_drop(c, il);
    free(c->layer);
    c->layer = NULL;
}

/* ---- layers of a model ------------------------------------------------------------------ */

/* Gives layer ic the heads of layer il of the model. */
static void shape(struct gkv__cache *c, uint32_t ic, const gkv_model *m, uint32_t il)
{
    const struct gkv__shape *s = gkv__shape_of(m, il);

    c->layer[ic].n_head_kv = s->n_head_kv;
    c->layer[ic].head_dim = s->head_dim;
}

void gkv__cache_lay_out(struct gkv__cache *c, uint32_t ic, const gkv_model *m, uint32_t il)
{
    shape(c, ic, m, il);
    c->layer[ic].v = c->layer[ic].k ? c->layer[ic].k + layer_bytes(c, ic, c->layer[ic].n_max) / 2 : NULL;
}

static uint64_t bytes_of(const gkv_model *m, uint32_t il, const struct gkv__quant *type, uint64_t n_max)
{
    const struct gkv__shape *s = gkv__shape_of(m, il);

    return gkv__has_keys(m, il) ? gkv__cache_bytes(type, 1, s->n_head_kv, s->head_dim, n_max) : 0;
}

uint64_t gkv__cache_largest(const gkv_model *m, const struct gkv__quant *type, uint32_t n_layer, uint64_t n_max)
{
    uint64_t most = 0;

    for (uint32_t il = 0; il < n_layer; il++)
        most = gkv__max(most, bytes_of(m, il, type, n_max));
    return most;
}

gkv_status gkv__cache_open_one(struct gkv__cache *c, const gkv_model *m, const struct gkv__quant *type,
                               uint32_t n_layer, uint64_t n_max, gkv_error *err)
{
    const uint64_t bytes = gkv__cache_largest(m, type, n_layer, n_max);
    gkv_status status = gkv__cache_open(c, type, 1, m->shape.n_head_kv, m->shape.head_dim, 0, err);

    if (status == GKV_OK && bytes)
        status = room(c, 0, bytes, n_max, err);
    if (status != GKV_OK)
        gkv__cache_close(c);
    return status;
}

/* ---- layers with a state ---------------------------------------------------------------- */

gkv_status gkv__cache_state(struct gkv__cache *c, uint32_t il, uint64_t n, gkv_error *err)
{
    struct gkv__cache_layer *l = &c->layer[il];

    l->state = gkv__pages(n, sizeof *l->state);
    if (!l->state)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for the state of a layer",
                         gkv__needed(n * sizeof *l->state).text);
    l->n_state = n;
    return GKV_OK;
}

gkv_status gkv__cache_open_for(struct gkv__cache *c, const gkv_model *m, const struct gkv__quant *type,
                               uint32_t n_layer, uint64_t n_max, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    gkv_status status = gkv__cache_open(c, type, n_layer, s->n_head_kv, s->head_dim, 0, err);

    for (uint32_t il = 0; il < n_layer && status == GKV_OK; il++) {
        shape(c, il, m, il);
        if (!gkv__attends(m, il))
            status = gkv__cache_state(c, il, gkv__state_floats(s), err);
        else if (n_max && gkv__has_keys(m, il))
            status = gkv__cache_room(c, il, n_max, err);
        if (status == GKV_OK)
            c->layer[il].n_max = whole_runs(type, n_max);
    }
    if (status != GKV_OK)
        gkv__cache_close(c);
    return status;
}

uint64_t gkv__states_floats(const gkv_model *m, uint32_t n_layer)
{
    return (n_layer - gkv__n_attending(m, n_layer)) * gkv__state_floats(&m->shape);
}

uint64_t gkv__cache_bytes_for(const gkv_model *m, const struct gkv__quant *type, uint32_t n_layer, uint64_t n_max)
{
    uint64_t sum = gkv__states_floats(m, n_layer) * sizeof(float);

    for (uint32_t il = 0; il < n_layer; il++)
        sum = gkv__plus(sum, bytes_of(m, il, type, n_max));
    return sum;
}

void gkv__states_save(const struct gkv__cache *c, float *to)
{
    for (uint32_t il = 0; il < c->n_layer; il++) {
        const struct gkv__cache_layer *l = &c->layer[il];

        if (l->state)
            memcpy(to, l->state, l->n_state * sizeof *to);
        to += l->n_state;
    }
}

void gkv__states_restore(struct gkv__cache *c, const float *from)
{
    for (uint32_t il = 0; il < c->n_layer; il++) {
        const struct gkv__cache_layer *l = &c->layer[il];

        if (l->state)
            memcpy(l->state, from, l->n_state * sizeof *from);
        from += l->n_state;
    }
}

/* ---- slots ------------------------------------------------------------------------------ */

static uint64_t offset(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot)
{
    return (ih * c->layer[il].n_max + slot) * row_bytes(c->type, gkv__cache_dim(c, il));
}

uint8_t *gkv__cache_k(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot)
{
    return c->layer[il].k + offset(c, il, ih, slot);
}

uint8_t *gkv__cache_v(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot)
{
    return c->layer[il].v + offset(c, il, ih, slot);
}

struct put {
    struct gkv__cache *c;
    uint32_t           il;
    uint64_t           slot;
    const float       *k, *v;
    size_t             n;
};

/* Slots of one run, `at` of which lie before the first: dimension by dimension. */
static void put_run(const struct gkv__quant *type, const float *row, uint8_t *run, size_t at, size_t d)
{
    uint16_t x[64];

    for (size_t i = 0; i < d; i += 64) {
        const size_t n = gkv__min(d - i, 64);

        type->from_f32(row + i, x, n);
        for (size_t j = 0; j < n; j++)
            memcpy(run + ((i + j) * type->run + at) * sizeof *x, &x[j], sizeof *x);
    }
}

/* One head of some tokens. */
static void put_item(void *arg, size_t i, unsigned thread)
{
    const struct put *p = arg;
    const uint32_t heads = gkv__cache_heads(p->c, p->il), ih = (uint32_t)(i % heads);
    const size_t d = gkv__cache_dim(p->c, p->il), row = (size_t)(heads / p->c->repeat) * d;
    const size_t from = i / heads * TOKENS, to = gkv__min(from + TOKENS, p->n);

    (void)thread;
    for (size_t t = from; t < to; t++) {
        const size_t at = t * row + ih / p->c->repeat * d;

        p->c->type->from_f32(p->k + at, gkv__cache_k(p->c, p->il, ih, p->slot + t), d);
        if (p->c->type->run)
            put_run(p->c->type, p->v + at, gkv__cache_v(p->c, p->il, ih, p->slot + t - (p->slot + t) % p->c->type->run),
                    (p->slot + t) % p->c->type->run, d);
        else
            p->c->type->from_f32(p->v + at, gkv__cache_v(p->c, p->il, ih, p->slot + t), d);
    }
}

void gkv__cache_put(struct gkv__cache *c, uint32_t il, uint64_t slot, const float *k,
                    const float *v, size_t n, unsigned n_threads)
{
    struct put p = { c, il, slot, k, v, n };
    const size_t pieces = (n + TOKENS - 1) / TOKENS;

    gkv__for(n > 1 ? n_threads : 1, pieces * gkv__cache_heads(c, il), put_item, &p);
}

/* Copies the values of n slots, run by run, or rows; returns the packet's next byte. */
static uint8_t *copy_values(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot, size_t n,
                            uint8_t *packet, bool out)
{
    const size_t d = gkv__cache_dim(c, il), run = c->type->run;

    for (uint64_t at = slot; at < slot + n; ) {
        const size_t before = at % run, some = (size_t)gkv__min(run - before, slot + n - at);
        const size_t parts = some == run ? 1 : d, bytes = some * d / parts * c->type->bytes;
        uint8_t *first = gkv__cache_v(c, il, ih, at - before) + before * c->type->bytes;

        for (size_t x = 0; x < parts; x++, packet += bytes)
            memcpy(out ? packet : first + x * run * c->type->bytes, out ? first + x * run * c->type->bytes : packet, bytes);
        at += some;
    }
    return packet;
}

static void copy_all(const struct gkv__cache *c, uint32_t il, uint64_t slot, size_t n, uint8_t *packet, bool out)
{
    const size_t bytes = n * row_bytes(c->type, gkv__cache_dim(c, il));

    for (uint32_t i = 0; n && i < 2 * gkv__cache_heads(c, il); i++) {
        uint8_t *rows = (i % 2 ? gkv__cache_v : gkv__cache_k)(c, il, i / 2, slot);

        if (i % 2 && c->type->run) {
            packet = copy_values(c, il, i / 2, slot, n, packet, out);
            continue;
        }
        memcpy(out ? packet : rows, out ? rows : packet, bytes);
        packet += bytes;
    }
}

void gkv__cache_pack(const struct gkv__cache *c, uint32_t il, uint64_t slot, size_t n, void *packet)
{
    copy_all(c, il, slot, n, packet, true);
}

void gkv__cache_unpack(struct gkv__cache *c, uint32_t il, uint64_t slot, size_t n, const void *packet)
{
    copy_all(c, il, slot, n, (uint8_t *)(uintptr_t)packet, false);
}

void gkv__cache_take(struct gkv__cache *dst, uint32_t dl, const struct gkv__cache *src, uint32_t sl,
                     uint32_t ih, const uint32_t *at, size_t n)
{
    const size_t bytes = row_bytes(src->type, gkv__cache_dim(src, sl));
    const uint32_t from = src->repeat < dst->repeat ? ih / dst->repeat : ih;

    if (!at) {
        memcpy(gkv__cache_k(dst, dl, ih, 0), gkv__cache_k(src, sl, from, 0), n * bytes);
        memcpy(gkv__cache_v(dst, dl, ih, 0), gkv__cache_v(src, sl, from, 0), n * bytes);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(gkv__cache_k(dst, dl, ih, i), gkv__cache_k(src, sl, from, at[i]), bytes);
        memcpy(gkv__cache_v(dst, dl, ih, i), gkv__cache_v(src, sl, from, at[i]), bytes);
    }
}

void gkv__cache_copy(struct gkv__cache *dst, const struct gkv__cache *src, uint32_t il, size_t n)
{
    for (uint32_t ih = 0; ih < gkv__cache_heads(src, il); ih++)
        gkv__cache_take(dst, il, src, il, ih, NULL, n);
}

void gkv__cache_move(struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t to, uint64_t from, uint64_t n)
{
    const size_t bytes = (size_t)(row_bytes(c->type, c->head_dim) * n);

    memmove(gkv__cache_k(c, il, ih, to), gkv__cache_k(c, il, ih, from), bytes);
    memmove(gkv__cache_v(c, il, ih, to), gkv__cache_v(c, il, ih, from), bytes);
}
