/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-index.c - the first pass of a document that was indexed before (index.h): a question computes
 * its own rows and no others.  Several documents are scored one by one, each as if it were alone, and their
 * tokens ranked together; that, and compact indexes, are approximate, so the best passages are computed
 * again exactly (refine.h). */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/engine/layer.h"
#include "src/first/index.h"
#include "src/first/refine.h"

extern const struct gkv__schedule gkv__schedule_index, gkv__schedule_chunk;

enum { REFINE, AUTO = -1 };

static const struct gkv__param params[] = {
    [REFINE] = { "refine", "-1", "the best passages are computed again, exactly: how many tokens of them for each "
                 "that is kept; 0: none; -1: 0 for one document of grade exact, else 2", -1, 64 },
    { .name = NULL },
};

/* One document whose index has all keys and values. */
static bool is_exact(const struct gkv__task *t)
{
    return t->n_parts == 1 && t->part->index->grade->all;
}

static size_t n_again(const struct gkv__task *t)
{
    const double asked = t->schedule_param[REFINE];
    const uint64_t times = asked >= 0 ? (uint64_t)asked : is_exact(t) ? 0 : 2;

    return (size_t)gkv__min(gkv__times(times, t->k), t->n);
}

/* Rows at the end of the prompt that no index has: the question, and what of the last document ends in it. */
static size_t n_rest(const struct gkv__task *t)
{
    const struct gkv__part *last = &t->part[t->n_parts - 1];

    return (size_t)(t->n - gkv__min(t->n, last->first + last->n));
}

/* ---- all keys and values ---------------------------------------------------------------- */

/* The part and what follows the last one, as a prompt of its own. */
static struct gkv__task alone(const struct gkv__task *t, const struct gkv__part *p)
{
    struct gkv__task own = *t;

    own.n = p->skip + p->n + n_rest(t);
    own.n_tail = gkv__min(t->n_tail, own.n);
    own.kv_first = gkv__quant_named(p->index->grade->kv);
    own.spill = false;
    return own;
}

/* Whether what was computed then is what would be computed now: there is room, and the angles are the same. */
static bool usable(const struct gkv__task *own, const struct gkv__index *x)
{
    const bool is_long = gkv__model_rope(own->m, 0, gkv__plus(own->n, own->n_new)) == &own->m->rope[GKV__ROPE_LONG];

    return x->h.n && own->n <= x->h.slots && is_long == x->h.long_rope;
}

static gkv_status run_all(struct gkv__exec *e, const struct gkv__first *f, const struct gkv__part *p,
                          const uint32_t *id, float *score, gkv_error *err)
{
    const struct gkv__index_head *h = &p->index->h;
    const struct gkv__task own = alone(f->t, p);
    struct gkv__early early = { 0 };
    struct gkv__index_map map;
    gkv_status status;

    if (!usable(&own, p->index))
        return gkv__schedule_chunk.run(e, &(struct gkv__first){ .t = &own, .id = id, .score = score }, err);
    GKV__TRY(gkv__index_map(&map, p->index, err));
    early = (struct gkv__early){
        .cache = map.cache, .keys = (float *)(void *)map.keys, .slots = h->slots, .n = h->n, .touched = h->n,
        .filter = h->filter, .chunk = e->chunk, .rope = gkv__model_rope(own.m, 0, gkv__plus(own.n, own.n_new)),
    };
    status = gkv__schedule_chunk.run(e, &(struct gkv__first){
        .t = &own, .early = &early, .id = id, .score = score }, err);
    gkv__index_unmap(&map);
    return status;
}

/* A document among several, with copies of its tokens. */
static gkv_status run_part(struct gkv__exec *e, const struct gkv__first *f, const struct gkv__part *p, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const size_t rest = n_rest(t), n = (size_t)(p->skip + p->n) + rest;
    uint32_t *id = gkv__pages(n, sizeof *id);
    float *score = gkv__pages(n, sizeof *score);
    gkv_status status = id && score ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    if (status == GKV_OK) {
        memcpy(id, f->id, p->skip * sizeof *id);
        memcpy(id + p->skip, f->id + p->first, p->n * sizeof *id);
        memcpy(id + p->skip + p->n, f->id + t->n - rest, rest * sizeof *id);
        status = run_all(e, f, p, id, score, err);
    }
    if (status == GKV_OK) {
        memcpy(f->score, score, p->skip * sizeof *score);
        memcpy(f->score + p->first, score + p->skip, p->n * sizeof *score);
        memcpy(f->score + t->n - rest, score + p->skip + p->n, rest * sizeof *score);
    }
    gkv__pages_free(id, n, sizeof *id);
    gkv__pages_free(score, n, sizeof *score);
    return status;
}

/* ---- compact ---------------------------------------------------------------------------- */

static struct gkv__bounded bounded_of(const struct gkv__task *t, const struct gkv__part *p, size_t chunk)
{
    const struct gkv__index_head *h = &p->index->h;
    struct gkv__bounded b = gkv__index_bounded(t, p->index->grade, (size_t)h->n, n_rest(t), chunk);

    b.budget = (size_t)gkv__max(h->held, 1);
    b.max_rows = b.n_q;
    return b;
}

static void load(struct gkv__bounded *b, const struct gkv__index_map *map, const struct gkv__index_head *h)
{
    for (uint32_t il = 0; il < h->filter; il++)
        for (uint32_t ih = 0; ih < h->n_head_kv; ih++)
            gkv__cache_take(&b->store, il, &map->cache, il, ih, NULL, (size_t)h->held);
    b->held = (size_t)h->held;
}

/* Scores of the part's tokens, and of the question's last b->n_q rows. */
static void score_part(const struct gkv__first *f, const struct gkv__part *p, struct gkv__bounded *b,
                       const struct gkv__index_map *map, const struct gkv__keys *question)
{
    const struct gkv__task *t = f->t;
    const size_t n = (size_t)p->index->h.n;
    const struct gkv__keys keys = { gkv__quant_named(p->index->grade->keys), map->keys };
    const struct gkv__probe_row r = { t->filter, gkv__index_common(t->m, n), b->received };

    gkv__keys_put(&b->p, question, t->filter, b->x, b->n_q, 0);
    gkv__keys_query(&b->p, r.il, r.common, b->x, b->n_q, n, b->received);
    gkv__keys_score(&b->p, &keys, &r, 0, (size_t)p->skip, 0, f->score);
    gkv__keys_score(&b->p, &keys, &r, (size_t)p->skip, n - (size_t)p->skip, p->skip, f->score + p->first);
    gkv__keys_score(&b->p, question, &r, 0, b->n_q, n, f->score + t->n - b->n_q);
}

static gkv_status run_compact(struct gkv__exec *e, const struct gkv__first *f, const struct gkv__part *p,
                              gkv_error *err)
{
    struct gkv__bounded b = bounded_of(f->t, p, e->chunk);
    struct gkv__keys question = { gkv__quant_of(GKV__TYPE_F32), NULL };
    const uint64_t row = gkv__keys_row(&f->t->m->shape, question.type);
    struct gkv__index_map map;
    gkv_status status;

    GKV__TRY(gkv__index_map(&map, p->index, err));
    b.id = f->id;
    b.question = f->id + f->t->n - b.n_q;
    question.rows = gkv__pages(b.n_q, row);
    status = question.rows ? gkv__bounded_open(&b, e, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    if (status == GKV_OK) {
        load(&b, &map, &p->index->h);
        status = gkv__bounded_step(&b, (size_t)p->index->h.n, 0, 0, err);
    }
    if (status == GKV_OK)
        score_part(f, p, &b, &map, &question);
    gkv__bounded_close(&b);
    gkv__pages_free(question.rows, b.n_q, row);
    gkv__index_unmap(&map);
    return status;
}

/* ---- all parts -------------------------------------------------------------------------- */

/* Tokens that nothing scored, between documents and where one ends, are below all others. */
static void fill_gaps(float *score, size_t n)
{
    float low = INFINITY;

    for (size_t i = 0; i < n; i++)
        low = score[i] < low ? score[i] : low;
    for (size_t i = 0; i < n; i++)
        score[i] = isnan(score[i]) ? low : score[i];
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const size_t again = n_again(t);
    gkv_status status = GKV_OK;

    if (again == t->n)
        return gkv__refine(e, f, again, err);
    if (is_exact(t))
        status = run_all(e, f, t->part, f->id, f->score, err);
    else
        for (size_t i = 0; i < t->n; i++)
            f->score[i] = NAN;
    for (size_t i = 0; i < t->n_parts && !is_exact(t) && status == GKV_OK; i++)
        status = (t->part[i].index->grade->all ? run_part : run_compact)(e, f, &t->part[i], err);
    if (status != GKV_OK)
        return status;
    fill_gaps(f->score, (size_t)t->n);
    return again ? gkv__refine(e, f, again, err) : GKV_OK;
}

/* ---- memory ----------------------------------------------------------------------------- */

static uint64_t part_bytes(const struct gkv__task *t, const struct gkv__part *p, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__task own = alone(t, p);
    const struct gkv__bounded b = bounded_of(t, p, chunk);

    if (p->index->grade->all)
        return gkv__plus(gkv__schedule_chunk.bytes(&own, chunk, n_threads),
                         is_exact(t) ? 0 : own.n * (sizeof(uint32_t) + sizeof(float)));
    return gkv__plus(gkv__bounded_bytes(&b, b.budget), gkv__index_stored(p->index));
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    const size_t again = n_again(t);
    uint64_t most = again ? gkv__refine_bytes(t, again, chunk, n_threads) : 0;

    for (size_t i = 0; i < t->n_parts && again < t->n; i++)
        most = gkv__max(most, part_bytes(t, &t->part[i], chunk, n_threads));
    return most;
}

const struct gkv__schedule gkv__schedule_index = {
    .name = "index",
    .summary = "documents that were indexed before: only the question is computed, and the best passages again",
    .params = params,
    .indexed = true,
    .kv_type = "f32",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
