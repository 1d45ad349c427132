/* SPDX-License-Identifier: BSD-2-Clause
 * unit-attend.c - attention through a cache, against double precision on what the cache holds:
 * every level, few rows and many, keys in one piece and in several, at the beginning and deep
 * in the text, with and without window, chunks, sinks and cap; and the same bytes from one thread and from three.
 * The same bytes from a cache in the form of the kernels, filled in pieces, and through packets.
 * The same for attention sums (attention-sums.h), with and without the sums that attention leaves. */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/engine/gemm.h"
#include "src/engine/attention-sums.h"
#include "tests/kernels.h"
#include "tests/tap.h"
#include "tests/worse.h"

enum { N_MAX = 61, POS_MAX = 1500, KEYS_MAX = POS_MAX + N_MAX };

static uint32_t state = 54321;

static float uniform(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)((double)state / 2147483648.0 - 1);
}

/* out[n][n_head * d] and received[n_head][KEYS_MAX] in double; the weight of a row is its index + 1. */
static void truth(double *out, double *received, const struct gkv__shape *s, const struct gkv__cache *c,
                  const float *q, size_t n, uint64_t pos, const struct gkv__view *view)
{
    const size_t d = s->head_dim, g = s->n_head / s->n_head_kv;
    static double p[KEYS_MAX];
    float row[256];

    memset(received, 0, s->n_head * KEYS_MAX * sizeof *received);
    for (size_t t = 0; t < n; t++)
        for (size_t ih = 0; ih < s->n_head; ih++) {
            const float *qi = q + (t * s->n_head + ih) * d;
            double *o = out + (t * s->n_head + ih) * d, max = -INFINITY, sum = 0;
            const uint64_t by_window = view->window && pos + t + 1 > view->window ? pos + t + 1 - view->window : 0;
            const uint64_t first = view->chunk && (pos + t) / view->chunk * view->chunk > by_window
                                       ? (pos + t) / view->chunk * view->chunk : by_window;
            const double cap = (double)s->attn_cap;

            for (uint64_t key = first; key <= pos + t; key++) {
                c->type->to_f32(gkv__cache_k(c, 1, (uint32_t)(ih / g), key), row, d);
                p[key] = 0;
                for (size_t x = 0; x < d; x++)
                    p[key] += (double)qi[x] * (double)row[x] / sqrt((double)d);
                p[key] = cap > 0 ? cap * tanh(p[key] / cap) : p[key];
                max = fmax(max, p[key]);
            }
            if (view->sinks) {
                max = fmax(max, (double)view->sinks[ih]);
                sum = exp((double)view->sinks[ih] - max);
            }
            memset(o, 0, d * sizeof *o);
            for (uint64_t key = first; key <= pos + t; key++) {
                double w = exp(p[key] - max);
                sum += w;
                c->type->to_f32(gkv__cache_v(c, 1, (uint32_t)(ih / g), key), row, d);
                for (size_t x = 0; x < d; x++)
                    o[x] += w * (double)row[x];
            }
            for (size_t x = 0; x < d; x++)
                o[x] /= sum;
            for (uint64_t key = first; key <= pos + t; key++)
                received[ih * KEYS_MAX + key] += (double)(t + 1) * exp(p[key] - max) / sum;
        }
}

static float bf16(float x)
{
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_BF16);
    uint16_t h;

    q->from_f32(&x, &h, 1);
    q->to_f32(&h, &x, 1);
    return x;
}

/* Row i of the levels, "" if this CPU lacks it; then AVX-512 with bfloat16, written in plain arithmetic. */
static const char *table(size_t i, struct gkv__simd *k)
{
    const unsigned cpu = gkv__cpu_detect();
    unsigned mask;

    if (gkv__simd_level(i, &mask)) {
        if ((mask & cpu) != mask)
            return "";
        gkv__simd_init(k, mask);
        return k->level;
    }
#if HAVE_ISA_AVX2
    if (cpu & GKV__CPU_AVX2 && gkv__simd_level(i - 1, &mask)) {
        fill_wide_bf16_table(k);
        return k->level;
    }
#endif
    return NULL;
}

/* Attention and, unless received is NULL, its rows' attention sums for all keys but the last. */
static void run(const struct gkv__simd *simd, const struct gkv__shape *s, const struct gkv__cache *c,
                const float *q, size_t n, uint64_t pos, const struct gkv__view *view, unsigned threads, bool sums,
                float *out, float *received)
{
    struct gkv__exec e = { 0 };
    struct gkv__observers l = { c, 1, q, n, pos, NULL, *view, NULL };
    float weight[N_MAX], *left;

    if (gkv__exec_open(&e, simd, gkv__gemm_named("own"), s, threads, N_MAX, NULL) != GKV_OK)
        exit(1);
    for (size_t t = 0; t < n; t++)
        weight[t] = (float)(t + 1);
    left = sums ? malloc(n * s->n_head * 2 * sizeof *left) : NULL;
    gkv__attend(&e, c, 1, out, q, n, pos, view, left);
    l.weight = weight;
    l.sums = left;
    if (received) {
        memset(received, 0, s->n_head * KEYS_MAX * sizeof *received);
        gkv__attention_sums(&e, &l, received, KEYS_MAX, pos + n - 1);
    }
    free(left);
    gkv__exec_close(&e);
}

/* How many slots hold other values: of so many heads, read through a packet of one slot. */
static size_t unlike(const struct gkv__cache *a, const struct gkv__cache *b)
{
    uint16_t x[2][2048];
    size_t n = 0;

    for (uint64_t slot = 0; slot < KEYS_MAX; slot++) {
        gkv__cache_pack(a, 1, slot, 1, x[0]);
        gkv__cache_pack(b, 1, slot, 1, x[1]);
        n += memcmp(x[0], x[1], 2 * sizeof **x * a->n_head_kv * a->head_dim) != 0;
    }
    return n;
}

/* The bytes of all rows are those from cache c, which is of f32 or bf16 with nothing to round, unless c's go the way of few. */
static void check_stored(const struct gkv__simd *simd, const struct gkv__shape *s, const struct gkv__cache *c,
                         const float *k, const float *v, const float *q, const struct gkv__view *view, double bound)
{
    static const uint64_t cuts[] = { 0, 5, 37, 64, 1000, 1024, 1057, KEYS_MAX };
    static const size_t ns[] = { 2, 61 };
    struct gkv__layer_weights layers[2] = { 0 };
    const struct gkv_model m = { .shape = *s, .layer = layers };
    const struct gkv__quant *const type = gkv__attend_store(simd, &m, c->type);
    const size_t row = (size_t)s->n_head * s->head_dim, kv = (size_t)s->n_head_kv * s->head_dim;
    float *out = malloc(2 * N_MAX * row * sizeof *out);
    uint8_t *packet = malloc(KEYS_MAX * kv * 2 * sizeof(uint16_t));
    struct gkv__cache whole, parts;
    double worst = 0;
    int differ = 0;

    if (type == c->type) {
        /* No form for attention, or a block of 80 keys, which would begin within a run. */
        ok(!simd->attend.narrow || (s->head_dim == 192 && simd->attend.together == 32),
           "%s stores %s, head_dim %u, as it is", simd->level, type->name, s->head_dim);
        free(out);
        free(packet);
        return;
    }
    if (gkv__cache_open(&whole, type, 2, s->n_head_kv, s->head_dim, KEYS_MAX, NULL) != GKV_OK ||
        gkv__cache_open(&parts, type, 2, s->n_head_kv, s->head_dim, KEYS_MAX, NULL) != GKV_OK)
        exit(1);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
        const size_t n = (size_t)(cuts[i + 1] - cuts[i]);

        gkv__cache_put(&whole, 1, cuts[i], k + cuts[i] * kv, v + cuts[i] * kv, n, 2);
        gkv__cache_pack(&whole, 1, cuts[i], n, packet);
        gkv__cache_unpack(&parts, 1, cuts[i], n, packet);
    }
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        for (uint64_t pos = 0; pos <= POS_MAX; pos += 750) {
            run(simd, s, c, q, ns[i], pos, view, 1, true, out, NULL);
            run(simd, s, &parts, q, ns[i], pos, view, 1 + (unsigned)i, true, out + N_MAX * row, NULL);
            for (size_t x = 0; x < ns[i] * row; x++)
                worst = worse(worst, fabs((double)out[x] - (double)out[N_MAX * row + x]));
            if (!gkv__attend_few(simd, s, ns[i], s->n_head / s->n_head_kv))
                differ |= memcmp(out, out + N_MAX * row, ns[i] * row * sizeof *out);
        }
    ok(type->run && !differ && worst <= bound && !unlike(&whole, &parts),
       "%s stores %s, head_dim %u, in runs of %u: the same bytes, few rows %.1e of %.1e", simd->level, c->type->name,
       s->head_dim, type->run, worst, bound);
    gkv__cache_close(&whole);
    gkv__cache_close(&parts);
    free(out);
    free(packet);
}

static double worst_mass(const struct gkv__shape *s, const float *received, const double *want, uint64_t n_keys)
{
    double worst = 0;

    for (size_t ih = 0; ih < s->n_head; ih++)
        for (size_t key = 0; key < KEYS_MAX; key++) {
            const double is = (double)received[ih * KEYS_MAX + key];
            const double should = key < n_keys ? want[ih * KEYS_MAX + key] : 0;

            worst = worse(worst, fabs(is - should) / (should + 1e-9));
        }
    return worst;
}

static void check(const struct gkv__shape *s, const char *type, const struct gkv__view *view)
{
    static const size_t ns[] = { 1, 2, 3, 5, 6, 11, 13, 25, N_MAX };
    static const uint64_t ps[] = { 0, 1, 511, 640, POS_MAX };
    const size_t row = (size_t)s->n_head * s->head_dim, kv = (size_t)s->n_head_kv * s->head_dim;
    float *k = malloc(KEYS_MAX * kv * sizeof *k), *v = malloc(KEYS_MAX * kv * sizeof *v);
    float *q = malloc(N_MAX * row * sizeof *q), *out = malloc(2 * N_MAX * row * sizeof *out);
    double *want = malloc(N_MAX * row * sizeof *want), *want_mass = malloc(s->n_head * KEYS_MAX * sizeof *want_mass);
    float *received = malloc(2 * s->n_head * KEYS_MAX * sizeof *received);
    const float scale = (float)(1.44269504088896340736 / sqrt((double)s->head_dim));
    struct gkv__simd simd;
    struct gkv__cache c;
    /* A score is a sum of d products, at most 9 d / sqrt(d); its error is relative in a weight and in
     * their sum.  |v| <= 1.  Bfloat16 loses 2^-8 of each weight and nothing else, because q (scaled),
     * k and v are bfloat16 to begin with, unless the cache rounds them. */
    const double score = 9 * sqrt(s->head_dim), exact = 2 * score * (s->head_dim + 2) * FLT_EPSILON / 2;
    const double rounded = exact + (strcmp(type, "q8_0") ? 1 : 2 * score + 2) / 256;
    /* A row's sum has one term per key, a key's attention sum one term per row.               */
    const double terms = (KEYS_MAX + N_MAX) * FLT_EPSILON / 2;
    double worst[8] = { 0 }, worst_of_sums[8] = { 0 };
    int differ[8] = { 0 };
    const char *level;

    for (size_t i = 0; i < KEYS_MAX * kv; i++) {
        k[i] = bf16(3 * uniform());
        v[i] = bf16(uniform());
    }
    for (size_t i = 0; i < N_MAX * row; i++)
        q[i] = bf16(3 * uniform() * scale) / scale;
    if (gkv__cache_open(&c, gkv__quant_named(type), 2, s->n_head_kv, s->head_dim, KEYS_MAX, NULL) != GKV_OK)
        exit(1);
    gkv__cache_put(&c, 1, 0, k, v, KEYS_MAX, 1);
    for (size_t in = 0; in < sizeof ns / sizeof *ns; in++)
        for (size_t ip = 0; ip < sizeof ps / sizeof *ps; ip++) {
            const size_t n = ns[in];
            /* Only few rows and a tile, with one piece and two, because emulators are slow. */
            const bool looks = (n == 5 || n == 25) && (ps[ip] == 1 || ps[ip] == 640);

            truth(want, want_mass, s, &c, q, n, ps[ip], view);
            for (size_t i = 0; (level = table(i, &simd)); i++) {
                const size_t heads = s->n_head * KEYS_MAX;

                if (!*level)
                    continue;
                for (unsigned t = 0; t < 2; t++)
                    run(&simd, s, &c, q, n, ps[ip], view, 1 + 2 * t, true, out + t * N_MAX * row,
                        looks ? received + t * heads : NULL);
                differ[i] |= memcmp(out, out + N_MAX * row, n * row * sizeof *out);
                for (size_t x = 0; x < n * row; x++)
                    worst[i] = worse(worst[i], fabs((double)out[x] - want[x]));
                if (!looks)
                    continue;
                differ[i] |= memcmp(received, received + heads, heads * sizeof *received);
                worst_of_sums[i] = worse(worst_of_sums[i], worst_mass(s, received, want_mass, ps[ip] + n - 1));
                run(&simd, s, &c, q, n, ps[ip], view, 2, false, out, received);
                worst_of_sums[i] = worse(worst_of_sums[i], worst_mass(s, received, want_mass, ps[ip] + n - 1));
            }
        }
    for (size_t i = 0; (level = table(i, &simd)); i++) {
        const double bound = simd.attend.pairs ? rounded : exact;

        if (!*level)
            continue;
        ok(worst_of_sums[i] <= 2 * (bound + terms), "attention sums, %s, head_dim %u, window %u, chunk %u, cap %g%s: %s (%.1e of %.1e)",
           type, s->head_dim, view->window, view->chunk, (double)s->attn_cap, view->sinks ? ", sinks" : "", level,
           worst_of_sums[i], 2 * (bound + terms));
        ok(worst[i] <= bound && !differ[i], "%s, head_dim %u, %u heads on %u, window %u, chunk %u, cap %g%s: %s "
           "(%.1e of %.1e)", type, s->head_dim, s->n_head, s->n_head_kv, view->window, view->chunk,
           (double)s->attn_cap, view->sinks ? ", sinks" : "", level, worst[i], bound);
        if (c.type->type == GKV__TYPE_F32 || c.type->type == GKV__TYPE_BF16)
            check_stored(&simd, s, &c, k, v, q, view, 2 * bound);
    }
    gkv__cache_close(&c);
    free(k);
    free(v);
    free(q);
    free(out);
    free(want);
    free(want_mass);
    free(received);
}

/* So many query heads on one KV head that a work item is one token, while threads would like to share it. */
static void check_many_heads(void)
{
    enum { D = 256, HEADS = 200, N = 12, ROW = D * HEADS };
    const struct gkv__shape s = { .n_layer = 2, .n_embd = 16, .n_ff = 16, .n_rot = 8, .head_dim = D, .n_head = HEADS,
                                  .n_head_kv = 1 };
    const struct gkv__view all = { 0 };
    float *kv = malloc(2 * N * D * sizeof *kv), *q = malloc(N * ROW * sizeof *q), *out = malloc(2 * N * ROW * sizeof *out);
    double *want = malloc(N * ROW * sizeof *want), *mass = malloc(HEADS * KEYS_MAX * sizeof *mass);
    struct gkv__cache c;
    struct gkv__simd simd;
    const char *level;

    for (size_t i = 0; i < 2 * N * D; i++)
        kv[i] = bf16(uniform());
    for (size_t i = 0; i < N * ROW; i++)
        q[i] = uniform();
    if (gkv__cache_open(&c, gkv__quant_named("f32"), 2, 1, D, N, NULL) != GKV_OK)
        exit(1);
    gkv__cache_put(&c, 1, 0, kv, kv + N * D, N, 1);
    truth(want, mass, &s, &c, q, N, 0, &all);
    for (size_t i = 0; (level = table(i, &simd)); i++) {
        double worst = 0;

        if (!*level)
            continue;
        for (unsigned t = 0; t < 2; t++)
            run(&simd, &s, &c, q, N, 0, &all, 1 + t, false, out + t * N * ROW, NULL);
        for (size_t x = 0; x < N * ROW; x++)
            worst = worse(worst, fabs((double)out[x] - want[x]));
        ok(worst < 0.02 && !memcmp(out, out + N * ROW, N * ROW * sizeof *out),
           "%d heads on one, and few tokens: %s (%.1e)", HEADS, level, worst);
    }
    gkv__cache_close(&c);
    free(kv);
    free(q);
    free(out);
    free(want);
    free(mass);
}

int main(void)
{
    static const struct { const char *type; uint32_t head_dim, n_head, n_head_kv, window; float cap; uint32_t chunk; bool sinks; }
        cases[] = {
        { "f32", 24, 2, 2, 0, 0, 0, false },      { "f16", 64, 8, 2, 0, 0, 0, true },
        { "bf16", 20, 3, 1, 0, 0, 600, false },   { "q8_0", 32, 6, 2, 0, 0, 0, false },
        { "f32", 24, 4, 2, 40, 0, 0, true },      { "f16", 64, 8, 2, 700, 5, 0, false },
        { "q8_0", 32, 2, 1, 1, 50, 0, false },    { "f32", 16, 4, 2, 0, 0, 7, true },
        { "f32", 64, 8, 2, 0, 0, 0, true },       { "bf16", 96, 4, 2, 300, 0, 0, false },
        { "f32", 192, 2, 1, 0, 0, 0, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gkv__shape s = { .n_layer = 2, .n_embd = 16, .n_ff = 16, .n_rot = 8,
                                .head_dim = cases[i].head_dim, .n_head = cases[i].n_head,
                                .n_head_kv = cases[i].n_head_kv, .attn_cap = cases[i].cap };
        /* From taking nearly all attention to none. */
        static const float sinks[] = { 30, -40, 3, 20, 0, 8, 12, -3 };

        check(&s, cases[i].type, &(struct gkv__view){ cases[i].window, cases[i].chunk, cases[i].sinks ? sinks : NULL });
    }
    check_many_heads();
    return done();
}
