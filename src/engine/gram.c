/* SPDX-License-Identifier: BSD-2-Clause
 * gram.c - see gram.h.  In double, because the sums that are compared differ in the sixth digit.
 * Only an ablation uses this, so it is simple rather than fast. */
#include "config.h"
#include "src/engine/gram.h"
#include "src/base/thread.h"

enum { ROWS = 64 };             /* sums of a block of rows */

struct job {
    const float  *x;            /* [n][w] */
    size_t        n, w;
    const double *gram;         /* [w][w] */
    double       *to;           /* the same, to add to */
    double        sum[ROWS];
};

static void add_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    double *row = j->to + i * j->w;

    (void)thread;
    for (size_t t = 0; t < j->n; t++) {
        const float *x = j->x + t * j->w;
        const double a = (double)x[i];

        for (size_t c = 0; c < j->w; c++)
            row[c] += a * (double)x[c];
    }
}

void gkv__gram_add(struct gkv__exec *e, const float *k, size_t n, size_t w, double *gram)
{
    struct job j = { .x = k, .n = n, .w = w, .to = gram };

    gkv__for(e->n_threads, w, add_item, &j);
}

static void form_item(void *arg, size_t i, unsigned thread)
{
    struct job *j = arg;
    const float *x = j->x + i * j->w;
    double sum = 0;

    (void)thread;
    for (size_t r = 0; r < j->w; r++) {
        const double *row = j->gram + r * j->w;
        double part = 0;

        for (size_t c = 0; c < j->w; c++)
            part += row[c] * (double)x[c];
        sum += part * (double)x[r];
    }
    j->sum[i] = sum;
}

void gkv__gram_largest(struct gkv__exec *e, const float *q, size_t n, size_t w, const double *gram,
                       size_t first, double *best, size_t *row)
{
    struct job j = { .w = w, .gram = gram };

    for (size_t at = 0; at < n; at += ROWS) {
        j.n = n - at < ROWS ? n - at : ROWS;
        j.x = q + at * w;
        gkv__for(e->n_threads, j.n, form_item, &j);
        for (size_t i = 0; i < j.n; i++)
            if (j.sum[i] > *best) {
                *best = j.sum[i];
                *row = first + at + i;
            }
    }
}
