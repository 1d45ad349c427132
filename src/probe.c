/* SPDX-License-Identifier: BSD-2-Clause
 * probe.c - tries every layer on one question, to find the layers that select best (gkv_probe). */
#include "config.h"
#include <inttypes.h>
#include "src/base/mem.h"
#include "src/select/calibrate.h"
#include "src/session.h"

enum { WINDOW = 8, GEMFILTER_KERNEL = 5, FASTKV_KERNEL = 7, FASTKV_SHARE = 5 };

static gkv_status reserve(struct gkv__plan *p, const struct gkv__calibrate *c, gkv_error *err)
{
    const struct gkv__shape *s = &c->m->shape;

    p->chunk = (uint32_t)gkv__min(p->max_chunk, c->n);
    p->predicted = gkv__plus(gkv__plus(gkv__mem_resident(), gkv__calibrate_bytes(c)),
                             gkv__exec_bytes(p->simd, p->gemm, s, p->n_threads, p->chunk));
    if (!p->limit || p->predicted <= p->limit)
        return GKV_OK;
    return gkv__fail(err, GKV_LIMIT, "%s of memory are needed for %zu tokens, the limit is %s; raise --memory, or take "
                     "shorter prompts", gkv__needed(p->predicted).text, c->n, gkv__limit(p->limit).text);
}

gkv_status gkv__probe(gkv_session *s, uint64_t start, uint64_t end, uint32_t tsp, gkv_layer_probe *layer,
                      gkv_error *err)
{
    struct gkv__plan *p = &s->plan;
    struct gkv__calibrate c = {
        .m = s->model, .id = s->prompt.id, .n = s->prompt.n, .kernel = GEMFILTER_KERNEL, .window = WINDOW,
        .tsp_kernel = FASTKV_KERNEL, .tsp_pool = GKV__POOL_MAX,
        .n_tsp = gkv__has_states(s->model) || !gkv__is_even(s->model) ? 0 : tsp,   /* which FastKV refuses, too */
    };

    gkv__plan_prompt(p, &s->opt, c.n, gkv__prompt_tail(&s->prompt));
    c.k = (size_t)p->task.k;
    c.tsp = gkv__max(c.n / FASTKV_SHARE, WINDOW);
    gkv__prompt_find(&s->prompt, 0, start, end, &c.from, &c.to);
    if (c.from == c.to || tsp > s->model->shape.n_layer || c.n <= WINDOW)
        return gkv__fail(err, GKV_INVALID, "nothing to look for: bytes %" PRIu64 " .. %" PRIu64 ", %u "
                         "layers, %zu tokens", start, end, tsp, c.n);
    GKV__TRY(reserve(p, &c, err));
    GKV__TRY(gkv__plan_open(p, &s->exec, s->model, err));
    return gkv__calibrate(&s->exec, &c, layer, err);
}
