/* SPDX-License-Identifier: BSD-2-Clause
 * attend.c - see attend.h
 *
 * A work item is one KV head and a block of queries.  Its rows are (token, head) pairs, token
 * by token, of all query heads that share the KV head, so K and V are read once for all of
 * them.  Rows are divided into tiles of attend.lanes rows.  Keys come in blocks that fit the
 * first-level cache next to a tile, and are converted to attend's form once per item, unless the cache
 * has them in it (gkv__attend_store).  Every tile
 * meets the key blocks in order, so the sums do not depend on which thread computes them.
 *
 * A few rows would leave most lanes and most threads idle.  For them the keys are cut into
 * pieces, whose size depends on the problem's sizes only.  A work item is then one KV head and
 * one piece, and the partial sums of the pieces are merged in order. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/base/thread.h"

enum {
    ROWS = 384,         /* query rows of a work item with head_dim 64: their q and output
                           (2 * 384 * 64 * 4 bytes) stay in the second-level cache.  Twice as many
                           where keys and values have to be converted for each item, and more where
                           blocks of keys are larger                                         */
    ITEMS = 16,         /* with fewer work items per thread, threads share items of half as many rows,
                           so that they finish together: one or two percent                  */
    PARTS = 4,          /* of an item at most: the last ones of a thread are cut             */
    KEYS = 128,         /* keys of the smallest block with head_dim 64                       */
    PIECE = 512,        /* for few rows: least keys of a work item                           */
    PIECES = 64,        /*               most pieces                                         */
    PARTIALS = 2048,    /*               most rows (over all heads) times pieces             */
};

struct job {
    struct gkv__exec        *e;
    const struct gkv__shape *s;         /* with the heads of the cache's layer               */
    const struct gkv__cache *c;
    uint32_t                 il, heads; /* KV heads of the layer                             */
    float                   *out;
    const float             *q;
    size_t                   n, group;  /* queries; query heads per KV head                  */
    uint64_t                 pos;
    const struct gkv__view  *view;
    size_t                   block, part;       /* tokens of a work item, and of a part of it        */
    size_t                   piece;     /* keys of a work item, for few rows                 */
    float                    cap;
    float                   *sums;      /* or NULL */
};

static uint64_t first_key(const struct job *j, uint64_t p)
{
    return gkv__view_first(j->view, p);
}

size_t gkv__attend_keys(const struct gkv__simd *simd, uint32_t head_dim)
{
    const size_t most = simd->attend.keys, n = most * 64 / (size_t)head_dim / 16 * 16;

    return n < 16 ? 16 : n > most ? most : n;
}

const struct gkv__quant *gkv__attend_store(const struct gkv__simd *simd, const gkv_model *m,
                                           const struct gkv__quant *type)
{
    const struct gkv__attend *a = &simd->attend;
    uint32_t runs = 0;                  /* layers with values in runs; the others have them in pairs */

    if (!a->narrow || (type->type != GKV__TYPE_F32 && type->type != GKV__TYPE_BF16))
        return type;
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        const uint32_t d = gkv__shape_of(m, il)->head_dim, run = d % a->together ? 2 : a->together;

        if (d % 2 || gkv__attend_keys(simd, d) % run)   /* a block of keys begins with a run */
            return type;
        runs += run == a->together;
    }
    return runs && runs < m->shape.n_layer ? type : gkv__kv_in_runs(runs ? a->together : 2);
}

static size_t rows_per_item(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    const size_t more = (simd->attend.pairs ? 2 : 1) * simd->attend.keys / KEYS;
    const size_t rows = more * ROWS * 64 / (size_t)(s->head_dim < 64 ? 64 : s->head_dim);

    return rows < simd->attend.lanes ? simd->attend.lanes : rows;
}

static size_t tokens_per_item(const struct gkv__simd *simd, const struct gkv__shape *s, size_t group)
{
    const size_t rows = rows_per_item(simd, s);

    return rows / group ? rows / group : 1;
}

/* Tiles of the largest work item, also where the cache repeats KV heads and fewer query heads share one. */
static size_t tiles_per_item(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    const size_t rows = rows_per_item(simd, s), group = s->n_head / s->n_head_kv;

    return ((rows < group ? group : rows) + simd->attend.lanes - 1) / simd->attend.lanes;
}

/* Scratch of a thread, in this order; all are floats except to and from:
 *   per tile  qt, ot [head_dim][lanes]   m, l [lanes]
 *   then      s [keys][lanes]   kt, vt [keys][head_dim]   to, from [lanes]
 */
static size_t tile_floats(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    return 2 * simd->attend.lanes * ((size_t)s->head_dim + 1);
}

/* More rows than this per KV head are not few. */
static size_t few_rows(const struct gkv__simd *simd)
{
    return 2 * simd->attend.lanes;
}

/* Scratch for few rows:  q [rows][row]   to, from [rows]. */
static size_t few_floats(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    return few_rows(simd) * (GKV__FEW_ROW((size_t)s->head_dim) + 2);
}

uint64_t gkv__attend_scratch(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    size_t keys = gkv__attend_keys(simd, s->head_dim);
    size_t tiles = tiles_per_item(simd, s) * tile_floats(simd, s) + keys * simd->attend.lanes +
                   2 * keys * s->head_dim + 2 * simd->attend.lanes;

    return sizeof(float) * gkv__max(tiles, few_floats(simd, s));
}

uint64_t gkv__attend_partials(const struct gkv__shape *s)
{
    return sizeof(float) * PARTIALS * (GKV__FEW_ROW((uint64_t)s->head_dim) + 2);
}

/* ---- tiles of rows ---------------------------------------------------------------------- */

static const double log2_e = 1.44269504088896340736;

float gkv__attend_scale(const struct gkv__shape *s)
{
    return (float)(s->attn_scale > 0 ? log2_e * s->attn_scale : log2_e / sqrt((double)s->head_dim));
}

float gkv__attend_sink(const float *sinks, size_t head, float max)
{
    return sinks ? exp2f((float)(log2_e * (double)sinks[head]) - max) : 0;
}

float gkv__attend_cap(const struct gkv__shape *s)
{
    return (float)(log2_e * (double)s->attn_cap);
}

/* qt[x][lane] = q[row of lane][x] * scale, in attend's form. */
static void gather(float *qt, const struct job *j, size_t ih, size_t token, size_t row,
                   size_t n_rows)
{
    const struct gkv__shape *s = j->s;
    const size_t lanes = j->e->simd->attend.lanes, d = s->head_dim, g = j->group;
    const float scale = gkv__attend_scale(s);

    for (size_t i = 0; i < lanes; i++) {
        size_t r = row + i < n_rows ? row + i : n_rows - 1;     /* padding repeats the last row */
        const float *q = j->q + ((token + r / g) * s->n_head + ih * g + r % g) * d;

        for (size_t x = 0; x < d; x++)
            qt[x * lanes + i] = q[x] * scale;
    }
    if (j->e->simd->attend.pairs)
        j->e->simd->attend.pairs(qt, qt, GKV__TYPE_F32, d, lanes);
}

static void leave_sums(const struct job *j, size_t token, size_t head, float max, float sum)
{
    if (!j->sums)
        return;
    j->sums[(token * j->s->n_head + head) * 2] = max;
    j->sums[(token * j->s->n_head + head) * 2 + 1] = sum;
}

static void scatter(const float *ot, const float *m, const float *l, const struct job *j, size_t ih,
                    size_t token, size_t row, size_t n_rows)
{
    const struct gkv__shape *s = j->s;
    const size_t lanes = j->e->simd->attend.lanes, d = s->head_dim, g = j->group;

    for (size_t i = 0; i < lanes && row + i < n_rows; i++) {
        size_t r = row + i;
        float *out = j->out + ((token + r / g) * s->n_head + ih * g + r % g) * d;
        const float sum = l[i] + gkv__attend_sink(j->view->sinks, ih * g + r % g, m[i]), inv = 1 / sum;

        leave_sums(j, token + r / g, ih * g + r % g, m[i], sum);
        for (size_t x = 0; x < d; x++)
            out[x] = ot[x * lanes + i] * inv;
    }
}

void gkv__to_form(const struct gkv__simd *simd, gkv__form_fn *form, enum gkv__type type, const void *rows,
                  float *buf, size_t n, size_t d)
{
    if (!form || (type != GKV__TYPE_F32 && type != GKV__TYPE_F16)) {
        simd->unpack[type](rows, buf, n * d);
        rows = buf;
        type = GKV__TYPE_F32;
    }
    if (form)
        form(buf, rows, type, n, d);
}

const void *gkv__keys_in_form(const struct gkv__simd *simd, const struct gkv__cache *c, size_t d, const uint8_t *rows,
                                float *buf, size_t nk)
{
    const struct gkv__attend *a = &simd->attend;

    if (c->type->type == a->type && (!a->narrow || d % 2 == 0))
        return rows;
    gkv__to_form(simd, a->narrow, c->type->type, rows, buf, nk, d);
    return buf;
}

const void *gkv__values_in_form(const struct gkv__simd *simd, const struct gkv__cache *c, size_t d,
                                  const uint8_t *rows, float *buf, float *spare, size_t nk)
{
    const struct gkv__attend *a = &simd->attend;

    if (c->type->run || (c->type->type == a->type && !a->pairs))
        return rows;
    if (!a->values) {
        gkv__to_form(simd, a->pairs, c->type->type, rows, buf, nk, d);
    } else if (c->type->type == GKV__TYPE_F16 || c->type->type == GKV__TYPE_F32) {
        a->values(buf, rows, c->type->type, nk, d);
    } else {
        simd->unpack[c->type->type](rows, spare, nk * d);
        a->values(buf, spare, GKV__TYPE_F32, nk, d);
    }
    return buf;
}

/* Position p relative to the block of n keys that begins at `key`, limited to 0 .. n. */
static int32_t some(uint64_t p, uint64_t key, size_t n)
{
    return p < key ? 0 : p - key >= n ? (int32_t)n : (int32_t)(p - key);
}

static bool is_some(const struct gkv__sight *see)
{
    return see->to || see->from || see->cap > 0;
}

/* Parts a .. b - 1 of a work item. */
static void items(void *arg, size_t a, size_t b, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__shape *s = j->s;
    const struct gkv__cache *c = j->c;
    const size_t lanes = simd->attend.lanes, d = s->head_dim, g = j->group;
    const size_t keys = gkv__attend_keys(simd, s->head_dim);
    /* Later blocks of queries see more keys: they are dealt first, so that the threads finish
     * together. */
    const size_t n_blocks = (j->n + j->block - 1) / j->block, parts = (j->block + j->part - 1) / j->part, i = a / parts;
    const size_t ih = i % j->heads, whole = (n_blocks - 1 - i / j->heads) * j->block, token = whole + a % parts * j->part;
    const size_t end = gkv__min(gkv__min(token + (b - a) * j->part, whole + j->block), j->n);
    const size_t n_tokens = token < end ? end - token : 0;
    const size_t n_rows = n_tokens * g, n_tiles = (n_rows + lanes - 1) / lanes;
    const size_t stride = tile_floats(simd, s);
    const uint64_t n_keys = j->pos + token + n_tokens;      /* the last query sees them all  */
    float *tiles = gkv__scratch(j->e, thread);
    float *scores = tiles + tiles_per_item(simd, s) * stride;
    float *kt = scores + keys * lanes, *vt = kt + keys * d;
    int32_t *to = (int32_t *)(vt + keys * d), *from = to + lanes;

    if (!n_tokens)
        return;
    for (size_t t = 0; t < n_tiles; t++) {
        float *qt = tiles + t * stride, *ot = qt + d * lanes, *m = ot + d * lanes, *l = m + lanes;

        gather(qt, j, ih, token, t * lanes, n_rows);
        memset(ot, 0, d * lanes * sizeof *ot);
        for (size_t x = 0; x < lanes; x++) {
            m[x] = GKV__ATTEND_MIN;
            l[x] = 0;
        }
    }
    for (uint64_t key = first_key(j, j->pos + token) / keys * keys;
         key < n_keys && !gkv__cancelled(j->e); key += keys) {
        const size_t nk = n_keys - key < keys ? (size_t)(n_keys - key) : keys;
        const void *v = gkv__values_in_form(simd, c, d, gkv__cache_v(c, j->il, (uint32_t)ih, key), vt, kt, nk);
        const void *k = gkv__keys_in_form(simd, c, d, gkv__cache_k(c, j->il, (uint32_t)ih, key), kt, nk);

        for (size_t t = 0; t < n_tiles; t++) {
            float *qt = tiles + t * stride, *ot = qt + d * lanes, *m = ot + d * lanes, *l = m + lanes;
            /* Keys that neither the first nor the last query of the tile sees are skipped. */
            uint64_t first = j->pos + token + t * lanes / g;
            uint64_t last = j->pos + token + (t * lanes + lanes - 1) / g;
            size_t   n = last < key + nk ? (size_t)(last + 1 - key) : nk;
            struct gkv__sight see = { first + 1 < key + n ? to : NULL,
                                      first_key(j, last) > key ? from : NULL, j->cap };

            if (last < key || first_key(j, first) >= key + nk)
                continue;
            for (size_t x = 0; x < lanes && (see.to || see.from); x++) {
                uint64_t p = j->pos + token + (t * lanes + x) / g;
                to[x] = some(p + 1, key, n);
                from[x] = some(first_key(j, p), key, n);
            }
            simd->attend.run(ot, m, l, qt, k, v, n, d, is_some(&see) ? &see : NULL, scores);
        }
    }
    for (size_t t = 0; t < n_tiles; t++) {
        const float *ot = tiles + t * stride + d * lanes, *m = ot + d * lanes;
        scatter(ot, m, m + lanes, j, ih, token, t * lanes, n_rows);
    }
}

/* ---- few rows --------------------------------------------------------------------------- */

/* Partial sums of piece ip for KV head ih: o [rows][row], m [rows], l [rows]. */
static float *partial(const struct job *j, size_t ih, size_t ip, size_t n_pieces)
{
    const size_t rows = j->n * j->group;

    return j->e->partial + (ih * n_pieces + ip) * rows *
                           (GKV__FEW_ROW((size_t)j->s->head_dim) + 2);
}

/* Number of pieces, counted from the first key that any row sees. */
static size_t pieces(const struct job *j)
{
    return (size_t)((j->pos + j->n - first_key(j, j->pos) + j->piece - 1) / j->piece);
}

static void few_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__shape *s = j->s;
    const struct gkv__cache *c = j->c;
    const size_t d = s->head_dim, row = GKV__FEW_ROW(d), g = j->group, rows = j->n * g;
    const size_t n_pieces = pieces(j), ih = i / n_pieces;
    const uint64_t first = first_key(j, j->pos) + i % n_pieces * j->piece, n_keys = j->pos + j->n;
    const uint64_t end = n_keys - first < j->piece ? n_keys : first + j->piece;
    const float scale = gkv__attend_scale(s);
    float *o = partial(j, ih, i % n_pieces, n_pieces), *m = o + rows * row, *l = m + rows;
    float *q = gkv__scratch(j->e, thread);
    int32_t *to = (int32_t *)(q + few_rows(simd) * row), *from = to + few_rows(simd);
    const size_t nk = (size_t)(end - first);
    struct gkv__sight see = { j->pos + 1 < end ? to : NULL,
                              first_key(j, n_keys - 1) > first ? from : NULL, j->cap };

    if (gkv__cancelled(j->e))
        return;
    memset(o, 0, rows * row * sizeof *o);
    memset(q, 0, rows * row * sizeof *q);
    for (size_t r = 0; r < rows; r++) {
        const float *from_q = j->q + (r / g * s->n_head + ih * g + r % g) * d;

        m[r] = GKV__ATTEND_MIN;
        l[r] = 0;
        for (size_t x = 0; x < d; x++)
            q[r * row + x] = from_q[x] * scale;
    }
    for (size_t r = 0; r < rows; r++) {
        to[r] = some(j->pos + r / g + 1, first, nk);
        from[r] = some(first_key(j, j->pos + r / g), first, nk);
    }
    simd->attend_few[c->type->type](o, m, l, q, gkv__cache_k(c, j->il, (uint32_t)ih, first),
                                    gkv__cache_v(c, j->il, (uint32_t)ih, first), rows, nk, d,
                                    is_some(&see) ? &see : NULL);
}

static void few_items(void *arg, size_t from, size_t to, unsigned thread)
{
    for (size_t i = from; i < to; i++)
        few_item(arg, i, thread);
}

static void merge_item(void *arg, size_t ih, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__shape *s = j->s;
    const size_t d = s->head_dim, row = GKV__FEW_ROW(d), g = j->group, rows = j->n * g;
    const size_t n_pieces = pieces(j);

    (void)thread;
    for (size_t r = 0; r < rows; r++) {
        float *out = j->out + (r / g * s->n_head + ih * g + r % g) * d;
        float max = GKV__ATTEND_MIN, sum = 0;

        for (size_t ip = 0; ip < n_pieces; ip++) {
            const float *m = partial(j, ih, ip, n_pieces) + rows * row;
            max = m[r] > max ? m[r] : max;
        }
        memset(out, 0, d * sizeof *out);
        for (size_t ip = 0; ip < n_pieces; ip++) {
            const float *o = partial(j, ih, ip, n_pieces), *m = o + rows * row, *l = m + rows;
            float w = exp2f(m[r] - max);

            sum += l[r] * w;
            for (size_t x = 0; x < d; x++)
                out[x] += o[r * row + x] * w;
        }
        sum += gkv__attend_sink(j->view->sinks, ih * g + r % g, max);
        for (size_t x = 0; x < d; x++)
            out[x] /= sum;
        leave_sums(j, r / g, ih * g + r % g, max, sum);
    }
}

/* A tile computes all its lanes, used or not, but a lane takes less time than a row does here. */
bool gkv__attend_few(const struct gkv__simd *simd, const struct gkv__shape *s, size_t n, size_t group)
{
    const size_t lanes = simd->attend.lanes, rows = n * group;
    const size_t padded = (rows + lanes - 1) / lanes * lanes;

    return rows <= few_rows(simd) && n * s->n_head <= PARTIALS &&
           rows * 8 <= padded * simd->attend.few;
}

/* Keys of a piece: depends on the sizes of the problem only, not on the threads. */
static size_t piece_of(const struct gkv__shape *s, size_t n, uint64_t n_keys)
{
    size_t most = PARTIALS / (n * s->n_head);

    most = most < 1 ? 1 : most > PIECES ? PIECES : most;
    return (size_t)((n_keys + most * PIECE - 1) / (most * PIECE)) * PIECE;
}

/* Tokens of a work item made of tiles.  A row's result does not depend on which rows share its tile or item:
 * blocks of keys begin at multiples of their size, and keys that a row does not see add zeros. */
static size_t block_of(const struct gkv__simd *simd, const struct gkv__shape *s, unsigned n_threads, size_t n,
                       size_t group)
{
    size_t block = tokens_per_item(simd, s, group);

    if (n_threads > 1 && block > 1 && (n + block - 1) / block * (s->n_head / group) < ITEMS * n_threads &&
        block * group >= 2 * simd->attend.lanes)
        block /= 2;
    return block;
}

/* Tokens of a part of a work item: whole tiles. */
static size_t part_of(const struct gkv__simd *simd, unsigned n_threads, size_t block, size_t group)
{
    const size_t lanes = simd->attend.lanes, rows = (block * group + PARTS * lanes - 1) / (PARTS * lanes) * lanes;

    return n_threads > 1 && lanes % group == 0 ? gkv__min(rows / group, block) : block;
}

void gkv__attend(struct gkv__exec *e, const struct gkv__cache *c, uint32_t il, float *out,
                 const float *q, size_t n, uint64_t pos, const struct gkv__view *view, float *sums)
{
    struct gkv__shape s = *e->shape;
    const uint32_t heads = gkv__cache_heads(c, il);
    const size_t group = s.n_head / heads;
    struct job j = { e, &s, c, il, heads, out, q, n, group, pos, view, 0, 0, 0, gkv__attend_cap(&s), sums };
    size_t parts;

    s.head_dim = gkv__cache_dim(c, il);
    s.n_head_kv = heads / c->repeat;
    j.block = block_of(e->simd, &s, e->n_threads, n, group);
    j.piece = piece_of(&s, n, pos + n - first_key(&j, pos));
    if (!c->type->run && gkv__attend_few(e->simd, &s, n, group)) {
        gkv__for_parts(e->n_threads, pieces(&j) * heads, 1, few_items, &j);
        gkv__for(e->n_threads, heads, merge_item, &j);
    } else {
        j.part = part_of(e->simd, e->n_threads, j.block, group);
        parts = (j.block + j.part - 1) / j.part;
        gkv__for_parts(e->n_threads, (n + j.block - 1) / j.block * heads * parts, parts, items, &j);
    }
}
