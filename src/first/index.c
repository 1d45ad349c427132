/* SPDX-License-Identifier: BSD-2-Clause
 * index.c - see index.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/sum.h"
#include "src/first/index.h"

extern const struct gkv__schedule gkv__schedule_chunk;

static const struct gkv__grade grades[] = {
    { "compact", false, "q8_0", "q4_0" },
    { "exact", true, "f16", "f32" },
    { "q8", true, "q8_0", "f32" },
    { "q4", true, "q4_0", "f32" },
    { .name = NULL },
};

const struct gkv__grade *gkv__grade_at(size_t i)
{
    return i < sizeof grades / sizeof *grades - 1 ? &grades[i] : NULL;
}

const struct gkv__grade *gkv__grade_named(const char *name)
{
    for (const struct gkv__grade *g = grades; g->name; g++)
        if (!strcmp(g->name, name))
            return g;
    return NULL;
}

/* ---- sizes ------------------------------------------------------------------------------ */

enum {
    BUDGET = 2048,              /* entries of each layer on the way through the text, ...     */
    LEAST = 256, SHARE = 16,    /* ... and in the end: one for so many tokens, between the two */
    WARM = 64, RECENT = 64,     /* as schedule stream has them                                */
    ROOM = 2,                   /* chunks of slots for a question                             */
};

struct gkv__bounded gkv__index_bounded(const struct gkv__task *t, const struct gkv__grade *grade, size_t n,
                                       size_t n_q, size_t chunk)
{
    const size_t question = gkv__min(GKV__MAX_QUESTION, chunk);
    struct gkv__bounded b = {
        .m = t->m, .n_layer = t->filter, .kv = gkv__quant_named(grade->kv), .sinks = GKV__SINKS,
        .budget = gkv__max(gkv__min(BUDGET, n), 1), .recent = RECENT, .warm = WARM, .n_q = gkv__min(n_q, question),
        .max_rows = gkv__max(2 * chunk, WARM + question + 64),
    };
    const uint64_t steps = b.budget + b.max_rows;

    b.span = gkv__index_common(t->m, n) ? steps : gkv__max(steps, n + b.n_q);
    return b;
}

bool gkv__index_common(const gkv_model *m, uint64_t n)
{
    return m->shape.context && n > m->shape.context;
}

static size_t keep_of(size_t n)
{
    return gkv__min(n, gkv__min(BUDGET, gkv__max(LEAST, n / SHARE)));
}

static uint64_t aligned(uint64_t bytes)
{
    return gkv__plus(bytes, GKV__INDEX_ALIGN - 1) / GKV__INDEX_ALIGN * GKV__INDEX_ALIGN;
}

/* Bytes of layer il with n slots. */
static uint64_t layer_bytes(const struct gkv__index *x, uint32_t il, uint64_t n)
{
    const struct gkv__shape *s = gkv__shape_of(x->m, il);

    if (!gkv__attends(x->m, il))
        return x->h.n_state * sizeof(float);
    return gkv__cache_bytes(gkv__quant_named(x->grade->kv), 1, s->n_head_kv, s->head_dim, n);
}

static uint64_t keys_row(const struct gkv__index *x)
{
    const struct gkv__quant *type = gkv__quant_named(x->grade->keys);

    return (uint64_t)x->h.n_head_kv * x->h.head_dim / type->block * type->bytes;
}

/* Where layer il lies behind the head; h.filter: where the keys do. */
static uint64_t offset(const struct gkv__index *x, uint32_t il)
{
    uint64_t at = aligned(sizeof x->h);

    for (uint32_t i = 0; i < il; i++)
        at = gkv__plus(at, aligned(layer_bytes(x, i, x->h.slots)));
    return at;
}

/* Rows of keys that there is room for: those of a question come behind, where caches have room for it. */
static uint64_t key_slots(const struct gkv__index *x)
{
    return x->grade->all ? x->h.slots : x->h.n_keys;
}

uint64_t gkv__index_bytes(const struct gkv__index *x)
{
    return gkv__plus(offset(x, x->h.filter), aligned(gkv__times(key_slots(x), keys_row(x))));
}

uint64_t gkv__index_stored(const struct gkv__index *x)
{
    uint64_t sum = aligned(sizeof x->h) + x->h.n_keys * keys_row(x);

    for (uint32_t il = 0; il < x->h.filter; il++)
        sum += layer_bytes(x, il, x->h.held);
    return sum;
}

static uint32_t n_state(const gkv_model *m)
{
    return gkv__has_states(m) ? (uint32_t)gkv__state_floats(&m->shape) : 0;
}

/* ---- making ----------------------------------------------------------------------------- */

static gkv_status make_all(struct gkv__index_work *w, struct gkv__exec *e, const struct gkv__task *asked,
                           const uint32_t *id, gkv_error *err)
{
    struct gkv__index_head *h = &w->index.h;
    struct gkv__task t = *asked;
    struct gkv__early early = { 0 };
    float *score;
    gkv_status status;

    h->chunk = e->chunk;
    t.n = h->n = h->held = h->n_keys = h->n / e->chunk * e->chunk;
    h->slots = gkv__plus(h->n, (uint64_t)ROOM * e->chunk);
    h->long_rope = gkv__model_rope(t.m, 0, gkv__plus(t.n, t.n_new)) == &t.m->rope[GKV__ROPE_LONG];
    if (!t.n)
        return GKV_OK;
    t.kv_first = gkv__quant_named(w->index.grade->kv);
    score = gkv__pages(t.n, sizeof *score);
    if (!score)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__schedule_chunk.run(e, &(struct gkv__first){
        .t = &t, .early = &early, .n_fixed = (size_t)t.n, .id = id, .score = score }, err);
    gkv__pages_free(score, t.n, sizeof *score);
    gkv__pages_free(early.states, early.n_states, sizeof *early.states);    /* the cache's are of the same place */
    w->cache = early.cache;
    w->keys = (struct gkv__keys){ gkv__quant_named(w->index.grade->keys), (uint8_t *)early.keys };
    w->key_slots = early.slots;
    return status;
}

static gkv_status steps(struct gkv__index_work *w, struct gkv__bounded *b, size_t n, gkv_error *err)
{
    const size_t step = b->max_rows - b->warm - b->n_q;
    struct gkv__exec *e = b->e;
    double work = 0;

    for (size_t at = 0, held = 0; at < n; held = gkv__min(b->budget, held + step), at += step)
        work += gkv__bounded_work(b, held, at, gkv__min(step, n - at));
    gkv__stage(e, GKV_STAGE_FIRST_PASS, n, work);
    for (size_t at = 0; at < n; at += step) {
        const size_t rows = gkv__min(step, n - at), past = b->held;
        const size_t most = at + rows < n ? b->budget : (size_t)w->index.h.slots;

        GKV__TRY(gkv__bounded_step(b, at, rows, gkv__min(most, past + rows), err));
        gkv__keys_put(&b->p, &w->keys, w->index.h.filter, b->x + b->n_warm * b->s->n_embd, rows, at);
    }
    return GKV_OK;
}

static gkv_status make_compact(struct gkv__index_work *w, struct gkv__exec *e, const struct gkv__task *t,
                               const uint32_t *id, const uint32_t *guide, size_t n_guide, gkv_error *err)
{
    struct gkv__index_head *h = &w->index.h;
    const size_t n = (size_t)h->n;
    struct gkv__bounded b = gkv__index_bounded(t, w->index.grade, n, n_guide, e->chunk);
    gkv_status status;

    h->n_keys = n;
    h->slots = keep_of(n);
    w->keys.type = gkv__quant_named(w->index.grade->keys);
    w->keys.rows = gkv__pages(n, keys_row(&w->index));
    w->key_slots = n;
    b.id = id;
    b.question = guide + n_guide - b.n_q;
    status = w->keys.rows ? gkv__bounded_open(&b, e, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    if (status == GKV_OK)
        status = steps(w, &b, n, err);
    h->held = b.held;
    w->cache = b.store;
    b.store = (struct gkv__cache){ 0 };
    gkv__bounded_close(&b);
    return status;
}

gkv_status gkv__index_make(struct gkv__index_work *w, struct gkv__exec *e, const struct gkv__grade *grade,
                           const struct gkv__task *t, const uint32_t *id, size_t n, const uint32_t *guide,
                           size_t n_guide, gkv_error *err)
{
    const struct gkv__shape *s = &t->m->shape;

    *w = (struct gkv__index_work){ .index = { .grade = grade, .m = t->m, .fd = -1 } };
    w->index.h = (struct gkv__index_head){
        .n = n, .filter = t->filter, .n_embd = s->n_embd, .n_head_kv = s->n_head_kv, .head_dim = s->head_dim,
        .n_state = n_state(t->m),
    };
    memcpy(w->index.h.grade, grade->name, strlen(grade->name));
    if (t->filter > GKV__INDEX_LAYERS)
        return gkv__fail(err, GKV_UNSUPPORTED, "an index of %u early layers; at most %d", t->filter, GKV__INDEX_LAYERS);
    for (uint32_t il = 0; il <= t->filter; il++)
        if (gkv__shape_of(t->m, il)->head_dim % gkv__quant_named(grade->kv)->block)
            return gkv__fail(err, GKV_UNSUPPORTED, "grade %s needs heads of a multiple of %u, they are %u", grade->name,
                             gkv__quant_named(grade->kv)->block, gkv__shape_of(t->m, il)->head_dim);
    return grade->all ? make_all(w, e, t, id, err) : make_compact(w, e, t, id, guide, n_guide, err);
}

void gkv__index_work_close(struct gkv__index_work *w)
{
    if (w->keys.rows)
        gkv__pages_free(w->keys.rows, w->key_slots, keys_row(&w->index));
    gkv__cache_close(&w->cache);
    *w = (struct gkv__index_work){ 0 };
}

/* ---- the file --------------------------------------------------------------------------- */

/* What of a layer is filled, in pieces: the slots of each head's keys, then of its values; or the state, one piece.
 * `at` is behind the layer's beginning. */
struct span { uint64_t at, bytes; };

static uint32_t n_spans(const struct gkv__index *x, uint32_t il)
{
    return gkv__attends(x->m, il) ? 2 * gkv__shape_of(x->m, il)->n_head_kv : 1;
}

static struct span span_of(const struct gkv__index *x, uint32_t il, uint32_t i)
{
    const uint64_t bytes = layer_bytes(x, il, 1) / n_spans(x, il);

    return gkv__attends(x->m, il) ? (struct span){ i * x->h.slots * bytes, x->h.held * bytes }
                                  : (struct span){ 0, bytes };
}

static uint64_t sum_layer(const struct gkv__index *x, uint32_t il, const uint8_t *layer)
{
    uint64_t sum = GKV__SUM_START;

    for (uint32_t i = 0; i < n_spans(x, il); i++) {
        const struct span s = span_of(x, il, i);

        sum = gkv__sum(sum, layer + s.at, (size_t)s.bytes);
    }
    return sum;
}

static uint64_t sum_head(const struct gkv__index_head *h)
{
    return gkv__sum(GKV__SUM_START, h, sizeof *h - sizeof h->sum[0]);
}

static gkv_status failed(gkv_error *err)
{
    return gkv__fail(err, GKV_IO, "%s", strerror(errno));
}

/* The state at the end of the tokens: the last one, where a cache has several. */
static const void *state_of(const struct gkv__index_work *w, uint32_t il)
{
    const struct gkv__cache_layer *l = &w->cache.layer[il];

    return l->state + (l->n_state - w->index.h.n_state);
}

static const void *from(const struct gkv__index_work *w, uint32_t il, uint32_t i)
{
    const uint32_t n = n_spans(&w->index, il) / 2;

    if (!gkv__attends(w->index.m, il))
        return state_of(w, il);
    return i < n ? gkv__cache_k(&w->cache, il, i, 0) : gkv__cache_v(&w->cache, il, i - n, 0);
}

static gkv_status write_layer(struct gkv__index_work *w, int fd, uint64_t at, uint32_t il, gkv_error *err)
{
    struct gkv__index *x = &w->index;
    uint64_t sum = GKV__SUM_START;

    for (uint32_t i = 0; i < n_spans(x, il); i++) {
        const struct span s = span_of(x, il, i);

        sum = gkv__sum(sum, from(w, il, i), (size_t)s.bytes);
        if (!gkv__write_at(fd, from(w, il, i), s.bytes, at + offset(x, il) + s.at))
            return failed(err);
    }
    x->h.sum[il] = sum;
    return GKV_OK;
}

gkv_status gkv__index_write(struct gkv__index_work *w, int fd, uint64_t at, gkv_error *err)
{
    struct gkv__index *x = &w->index;
    const uint64_t keys = x->h.n_keys * keys_row(x);

    if (ftruncate(fd, (off_t)(at + gkv__index_bytes(x))))
        return failed(err);
    for (uint32_t il = 0; il < x->h.filter && x->h.held; il++)
        GKV__TRY(write_layer(w, fd, at, il, err));
    x->h.sum[GKV__INDEX_LAYERS] = gkv__sum(GKV__SUM_START, w->keys.rows, (size_t)keys);
    x->h.sum[GKV__INDEX_LAYERS + 1] = sum_head(&x->h);
    if (!gkv__write_at(fd, w->keys.rows, keys, at + offset(x, x->h.filter)) ||
        !gkv__write_at(fd, &x->h, sizeof x->h, at))
        return failed(err);
    return GKV_OK;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Of the head alone: NULL, or what cannot be. */
static const char *wrong_head(const struct gkv__index *x, const gkv_model *m, uint64_t size, uint64_t n_tokens)
{
    const struct gkv__index_head *h = &x->h;

    if (sum_head(h) != h->sum[GKV__INDEX_LAYERS + 1])
        return "its index is damaged";
    if (!x->grade)
        return "its index has a grade that this version does not know";
    if (h->n_embd != m->shape.n_embd || h->n_head_kv != m->shape.n_head_kv || h->head_dim != m->shape.head_dim ||
        h->n_state != n_state(m) || h->filter >= m->shape.n_layer || h->filter > GKV__INDEX_LAYERS)
        return "its index is another model's";
    if (h->n > n_tokens || h->n_keys != h->n || h->held > h->slots || h->slots > UINT32_MAX ||
        (x->grade->all ? h->held != h->n || !h->chunk || h->chunk > 65536 : h->held > BUDGET || h->n != n_tokens) ||
        gkv__plus(x->at, gkv__index_bytes(x)) != size)
        return "the sizes of its index do not fit";
    return NULL;
}

static const char *wrong_data(const struct gkv__index *x, const struct gkv__index_map *map)
{
    for (uint32_t il = 0; il < x->h.filter && x->h.held; il++)
        if (sum_layer(x, il, (const uint8_t *)map->base + offset(x, il)) != x->h.sum[il])
            return "its index is damaged";
    if (gkv__sum(GKV__SUM_START, map->keys, (size_t)(x->h.n_keys * keys_row(x))) != x->h.sum[GKV__INDEX_LAYERS])
        return "its index is damaged";
    return NULL;
}

gkv_status gkv__index_open(struct gkv__index *x, const gkv_model *m, int fd, uint64_t at, uint64_t size,
                           uint64_t n_tokens, gkv_error *err)
{
    struct gkv__index_map map;
    const char *wrong;

    *x = (struct gkv__index){ .m = m, .fd = fd, .at = at };
    if (!gkv__read_at(fd, &x->h, sizeof x->h, at))
        return gkv__fail(err, GKV_FORMAT, "its index ends too early");
    x->h.grade[sizeof x->h.grade - 1] = 0;
    x->grade = gkv__grade_named(x->h.grade);
    wrong = wrong_head(x, m, size, n_tokens);
    if (wrong)
        return gkv__fail(err, GKV_FORMAT, "%s", wrong);
    GKV__TRY(gkv__index_map(&map, x, err));
    wrong = wrong_data(x, &map);
    gkv__index_unmap(&map);
    return wrong ? gkv__fail(err, GKV_FORMAT, "%s", wrong) : GKV_OK;
}

void gkv__index_close(struct gkv__index *x)
{
    if (x->fd >= 0)
        close(x->fd);
    x->fd = -1;
}

gkv_status gkv__index_map(struct gkv__index_map *map, const struct gkv__index *x, gkv_error *err)
{
    const struct gkv__index_head *h = &x->h;
    struct gkv__cache *c = &map->cache;

    *map = (struct gkv__index_map){ .bytes = gkv__index_bytes(x) };
    map->base = mmap(NULL, (size_t)map->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, x->fd,
                     (off_t)x->at);
    if (map->base == MAP_FAILED) {
        map->base = NULL;
        return failed(err);
    }
    *c = (struct gkv__cache){ gkv__quant_named(x->grade->kv), h->filter, h->n_head_kv, h->head_dim,
                              calloc(h->filter + 1, sizeof *c->layer), .repeat = 1 };
    if (!c->layer) {
        gkv__index_unmap(map);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    for (uint32_t il = 0; il < h->filter; il++) {
        uint8_t *at = (uint8_t *)map->base + offset(x, il);

        if (gkv__attends(x->m, il)) {
            c->layer[il].n_max = h->slots;
            c->layer[il].k = at;
            gkv__cache_lay_out(c, il, x->m, il);
        } else {
            c->layer[il].state = (float *)(void *)at;
            c->layer[il].n_state = h->n_state;
        }
    }
    map->keys = (uint8_t *)map->base + offset(x, h->filter);
    return GKV_OK;
}

void gkv__index_unmap(struct gkv__index_map *map)
{
    if (map->base)
        munmap(map->base, (size_t)map->bytes);
    free(map->cache.layer);             /* its rows are the file's */
    *map = (struct gkv__index_map){ 0 };
}
