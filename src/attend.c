/* SPDX-License-Identifier: BSD-2-Clause
 * attend.c - see attend.h
 *
 * A work item is one KV head and a block of queries.  Its rows are (token, head) pairs, token
 * by token, of all query heads that share the KV head: what is read of K and V serves them
 * all.  Rows are dealt into tiles of simd->lanes; keys come in blocks that the first-level
 * cache can hold next to a tile.  Every tile meets the key blocks in order, so the sums do
 * not depend on who computes them. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/attend.h"
#include "src/thread.h"

enum {
    ROWS = 384,         /* query rows of a work item with head_dim 64: their q and output
                           (2 * 384 * 64 * 4 bytes) stay in the second-level cache           */
    KEYS = 128,         /* keys of a block with head_dim 64                                  */
};

struct job {
    struct gkv__exec        *e;
    const struct gkv__cache *c;
    uint32_t                 il;
    float                   *out;
    const float             *q;
    size_t                   n;
    uint64_t                 pos;
    size_t                   block;     /* tokens of a work item                             */
};

static size_t group(const struct gkv__shape *s)
{
    return s->n_head / s->n_head_kv;
}

static size_t keys_per_block(uint32_t head_dim)
{
    size_t n = KEYS * 64 / (size_t)head_dim / 16 * 16;

    return n < 16 ? 16 : n > KEYS ? KEYS : n;
}

static size_t tokens_per_item(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    size_t rows = ROWS * 64 / (size_t)(s->head_dim < 64 ? 64 : s->head_dim);

    if (rows < simd->lanes)
        rows = simd->lanes;
    return rows / group(s) ? rows / group(s) : 1;
}

static size_t tiles_per_item(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    return (tokens_per_item(simd, s) * group(s) + simd->lanes - 1) / simd->lanes;
}

/* Scratch of a thread, in this order, all float but vis:
 *   per tile  qt, ot [head_dim][lanes]   m, l [lanes]
 *   then      s [keys][lanes]   kt, vt [keys][head_dim]   vis [lanes]
 */
static size_t tile_floats(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    return 2 * simd->lanes * ((size_t)s->head_dim + 1);
}

uint64_t gkv__attend_scratch(const struct gkv__simd *simd, const struct gkv__shape *s)
{
    size_t keys = keys_per_block(s->head_dim);

    return sizeof(float) * (tiles_per_item(simd, s) * tile_floats(simd, s) + keys * simd->lanes +
                            2 * keys * s->head_dim + simd->lanes);
}

/* qt[x][lane] = q[row of lane][x] * scale. */
static void gather(float *qt, const struct job *j, size_t ih, size_t token, size_t row,
                   size_t n_rows)
{
    const struct gkv__shape *s = j->e->shape;
    const size_t lanes = j->e->simd->lanes, d = s->head_dim, g = group(s);
    const float scale = (float)(1.44269504088896340736 / sqrt((double)d));

    for (size_t i = 0; i < lanes; i++) {
        size_t r = row + i < n_rows ? row + i : n_rows - 1;     /* padding repeats a row */
        const float *q = j->q + ((token + r / g) * s->n_head + ih * g + r % g) * d;

        for (size_t x = 0; x < d; x++)
            qt[x * lanes + i] = q[x] * scale;
    }
}

static void scatter(const float *ot, const float *l, const struct job *j, size_t ih, size_t token,
                    size_t row, size_t n_rows)
{
    const struct gkv__shape *s = j->e->shape;
    const size_t lanes = j->e->simd->lanes, d = s->head_dim, g = group(s);

    for (size_t i = 0; i < lanes && row + i < n_rows; i++) {
        size_t r = row + i;
        float *out = j->out + ((token + r / g) * s->n_head + ih * g + r % g) * d;
        float inv = 1 / l[i];

        for (size_t x = 0; x < d; x++)
            out[x] = ot[x * lanes + i] * inv;
    }
}

static void item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__shape *s = j->e->shape;
    const struct gkv__cache *c = j->c;
    const size_t lanes = simd->lanes, d = s->head_dim, g = group(s), keys = keys_per_block(s->head_dim);
    /* Late blocks of queries see the most keys: deal them first, so that the threads end
     * together. */
    const size_t n_blocks = (j->n + j->block - 1) / j->block;
    const size_t ih = i % s->n_head_kv, token = (n_blocks - 1 - i / s->n_head_kv) * j->block;
    const size_t n_tokens = j->n - token < j->block ? j->n - token : j->block;
    const size_t n_rows = n_tokens * g, n_tiles = (n_rows + lanes - 1) / lanes;
    const size_t stride = tile_floats(simd, s);
    const uint64_t n_keys = j->pos + token + n_tokens;      /* the last query sees them all  */
    float *tiles = gkv__scratch(j->e, thread);
    float *scores = tiles + tiles_per_item(simd, s) * stride;
    float *kt = scores + keys * lanes, *vt = kt + keys * d;
    int32_t *vis = (int32_t *)(vt + keys * d);

    for (size_t t = 0; t < n_tiles; t++) {
        float *qt = tiles + t * stride, *ot = qt + d * lanes, *m = ot + d * lanes, *l = m + lanes;

        gather(qt, j, ih, token, t * lanes, n_rows);
        memset(ot, 0, d * lanes * sizeof *ot);
        for (size_t x = 0; x < lanes; x++) {
            m[x] = GKV__ATTEND_MIN;
            l[x] = 0;
        }
    }
    for (uint64_t key = 0; key < n_keys && !gkv__cancelled(j->e); key += keys) {
        const size_t nk = n_keys - key < keys ? (size_t)(n_keys - key) : keys;
        const float *k = (const float *)(const void *)gkv__cache_k(c, j->il, (uint32_t)ih, key);
        const float *v = (const float *)(const void *)gkv__cache_v(c, j->il, (uint32_t)ih, key);

        if (c->type->type != GKV__TYPE_F32) {
            simd->unpack[c->type->type](k, kt, nk * d);
            simd->unpack[c->type->type](v, vt, nk * d);
            k = kt;
            v = vt;
        }
        for (size_t t = 0; t < n_tiles; t++) {
            float *qt = tiles + t * stride, *ot = qt + d * lanes, *m = ot + d * lanes, *l = m + lanes;
            /* Position of the query in a lane, and how many keys of this block it sees. */
            uint64_t first = j->pos + token + t * lanes / g;
            uint64_t last = j->pos + token + (t * lanes + lanes - 1) / g;

            if (last < key)
                continue;
            if (first + 1 >= key + nk) {
                simd->attend(ot, m, l, qt, k, v, nk, d, NULL, scores);
                continue;
            }
            for (size_t x = 0; x < lanes; x++) {
                uint64_t p = j->pos + token + (t * lanes + x) / g;
                vis[x] = p < key ? 0 : p - key >= nk ? (int32_t)nk : (int32_t)(p - key + 1);
            }
            simd->attend(ot, m, l, qt, k, v, nk, d, vis, scores);
        }
    }
    for (size_t t = 0; t < n_tiles; t++) {
        const float *ot = tiles + t * stride + d * lanes, *l = ot + d * lanes + lanes;
        scatter(ot, l, j, ih, token, t * lanes, n_rows);
    }
}

void gkv__attend(struct gkv__exec *e, const struct gkv__cache *c, uint32_t il, float *out,
                 const float *q, size_t n, uint64_t pos)
{
    struct job j = { e, c, il, out, q, n, pos, tokens_per_item(e->simd, e->shape) };

    gkv__for(e->n_threads, (n + j.block - 1) / j.block * e->shape->n_head_kv, item, &j);
}
