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
 * A work item is a head of values, which goes through its tiles in order; so results do not depend on threads. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/size.h"
#include "src/base/thread.h"
#include "src/engine/state.h"

enum {
    TILE = 64,
    PART = 16,                  /* rows of the triangular system that are solved one by one  */
    LANES = 16,                 /* floats that loops below take at a time                    */
    CHANNELS = 256,             /* of a work item of the convolution                         */
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

/* In place from the last row to the first, so that earlier rows are still there.  The state's rows come before
 * them, and the last rows become the state. */
static void convolve_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t all = (size_t)gkv__state_channels(j->m), first = i * CHANNELS, n = gkv__min(CHANNELS, all - first);
    const size_t width = j->m->state.width, before = width - 1;
    float *old = gkv__scratch(j->e, thread), *weight = old + before * CHANNELS, *sum = weight + width * CHANNELS;
    float *ones = sum + CHANNELS;
    const float *bias = j->w->conv_bias ? j->w->conv_bias + first : NULL;

    for (size_t t = 0; t < before; t++)
        memcpy(old + t * CHANNELS, j->tail + t * all + first, n * sizeof *old);
    for (size_t t = 0; t < before; t++) {
        const size_t row = j->n + t;            /* of the old ones and the new ones together  */
        const float *from = row < before ? old + row * CHANNELS : j->qkv + (row - before) * all + first;

        memcpy(j->tail + t * all + first, from, n * sizeof *old);
    }
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < n; c++)
            weight[x * CHANNELS + c] = j->w->conv[(first + c) * width + x];
    for (size_t c = 0; c < n; c++)
        ones[c] = 1;
    for (size_t t = j->n; t-- > 0;) {
        for (size_t c = 0; c < n; c++)
            sum[c] = bias ? bias[c] : 0;
        for (size_t x = 0; x < width; x++) {
            const float *in = t + x < before ? old + (t + x) * CHANNELS : j->qkv + (t + x - before) * all + first;
            const float *by = weight + x * CHANNELS;

            for (size_t c = 0; c < n; c++)
                sum[c] += in[c] * by[c];
        }
        if (j->w->mixer != GKV__SHORT_CONV)
            j->e->simd->swiglu(sum, ones, n);
        memcpy(j->qkv + t * all + first, sum, n * sizeof *sum);
    }
}

/* ---- rates and decays ------------------------------------------------------------------- */

static float softplus(float x)
{
    return x > 20 ? x : log1pf(expf(x));
}

static void rates_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t heads = j->m->state.v_heads;

    (void)thread;
    for (size_t t = i * ROWS; t < gkv__min((i + 1) * ROWS, j->n); t++)
        for (size_t h = 0; h < heads; h++) {
            float *b = j->beta + t * heads + h, *a = j->alpha + t * heads + h;

            const float rate = softplus(*a + j->w->dt[h]);

            *b = j->w->mixer == GKV__MAMBA2 ? rate : 1 / (1 + expf(-*b));
            *a = j->w->a[h] * rate;
        }
}

/* ---- the delta rule --------------------------------------------------------------------- */

/* One head; arrays in the thread's scratch.  Rows of k, q and their like are up(k_dim) apart, those of u and o
 * up(v_dim); what is beyond a dimension is zero. */
struct head {
    const struct gkv__simd *simd;
    size_t dk, dv, wk, wv, n;           /* dimensions, distances of rows, rows of the tile   */
    bool   delta;                       /* the rule, and not Mamba-2                         */
    float *s;                           /* [dk][dv]                                          */
    float *k, *q;                       /* [TILE][wk], side by side: one product for both    */
    float *u, *o;                       /* [TILE][wv], likewise                              */
    float *kk, *qk;                     /* [TILE][TILE], likewise                            */
    float *kt;                          /* [dk][TILE]                                        */
    float *panels;                      /* of the state, of k                                */
    float *u_panels;
    float  b[TILE], g[TILE];            /* rates; sums of the decays' logarithms             */
};

static size_t panels_of(const struct gkv__simd *simd, size_t n)
{
    return (n + simd->nr - 1) / simd->nr * simd->nr;
}

/* Floats of each array above. */
enum { N_ARRAYS = 6 };

static void arrays(const struct gkv__simd *simd, const struct gkv__shape *m, size_t size[N_ARRAYS])
{
    const size_t dk = m->state.k_dim, dv = m->state.v_dim;

    size[0] = 2 * TILE * up(dk);
    size[1] = 2 * TILE * up(dv);
    size[2] = 2 * TILE * TILE;
    size[3] = up(dk) * TILE;
    size[4] = up(gkv__max(dk * panels_of(simd, dv), dk * panels_of(simd, TILE)));
    size[5] = up(TILE * panels_of(simd, dv));
}

uint64_t gkv__state_scratch(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    const uint64_t convolution = (2 * (uint64_t)s->state.width + 2) * CHANNELS;
    size_t size[N_ARRAYS];
    uint64_t sum = 0;

    if (!s->state.width)
        return 0;
    arrays(simd, s, size);
    for (size_t i = 0; i < N_ARRAYS && s->state.k_dim; i++)
        sum += size[i];
    return gkv__max(sum, convolution) * sizeof(float);
}

static void open_head(struct head *d, const struct job *j, size_t h, float *p)
{
    const struct gkv__state_shape *s = &j->m->state;
    size_t size[N_ARRAYS];

    arrays(j->e->simd, j->m, size);
    d->simd = j->e->simd;
    d->delta = j->w->mixer == GKV__DELTA;
    d->dk = s->k_dim;
    d->dv = s->v_dim;
    d->wk = up(d->dk);
    d->wv = up(d->dv);
    d->s = j->s + h * d->dk * d->dv;
    d->k = p;
    d->q = d->k + TILE * d->wk;
    d->u = p += size[0];
    d->o = d->u + TILE * d->wv;
    d->kk = p += size[1];
    d->qk = d->kk + TILE * TILE;
    d->kt = p += size[2];
    d->panels = p += size[3];
    d->u_panels = p + size[4];
}

/* to = from / |from| * scale */
static void unit(float *to, const float *from, size_t n, float scale)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += from[i] * from[i];
    scale /= sqrtf(sum + 1e-6f);
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] * scale;
}

/* y[n] += a x[n], whole lanes at a time. */
static void axpy(float *y, float a, const float *x, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            y[i + l] += a * x[i + l];
    for (; i < n; i++)
        y[i] += a * x[i];
}

static void scale(float *y, float a, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            y[i + l] *= a;
    for (; i < n; i++)
        y[i] *= a;
}

/* Panels (simd.h) of a matrix b[k][n], whose rows are ldb apart. */
static void pack_rows(const struct head *d, float *panels, const float *b, size_t ldb, size_t n, size_t k)
{
    const size_t nr = d->simd->nr;

    for (size_t c = 0; c < n; c += nr, panels += k * nr) {
        const size_t m = gkv__min(nr, n - c);

        for (size_t i = 0; i < k; i++) {
            memcpy(panels + i * nr, b + i * ldb + c, m * sizeof *panels);
            memset(panels + i * nr + m, 0, (nr - m) * sizeof *panels);
        }
    }
}

/* Loads rows at .. of head h into k, q, u and b; sums the decays in g. */
static void load(struct head *d, const struct job *j, size_t h, size_t at)
{
    const struct gkv__state_shape *s = &j->m->state;
    const size_t hk = s->side_by_side ? h / (s->v_heads / s->k_heads) : h % s->k_heads;
    const size_t all = (size_t)gkv__state_channels(j->m), keys = (size_t)s->k_heads * s->k_dim, values = all - 2 * keys;
    float sum = 0;

    for (size_t t = 0; t < d->n; t++) {
        const float *row = j->qkv + (at + t) * all;
        float *q = d->q + t * d->wk, *k = d->k + t * d->wk;

        if (d->delta) {
            unit(q, row + hk * d->dk, d->dk, 1 / sqrtf((float)d->dk));
            unit(k, row + keys + hk * d->dk, d->dk, 1);
        } else {
            memcpy(k, row + values + hk * d->dk, d->dk * sizeof *k);
            memcpy(q, row + values + keys + hk * d->dk, d->dk * sizeof *q);
        }
        memcpy(d->u + t * d->wv, row + (d->delta ? 2 * keys : 0) + h * d->dv, d->dv * sizeof *d->u);
        d->b[t] = j->beta[(at + t) * s->v_heads + h];
        d->g[t] = sum += j->alpha[(at + t) * s->v_heads + h];
    }
}

/* One row by the rule itself. */
static void step(struct head *d)
{
    const float a = expf(d->g[0]);

    memset(d->o, 0, d->dv * sizeof *d->o);
    for (size_t i = 0; i < d->dk; i++) {
        scale(d->s + i * d->dv, a, d->dv);
        if (d->delta)
            axpy(d->o, d->k[i], d->s + i * d->dv, d->dv);
    }
    for (size_t i = 0; i < d->dv; i++)
        d->u[i] = d->b[0] * (d->u[i] - d->o[i]);
    memset(d->o, 0, d->dv * sizeof *d->o);
    for (size_t i = 0; i < d->dk; i++) {
        axpy(d->s + i * d->dv, d->k[i], d->u, d->dv);
        axpy(d->o, d->q[i], d->s + i * d->dv, d->dv);
    }
}

/* kk = -A, qk = P, from the products of all rows. */
static void weigh(struct head *d)
{
    for (size_t i = 0; i < d->n; i++)
        for (size_t x = 0; x < d->n; x++) {
            const float decay = x <= i ? expf(d->g[i] - d->g[x]) : 0;

            d->qk[i * TILE + x] *= decay;
            if (d->delta)
                d->kk[i * TILE + x] *= x < i ? -d->b[i] * decay : 0;
        }
}

/* Solves (I + A) U = u in place, and packs U. */
static void solve(struct head *d)
{
    const size_t nr = d->simd->nr;

    for (size_t at = 0; at < d->n; at += PART) {
        const size_t end = gkv__min(at + PART, d->n);

        for (size_t c = 0; at && c < d->dv; c += nr)
            d->simd->gemm(d->u + at * d->wv + c, d->wv, d->kk + at * TILE, TILE, d->u_panels + c * d->n, end - at,
                          gkv__min(nr, d->dv - c), at, 1);
        for (size_t i = at; i < end; i++) {
            for (size_t x = at; x < i; x++)
                axpy(d->u + i * d->wv, d->kk[i * TILE + x], d->u + x * d->wv, d->dv);
            for (size_t c = 0; c < d->dv; c += nr) {
                float *to = d->u_panels + c * d->n + i * nr;
                const size_t m = gkv__min(nr, d->dv - c);

                memcpy(to, d->u + i * d->wv + c, m * sizeof *to);
                memset(to + m, 0, (nr - m) * sizeof *to);
            }
        }
    }
}

static void tile(struct head *d)
{
    const struct gkv__simd *simd = d->simd;
    const size_t n = d->n, dk = d->dk, dv = d->dv, nr = simd->nr;
    const float last = d->g[n - 1];

    /* Products with the keys: of the keys, and of the queries. */
    for (size_t c = 0; c < n; c += nr)
        simd->pack(d->panels + c * dk, d->k + c * d->wk, d->wk, gkv__min(nr, n - c), dk);
    if (d->delta)
        simd->gemm(d->kk, TILE, d->k, d->wk, d->panels, n, n, dk, 0);
    simd->gemm(d->qk, TILE, d->q, d->wk, d->panels, n, n, dk, 0);
    weigh(d);
    for (size_t t = 0; t < n; t++)              /* k', as columns, before k is overwritten    */
        for (size_t i = 0; i < dk; i++)
            d->kt[i * TILE + t] = expf(last - d->g[t]) * d->k[t * d->wk + i];
    /* What the state knows: u = b (v - exp(g) k S), o = exp(g) q S. */
    for (size_t t = 0; t < n; t++) {
        const float a = expf(d->g[t]);

        if (d->delta)
            scale(d->k + t * d->wk, -d->b[t] * a, dk);
        scale(d->q + t * d->wk, a, dk);
        scale(d->u + t * d->wv, d->b[t], dv);
    }
    pack_rows(d, d->panels, d->s, dv, dv, dk);
    if (d->delta)
        simd->gemm(d->u, d->wv, d->k, d->wk, d->panels, n, dv, dk, 1);
    simd->gemm(d->o, d->wv, d->q, d->wk, d->panels, n, dv, dk, 0);
    if (d->delta)
        solve(d);
    else
        pack_rows(d, d->u_panels, d->u, d->wv, dv, n);
    simd->gemm(d->o, d->wv, d->qk, TILE, d->u_panels, n, dv, n, 1);
    scale(d->s, expf(last), dk * dv);
    simd->gemm(d->s, dv, d->kt, TILE, d->u_panels, dk, dv, n, 1);
}

static void head_item(void *arg, size_t h, unsigned thread)
{
    const struct job *j = arg;
    const size_t width = (size_t)j->m->state.v_heads * j->m->state.v_dim;
    struct head d;

    open_head(&d, j, h, gkv__scratch(j->e, thread));
    for (size_t at = 0; at < j->n; at += TILE) {
        d.n = gkv__min(TILE, j->n - at);
        load(&d, j, h, at);
        (j->n == 1 ? step : tile)(&d);
        for (size_t t = 0; t < d.n; t++)
            memcpy(j->y + (at + t) * width + h * d.dv, d.o + t * d.wv, d.dv * sizeof *d.o);
    }
}

/* z = silu(z) rmsnorm(y), head by head */
static void gate_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t heads = j->m->state.v_heads, d = j->m->state.v_dim;

    (void)thread;
    for (size_t t = i * ROWS * heads; t < gkv__min((i + 1) * ROWS, j->n) * heads; t++) {
        j->e->simd->rmsnorm(j->y + t * d, j->y + t * d, j->w->state_norm, d, j->m->eps);
        j->e->simd->swiglu(j->z + t * d, j->y + t * d, d);
    }
}

/* z = rmsnorm((y + skip x) silu(z)), by groups; x is what the convolution has left. */
static void skip_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__state_shape *s = &j->m->state;
    const size_t all = (size_t)gkv__state_channels(j->m), width = (size_t)s->v_heads * s->v_dim, group = width / s->k_heads;

    (void)thread;
    for (size_t t = i * ROWS; t < gkv__min((i + 1) * ROWS, j->n); t++) {
        float *y = j->y + t * width, *z = j->z + t * width;

        for (size_t h = 0; h < s->v_heads; h++)
            axpy(y + h * s->v_dim, j->w->skip[h], j->qkv + t * all + h * s->v_dim, s->v_dim);
        j->e->simd->swiglu(z, y, width);
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
        j->y[x] *= j->qkv[x];
}

/* The three projections go to qkv, y and z. */
static void short_convolution(struct job *j, struct gkv__rows *h)
{
    const size_t channels = (size_t)gkv__state_channels(j->m), items = (j->n + ROWS - 1) / ROWS;
    struct job before = *j, after = *j;

    gkv__gemm(j->e, j->qkv, h, &j->w->qkv, false);
    gkv__gemm(j->e, j->y, h, &j->w->beta, false);
    gkv__gemm(j->e, j->z, h, &j->w->z, false);
    before.y = j->qkv;
    before.qkv = j->y;
    gkv__for(j->e->n_threads, items, multiply_item, &before);
    gkv__for(j->e->n_threads, (channels + CHANNELS - 1) / CHANNELS, convolve_item, j);
    after.y = j->z;
    gkv__for(j->e->n_threads, items, multiply_item, &after);
}

float *gkv__state(struct gkv__exec *e, const gkv_model *m, uint32_t il, struct gkv__rows *h, float *state, bool anew)
{
    const struct gkv__shape *s = &m->shape;
    const size_t channels = (size_t)gkv__state_channels(s), chunk = e->chunk;
    struct job j = { .e = e, .m = s, .w = &m->layer[il], .n = h->n, .tail = state, .qkv = e->state, .y = e->att };

    j.s = state + (s->state.width - 1) * channels;
    j.z = j.qkv + chunk * channels;
    j.beta = j.z + chunk * s->state.v_heads * s->state.v_dim;
    j.alpha = j.beta + chunk * s->state.v_heads;
    if (anew)
        memset(state, 0, (size_t)gkv__state_floats(s) * sizeof *state);
    if (j.w->mixer == GKV__SHORT_CONV) {
        short_convolution(&j, h);
        return j.z;
    }
    gkv__gemm(e, j.qkv, h, &j.w->qkv, false);
    gkv__gemm(e, j.z, h, &j.w->z, false);
    if (j.w->beta.data)
        gkv__gemm(e, j.beta, h, &j.w->beta, false);
    if (j.w->alpha.data)
        gkv__gemm(e, j.alpha, h, &j.w->alpha, false);
    else
        split(&j);
    gkv__for(e->n_threads, (channels + CHANNELS - 1) / CHANNELS, convolve_item, &j);
    gkv__for(e->n_threads, (j.n + ROWS - 1) / ROWS, rates_item, &j);
    gkv__for(e->n_threads, s->state.v_heads, head_item, &j);
    gkv__for(e->n_threads, (j.n + ROWS - 1) / ROWS, j.w->mixer == GKV__MAMBA2 ? skip_item : gate_item, &j);
    return j.z;
}
