/* SPDX-License-Identifier: BSD-2-Clause
 * gram.h - sums of squares of all products of a query with many keys, without the products. */
#ifndef GKV__GRAM_H
#define GKV__GRAM_H

#include "src/engine/exec.h"

/* gram[w][w] += sum over the n rows of k k^T. */
void gkv__gram_add(struct gkv__exec *e, const float *k, size_t n, size_t w, double *gram);
/* The first row of q[n][w] with q^T gram q larger than *best: that, and first + its number into
 * *row. */
void gkv__gram_largest(struct gkv__exec *e, const float *q, size_t n, size_t w, const double *gram,
                       size_t first, double *best, size_t *row);

#endif
