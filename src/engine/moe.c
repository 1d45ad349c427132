/* SPDX-License-Identifier: BSD-2-Clause
 * moe.c - see moe.h.  Shazeer et al. 2017:
 *
 *     x += sum over the n_used experts i with the highest router scores
 *              softmax(their scores)_i  Wdown_i (silu(Wgate_i h) * Wup_i h)
 *
 * Some models have biases, a shared expert that all rows go through (in some times sigmoid(w . h)), a factor of
 * the whole sum, or sigmoids of the scores, which multiply an expert's input (enum gkv__router).  In others the
 * experts are beside the MLP: router, experts and MLP have norms of x of their own, and norms of their outputs.
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
 *   in, out [n_embd]   rating [n_expert]   share [n_used]   weight   id [n_used]   row   choice [n_expert]
 *   and, for experts beside the MLP, mlp, sum [n_embd]: outputs of the two
 * rating: the router's scores; id: the chosen experts; share: the softmax of their scores; choice: by which they are
 * chosen, where that is not rating. */
struct job {
    struct gkv__exec *e;
    const gkv_model  *m;
    float            *x;
    const float      *h;
    const float      *bias;             /* of the router, or of an expert's output, or NULL */
    const float      *factor;           /* of shares, or NULL                             */
    size_t            n;                /* rows of the block, or of one expert */
    float            *in, *out, *rating, *share, *weight, *choice, *mlp, *sum;
    uint32_t         *id, *row;
};

uint64_t gkv__experts_floats(const struct gkv__shape *s)
{
    const uint64_t choice = s->router == GKV__ROUTER_SIGMOID ? s->n_expert : 0;

    return s->n_expert ? (s->beside ? 4 : 2) * (uint64_t)s->n_embd + s->n_expert + 2 * s->n_used + 2 + choice : 0;
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
    j.choice = (float *)(void *)(j.row + e->chunk);
    j.mlp = j.choice;                   /* no model has both */
    j.sum = j.mlp + (size_t)e->chunk * s->n_embd;
    return j;
}

static size_t end_of(const struct job *j, size_t i)
{
    return (i + 1) * ROWS < j->n ? (i + 1) * ROWS : j->n;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* The shares of one row's experts; rating becomes its sigmoids. */
static void choose_by_sigmoids(const struct job *j, float *rating, float *choice, uint32_t *id, float *share)
{
    const size_t n_expert = j->m->shape.n_expert, n_used = j->m->shape.n_used;
    float sum = 1e-6f;

    for (size_t k = 0; k < n_expert; k++) {
        rating[k] = sigmoid(rating[k]);
        choice[k] = rating[k] + (j->bias ? j->bias[k] : 0);
    }
    gkv__top(choice, n_expert, n_used, id);
    for (size_t k = 0; k < n_used; k++)
        sum += share[k] = rating[id[k]];
    for (size_t k = 0; k < n_used; k++)
        share[k] /= sum;
}

static void choose_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t n_expert = j->m->shape.n_expert, n_used = j->m->shape.n_used;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++) {
        float *rating = j->rating + t * n_expert;
        uint32_t *id = j->id + t * n_used;
        float *share = j->share + t * n_used, max = -INFINITY, sum = 0;

        if (j->m->shape.router == GKV__ROUTER_SIGMOID) {
            choose_by_sigmoids(j, rating, j->choice + t * n_expert, id, share);
            continue;
        }
        for (size_t k = 0; j->bias && k < n_expert; k++)
            rating[k] += j->bias[k];
        gkv__top(rating, n_expert, n_used, id);
        if (j->m->shape.router == GKV__ROUTER_SIGMOID_IN) {
            for (size_t k = 0; k < n_used; k++)
                share[k] = sigmoid(rating[id[k]]);
            continue;
        }
        for (size_t k = 0; k < n_used; k++)
            max = rating[id[k]] > max ? rating[id[k]] : max;
        for (size_t k = 0; k < n_used; k++)
            sum += share[k] = expf(rating[id[k]] - max);
        for (size_t k = 0; k < n_used; k++)
            share[k] *= (j->factor ? j->factor[id[k]] : 1) / sum;
    }
}

static bool scaled_inputs(const struct job *j)
{
    return j->m->shape.router == GKV__ROUTER_SIGMOID_IN;
}

static void gather_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t d = j->m->shape.n_embd;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++) {
        float *in = j->in + t * d;

        memcpy(in, j->h + j->row[t] * d, d * sizeof *in);
        for (size_t k = 0; scaled_inputs(j) && k < d; k++)
            in[k] *= j->weight[t];
    }
}

static void scatter_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t d = j->m->shape.n_embd;
    const float scale = gkv__residual_scale(&j->m->shape);

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(j, i); t++) {
        float *x = j->x + j->row[t] * d, *out = j->out + t * d;
        const float weight = scaled_inputs(j) ? scale : scale * j->weight[t];

        for (size_t k = 0; j->bias && k < d; k++)
            out[k] += j->bias[k];
        for (size_t k = 0; k < d; k++)
            x[k] += weight * out[k];
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

/* y[n][n_ff] += the bias of expert i. */
static void add_bias(float *y, const float *bias, uint32_t i, size_t n, size_t n_ff)
{
    for (size_t t = 0; bias && t < n; t++)
        for (size_t k = 0; k < n_ff; k++)
            y[t * n_ff + k] += bias[i * n_ff + k];
}

static void run_expert(struct job *j, const struct gkv__layer_weights *w, uint32_t i)
{
    struct gkv__exec *e = j->e;
    const uint32_t d = j->m->shape.n_embd, n_ff = j->m->shape.n_ff_expert;
    const struct gkv__mat gate = gkv__mat_rows(&w->gate, (w->up.data ? i : 2 * i) * n_ff, n_ff);
    const struct gkv__mat up = w->up.data ? gkv__mat_rows(&w->up, i * n_ff, n_ff)
                                          : gkv__mat_rows(&w->gate, (2 * i + 1) * n_ff, n_ff);
    const struct gkv__mat down = gkv__mat_rows(&w->down, i * d, d);
    struct gkv__rows in = { j->in, j->n, e->att, NULL }, mid = { e->gate, j->n, e->up, NULL };
    const size_t items = (j->n + ROWS - 1) / ROWS;

    gkv__for(e->n_threads, items, gather_item, j);
    gkv__gemm(e, e->gate, &in, &gate, false);
    gkv__gemm(e, e->up, &in, &up, false);
    add_bias(e->gate, w->gate_bias, i, j->n, n_ff);
    add_bias(e->up, w->up_bias, i, j->n, n_ff);
    gkv__glu(e, j->m, e->gate, e->up, j->n, n_ff);
    gkv__gemm(e, j->out, &mid, &down, false);
    j->bias = w->down_bias ? w->down_bias + (size_t)i * d : NULL;
    gkv__for(e->n_threads, items, scatter_item, j);
}

/* x += the shared expert's output for all rows of h. */
static void run_shared(const struct job *j, const struct gkv__layer_weights *w, struct gkv__rows *h)
{
    struct gkv__exec *e = j->e;
    const size_t d = j->m->shape.n_embd;
    const float scale = gkv__residual_scale(&j->m->shape);
    struct gkv__rows mid = { e->gate, h->n, e->up, NULL };

    gkv__gemm(e, e->gate, h, &w->shared_gate, false);
    gkv__gemm(e, e->up, h, &w->shared_up, false);
    gkv__glu(e, j->m, e->gate, e->up, h->n, w->shared_gate.n_out);
    gkv__gemm(e, j->out, &mid, &w->shared_down, false);
    for (size_t t = 0; t < h->n; t++) {
        const float rate = w->shared_router ? e->simd->dot[GKV__TYPE_F32](w->shared_router, h->x + t * d, d) : 0;
        const float share = w->shared_router ? scale / (1 + expf(-rate)) : scale;

        for (size_t i = 0; i < d; i++)
            j->x[t * d + i] += share * j->out[t * d + i];
    }
}

static void choose(struct job *j, const struct gkv__layer_weights *w, struct gkv__rows *h)
{
    gkv__gemm(j->e, j->rating, h, &w->router, false);
    j->bias = w->router_bias;
    j->factor = w->expert_scale;
    gkv__for(j->e->n_threads, (h->n + ROWS - 1) / ROWS, choose_item, j);
}

static void run_experts(struct job *j, const struct gkv__layer_weights *w, size_t n)
{
    for (uint32_t i = 0; i < j->m->shape.n_expert; i++) {
        j->n = rows_of(j, n, i);
        if (j->n)
            run_expert(j, w, i);
    }
}

void gkv__experts(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x,
                  struct gkv__rows *h)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    struct job j = job_of(e, m, x, h);

    choose(&j, w, h);
    if (w->shared_gate.data)
        run_shared(&j, w, h);
    run_experts(&j, w, h->n);
}

/* ---- experts beside the MLP ------------------------------------------------------------- */

struct norms {
    const struct gkv__exec *e;
    size_t                  n, d;
    const float            *in, *w;
    float                  *out, scale, eps;
};

static void norm_item(void *arg, size_t i, unsigned thread)
{
    const struct norms *r = arg;
    const size_t end = (i + 1) * ROWS < r->n ? (i + 1) * ROWS : r->n;

    (void)thread;
    for (size_t t = i * ROWS; t < end; t++) {
        float *out = r->out + t * r->d;

        r->e->simd->rmsnorm(out, r->in + t * r->d, r->w, r->d, r->eps);
        for (size_t k = 0; k < r->d; k++)
            out[k] *= r->scale;
    }
}

/* out = scale * norm(in) by w, for n rows. */
static void norm(const struct job *j, size_t n, float *out, const float *in, const float *w, float scale)
{
    const struct gkv__shape *s = &j->m->shape;
    struct norms r = { .e = j->e, .n = n, .d = s->n_embd, .in = in, .w = w, .out = out, .scale = scale, .eps = s->eps };

    gkv__for(j->e->n_threads, (n + ROWS - 1) / ROWS, norm_item, &r);
}

static void add(float *to, const float *what, size_t n)
{
    for (size_t k = 0; k < n; k++)
        to[k] += what[k];
}

void gkv__experts_beside(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x, size_t n)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const size_t all = n * m->shape.n_embd;
    struct gkv__rows h = { e->h, n, e->att, NULL };
    struct job j = job_of(e, m, x, &h);

    norm(&j, n, e->h, x, w->ffn_norm, 1);
    memset(j.mlp, 0, all * sizeof *j.mlp);
    j.x = j.mlp;
    run_shared(&j, w, &h);
    norm(&j, n, j.mlp, j.mlp, w->shared_post, 1);

    h = (struct gkv__rows){ e->h, n, e->att, NULL };
    norm(&j, n, e->h, x, w->router_norm, 1 / sqrtf((float)m->shape.n_embd));
    choose(&j, w, &h);

    norm(&j, n, e->h, x, w->expert_norm, 1);
    memset(j.sum, 0, all * sizeof *j.sum);
    j.x = j.sum;
    run_experts(&j, w, n);
    norm(&j, n, j.sum, j.sum, w->expert_post, 1);

    add(j.mlp, j.sum, all);
    norm(&j, n, j.mlp, j.mlp, w->ffn_post, 1);
    add(x, j.mlp, all);
}
