/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-stream.c - chunk by chunk through the early layers, each with a bounded cache that the
 * question chooses from chunk to chunk: memory that does not grow with the text but for one
 * row of keys per token, time that is linear in it.  Approximate from the second chunk on.
 *
 *     for each chunk:  run  [warm-up | chunk | question]  behind the caches
 *         each early layer keeps, of cache and chunk, the `budget` entries that the question's
 *         rows attend to most (the first four tokens and the most recent ones always), moved
 *         together: key i is rotated to position i
 *         the filter layer keeps the chunk's keys
 *     run  [question]  behind the caches: its last row scores every key
 *
 * Corallo and Papotti, "FINCH: Prompt-guided Key-Value Cache Compression for Large Language
 * Models" (2024), section 3, cut at GemFilter's layer.  The warm-up is the end of the previous
 * chunk, run again, so that nothing that lies across a boundary loses what came before it.
 *
 * Keys are stored as they are before they are rotated and turned when a chunk needs them: what
 * stays through a thousand chunks is rounded once. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "src/layer.h"
#include "src/mem.h"
#include "src/schedule.h"
#include "src/thread.h"
#include "src/top.h"

extern const struct gkv__schedule gkv__schedule_stream;

enum { BUDGET, STEP, WARM, RECENT, PLACE, KEYS };
enum { AUTO, TRUE, COMMON };

static const char *const key_types[] = { "f16", "bf16", "q8_0", "f32" };

static const struct gkv__param params[] = {
    [BUDGET] = { "budget", "2048", "tokens that each early layer remembers", 64, 1 << 20 },
    [STEP] = { "step", "0", "tokens per chunk; 0: what fills two times --chunk with warm-up and question",
               0, 65536 },
    [WARM] = { "warm", "64", "tokens before a chunk that are run again", 0, 4096 },
    [RECENT] = { "recent", "64", "last tokens of a chunk that stay for the next", 0, 4096 },
    [PLACE] = { "place", "auto", "distance of keys from the question at the filter layer: true, the same "
                "for all, or true up to the trained length", .words = "auto true common" },
    [KEYS] = { "keys", "f16", "type of the filter layer's keys", .words = "f16 bf16 q8_0 f32" },
    { .name = NULL },
};

enum {
    SINKS = 4,                  /* first tokens, that attention rests on (StreamingLLM)      */
    QUESTION = 512,             /* rows of the question that guide, at most: its last        */
    TILE = 64, BLOCK = 96,      /* of attention weights: rows, keys; BLOCK as gemm.c's NC    */
    ROWS = 64,                  /* cache rows of a work item                                 */
};

struct stream {
    struct gkv__exec        *e;
    const struct gkv__first *f;
    const struct gkv__shape *s;
    size_t                   budget, step, warm, recent, n_q, n_text, max_rows;
    const struct gkv__quant *key_type;
    struct gkv__cache        store;     /* all early layers, unrotated                       */
    struct gkv__cache        work;      /* one layer: store, rotated, and the rows behind it */
    size_t                   held;      /* entries of each layer of the store                */
    float                   *x;         /* [max_rows][n_embd]                                */
    uint8_t                 *keys;      /* [n] rows of the filter layer                      */
    float                   *weight;    /* [n_head_kv][budget + max_rows] attention          */
    uint32_t                *keep;      /* [budget]                                          */
    float                   *tiles;     /* [n_threads][tile_floats]                          */
    /* Of the step and the layer under way: */
    size_t                   n_warm, n_new, n_rows;     /* rows: warm-up, chunk, question    */
    uint32_t                 il;
    size_t                   first, count;              /* of a part of the rows             */
};

static size_t more(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- sizes ------------------------------------------------------------------------------ */

static size_t kv_width(const struct stream *s)
{
    return (size_t)s->s->n_head_kv * s->s->head_dim;
}

static uint64_t key_row(const struct stream *s)
{
    return kv_width(s) / s->key_type->block * s->key_type->bytes;
}

static uint64_t tile_floats(const struct gkv__shape *s)
{
    const uint64_t nr = 64;             /* of any level, at most */

    return (TILE + BLOCK + nr) * (uint64_t)s->head_dim + TILE * (BLOCK + nr) + 2 * TILE;
}

/* Rows at a time, memory among them, depend on --chunk only, whatever the question's length. */
static void sizes(struct stream *s, const struct gkv__first *f, size_t chunk)
{
    const double *p = f->param;

    s->f = f;
    s->s = &f->m->shape;
    s->budget = (size_t)p[BUDGET];
    s->warm = (size_t)p[WARM];
    s->recent = (size_t)p[RECENT];
    s->key_type = gkv__quant_named(key_types[(int)p[KEYS]]);
    s->n_q = gkv__least(gkv__least(f->n_tail ? f->n_tail : 1, QUESTION), gkv__least(chunk, f->n));
    s->n_text = (size_t)f->n - s->n_q;
    if (p[STEP] > 0) {
        s->step = (size_t)p[STEP];
        s->max_rows = s->warm + s->step + gkv__least(QUESTION, chunk);
    } else {
        s->max_rows = more(2 * chunk, s->warm + gkv__least(QUESTION, chunk) + 64);
        s->step = s->max_rows - s->warm - s->n_q;
    }
    s->max_rows = gkv__least(s->max_rows, more((size_t)f->n, chunk));
}

static uint64_t bytes(const struct gkv__first *f, uint32_t chunk, unsigned n_threads)
{
    struct stream s = { 0 };
    uint64_t sum, n;

    sizes(&s, f, chunk);
    n = s.budget + s.max_rows;
    sum = gkv__cache_bytes(f->kv, f->il, s.s->n_head_kv, s.s->head_dim, gkv__least(s.budget, f->n));
    sum = gkv__plus(sum, gkv__cache_bytes(gkv__quant_of(GKV__TYPE_F32), 1, s.s->n_head_kv,
                                          s.s->head_dim, gkv__least(n, f->n + s.max_rows)));
    sum = gkv__plus(sum, gkv__times(s.max_rows, s.s->n_embd * sizeof(float)));
    sum = gkv__plus(sum, gkv__times(f->n, key_row(&s)));
    sum = gkv__plus(sum, n * s.s->n_head_kv * sizeof(float) + s.budget * sizeof(uint32_t));
    return gkv__plus(sum, n_threads * tile_floats(s.s) * sizeof(float));
}

static void end(struct stream *s)
{
    const struct gkv__shape *h = s->s;

    gkv__cache_close(&s->store);
    gkv__cache_close(&s->work);
    gkv__pages_free(s->x, s->max_rows, h->n_embd * sizeof *s->x);
    gkv__pages_free(s->keys, s->f->n, key_row(s));
    gkv__pages_free(s->weight, s->budget + s->max_rows, h->n_head_kv * sizeof *s->weight);
    gkv__pages_free(s->keep, s->budget, sizeof *s->keep);
    gkv__pages_free(s->tiles, s->e->n_threads, tile_floats(h) * sizeof *s->tiles);
}

static gkv_status begin(struct stream *s, struct gkv__exec *e, const struct gkv__first *f,
                        gkv_error *err)
{
    const struct gkv__shape *h = &f->m->shape;

    s->e = e;
    sizes(s, f, e->chunk);
    if (s->recent + SINKS >= s->budget)
        return gkv__fail(err, GKV_INVALID, "recent=%zu: at most %zu with budget=%zu", s->recent,
                         s->budget - SINKS - 1, s->budget);
    if (kv_width(s) % s->key_type->block)
        return gkv__fail(err, GKV_INVALID, "keys=%s needs rows of a multiple of %u, they are %zu",
                         s->key_type->name, s->key_type->block, kv_width(s));
    s->x = gkv__pages(s->max_rows, h->n_embd * sizeof *s->x);
    s->keys = gkv__pages(f->n, key_row(s));
    s->weight = gkv__pages(s->budget + s->max_rows, h->n_head_kv * sizeof *s->weight);
    s->keep = gkv__pages(s->budget, sizeof *s->keep);
    s->tiles = gkv__pages(e->n_threads, tile_floats(h) * sizeof *s->tiles);
    if (!s->x || !s->keys || !s->weight || !s->keep || !s->tiles)
        return gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes",
                         bytes(f, e->chunk, e->n_threads));
    if (!f->il)
        return GKV_OK;
    GKV__TRY(gkv__cache_open(&s->store, f->kv, f->il, h->n_head_kv, h->head_dim, s->budget, err));
    return gkv__cache_open(&s->work, gkv__quant_of(GKV__TYPE_F32), 1, h->n_head_kv, h->head_dim,
                           s->budget + s->max_rows, err);
}

/* ---- caches ----------------------------------------------------------------------------- */

static uint64_t row_bytes(const struct gkv__cache *c)
{
    return c->head_dim / c->type->block * c->type->bytes;
}

/* Entries first .. first + count - 1 of the store, of one head, to their places in work. */
static void load_item(void *arg, size_t i, unsigned thread)
{
    const struct stream *s = arg;
    const uint32_t ih = (uint32_t)(i % s->s->n_head_kv);
    const size_t d = s->s->head_dim, at = i / s->s->n_head_kv * ROWS, n = gkv__least(ROWS, s->count - at);
    const size_t row = s->first + at;
    gkv__unpack_fn *unpack = s->e->simd->unpack[s->store.type->type];
    float *k = (float *)(void *)gkv__cache_k(&s->work, 0, ih, row);

    (void)thread;
    unpack(gkv__cache_k(&s->store, s->il, ih, row), k, n * d);
    unpack(gkv__cache_v(&s->store, s->il, ih, row),
           (float *)(void *)gkv__cache_v(&s->work, 0, ih, row), n * d);
    for (size_t t = 0; t < n; t++)
        gkv__rotate(s->s, k + t * d, s->e->turn + (at + t) * s->s->n_rot, false);
}

static void load(struct stream *s)
{
    for (s->first = 0; s->first < s->held; s->first += s->count) {
        s->count = gkv__least(s->e->chunk, s->held - s->first);
        gkv__turn(s->e, s->f->m, s->count, s->first);
        gkv__for(s->e->n_threads, (s->count + ROWS - 1) / ROWS * s->s->n_head_kv, load_item, s);
    }
}

/* What is kept of the store moves up. */
static void squeeze_item(void *arg, size_t ih, unsigned thread)
{
    const struct stream *s = arg;
    const uint64_t bytes = row_bytes(&s->store);
    uint8_t *k = gkv__cache_k(&s->store, s->il, (uint32_t)ih, 0);
    uint8_t *v = gkv__cache_v(&s->store, s->il, (uint32_t)ih, 0);

    (void)thread;
    for (size_t i = 0; i < s->count && s->keep[i] < s->held; i++) {
        memmove(k + i * bytes, k + s->keep[i] * bytes, bytes);
        memmove(v + i * bytes, v + s->keep[i] * bytes, bytes);
    }
}

/* What is kept of the rows first .. first + e->chunk - 1 of work goes behind it. */
static void take_item(void *arg, size_t ih, unsigned thread)
{
    const struct stream *s = arg;
    const size_t d = s->s->head_dim;
    void (*const pack)(const float *, void *, size_t) = s->store.type->from_f32;

    (void)thread;
    for (size_t i = 0; i < s->count; i++) {
        const size_t row = s->keep[i];
        float *k;

        if (row < s->first || row >= s->first + s->e->chunk)
            continue;
        k = (float *)(void *)gkv__cache_k(&s->work, 0, (uint32_t)ih, row);
        gkv__rotate(s->s, k, s->e->turn + (row - s->first) * s->s->n_rot, true);
        pack(k, gkv__cache_k(&s->store, s->il, (uint32_t)ih, i), d);
        pack((float *)(void *)gkv__cache_v(&s->work, 0, (uint32_t)ih, row),
             gkv__cache_v(&s->store, s->il, (uint32_t)ih, i), d);
    }
}

/* ---- attention of the question ---------------------------------------------------------- */

struct tile { float *q, *rows, *s, *max, *sum; };

static struct tile tile_of(const struct stream *s, unsigned thread)
{
    const size_t d = s->s->head_dim, nr = s->e->simd->nr;
    struct tile t;

    t.q = s->tiles + thread * tile_floats(s->s);
    t.rows = t.q + TILE * d;
    t.s = t.rows + (BLOCK + nr) * d;
    t.max = t.s + TILE * (BLOCK + nr);
    t.sum = t.max + TILE;
    return t;
}

/* t.s[n_rows][BLOCK]: products with keys from .. from + n - 1 of head ih. */
static void products(const struct stream *s, const struct tile *t, size_t n_rows, uint32_t ih,
                     size_t from, size_t n)
{
    const size_t d = s->s->head_dim, nr = s->e->simd->nr;
    const float *k = (const float *)(const void *)gkv__cache_k(&s->work, 0, ih, from);

    for (size_t i = 0; i < n; i += nr)
        s->e->simd->pack(t->rows + i * d, k + i * d, d, gkv__least(nr, n - i), d);
    s->e->simd->gemm(t->s, BLOCK, t->q, d, t->rows, n_rows, n, d, 0);
}

/* weight[ih][key] = sum over the question's rows and the heads that share ih of their attention
 * to the key.  Row (token p, head) sees the keys up to its own. */
static void weigh_item(void *arg, size_t i, unsigned thread)
{
    const struct stream *s = arg;
    const struct tile t = tile_of(s, thread);
    const uint32_t ih = (uint32_t)i;
    const size_t d = s->s->head_dim, g = s->s->n_head / s->s->n_head_kv, rows = s->n_q * g;
    const size_t n_keys = s->held + s->n_rows, n_text = n_keys - s->n_q;
    const float scale = (float)(1.44269504088896340736 / sqrt((double)d));
    float *weight = s->weight + i * (s->budget + s->max_rows);

    memset(weight, 0, n_text * sizeof *weight);
    for (size_t at = 0; at < rows; at += TILE) {
        const size_t nt = gkv__least(TILE, rows - at);

        for (size_t r = 0; r < nt; r++) {
            const size_t p = s->count - s->n_q + (at + r) / g;          /* row of e->q       */
            const float *q = s->e->q + (p * s->s->n_head + ih * g + (at + r) % g) * d;

            for (size_t x = 0; x < d; x++)
                t.q[r * d + x] = q[x] * scale;
            t.max[r] = -INFINITY;
            t.sum[r] = 0;
        }
        for (size_t key = 0; key < n_keys; key += BLOCK) {
            const size_t n = gkv__least(BLOCK, n_keys - key);

            products(s, &t, nt, ih, key, n);
            for (size_t r = 0; r < nt; r++) {
                const size_t seen = n_text + (at + r) / g + 1;
                const size_t n_seen = seen <= key ? 0 : gkv__least(n, seen - key);
                const float *row = t.s + r * BLOCK;
                float max = t.max[r], sum = 0;

                for (size_t x = 0; x < n_seen; x++)
                    max = row[x] > max ? row[x] : max;
                for (size_t x = 0; x < n_seen; x++)
                    sum += exp2f(row[x] - max);
                t.sum[r] = n_seen ? t.sum[r] * exp2f(t.max[r] - max) + sum : t.sum[r];
                t.max[r] = max;
            }
        }
        for (size_t key = 0; key < n_text; key += BLOCK) {
            const size_t n = gkv__least(BLOCK, n_text - key);

            products(s, &t, nt, ih, key, n);
            for (size_t r = 0; r < nt; r++)
                for (size_t x = 0; x < n; x++)
                    weight[key + x] += exp2f(t.s[r * BLOCK + x] - t.max[r]) / t.sum[r];
        }
    }
}

/* e->q has the question's queries at the end of the last s->count rows.  Leaves in the store what
 * the layer keeps. */
static void cut(struct stream *s)
{
    const size_t width = s->budget + s->max_rows, n_heads = s->s->n_head_kv;
    const size_t n_text = s->held + s->n_warm + s->n_new;
    const size_t n_keep = gkv__least(s->budget, s->held + s->n_new);
    float *sum = s->weight;

    gkv__for(s->e->n_threads, n_heads, weigh_item, s);
    for (size_t ih = 1; ih < n_heads; ih++)
        for (size_t j = 0; j < n_text; j++)
            sum[j] += s->weight[ih * width + j];
    for (size_t j = s->held; j < s->held + s->n_warm; j++)
        sum[j] = -INFINITY;
    for (size_t j = 0; j < SINKS && j < n_text; j++)
        sum[j] = INFINITY;
    for (size_t j = n_text - gkv__least(s->recent, s->n_new); j < n_text; j++)
        sum[j] = INFINITY;
    gkv__top(sum, n_text, n_keep, s->keep);

    s->count = n_keep;
    gkv__for(s->e->n_threads, n_heads, squeeze_item, s);
    for (s->first = s->held; s->first < n_text; s->first += s->e->chunk) {
        gkv__turn(s->e, s->f->m, gkv__least(s->e->chunk, n_text - s->first), s->first);
        gkv__for(s->e->n_threads, n_heads, take_item, s);
    }
}

/* ---- steps ------------------------------------------------------------------------------ */

/* The rows of x through one layer, behind what it holds.  Blocks are counted from the end, so
 * that the last has all of the question; s->count becomes its size. */
static void layer(struct stream *s)
{
    const size_t chunk = s->e->chunk, left = s->n_rows % chunk;

    load(s);
    for (size_t at = 0; at < s->n_rows; at += s->count) {
        s->count = at || !left ? chunk : left;
        gkv__layer(s->e, s->f->m, s->il, s->x + at * s->s->n_embd, s->count, s->held + at,
                   &s->work, 0);
    }
}

/* Keys of rows first .. first + n - 1 of x at the filter layer, as those of tokens at ... */
static void keep_keys(struct stream *s, size_t first, size_t n, size_t at)
{
    const size_t width = kv_width(s);

    for (size_t i = 0; i < n; i += s->e->chunk) {
        const size_t nc = gkv__least(s->e->chunk, n - i);

        gkv__layer_keys(s->e, s->f->m, s->f->il, s->x + (first + i) * s->s->n_embd, nc);
        for (size_t t = 0; t < nc; t++)
            s->key_type->from_f32(s->e->k + t * width, s->keys + (at + i + t) * key_row(s), width);
    }
}

/* Tokens at .. at + n - 1 of the text, and the question; n = 0: the question alone, which
 * changes no cache. */
static gkv_status step(struct stream *s, size_t at, size_t n, gkv_error *err)
{
    const struct gkv__first *f = s->f;
    const size_t d = s->s->n_embd;

    s->n_new = n;
    s->n_warm = n ? gkv__least(s->warm, at) : 0;
    s->n_rows = s->n_warm + n + s->n_q;
    for (size_t i = 0; i < s->n_warm + n; i += s->e->chunk)
        gkv__embed(s->e, f->m, f->id + at - s->n_warm + i, s->x + i * d,
                   gkv__least(s->e->chunk, s->n_warm + n - i));
    gkv__embed(s->e, f->m, f->id + s->n_text, s->x + (s->n_warm + n) * d, s->n_q);
    for (s->il = 0; s->il < f->il; s->il++) {
        layer(s);
        if (n)
            cut(s);
        gkv__progress(s->e, gkv__layer_work(s->s, s->held, s->n_rows));
        if (gkv__cancelled(s->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %zu of %zu, %.0f %% of the first "
                             "pass done", at, (size_t)f->n, 100 * s->e->done / s->e->total);
    }
    s->held = gkv__least(s->budget, s->held + n);
    keep_keys(s, n ? s->n_warm : 0, n ? n : s->n_q, at);
    return GKV_OK;
}

/* The question's rows are in x.  Keys at their places in the text; or all as far from the query as
 * its own beginning, which no text is too long for. */
static void score_all(struct stream *s)
{
    const struct gkv__first *f = s->f;
    const uint32_t trained = s->s->context;
    const bool common = (int)f->param[PLACE] == COMMON ||
                        ((int)f->param[PLACE] == AUTO && trained && f->n > trained);
    const size_t width = kv_width(s), n = (size_t)f->n;
    gkv__unpack_fn *unpack = s->e->simd->unpack[s->key_type->type];
    float *q = s->weight;               /* idle */

    gkv__layer_qk(s->e, f->m, f->il, s->x, s->n_q, common ? 1 : s->n_text, s->n_q - 1);
    gkv__fold_query(s->e, s->n_q - 1, q);
    for (size_t at = 0; at < n; at += s->e->chunk) {
        const size_t nc = gkv__least(s->e->chunk, n - at);

        unpack(s->keys + at * key_row(s), s->e->k, nc * width);
        if (!common)
            gkv__rope_keys(s->e, f->m, s->e->k, nc, at);
        gkv__score(s->e, s->e->k, nc, q, f->score + at);
    }
}

/* Multiply-adds, for the progress. */
static double work_of(const struct stream *s)
{
    double sum = 0;
    size_t held = 0;

    for (size_t at = 0; at < s->n_text; at += s->step) {
        const size_t n = gkv__least(s->step, s->n_text - at);

        sum += gkv__layer_work(s->s, held, gkv__least(s->warm, at) + n + s->n_q);
        held = gkv__least(s->budget, held + n);
    }
    return s->f->il * (sum + gkv__layer_work(s->s, held, s->n_q));
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    struct stream s = { 0 };
    gkv_status status = begin(&s, e, f, err);

    if (status == GKV_OK)
        gkv__stage(e, "first pass", f->n, work_of(&s));
    for (size_t at = 0; status == GKV_OK && at < s.n_text; at += s.step)
        status = step(&s, at, gkv__least(s.step, s.n_text - at), err);
    if (status == GKV_OK)
        status = step(&s, s.n_text, 0, err);
    if (status == GKV_OK)
        score_all(&s);
    end(&s);
    return status;
}

const struct gkv__schedule gkv__schedule_stream = {
    .name = "stream",
    .summary = "chunk by chunk, each early layer remembering what the question attends to: bounded "
               "memory, time linear in the text, approximate",
    .params = params,
    .kv_type = "f16",
    .run = run,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
