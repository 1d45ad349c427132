/* SPDX-License-Identifier: BSD-2-Clause
 * streamingllm-online.c - a window that slides over the prompt, and the first tokens.  Xiao,
 * Tian, Chen, Han, Lewis: "Efficient Streaming Language Models with Attention Sinks" (2023),
 * section 3.2: a token sees the sinks and the most recent tokens, each at its place in a cache of
 * k entries, so that no distance ever exceeds k and keys and values do not grow with the prompt.
 *
 * The authors keep keys before RoPE and go token by token.  Blocks of rows give the same result.  Only the
 * distance between two recent tokens counts, so they keep their positions in the prompt, and attention
 * with a window covers them.  A sink must be at distance  place of the row - place of the sink,  so the
 * rows' queries are rotated to their places in the cache and attend to the sinks separately.  Attention
 * leaves the maximum and the sum of each row's softmax, which is enough to add keys to it. */
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
enum { ROWS = 16 };                     /* rows of a work item */

static const struct gkv__param params[] = {
    [SINKS] = { "sinks", "4", "first tokens, always kept", 0, 4096 },
    { .name = NULL },
};

static size_t sinks(const struct gkv__task *t)
{
    return gkv__sinks(t, t->param[SINKS]);
}

/* ---- rows attend to the sinks ------------------------------------------------------------- */

/* The hook's state; its arrays follow it in this order. */
struct own {
    size_t  k, sinks;
    uint64_t window;
    float  *sums;               /* [chunk][n_head][2]                                        */
    float  *turn;               /* [n_layer][n_rot] RoPE angles of place k                   */
    float  *key, *value;        /* [n_head_kv][sinks][head_dim] of the current layer         */
};

static uint64_t own_bytes(const struct gkv__task *t, uint32_t chunk)
{
    const struct gkv__shape *s = &t->m->shape;

    return sizeof(struct own) + ((uint64_t)chunk * s->n_head * 2 + (uint64_t)s->n_layer * s->n_rot +
                                 2 * (uint64_t)s->n_head_kv * sinks(t) * s->head_dim) * sizeof(float);
}

struct job {
    const struct own       *o;
    struct gkv__exec       *e;
    const struct gkv__cache *c;
    uint32_t                il;
    size_t                  n;
    uint64_t                slot;
};

/* Number of sinks that the window of the row in slot p does not reach. */
static size_t beyond(const struct own *o, uint64_t p)
{
    return p + 1 <= o->window ? 0 : (size_t)gkv__min(o->sinks, p + 1 - o->window);
}

/* Adds n keys and values to att[head_dim], which was divided by `sum`; q is scaled already. */
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
        const size_t n = beyond(o, j->slot + r);

        for (size_t h = 0; n && h < s->n_head; h++) {
            const size_t at = (h / group) * o->sinks * d;
            const float *sum = o->sums + (r * s->n_head + h) * 2;

            memcpy(q, j->e->q + (r * s->n_head + h) * d, d * sizeof *q);
            if (j->slot + r >= o->k) {          /* before, its place is its position */
                gkv__rotate(s, q, j->e->turn + r * s->n_rot, true);
                gkv__rotate(s, q, o->turn + j->il * s->n_rot, false);
            }
            for (size_t x = 0; x < d; x++)
                q[x] *= scale;
            add_keys(j, j->e->att + (r * s->n_head + h) * d, q, o->key + at, o->value + at, n, sum[0], sum[1]);
        }
    }
}

static void attended(struct gkv__hook *hook, const struct gkv__pass *p, uint32_t il, size_t n, uint64_t slot,
                     const struct gkv__view *view)
{
    struct gkv__exec *e = p->e;
    const struct gkv__cache *c = p->c;
    struct own *o = hook->state;
    struct job j = { o, e, c, il, n, slot };

    if (!beyond(o, slot + n - 1) || view->window < o->window || view->chunk)
        return;                 /* a layer with a narrower view->window of its own has no sinks */
    for (uint32_t ih = 0; ih < c->n_head_kv; ih++) {
        const size_t at = ih * o->sinks * c->head_dim, count = o->sinks * c->head_dim;

        e->simd->unpack[c->type->type](gkv__cache_k(c, il, ih, 0), o->key + at, count);
        e->simd->unpack[c->type->type](gkv__cache_v(c, il, ih, 0), o->value + at, count);
    }
    gkv__for(e->n_threads, (n + ROWS - 1) / ROWS, item, &j);
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* Slots that a layer needs: the k entries, and behind them a block of rows or the answer. */
static uint64_t room(const struct gkv__task *t, uint32_t chunk)
{
    return gkv__plus(t->k, t->n_new > chunk ? t->n_new : chunk);
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk)
{
    const struct gkv__shape *s = &t->m->shape;
    uint64_t sum = gkv__cache_bytes(t->kv, s->n_layer, s->n_head_kv, s->head_dim, room(t, chunk));

    sum = gkv__plus(sum, gkv__plus(own_bytes(t, chunk), gkv__model_weight_bytes(t->m)));
    return gkv__plus(sum, (chunk + 1) * (uint64_t)s->n_embd * sizeof(float));
}

static gkv_status open(struct gkv__context *c, const struct gkv__pass *p, gkv_error *err)
{
    const struct gkv__shape *s = &c->t->m->shape;
    struct gkv__exec *e = c->e;
    struct own *o;

    GKV__TRY(gkv__cache_open(&c->cache, c->t->kv, s->n_layer, s->n_head_kv, s->head_dim, room(c->t, e->chunk), err));
    GKV__TRY(gkv__hook_open(&c->hook, own_bytes(c->t, e->chunk), err));
    o = c->hook.state;
    o->k = (size_t)c->t->k;
    o->sinks = sinks(c->t);
    o->sums = (float *)(o + 1);
    o->turn = o->sums + (size_t)e->chunk * s->n_head * 2;
    o->key = o->turn + (size_t)s->n_layer * s->n_rot;
    o->value = o->key + s->n_head_kv * o->sinks * s->head_dim;
    for (uint32_t il = 0; il < s->n_layer; il++) {
        gkv__turn(p, il, 1, c->t->k);
        memcpy(o->turn + il * s->n_rot, e->turn, s->n_rot * sizeof *o->turn);
    }
    o->window = c->t->k - o->sinks + 1;
    c->hook.window = o->window;
    c->hook.attended = attended;
    c->hook.sums = o->sums;
    return GKV_OK;
}

/* n tokens are prefilled; only the sinks and the most recent ones stay. */
static void cut(struct gkv__context *c, uint64_t n)
{
    const uint64_t first = sinks(c->t);

    for (uint32_t il = 0; il < c->cache.n_layer; il++) {
        struct gkv__cache_layer *l = &c->cache.layer[il];
        const uint64_t have = n - l->shift;

        for (uint32_t ih = 0; have > c->t->k && ih < c->cache.n_head_kv; ih++)
            gkv__cache_move(&c->cache, il, ih, first, have - (c->t->k - first), c->t->k - first);
        if (have > c->t->k)
            l->shift = n - c->t->k;
    }
}

/* Frees the slots that only a block of rows needed. */
static gkv_status shrink(struct gkv__context *c, gkv_error *err)
{
    gkv_status status = GKV_OK;

    for (uint32_t il = 0; c->e->chunk > c->t->n_new && il < c->cache.n_layer && status == GKV_OK; il++) {
        struct gkv__cache_layer was = c->cache.layer[il];
        struct gkv__cache old = c->cache;

        old.layer = &was;
        c->cache.layer[il] = (struct gkv__cache_layer){ .shift = was.shift };
        status = gkv__cache_room(&c->cache, il, c->t->k + c->t->n_new, err);
        for (uint32_t ih = 0; ih < c->cache.n_head_kv && status == GKV_OK; ih++)
            gkv__cache_take(&c->cache, il, &old, 0, ih, NULL, (size_t)c->t->k);
        gkv__cache_drop(&old, 0);
    }
    return status;
}

static void show(struct gkv__context *c)
{
    const size_t first = sinks(c->t);

    memset(c->score, 0, (size_t)c->t->n * sizeof *c->score);
    c->n_kept = (size_t)c->t->k;
    for (size_t i = 0; i < c->n_kept; i++) {
        c->kept[i] = (uint32_t)(i < first ? i : c->t->n - c->t->k + i);
        c->score[c->kept[i]] = 1;
    }
    for (uint32_t il = 0; c->holds && il < c->cache.n_layer; il++)
        for (uint32_t ih = 0; ih < c->cache.n_head_kv; ih++)
            c->holds(c->holds_arg, il, ih, c->kept, c->n_kept);
}

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    const size_t d = c->t->m->shape.n_embd, rows = c->e->chunk;
    float *x = gkv__pages(rows, d * sizeof *x);
    /* No distance exceeds the number of entries of the cache. */
    const struct gkv__pass p = { .e = c->e, .m = c->t->m, .span = c->t->k + 1, .c = &c->cache, .hook = &c->hook };
    gkv_status status = x ? open(c, &p, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    double work = 0;

    for (uint64_t at = 0; at < c->t->n; at += rows)
        work += gkv__layer_work(&c->t->m->shape, gkv__min(at, c->t->k), gkv__min(rows, c->t->n - at));
    gkv__stage(c->e, GKV_STAGE_PREFILL, c->t->n, c->t->m->shape.n_layer * work);
    for (size_t at = 0; at < c->t->n && status == GKV_OK; at += rows) {
        const size_t n = gkv__min(rows, c->t->n - at);

        status = gkv__block(&p, c->id + at, n, at, x, err);
        cut(c, at + n);
        if (at + n == c->t->n)
            memcpy(c->x, x + (n - 1) * d, d * sizeof *x);
    }
    gkv__pages_free(x, rows, d * sizeof *x);
    c->next = c->t->n;
    c->span = p.span;
    if (status == GKV_OK)
        status = shrink(c, err);
    if (status == GKV_OK)
        show(c);
    return status;
}

const struct gkv__select gkv__select_streamingllm_online = {
    .name = "streamingllm-online",
    .summary = "one pass; a token sees only the first tokens and a sliding window",
    .params = params,
    .kind = GKV__RUNS,
    .run = run,
    .bytes = bytes,
};
