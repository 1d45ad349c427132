/* SPDX-License-Identifier: BSD-2-Clause
 * group.c - what processes of a group do that have no question of their own: first/group.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/first/group.h"
#include "src/plan.h"

/* Both ranks must compute the same bytes. */
static gkv_status same(const struct gkv__plan *p, const struct gkv__errand *errand, gkv_error *err)
{
    if (gkv_model_fingerprint(p->task.m) != errand->fingerprint)
        return gkv__fail(err, GKV_INVALID, "its model is another file");
    if (strcmp(p->simd->level, errand->level) != 0)
        return gkv__fail(err, GKV_INVALID, "it computes with %s, and rank 0 with %s; set GEMKV_CPU to the lower level for all",
                         p->simd->level, errand->level);
    return GKV_OK;
}

/* The plan of a first pass alone, in blocks of the size that rank 0 takes. */
static gkv_status plan(struct gkv__plan *p, gkv_model *m, const gkv_options *o, const struct gkv__errand *errand,
                       gkv_error *err)
{
    gkv_options mine = *o;
    struct gkv__task *t = &p->task;

    mine.schedule = errand->schedule;
    mine.kv_type = errand->kv;
    mine.gemm = errand->gemm;
    mine.method = NULL;
    mine.layer = (int32_t)errand->filter;
    mine.chunk = 0;
    GKV__TRY(gkv__plan_options(p, m, &mine, err));
    GKV__TRY(gkv__plan_task(p, m, &mine, err));
    GKV__TRY(same(p, errand, err));
    memcpy(p->asked_param, errand->param, sizeof p->asked_param);
    p->max_chunk = errand->chunk;
    p->select_only = true;
    t->n = errand->n;
    t->n_tail = (size_t)errand->n_tail;
    t->n_new = errand->n_new;
    t->k = t->k_pick = gkv__min(errand->k, errand->n - 1);  /* not all, so that there are scores */
    t->row = (enum gkv__row)errand->row;
    GKV__TRY(gkv__plan_make(p, gkv__mem_resident(), err));
    if (p->chunk == errand->chunk)
        return GKV_OK;
    return gkv__fail(err, GKV_LIMIT, "%" PRIu64 " tokens in blocks of %u do not fit into its memory; raise --memory, or lower "
                     "--chunk", t->n, errand->chunk);
}

/* Its part of one first pass. */
static gkv_status help(struct gkv__exec *e, gkv_model *m, const gkv_options *o, const struct gkv__errand *errand,
                       const uint32_t *id, float *score, gkv_error *err)
{
    struct gkv__plan p = { 0 };
    bool agreed = false;
    struct gkv__first f = { .t = &p.task, .again = errand->again, .id = id, .score = score, .agreed = &agreed };
    gkv_status status = plan(&p, m, o, errand, err);

    if (status == GKV_OK)
        status = gkv__plan_open(&p, e, m, err);
    if (status == GKV_OK)
        status = p.task.schedule->run(e, &f, err);
    else                        /* the others shall hear of it, and go on */
        status = gkv__group_agree(e, o->group, status, &agreed, err);
    gkv__exec_close(e);
    return agreed ? GKV_OK : status;
}

gkv_status gkv_group_help(gkv_model *model, const gkv_options *opt, gkv_error *err)
{
    gkv_options o;
    struct gkv__errand errand;
    struct gkv__exec e = { 0 };
    gkv_status status = gkv__options(&o, opt, err);

    if (status == GKV_OK && (!o.group || !o.group->rank || o.group->rank >= o.group->size))
        status = gkv__fail(err, GKV_INVALID, "gkv_group_help is for ranks from 1 on");
    while (status == GKV_OK) {
        uint32_t *id = NULL;
        float *score = NULL;

        status = gkv__group_cast(&e, o.group, 0, &errand, sizeof errand, err);
        if (status != GKV_OK || !errand.chunk)
            break;
        id = gkv__pages(errand.n, sizeof *id);
        score = gkv__pages(errand.n, sizeof *score);
        status = id && score ? gkv__group_cast(&e, o.group, 0, id, (size_t)errand.n * sizeof *id, err)
                             : gkv__fail(err, GKV_NOMEM, "out of memory");
        if (status == GKV_OK) {
            e = (struct gkv__exec){ .progress = o.progress, .progress_arg = o.progress_arg };
            status = help(&e, model, &o, &errand, id, score, err);
        }
        gkv__pages_free(id, errand.n, sizeof *id);
        gkv__pages_free(score, errand.n, sizeof *score);
        gkv__model_drop(model);
    }
    return status;
}

gkv_status gkv_group_end(const gkv_group *group, gkv_error *err)
{
    struct gkv__exec e = { 0 };
    struct gkv__errand none = { 0 };

    return gkv__group_cast(&e, group, 0, &none, sizeof none, err);
}
