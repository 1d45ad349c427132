/* SPDX-License-Identifier: BSD-2-Clause
 * reading.c - see reading.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/engine/layer.h"
#include "src/first/group.h"
#include "src/first/reading.h"

/* What scores depend on, besides the tokens and the layer. */
struct made_of {
    uint64_t                    fingerprint, n, n_tail, n_new;
    const struct gkv__schedule *schedule;
    double                      param[GKV__MAX_PARAMS], sparse;
    const struct gkv__quant    *kv;
    const struct gkv__gemm     *gemm;
    const struct gkv__simd     *simd;
    uint32_t                    chunk;
    enum gkv__row               row;
};

struct scores {
    uint32_t layer;
    float   *score;                     /* [n]                                               */
    double   seconds;                   /* that a pass to this layer takes                   */
};

struct gkv_reading {
    uint32_t      *layer;               /* n_wanted of them                                  */
    size_t         n_wanted;
    struct made_of of;
    uint32_t      *id;                  /* [of.n]                                            */
    struct scores *read;
    size_t         n_read;
};

/* ---- opening, closing -------------------------------------------------------------------- */

static void forget(gkv_reading *r)
{
    for (size_t i = 0; i < r->n_read; i++)
        gkv__pages_free(r->read[i].score, r->of.n, sizeof *r->read[i].score);
    gkv__pages_free(r->id, r->of.n, sizeof *r->id);
    r->id = NULL;
    r->n_read = 0;
}

gkv_status gkv_reading_open(gkv_reading **out, const uint32_t *layer, size_t n, gkv_error *err)
{
    gkv_reading *r = *out = calloc(1, sizeof *r);

    if (r)
        r->layer = malloc(n * sizeof *r->layer + 1);
    if (!r || !r->layer) {
        gkv_reading_close(r);
        *out = NULL;
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    if (n)
        memcpy(r->layer, layer, n * sizeof *layer);
    r->n_wanted = n;
    return GKV_OK;
}

void gkv_reading_close(gkv_reading *r)
{
    if (!r)
        return;
    forget(r);
    free(r->layer);
    free(r->read);
    free(r);
}

/* ---- what is there ----------------------------------------------------------------------- */

static struct made_of made_of(const struct gkv__exec *e, const struct gkv__task *t)
{
    struct made_of of;

    memset(&of, 0, sizeof of);          /* compared as bytes */
    of.fingerprint = gkv_model_fingerprint(t->m);
    of.n = t->n;
    of.n_tail = t->n_tail;
    of.n_new = t->n_new;
    of.schedule = t->schedule;
    memcpy(of.param, t->schedule_param, sizeof of.param);
    of.sparse = t->sparse;
    of.kv = t->kv_first;
    of.gemm = e->gemm;
    of.simd = e->simd;
    of.chunk = e->chunk;
    of.row = t->row;
    return of;
}

/* Makes r one of this prompt, if it is not. */
static gkv_status turn_to(gkv_reading *r, const struct made_of *of, const uint32_t *id, gkv_error *err)
{
    if (r->id && !memcmp(of, &r->of, sizeof *of) && !memcmp(id, r->id, (size_t)of->n * sizeof *id))
        return GKV_OK;
    forget(r);
    r->of = *of;
    r->id = gkv__pages(of->n, sizeof *r->id);
    if (!r->id)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    memcpy(r->id, id, (size_t)of->n * sizeof *id);
    return GKV_OK;
}

static const struct scores *find(const gkv_reading *r, uint32_t layer)
{
    for (size_t i = 0; i < r->n_read; i++)
        if (r->read[i].layer == layer)
            return &r->read[i];
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool wants(const gkv_reading *r, const gkv_model *m, uint32_t layer)
{
    for (size_t i = 0; i < r->n_wanted; i++)
        if (r->layer[i] == layer)
            return gkv__can_filter(m, layer);
    return false;
}

/* Whether one pass can score several layers. */
static bool reads_on(const struct gkv__task *t)
{
    return t->schedule->many && !gkv__grouped(t);
}

uint32_t gkv__reading_deepest(const struct gkv__task *t, const gkv_reading *r)
{
    uint32_t deepest = t->filter;

    if (reads_on(t))
        for (uint32_t il = t->filter + 1; il < t->m->shape.n_layer; il++)
            deepest = wants(r, t->m, il) ? il : deepest;
    return deepest;
}

uint64_t gkv__reading_bytes(const struct gkv__task *t)
{
    return t->reading ? gkv__times(gkv__times(t->n, sizeof(float)), t->reading->n_wanted + 2) : 0;
}

/* Room for the scores of a layer. */
static gkv_status add(gkv_reading *r, uint32_t layer, gkv_error *err)
{
    struct scores *grown = realloc(r->read, (r->n_read + 1) * sizeof *grown);
    float *score = grown ? gkv__pages(r->of.n, sizeof *score) : NULL;

    r->read = grown ? grown : r->read;
    if (!score)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    r->read[r->n_read++] = (struct scores){ .layer = layer, .score = score };
    return GKV_OK;
}

/* The layers to score: t->filter, and those that are wanted up to t->deepest.  At the last of them the pass ends. */
static gkv_status add_all(gkv_reading *r, const struct gkv__task *t, gkv_error *err)
{
    for (uint32_t il = 0; il <= t->deepest; il++)
        if ((il == t->filter || (reads_on(t) && wants(r, t->m, il))) && !find(r, il))
            GKV__TRY(add(r, il, err));
    return GKV_OK;
}

/* Computes what was added from r->read[from] on, in one pass. */
static gkv_status compute(struct gkv__exec *e, const struct gkv__first *f, gkv_reading *r, size_t from, gkv_error *err)
{
    struct scores *const s = r->read + from;
    const size_t n = r->n_read - from - 1;
    struct gkv__task t = *f->t;
    struct gkv__also *also = calloc(n + 1, sizeof *also);
    struct gkv__first all = *f;
    const double start = gkv__seconds();
    double aside = 0;
    gkv_status status = also ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    for (size_t i = 0; i < n && also; i++)
        also[i] = (struct gkv__also){ .layer = s[i].layer, .score = s[i].score };
    t.filter = s[n].layer;
    all.t = &t;
    all.score = s[n].score;
    all.also = also;
    all.n_also = n;
    if (status == GKV_OK)
        status = t.schedule->run(e, &all, err);
    for (size_t i = 0; i < n && status == GKV_OK; i++) {
        s[i].seconds = also[i].after - start - aside + also[i].took;
        aside += also[i].took;
    }
    s[n].seconds = gkv__seconds() - start - aside;
    free(also);
    return status;
}

gkv_status gkv__read(struct gkv__exec *e, const struct gkv__first *f, double *spared, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const double start = gkv__seconds();
    gkv_reading *r = t->reading;
    const struct scores *found;
    struct made_of of;

    *spared = 0;
    if (!r || t->schedule->indexed)
        return t->schedule->run(e, f, err);
    of = made_of(e, t);
    GKV__TRY(turn_to(r, &of, f->id, err));
    if (!find(r, t->filter)) {
        const size_t from = r->n_read;
        gkv_status status = add_all(r, t, err);

        if (status == GKV_OK)
            status = compute(e, f, r, from, err);
        if (status != GKV_OK) {
            forget(r);
            return status;
        }
    }
    found = find(r, t->filter);
    memcpy(f->score, found->score, (size_t)t->n * sizeof *f->score);
    *spared = found->seconds - (gkv__seconds() - start);
    return GKV_OK;
}
