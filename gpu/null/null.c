/* SPDX-License-Identifier: BSD-2-Clause
 * null.c - gemkv-null.so: a device that is this processor, for tests.  It computes one token at a time in
 * plain loops, and fails where environment variables say:
 *
 *     GEMKV_NULL_FAIL     count describe open plan upload ready reserve prefill step: the call that
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

struct null {
    struct gkv_plugin_shape   s;
    double                   *freq;
    struct gkv_plugin_tensor *tensor, *of[GKV_PLUGIN_N_ROLES];      /* of[role][layer]      */
    size_t                    n_tensors, n_uploaded;
    uint32_t                  n_positions;
    float                    *k, *v;            /* [layer][position][n_head_kv * head_dim]  */
    float                    *x, *h, *q, *att, *gate, *up, *row, *score, *logits;
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

static void close_null(void *state)
{
    struct null *d = state;

    for (size_t i = 0; i < GKV_PLUGIN_N_ROLES; i++)
        free(d->of[i]);
    free(d->freq);
    free(d->tensor);
    free(d->k);
    free(d->v);
    free(d->x);
    free(d->h);
    free(d->q);
    free(d->att);
    free(d->gate);
    free(d->up);
    free(d->row);
    free(d->logits);
    free(d->score);
    free(d);
}

static float *floats(size_t n)
{
    return calloc(n, sizeof(float));
}

static int plan(void *state, const struct gkv_plugin_shape *s, const struct gkv_plugin_tensor *t, size_t n,
                uint32_t n_tokens, uint32_t n_positions, char *error)
{
    struct null *d = state;
    const size_t q = (size_t)s->n_head * s->head_dim, half_rot = s->n_rot / 2;
    const size_t widest = q > s->n_embd ? (q > s->n_ff ? q : s->n_ff)
                        : s->n_embd > s->n_ff ? s->n_embd : s->n_ff;

    (void)n_tokens;
    (void)n_positions;
    d->s = *s;
    d->n_tensors = n;
    d->tensor = malloc(n * sizeof *d->tensor);
    d->freq = malloc(half_rot * sizeof *d->freq);
    d->x = floats(s->n_embd);
    d->h = floats(s->n_embd);
    d->q = floats(q);
    d->att = floats(q);
    d->gate = floats(s->n_ff);
    d->up = floats(s->n_ff);
    d->row = floats(widest);
    d->logits = floats(s->n_vocab);
    for (size_t i = 0; i < GKV_PLUGIN_N_ROLES; i++)
        if (!(d->of[i] = calloc(s->n_layer, sizeof **d->of)))
            return fail(error, "out of memory");
    if (!d->tensor || !d->freq || !d->x || !d->h || !d->q || !d->att || !d->gate || !d->up || !d->row ||
        !d->logits)
        return fail(error, "out of memory");
    memcpy(d->tensor, t, n * sizeof *t);
    memcpy(d->freq, s->rope_freq, half_rot * sizeof *d->freq);
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

static int reserve(void *state, uint32_t n, char *error)
{
    struct null *d = state;
    const size_t all = (size_t)d->s.n_layer * n * d->s.n_head_kv * d->s.head_dim;

    free(d->k);
    free(d->v);
    free(d->score);
    d->n_positions = n;
    d->k = floats(all);
    d->v = floats(all);
    d->score = floats(n);
    if (!d->k || !d->v || !d->score)
        return fail(error, "out of memory");
    return broken("reserve", error);
}

/* ---- a token ---------------------------------------------------------------------------- */

static const float *vector(const struct null *d, uint32_t role, uint32_t il)
{
    return d->of[role][il].data;
}

/* Row i of a matrix as floats. */
static void row_of(const struct gkv_plugin_tensor *w, size_t i, float *out)
{
    const struct gkv__quant *type = gkv__quant_of_ggml(w->type);

    type->to_f32((const uint8_t *)w->data + i * (w->n_in / type->block * type->bytes), out, w->n_in);
}

/* y[n_out] (+)= W x */
static void product(struct null *d, uint32_t role, uint32_t il, const float *x, float *y, int more)
{
    const struct gkv_plugin_tensor *w = &d->of[role][il];

    for (size_t i = 0; i < w->n_out; i++) {
        double sum = 0;

        row_of(w, i, d->row);
        for (size_t j = 0; j < w->n_in; j++)
            sum += (double)d->row[j] * (double)x[j];
        y[i] = (more ? y[i] : 0) + (float)sum;
    }
}

static void norm(const struct null *d, const float *w, float *out)
{
    const size_t n = d->s.n_embd;
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)d->x[i] * (double)d->x[i];
    for (size_t i = 0; i < n; i++)
        out[i] = d->x[i] * (float)(1 / sqrt(sum / (double)n + (double)d->s.eps)) * w[i];
}

static void rope(const struct null *d, float *head, uint32_t pos)
{
    const size_t half = d->s.n_rot / 2, step = d->s.rope_halves ? 1 : 2;
    const size_t apart = d->s.rope_halves ? half : 1;

    for (size_t i = 0; i < half; i++, head += step) {
        const double c = cos(pos * d->freq[i]), s = sin(pos * d->freq[i]);
        const double a = (double)head[0], b = (double)head[apart];

        head[0] = (float)(a * c - b * s);
        head[apart] = (float)(b * c + a * s);
    }
}

/* Rounds as the cache of the CPU does. */
static void round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gkv__f16_to_f32(gkv__f32_to_f16(x[i]));
}

static void attend(struct null *d, const float *k, const float *v, size_t ih, size_t n)
{
    const size_t hd = d->s.head_dim, kv = d->s.n_head_kv * hd;
    const size_t at = ih / (d->s.n_head / d->s.n_head_kv) * hd;
    const float *q = d->q + ih * hd;
    float *out = d->att + ih * hd, most = -INFINITY;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double dot = 0;

        for (size_t j = 0; j < hd; j++)
            dot += (double)q[j] * (double)k[i * kv + at + j];
        d->score[i] = (float)(dot / sqrt((double)hd));
        most = d->score[i] > most ? d->score[i] : most;
    }
    for (size_t i = 0; i < n; i++)
        sum += (double)(d->score[i] = expf(d->score[i] - most));
    for (size_t j = 0; j < hd; j++) {
        double dot = 0;

        for (size_t i = 0; i < n; i++)
            dot += (double)d->score[i] * (double)v[i * kv + at + j];
        out[j] = (float)(dot / sum);
    }
}

static void layer(struct null *d, uint32_t il, uint32_t pos)
{
    const size_t hd = d->s.head_dim, kv = d->s.n_head_kv * hd;
    float *k = d->k + (size_t)il * d->n_positions * kv, *v = d->v + (size_t)il * d->n_positions * kv;

    norm(d, vector(d, GKV_PLUGIN_ATTN_NORM, il), d->h);
    product(d, GKV_PLUGIN_Q, il, d->h, d->q, 0);
    product(d, GKV_PLUGIN_K, il, d->h, k + pos * kv, 0);
    product(d, GKV_PLUGIN_V, il, d->h, v + pos * kv, 0);
    for (size_t ih = 0; ih < d->s.n_head; ih++)
        rope(d, d->q + ih * hd, pos);
    for (size_t ih = 0; ih < d->s.n_head_kv; ih++)
        rope(d, k + pos * kv + ih * hd, pos);
    round_all(k + pos * kv, kv);
    round_all(v + pos * kv, kv);
    for (size_t ih = 0; ih < d->s.n_head; ih++)
        attend(d, k, v, ih, pos + 1);
    product(d, GKV_PLUGIN_O, il, d->att, d->x, 1);

    norm(d, vector(d, GKV_PLUGIN_FFN_NORM, il), d->h);
    product(d, GKV_PLUGIN_GATE, il, d->h, d->gate, 0);
    product(d, GKV_PLUGIN_UP, il, d->h, d->up, 0);
    for (size_t i = 0; i < d->s.n_ff; i++)
        d->gate[i] = d->gate[i] / (1 + expf(-d->gate[i])) * d->up[i];
    product(d, GKV_PLUGIN_DOWN, il, d->gate, d->x, 1);
}

static uint32_t largest_block(void *state)
{
    (void)state;
    return (uint32_t)setting("GEMKV_NULL_BLOCK", 64);
}

static int forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, float *logits, uint32_t *best,
                   char *error)
{
    struct null *d = state;

    if (!n || n > largest_block(d) || pos > d->n_positions || n > d->n_positions - pos)
        return fail(error, "positions that were not reserved");
    if (broken(n == 1 ? "step" : "prefill", error))
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        row_of(&d->of[GKV_PLUGIN_EMBED][0], id[i], d->x);
        for (uint32_t il = 0; il < d->s.n_layer; il++)
            layer(d, il, pos + i);
    }
    norm(d, vector(d, GKV_PLUGIN_OUTPUT_NORM, 0), d->h);
    product(d, d->of[GKV_PLUGIN_OUTPUT][0].data ? GKV_PLUGIN_OUTPUT : GKV_PLUGIN_EMBED, 0, d->h, d->logits, 0);
    if (logits)
        memcpy(logits, d->logits, d->s.n_vocab * sizeof *logits);
    if (best) {
        *best = 0;
        for (uint32_t i = 1; i < d->s.n_vocab; i++)
            *best = d->logits[i] > d->logits[*best] ? i : *best;
    }
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
        GKV_PLUGIN_ABI, "null", count, describe, open_null, plan, upload, ready, reserve, forward,
        largest_block, use, close_null,
    };

    p.abi = (uint32_t)setting("GEMKV_NULL_ABI", GKV_PLUGIN_ABI);
    return &p;
}
