/* SPDX-License-Identifier: BSD-2-Clause
 * null.c - gemkv-null.so: a device that is this processor, for tests.  It computes one token at a time in
 * plain loops, and fails where environment variables say:
 *
 *     GEMKV_NULL_FAIL     count describe open plan upload ready begin keys prefill step guess: the call that
 *                         fails; "upload:5": after 5 successful ones
 *     GEMKV_NULL_SLEEP    milliseconds that each upload takes
 *     GEMKV_NULL_BLOCK    most tokens of one forward; default 64
 *     GEMKV_NULL_RESIDENT layers that it has room for
 *     GEMKV_NULL_ABI      the ABI number that it reports */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gpu/plugin.h"
#include "src/quant/quant.h"

/* Keys and values of a layer, [head][slot][head_dim], and the layer's facts. */
struct slots {
    struct gkv_plugin_layer l;
    struct gkv_plugin_slots n;
    float                  *k, *v;
    float                  *tail, *state;       /* [width - 1][channels], [v_heads][k_dim][v_dim] */
};

struct null {
    struct gkv_plugin_shape   s;
    struct gkv_plugin_tensor *tensor, *of[GKV_PLUGIN_N_ROLES];      /* of[role][layer]      */
    size_t                    n_tensors, n_uploaded;
    struct slots             *slots;            /* [n_layer]                                 */
    struct gkv_plugin_begin   begun;
    uint32_t                  next;             /* position after the last token             */
    double                   *freq[GKV_PLUGIN_N_ROPES];
    size_t                    width;            /* of each row below: more than any tensor needs */
    float                    *x, *h, *q, *kv, *att, *gate, *up, *out, *row, *sum, *rating, *score, *logits;
};

static int fail(char *error, const char *what)
{
    snprintf(error, GKV_PLUGIN_ERROR, "%s", what);
    return 1;
}

/* Whether this call of `what` must fail, by the environment. */
static int broken(const char *what, char *error)
{
    static unsigned calls;
    const char *s = getenv("GEMKV_NULL_FAIL");
    const size_t n = strlen(what);

    if (!s || strncmp(s, what, n) || (s[n] && s[n] != ':'))
        return 0;
    if (s[n] && calls++ < strtoul(s + n + 1, NULL, 10))
        return 0;
    snprintf(error, GKV_PLUGIN_ERROR, "%s was told to fail", what);
    return 1;
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *s = getenv(name);

    return s ? strtoul(s, NULL, 10) : otherwise;
}

/* ---- opening ---------------------------------------------------------------------------- */

static int count(unsigned *n, char *error)
{
    *n = 2;
    return broken("count", error);
}

static int describe(unsigned device, struct gkv_plugin_device *out, char *error)
{
    snprintf(out->name, sizeof out->name, "no device %u", device);
    out->memory = (uint64_t)1 << 30;
    out->free = out->memory / 2;
    return broken("describe", error);
}

static int open_null(void **out, unsigned device, uint64_t budget, char *error)
{
    (void)device;
    *out = calloc(1, sizeof(struct null));
    if (!*out)
        return fail(error, "out of memory");
    if (budget && budget < 4096)
        return fail(error, "a budget of less than 4096 bytes");
    return broken("open", error);
}

static void drop_slots(struct null *d)
{
    for (uint32_t il = 0; d->slots && il < d->s.n_layer; il++) {
        free(d->slots[il].k);
        free(d->slots[il].v);
        free(d->slots[il].tail);
        free(d->slots[il].state);
        d->slots[il].k = d->slots[il].v = d->slots[il].tail = d->slots[il].state = NULL;
    }
    for (size_t i = 0; i < GKV_PLUGIN_N_ROPES; i++) {
        free(d->freq[i]);
        d->freq[i] = NULL;
    }
    free(d->score);
    d->score = NULL;
}

static void close_null(void *state)
{
    struct null *d = state;

    drop_slots(d);
    for (size_t i = 0; i < GKV_PLUGIN_N_ROLES; i++)
        free(d->of[i]);
    free(d->tensor);
    free(d->slots);
    free(d->x);
    free(d->logits);
    free(d);
}

static float *floats(size_t n)
{
    return calloc(n, sizeof(float));
}

static size_t channels(const struct gkv_plugin_shape *s)
{
    return 2 * (size_t)s->k_heads * s->k_dim + (size_t)s->v_heads * s->v_dim;
}

static size_t state_floats(const struct gkv_plugin_shape *s)
{
    return (size_t)s->v_heads * s->k_dim * s->v_dim;
}

static int plan(void *state, const struct gkv_plugin_shape *s, const struct gkv_plugin_tensor *t, size_t n,
                uint32_t n_tokens, uint32_t n_positions, char *error)
{
    struct null *d = state;
    float **const rows[] = { &d->x, &d->h, &d->q, &d->kv, &d->att, &d->gate, &d->up, &d->out, &d->row, &d->sum,
                             &d->rating };
    const size_t n_rows = sizeof rows / sizeof *rows;

    (void)n_tokens;
    (void)n_positions;
    d->s = *s;
    d->n_tensors = n;
    d->tensor = malloc(n * sizeof *d->tensor);
    d->slots = calloc(s->n_layer, sizeof *d->slots);
    d->logits = floats(s->n_vocab);
    d->width = 2 * (size_t)s->n_embd;
    for (size_t i = 0; i < n; i++) {
        const uint32_t role = t[i].role;
        const size_t out = role == GKV_PLUGIN_EMBED || role == GKV_PLUGIN_OUTPUT || role == GKV_PLUGIN_LAYER_EMBED ||
                           s->n_expert ? 0 : t[i].n_out;

        d->width = out > d->width ? out : t[i].n_in > d->width && t[i].n_out > 1 ? t[i].n_in : d->width;
    }
    for (uint32_t il = 0; il < s->n_layer; il++)
        if (2 * (size_t)s->n_head * s->layer[il].head_dim > d->width)
            d->width = 2 * (size_t)s->n_head * s->layer[il].head_dim;
    d->width = s->n_expert > d->width ? s->n_expert : d->width;
    d->x = floats(n_rows * d->width);
    for (size_t i = 0; i < GKV_PLUGIN_N_ROLES; i++)
        if (!(d->of[i] = calloc(s->n_layer, sizeof **d->of)))
            return fail(error, "out of memory");
    if (!d->tensor || !d->slots || !d->x || !d->logits)
        return fail(error, "out of memory");
    for (size_t i = 1; i < n_rows; i++)
        *rows[i] = d->x + i * d->width;
    for (uint32_t il = 0; il < s->n_layer; il++)
        d->slots[il].l = s->layer[il];
    memcpy(d->tensor, t, n * sizeof *t);
    return broken("plan", error);
}

static int upload(void *state, size_t i, char *error)
{
    struct null *d = state;
    const unsigned long ms = setting("GEMKV_NULL_SLEEP", 0);
    const struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

    nanosleep(&t, NULL);
    if (i != d->n_uploaded || i >= d->n_tensors)
        return fail(error, "tensors out of order");
    d->of[d->tensor[i].role][d->tensor[i].layer] = d->tensor[i];
    d->n_uploaded++;
    return broken("upload", error);
}

static int ready(void *state, char *error)
{
    struct null *d = state;

    if (d->n_uploaded != d->n_tensors)
        return fail(error, "ready before the last upload");
    return broken("ready", error);
}

static int begin(void *state, const struct gkv_plugin_begin *b, char *error)
{
    struct null *d = state;
    uint32_t most = 0;

    drop_slots(d);
    d->begun = *b;
    d->next = b->first;
    for (size_t i = 0; i < GKV_PLUGIN_N_ROPES; i++)
        if (b->rope[i].freq) {
            if (!(d->freq[i] = malloc(b->rope[i].n_rot / 2 * sizeof **d->freq)))
                return fail(error, "out of memory");
            memcpy(d->freq[i], b->rope[i].freq, b->rope[i].n_rot / 2 * sizeof **d->freq);
        }
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        struct slots *c = &d->slots[il];
        const size_t all = (size_t)b->layer[il].n * b->layer[il].n_head_kv * c->l.head_dim;

        c->n = b->layer[il];
        c->k = floats(all);
        c->v = floats(all);
        c->tail = floats(d->s.state_width * channels(&d->s) + 1);
        c->state = floats(state_floats(&d->s) + 1);
        if (!c->k || !c->v || !c->tail || !c->state)
            return fail(error, "out of memory");
        most = c->n.n > most ? c->n.n : most;
    }
    if (!(d->score = floats(most)))
        return fail(error, "out of memory");
    return broken("begin", error);
}

static int keys(void *state, uint32_t layer, uint32_t head, uint32_t n, const uint16_t *k, const uint16_t *v,
                char *error)
{
    struct null *d = state;
    struct slots *c = &d->slots[layer];
    const size_t all = (size_t)n * c->l.head_dim, at = (size_t)head * c->n.n * c->l.head_dim;

    if (layer >= d->s.n_layer || head >= c->n.n_head_kv || n > c->n.n)
        return fail(error, "keys of no slot");
    for (size_t i = 0; i < all; i++) {
        c->k[at + i] = gkv__f16_to_f32(k[i]);
        c->v[at + i] = gkv__f16_to_f32(v[i]);
    }
    return broken("keys", error);
}

/* ---- a token ---------------------------------------------------------------------------- */

static const struct gkv_plugin_tensor *tensor(const struct null *d, uint32_t role, uint32_t il)
{
    return &d->of[role][il];
}

static const float *vector(const struct null *d, uint32_t role, uint32_t il)
{
    return d->of[role][il].data;
}

/* n elements of row i of a matrix, from element `at` on, as floats. */
static void part_of_row(const struct null *d, const struct gkv_plugin_tensor *w, size_t i, size_t at, size_t n,
                        float *out)
{
    const uint64_t row_bytes = w->bytes / w->n_out;

    d->s.widen(w->type, (const uint8_t *)w->data + i * row_bytes + at * row_bytes / w->n_in, out, n);
}

/* y[n] = rows first .. of W, times x. */
static void product_rows(struct null *d, const struct gkv_plugin_tensor *w, size_t first, size_t n, const float *x,
                         float *y)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        part_of_row(d, w, first + i, 0, w->n_in, d->row);
        for (size_t j = 0; j < w->n_in; j++)
            sum += (double)d->row[j] * (double)x[j];
        y[i] = (float)sum;
    }
}

static void product(struct null *d, uint32_t role, uint32_t il, const float *x, float *y)
{
    product_rows(d, tensor(d, role, il), 0, tensor(d, role, il)->n_out, x, y);
}

/* out[n] = norm(x) by w; without w, x. */
static void norm(const struct null *d, const float *w, const float *x, float *out, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++)
        out[i] = w ? x[i] * (float)(1 / sqrt(sum / (double)n + (double)d->s.eps)) * w[i] : x[i];
}

static void add(float *to, const float *what, float factor, size_t n)
{
    for (size_t i = 0; i < n && what; i++)
        to[i] += factor * what[i];
}

/* x += scale * norm(y + bias) */
static void add_output(struct null *d, float *y, const float *bias, const float *post)
{
    add(y, bias, 1, d->s.n_embd);
    norm(d, post, y, y, d->s.n_embd);
    add(d->x, y, d->s.residual_scale, d->s.n_embd);
}

static void rope(const struct null *d, const struct gkv_plugin_layer *l, float *head, uint32_t pos)
{
    const struct gkv_plugin_rope *r = &d->begun.rope[l->rope < GKV_PLUGIN_N_ROPES ? l->rope : 0];
    const size_t half = l->rope < GKV_PLUGIN_N_ROPES ? r->n_rot / 2 : 0, step = d->s.rope_halves ? 1 : 2;
    const size_t apart = d->s.rope_halves ? half : 1;

    for (size_t i = 0; i < half; i++, head += step) {
        const double angle = pos * d->freq[l->rope][i], c = r->scale * cos(angle), s = r->scale * sin(angle);
        const double a = (double)head[0], b = (double)head[apart];

        head[0] = (float)(a * c - b * s);
        head[apart] = (float)(b * c + a * s);
    }
}

/* Bias, norm and rotation of the heads in y. */
static void heads(const struct null *d, uint32_t il, float *y, size_t n, const float *bias, const float *w, int whole,
                  int turn, uint32_t pos)
{
    const struct gkv_plugin_layer *l = &d->slots[il].l;

    add(y, bias, 1, n * l->head_dim);
    if (w && whole)
        norm(d, w, y, y, n * l->head_dim);
    for (size_t i = 0; i < n; i++, y += l->head_dim) {
        if (w && !whole)
            norm(d, w, y, y, l->head_dim);
        if (turn)
            rope(d, l, y, pos);
    }
}

/* Rounds as the cache of the CPU does; query heads of a group may have keys of their own. */
static void put(const struct slots *c, float *cache, const float *y, uint32_t slot)
{
    const size_t hd = c->l.head_dim, repeat = c->n.n_head_kv / c->l.n_head_kv;

    for (size_t ih = 0; ih < c->n.n_head_kv; ih++)
        for (size_t i = 0; i < hd; i++)
            cache[(ih * c->n.n + slot) * hd + i] = gkv__f16_to_f32(gkv__f32_to_f16(y[ih / repeat * hd + i]));
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static float capped(float x, float cap)
{
    return cap > 0 ? cap * tanhf(x / cap) : x;
}

static void attend(struct null *d, const struct gkv_plugin_layer *l, const struct slots *c, size_t ih, size_t slot,
                   const float *sinks)
{
    const size_t hd = l->head_dim, at = ih / (d->s.n_head / c->n.n_head_kv) * c->n.n * hd;
    const size_t by_window = l->window && slot + 1 > l->window ? slot + 1 - l->window : 0;
    const size_t by_chunk = l->chunk ? slot / l->chunk * l->chunk : 0, first = larger(by_window, by_chunk);
    const float *q = d->q + ih * hd, *k = c->k + at, *v = c->v + at;
    const double scale = d->s.attn_scale > 0 ? d->s.attn_scale : 1 / sqrt((double)hd);
    float *out = d->att + ih * hd, most = -INFINITY;
    double sum = 0;

    for (size_t i = first; i <= slot; i++) {
        double dot = 0;

        for (size_t j = 0; j < hd; j++)
            dot += (double)q[j] * (double)k[i * hd + j];
        d->score[i] = capped((float)(dot * scale), d->s.attn_cap);
        most = d->score[i] > most ? d->score[i] : most;
    }
    for (size_t i = first; i <= slot; i++)
        sum += (double)(d->score[i] = expf(d->score[i] - most));
    sum += sinks ? exp((double)(sinks[ih] - most)) : 0;
    for (size_t j = 0; j < hd; j++) {
        double dot = 0;

        for (size_t i = first; i <= slot; i++)
            dot += (double)d->score[i] * (double)v[i * hd + j];
        out[j] = (float)(dot / sum);
    }
}

static void attention(struct null *d, uint32_t il, uint32_t pos)
{
    const struct gkv_plugin_layer *l = &d->slots[il].l;
    const struct slots *c = &d->slots[l->source];
    const size_t hd = l->head_dim, q = d->s.n_head * hd, kv = l->n_head_kv * hd;
    const uint32_t slot = pos - c->n.shift;
    const double spans = floor(((double)pos + d->s.temper_shift) / (d->s.temper_span ? d->s.temper_span : 1));

    norm(d, vector(d, GKV_PLUGIN_ATTN_NORM, il), d->x, d->h, d->s.n_embd);
    if (l->source == il) {
        product(d, GKV_PLUGIN_K, il, d->h, d->kv);
        if (tensor(d, GKV_PLUGIN_V, il)->data)
            product(d, GKV_PLUGIN_V, il, d->h, d->out);
        else
            memcpy(d->out, d->kv, kv * sizeof *d->kv);
        heads(d, il, d->kv, l->n_head_kv, vector(d, GKV_PLUGIN_K_BIAS, il), vector(d, GKV_PLUGIN_K_NORM, il),
              l->whole_norms != 0, 1, pos);
        heads(d, il, d->out, l->n_head_kv, vector(d, GKV_PLUGIN_V_BIAS, il), vector(d, GKV_PLUGIN_V_NORM, il), 0, 0,
              pos);
        put(c, c->k, d->kv, slot);
        put(c, c->v, d->out, slot);
    }
    product(d, GKV_PLUGIN_Q, il, d->h, d->q);
    for (size_t ih = 0; d->s.gated && ih < d->s.n_head; ih++) {
        memmove(d->q + ih * hd, d->q + 2 * ih * hd, hd * sizeof *d->q);
        product_rows(d, tensor(d, GKV_PLUGIN_Q, il), (2 * ih + 1) * hd, hd, d->h, d->gate + ih * hd);
    }
    heads(d, il, d->q, d->s.n_head, vector(d, GKV_PLUGIN_Q_BIAS, il), vector(d, GKV_PLUGIN_Q_NORM, il),
          l->whole_norms != 0, 1, pos);
    for (size_t i = 0; l->tempered && i < q; i++)
        d->q[i] *= (float)(1 + (double)d->s.temper * log(1 + spans));
    for (size_t ih = 0; ih < d->s.n_head; ih++)
        attend(d, l, c, ih, slot, vector(d, GKV_PLUGIN_SINKS, il));
    for (size_t i = 0; d->s.gated && i < q; i++)
        d->att[i] /= 1 + expf(-d->gate[i]);
    product(d, GKV_PLUGIN_O, il, d->att, d->out);
    add_output(d, d->out, vector(d, GKV_PLUGIN_O_BIAS, il), vector(d, GKV_PLUGIN_ATTN_POST, il));
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static float softplus(float x)
{
    return x > 20 ? x : log1pf(expf(x));
}

/* in[channels] = the convolution of the last rows, in the last of which it is. */
static void convolve(const struct null *d, uint32_t il, float *in)
{
    const size_t n = channels(&d->s), width = d->s.state_width;
    const float *w = vector(d, GKV_PLUGIN_STATE_CONV, il), *bias = vector(d, GKV_PLUGIN_STATE_CONV_BIAS, il);
    float *tail = d->slots[il].tail;

    memcpy(tail + (width - 1) * n, in, n * sizeof *in);
    for (size_t c = 0; c < n; c++) {
        double sum = bias ? (double)bias[c] : 0;

        for (size_t x = 0; x < width; x++)
            sum += (double)w[c * width + x] * (double)tail[x * n + c];
        in[c] = (float)sum;
    }
    memmove(tail, tail + n, (width - 1) * n * sizeof *tail);
}

/* x[n] becomes of length `length`. */
static void unit(float *x, size_t n, float length)
{
    double sum = 1e-6;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++)
        x[i] *= length / (float)sqrt(sum);
}

/* out[dv] = what head h makes of a row. */
static void recur(float *state, size_t dk, size_t dv, const float *k, const float *q, const float *v, float decay,
                  float rate, int delta, float *out)
{
    for (size_t j = 0; j < dv; j++) {
        double knows = 0, sum = 0;
        float u;

        for (size_t i = 0; i < dk; i++)
            knows += (double)(state[i * dv + j] *= decay) * (double)k[i];
        u = rate * (v[j] - (delta ? (float)knows : 0));
        for (size_t i = 0; i < dk; i++)
            sum += (double)(state[i * dv + j] += k[i] * u) * (double)q[i];
        out[j] = (float)sum;
    }
}

/* The rules of src/engine/state.h, one row. */
static void by_state(struct null *d, uint32_t il)
{
    const struct gkv_plugin_shape *s = &d->s;
    const size_t n = channels(s), keys = (size_t)s->k_heads * s->k_dim, dv = s->v_dim, width = s->v_heads * dv;
    const int mixer = (int)d->slots[il].l.mixer, delta = mixer == GKV_PLUGIN_DELTA;
    const float *w = vector(d, GKV_PLUGIN_STATE_NORM, il), *dt = vector(d, GKV_PLUGIN_STATE_DT, il);
    float *in = d->q, *z = d->gate, *beta = d->up, *alpha = d->rating, *y = d->att;

    norm(d, vector(d, GKV_PLUGIN_ATTN_NORM, il), d->x, d->h, s->n_embd);
    product(d, GKV_PLUGIN_STATE_QKV, il, d->h, in);
    product(d, GKV_PLUGIN_STATE_Z, il, d->h, z);
    if (tensor(d, GKV_PLUGIN_STATE_BETA, il)->data)
        product(d, GKV_PLUGIN_STATE_BETA, il, d->h, beta);
    if (tensor(d, GKV_PLUGIN_STATE_ALPHA, il)->data)
        product(d, GKV_PLUGIN_STATE_ALPHA, il, d->h, alpha);
    if (mixer == GKV_PLUGIN_SHORT_CONV) {
        for (size_t i = 0; i < n; i++)
            in[i] *= beta[i];
        convolve(d, il, in);
        for (size_t i = 0; i < n; i++)
            y[i] = in[i] * z[i];
    } else {
        convolve(d, il, in);
        for (size_t i = 0; i < n; i++)
            in[i] *= sigmoid(in[i]);
        for (size_t h = 0; h < 2 * s->k_heads && delta; h++)
            unit(in + h * s->k_dim, s->k_dim, h < s->k_heads ? 1 / sqrtf((float)s->k_dim) : 1);
        for (size_t h = 0; h < s->v_heads; h++) {
            const size_t per = s->v_heads / s->k_heads, hk = s->side_by_side ? h / per : h % s->k_heads;
            const int both = !tensor(d, GKV_PLUGIN_STATE_ALPHA, il)->data;
            const float *of = beta + (both ? h / per * 2 * per + h % per : h);
            const float rate = softplus((both ? of[per] : alpha[h]) + dt[h]);
            const float *first = in + hk * s->k_dim, *k = first + (delta ? keys : width);
            const float *q = delta ? first : k + keys;

            recur(d->slots[il].state + h * s->k_dim * dv, s->k_dim, dv, k, q, in + (delta ? 2 * keys : 0) + h * dv,
                  expf(vector(d, GKV_PLUGIN_STATE_A, il)[h] * rate), delta ? sigmoid(*of) : rate, delta, y + h * dv);
        }
        for (size_t i = 0; i < width && !delta; i++)
            y[i] = (y[i] + vector(d, GKV_PLUGIN_STATE_SKIP, il)[i / dv] * in[i]) * z[i] * sigmoid(z[i]);
        for (size_t i = 0, group = delta ? dv : width / s->k_heads; i < width; i += group)
            norm(d, delta ? w : w + i, y + i, y + i, group);
        for (size_t i = 0; i < width && delta; i++)
            y[i] *= z[i] * sigmoid(z[i]);
    }
    product(d, GKV_PLUGIN_STATE_OUT, il, y, d->out);
    add_output(d, d->out, NULL, NULL);
}

/* gate[n] = activation(gate) * up */
static void glu(const struct null *d, float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = gate[i], g = x > 7 ? 7 : x, u = up[i] > 7 ? 7 : up[i] < -7 ? -7 : up[i];

        switch (d->s.glu) {
        case GKV_PLUGIN_SILU:
            gate[i] = x / (1 + expf(-x)) * up[i];
            break;
        case GKV_PLUGIN_GELU:
            gate[i] = 0.5f * x * (1 + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x))) * up[i];
            break;
        default:
            gate[i] = g / (1 + expf(-1.702f * g)) * (1 + u);
        }
    }
}

/* out = the MLP of h. */
static void mlp(struct null *d, uint32_t gate, uint32_t up, uint32_t down, uint32_t il, const float *h, float *out)
{
    product(d, gate, il, h, d->gate);
    product(d, up, il, h, d->up);
    glu(d, d->gate, d->up, tensor(d, gate, il)->n_out);
    product(d, down, il, d->gate, out);
}

/* The share of expert i, 0 for those that are not chosen: of equal scores the first are. */
static float share_of(const struct null *d, uint32_t il, const float *rating, uint32_t i)
{
    const float *bias = vector(d, GKV_PLUGIN_ROUTER_BIAS, il), *scale = vector(d, GKV_PLUGIN_EXPERT_SCALE, il);
    const int sigmoids = d->s.router == GKV_PLUGIN_SIGMOID;
    double sum = sigmoids ? 1e-6 : 0;
    float mine = 0;

    for (uint32_t k = 0; k < d->s.n_expert; k++) {
        const float at = (sigmoids ? sigmoid(rating[k]) : rating[k]) + (bias ? bias[k] : 0);
        uint32_t better = 0;

        for (uint32_t j = 0; j < d->s.n_expert; j++) {
            const float other = (sigmoids ? sigmoid(rating[j]) : rating[j]) + (bias ? bias[j] : 0);

            /* Where sums have more digits than a float (i386), one that was stored is not what it is when added again. */
            better += j != k && (other > at || (!(other < at) && j < k));
        }
        if (better >= d->s.n_used)
            continue;
        sum += sigmoids ? (double)sigmoid(rating[k]) : exp((double)at);
        if (k == i)
            mine = sigmoids || d->s.router == GKV_PLUGIN_SIGMOID_IN ? sigmoid(sigmoids ? rating[k] : at) : expf(at);
    }
    return d->s.router == GKV_PLUGIN_SIGMOID_IN ? mine : (float)((double)mine / sum) * (scale ? scale[i] : 1);
}

/* sum[n_embd] += the experts of h, chosen from `by`. */
static void experts(struct null *d, uint32_t il, const float *by, const float *h, float *sum)
{
    const size_t n = d->s.n_embd, f = d->s.n_ff_expert;
    const struct gkv_plugin_tensor *gate = tensor(d, GKV_PLUGIN_GATE, il), *up = tensor(d, GKV_PLUGIN_UP, il);
    const float *gate_bias = vector(d, GKV_PLUGIN_GATE_BIAS, il), *up_bias = vector(d, GKV_PLUGIN_UP_BIAS, il);
    const float *down_bias = vector(d, GKV_PLUGIN_DOWN_BIAS, il);
    const int together = !up->data, inside = d->s.router == GKV_PLUGIN_SIGMOID_IN;

    product(d, GKV_PLUGIN_ROUTER, il, by, d->rating);
    for (uint32_t i = 0; i < d->s.n_expert; i++) {
        const float share = share_of(d, il, d->rating, i);

        if (!(share > 0) && !(share < 0))
            continue;
        for (size_t j = 0; j < n; j++)
            d->att[j] = inside ? share * h[j] : h[j];
        product_rows(d, gate, (together ? 2 * i : i) * f, f, d->att, d->gate);
        product_rows(d, together ? gate : up, (together ? 2 * i + 1 : i) * f, f, d->att, d->up);
        add(d->gate, gate_bias ? gate_bias + i * f : NULL, 1, f);
        add(d->up, up_bias ? up_bias + i * f : NULL, 1, f);
        glu(d, d->gate, d->up, f);
        product_rows(d, tensor(d, GKV_PLUGIN_DOWN, il), i * n, n, d->gate, d->out);
        add(d->out, down_bias ? down_bias + i * n : NULL, 1, n);
        add(sum, d->out, inside ? 1 : share, n);
    }
}

/* The MLP and the experts, each with norms of its own. */
static void both(struct null *d, uint32_t il)
{
    const size_t n = d->s.n_embd;
    float *by = d->q, *sum = d->sum;

    norm(d, vector(d, GKV_PLUGIN_ROUTER_NORM, il), d->x, by, n);
    for (size_t i = 0; i < n; i++)
        by[i] /= sqrtf((float)n);
    norm(d, vector(d, GKV_PLUGIN_EXPERT_NORM, il), d->x, d->h, n);
    memset(sum, 0, n * sizeof *sum);
    experts(d, il, by, d->h, sum);
    norm(d, vector(d, GKV_PLUGIN_EXPERT_POST, il), sum, sum, n);
    norm(d, vector(d, GKV_PLUGIN_FFN_NORM, il), d->x, d->h, n);
    mlp(d, GKV_PLUGIN_SHARED_GATE, GKV_PLUGIN_SHARED_UP, GKV_PLUGIN_SHARED_DOWN, il, d->h, d->out);
    norm(d, vector(d, GKV_PLUGIN_SHARED_POST, il), d->out, d->out, n);
    add(sum, d->out, 1, n);
    norm(d, vector(d, GKV_PLUGIN_FFN_POST, il), sum, sum, n);
    add(d->x, sum, 1, n);
}

static void after_attention(struct null *d, uint32_t il)
{
    const size_t n = d->s.n_embd;
    const float *shared = vector(d, GKV_PLUGIN_SHARED_ROUTER, il);
    double rate = 0;

    if (d->s.beside) {
        both(d, il);
        return;
    }
    norm(d, vector(d, GKV_PLUGIN_FFN_NORM, il), d->x, d->h, n);
    if (!tensor(d, GKV_PLUGIN_ROUTER, il)->data) {
        mlp(d, GKV_PLUGIN_GATE, GKV_PLUGIN_UP, GKV_PLUGIN_DOWN, il, d->h, d->out);
        add_output(d, d->out, NULL, vector(d, GKV_PLUGIN_FFN_POST, il));
        return;
    }
    memset(d->sum, 0, n * sizeof *d->sum);
    if (tensor(d, GKV_PLUGIN_SHARED_GATE, il)->data) {
        mlp(d, GKV_PLUGIN_SHARED_GATE, GKV_PLUGIN_SHARED_UP, GKV_PLUGIN_SHARED_DOWN, il, d->h, d->out);
        for (size_t i = 0; shared && i < n; i++)
            rate += (double)shared[i] * (double)d->h[i];
        add(d->sum, d->out, shared ? sigmoid((float)rate) : 1, n);
    }
    experts(d, il, d->h, d->h, d->sum);
    add(d->x, d->sum, d->s.residual_scale, n);
}

static void embed(const struct null *d, uint32_t id, float *x)
{
    part_of_row(d, tensor(d, GKV_PLUGIN_EMBED, 0), id, 0, d->s.n_embd, x);
    for (size_t i = 0; i < d->s.n_embd; i++)
        x[i] *= d->s.embed_scale;
}

/* Adds what the token's embedding for this layer gives. */
static void own_embeddings(struct null *d, uint32_t il, uint32_t id)
{
    const size_t n = d->s.n_embd_layer;

    product(d, GKV_PLUGIN_EMBED_GATE, il, d->x, d->gate);
    embed(d, id, d->h);
    product(d, GKV_PLUGIN_EMBED_IN, il, d->h, d->up);
    for (size_t i = 0; i < n; i++)
        d->up[i] /= sqrtf((float)d->s.n_embd);
    norm(d, vector(d, GKV_PLUGIN_LAYER_EMBED_NORM, 0), d->up, d->up, n);
    part_of_row(d, tensor(d, GKV_PLUGIN_LAYER_EMBED, 0), id, il * n, n, d->h);
    for (size_t i = 0; i < n; i++)
        d->up[i] = (d->up[i] + sqrtf((float)n) * d->h[i]) * sqrtf(0.5f);
    glu(d, d->gate, d->up, n);
    product(d, GKV_PLUGIN_EMBED_OUT, il, d->gate, d->out);
    add_output(d, d->out, NULL, vector(d, GKV_PLUGIN_EMBED_POST, il));
}

static void layer(struct null *d, uint32_t il, uint32_t id, uint32_t pos)
{
    const float *scale = vector(d, GKV_PLUGIN_OUT_SCALE, il);

    if (d->slots[il].l.mixer == GKV_PLUGIN_ATTENTION)
        attention(d, il, pos);
    else
        by_state(d, il);
    after_attention(d, il);
    if (tensor(d, GKV_PLUGIN_EMBED_GATE, il)->data)
        own_embeddings(d, il, id);
    for (size_t i = 0; scale && i < d->s.n_embd; i++)
        d->x[i] *= *scale;
}

static uint32_t largest_block(void *state)
{
    (void)state;
    return (uint32_t)setting("GEMKV_NULL_BLOCK", 64);
}

/* Results of the token in d->x. */
static void finish(struct null *d, float *logits, uint32_t *best)
{
    norm(d, vector(d, GKV_PLUGIN_OUTPUT_NORM, 0), d->x, d->h, d->s.n_embd);
    product(d, tensor(d, GKV_PLUGIN_OUTPUT, 0)->data ? GKV_PLUGIN_OUTPUT : GKV_PLUGIN_EMBED, 0, d->h, d->logits);
    for (uint32_t i = 0; i < d->s.n_vocab; i++)
        d->logits[i] = capped(d->s.logit_scale * d->logits[i], d->s.logit_cap);
    if (logits)
        memcpy(logits, d->logits, d->s.n_vocab * sizeof *logits);
    if (best) {
        *best = 0;
        for (uint32_t i = 1; i < d->s.n_vocab; i++)
            *best = d->logits[i] > d->logits[*best] ? i : *best;
    }
}

static int forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, uint32_t rows, float *logits, uint32_t *best,
                   char *error)
{
    struct null *d = state;

    if (!n || n > largest_block(d) || pos < d->begun.first || pos - d->begun.first > d->begun.n ||
        n > d->begun.n - (pos - d->begun.first))
        return fail(error, "positions that were not reserved");
    if (rows > n || rows > GKV_PLUGIN_ROWS)
        return fail(error, "results of more tokens than there are");
    if (pos > d->next || (pos < d->next && pos && d->s.state_width))
        return fail(error, "tokens that nothing is there before, or that a state has seen");
    if (broken(rows > 1 ? "guess" : n == 1 ? "step" : "prefill", error))
        return 1;
    for (uint32_t il = 0; il < d->s.n_layer && pos == 0; il++) {
        memset(d->slots[il].tail, 0, d->s.state_width * channels(&d->s) * sizeof(float));
        memset(d->slots[il].state, 0, state_floats(&d->s) * sizeof(float));
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = i + rows - n;      /* of the results, if it is less than rows */

        embed(d, id[i], d->x);
        for (uint32_t il = 0; il < d->s.n_layer; il++)
            layer(d, il, id[i], pos + i);
        if (row < rows)
            finish(d, logits ? logits + (size_t)row * d->s.n_vocab : NULL, best ? best + row : NULL);
    }
    d->next = pos + n;
    return 0;
}

static void use(void *state, struct gkv_plugin_use *out)
{
    const struct null *d = state;

    out->bytes = 0;
    for (size_t i = 0; i < d->n_tensors; i++)
        out->bytes += d->tensor[i].bytes;
    out->n_resident = (uint32_t)setting("GEMKV_NULL_RESIDENT", d->s.n_layer);
}

__attribute__((visibility("default"))) gkv_plugin_fn gkv_plugin;

const struct gkv_plugin *gkv_plugin(void)
{
    static struct gkv_plugin p = {
        GKV_PLUGIN_ABI, "null", count, describe, open_null, plan, upload, ready, begin, keys,
        forward, largest_block, use, close_null,
    };

    p.abi = (uint32_t)setting("GEMKV_NULL_ABI", GKV_PLUGIN_ABI);
    return &p;
}
