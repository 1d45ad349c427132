/* SPDX-License-Identifier: BSD-2-Clause
 * layer.c - one transformer layer, from top to bottom:
 *
 *     x += Wo attend(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x))
 *     x += Wdown (silu(Wgate norm(x)) * Wup norm(x))
 */
#include "config.h"
#include <math.h>
#include "src/attend.h"
#include "src/gemm.h"
#include "src/layer.h"
#include "src/thread.h"

enum { ROWS = 64 };             /* rows per work item of everything that is not a product */

struct rows {                   /* what the row-wise steps below need */
    struct gkv__exec *e;
    const gkv_model  *m;
    const float      *in, *w;
    float            *out;
    const uint32_t   *id;
    size_t            n, n_head;
    uint64_t          pos;
};

static size_t end_of(const struct rows *r, size_t i)
{
    return (i + 1) * ROWS < r->n ? (i + 1) * ROWS : r->n;
}

static size_t items(size_t n)
{
    return (n + ROWS - 1) / ROWS;
}

/* ---- steps ------------------------------------------------------------------------------ */

static void embed_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const struct gkv__mat *w = &r->m->embed;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        r->e->simd->unpack[w->format->type](w->data + r->id[t] * gkv__mat_row_bytes(w),
                                            r->out + t * w->n_in, w->n_in);
}

static void norm_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.n_embd;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        r->e->simd->rmsnorm(r->out + t * d, r->in + t * d, r->w, d, r->m->shape.eps);
}

static void swiglu_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t f = r->m->shape.n_ff;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        r->e->simd->swiglu(r->out + t * f, r->in + t * f, f);
}

/* turn[n][n_rot]: cosine and sine of every pair at positions pos ...  Angles reach a million
 * radians, where a float is off by 0.06: so in double, one sine and cosine per 64 positions
 * and then a rotation by one position at a time, which loses 1e-14.  The steps start at
 * multiples of 64 whatever pos is, so a position's angle does not depend on the chunk. */
static void turn_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t half = r->m->shape.n_rot / 2;
    const uint64_t start = (r->pos / ROWS + i) * ROWS;

    (void)thread;
    for (size_t x = 0; x < half; x++) {
        const double f = r->m->rope_freq[x], dc = cos(f), ds = sin(f);
        double c = cos((double)start * f), s = sin((double)start * f);

        for (uint64_t p = start; p < start + ROWS && p < r->pos + r->n; p++) {
            double t = c * dc - s * ds;

            if (p >= r->pos) {
                float *out = r->out + ((p - r->pos) * half + x) * 2;
                out[0] = (float)c;
                out[1] = (float)s;
            }
            s = s * dc + c * ds;
            c = t;
        }
    }
}

void gkv__rotate(const struct gkv__shape *s, float *p, const float *turn, bool back)
{
    const size_t half = s->n_rot / 2;
    const size_t step = s->pairs == GKV__ROPE_ADJACENT ? 2 : 1;     /* from pair to pair      */
    const size_t apart = s->pairs == GKV__ROPE_ADJACENT ? 1 : half; /* within a pair          */
    const float sign = back ? -1 : 1;

    for (size_t x = 0; x < half; x++, turn += 2, p += step) {
        float a = p[0], b = p[apart], sine = sign * turn[1];
        p[0] = a * turn[0] - b * sine;
        p[apart] = b * turn[0] + a * sine;
    }
}

static void rope_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const struct gkv__shape *s = &r->m->shape;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        for (size_t h = 0; h < r->n_head; h++)
            gkv__rotate(s, r->out + (t * r->n_head + h) * s->head_dim, r->in + t * s->n_rot, false);
}

static void norm(struct gkv__exec *e, const gkv_model *m, float *out, const float *x,
                 const float *w, size_t n)
{
    struct rows r = { .e = e, .m = m, .in = x, .w = w, .out = out, .n = n };

    gkv__for(e->n_threads, items(n), norm_item, &r);
}

void gkv__turn(struct gkv__exec *e, const gkv_model *m, size_t n, uint64_t pos)
{
    struct rows r = { .e = e, .m = m, .out = e->turn, .n = n, .pos = pos };

    gkv__for(e->n_threads, (size_t)((pos + n - 1) / ROWS - pos / ROWS + 1), turn_item, &r);
}

/* y[n][n_head * head_dim], at the positions of e->turn[first ...] */
static void rope(struct gkv__exec *e, const gkv_model *m, float *y, size_t n, size_t n_head,
                 size_t first)
{
    struct rows r = { .e = e, .m = m, .in = e->turn + first * m->shape.n_rot, .out = y, .n = n,
                      .n_head = n_head };

    gkv__for(e->n_threads, items(n), rope_item, &r);
}

static void swiglu(struct gkv__exec *e, const gkv_model *m, float *gate, const float *up, size_t n)
{
    struct rows r = { .e = e, .m = m, .in = up, .out = gate, .n = n };

    gkv__for(e->n_threads, items(n), swiglu_item, &r);
}

/* ---- the layer -------------------------------------------------------------------------- */

void gkv__embed(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, float *x, size_t n)
{
    struct rows r = { .e = e, .m = m, .out = x, .id = id, .n = n };

    gkv__for(e->n_threads, items(n), embed_item, &r);
}

/* h: where the normalised rows go, and their form. */
static void qk(struct gkv__exec *e, const gkv_model *m, uint32_t il, const float *x,
               struct gkv__rows *h, uint64_t pos, size_t first_q)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__shape *s = &m->shape;
    const size_t n = h->n;

    norm(e, m, e->h, x, w->attn_norm, n);
    gkv__turn(e, m, n, pos);
    gkv__gemm(e, e->k, h, &w->k, false);
    rope(e, m, e->k, n, s->n_head_kv, 0);
    if (first_q < n) {
        struct gkv__rows last = { e->h + first_q * s->n_embd, n - first_q, e->gate, NULL };
        float *q = e->q + first_q * w->q.n_out;
        gkv__gemm(e, q, first_q ? &last : h, &w->q, false);
        rope(e, m, q, n - first_q, s->n_head, first_q);
    }
}

void gkv__layer_keys(struct gkv__exec *e, const gkv_model *m, uint32_t il, const float *x, size_t n)
{
    struct gkv__rows h = { e->h, n, e->gate, NULL };

    norm(e, m, e->h, x, m->layer[il].attn_norm, n);
    gkv__gemm(e, e->k, &h, &m->layer[il].k, false);
}

void gkv__rope_keys(struct gkv__exec *e, const gkv_model *m, float *k, size_t n, uint64_t pos)
{
    gkv__turn(e, m, n, pos);
    rope(e, m, k, n, m->shape.n_head_kv, 0);
}

void gkv__layer_qk(struct gkv__exec *e, const gkv_model *m, uint32_t il, const float *x, size_t n,
                   uint64_t pos, size_t first_q)
{
    struct gkv__rows h = { e->h, n, e->gate, NULL };

    qk(e, m, il, x, &h, pos, first_q);
}

void gkv__layer(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x, size_t n,
                uint64_t pos, struct gkv__cache *c, uint32_t ic)
{
    const struct gkv__layer_weights *w = &m->layer[il];

    struct gkv__rows h = { e->h, n, e->gate, NULL }, att = { e->att, n, e->gate, NULL };
    struct gkv__rows h2 = { e->h, n, e->att, NULL }, gate = { e->gate, n, e->up, NULL };

    qk(e, m, il, x, &h, pos, 0);
    gkv__gemm(e, e->v, &h, &w->v, false);
    gkv__cache_put(c, ic, pos, e->k, e->v, n);
    gkv__attend(e, c, ic, e->att, e->q, n, pos);
    gkv__gemm(e, x, &att, &w->o, true);

    norm(e, m, e->h, x, w->ffn_norm, n);
    gkv__gemm(e, e->gate, &h2, &w->gate, false);
    gkv__gemm(e, e->up, &h2, &w->up, false);
    swiglu(e, m, e->gate, e->up, n);
    gkv__gemm(e, x, &gate, &w->down, true);
}

void gkv__logits(struct gkv__exec *e, const gkv_model *m, const float *x, size_t n, float *logits)
{
    struct gkv__rows h = { e->h, n, e->gate, NULL };

    norm(e, m, e->h, x, m->output_norm, n);
    gkv__gemm(e, logits, &h, &m->output, false);
}
