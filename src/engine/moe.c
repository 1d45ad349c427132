/* SPDX-License-Identifier: BSD-2-Clause
 * moe.c - see moe.h.  Shazeer et al. 2017:
 *
 *     x += sum over the n_used experts i with the highest router scores
 *              softmax(their scores)_i  Wdown_i (silu(Wgate_i h) * Wup_i h)
 *
 * and in some models, before that, one more expert for all rows, times sigmoid(w . h).
 *
 * The rows of a block are gathered expert by expert, so that the weights of each are read once
 * per block; a row's sum runs in the order of the experts. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/engine/moe.h"
#include "src/base/thread.h"
#include "src/base/top.h"

enum { ROWS = 64 };             /* rows of a work item */

/* Arrays in e->expert, each for e->chunk rows:
 *   in, out [n_embd]   rating [n_expert]   share [n_used]   weight   id [n_used]   row
 * rating: the router's scores; id: the chosen experts; share: the softmax of their scores. */
struct job {
    struct gkv__exec *e;
    const gkv_model  *m;
    float            *x;
    const float      *h;
    size_t            n;                /* rows of the block, or of one expert */
    float            *in, *out, *rating, *share, *weight;
    uint32_t         *id, *row;
};

uint64_t gkv__experts_floats(const struct gkv__shape *s)
{
    return s->n_expert ? 2 * (uint64_t)s->n_embd + s->n_expert + 2 * s->n_used + 2 : 0;
}

static struct job job_of(struct gkv__exec *e, const gkv_model *m, float *x,
                         const struct gkv__rows *h)
{
    const struct gkv__shape *s = &m->shape;
    struct job j = { .e = e, .m = m, .x = x, .h = h->x, .n = h->n, .in = e->expert };

    j.out = j.in + (size_t)e->chunk * s->n_embd;
    j.rating = j.out + (size_t)e->chunk * s->n_embd;
    j.share = j.rating + (size_t)e->chunk * s->n_expert;
    j.weight = j.share + (size_t)e->chunk * s->n_used;
    j.id = (uint32_t *)(void *)(j.weight + e->chunk);
    j.row = j.id + (size_t)e->chunk * s->n_used;
    return j;
}

static size_t end_of(const struct job *j, size_t i)
{
    return (i + 1) * ROWS < j->n ? (i + 1) * ROWS : j->n;
}

static void choose_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t n_expert = j->m->shape.n_expert, n_used = j->m->shape.n_used;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++) {
        const float *rating = j->rating + t * n_expert;
        uint32_t *id = j->id + t * n_used;
        float *share = j->share + t * n_used, max = -INFINITY, sum = 0;

        gkv__top(rating, n_expert, n_used, id);
        for (size_t k = 0; k < n_used; k++)
            max = rating[id[k]] > max ? rating[id[k]] : max;
        for (size_t k = 0; k < n_used; k++)
            sum += share[k] = expf(rating[id[k]] - max);
        for (size_t k = 0; k < n_used; k++)
            share[k] /= sum;
    }
}

static void gather_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t d = j->m->shape.n_embd;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++)
        memcpy(j->in + t * d, j->h + j->row[t] * d, d * sizeof *j->in);
}

static void scatter_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t d = j->m->shape.n_embd;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++) {
        float *x = j->x + j->row[t] * d;

        for (size_t k = 0; k < d; k++)
            x[k] += j->weight[t] * j->out[t * d + k];
    }
}

/* Collects the rows that chose an expert in j->row, and their shares in j->weight. */
static size_t rows_of(const struct job *j, size_t n, uint32_t expert)
{
    const size_t n_used = j->m->shape.n_used;
    size_t found = 0;

    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < n_used; k++)
            if (j->id[t * n_used + k] == expert) {
                j->weight[found] = j->share[t * n_used + k];
                j->row[found++] = (uint32_t)t;
            }
    return found;
}

static void run_one(struct job *j, const struct gkv__mat *gate, const struct gkv__mat *up, const struct gkv__mat *down)
{
    struct gkv__exec *e = j->e;
    struct gkv__rows in = { j->in, j->n, e->att, NULL }, mid = { e->gate, j->n, e->up, NULL };
    const size_t items = (j->n + ROWS - 1) / ROWS;

    gkv__for(e->n_threads, items, gather_item, j);
    gkv__gemm(e, e->gate, &in, gate, false);
    gkv__gemm(e, e->up, &in, up, false);
    gkv__glu(e, j->m, e->gate, e->up, j->n);
    gkv__gemm(e, j->out, &mid, down, false);
    gkv__for(e->n_threads, items, scatter_item, j);
}

static void run_expert(struct job *j, const struct gkv__layer_weights *w, uint32_t i)
{
    const uint32_t d = j->m->shape.n_embd, n_ff = j->m->shape.n_ff;
    const struct gkv__mat gate = gkv__mat_rows(&w->gate, i * n_ff, n_ff);
    const struct gkv__mat up = gkv__mat_rows(&w->up, i * n_ff, n_ff);
    const struct gkv__mat down = gkv__mat_rows(&w->down, i * d, d);

    run_one(j, &gate, &up, &down);
}

static void run_shared(struct job *j, const struct gkv__layer_weights *w)
{
    const size_t d = j->m->shape.n_embd;

    for (size_t t = 0; t < j->n; t++) {
        j->row[t] = (uint32_t)t;
        j->weight[t] = 1 / (1 + expf(-j->e->simd->dot[GKV__TYPE_F32](w->shared_router, j->h + t * d, d)));
    }
    run_one(j, &w->shared_gate, &w->shared_up, &w->shared_down);
}

void gkv__experts(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x,
                  struct gkv__rows *h)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    struct job j = job_of(e, m, x, h);

    gkv__gemm(e, j.rating, h, &w->router, false);
    gkv__for(e->n_threads, (h->n + ROWS - 1) / ROWS, choose_item, &j);
    if (w->shared_router)
        run_shared(&j, w);
    for (uint32_t i = 0; i < m->shape.n_expert; i++) {
        j.n = rows_of(&j, h->n, i);
        if (j.n)
            run_expert(&j, w, i);
    }
}
