/* SPDX-License-Identifier: BSD-2-Clause
 * group.c - see group.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/gemm-row.h"
#include "src/base/mem.h"
#include "src/first/group.h"

static gkv_status lost(const gkv_group *g, gkv_error *err)
{
    return gkv__fail(err, GKV_IO, "rank %u of %u cannot reach the other processes any more", g->rank, g->size);
}

gkv_status gkv__group_wait(struct gkv__exec *e, const gkv_group *g, gkv_error *err)
{
    const double start = gkv__seconds();
    int left;

    do {
        left = g->wait(g->context);
        if (left > 0 && gkv__cancelled(e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled while waiting for other processes");
    } while (left > 0);
    e->waited += gkv__seconds() - start;
    return left ? lost(g, err) : GKV_OK;
}

gkv_status gkv__group_cast(struct gkv__exec *e, const gkv_group *g, uint32_t root, void *data, size_t bytes,
                           gkv_error *err)
{
    return g->cast(g->context, root, data, bytes) ? lost(g, err) : gkv__group_wait(e, g, err);
}

gkv_status gkv__group_start(const gkv_group *g, const void *mine, size_t bytes, void *all, gkv_error *err)
{
    return g->gather(g->context, mine, bytes, all) ? lost(g, err) : GKV_OK;
}

gkv_status gkv__group_agree(struct gkv__exec *e, const gkv_group *g, gkv_status status, bool *agreed,
                           gkv_error *err)
{
    gkv_error mine = { .status = status }, *all = calloc(g->size, sizeof *all);
    gkv_status theirs;

    if (!all)                   /* the others wait for an answer that cannot come */
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    if (status != GKV_OK && err)
        memcpy(mine.text, err->text, sizeof mine.text);
    theirs = gkv__group_start(g, &mine, sizeof mine, all, err);
    if (theirs == GKV_OK)
        theirs = gkv__group_wait(e, g, err);
    for (uint32_t i = 0; theirs == GKV_OK && i < g->size; i++) {
        all[i].text[sizeof all[i].text - 1] = 0;
        if (all[i].status == GKV_OK)
            continue;
        theirs = i == g->rank ? gkv__fail(err, all[i].status, "%s", mine.text)
                              : gkv__fail(err, all[i].status, "rank %u of %u: %.450s", i, g->size, all[i].text);
        if (agreed)
            *agreed = true;
    }
    free(all);
    return theirs;
}

gkv_status gkv__group_call(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    struct gkv__errand errand = {
        .n = t->n, .n_tail = t->n_tail, .n_new = t->n_new, .k = t->k, .fingerprint = gkv_model_fingerprint(t->m),
        .filter = t->filter, .chunk = (uint32_t)gkv__min(e->chunk, t->n), .row = t->row, .again = f->again,
    };

    if (t->group->rank)
        return GKV_OK;
    memcpy(errand.param, t->schedule_param, sizeof errand.param);
    snprintf(errand.schedule, sizeof errand.schedule, "%s", f->again ? "layer" : t->schedule->name);
    snprintf(errand.kv, sizeof errand.kv, "%s", t->kv_first->name);
    snprintf(errand.level, sizeof errand.level, "%s", e->simd->level);
    snprintf(errand.gemm, sizeof errand.gemm, "%s", e->gemm->name);
    GKV__TRY(gkv__group_cast(e, t->group, 0, &errand, sizeof errand, err));
    return gkv__group_cast(e, t->group, 0, (void *)(uintptr_t)f->id, (size_t)t->n * sizeof *f->id, err);
}
