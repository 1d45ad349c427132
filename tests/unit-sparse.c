/* SPDX-License-Identifier: BSD-2-Clause
 * unit-sparse.c - sparse attention against double precision: blocks of keys are chosen by the definition in sparse.h,
 * pair of tokens by pair, and attention takes what was chosen.  At every level, in several calls for one text, with
 * blocks that are cut by a call, with sinks and cap; where a choice is too close to tell, it is left out.  With
 * threshold 1, and in blocks that are to be dense, the bytes are those of dense attention; and the same bytes come
 * from one thread and three.  Then the same of whole first passes. */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/engine/attend.h"
#include "src/engine/gemm.h"
#include "src/first/schedule.h"
#include "tests/tap.h"

enum { BLOCK = GKV__SPARSE_BLOCK, STRIDE = GKV__SPARSE_STRIDE, N = 900, BLOCKS = (N + BLOCK - 1) / BLOCK };

static uint32_t state = 2463534242;

static float uniform(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)((double)state / 2147483648.0 - 1);
}

static float bf16(float x)
{
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_BF16);
    uint16_t h;

    q->from_f32(&x, &h, 1);
    q->to_f32(&h, &x, 1);
    return x;
}

/* One text: rows of q [N][n_head * d] and a cache with its keys and values, and those as numbers [n_head_kv][N][d]. */
struct text {
    struct gkv__shape s;
    struct gkv__cache c;
    struct gkv__view  view;
    float            *q, *k, *v;
    float             loud;             /* factor of queries */
    size_t            calls[8];         /* rows of each call; 0 ends them */
    double            threshold;
    uint64_t          dense_from;
};

/* Each block of keys has a direction of its own, and each head of a block of queries looks into two of them; every
 * second group looks less firmly, and elsewhere.  Every second key has little of it, and every second query looks
 * hard, so diagonals are not antidiagonals. */
static void fill(struct text *t, const char *type)
{
    const struct gkv__shape *s = &t->s;
    const size_t d = s->head_dim, row = s->n_head * d, kv = s->n_head_kv * d;
    const float scale = gkv__attend_scale(s);
    float *direction = malloc(BLOCKS * kv * sizeof *direction);
    float *k = malloc(N * kv * sizeof *k), *v = malloc(N * kv * sizeof *v);

    t->q = malloc(N * row * sizeof *t->q);
    t->k = malloc(N * kv * sizeof *t->k);
    t->v = malloc(N * kv * sizeof *t->v);
    for (size_t i = 0; i < BLOCKS * kv; i++)
        direction[i] = uniform();
    for (size_t p = 0; p < N; p++)
        for (size_t x = 0; x < kv; x++) {
            k[p * kv + x] = bf16((p % 2 ? 0.3f : 2) * direction[p / BLOCK * kv + x] + uniform());
            v[p * kv + x] = bf16(uniform());
        }
    for (size_t p = 0; p < N; p++)
        for (size_t h = 0; h < s->n_head; h++)
            for (size_t x = 0; x < d; x++) {
                const size_t odd = p / STRIDE % 2;
                const float firm = (odd ? 0.4f : 1) * (p % 2 ? 1.2f : 0.4f);
                float q = 0.5f * uniform();

                for (size_t i = 1; i < 3; i++)
                    q += firm * direction[(p / BLOCK * 5 + h * 3 + i * i + odd) % (p / BLOCK + 1) * kv +
                                          h / (s->n_head / s->n_head_kv) * d + x];
                t->q[p * row + h * d + x] = bf16(t->loud * q * scale) / scale;
            }
    if (gkv__cache_open(&t->c, gkv__quant_named(type), 2, s->n_head_kv, s->head_dim, N, NULL) != GKV_OK)
        exit(1);
    gkv__cache_put(&t->c, 1, 0, k, v, N, 1);
    for (size_t u = 0; u < s->n_head_kv; u++)
        for (size_t p = 0; p < N; p++) {
            t->c.type->to_f32(gkv__cache_k(&t->c, 1, (uint32_t)u, p), t->k + (u * N + p) * d, d);
            t->c.type->to_f32(gkv__cache_v(&t->c, 1, (uint32_t)u, p), t->v + (u * N + p) * d, d);
        }
    free(direction);
    free(k);
    free(v);
}

static void drop(struct text *t)
{
    gkv__cache_close(&t->c);
    free(t->q);
    free(t->k);
    free(t->v);
}

static double score(const struct text *t, size_t p, size_t head, size_t key)
{
    const size_t d = t->s.head_dim;
    const float *q = t->q + (p * t->s.n_head + head) * d;
    const float *k = t->k + (head / (t->s.n_head / t->s.n_head_kv) * N + key) * d;
    double sum = 0;

    for (size_t x = 0; x < d; x++)
        sum += (double)q[x] * (double)k[x];
    return sum / sqrt((double)d);
}

/* Chooses for rows from .. to - 1, which are in one block, as sparse.h says, and without its cleverness. */
static void choose(struct text *t, size_t from, size_t to, size_t head, bool *chosen, bool *close)
{
    const size_t block = from / BLOCK, n = block + 1;
    const double cap = (double)t->s.attn_cap;
    double share[BLOCKS] = { 0 }, total = 0, have = 0, last = 0;

    *close = false;
    memset(chosen, 0, BLOCKS * sizeof *chosen);
    if ((block + 1) * BLOCK > t->dense_from || t->threshold >= 1) {
        memset(chosen, 1, n * sizeof *chosen);
        return;
    }
    for (size_t i = from / STRIDE; i <= (to - 1) / STRIDE; i++) {
        double s[N / STRIDE + 1], max = -INFINITY, sum = 0;

        for (size_t j = 0; j <= i; j++) {
            s[j] = 0;
            for (size_t r = 0; r < STRIDE; r++) {
                const size_t p = i * STRIDE + STRIDE - 1 - r, key = j * STRIDE + r;

                if (p >= from && p < to && key < N)
                    s[j] += score(t, p, head, key) / STRIDE;
            }
            s[j] = cap > 0 ? cap * tanh(s[j] / cap) : s[j];
            max = fmax(max, s[j]);
        }
        for (size_t j = 0; j <= i; j++)
            sum += exp(s[j] - max);
        for (size_t j = 0; j <= i; j++)
            share[j * STRIDE / BLOCK] += exp(s[j] - max) / sum;
    }
    for (size_t b = 0; b < n; b++)
        total += share[b];
    chosen[0] = chosen[block] = true;
    have = block ? share[0] + share[block] : share[0];
    last = INFINITY;
    for (;;) {
        size_t best = n;

        for (size_t b = 1; b < block; b++)
            if (!chosen[b] && (best == n || share[b] > share[best]))
                best = b;
        *close |= fabs(have - t->threshold * total) < 1e-4 * total;
        if (best == n)
            break;
        if (have >= t->threshold * total) {
            *close |= last - share[best] < 1e-4 * total;        /* the other of two like these might do */
            break;
        }
        chosen[best] = true;
        have += share[best];
        last = share[best];
    }
}

/* Output of row p and one head, which takes the keys of the chosen blocks. */
static void attend(const struct text *t, size_t p, size_t head, const bool *chosen, double *out)
{
    const size_t d = t->s.head_dim, u = head / (t->s.n_head / t->s.n_head_kv);
    const double cap = (double)t->s.attn_cap;
    static double w[N];
    double max = t->view.sinks ? (double)t->view.sinks[head] : -INFINITY, sum = 0;

    memset(out, 0, d * sizeof *out);
    for (size_t key = 0; key <= p; key++)
        if (chosen[key / BLOCK]) {
            w[key] = score(t, p, head, key);
            w[key] = cap > 0 ? cap * tanh(w[key] / cap) : w[key];
            max = fmax(max, w[key]);
        }
    sum = t->view.sinks ? exp((double)t->view.sinks[head] - max) : 0;
    for (size_t key = 0; key <= p; key++)
        if (chosen[key / BLOCK]) {
            const double e = exp(w[key] - max);

            sum += e;
            for (size_t x = 0; x < d; x++)
                out[x] += e * (double)t->v[(u * N + key) * d + x];
        }
    for (size_t x = 0; x < d; x++)
        out[x] /= sum;
}

/* All rows of the text, call by call; dense: without sparse.c.  Returns the blocks that were kept. */
static unsigned long long run(struct text *t, const struct gkv__simd *simd, unsigned threads, bool dense, float *out)
{
    const size_t row = (size_t)t->s.n_head * t->s.head_dim;
    struct gkv__sparse sp = { .threshold = t->threshold, .dense_from = t->dense_from, .n_threads = threads };
    struct gkv__exec e = { 0 };
    size_t at = 0;

    sp.room_bytes = gkv__sparse_room(simd, t->s.head_dim, t->s.n_head / t->s.n_head_kv, N);
    sp.room = gkv__pages(threads, sp.room_bytes);
    if (!sp.room || gkv__exec_open(&e, simd, gkv__gemm_named("own"), &t->s, threads, N, NULL) != GKV_OK)
        exit(1);
    for (size_t i = 0; t->calls[i]; at += t->calls[i++])
        if (dense)
            gkv__attend(&e, &t->c, 1, out + at * row, t->q + at * row, t->calls[i], at, &t->view, NULL);
        else
            gkv__attend_sparse(&e, &sp, &t->c, 1, out + at * row, t->q + at * row, t->calls[i], at, &t->view);
    gkv__exec_close(&e);
    gkv__sparse_close(&sp);
    return sp.kept;
}

/* What ought to be, beside what is. */
struct verdict {
    double             worst;           /* difference in rows whose choice is clear         */
    unsigned long long kept, seen;      /* blocks of keys                                    */
    size_t             choices, close;  /* of one block and head                             */
};

/* Rows from .. to - 1 are those of one call in one block. */
static void judge_part(struct text *t, size_t from, size_t to, const float *out, struct verdict *is)
{
    const size_t d = t->s.head_dim;
    double want[256];

    for (size_t h = 0; h < t->s.n_head; h++) {
        bool chosen[BLOCKS], close;

        choose(t, from, to, h, chosen, &close);
        is->choices++;
        is->close += close;
        is->seen += from / BLOCK + 1;
        for (size_t b = 0; b < BLOCKS; b++)
            is->kept += chosen[b];
        for (size_t p = from; !close && p < to; p += to - p > 5 ? 5 : 1) {
            attend(t, p, h, chosen, want);
            for (size_t x = 0; x < d; x++)
                is->worst = fmax(is->worst, fabs((double)out[(p * t->s.n_head + h) * d + x] - want[x]));
        }
    }
}

static struct verdict judge(struct text *t, const float *out)
{
    struct verdict is = { 0 };
    size_t at = 0;

    for (size_t i = 0; t->calls[i]; at += t->calls[i++])
        for (size_t from = at, to; from < at + t->calls[i]; from = to) {
            to = from / BLOCK * BLOCK + BLOCK;
            to = to < at + t->calls[i] ? to : at + t->calls[i];
            judge_part(t, from, to, out, &is);
        }
    return is;
}

static void check(struct text *t, const char *type)
{
    const struct gkv__shape *s = &t->s;
    const size_t row = (size_t)s->n_head * s->head_dim, bytes = N * row * sizeof(float);
    const size_t last = t->dense_from / BLOCK * BLOCK;          /* block */
    float *out = malloc(bytes), *other = malloc(bytes);
    /* As in unit-attend.c. */
    const double most = 9 * (double)t->loud * sqrt(s->head_dim), exact = 2 * most * (s->head_dim + 2) * FLT_EPSILON / 2;
    const double rounded = exact + (strcmp(type, "q8_0") ? 1 : 2 * most + 2) / 256;
    const double threshold = t->threshold;
    const char *level;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        struct gkv__simd simd;
        struct verdict is;
        unsigned long long kept;
        double bound;

        if ((mask & gkv__cpu_detect()) != mask)
            continue;
        gkv__simd_init(&simd, mask);
        bound = simd.attend.pairs ? rounded : exact;
        kept = run(t, &simd, 1, false, out);
        is = judge(t, out);
        ok(is.worst <= bound, "%s, head_dim %u, %u heads on %u, threshold %g: %s (%.1e of %.1e)", type, s->head_dim,
           s->n_head, s->n_head_kv, threshold, level, is.worst, bound);
        ok(is.close * 10 <= is.choices && (is.close || kept == is.kept) && kept < is.seen,
           "... %llu of %llu blocks, as it should be, %zu of %zu choices close", kept, is.seen, is.close, is.choices);
        run(t, &simd, 3, false, other);
        ok(!memcmp(out, other, bytes), "... the same bytes from three threads");
        run(t, &simd, 2, true, other);
        ok(memcmp(out, other, bytes) != 0 &&
           !memcmp(out + last * row, other + last * row, (N - last) * row * sizeof *out),
           "... dense where it has to be");
        t->threshold = 1;
        kept = run(t, &simd, 2, false, out);
        t->threshold = threshold;
        ok(!memcmp(out, other, bytes) && kept == is.seen, "... and everywhere with threshold 1");
    }
    free(out);
    free(other);
}

/* Rows with a window are dense. */
static void check_window(struct text *t)
{
    const size_t bytes = (size_t)N * t->s.n_head * t->s.head_dim * sizeof(float);
    float *out = malloc(bytes), *other = malloc(bytes);

    t->view.window = 300;
    run(t, gkv__simd(), 2, false, out);
    run(t, gkv__simd(), 2, true, other);
    ok(!memcmp(out, other, bytes), "rows with a window: the bytes of dense attention");
    free(out);
    free(other);
}

/* ---- first passes ------------------------------------------------------------------------- */

struct way {
    const char *schedule;
    double      threshold;
    unsigned    threads, chunk;
    bool        spill;
};

static double first(const gkv_model *m, const struct way *w, float *score)
{
    struct gkv__task t = {
        .m = m, .filter = 3, .layer = -1, .kv_first = gkv__quant_named("f32"), .n = N, .n_tail = 20, .k = N / 2,
        .spill = w->spill, .sparse = w->threshold,
    };
    uint32_t id[N];
    double density = 0;
    const struct gkv__first f = { .t = &t, .id = id, .score = score, .density = &density };
    struct gkv__exec e = { 0 };

    for (size_t i = 0; i < N; i++)
        id[i] = (uint32_t)(i / 3 * 7919 % m->shape.n_vocab);
    if (gkv__schedule_parse(w->schedule, &t.schedule, t.schedule_param, NULL) ||
        gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &m->shape, w->threads, w->chunk, NULL) ||
        t.schedule->run(&e, &f, NULL))
        exit(1);
    gkv__exec_close(&e);
    return density;
}

static void check_first(const gkv_model *m)
{
    static const struct way others[] = {
        { "layer", 0.6, 3, 256, false }, { "layer", 0.6, 1, 384, false }, { "layer", 0.6, 2, 256, true },
        { "chunk", 0.6, 2, 256, false }, { "chunk", 0.6, 1, 512, false },
    };
    float dense[N], all[N], score[N], other[N];
    double density;

    ok(first(m, &(struct way){ "layer", 0, 2, 256, false }, dense) == 1, "first pass: dense");
    ok(first(m, &(struct way){ "layer", 1, 2, 256, false }, all) == 1 && !memcmp(dense, all, sizeof all),
       "... with threshold 1: the same bytes");
    density = first(m, &(struct way){ "layer", 0.6, 2, 256, false }, score);
    ok(density > 0.3 && density < 0.95 && memcmp(dense, score, sizeof score) != 0,
       "... with threshold 0.6: %.2f of the blocks", density);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct way *w = &others[i];

        ok(first(m, w, other) == density && !memcmp(score, other, sizeof score),
           "... the same by %s, %u threads, chunks of %u%s", w->schedule, w->threads, w->chunk,
           w->spill ? ", a file" : "");
    }
}

static void check_model(const char *name)
{
    gkv_model *m = NULL;
    gkv_error err = { 0 };
    char path[512];

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        ok(false, "%s: %s", name, err.text);
        return;
    }
    check_first(m);
    gkv_model_close(m);
}

int main(void)
{
    static const float sinks[] = { 3, -40, 0, 2 };
    static const struct {
        const char *type;
        uint32_t    head_dim, n_head, n_head_kv;
        float       cap, loud;
        bool        sinks;
        double      threshold;
        size_t      calls[8];
    } cases[] = {
        { "f32", 64, 4, 2, 0, 1, false, 0.8, { 384, 384, 132 } },
        { "f16", 96, 2, 2, 0, 1, true, 0.9, { 512, 388 } },
        { "q8_0", 32, 4, 1, 0, 1, false, 0.5, { 900 } },
        { "bf16", 20, 4, 2, 4, 1, true, 0.7, { 200, 200, 300, 200 } },
        { "f32", 32, 2, 1, 0, 60, false, 0.9, { 256, 256, 388 } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = {
            .s = { .n_layer = 2, .n_embd = 16, .n_ff = 16, .n_rot = 8, .head_dim = cases[i].head_dim,
                   .n_head = cases[i].n_head, .n_head_kv = cases[i].n_head_kv, .attn_cap = cases[i].cap },
            .view = { .sinks = cases[i].sinks ? sinks : NULL }, .threshold = cases[i].threshold, .loud = cases[i].loud,
            .dense_from = N - 30,
        };

        memcpy(t.calls, cases[i].calls, sizeof t.calls);
        fill(&t, cases[i].type);
        check(&t, cases[i].type);
        if (!i)
            check_window(&t);
        drop(&t);
    }
    if (BIG_ENDIAN_HOST)
        skip("models are refused here", "first passes");
    else
        check_model("llama3");
    return done();
}
