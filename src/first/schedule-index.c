/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-index.c - the first pass of a document that was indexed before (index.h): a question computes
 * its own rows and no others.  Several documents are scored one by one, each as if it were alone, and their
 * tokens ranked together; that, and compact indexes, are approximate, so the best passages are computed
 * again exactly (refine.h). */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/thread.h"
#include "src/engine/attend.h"
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
    for (uint32_t il = 0; il < h->filter; il++) {
        if (map->cache.layer[il].state)
            gkv__bounded_begin(b, il, map->cache.layer[il].state);
        else
            gkv__cache_copy(&b->store, &map->cache, il, (size_t)h->held);
    }
    b->held = (size_t)h->held;
}

/* Scores of the part's tokens; and of what is in front of it and of the question's last b->n_q rows, if it is the last
 * part. */
static void score_part(const struct gkv__first *f, const struct gkv__part *p, struct gkv__bounded *b,
                       const struct gkv__index_map *map, const struct gkv__keys *question)
{
    const struct gkv__task *t = f->t;
    const size_t n = (size_t)p->index->h.n;
    const struct gkv__keys keys = { gkv__quant_named(p->index->grade->keys), map->keys };
    const struct gkv__probe_row r = { t->filter, gkv__index_common(t->m, n), b->received };

    gkv__keys_put(&b->p, question, t->filter, b->x, b->n_q, 0);
    gkv__keys_query(&b->p, r.il, r.common, b->x, b->n_q, n, b->received);
    gkv__keys_score(&b->p, &keys, &r, (size_t)p->skip, n - (size_t)p->skip, p->skip, f->score + p->first);
    if (p != &t->part[t->n_parts - 1])
        return;
    gkv__keys_score(&b->p, &keys, &r, 0, (size_t)p->skip, 0, f->score);
    gkv__keys_score(&b->p, question, &r, 0, b->n_q, n, f->score + t->n - b->n_q);
}

/* chunk: rows that the question was counted in. */
static gkv_status run_compact(struct gkv__exec *e, const struct gkv__first *f, const struct gkv__part *p,
                              uint32_t chunk, gkv_error *err)
{
    struct gkv__bounded b = bounded_of(f->t, p, chunk);
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

/* ---- several compact ones at once ----------------------------------------------------------- */

/* A question is few rows, and many threads do not share the products of few rows well.  So short documents are scored
 * side by side, each by one thread. */
enum { SHORT = 32768, ROWS = 64 };

/* Rows of each thread. */
static uint32_t rows_of(const struct gkv__task *t, uint32_t chunk)
{
    return (uint32_t)((gkv__min(gkv__min(GKV__MAX_QUESTION, chunk), n_rest(t)) + ROWS - 1) / ROWS * ROWS);
}

/* How many documents are scored at once. */
static unsigned at_once(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    const uint32_t rows = rows_of(t, chunk);
    const uint64_t most = gkv__min(gkv__min(n_threads, t->n_parts), rows ? chunk / rows : 1);

    for (size_t i = 0; i < t->n_parts; i++)
        if (t->part[i].index->grade->all)
            return 1;
    return most < 2 || (t->n_parts < n_threads && t->n / t->n_parts > SHORT) ? 1 : (unsigned)most;
}

struct side_by_side {
    struct gkv__exec         *e;
    const struct gkv__first  *f;
    uint32_t                  rows;
    float                    *partial;  /* [threads][n_partial]                              */
    size_t                    n_partial;
    gkv_error                *err;      /* [threads]                                         */
};

static void part_item(void *arg, size_t i, unsigned thread)
{
    const struct side_by_side *s = arg;
    struct gkv__exec share;

    if (s->err[thread].status != GKV_OK)
        return;
    gkv__exec_share(s->e, thread, s->rows, s->partial + thread * s->n_partial, &share);
    s->err[thread].status = run_compact(&share, s->f, &s->f->t->part[i], s->e->chunk, &s->err[thread]);
}

static gkv_status run_side_by_side(struct gkv__exec *e, const struct gkv__first *f, unsigned n, gkv_error *err)
{
    struct side_by_side s = { e, f, rows_of(f->t, e->chunk), NULL, gkv__attend_partials(e->shape) / sizeof(float), NULL };
    gkv_status status;

    s.partial = gkv__pages(n * s.n_partial, sizeof *s.partial);
    s.err = calloc(n, sizeof *s.err);
    status = s.partial && s.err ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");
    if (status == GKV_OK)
        gkv__for(n, f->t->n_parts, part_item, &s);
    for (unsigned i = 0; i < n && status == GKV_OK; i++)
        if ((status = s.err[i].status) != GKV_OK && err)
            *err = s.err[i];
    gkv__pages_free(s.partial, n * s.n_partial, sizeof *s.partial);
    free(s.err);
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
    const unsigned n_at_once = e->library ? 1 : at_once(t, e->chunk, e->n_threads);
    gkv_status status = GKV_OK;

    if (is_exact(t))
        status = run_all(e, f, t->part, f->id, f->score, err);
    else
        for (size_t i = 0; i < t->n; i++)
            f->score[i] = NAN;
    if (n_at_once > 1)
        status = run_side_by_side(e, f, n_at_once, err);
    for (size_t i = 0; i < t->n_parts && n_at_once == 1 && !is_exact(t) && status == GKV_OK; i++)
        status = t->part[i].index->grade->all ? run_part(e, f, &t->part[i], err)
                                              : run_compact(e, f, &t->part[i], e->chunk, err);
    if (status != GKV_OK)
        return status;
    fill_gaps(f->score, (size_t)t->n);
    return GKV_OK;
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
    const unsigned n = at_once(t, chunk, n_threads);
    uint64_t most = 0;

    for (size_t i = 0; i < t->n_parts; i++)
        most = gkv__max(most, part_bytes(t, &t->part[i], chunk, n_threads));
    if (n > 1)
        most = gkv__times(n, gkv__plus(most, gkv__attend_partials(&t->m->shape)));
    return most;
}

const struct gkv__schedule gkv__schedule_index = {
    .name = "index",
    .summary = "documents that were indexed before: only the question is computed, and the best passages again",
    .params = params,
    .indexed = true,
    .kv_type = "f32",
    .run = run,
    .again = n_again,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
