/* SPDX-License-Identifier: BSD-2-Clause
 * state.c - see state.h.
 *
 * Rows go through the delta rule TILE at a time, so that nearly all of it is products of matrices.  With G[i]
 * the sum of log a over the tile's rows up to i, and S the state before the tile,
 *
 *     A[i][j] = b[i] exp(G[i] - G[j]) k[i] . k[j]     for j < i
 *     (I + A) U = b (V - exp(G) K S)                  U: what each row adds to the state
 *     O = exp(G) Q S + P U     P[i][j] = exp(G[i] - G[j]) q[i] . k[j]    for j <= i
 *     S = exp(G[last]) S + K'^T U     k'[j] = exp(G[last] - G[j]) k[j]
 *
 * Mamba-2 is the same without A: U = b V.
 *
 * No exponent is above 0.  This is the paper's chunked form, with S taken in before the triangular system is solved
 * and not after, so that one solution is enough.  One row alone, as in decoding, goes by the rule itself.  Tiles
 * begin at the first row of a block: texts cut at multiples of TILE give the same bits.
 *
 * A work item is a head of values, which takes its tiles in order from the projections to the gated output, so that
 * what is between stays in a cache; results do not depend on threads.  Heads that share a key each convolve it. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/size.h"
#include "src/base/thread.h"
#include "src/engine/state.h"

enum {
    TILE = 64,
    HALF = TILE / 2,            /* rows of a product whose upper right is not needed         */
    PART = 16,                  /* rows of the triangular system that are solved one by one  */
    LANES = 16,                 /* rows of scratch are multiples of it                       */
    CHANNELS = 256,             /* of a work item of the short convolution                   */
    ROWS = 64,                  /* of a work item elsewhere                                  */
};

struct job {
    struct gkv__exec               *e;
    const struct gkv__shape        *m;
    const struct gkv__layer_weights *w;
    size_t  n;                          /* rows                                              */
    float  *tail;                       /* [width - 1][channels] of the state                */
    float  *s;                          /* [v_heads][k_dim][v_dim] of the state              */
    /* Arrays in e->state, each for e->chunk rows: */
    float  *qkv;                        /* [channels]                                        */
    float  *z;                          /* [v_heads * v_dim]                                 */
    float  *beta, *alpha;               /* [v_heads]: b, and log a                           */
    float  *y;                          /* [v_heads * v_dim], in e->att                      */
};

static size_t up(size_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

uint64_t gkv__state_row(const struct gkv__shape *s)
{
    return s->state.width ? gkv__state_channels(s) + s->state.v_heads * ((uint64_t)s->state.v_dim + 2) : 0;
}

/* ---- the convolution -------------------------------------------------------------------- */

/* y[n][ldy]: rows at .. of `width` channels from `first` on.  The state's rows come before those of the block. */
static void convolve(const struct job *j, float *y, size_t ldy, size_t at, size_t n, size_t first, size_t width)
{
    const size_t all = (size_t)gkv__state_channels(j->m), before = j->m->state.width - 1;
    const float *x[TILE + CONVOLVE_MOST];

    for (size_t t = 0; t < n + before; t++)
        x[t] = first + (at + t < before ? j->tail + (at + t) * all : j->qkv + (at + t - before) * all);
    j->e->simd->state.convolve(y, ldy, x, j->w->conv + first * j->m->state.width,
                               j->w->conv_bias ? j->w->conv_bias + first : NULL, n, j->m->state.width, width,
                               j->w->mixer != GKV__SHORT_CONV);
}

/* The last rows become the state. */
static void keep_tail(const struct job *j)
{
    const size_t all = (size_t)gkv__state_channels(j->m), before = j->m->state.width - 1;
    const size_t new = gkv__min(j->n, before), old = before - new;

    memmove(j->tail, j->tail + new * all, old * all * sizeof *j->tail);
    memcpy(j->tail + old * all, j->qkv + (j->n - new) * all, new * all * sizeof *j->tail);
}

/* ---- rates and decays ------------------------------------------------------------------- */

static void rates_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t heads = j->m->state.v_heads;

    (void)thread;
    for (size_t t = i * ROWS; t < gkv__min((i + 1) * ROWS, j->n); t++)
        j->e->simd->state.rates(j->beta + t * heads, j->alpha + t * heads, j->w->dt, j->w->a, heads,
                                j->w->mixer == GKV__MAMBA2);
}

/* ---- the delta rule --------------------------------------------------------------------- */

/* One head; arrays in the thread's scratch.  Rows of k and q are wk apart, those of u and o wv; what is beyond a
 * dimension is undefined. */
struct head {
    const struct gkv__simd *simd;
    size_t dk, dv, wk, wv, n;           /* dimensions, distances of rows, rows of the tile   */
    bool   delta;                       /* the rule, and not Mamba-2                         */
    float *s;                           /* [dk][dv]                                          */
    float *k, *q;                       /* [TILE][wk]                                        */
    float *u, *o;                       /* [TILE][wv]                                        */
    float *kk, *qk;                     /* [TILE][TILE]                                      */
    float *panels;                      /* of k                                              */
    float *k_unit, *q_unit;             /* [dk]: weights of norms that make vectors of length 1, and 1 / sqrt(dk) */
    float *b, *g;                       /* [TILE]: rates; sums of the decays' logarithms     */
    float *from, *to;                   /* [TILE]: decays from the tile's begin, and to its last row */
};

/* Distance of rows: they do not all begin in the same few sets of a cache. */
static size_t apart(size_t n)
{
    return up(n) + LANES;
}

/* Floats of each array above. */
enum { N_ARRAYS = 8 };

static void arrays(const struct gkv__simd *simd, const struct gkv__shape *m, size_t size[N_ARRAYS])
{
    const size_t dk = m->state.k_dim, dv = m->state.v_dim, nr = simd->nr;
    const size_t all[N_ARRAYS] = {
        TILE * apart(dk), TILE * apart(dk), TILE * apart(dv), TILE * apart(dv), 2 * TILE * TILE,
        up(dk * ((TILE + nr - 1) / nr * nr)), 2 * up(dk), 4 * TILE,
    };

    memcpy(size, all, sizeof all);
}

uint64_t gkv__state_scratch(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    size_t size[N_ARRAYS];
    uint64_t sum = 0;

    if (!s->state.width)
        return 0;
    arrays(simd, s, size);
    for (size_t i = 0; i < N_ARRAYS && s->state.k_dim; i++)
        sum += size[i];
    return sum * sizeof(float);
}

static void open_head(struct head *d, const struct job *j, size_t h, float *p)
{
    const struct gkv__state_shape *s = &j->m->state;
    float **const to[N_ARRAYS] = { &d->k, &d->q, &d->u, &d->o, &d->kk, &d->panels, &d->k_unit, &d->b };
    size_t size[N_ARRAYS];

    arrays(j->e->simd, j->m, size);
    for (size_t i = 0; i < N_ARRAYS; p += size[i++])
        *to[i] = p;
    d->simd = j->e->simd;
    d->delta = j->w->mixer == GKV__DELTA;
    d->dk = s->k_dim;
    d->dv = s->v_dim;
    d->wk = apart(d->dk);
    d->wv = apart(d->dv);
    d->s = j->s + h * d->dk * d->dv;
    d->qk = d->kk + TILE * TILE;
    d->q_unit = d->k_unit + up(d->dk);
    d->g = d->b + TILE;
    d->from = d->g + TILE;
    d->to = d->from + TILE;
    for (size_t i = 0; i < d->dk; i++) {
        d->k_unit[i] = 1 / sqrtf((float)d->dk);
        d->q_unit[i] = 1 / (float)d->dk;
    }
}

/* Loads rows at .. of head h into k, q, u and b; sums the decays in g. */
static void load(struct head *d, const struct job *j, size_t h, size_t at)
{
    const struct gkv__state_shape *s = &j->m->state;
    const size_t hk = s->side_by_side ? h / (s->v_heads / s->k_heads) : h % s->k_heads;
    const size_t all = (size_t)gkv__state_channels(j->m), keys = (size_t)s->k_heads * s->k_dim, values = all - 2 * keys;
    const size_t q = d->delta ? 0 : values + keys, k = d->delta ? keys : values, v = d->delta ? 2 * keys : 0;
    const float eps = 1e-6f / (float)d->dk;     /* of the mean: 1e-6 of the sum              */
    float sum = 0;

    convolve(j, d->q, d->wk, at, d->n, q + hk * d->dk, d->dk);
    convolve(j, d->k, d->wk, at, d->n, k + hk * d->dk, d->dk);
    convolve(j, d->u, d->wv, at, d->n, v + h * d->dv, d->dv);
    for (size_t t = 0; t < d->n; t++) {
        float *qt = d->q + t * d->wk, *kt = d->k + t * d->wk;

        if (d->delta) {
            d->simd->rmsnorm(qt, qt, d->q_unit, d->dk, eps);
            d->simd->rmsnorm(kt, kt, d->k_unit, d->dk, eps);
        }
        d->b[t] = j->beta[(at + t) * s->v_heads + h];
        d->g[t] = sum += j->alpha[(at + t) * s->v_heads + h];
    }
}

/* Products of rows of x with the keys up to each of them, and with some after it. */
static void with_keys(const struct head *d, float *out, const float *x)
{
    for (size_t at = 0; at < d->n; at += HALF)
        d->simd->gemm(out + at * TILE, TILE, x + at * d->wk, d->wk, d->panels, gkv__min(HALF, d->n - at),
                      gkv__min(at + HALF, d->n), d->dk, 0);
}

/* Solves (I + A) U = u in place; kk is -A. */
static void solve(const struct head *d)
{
    for (size_t at = 0; at < d->n; at += PART) {
        const size_t n = gkv__min(PART, d->n - at);
        float *u = d->u + at * d->wv;

        if (at)
            d->simd->state.multiply(u, d->wv, d->kk + at * TILE, TILE, d->u, d->wv, n, d->dv, at, 1);
        d->simd->state.solve(u, d->wv, d->kk + at * TILE + at, TILE, n, d->dv);
    }
}

/* o += P U */
static void add_own(const struct head *d)
{
    for (size_t at = 0; at < d->n; at += PART)
        d->simd->state.multiply(d->o + at * d->wv, d->wv, d->qk + at * TILE, TILE, d->u, d->wv,
                                gkv__min(PART, d->n - at), d->dv, gkv__min(at + PART, d->n), 1);
}

static void tile(struct head *d)
{
    const struct gkv__state_kernels *x = &d->simd->state;
    const size_t n = d->n, dk = d->dk, dv = d->dv, nr = d->simd->nr;
    float by[TILE];

    for (size_t c = 0; c < n; c += nr)
        d->simd->pack(d->panels + c * dk, d->k + c * d->wk, d->wk, gkv__min(nr, n - c), dk);
    if (d->delta)
        with_keys(d, d->kk, d->k);
    with_keys(d, d->qk, d->q);
    x->weigh(d->delta ? d->kk : NULL, d->qk, TILE, d->g, d->b, d->from, d->to, n);
    x->scale(d->u, d->wv, d->b, n, dv);
    x->scale(d->q, d->wk, d->from, n, dk);
    x->multiply(d->o, d->wv, d->q, d->wk, d->s, dv, n, dv, dk, 0);
    if (d->delta) {                             /* u = b (v - exp(g) k S); q has room for that k */
        for (size_t t = 0; t < n; t++) {
            by[t] = -d->b[t] * d->from[t];
            memcpy(d->q + t * d->wk, d->k + t * d->wk, dk * sizeof *d->q);
        }
        x->scale(d->q, d->wk, by, n, dk);
        x->multiply(d->u, d->wv, d->q, d->wk, d->s, dv, n, dv, dk, 1);
        solve(d);
    }
    add_own(d);
    x->scale(d->k, d->wk, d->to, n, dk);
    x->multiply_turned(d->s, dv, d->k, d->wk, d->u, d->wv, dk, dv, n, d->from[n - 1]);
}

/* y += skip x */
static void skip(float *y, float by, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += by * x[i];
}

static void head_item(void *arg, size_t h, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__simd *simd = j->e->simd;
    const size_t width = (size_t)j->m->state.v_heads * j->m->state.v_dim;
    struct head d;

    open_head(&d, j, h, gkv__scratch(j->e, thread));
    for (size_t at = 0; at < j->n; at += TILE) {
        d.n = gkv__min(TILE, j->n - at);
        load(&d, j, h, at);
        for (size_t t = 0; !d.delta && t < d.n; t++)
            memcpy(j->y + (at + t) * width + h * d.dv, d.u + t * d.wv, d.dv * sizeof *d.u);
        if (j->n == 1)
            simd->state.step(d.o, d.s, d.dv, d.k, d.q, d.u, expf(d.g[0]), d.b[0], d.dk, d.dv, d.delta);
        else
            tile(&d);
        for (size_t t = 0; t < d.n; t++) {
            const size_t to = (at + t) * width + h * d.dv;
            float *o = d.o + t * d.wv;

            if (d.delta) {                      /* z = silu(z) rmsnorm(o)                    */
                simd->rmsnorm(o, o, j->w->state_norm, d.dv, j->m->eps);
                simd->swiglu(j->z + to, o, d.dv);
            } else {                            /* y = o + skip x                            */
                skip(o, j->w->skip[h], j->y + to, d.dv);
                memcpy(j->y + to, o, d.dv * sizeof *o);
            }
        }
    }
}

/* z = rmsnorm(y silu(z)), by groups of heads that share a key. */
static void group_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__state_shape *s = &j->m->state;
    const size_t width = (size_t)s->v_heads * s->v_dim, group = width / s->k_heads;

    (void)thread;
    for (size_t t = i * ROWS; t < gkv__min((i + 1) * ROWS, j->n); t++) {
        float *z = j->z + t * width;

        j->e->simd->swiglu(z, j->y + t * width, width);
        for (size_t g = 0; g < width; g += group)
            j->e->simd->rmsnorm(z + g, z + g, j->w->state_norm + g, group, j->m->eps);
    }
}

/* Beta has also alpha, for each head of keys those of its heads one after the other; j->y is idle. */
static void split(struct job *j)
{
    const size_t kh = j->m->state.k_heads, vh = j->m->state.v_heads, r = vh / kh;
    const float *both = memcpy(j->y, j->beta, 2 * j->n * vh * sizeof *j->y);

    for (size_t t = 0; t < j->n; t++)
        for (size_t h = 0; h < vh; h++) {
            const float *of = both + t * 2 * vh + h / r * 2 * r + h % r;

            j->beta[t * vh + h] = of[0];
            j->alpha[t * vh + h] = of[r];
        }
}

static void multiply_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t d = (size_t)gkv__state_channels(j->m);

    (void)thread;
    for (size_t x = i * ROWS * d; x < gkv__min((i + 1) * ROWS, j->n) * d; x++)
        j->qkv[x] *= j->y[x];
}

/* z *= convolution of qkv; y is idle. */
static void convolve_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t all = (size_t)gkv__state_channels(j->m), first = i * CHANNELS, n = gkv__min(CHANNELS, all - first);

    (void)thread;
    for (size_t at = 0; at < j->n; at += TILE) {
        const size_t end = gkv__min(at + TILE, j->n);

        convolve(j, j->y + at * all + first, all, at, end - at, first, n);
        for (size_t t = at; t < end; t++)
            for (size_t c = first; c < first + n; c++)
                j->z[t * all + c] *= j->y[t * all + c];
    }
}

/* The three projections go to qkv, y and z. */
static void project_short(struct job *j, struct gkv__rows *h)
{
    gkv__gemm(j->e, j->qkv, h, &j->w->qkv, false);
    gkv__gemm(j->e, j->y, h, &j->w->beta, false);
    gkv__gemm(j->e, j->z, h, &j->w->z, false);
    gkv__for(j->e->n_threads, (j->n + ROWS - 1) / ROWS, multiply_item, j);
}

static void project(struct job *j, struct gkv__rows *h)
{
    gkv__gemm(j->e, j->qkv, h, &j->w->qkv, false);
    gkv__gemm(j->e, j->z, h, &j->w->z, false);
    if (j->w->beta.data)
        gkv__gemm(j->e, j->beta, h, &j->w->beta, false);
    if (j->w->alpha.data)
        gkv__gemm(j->e, j->alpha, h, &j->w->alpha, false);
    else
        split(j);
    gkv__for(j->e->n_threads, (j->n + ROWS - 1) / ROWS, rates_item, j);
}

/* The projections go into the state, and z becomes what comes out. */
static void advance(struct job *j)
{
    const size_t channels = (size_t)gkv__state_channels(j->m);
    const unsigned n_threads = j->e->n_threads;

    if (j->w->mixer == GKV__SHORT_CONV)
        gkv__for(n_threads, (channels + CHANNELS - 1) / CHANNELS, convolve_item, j);
    else
        gkv__for(n_threads, j->m->state.v_heads, head_item, j);
    keep_tail(j);
    if (j->w->mixer == GKV__MAMBA2)
        gkv__for(n_threads, (j->n + ROWS - 1) / ROWS, group_item, j);
}

static struct job job_of(struct gkv__exec *e, const gkv_model *m, uint32_t il, size_t n, float *state)
{
    const struct gkv__shape *s = &m->shape;
    const size_t channels = (size_t)gkv__state_channels(s), chunk = e->chunk;
    struct job j = { .e = e, .m = s, .w = &m->layer[il], .n = n, .tail = state, .qkv = e->state, .y = e->att };

    j.s = state + (s->state.width - 1) * channels;
    j.z = j.qkv + chunk * channels;
    j.beta = j.z + chunk * s->state.v_heads * s->state.v_dim;
    j.alpha = j.beta + chunk * s->state.v_heads;
    return j;
}

/* ---- row by row --------------------------------------------------------------------------- */

/* Row t of the block, as a block of its own. */
static struct job row_of(const struct job *j, size_t t)
{
    const size_t heads = j->m->state.v_heads, width = heads * j->m->state.v_dim;
    struct job one = *j;

    one.n = 1;
    one.qkv += t * gkv__state_channels(j->m);
    one.z += t * width;
    one.y += t * width;
    one.beta += t * heads;
    one.alpha += t * heads;
    return one;
}

static size_t row_floats(const struct gkv__shape *s)
{
    return (size_t)gkv__state_channels(s) + 2 * (size_t)s->state.v_heads;
}

/* Row t of layer il. */
static float *kept_row(const struct gkv__rewind *r, const gkv_model *m, uint32_t il, size_t t)
{
    return r->row + ((il - gkv__n_attending(m, il)) * r->most + t) * row_floats(&m->shape);
}

/* What the state takes in of the job's only row: to `row`, or from there. */
static void copy_row(const struct job *j, float *row, bool from)
{
    const size_t heads = j->m->state.v_heads;
    const struct { float *x; size_t n; } part[] = {
        { j->qkv, (size_t)gkv__state_channels(j->m) }, { j->beta, heads }, { j->alpha, heads },
    };

    for (size_t i = 0; i < sizeof part / sizeof *part; row += part[i++].n)
        memcpy(from ? part[i].x : row, from ? row : part[i].x, part[i].n * sizeof *row);
}

static void advance_alone(const struct gkv__pass *p, uint32_t il, const struct job *j)
{
    for (size_t t = 0; t < j->n; t++) {
        struct job one = row_of(j, t);

        if (p->rewind)
            copy_row(&one, kept_row(p->rewind, p->m, il, t), false);
        advance(&one);
    }
}

float *gkv__state(const struct gkv__pass *p, uint32_t il, struct gkv__rows *h, float *state, bool anew)
{
    struct job j = job_of(p->e, p->m, il, h->n, state);

    if (anew)
        memset(state, 0, (size_t)gkv__state_floats(j.m) * sizeof *state);
    if (j.w->mixer == GKV__SHORT_CONV)
        project_short(&j, h);
    else
        project(&j, h);
    if (p->alone)
        advance_alone(p, il, &j);
    else
        advance(&j);
    return j.z;
}

uint64_t gkv__rewind_floats(const gkv_model *m, size_t rows)
{
    const uint32_t n_layer = m->shape.n_layer, n = n_layer - gkv__n_attending(m, n_layer);

    return n ? gkv__plus(gkv__states_floats(m, n_layer), gkv__times((uint64_t)n * rows, row_floats(&m->shape))) : 0;
}

gkv_status gkv__rewind_open(struct gkv__rewind *r, const gkv_model *m, size_t rows, gkv_error *err)
{
    const uint64_t n = gkv__rewind_floats(m, rows);

    *r = (struct gkv__rewind){ .most = rows };
    if (n && !(r->states = gkv__pages(n, sizeof *r->states)))
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for states to go back to",
                         gkv__needed(n * sizeof *r->states).text);
    r->row = n ? r->states + gkv__states_floats(m, m->shape.n_layer) : NULL;
    return GKV_OK;
}

void gkv__rewind_close(struct gkv__rewind *r, const gkv_model *m)
{
    if (r->states)
        gkv__pages_free(r->states, gkv__rewind_floats(m, r->most), sizeof *r->states);
    *r = (struct gkv__rewind){ .n = 0 };
}

void gkv__rewind_begin(struct gkv__rewind *r, const struct gkv__cache *c, size_t n)
{
    r->n = n;
    r->touched = true;
    if (r->states)
        gkv__states_save(c, r->states);
}

void gkv__rewind_to(struct gkv__rewind *r, const struct gkv__pass *p, size_t n)
{
    if (r->states && n < r->n) {
        gkv__states_restore(p->c, r->states);
        for (uint32_t il = 0; il < p->m->shape.n_layer; il++)
            for (size_t t = 0; t < n && !gkv__attends(p->m, il); t++) {
                struct job j = job_of(p->e, p->m, il, 1, p->c->layer[il].state);

                copy_row(&j, kept_row(r, p->m, il, t), true);
                memset(j.z, 0, (size_t)j.m->state.v_heads * j.m->state.v_dim * sizeof *j.z);  /* nobody reads it */
                advance(&j);
            }
    }
    r->n = 0;
}
