/* SPDX-License-Identifier: BSD-2-Clause
 * select.c - the list of methods. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "src/select/select.h"
#include "src/select/sweep.h"

extern const struct gkv__select gkv__select_gemfilter, gkv__select_full, gkv__select_truncate,
    gkv__select_onerun, gkv__select_snapkv, gkv__select_h2o, gkv__select_streamingllm,
    gkv__select_streamingllm_online, gkv__select_pyramidinfer, gkv__select_fastkv, gkv__select_asl,
    gkv__select_asl_2pass, gkv__select_finch, gkv__select_bm25,
    gkv__select_tfidf, gkv__select_random, gkv__select_window, gkv__select_longllmlingua;

static const struct gkv__select *const methods[] = {
    &gkv__select_gemfilter,
    &gkv__select_full,
    &gkv__select_truncate,
    &gkv__select_window,
    &gkv__select_random,
    &gkv__select_bm25,
    &gkv__select_tfidf,
    &gkv__select_longllmlingua,
    &gkv__select_onerun,
    &gkv__select_snapkv,
    &gkv__select_h2o,
    &gkv__select_streamingllm,
    &gkv__select_streamingllm_online,
    &gkv__select_pyramidinfer,
    &gkv__select_fastkv,
    &gkv__select_asl,
    &gkv__select_asl_2pass,
    &gkv__select_finch,
};

enum { N_METHODS = sizeof methods / sizeof *methods };

gkv_status gkv__select_parse(const char *spec, const struct gkv__select **out,
                             double param[GKV__MAX_PARAMS], gkv_error *err)
{
    char known[256] = "";
    size_t at = 0;

    for (size_t i = 0; i < N_METHODS; i++) {
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", methods[i]->name);
        if (!gkv__param_is(spec, methods[i]->name))
            continue;
        GKV__TRY(gkv__param_parse("method", spec, methods[i]->params, param, err));
        *out = methods[i];
        return GKV_OK;
    }
    return gkv__fail_unknown(err, "method", spec, strcspn(spec, ":"), known);
}

size_t gkv__sinks(const struct gkv__task *t, double asked)
{
    return gkv__min(gkv__max((uint64_t)asked, t->keep_first), t->k);
}

/* ---- running ---------------------------------------------------------------------------- */

enum gkv__kind gkv__task_kind(const struct gkv__task *t)
{
    return t->k < t->n || t->method->own_budget ? t->method->kind : GKV__KEEPS_ALL;
}

gkv_status gkv__select_run(struct gkv__context *c, gkv_error *err)
{
    const struct gkv__select *m = c->t->method;

    return m->kind == GKV__SWEEPS ? gkv__sweep(c, m->watch, err) : m->run(c, err);
}

uint64_t gkv__select_bytes(const struct gkv__task *t, uint32_t chunk)
{
    const struct gkv__select *m = t->method;

    return m->kind == GKV__SWEEPS ? gkv__sweep_bytes(t, m->watch, chunk) : m->bytes(t, chunk);
}

/* ---- API: the rows as the public header has them ---------------------------------------- */

static gkv_method public_rows[N_METHODS];
static gkv_param public_params[N_METHODS][GKV__MAX_PARAMS + 1];

static void publish(void)
{
    for (size_t i = 0; i < N_METHODS; i++) {
        const struct gkv__param *p = methods[i]->params;

        for (size_t j = 0; p[j].name; j++)
            public_params[i][j] = (gkv_param){ .name = p[j].name, .value = p[j].value, .help = p[j].help };
        public_rows[i] = (gkv_method){
            .name = methods[i]->name, .summary = methods[i]->summary, .params = public_params[i],
            .two_passes = methods[i]->kind == GKV__SCORES,
        };
    }
}

const gkv_method *gkv_methods(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, publish);
    *count = N_METHODS;
    return public_rows;
}
