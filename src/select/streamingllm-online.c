/* SPDX-License-Identifier: BSD-2-Clause
 * streamingllm-online.c - a window that slides over the prompt, and the first tokens.  Xiao,
 * Tian, Chen, Han, Lewis: "Efficient Streaming Language Models with Attention Sinks" (2023),
 * section 3.2: a token sees the sinks and the most recent tokens, each at its place in a cache of
 * k entries, so that no distance ever exceeds k and keys and values do not grow with the prompt.
 *
 * The authors keep keys unrotated and go token by token.  The same comes of blocks of rows: of two
 * recent tokens only the distance counts, so they stand where they stood in the prompt and attention
 * with a window does the rest; a sink is at distance  place of the row - place of the sink,  so rows are
 * turned to their place in the cache and meet the sinks once more.  Attention leaves the maximum
 * and the sum of each row's softmax, which is all that is needed to add to it. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/select/select.h"
#include "src/base/thread.h"

extern const struct gkv__select gkv__select_streamingllm_online;

enum { SINKS };
enum { ROWS = 16 };                     /* of a work item                                    */

static const struct gkv__param params[] = {
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 4096 },
    { .name = NULL },
};

static size_t sinks(const struct gkv__context *c)
{
    return gkv__sinks(c, c->param[SINKS]);
}

/* ---- rows meet the sinks ------------------------------------------------------------------ */

/* cache.own; behind it, in this order: */
struct own {
    size_t  k, sinks;
    float  *sums;               /* [chunk][n_head][2]                                        */
    float  *turn;               /* [n_layer][n_rot] angles of place k                        */
    float  *key, *value;        /* [n_head_kv][sinks][head_dim] of the layer at hand         */
};

static uint64_t own_bytes(const struct gkv__context *c, uint32_t chunk)
{
    const struct gkv__shape *s = &c->m->shape;

    return sizeof(struct own) + ((uint64_t)chunk * s->n_head * 2 + (uint64_t)s->n_layer * s->n_rot +
                                 2 * (uint64_t)s->n_head_kv * sinks(c) * s->head_dim) * sizeof(float);
}

struct job {
    const struct own       *o;
    struct gkv__exec       *e;
    const struct gkv__cache *c;
    uint32_t                il;
    size_t                  n;
    uint64_t                slot;
};

/* Sinks that the row in slot p does not see in its window. */
static size_t beyond(const struct gkv__cache *c, const struct own *o, uint64_t p)
{
    return p + 1 <= c->window ? 0 : (size_t)gkv__min(o->sinks, p + 1 - c->window);
}

/* att[head_dim], normalised by sum, gets n more keys and values; q is scaled. */
static void add_keys(const struct job *j, float *att, const float *q, const float *key, const float *value,
                     size_t n, float max, float sum)
{
    const size_t d = j->c->head_dim;
    const float cap = gkv__attend_cap(j->e->shape);

    for (size_t x = 0; x < d; x++)
        att[x] *= sum;
    for (size_t i = 0; i < n; i++, key += d, value += d) {
        float score = 0, p;

        for (size_t x = 0; x < d; x++)
            score += q[x] * key[x];
        if (cap > 0)
            j->e->simd->softcap(&score, 1, cap);
        if (score > max) {
            const float less = exp2f(max - score);

            for (size_t x = 0; x < d; x++)
                att[x] *= less;
            sum *= less;
            max = score;
        }
        p = exp2f(score - max);
        sum += p;
        for (size_t x = 0; x < d; x++)
            att[x] += p * value[x];
    }
    for (size_t x = 0; x < d; x++)
        att[x] /= sum;
}

static void item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct own *o = j->o;
    const struct gkv__shape *s = j->e->shape;
    const size_t d = s->head_dim, group = s->n_head / s->n_head_kv;
    const float scale = gkv__attend_scale(s);
    float *q = gkv__scratch(j->e, thread);

    for (size_t r = i * ROWS; r < j->n && r < (i + 1) * ROWS; r++) {
        const size_t n = beyond(j->c, o, j->slot + r);

        for (size_t h = 0; n && h < s->n_head; h++) {
            const size_t at = (h / group) * o->sinks * d;
            const float *sum = o->sums + (r * s->n_head + h) * 2;

            memcpy(q, j->e->q + (r * s->n_head + h) * d, d * sizeof *q);
            if (j->slot + r >= o->k) {          /* else its place is its position */
                gkv__rotate(s, q, j->e->turn + r * s->n_rot, true);
                gkv__rotate(s, q, o->turn + j->il * s->n_rot, false);
            }
            for (size_t x = 0; x < d; x++)
                q[x] *= scale;
            add_keys(j, j->e->att + (r * s->n_head + h) * d, q, o->key + at, o->value + at, n, sum[0], sum[1]);
        }
    }
}

static void attended(struct gkv__cache *c, struct gkv__exec *e, uint32_t il, size_t n, uint64_t slot,
                     uint32_t window)
{
    struct own *o = c->own;
    struct job j = { o, e, c, il, n, slot };

    if (!beyond(c, o, slot + n - 1) || window < c->window)
        return;                 /* a layer with a narrower window of its own has no sinks */
    for (uint32_t ih = 0; ih < c->n_head_kv; ih++) {
        const size_t at = ih * o->sinks * c->head_dim, count = o->sinks * c->head_dim;

        e->simd->unpack[c->type->type](gkv__cache_k(c, il, ih, 0), o->key + at, count);
        e->simd->unpack[c->type->type](gkv__cache_v(c, il, ih, 0), o->value + at, count);
    }
    gkv__for(e->n_threads, (n + ROWS - 1) / ROWS, item, &j);
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* Slots that a layer needs: the cache, and a block or the answer behind it. */
static uint64_t room(const struct gkv__context *c, uint32_t chunk)
{
    return gkv__plus(c->k, c->n_new > chunk ? c->n_new : chunk);
}

static uint64_t bytes(const struct gkv__context *c, uint32_t chunk)
{
    const struct gkv__shape *s = &c->m->shape;
    uint64_t sum = gkv__cache_bytes(c->kv, s->n_layer, s->n_head_kv, s->head_dim, room(c, chunk));

    sum = gkv__plus(sum, gkv__plus(own_bytes(c, chunk), gkv__model_weight_bytes(c->m)));
    return gkv__plus(sum, (chunk + 1) * (uint64_t)s->n_embd * sizeof(float));
}

static gkv_status open(struct gkv__context *c, gkv_error *err)
{
    const struct gkv__shape *s = &c->m->shape;
    struct gkv__exec *e = c->e;
    struct own *o;

    GKV__TRY(gkv__cache_open(&c->cache, c->kv, s->n_layer, s->n_head_kv, s->head_dim, room(c, e->chunk), err));
    c->cache.own_bytes = own_bytes(c, e->chunk);
    o = c->cache.own = gkv__pages(c->cache.own_bytes, 1);
    if (!o)
        return gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes", c->cache.own_bytes);
    o->k = (size_t)c->k;
    o->sinks = sinks(c);
    o->sums = (float *)(o + 1);
    o->turn = o->sums + (size_t)e->chunk * s->n_head * 2;
    o->key = o->turn + (size_t)s->n_layer * s->n_rot;
    o->value = o->key + s->n_head_kv * o->sinks * s->head_dim;
    e->span = c->k + 1;         /* no distance is more */
    for (uint32_t il = 0; il < s->n_layer; il++) {
        gkv__turn(e, c->m, il, 1, c->k);
        memcpy(o->turn + il * s->n_rot, e->turn, s->n_rot * sizeof *o->turn);
    }
    c->cache.window = c->k - o->sinks + 1;
    c->cache.attended = attended;
    c->cache.sums = o->sums;
    return GKV_OK;
}

/* n tokens have been read: of them only the sinks and the most recent stay. */
static void cut(struct gkv__context *c, uint64_t n)
{
    const uint64_t first = sinks(c);

    for (uint32_t il = 0; il < c->cache.n_layer; il++) {
        struct gkv__cache_layer *l = &c->cache.layer[il];
        const uint64_t have = n - l->away;

        for (uint32_t ih = 0; have > c->k && ih < c->cache.n_head_kv; ih++)
            gkv__cache_move(&c->cache, il, ih, first, have - (c->k - first), c->k - first);
        if (have > c->k)
            l->away = n - c->k;
    }
}

/* The room of a block is not needed any more. */
static gkv_status shrink(struct gkv__context *c, gkv_error *err)
{
    gkv_status status = GKV_OK;

    for (uint32_t il = 0; c->e->chunk > c->n_new && il < c->cache.n_layer && status == GKV_OK; il++) {
        struct gkv__cache_layer was = c->cache.layer[il];
        struct gkv__cache old = c->cache;

        old.layer = &was;
        c->cache.layer[il] = (struct gkv__cache_layer){ .away = was.away };
        status = gkv__cache_room(&c->cache, il, c->k + c->n_new, err);
        for (uint32_t ih = 0; ih < c->cache.n_head_kv && status == GKV_OK; ih++)
            gkv__cache_take(&c->cache, il, &old, 0, ih, NULL, (size_t)c->k);
        gkv__cache_drop(&old, 0);
    }
    return status;
}

static void show(struct gkv__context *c)
{
    const size_t first = sinks(c);

    memset(c->score, 0, (size_t)c->n * sizeof *c->score);
    c->n_kept = (size_t)c->k;
    for (size_t i = 0; i < c->n_kept; i++) {
        c->kept[i] = (uint32_t)(i < first ? i : c->n - c->k + i);
        c->score[c->kept[i]] = 1;
    }
    for (uint32_t il = 0; c->holds && il < c->cache.n_layer; il++)
        for (uint32_t ih = 0; ih < c->cache.n_head_kv; ih++)
            c->holds(c->holds_arg, il, ih, c->kept, c->n_kept);
}

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    const size_t d = c->m->shape.n_embd, rows = c->e->chunk;
    float *x = gkv__pages(rows, d * sizeof *x);
    gkv_status status = x ? open(c, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    double work = 0;

    for (uint64_t at = 0; at < c->n; at += rows)
        work += gkv__layer_work(&c->m->shape, gkv__min(at, c->k), gkv__min(rows, c->n - at));
    gkv__stage(c->e, "prefill", c->n, c->m->shape.n_layer * work);
    for (size_t at = 0; at < c->n && status == GKV_OK; at += rows) {
        const size_t n = gkv__min(rows, c->n - at);

        status = gkv__block(c->e, c->m, c->id + at, n, at, &c->cache, x, err);
        cut(c, at + n);
        if (at + n == c->n)
            memcpy(c->x, x + (n - 1) * d, d * sizeof *x);
    }
    gkv__pages_free(x, rows, d * sizeof *x);
    c->next = c->n;
    if (status == GKV_OK)
        status = shrink(c, err);
    if (status == GKV_OK)
        show(c);
    return status;
}

const struct gkv__select gkv__select_streamingllm_online = {
    .name = "streamingllm-online",
    .summary = "the beginning and a sliding window are all that a token sees of those before it",
    .params = params,
    .run = run,
    .bytes = bytes,
    .order = "stream",
};
