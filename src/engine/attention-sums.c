/* SPDX-License-Identifier: BSD-2-Clause
 * attention-sums.c - see attention-sums.h.  A work item is one query head.  Its rows go in tiles, and
 * each tile is multiplied by the keys twice: first for the maximum and the sum of every row (unless
 * attention left them), then for what each key receives.  Where attention multiplies in bf16, so do
 * these products: the sums that attention left are only valid for the same rounding. */
#include "config.h"
#include "src/engine/attend.h"
#include "src/engine/attention-sums.h"
#include "src/base/thread.h"

enum { TILE = 256, BLOCK = 96 };        /* rows, keys at a time */

struct job {
    struct gkv__exec            *e;
    const struct gkv__observers *l;
    float                       *received;
    size_t                       stride;
    uint64_t                     n_keys;
    float                        cap;
    const struct gkv__product   *mul;   /* of bf16; NULL: f32                                */
    const struct gkv__shape     *s;     /* with the heads of the cache's layer               */
};

/* Scratch of a thread, all float:
 *   q [TILE][d]   raw [BLOCK][d]   panel [BLOCK + nr][d]   s [TILE][BLOCK]   m, l [TILE]
 * Rows and panels in bf16 use half of their space. */
struct tile { float *q, *raw, *panel, *s, *m, *l; };

uint64_t gkv__attention_sums_scratch(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    return sizeof(float) * ((TILE + 2 * BLOCK + simd->nr) * (uint64_t)s->head_dim + TILE * BLOCK + 2 * TILE);
}

static struct tile tile_of(const struct gkv__exec *e, unsigned thread)
{
    const size_t d = e->shape->head_dim;
    struct tile t;

    t.q = gkv__scratch(e, thread);
    t.raw = t.q + TILE * d;
    t.panel = t.raw + BLOCK * d;
    t.s = t.panel + (BLOCK + e->simd->nr) * d;
    t.m = t.s + TILE * BLOCK;
    t.l = t.m + TILE;
    return t;
}

/* t->s[n_rows][BLOCK] = products of the tile's rows with keys from .. from + n - 1 of KV head ih. */
static void products(const struct job *j, const struct tile *t, size_t n_rows, uint32_t ih,
                     uint64_t from, size_t n)
{
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__cache *c = j->l->c;
    const size_t d = j->s->head_dim, nr = simd->nr;
    const void *k = gkv__cache_k(c, j->l->il, ih, from);

    if (c->type->type != (j->mul ? simd->attend.type : GKV__TYPE_F32)) {
        gkv__to_form(simd, j->mul ? simd->attend.narrow : NULL, c->type->type, k, t->raw, n, d);
        k = t->raw;
    }
    if (j->mul) {
        for (size_t i = 0; i < n; i += j->mul->nr)
            j->mul->pack((uint16_t *)t->panel + i * d, (const uint16_t *)k + i * d, d * sizeof(uint16_t),
                         n - i < j->mul->nr ? n - i : j->mul->nr, d);
        j->mul->gemm(t->s, BLOCK, t->q, d * sizeof(uint16_t), t->panel, n_rows, n, d, 0);
    } else {
        for (size_t i = 0; i < n; i += nr)
            simd->pack(t->panel + i * d, (const float *)k + i * d, d, n - i < nr ? n - i : nr, d);
        simd->gemm(t->s, BLOCK, t->q, d, t->panel, n_rows, n, d, 0);
    }
    for (size_t r = 0; j->cap > 0 && r < n_rows; r++)
        simd->softcap(t->s + r * BLOCK, n, j->cap);
}

/* The first slot that row r sees. */
static uint64_t first_slot(const struct gkv__observers *l, size_t r)
{
    return gkv__view_first(&l->view, l->slot + r);
}

/* Of n keys from `key` on, row r sees first .. first + n - 1. */
struct seen { size_t first, n; };

static struct seen seen(const struct job *j, size_t r, uint64_t key, size_t n)
{
    const uint64_t end = j->l->slot + r + 1, from = first_slot(j->l, r);
    const size_t last = end <= key ? 0 : end - key < n ? (size_t)(end - key) : n;
    const size_t first = from <= key ? 0 : from - key < last ? (size_t)(from - key) : last;

    return (struct seen){ first, last - first };
}

static void item(void *arg, size_t h, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__observers *l = j->l;
    const struct gkv__shape *s = j->s;
    const struct tile t = tile_of(j->e, thread);
    const size_t d = s->head_dim;
    const uint32_t ih = (uint32_t)(h / (s->n_head / gkv__cache_heads(l->c, l->il)));
    const float scale = gkv__attend_scale(s);
    float *received = j->received + h * j->stride;

    for (size_t at = 0; at < l->n && !gkv__cancelled(j->e); at += TILE) {
        const size_t nt = l->n - at < TILE ? l->n - at : TILE;
        const uint64_t end = l->slot + at + nt;         /* slots that the last row sees */
        const uint64_t begin = first_slot(l, at) / BLOCK * BLOCK;

        for (size_t r = 0; r < nt; r++) {
            float *q = j->mul ? t.raw : t.q + r * d;

            for (size_t x = 0; x < d; x++)
                q[x] = l->q[((at + r) * s->n_head + h) * d + x] * scale;
            if (j->mul)
                j->mul->prepare((uint16_t *)t.q + r * d, q, d);
            t.m[r] = GKV__ATTEND_MIN;
            t.l[r] = 0;
        }
        for (size_t r = 0; l->sums && r < nt; r++) {
            t.m[r] = l->sums[((at + r) * s->n_head + h) * 2];
            t.l[r] = l->sums[((at + r) * s->n_head + h) * 2 + 1];
        }
        for (uint64_t key = begin; !l->sums && key < end; key += BLOCK) {
            const size_t n = end - key < BLOCK ? (size_t)(end - key) : BLOCK;

            products(j, &t, nt, ih, key, n);
            for (size_t r = 0; r < nt; r++) {
                const struct seen see = seen(j, at + r, key, n);
                j->e->simd->softmax_sum(&t.m[r], &t.l[r], t.s + r * BLOCK + see.first, see.n);
            }
        }
        for (size_t r = 0; !l->sums && r < nt; r++)
            t.l[r] += gkv__attend_sink(l->view.sinks, h, t.m[r]);
        for (uint64_t key = begin; key < end && key < j->n_keys; key += BLOCK) {
            const uint64_t to = end < j->n_keys ? end : j->n_keys;
            const size_t n = to - key < BLOCK ? (size_t)(to - key) : BLOCK;

            products(j, &t, nt, ih, key, n);
            for (size_t r = 0; r < nt; r++) {
                const struct seen see = seen(j, at + r, key, n);
                j->e->simd->softmax_add(received + key + see.first, t.s + r * BLOCK + see.first, see.n, t.m[r],
                                        (l->weight ? l->weight[at + r] : 1) / t.l[r]);
            }
        }
    }
}

static const struct gkv__product *product_of(const struct gkv__exec *e, uint32_t head_dim)
{
    const struct gkv__product *mul = &e->simd->product[GKV__TYPE_BF16];

    return e->simd->attend.narrow && mul->form && head_dim % mul->unit == 0 ? mul : NULL;
}

void gkv__attention_sums(struct gkv__exec *e, const struct gkv__observers *l, float *received, size_t stride,
               uint64_t n_keys)
{
    struct gkv__shape s = *e->shape;
    struct job j = { e, l, received, stride, n_keys, gkv__attend_cap(&s), NULL, &s };

    s.head_dim = gkv__cache_dim(l->c, l->il);
    j.mul = product_of(e, s.head_dim);
    gkv__for(e->n_threads, e->shape->n_head, item, &j);
}
