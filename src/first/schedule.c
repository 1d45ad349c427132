/* SPDX-License-Identifier: BSD-2-Clause
 * schedule.c - the list of schedules, and what they share. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/first/schedule.h"
#include "src/base/mem.h"
#include "src/base/thread.h"

extern const struct gkv__schedule gkv__schedule_layer, gkv__schedule_chunk, gkv__schedule_stream,
                                  gkv__schedule_index;

static const struct gkv__schedule *const schedules[] = {
    &gkv__schedule_layer,
    &gkv__schedule_chunk,
    &gkv__schedule_stream,
    &gkv__schedule_index,
};

enum { N_SCHEDULES = sizeof schedules / sizeof *schedules, ROWS = 64 };

const struct gkv__schedule *gkv__schedule_at(size_t i)
{
    return i < N_SCHEDULES ? schedules[i] : NULL;
}

gkv_status gkv__schedule_parse(const char *spec, const struct gkv__schedule **out,
                               double param[GKV__MAX_PARAMS], gkv_error *err)
{
    char known[128] = " auto";
    size_t at = strlen(known);

    for (size_t i = 0; i < N_SCHEDULES; i++) {
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", schedules[i]->name);
        if (!gkv__param_is(spec, schedules[i]->name))
            continue;
        GKV__TRY(gkv__param_parse("schedule", spec, schedules[i]->params, param, err));
        *out = schedules[i];
        return GKV_OK;
    }
    return gkv__fail_unknown(err, "schedule", spec, strcspn(spec, ":"), known);
}

/* ---- API: the rows as the public header has them ---------------------------------------- */

static gkv_schedule public_rows[N_SCHEDULES];
static gkv_param public_params[N_SCHEDULES][GKV__MAX_PARAMS + 1];

static size_t n_public;

/* Not those that only documents with an index have. */
static void publish(void)
{
    for (size_t i = 0; i < N_SCHEDULES; i++) {
        const struct gkv__param *p = schedules[i]->params;

        if (schedules[i]->indexed)
            continue;
        for (size_t j = 0; p[j].name; j++)
            public_params[n_public][j] = (gkv_param){ .name = p[j].name, .value = p[j].value, .help = p[j].help };
        public_rows[n_public] = (gkv_schedule){
            .name = schedules[i]->name, .summary = schedules[i]->summary, .params = public_params[n_public],
            .exact = schedules[i]->exact,
        };
        n_public++;
    }
}

const gkv_schedule *gkv_schedules(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, publish);
    *count = n_public;
    return public_rows;
}

/* ---- scores ------------------------------------------------------------------------------ */

void gkv__fold_query(const struct gkv__exec *e, size_t row, float *q)
{
    const struct gkv__shape *s = e->shape;
    const size_t d = s->head_dim, g = s->n_head / s->n_head_kv;

    for (size_t u = 0; u < s->n_head_kv; u++)
        for (size_t i = 0; i < d; i++) {
            const float *head = e->q + row * s->n_head * d + u * g * d + i;
            float sum = 0;

            for (size_t h = 0; h < g; h++)
                sum += head[h * d];
            q[u * d + i] = sum;
        }
}

struct scoring {
    const struct gkv__exec *e;
    const float            *k, *q;
    float                  *score;
    size_t                  n, width;
};

static void score_item(void *arg, size_t i, unsigned thread)
{
    const struct scoring *s = arg;

    (void)thread;
    for (size_t t = i * ROWS; t < (i + 1) * ROWS && t < s->n; t++)
        s->score[t] = s->e->simd->dot[GKV__TYPE_F32](s->k + t * s->width, s->q, s->width);
}

void gkv__score(struct gkv__exec *e, const float *k, size_t n, const float *q, float *score)
{
    struct scoring job = { e, k, q, score, n, (size_t)e->shape->n_head_kv * e->shape->head_dim };

    gkv__for(e->n_threads, (n + ROWS - 1) / ROWS, score_item, &job);
}

const struct gkv__quant *gkv__first_kv(const struct gkv__simd *simd, const struct gkv__task *t)
{
    return gkv__attend_store(simd, t->m, t->kv_first);
}

/* ---- sparse attention -------------------------------------------------------------------- */

uint64_t gkv__first_sparse_bytes(const struct gkv__task *t, unsigned n_threads)
{
    return t->sparse > 0 ? gkv__sparse_bytes(gkv__simd(), t->m, t->filter, t->n, n_threads) : 0;
}

gkv_status gkv__first_sparse_open(struct gkv__sparse *sp, const struct gkv__exec *e, const struct gkv__first *f,
                                  gkv_error *err)
{
    const struct gkv__task *t = f->t;

    sp->threshold = t->sparse;
    sp->dense_from = t->n - t->n_tail;
    return t->sparse > 0 ? gkv__sparse_open(sp, e, t->m, t->filter, t->n, err) : GKV_OK;
}

void gkv__first_sparse_close(struct gkv__sparse *sp, const struct gkv__first *f)
{
    const unsigned long long seen = f->t->sparse > 0 ? atomic_load(&sp->seen) : 0;

    if (f->density)
        *f->density = seen ? (double)atomic_load(&sp->kept) / (double)seen : 1;
    gkv__sparse_close(sp);
}

/* ---- memory ------------------------------------------------------------------------------ */

uint64_t gkv__weights_largest(const gkv_model *m, uint32_t il)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i <= il; i++) {
        uint64_t b = gkv__model_layer_bytes(m, i);
        most = b > most ? b : most;
    }
    return most + gkv__model_embed_bytes(m);
}

uint64_t gkv__weights_early(const gkv_model *m, uint32_t il)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    uint64_t sum = gkv__model_embed_bytes(m);

    if (gkv__attends(m, il))
        sum += gkv__mat_bytes(&w->q) + gkv__mat_bytes(&w->k);
    for (uint32_t i = 0; i < il; i++)
        sum += gkv__model_layer_bytes(m, i);
    return sum;
}

/* ---- for the next question ---------------------------------------------------------------- */

uint64_t gkv__early_bytes(const struct gkv__task *t, uint64_t slots)
{
    const struct gkv__shape *s = &t->m->shape;
    const uint64_t keys = gkv__times(slots, (uint64_t)s->n_head_kv * s->head_dim * sizeof(float));

    return gkv__plus(gkv__plus(keys, gkv__states_floats(t->m, t->filter) * sizeof(float)),
                     gkv__cache_bytes_for(t->m, gkv__first_kv(gkv__simd(), t), t->filter, slots));
}

uint64_t gkv__early_size(const struct gkv__early *e)
{
    const struct gkv__cache *c = &e->cache;

    if (!e->touched)
        return 0;
    return e->touched * c->n_head_kv * c->head_dim * sizeof *e->keys + gkv__cache_used(c, e->touched) +
           e->n_states * sizeof *e->states;
}

void gkv__early_close(struct gkv__early *e)
{
    gkv__pages_free(e->keys, e->slots * e->cache.n_head_kv, e->cache.head_dim * sizeof *e->keys);
    if (e->states)
        gkv__pages_free(e->states, e->n_states, sizeof *e->states);
    gkv__cache_close(&e->cache);
    *e = (struct gkv__early){ 0 };
}
