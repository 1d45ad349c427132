/* SPDX-License-Identifier: BSD-2-Clause
 * sample.c - see sample.h */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "src/answer/sample.h"

/* splitmix64 (Steele, Lea, Flood 2014): 53 of its bits as a number in [0, 1). */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static uint32_t largest(const float *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return (uint32_t)best;
}

static int descending(const void *a, const void *b)
{
    const struct gkv__candidate *x = a, *y = b;

    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool gkv__penalizes(const struct gkv__sampler *s)
{
    return s->last_n && (s->repeat != 1 || s->presence != 0 || s->frequency != 0);
}

void gkv__penalize(const struct gkv__sampler *s, float *logits, const uint32_t *id, size_t n,
                   struct gkv__candidate *scratch)
{
    const size_t from = n > s->last_n ? n - s->last_n : 0;

    /* scratch[i].id counts token i: only those that occur are touched. */
    for (size_t i = from; i < n; i++)
        scratch[id[i]].id = 0;
    for (size_t i = from; i < n; i++)
        scratch[id[i]].id++;
    for (size_t i = from; i < n; i++) {
        const uint32_t count = scratch[id[i]].id;
        float *x = &logits[id[i]];

        if (!count)                             /* it has been done */
            continue;
        *x = *x <= 0 ? *x * s->repeat : *x / s->repeat;
        *x -= (float)count * s->frequency + s->presence;
        scratch[id[i]].id = 0;
    }
}

/* ---- as many in order as are looked at ---------------------------------------------------- */

/* Candidates, the first `sorted` of which are in order and before all others: of a vocabulary of 100,000, a few are looked at. */
struct ranked { struct gkv__candidate *c; size_t n, sorted; };

/* A heap whose root comes last in order: moves c[i] down to where it belongs. */
static void sift(struct gkv__candidate *c, size_t n, size_t i)
{
    const struct gkv__candidate x = c[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && descending(&c[child + 1], &c[child]) > 0;
        if (descending(&c[child], &x) < 0)
            break;
        c[i] = c[child];
    }
    c[i] = x;
}

/* The first k of n in order. */
static void first(struct gkv__candidate *c, size_t n, size_t k)
{
    for (size_t i = k < n ? k / 2 : 0; i-- > 0;)
        sift(c, k, i);
    for (size_t i = k; i < n; i++)
        if (descending(&c[i], c) < 0) {
            const struct gkv__candidate last = *c;

            *c = c[i];
            c[i] = last;
            sift(c, k, 0);
        }
    qsort(c, k, sizeof *c, descending);
}

/* At least the first n of them are in order then. */
static void rank(struct ranked *r, size_t n)
{
    enum { FEW = 64, MORE = 16 };
    const size_t left = r->n - r->sorted;
    size_t next = r->sorted ? r->sorted * MORE : FEW;

    if (n <= r->sorted)
        return;
    next = next > n ? next : n;
    next = next - r->sorted < left / 4 ? next : r->n;
    first(r->c + r->sorted, left, next - r->sorted);
    r->sorted = next;
}

/* How many are the likeliest that make up top_p.  At least one. */
static size_t likeliest(struct ranked *r, float top_p)
{
    double sum = 0, kept = 0;
    size_t i;

    rank(r, 1);
    for (i = 0; i < r->n; i++)
        sum += exp((double)(r->c[i].logit - r->c->logit));
    for (i = 0; i < r->n && kept < (double)top_p * sum; i++) {
        rank(r, i + 1);
        kept += exp((double)(r->c[i].logit - r->c->logit));
    }
    return i ? i : 1;
}

static float weight(const struct gkv__sampler *s, const struct ranked *r, size_t i)
{
    return expf((r->c[i].logit - r->c->logit) / s->temperature);        /* 1 for the best token */
}

static uint32_t draw(struct gkv__sampler *s, struct ranked *r)
{
    double sum = 0, at;
    size_t i;

    rank(r, 1);
    for (i = 0; i < r->n; i++)
        sum += (double)weight(s, r, i);
    at = uniform(&s->state) * sum;
    for (i = 0; i + 1 < r->n; i++) {
        rank(r, i + 1);
        at -= (double)weight(s, r, i);
        if (at < 0)
            break;
    }
    rank(r, i + 1);
    return r->c[i].id;
}

uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n)
{
    const uint32_t best = largest(logits, n);
    const float least = s->min_p > 0 ? logits[best] + logf(s->min_p) : -INFINITY;
    const bool early = !(s->top_p < 1);         /* top-p alone looks at what min-p takes away */
    struct ranked r = { .c = scratch };

    if (!(s->temperature > 0))
        return best;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > -INFINITY && (!early || logits[i] >= least))
            scratch[r.n++] = (struct gkv__candidate){ logits[i], (uint32_t)i };
    if (!r.n)                   /* NaN among the logits */
        return best;
    if (s->top_k && r.n > s->top_k) {
        rank(&r, s->top_k);
        r.n = s->top_k;
    }
    if (s->top_p < 1)
        r.n = likeliest(&r, s->top_p);
    while (!early && r.n > 1 && r.c[r.n - 1].logit < least)
        r.n--;
    return draw(s, &r);
}
