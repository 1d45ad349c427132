/* SPDX-License-Identifier: BSD-2-Clause
 * sparse.c - see sparse.h.
 *
 * A work item is one KV head and a few blocks of queries.  It first estimates and picks, for each of its query heads
 * and blocks; then it goes through the keys as attend.c does, in the same blocks, and a tile meets only the keys that
 * were picked for it.  A tile has rows of one query head and one block, so that all of its rows have the same keys.
 *
 * The estimate is a product of groups of keys, STRIDE * head_dim floats each, with groups of queries of the same size,
 * whose tokens are in the opposite order: a column of the product is a group of queries of one head. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/thread.h"
#include "src/engine/attend.h"
#include "src/engine/sparse.h"

enum {
    BLOCK = GKV__SPARSE_BLOCK,
    STRIDE = GKV__SPARSE_STRIDE,
    GROUPS = BLOCK / STRIDE,    /* of a block                                                */
    STRIPE = 4,                 /* blocks of keys at a time                                  */
    INPUTS = 128,               /* of a step of the product: both sides stay in the first-level cache */
    PAD = 16,                   /* floats between groups of keys, which would share the cache's sets  */
    MOST = 8,                   /* blocks of queries of an item                              */
    LANES = 4,                  /* a panel has a multiple of so many columns                 */
};

struct heap {
    float    share;
    uint32_t block;
};

/* What one thread needs for one item; sizes in floats. */
struct room {
    size_t columns, per_tile;
    float *panels;              /* [blocks][columns of one, in panels][STRIDE * d]           */
    float *stripe;              /* [STRIPE * GROUPS][STRIDE * d + PAD]                       */
    float *product;             /* [STRIPE * GROUPS][columns]                                */
    float *max, *sum;           /* [blocks][key blocks][columns]: of a softmax within a block of keys */
    struct heap *heap;          /* [key blocks]                                              */
    float *tiles;               /* of each, as in attend.c: qt, ot, m, l                     */
    float *scores, *kt, *vt;
    int32_t *to;
    uint8_t *keep;              /* [blocks][heads of the group][key blocks]                  */
};

struct job {
    struct gkv__exec        *e;
    struct gkv__sparse      *sp;
    const struct gkv__shape *s;         /* with the head size of the cache's layer           */
    const struct gkv__cache *c;
    uint32_t                 il, heads;
    float                   *out;
    const float             *q;
    size_t                   n, group;
    uint64_t                 pos;
    const struct gkv__view  *view;
    float                    cap;
    size_t                   n_blocks, blocks;  /* of queries, of an item                    */
};

/* An item. */
struct part {
    const struct job *j;
    struct room       room;
    size_t            ih;
    uint64_t          block, end;       /* blocks of queries                                 */
    size_t            key_blocks;       /* up to the last query                              */
};

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- memory ----------------------------------------------------------------------------- */

static size_t take(uint8_t *base, size_t *at, size_t bytes, void *to)
{
    void *p = base ? base + *at : NULL;

    memcpy(to, &p, sizeof p);
    return *at += up(bytes, 64);
}

static size_t tiles_of(const struct gkv__simd *simd)
{
    return up(BLOCK, simd->attend.lanes) / simd->attend.lanes;
}

/* Lays out room, and returns its size. */
static size_t lay_out(struct room *r, const struct gkv__simd *simd, size_t d, size_t group, size_t key_blocks,
                      uint8_t *base)
{
    const size_t lanes = simd->attend.lanes, keys = gkv__attend_keys(simd, (uint32_t)d);
    size_t at = 0;

    r->columns = up(GROUPS * group, simd->nr);
    r->per_tile = 2 * lanes * (d + 1);
    take(base, &at, MOST * r->columns * STRIDE * d * sizeof(float), &r->panels);
    take(base, &at, STRIPE * GROUPS * (STRIDE * d + PAD) * sizeof(float), &r->stripe);
    take(base, &at, STRIPE * GROUPS * r->columns * sizeof(float), &r->product);
    take(base, &at, MOST * key_blocks * r->columns * sizeof(float), &r->max);
    take(base, &at, MOST * key_blocks * r->columns * sizeof(float), &r->sum);
    take(base, &at, key_blocks * sizeof *r->heap, &r->heap);
    take(base, &at, MOST * group * tiles_of(simd) * r->per_tile * sizeof(float), &r->tiles);
    take(base, &at, keys * lanes * sizeof(float), &r->scores);
    take(base, &at, keys * d * sizeof(float), &r->kt);
    take(base, &at, keys * d * sizeof(float), &r->vt);
    take(base, &at, lanes * sizeof(int32_t), &r->to);
    return take(base, &at, MOST * group * key_blocks, &r->keep);
}

uint64_t gkv__sparse_room(const struct gkv__simd *simd, size_t head_dim, size_t group, uint64_t n)
{
    struct room r;

    return lay_out(&r, simd, head_dim, group, (size_t)((n + BLOCK - 1) / BLOCK), NULL);
}

static uint64_t room_bytes(const struct gkv__simd *simd, const gkv_model *m, uint32_t n_layer, uint64_t n)
{
    uint64_t most = 0;

    for (uint32_t il = 0; il < n_layer; il++) {
        const struct gkv__shape *s = gkv__shape_of(m, il);

        most = gkv__max(most, gkv__sparse_room(simd, s->head_dim, m->shape.n_head / s->n_head_kv, n));
    }
    return most;
}

uint64_t gkv__sparse_bytes(const struct gkv__simd *simd, const gkv_model *m, uint32_t n_layer, uint64_t n,
                           unsigned n_threads)
{
    return gkv__times(room_bytes(simd, m, n_layer, n), n_threads);
}

gkv_status gkv__sparse_open(struct gkv__sparse *sp, const struct gkv__exec *e, const gkv_model *m, uint32_t n_layer,
                            uint64_t n, gkv_error *err)
{
    sp->n_threads = e->n_threads;
    sp->room_bytes = room_bytes(e->simd, m, n_layer, n);
    atomic_init(&sp->kept, 0);
    atomic_init(&sp->seen, 0);
    if (!sp->room_bytes || (sp->room = gkv__pages(sp->n_threads, sp->room_bytes)))
        return GKV_OK;
    return gkv__fail(err, GKV_NOMEM, "the system refused %s to find sparse attention",
                     gkv__needed(sp->n_threads * sp->room_bytes).text);
}

void gkv__sparse_close(struct gkv__sparse *sp)
{
    gkv__pages_free(sp->room, sp->n_threads, sp->room_bytes);
    sp->room = NULL;
}

/* ---- the estimate ----------------------------------------------------------------------- */

/* 2^x for x <= 0, to 2^-17 of itself, and 2^-126 for less; of x > 0, anything.  In plain arithmetic, so that it is the
 * same at every level. */
static inline float power(float x)
{
    const float least = x < -126 ? -126 : x, whole = least + 12582912.0f;       /* 1.5 * 2^23: rounds */
    const float f = least - (whole - 12582912.0f);
    float p = 0.009656710550189018f;
    uint32_t bits, n;

    p = p * f + 0.05583828315138817f;
    p = p * f + 0.24022530019283295f;
    p = p * f + 0.6931367516517639f;
    p = p * f + 1.0f;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&n, &whole, sizeof n);
    bits += n << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* Rows of j->q that are in a block of queries: from .. to - 1. */
static size_t first_row(const struct job *j, uint64_t block)
{
    return block * BLOCK <= j->pos ? 0 : (size_t)(block * BLOCK - j->pos);
}

static size_t last_row(const struct job *j, uint64_t block)
{
    const uint64_t end = (block + 1) * BLOCK - j->pos;

    return end < j->n ? (size_t)end : j->n;
}

static const float *query(const struct part *p, size_t row, size_t head)
{
    const struct job *j = p->j;

    return j->q + (row * j->s->n_head + p->ih * j->group + head) * j->s->head_dim;
}

/* Column c of a block: head c / GROUPS, group c % GROUPS. */
static float *panel_of(const struct part *p, uint64_t block)
{
    return p->room.panels + (block - p->block) * p->room.columns * STRIDE * p->j->s->head_dim;
}

static void gather_groups(const struct part *p, uint64_t block)
{
    const struct job *j = p->j;
    const size_t d = j->s->head_dim, nr = j->e->simd->nr, from = first_row(j, block), to = last_row(j, block);
    float *panels = panel_of(p, block);

    memset(panels, 0, p->room.columns * STRIDE * d * sizeof *panels);
    for (size_t row = from; row < to; row++) {
        const size_t at = (size_t)(j->pos + row - block * BLOCK), r = STRIDE - 1 - at % STRIDE;

        for (size_t h = 0; h < j->group; h++) {
            const size_t c = h * GROUPS + at / STRIDE;
            float *to_panel = panels + (c / nr * STRIDE * d + r * d) * nr + c % nr;
            const float *q = query(p, row, h);

            for (size_t x = 0; x < d; x++)
                to_panel[x * nr] = q[x];
        }
    }
}

/* Keys of the stripe's groups; zeros behind the last key. */
static void gather_stripe(const struct part *p, uint64_t first, size_t groups, uint64_t n_keys)
{
    const struct job *j = p->j;
    const struct gkv__cache *c = j->c;
    const size_t d = j->s->head_dim, width = STRIDE * d;

    for (size_t g = 0; g < groups; g++) {
        const uint64_t key = (first * GROUPS + g) * STRIDE;
        const size_t n = key >= n_keys ? 0 : n_keys - key < STRIDE ? (size_t)(n_keys - key) : STRIDE;
        float *to = p->room.stripe + g * (width + PAD);

        if (n)
            j->e->simd->unpack[c->type->type](gkv__cache_k(c, j->il, (uint32_t)p->ih, key), to, n * d);
        memset(to + n * d, 0, (STRIDE - n) * d * sizeof *to);
    }
}

/* product[groups][columns] = mean of the antidiagonals, times log2(e) / sqrt(head_dim) */
static void multiply(const struct part *p, uint64_t block, size_t groups)
{
    const struct job *j = p->j;
    const struct gkv__simd *simd = j->e->simd;
    const size_t width = STRIDE * j->s->head_dim, columns = p->room.columns, nr = simd->nr;
    const float scale = gkv__attend_scale(j->s) / STRIDE;
    const float *panels = panel_of(p, block);

    for (size_t x = 0; x < width; x += INPUTS) {
        const size_t k = width - x < INPUTS ? width - x : INPUTS;

        for (size_t c = 0; c < columns; c += nr)
            simd->gemm(p->room.product + c, columns, p->room.stripe + x, width + PAD, panels + c * width + x * nr,
                       groups, nr, k, x > 0);
    }
    for (size_t i = 0; i < groups * columns; i++)
        p->room.product[i] *= scale;
    if (j->cap > 0)
        simd->softcap(p->room.product, groups * columns, j->cap);
}

/* Maxima and sums of a block of keys, whose groups are in s; own: of the queries' own block, where a group of queries
 * sees those up to its own.  LANES columns at a time, for compilers that vectorize loops of a constant length only. */
static inline void reduce(const float *s, size_t columns, bool own, float *max, float *sum)
{
    for (size_t c = 0; c < columns; c += LANES) {
        float most[LANES], all[LANES] = { 0 };

        memcpy(most, s + c, sizeof most);
        for (size_t g = 1; g < GROUPS; g++)
            for (size_t i = 0; i < LANES; i++) {
                const float x = s[g * columns + c + i];

                most[i] = x > most[i] && !(own && g > (c + i) % GROUPS) ? x : most[i];
            }
        for (size_t g = 0; g < GROUPS; g++) {
            float e[LANES];

            for (size_t i = 0; i < LANES; i++)
                e[i] = power(s[g * columns + c + i] - most[i]);
            for (size_t i = 0; i < LANES; i++)
                all[i] += own && g > (c + i) % GROUPS ? 0 : e[i];
        }
        memcpy(max + c, most, sizeof most);
        memcpy(sum + c, all, sizeof all);
    }
}

static size_t key_blocks_of(uint64_t block)
{
    return (size_t)block + 1;
}

static float *of_block(const struct part *p, float *a, uint64_t block)
{
    return a + (block - p->block) * p->key_blocks * p->room.columns;
}

/* Whether rows of the block see all keys in any case. */
static bool is_dense(const struct job *j, uint64_t block)
{
    return j->sp->threshold >= 1 || (block + 1) * BLOCK > j->sp->dense_from;
}

static void estimate(const struct part *p)
{
    const struct job *j = p->j;
    const size_t columns = p->room.columns;

    for (uint64_t b = p->block; b < p->end; b++)
        if (!is_dense(j, b))
            gather_groups(p, b);
    for (size_t first = 0; first < p->key_blocks && !gkv__cancelled(j->e); first += STRIPE) {
        const size_t blocks = p->key_blocks - first < STRIPE ? p->key_blocks - first : STRIPE;

        gather_stripe(p, first, blocks * GROUPS, j->pos + j->n);
        for (uint64_t b = p->block; b < p->end; b++) {
            const size_t end = key_blocks_of(b) < first + blocks ? key_blocks_of(b) : first + blocks;

            if (is_dense(j, b) || end <= first)
                continue;
            multiply(p, b, (end - first) * GROUPS);
            for (size_t kb = first; kb < end; kb++)
                if (kb < b)
                    reduce(p->room.product + (kb - first) * GROUPS * columns, columns, false,
                           of_block(p, p->room.max, b) + kb * columns, of_block(p, p->room.sum, b) + kb * columns);
                else
                    reduce(p->room.product + (kb - first) * GROUPS * columns, columns, true,
                           of_block(p, p->room.max, b) + kb * columns, of_block(p, p->room.sum, b) + kb * columns);
        }
    }
}

/* ---- the choice ------------------------------------------------------------------------- */

static bool before(const struct heap *a, const struct heap *b)
{
    return a->share > b->share || (a->share == b->share && a->block < b->block);
}

static void sink(struct heap *h, size_t n, size_t i)
{
    const struct heap x = h[i];

    for (size_t c = 2 * i + 1; c < n; c = 2 * i + 1) {
        c += c + 1 < n && before(&h[c + 1], &h[c]);
        if (!before(&h[c], &x))
            break;
        h[i] = h[c];
        i = c;
    }
    h[i] = x;
}

/* h: shares of all blocks, first the two that are kept.  Marks what is kept, and returns how many. */
static size_t choose(struct heap *h, size_t n, double threshold, uint8_t *keep)
{
    double total = 0, have = 0;
    size_t rest = n > 2 ? n - 2 : 0, kept = n - rest;

    for (size_t i = 0; i < n; i++)
        total += (double)h[i].share;
    for (size_t i = 0; i < kept; i++) {
        have += (double)h[i].share;
        keep[h[i].block] = 1;
    }
    h += kept;
    for (size_t i = rest / 2; i-- > 0; )
        sink(h, rest, i);
    for (; rest && have < threshold * total; kept++) {
        have += (double)h->share;
        keep[h->block] = 1;
        *h = h[--rest];
        if (rest)
            sink(h, rest, 0);
    }
    return kept;
}

static uint8_t *keep_of(const struct part *p, uint64_t block, size_t head)
{
    return p->room.keep + ((block - p->block) * p->j->group + head) * p->key_blocks;
}

/* The shares that blocks of keys have of the attention of one head; of a group without queries, none. */
static void shares(const struct part *p, uint64_t block, size_t head, struct heap *h)
{
    const size_t n = key_blocks_of(block), columns = p->room.columns;
    const float *max = of_block(p, p->room.max, block) + head * GROUPS;
    const float *sum = of_block(p, p->room.sum, block) + head * GROUPS;
    const size_t row = first_row(p->j, block), end = last_row(p->j, block);
    const size_t from = (size_t)(p->j->pos + row - block * BLOCK) / STRIDE;
    const size_t to = (size_t)(p->j->pos + end - 1 - block * BLOCK) / STRIDE + 1;

    for (size_t kb = 0; kb < n; kb++)
        h[kb] = (struct heap){ 0, (uint32_t)kb };
    for (size_t g = from; g < to; g++) {
        float most = max[g], all = 0;

        for (size_t kb = 1; kb < n; kb++)
            most = max[kb * columns + g] > most ? max[kb * columns + g] : most;
        for (size_t kb = 0; kb < n; kb++)
            all += sum[kb * columns + g] * power(max[kb * columns + g] - most);
        for (size_t kb = 0; kb < n; kb++)
            h[kb].share += sum[kb * columns + g] * power(max[kb * columns + g] - most) / all;
    }
    if (n > 2) {                /* the queries' own block behind the first */
        const struct heap own = h[n - 1];

        h[n - 1] = h[1];
        h[1] = own;
    }
}

static void pick(const struct part *p)
{
    const struct job *j = p->j;

    memset(p->room.keep, 0, (p->end - p->block) * j->group * p->key_blocks);
    for (uint64_t b = p->block; b < p->end; b++)
        for (size_t h = 0; h < j->group; h++) {
            const size_t n = key_blocks_of(b);
            size_t kept = n;

            if (is_dense(j, b)) {
                memset(keep_of(p, b, h), 1, n);
            } else {
                shares(p, b, h, p->room.heap);
                kept = choose(p->room.heap, n, j->sp->threshold, keep_of(p, b, h));
            }
            atomic_fetch_add_explicit(&j->sp->kept, kept, memory_order_relaxed);
            atomic_fetch_add_explicit(&j->sp->seen, n, memory_order_relaxed);
        }
}

/* ---- attention -------------------------------------------------------------------------- */

/* Tile t of an item: rows from .. to - 1 of one head and block. */
struct tile {
    float   *qt, *ot, *m, *l;
    uint64_t block;
    size_t   head, from, to;
};

static size_t n_tiles(const struct part *p)
{
    return (size_t)(p->end - p->block) * p->j->group * tiles_of(p->j->e->simd);
}

static struct tile tile_of(const struct part *p, size_t t)
{
    const struct gkv__simd *simd = p->j->e->simd;
    const size_t lanes = simd->attend.lanes, d = p->j->s->head_dim, i = t / tiles_of(simd);
    struct tile a = { .qt = p->room.tiles + t * p->room.per_tile, .block = p->block + i / p->j->group,
                      .head = i % p->j->group };

    a.ot = a.qt + d * lanes;
    a.m = a.ot + d * lanes;
    a.l = a.m + lanes;
    a.from = first_row(p->j, a.block) + t % tiles_of(simd) * lanes;
    a.to = last_row(p->j, a.block);
    a.to = a.from + lanes < a.to ? a.from + lanes : a.to;
    return a;
}

static void begin_tile(const struct part *p, const struct tile *a)
{
    const struct gkv__simd *simd = p->j->e->simd;
    const size_t lanes = simd->attend.lanes, d = p->j->s->head_dim;
    const float scale = gkv__attend_scale(p->j->s);

    for (size_t i = 0; i < lanes; i++) {
        const float *q = query(p, a->from + i < a->to ? a->from + i : a->to - 1, a->head);

        for (size_t x = 0; x < d; x++)
            a->qt[x * lanes + i] = q[x] * scale;
        a->m[i] = GKV__ATTEND_MIN;
        a->l[i] = 0;
    }
    if (simd->attend.pairs)
        simd->attend.pairs(a->qt, a->qt, GKV__TYPE_F32, d, lanes);
    memset(a->ot, 0, d * lanes * sizeof *a->ot);
}

static void end_tile(const struct part *p, const struct tile *a)
{
    const struct job *j = p->j;
    const size_t lanes = j->e->simd->attend.lanes, d = j->s->head_dim, head = p->ih * j->group + a->head;

    for (size_t i = 0; a->from + i < a->to; i++) {
        float *out = j->out + ((a->from + i) * j->s->n_head + head) * d;
        const float inv = 1 / (a->l[i] + gkv__attend_sink(j->view->sinks, head, a->m[i]));

        for (size_t x = 0; x < d; x++)
            out[x] = a->ot[x * lanes + i] * inv;
    }
}

/* The next keys from `at` on, of n from `key` on, that are kept: *at .. end - 1, which is returned; n: no more.  Blocks
 * of attend.c begin at multiples of 16 keys, and a form of values in an order of its own is in pieces of 32: there some
 * keys may be taken that were not kept, if 32 does not divide attend.c's blocks. */
static size_t next(const struct gkv__attend *f, const uint8_t *keep, uint64_t key, size_t n, size_t *at)
{
    const size_t even = f->values ? 32 : 16;
    size_t end;

    while (*at < n && !keep[(key + *at) / BLOCK])
        *at = (size_t)(((key + *at) / BLOCK + 1) * BLOCK - key);
    if (*at >= n)
        return n;
    for (end = *at; end < n && keep[(key + end) / BLOCK]; )
        end = (size_t)(((key + end) / BLOCK + 1) * BLOCK - key);
    *at = *at / even * even;
    end = up(end, even);
    return end < n ? end : n;
}

static bool meets(const struct part *p, const struct tile *a, uint64_t key, size_t n)
{
    size_t at = 0;

    return a->from < a->to && p->j->pos + a->to > key &&
           next(&p->j->e->simd->attend, keep_of(p, a->block, a->head), key, n, &at) > at;
}

/* Keys from `key` on, in attend's form, which a tile sees up to its last row. */
static void meet(const struct part *p, const struct tile *a, uint64_t key, size_t n, const uint8_t *k, const uint8_t *v)
{
    const struct job *j = p->j;
    const struct gkv__attend *f = &j->e->simd->attend;
    const size_t d = j->s->head_dim, k_row = f->narrow ? up(d, 2) * sizeof(uint16_t) : d * sizeof(float);
    const size_t v_row = d * (f->pairs ? sizeof(uint16_t) : sizeof(float));
    const uint8_t *keep = keep_of(p, a->block, a->head);
    const uint64_t last = j->pos + a->to;
    size_t end;

    n = last < key + n ? (size_t)(last - key) : n;
    for (size_t at = 0; (end = next(f, keep, key, n, &at)) > at; at = end) {
        const struct gkv__sight see = { j->pos + a->from + 1 < key + end ? p->room.to : NULL, NULL, j->cap };

        for (size_t i = 0; see.to && i < f->lanes; i++) {
            const uint64_t row = a->from + i < a->to ? a->from + i : a->to - 1, sees = j->pos + row + 1;

            p->room.to[i] = sees < key + at ? 0 : sees > key + end ? (int32_t)(end - at) : (int32_t)(sees - key - at);
        }
        f->run(a->ot, a->m, a->l, a->qt, k + at * k_row, v + at * v_row, end - at, d,
               see.to || see.cap > 0 ? &see : NULL, p->room.scores);
    }
}

static void attend(const struct part *p)
{
    const struct job *j = p->j;
    const struct gkv__simd *simd = j->e->simd;
    const size_t d = j->s->head_dim, keys = gkv__attend_keys(simd, (uint32_t)d), tiles = n_tiles(p);
    const uint64_t n_keys = j->pos + last_row(j, p->end - 1);

    for (size_t t = 0; t < tiles; t++) {
        const struct tile a = tile_of(p, t);

        if (a.from < a.to)
            begin_tile(p, &a);
    }
    for (uint64_t key = 0; key < n_keys && !gkv__cancelled(j->e); key += keys) {
        const size_t nk = n_keys - key < keys ? (size_t)(n_keys - key) : keys;
        const void *k = NULL, *v = NULL;

        for (size_t t = 0; t < tiles; t++) {
            const struct tile a = tile_of(p, t);

            if (!meets(p, &a, key, nk))
                continue;
            if (!k) {
                v = gkv__values_in_form(simd, j->c, d, gkv__cache_v(j->c, j->il, (uint32_t)p->ih, key), p->room.vt,
                                        p->room.kt, nk);
                k = gkv__keys_in_form(simd, j->c, d, gkv__cache_k(j->c, j->il, (uint32_t)p->ih, key), p->room.kt, nk);
            }
            meet(p, &a, key, nk, k, v);
        }
    }
    for (size_t t = 0; t < tiles; t++) {
        const struct tile a = tile_of(p, t);

        end_tile(p, &a);
    }
}

/* Later blocks of queries see more keys: they are dealt first, so that the threads finish together. */
static void item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t items = (j->n_blocks + j->blocks - 1) / j->blocks, from = (items - 1 - i / j->heads) * j->blocks;
    const size_t end = from + j->blocks < j->n_blocks ? from + j->blocks : j->n_blocks;
    struct part p = { .j = j, .ih = i % j->heads, .block = j->pos / BLOCK + from, .end = j->pos / BLOCK + end };

    p.key_blocks = key_blocks_of(p.end - 1);
    lay_out(&p.room, j->e->simd, j->s->head_dim, j->group, p.key_blocks, j->sp->room + thread * j->sp->room_bytes);
    estimate(&p);
    pick(&p);
    attend(&p);
}

/* Blocks of queries of an item: many, because its keys are converted once, but a few items for each thread. */
static size_t blocks_of(const struct job *j, unsigned n_threads)
{
    const size_t blocks = j->n_blocks * j->heads / (2 * n_threads);

    return blocks < 1 ? 1 : blocks > MOST ? MOST : blocks;
}

void gkv__attend_sparse(struct gkv__exec *e, struct gkv__sparse *sp, const struct gkv__cache *c, uint32_t il,
                        float *out, const float *q, size_t n, uint64_t pos, const struct gkv__view *view)
{
    struct gkv__shape s = *e->shape;
    const uint32_t heads = gkv__cache_heads(c, il);
    struct job j = { .e = e, .sp = sp, .s = &s, .c = c, .il = il, .heads = heads, .out = out, .q = q, .n = n,
                     .group = s.n_head / heads, .pos = pos, .view = view, .cap = gkv__attend_cap(&s) };

    s.head_dim = gkv__cache_dim(c, il);
    if (view->window || view->chunk || gkv__attend_few(e->simd, &s, n, j.group)) {
        gkv__attend(e, c, il, out, q, n, pos, view, NULL);
        return;
    }
    j.n_blocks = (size_t)((pos + n + BLOCK - 1) / BLOCK - pos / BLOCK);
    j.blocks = blocks_of(&j, e->n_threads);
    gkv__for(e->n_threads, (j.n_blocks + j.blocks - 1) / j.blocks * heads, item, &j);
}
