/* SPDX-License-Identifier: BSD-2-Clause
 * layer.c - one transformer layer, from top to bottom:
 *
 *     x += Wo attend(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x))
 *     x += Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *
 * in some models also, e being the token's embedding for this layer and x0 the one that x began with,
 *
 *     x += norm(Wout (gelu(Wgate' x) * (norm(Win x0 / sqrt(n_embd)) + e) / sqrt(2)))
 *
 * and what some models add or leave out, as model.h says layer by layer: biases, norms of queries and
 * keys, norms and scales of the outputs before they are added to x, no norms of the inputs, a window, sinks,
 * no RoPE, other activations, caps, experts, a gate of the sums, values that are the keys.  In some layers a
 * state takes the place of attention (state.h). */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/engine/moe.h"
#include "src/engine/sparse.h"
#include "src/engine/hadamard.h"
#include "src/engine/state.h"
#include "src/base/thread.h"

enum {
    ROWS = 16,                  /* rows of a work item, except in products: 512 are work for 32 threads */
    RUN = 64,                   /* consecutive positions whose angles follow from one another */
    LOGITS = 16384,             /* logits of a work item                                     */
};

struct rows {                   /* arguments of the row-wise steps below */
    struct gkv__exec *e;
    const gkv_model  *m;
    const struct gkv__shape *s; /* of the layer, in steps over heads                        */
    const float      *in, *w, *bias;
    float            *out, *up;
    const uint32_t   *id;
    const struct gkv__rope *rope;
    bool              whole;    /* the norm is over all heads together                      */
    size_t            n, n_head, at;    /* at: bytes before the layer's embeddings in their row */
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
    const float scale = r->m->shape.embed_scale;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++) {
        float *x = r->out + t * w->n_in;

        r->e->simd->unpack[w->format->type](w->data + r->id[t] * gkv__mat_row_bytes(w), x, w->n_in);
        for (size_t j = 0; scale > 0 && j < w->n_in; j++)
            x[j] *= scale;
    }
}

static void norm_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.n_embd;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        if (r->w)
            r->e->simd->rmsnorm(r->out + t * d, r->in + t * d, r->w, d, r->m->shape.eps);
        else
            memcpy(r->out + t * d, r->in + t * d, d * sizeof *r->out);
}

/* out += scale * norm(h + bias), each of them if it is there; e->h is overwritten. */
static void add_more_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.n_embd;
    const float scale = gkv__residual_scale(&r->m->shape);

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++) {
        float *y = r->e->h + t * d;

        for (size_t j = 0; r->bias && j < d; j++)
            y[j] += r->bias[j];
        if (r->w)
            r->e->simd->rmsnorm(y, y, r->w, d, r->m->shape.eps);
        for (size_t j = 0; j < d; j++)
            r->out[t * d + j] += scale * y[j];
    }
}

/* (1 + u) g / (1 + e^-ag)  with a = 1.702, g at most 7 and u in -7 .. 7, is swiglu of a g and (1 + u) / a. */
static void clamp(float *gate, float *up, size_t n)
{
    const float a = 1.702f, most = 7;

    for (size_t i = 0; i < n; i++) {
        const float g = gate[i] > most ? most : gate[i];
        const float u = up[i] > most ? most : up[i] < -most ? -most : up[i];

        gate[i] = a * g;
        up[i] = (1 + u) / a;
    }
}

static void glu_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const struct gkv__simd *simd = r->e->simd;
    const size_t f = r->n_head;
    gkv__glu_fn *glu = r->m->shape.glu == GKV__GLU_GELU ? simd->geglu : simd->swiglu;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++) {
        if (r->m->shape.glu == GKV__GLU_CLAMPED)
            clamp(r->out + t * f, r->up + t * f, f);
        glu(r->out + t * f, r->up + t * f, f);
    }
}

/* turn[n][n_rot]: cosine and sine of every pair at positions pos ...  Angles reach a million
 * radians, where a float is off by 0.06.  So this computes in double: one sine and cosine per 64
 * positions, then a rotation by one position at a time, which loses 1e-14.  These runs start at
 * multiples of 64 whatever pos is, so a position's angle does not depend on the chunk. */
static void turn_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t half = r->s->n_rot / 2;
    const uint64_t start = (r->pos / RUN + i) * RUN;

    (void)thread;
    for (size_t x = 0; x < half; x++) {
        const double f = r->rope->freq[x], dc = cos(f), ds = sin(f);
        double c = cos((double)start * f), s = sin((double)start * f);

        for (uint64_t p = start; p < start + RUN && p < r->pos + r->n; p++) {
            double t = c * dc - s * ds;

            if (p >= r->pos) {
                float *out = r->out + ((p - r->pos) * half + x) * 2;
                out[0] = (float)(c * r->rope->scale);
                out[1] = (float)(s * r->rope->scale);
            }
            s = s * dc + c * ds;
            c = t;
        }
    }
}

static void turn_one(const struct gkv__rope *rope, size_t half, uint64_t pos, float *out)
{
    const uint64_t start = pos / RUN * RUN;

    for (size_t x = 0; x < half; x++) {
        const double f = rope->freq[x], dc = cos(f), ds = sin(f);
        double c = cos((double)start * f), s = sin((double)start * f);

        for (uint64_t p = start; p < pos; p++) {
            double t = c * dc - s * ds;

            s = s * dc + c * ds;
            c = t;
        }
        out[2 * x] = (float)(c * rope->scale);
        out[2 * x + 1] = (float)(s * rope->scale);
    }
}

/* The same for positions that are not consecutive, by the same steps, so with the same bits. */
static void turn_at_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t half = r->s->n_rot / 2;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++)
        turn_one(r->rope, half, r->id[t], r->out + t * 2 * half);
}

void gkv__rotate(const struct gkv__shape *s, float *p, const float *turn, bool back)
{
    const size_t half = s->n_rot / 2;
    const size_t step = s->pairs == GKV__ROPE_ADJACENT ? 2 : 1;     /* from pair to pair      */
    const size_t apart = s->pairs == GKV__ROPE_ADJACENT ? 1 : half; /* within a pair          */

    for (size_t x = 0; x < half; x++, turn += 2, p += step) {
        float a = p[0], b = p[apart], c = turn[0], sine = turn[1];

        if (back) {             /* cos, sin may be scaled: invert, not transpose */
            const float inv = 1 / (c * c + sine * sine);
            c *= inv;
            sine *= -inv;
        }
        p[0] = a * c - b * sine;
        p[apart] = b * c + a * sine;
    }
}

/* Heads after their projection: add the bias, norm by w, rotate by the angles `in`, each if given. */
static void heads_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const struct gkv__shape *s = r->s;
    const size_t d = s->head_dim, width = r->n_head * d;

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++) {
        float *y = r->out + t * width;

        for (size_t j = 0; r->bias && j < width; j++)
            y[j] += r->bias[j];
        if (r->w && r->whole)
            r->e->simd->rmsnorm(y, y, r->w, width, s->eps);
        for (size_t h = 0; h < r->n_head; h++, y += d) {
            if (r->w && !r->whole)
                r->e->simd->rmsnorm(y, y, r->w, d, s->eps);
            if (r->in)
                gkv__rotate(s, y, r->in + t * s->n_rot, false);
        }
    }
}

/* Queries and their gates in `in` [n_head][2][head_dim]: the queries to out; and out *= sigmoid(gates). */
static void split_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.head_dim, heads = r->m->shape.n_head;

    (void)thread;
    for (size_t t = i * ROWS * heads; t < end_of(r, i) * heads; t++)
        memcpy(r->out + t * d, r->in + t * 2 * d, d * sizeof *r->out);
}

static void gate_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.head_dim, heads = r->m->shape.n_head;

    (void)thread;
    for (size_t t = i * ROWS * heads; t < end_of(r, i) * heads; t++)
        r->e->simd->gate(r->out + t * d, r->in + t * 2 * d + d, d);
}

static void norm(struct gkv__exec *e, const gkv_model *m, float *out, const float *x,
                 const float *w, size_t n)
{
    struct rows r = { .e = e, .m = m, .in = x, .w = w, .out = out, .n = n };

    gkv__for(e->n_threads, items(n), norm_item, &r);
}

/* Factors of queries at n positions, at[n] or pos ..., into e->heat. */
static void heat(const struct gkv__pass *p, size_t n, uint64_t pos, const uint32_t *at)
{
    const struct gkv__shape *s = &p->m->shape;
    uint64_t last = 0;

    for (size_t i = 0; i < n && s->temper > 0; i++) {
        const uint64_t spans = ((at ? at[i] : pos + i) + s->temper_shift) / s->temper_span;

        p->e->heat[i] = i && spans == last ? p->e->heat[i - 1]
                                           : (float)(1 + (double)s->temper * log(1 + (double)spans));
        last = spans;
    }
}

void gkv__turn(const struct gkv__pass *p, uint32_t il, size_t n, uint64_t pos)
{
    struct rows r = { .e = p->e, .s = gkv__shape_of(p->m, il), .out = p->e->turn, .n = n, .pos = pos,
                      .rope = gkv__model_rope(p->m, il, p->span) };

    gkv__for(p->e->n_threads, (size_t)((pos + n - 1) / RUN - pos / RUN + 1), turn_item, &r);
    heat(p, n, pos, NULL);
}

static void turn_at(const struct gkv__pass *p, uint32_t il, size_t n, const uint32_t *at)
{
    struct rows r = { .e = p->e, .s = gkv__shape_of(p->m, il), .out = p->e->turn, .id = at, .n = n,
                      .rope = gkv__model_rope(p->m, il, p->span) };

    gkv__for(p->e->n_threads, items(n), turn_at_item, &r);
    heat(p, n, 0, at);
}

/* The same for all heads of y[n][n_head * head_dim], with the angles turn[n][n_rot]. */
static void heads(struct gkv__exec *e, const struct gkv__shape *s, float *y, size_t n, size_t n_head,
                  const float *bias, const float *w, bool whole, const float *turn)
{
    struct rows r = { .e = e, .s = s, .in = turn, .w = w, .bias = bias, .out = y, .n = n,
                      .n_head = n_head, .whole = whole };

    gkv__for(e->n_threads, items(n), heads_item, &r);
}

void gkv__glu(struct gkv__exec *e, const gkv_model *m, float *gate, float *up, size_t n, size_t n_ff)
{
    struct rows r = { .e = e, .m = m, .up = up, .out = gate, .n = n, .n_head = n_ff };

    gkv__for(e->n_threads, items(n), glu_item, &r);
}

/* x += scale * norm(W y + bias); norm and bias are NULL where the model has none.  Uses e->h. */
static void add(struct gkv__exec *e, const gkv_model *m, float *x, struct gkv__rows *y,
                const struct gkv__mat *w, const float *bias, const float *post)
{
    struct rows r = { .e = e, .m = m, .w = post, .bias = bias, .out = x, .n = y->n };
    const bool more = post || bias || m->shape.residual_scale > 0;

    gkv__gemm(e, more ? e->h : x, y, w, !more);
    if (more)
        gkv__for(e->n_threads, items(y->n), add_more_item, &r);
}

/* ---- the layer -------------------------------------------------------------------------- */

void gkv__embed(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, float *x, size_t n)
{
    struct rows r = { .e = e, .m = m, .out = x, .id = id, .n = n };

    gkv__for(e->n_threads, items(n), embed_item, &r);
}

/* h: the normalised rows, and room for their form.  Positions are those in e->turn. */
static void keys(struct gkv__exec *e, const gkv_model *m, uint32_t il, struct gkv__rows *h)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__shape *s = gkv__shape_of(m, il);

    if (w->shares)
        return;
    gkv__gemm(e, e->k, h, &w->k, false);
    if (!w->v.data)             /* values are keys without norm and rotation */
        memcpy(e->v, e->k, h->n * s->n_head_kv * s->head_dim * sizeof *e->v);
    heads(e, s, e->k, h->n, s->n_head_kv, w->k_bias, w->k_norm, w->norm_rows, e->turn);
}

static void queries(struct gkv__exec *e, const gkv_model *m, uint32_t il, struct gkv__rows *h, size_t first_q)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__shape *s = gkv__shape_of(m, il);
    const size_t n = h->n, width = (size_t)s->n_head * s->head_dim;
    struct gkv__rows last = { e->h + first_q * s->n_embd, n - first_q, e->gate, NULL };
    float *q = e->q + first_q * width, *both = e->up + first_q * 2 * width;

    if (first_q >= n)
        return;
    gkv__gemm(e, s->gated ? both : q, first_q ? &last : h, &w->q, false);
    if (s->gated)
        gkv__for(e->n_threads, items(last.n), split_item, &(struct rows){ .m = m, .in = both, .out = q, .n = last.n });
    heads(e, s, q, n - first_q, s->n_head, w->q_bias, w->q_norm, w->norm_rows, e->turn + first_q * s->n_rot);
    for (size_t t = first_q; w->tempered && t < n; t++)
        for (size_t j = 0; j < width; j++)
            e->q[t * width + j] *= e->heat[t];
}

void gkv__layer_keys(const struct gkv__pass *p, uint32_t il, const float *x, size_t n)
{
    struct gkv__exec *e = p->e;
    const gkv_model *m = p->m;
    const struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__rows h = { e->h, n, e->gate, NULL };

    norm(e, m, e->h, x, w->attn_norm, n);
    gkv__gemm(e, e->k, &h, &w->k, false);
    heads(e, gkv__shape_of(m, il), e->k, n, gkv__shape_of(m, il)->n_head_kv, w->k_bias, w->k_norm, w->norm_rows, NULL);
}

void gkv__rope_keys(const struct gkv__pass *p, uint32_t il, float *k, size_t n, uint64_t pos)
{
    const struct gkv__shape *s = gkv__shape_of(p->m, il);

    gkv__turn(p, il, n, pos);
    heads(p->e, s, k, n, s->n_head_kv, NULL, NULL, false, p->e->turn);
}

void gkv__layer_qk(const struct gkv__pass *p, uint32_t il, const float *x, size_t n, uint64_t pos,
                   size_t first_q)
{
    struct gkv__rows h = { p->e->h, n, p->e->gate, NULL };

    gkv__turn(p, il, n, pos);
    norm(p->e, p->m, p->e->h, x, p->m->layer[il].attn_norm, n);
    keys(p->e, p->m, il, &h);
    queries(p->e, p->m, il, &h, first_q);
}

/* Attention with the smaller of the layer's window and the hook's. */
static void attend(const struct gkv__pass *p, uint32_t il, uint32_t ic, size_t n, uint64_t slot)
{
    struct gkv__view view = gkv__view_of(&p->m->layer[il]);
    struct gkv__hook *hook = p->hook;

    if (hook && hook->window && (!view.window || hook->window < view.window))
        view.window = (uint32_t)hook->window;
    for (size_t t = 0; p->alone && t < n; t++) {
        const size_t at = t * p->m->shape.n_head * gkv__shape_of(p->m, il)->head_dim;

        gkv__attend(p->e, p->c, ic, p->e->att + at, p->e->q + at, 1, slot + t, &view, NULL);
    }
    if (p->alone)
        return;
    if (p->sparse) {
        gkv__attend_sparse(p->e, p->sparse, p->c, ic, p->e->att, p->e->q, n, slot, &view);
        return;
    }
    gkv__attend(p->e, p->c, ic, p->e->att, p->e->q, n, slot, &view,
                hook && hook->attended ? hook->sums : p->sums);
    if (hook && hook->attended)
        hook->attended(hook, p, ic, n, slot, &view);
}

/* Attention: slots slot .. of the cache, positions as in e->turn.  First keys and values of the normalised rows h, ... */
static void store(const struct gkv__pass *p, uint32_t il, struct gkv__rows *h, uint64_t slot, uint32_t ic)
{
    struct gkv__exec *e = p->e;
    const struct gkv__layer_weights *w = &p->m->layer[il];
    const struct gkv__shape *s = gkv__shape_of(p->m, il);

    if (w->shares)
        return;
    keys(e, p->m, il, h);
    if (w->v.data)
        gkv__gemm(e, e->v, h, &w->v, false);
    if (w->v_bias || w->v_norm)
        heads(e, s, e->v, h->n, s->n_head_kv, w->v_bias, w->v_norm, false, NULL);
    if (gkv__uses_hadamard(p->c->type)) {
        gkv__hadamard(e, e->k, h->n, s->n_head_kv);
        gkv__hadamard(e, e->v, h->n, s->n_head_kv);
    }
    gkv__cache_put(p->c, ic, slot, e->k, e->v, h->n, e->n_threads);
}

/* ... then their queries, and the sums. */
static void by_attention(const struct gkv__pass *p, uint32_t il, float *x, struct gkv__rows *h, uint64_t slot, uint32_t ic)
{
    struct gkv__exec *e = p->e;
    const gkv_model *m = p->m;
    const struct gkv__layer_weights *w = &m->layer[il];
    const bool turned = gkv__uses_hadamard(p->c->type);
    const size_t n = h->n;
    struct gkv__rows att = { e->att, n, e->gate, NULL };

    queries(e, m, il, h, 0);
    if (turned)
        gkv__hadamard(e, e->q, n, m->shape.n_head);
    attend(p, il, w->shares ? w->source : ic, n, slot);
    if (turned)                                /* sums of turned values are turned, too     */
        gkv__hadamard(e, e->att, n, m->shape.n_head);
    if (m->shape.gated)
        gkv__for(e->n_threads, items(n), gate_item, &(struct rows){ .e = e, .m = m, .in = e->up, .out = e->att, .n = n });
    add(e, m, x, &att, &w->o, w->o_bias, w->attn_post);
}

/* What mixes the rows with those before them by a state. */
static void by_state(const struct gkv__pass *p, uint32_t il, float *x, size_t n, uint64_t slot, uint32_t ic)
{
    struct gkv__exec *e = p->e;
    const struct gkv__layer_weights *w = &p->m->layer[il];
    struct gkv__rows h = { e->h, n, e->gate, NULL }, y = { NULL, n, e->gate, NULL };

    norm(e, p->m, e->h, x, w->attn_norm, n);
    y.x = gkv__state(p, il, &h, p->c->layer[ic].state, slot == 0);
    add(e, p->m, x, &y, &w->out, NULL, NULL);
}

static void mlp(const struct gkv__pass *p, uint32_t il, float *x, size_t n)
{
    struct gkv__exec *e = p->e;
    const gkv_model *m = p->m;
    const struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__rows h2 = { e->h, n, e->att, NULL }, gate = { e->gate, n, e->up, NULL };

    if (m->shape.beside) {
        gkv__experts_beside(e, m, il, x, n);
        return;
    }
    norm(e, m, e->h, x, w->ffn_norm, n);
    if (w->router.data) {
        gkv__experts(e, m, il, x, &h2);
        return;
    }
    gkv__gemm(e, e->gate, &h2, &w->gate, false);
    gkv__gemm(e, e->up, &h2, &w->up, false);
    gkv__glu(e, m, e->gate, e->up, n, w->gate.n_out);
    add(e, m, x, &gate, &w->down, NULL, w->ffn_post);
}

/* Rows of n_embd_layer: out = (norm(out / sqrt(n_embd)) + the layer's embedding of the token) / sqrt(2); up: room. */
static void own_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const struct gkv__mat *w = &r->m->layer_embed;
    const size_t d = r->m->shape.n_embd, n = r->m->shape.n_embd_layer;
    const float in = 1 / sqrtf((float)d), scale = sqrtf((float)n), half = sqrtf(0.5f);

    (void)thread;
    for (size_t t = i * ROWS; t < end_of(r, i); t++) {
        float *y = r->out + t * n, *own = r->up + t * d;

        for (size_t j = 0; j < n; j++)
            y[j] *= in;
        r->e->simd->rmsnorm(y, y, r->w, n, r->m->shape.eps);
        r->e->simd->unpack[w->format->type](w->data + r->id[t] * gkv__mat_row_bytes(w) + r->at, own, n);
        for (size_t j = 0; j < n; j++)
            y[j] = (y[j] + scale * own[j]) * half;
    }
}

/* Adds what the tokens' embeddings for this layer give. */
static void own_embeddings(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n)
{
    struct gkv__exec *e = p->e;
    const gkv_model *m = p->m;
    const struct gkv__layer_weights *w = &m->layer[il];
    const uint32_t width = m->shape.n_embd_layer;
    struct gkv__rows now = { x, n, e->att, NULL }, first = { e->h, n, e->att, NULL }, gate = { e->gate, n, e->up, NULL };
    const struct gkv__quant *format = m->layer_embed.format;
    struct rows r = { .e = e, .m = m, .w = m->layer_embed_norm, .out = e->up, .up = e->h, .id = id, .n = n,
                      .at = (size_t)il * width / format->block * format->bytes };

    gkv__gemm(e, e->gate, &now, &w->embed_gate, false);
    gkv__embed(e, m, id, e->h, n);
    gkv__gemm(e, e->up, &first, &w->embed_in, false);
    gkv__for(e->n_threads, items(n), own_item, &r);
    gkv__glu(e, m, e->gate, e->up, n, width);
    add(e, m, x, &gate, &w->embed_out, NULL, w->embed_post);
}

static void scale_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t d = r->m->shape.n_embd;

    (void)thread;
    for (size_t j = i * ROWS * d; j < end_of(r, i) * d; j++)
        r->out[j] *= *r->w;
}

/* What follows attention or state. */
static void rest(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n)
{
    mlp(p, il, x, n);
    if (p->m->layer[il].embed_gate.data)
        own_embeddings(p, il, id, x, n);
    if (p->m->layer[il].out_scale)
        gkv__for(p->e->n_threads, items(n), scale_item,
                 &(struct rows){ .m = p->m, .w = p->m->layer[il].out_scale, .out = x, .n = n });
}

/* A layer without attention has no use for the turns of its positions. */
static void layer(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t slot,
                  uint32_t ic)
{
    struct gkv__rows h = { p->e->h, n, p->e->gate, NULL };

    if (gkv__attends(p->m, il)) {
        norm(p->e, p->m, p->e->h, x, p->m->layer[il].attn_norm, n);
        store(p, il, &h, slot, ic);
        by_attention(p, il, x, &h, slot, ic);
    } else
        by_state(p, il, x, n, slot, ic);
    rest(p, il, id, x, n);
}

void gkv__layer_kv(const struct gkv__pass *p, uint32_t il, const float *x, size_t n, uint64_t pos, uint32_t ic)
{
    struct gkv__rows h = { p->e->h, n, p->e->gate, NULL };

    gkv__turn(p, il, n, pos);
    norm(p->e, p->m, p->e->h, x, p->m->layer[il].attn_norm, n);
    store(p, il, &h, pos - p->c->layer[ic].shift, ic);
}

void gkv__layer_rest(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t pos,
                     uint32_t ic)
{
    struct gkv__rows h = { p->e->h, n, p->e->gate, NULL };

    gkv__turn(p, il, n, pos);
    norm(p->e, p->m, p->e->h, x, p->m->layer[il].attn_norm, n);
    by_attention(p, il, x, &h, pos - p->c->layer[ic].shift, ic);
    rest(p, il, id, x, n);
}

void gkv__layer(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t pos,
                uint32_t ic)
{
    if (gkv__attends(p->m, il))
        gkv__turn(p, il, n, pos);
    layer(p, il, id, x, n, pos - p->c->layer[ic].shift, ic);
}

void gkv__layer_at(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t slot,
                   const uint32_t *at, uint32_t ic)
{
    if (gkv__attends(p->m, il))
        turn_at(p, il, n, at);
    layer(p, il, id, x, n, slot, ic);
}

/* All keys of a layer turn by the same angle, that of one position.  They already contain the scale of
 * cosines and sines, so it is divided out here. */
void gkv__move_keys(const struct gkv__pass *p, uint64_t slot, size_t n, uint64_t from, uint64_t to)
{
    struct gkv__exec *e = p->e;
    struct gkv__cache *c = p->c;
    const size_t d = c->head_dim;

    for (uint32_t il = 0; il < c->n_layer; il++) {
        const float scale = (float)gkv__model_rope(p->m, il, p->span)->scale;

        gkv__turn(p, il, 1, from > to ? from - to : to - from);
        for (size_t x = 0; x < p->m->shape.n_rot; x++)
            e->turn[x] /= scale;
        for (uint32_t ih = 0; ih < c->n_head_kv; ih++)
            for (size_t i = 0; i < n; i++) {
                uint8_t *k = gkv__cache_k(c, il, ih, slot + i);

                e->simd->unpack[c->type->type](k, e->k, d);
                gkv__rotate(&p->m->shape, e->k, e->turn, from > to);
                c->type->from_f32(e->k, k, d);
            }
    }
}

/* Scales and caps n logits. */
static void cap_item(void *arg, size_t i, unsigned thread)
{
    const struct rows *r = arg;
    const size_t at = i * LOGITS, n = r->n - at < LOGITS ? r->n - at : LOGITS;
    const float scale = r->m->shape.logit_scale;

    (void)thread;
    for (size_t j = 0; scale > 0 && j < n; j++)
        r->out[at + j] *= scale;
    if (r->m->shape.logit_cap > 0)
        r->e->simd->softcap(r->out + at, n, r->m->shape.logit_cap);
}

void gkv__logits_by(struct gkv__exec *e, const gkv_model *m, const float *w, const struct gkv__mat *head, const float *x,
                    size_t n, float *logits)
{
    struct gkv__rows h = { e->h, n, e->gate, NULL };
    struct rows r = { .e = e, .m = m, .out = logits, .n = n * m->shape.n_vocab };

    norm(e, m, e->h, x, w, n);
    gkv__gemm(e, logits, &h, head, false);
    if (m->shape.logit_cap > 0 || m->shape.logit_scale > 0)
        gkv__for(e->n_threads, (r.n + LOGITS - 1) / LOGITS, cap_item, &r);
}

void gkv__logits(struct gkv__exec *e, const gkv_model *m, const float *x, size_t n, float *logits)
{
    gkv__logits_by(e, m, m->output_norm, &m->output, x, n, logits);
}

/* Terms are relative to the largest, so none overflows and the sum is at least 1. */
float gkv__log_probability(const float *logits, size_t n, uint32_t id)
{
    float max = logits[0];
    double sum = 0;

    for (size_t i = 1; i < n; i++)
        max = logits[i] > max ? logits[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += (double)expf(logits[i] - max);
    return (float)((double)logits[id] - (double)max - log(sum));
}
