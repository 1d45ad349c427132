/* SPDX-License-Identifier: BSD-2-Clause
 * refine.c - see refine.h.
 *
 * After bounded caches the filter layer finds the right passage, but with more and smaller pieces of
 * other text around it than an exact pass leaves.  Prefilling two thousand tokens exactly costs a second,
 * however long the text is, and repairs that: answers get better, even than those of the exact pass over
 * the whole text (bench/README.md). */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/first/reading.h"
#include "src/first/refine.h"
#include "src/base/top.h"

extern const struct gkv__schedule gkv__schedule_layer;

enum {
    KERNEL = 5,         /* width of the average over neighbours, as in GemFilter              */
    PASSAGE = 65,       /* tokens that a passage takes around each good token                 */
};

size_t gkv__refine_size(const struct gkv__task *t)
{
    return (size_t)gkv__min(gkv__times(t->refine, t->k), t->n);
}

size_t gkv__refine_again(const struct gkv__task *t)
{
    return t->refine ? gkv__refine_size(t) : t->schedule->again ? t->schedule->again(t) : 0;
}

struct gkv__task gkv__refine_task(const struct gkv__task *t, size_t size)
{
    struct gkv__task p = *t;

    p.n = size;
    p.n_tail = gkv__min(t->n_tail, size);
    p.row = GKV__ROW_LAST;
    p.spill = false;
    p.sparse = 0;
    return p;
}

uint64_t gkv__refine_bytes(const struct gkv__task *t, size_t size, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__task p = gkv__refine_task(t, size);
    const uint64_t choice = gkv__times(t->n, 2 * sizeof(float));
    const uint64_t again = gkv__schedule_layer.bytes(&p, chunk, n_threads);

    if (size == t->n)
        return again;
    return gkv__plus(choice > again ? choice : again, size * (2 * sizeof(uint32_t) + sizeof(float)));
}

gkv_status gkv__refine_choose(const struct gkv__first *f, size_t size, size_t first, uint32_t *at, gkv_error *err)
{
    const size_t n = (size_t)f->t->n, tail = gkv__min(f->t->n_tail ? f->t->n_tail : 1, size);
    float *pooled = gkv__pages(n, 2 * sizeof *pooled);

    if (!pooled)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    memcpy(pooled, f->score, n * sizeof *pooled);
    gkv__pool(pooled, pooled + n, n, KERNEL, GKV__POOL_AVG);
    gkv__pool(pooled, pooled + n, n, PASSAGE, GKV__POOL_MAX);
    gkv__force(pooled, n, gkv__min(first, size - tail), tail);
    gkv__top(pooled, n, size, at);
    gkv__pages_free(pooled, n, 2 * sizeof *pooled);
    return GKV_OK;
}

/* The chosen tokens get their new scores; the scores of all others are shifted below them, so that they
 * keep their order. */
void gkv__refine_merge(const struct gkv__first *f, size_t size, const uint32_t *at, const float *score)
{
    float low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < size; i++)
        low = score[i] < low ? score[i] : low;
    for (size_t i = 0, next = 0; i < f->t->n; i++)
        if (next < size && at[next] == i)
            next++;
        else
            high = f->score[i] > high ? f->score[i] : high;
    for (size_t i = 0, next = 0; i < f->t->n; i++)
        if (next < size && at[next] == i)
            f->score[i] = score[next++];
        else
            f->score[i] += low - high;
}

static gkv_status best(struct gkv__exec *e, const struct gkv__first *f, size_t size, gkv_error *err)
{
    float *score = gkv__pages(size, sizeof *score);
    uint32_t *at = gkv__pages(size, 2 * sizeof *at), *id = at ? at + size : NULL;
    const struct gkv__task t = gkv__refine_task(f->t, size);
    gkv_status status = score && at ? gkv__refine_choose(f, size, GKV__SINKS, at, err) : gkv__fail(err, GKV_NOMEM, "out of memory");

    if (status == GKV_OK) {
        for (size_t i = 0; i < size; i++)
            id[i] = f->id[at[i]];
        status = gkv__schedule_layer.run(e, &(struct gkv__first){ .t = &t, .again = true, .id = id,
                                                                .score = score }, err);
    }
    if (status == GKV_OK)
        gkv__refine_merge(f, size, at, score);
    gkv__pages_free(score, size, sizeof *score);
    gkv__pages_free(at, size, 2 * sizeof *at);
    return status;
}

gkv_status gkv__refine(struct gkv__exec *e, const struct gkv__first *f, size_t size, gkv_error *err)
{
    struct gkv__task  t = *f->t;
    struct gkv__first all = *f;

    t.schedule = &gkv__schedule_layer;          /* other processes of a group are told its name */
    all.t = &t;
    return size == t.n ? t.schedule->run(e, &all, err) : best(e, f, size, err);
}

gkv_status gkv__first_pass(struct gkv__exec *e, const struct gkv__first *f, double *spared, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const size_t again = gkv__refine_again(t);
    const bool all = again == t->n && !t->schedule->exact;      /* exactly, and that at once */

    *spared = 0;
    if (!all)
        GKV__TRY(gkv__read(e, f, spared, err));
    return all || (again && again < t->n) ? gkv__refine(e, f, again, err) : GKV_OK;
}
