/* SPDX-License-Identifier: BSD-2-Clause
 * h2o.c - one pass; each KV head keeps the heavy hitters, the tokens that received most attention
 * from all rows, and the most recent ones.  Zhang, Sheng, Zhou et al.: "H2O: Heavy-Hitter Oracle
 * for Efficient Generative Inference of Large Language Models" (2023): evicts once after the prompt, or
 * also after each token of the answer, as its authors do.  Attention sums are causal here, which is
 * not so in every other paper's H2O baseline. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/engine/attention-sums.h"
#include "src/base/mem.h"
#include "src/first/schedule.h"
#include "src/select/select.h"
#include "src/select/sweep.h"
#include "src/base/top.h"

extern const struct gkv__select gkv__select_h2o;

enum { RECENT, EVICT };
enum { ONCE, STEP };

static const struct gkv__param params[] = {
    [RECENT] = { "recent", "32", "last tokens of the prompt, always kept", 1, 65536 },
    [EVICT] = { "evict", "once", "evict once, after the prompt, or also after each token of the answer",
                .words = "once step" },
    { .name = NULL },
};

/* ---- while the answer is written ---------------------------------------------------------- */

/* In each head, slots 0 .. k - recent - 1 hold the heavy hitters.  The recent tokens follow as a ring buffer,
 * whose oldest is at oldest[il].  A new token is written to slot k and then replaces one of these.  The order
 * of slots makes no difference to attention. */
struct step {
    size_t    k, recent;
    float    *sums;             /* [n_head][2]                                               */
    float    *received;         /* [n_head][k + 1]                                           */
    float    *score;            /* [n_layer][n_head_kv][k + 1]                               */
    uint32_t *oldest;           /* [n_layer]                                                 */
};

static uint64_t step_bytes(const struct gkv__task *t)
{
    const struct gkv__shape *s = &t->m->shape;
    const uint64_t row = (t->k + 1) * sizeof(float), rows = s->n_head + (uint64_t)s->n_layer * s->n_head_kv;

    return (int)t->param[EVICT] == ONCE ? 0
         : sizeof(struct step) + gkv__times(rows, row) + s->n_head * 2 * sizeof(float) +
           s->n_layer * sizeof(uint32_t);
}

static gkv_status begin(struct gkv__sweep *sweep, gkv_error *err)
{
    const struct gkv__context *c = sweep->c;
    const struct gkv__shape *s = &c->t->m->shape;
    struct step *t = c->hook.state;

    (void)err;
    if (!t)
        return GKV_OK;
    t->k = (size_t)c->t->k;
    t->recent = (size_t)c->t->param[RECENT];
    t->sums = (float *)(t + 1);
    t->received = t->sums + 2 * (size_t)s->n_head;
    t->score = t->received + s->n_head * (t->k + 1);
    t->oldest = (uint32_t *)(t->score + (size_t)s->n_layer * s->n_head_kv * (t->k + 1));
    return GKV_OK;
}

static void take_place(struct gkv__cache *c, uint32_t il, uint32_t ih, float *score, size_t to, size_t from)
{
    score[to] = score[from];
    gkv__cache_move(c, il, ih, to, from, 1);
}

/* After one token of the answer: evicts the heavy hitter with the lowest score or the oldest recent token,
 * whichever is lower; if they are equal, the recent one. */
static void attended(struct gkv__hook *hook, const struct gkv__pass *p, uint32_t il, size_t n, uint64_t slot,
                     const struct gkv__view *view)
{
    struct gkv__exec *e = p->e;
    struct gkv__cache *c = p->c;
    struct step *t = hook->state;
    const size_t k = t->k, heavy = k - t->recent, old = heavy + t->oldest[il];
    const size_t group = e->shape->n_head / c->n_head_kv;
    struct gkv__observers l = { c, il, e->q, n, slot, NULL, *view, t->sums };

    memset(t->received, 0, e->shape->n_head * (k + 1) * sizeof *t->received);
    gkv__attention_sums(e, &l, t->received, k + 1, k + 1);
    for (uint32_t ih = 0; ih < c->n_head_kv; ih++) {
        float *score = t->score + (il * c->n_head_kv + ih) * (k + 1);
        size_t least = old;

        score[k] = 0;
        for (size_t h = ih * group; h < (ih + 1) * group; h++)
            for (size_t j = 0; j <= k; j++)
                score[j] += t->received[h * (k + 1) + j];
        for (size_t j = 0; j < heavy; j++)
            least = score[j] < score[least] ? j : least;
        if (least != old)
            take_place(c, il, ih, score, least, old);
        take_place(c, il, ih, score, old, k);
    }
    t->oldest[il] = (uint32_t)((t->oldest[il] + 1) % t->recent);
    c->layer[il].shift++;
}

/* ---- after each layer -------------------------------------------------------------------- */

static size_t rows(const struct gkv__task *t, uint32_t il, size_t n)
{
    (void)t;
    (void)il;
    return n;
}

static uint64_t room(const struct gkv__task *t, uint32_t il)
{
    (void)il;
    return t->k;
}

/* Saves the scores of what head ih keeps; tokens that are always kept get INFINITY, so they stay. */
static void remember(struct gkv__sweep *s, size_t ih, size_t group)
{
    const struct gkv__context *c = s->c;
    const struct step *t = c->hook.state;
    float *score = t->score + (s->il * c->cache.n_head_kv + ih) * (t->k + 1);

    for (size_t i = 0; i < s->n_keep; i++) {
        const uint32_t j = s->keep[ih * s->stride + i];

        score[i] = j < c->t->keep_first || j >= s->n - c->t->keep_last ? INFINITY : 0;
        for (size_t h = ih * group; h < (ih + 1) * group; h++)
            score[i] += s->received[h * s->stride + j];
    }
}

static gkv_status layer(struct gkv__sweep *s, gkv_error *err)
{
    const struct gkv__shape *h = &s->c->t->m->shape;
    const size_t group = h->n_head / h->n_head_kv;

    (void)err;
    for (size_t ih = 0; ih < h->n_head_kv; ih++) {
        gkv__window_score(s, (size_t)s->c->t->param[RECENT], ih * group, group);
        s->n_keep = gkv__window_best(s, (size_t)s->c->t->param[RECENT], (size_t)s->c->t->k,
                                     s->keep + ih * s->stride);
        if (s->c->hook.state)
            remember(s, ih, group);
    }
    return GKV_OK;
}

static gkv_status check(const struct gkv__task *t, gkv_error *err)
{
    return gkv__window_fits(t, (size_t)t->param[RECENT], t->k, err);
}

static void end(struct gkv__sweep *s)
{
    struct gkv__hook *hook = &s->c->hook;

    if (hook->state) {
        hook->attended = attended;
        hook->sums = ((struct step *)hook->state)->sums;
    }
}

static const struct gkv__watch watch = {
    .rows = rows, .check = check, .begin = begin, .layer = layer, .end = end, .room = room,
    .hook_bytes = step_bytes,
};

const struct gkv__select gkv__select_h2o = {
    .name = "h2o",
    .summary = "one pass; each head keeps the tokens that received most attention, and the last ones",
    .params = params,
    .kind = GKV__SWEEPS,
    .watch = &watch,
};
