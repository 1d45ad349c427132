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

/* How many of the n sorted candidates are the likeliest that make up top_p.  At least one. */
static size_t likeliest(const struct gkv__candidate *c, size_t n, float top_p)
{
    double sum = 0, kept = 0;
    size_t i;

    for (i = 0; i < n; i++)
        sum += exp((double)(c[i].logit - c->logit));
    for (i = 0; i < n && kept < (double)top_p * sum; i++)
        kept += exp((double)(c[i].logit - c->logit));
    return i ? i : 1;
}

static uint32_t draw(struct gkv__sampler *s, struct gkv__candidate *c, size_t n)
{
    const float max = c->logit;
    double sum = 0, at;
    size_t i;

    for (i = 0; i < n; i++) {
        c[i].logit = expf((c[i].logit - max) / s->temperature);         /* 1 for the best token */
        sum += (double)c[i].logit;
    }
    at = uniform(&s->state) * sum;
    for (i = 0; i + 1 < n; i++) {
        at -= (double)c[i].logit;
        if (at < 0)
            break;
    }
    return c[i].id;
}

uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n)
{
    const uint32_t best = largest(logits, n);
    const float least = s->min_p > 0 ? logits[best] + logf(s->min_p) : -INFINITY;
    const bool early = !(s->top_p < 1);         /* fewer to sort: top-p alone looks at what min-p takes away */
    size_t count = 0;

    if (!(s->temperature > 0))
        return best;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > -INFINITY && (!early || logits[i] >= least))
            scratch[count++] = (struct gkv__candidate){ logits[i], (uint32_t)i };
    if (!count)                 /* NaN among the logits */
        return best;
    qsort(scratch, count, sizeof *scratch, descending);
    if (s->top_k && count > s->top_k)
        count = s->top_k;
    if (s->top_p < 1)
        count = likeliest(scratch, count, s->top_p);
    while (count > 1 && scratch[count - 1].logit < least)
        count--;
    return draw(s, scratch, count);
}
