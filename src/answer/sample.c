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

    if (x->p != y->p)
        return x->p < y->p ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t gkv__sample(struct gkv__sampler *s, const float *logits, struct gkv__candidate *scratch,
                     size_t n)
{
    const uint32_t best = largest(logits, n);
    const float max = logits[best];
    double sum = 0, kept = 0, draw;
    size_t count = 0, i;

    if (!(s->temperature > 0))
        return best;
    for (i = 0; i < n; i++) {
        float p = expf((logits[i] - max) / s->temperature);     /* 1 for the best token */
        if (p >= s->min_p) {
            scratch[count++] = (struct gkv__candidate){ p, (uint32_t)i };
            sum += (double)p;
        }
    }
    if (!count)                 /* NaN among the logits */
        return best;
    qsort(scratch, count, sizeof *scratch, descending);
    for (i = 0; i < count && kept < (double)s->top_p * sum; i++)
        kept += (double)scratch[i].p;
    count = i ? i : 1;
    draw = uniform(&s->state) * (i ? kept : (double)scratch[0].p);
    for (i = 0; i + 1 < count; i++) {
        draw -= (double)scratch[i].p;
        if (draw < 0)
            break;
    }
    return scratch[i].id;
}
