/* SPDX-License-Identifier: BSD-2-Clause
 * run.c - see run.h */
#include "config.h"
#include <stdlib.h>
#include "src/first/refine.h"
#include "src/run.h"

/* Whether the tokens that are always kept fit into the budget. */
static gkv_status forced_fit(const struct gkv__task *t, gkv_error *err)
{
    if (t->keep_first + t->keep_last <= t->k)
        return GKV_OK;
    return gkv__fail(err, GKV_INVALID, "a budget of %zu tokens is less than the %zu that are "
                     "always kept (%zu first, %zu last); raise --keep, or lower --keep-first and "
                     "--keep-last", (size_t)t->k, t->keep_first + t->keep_last, t->keep_first,
                     t->keep_last);
}

static gkv_status reserve(struct gkv__context *c, bool scores, gkv_error *err)
{
    const size_t n = (size_t)c->t->n;

    c->kept = malloc(n * sizeof *c->kept);
    c->score = scores ? malloc(n * sizeof *c->score) : NULL;
    c->x = malloc(c->t->m->shape.n_embd * sizeof *c->x);
    return c->kept && c->x && (c->score || !scores) ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");
}

static void keep_all(struct gkv__context *c)
{
    for (size_t i = 0; i < c->t->n; i++)
        c->kept[i] = (uint32_t)i;
    c->n_kept = (size_t)c->t->n;
}

/* The method picks t->k_pick tokens: for a reader more than its budget, of which the best ones go on (hand-over.h). */
static size_t choose(const struct gkv__context *c, float *spare)
{
    struct gkv__task t = *c->t;

    t.k = gkv__max(t.k, t.k_pick);
    return t.method->pick(&t, c->score, spare, c->kept);
}

static gkv_status pick(struct gkv__context *c, gkv_error *err)
{
    const struct gkv__task *t = c->t;
    float *spare = c->score ? malloc((size_t)t->n * sizeof *spare) : NULL;

    if (c->score && !spare)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    c->n_kept = choose(c, spare);
    free(spare);
    return GKV_OK;
}

/* Scores of the first pass, and the tokens that the method picks by them. */
static gkv_status score_and_pick(struct gkv__context *c, gkv_error *err)
{
    const struct gkv__task *t = c->t;
    const struct gkv__first first = {
        .t = t, .id = c->id, .score = c->score, .early = c->early, .n_fixed = c->n_fixed,
    };
    float *spare = malloc((size_t)t->n * sizeof *spare);
    gkv_status status = spare ? gkv__first_pass(c->e, &first, &c->spared, err)
                              : gkv__fail(err, GKV_NOMEM, "out of memory");

    c->chosen = (int32_t)t->filter;
    if (status == GKV_OK)
        c->n_kept = choose(c, spare);
    free(spare);
    return status;
}

/* Runs the method again over the best passages, as a text of their own. */
static gkv_status passages(struct gkv__context *c, size_t size, uint32_t *at, uint32_t *id, gkv_error *err)
{
    const struct gkv__first f = { .t = c->t, .score = c->score };
    const struct gkv__task t = gkv__refine_task(c->t, size);
    struct gkv__context own = { .t = &t, .e = c->e, .id = id };
    gkv_status status;

    GKV__TRY(gkv__refine_choose(&f, size, gkv__max(GKV__SINKS, c->t->keep_first), at, err));
    for (size_t i = 0; i < size; i++)
        id[i] = c->id[at[i]];
    status = reserve(&own, true, err);
    if (status == GKV_OK)
        status = gkv__select_run(&own, err);
    if (status == GKV_OK) {
        for (size_t i = 0; i < own.n_kept; i++)
            c->kept[i] = at[own.kept[i]];
        c->n_kept = own.n_kept;
        c->chosen = own.chosen;
        gkv__refine_merge(&f, size, at, own.score);
    }
    gkv__run_close(&own);
    return status;
}

/* One pass that leaves nothing but tokens; then, if asked for, the best passages again. */
static gkv_status select_and_refine(struct gkv__context *c, gkv_error *err)
{
    const size_t size = gkv__refine_size(c->t);
    gkv_status status = gkv__select_run(c, err);
    uint32_t *at;

    if (status != GKV_OK || !size || size == c->t->n)
        return status;
    at = malloc(2 * size * sizeof *at);
    status = at ? passages(c, size, at, at + size, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    free(at);
    return status;
}

gkv_status gkv__run(struct gkv__context *c, gkv_error *err)
{
    const enum gkv__kind kind = gkv__task_kind(c->t);

    c->chosen = -1;
    c->restart = kind < GKV__SWEEPS;
    GKV__TRY(kind == GKV__KEEPS_ALL ? GKV_OK : forced_fit(c->t, err));
    GKV__TRY(reserve(c, kind >= GKV__SCORES || (kind == GKV__PICKS && c->t->method->words), err));
    switch (kind) {
    case GKV__KEEPS_ALL:
        keep_all(c);
        return GKV_OK;
    case GKV__PICKS:
        return pick(c, err);
    case GKV__SCORES:
        return score_and_pick(c, err);
    case GKV__SWEEPS:
    case GKV__RUNS:
        return select_and_refine(c, err);
    }
    return GKV_OK;
}

void gkv__run_close(struct gkv__context *c)
{
    gkv__cache_close(&c->cache);
    gkv__hook_close(&c->hook);
    free(c->kept);
    free(c->score);
    free(c->x);
    c->kept = NULL;
    c->score = c->x = NULL;
    c->n_kept = 0;
}
