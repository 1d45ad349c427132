/* SPDX-License-Identifier: BSD-2-Clause
 * gram.h - the sum of squares of a query's products with many keys, without computing the products. */
#ifndef GKV__GRAM_H
#define GKV__GRAM_H

#include "src/engine/exec.h"

/* gram[w][w] += sum over the n rows of k k^T. */
void gkv__gram_add(struct gkv__exec *e, const float *k, size_t n, size_t w, double *gram);
/* If rows of q[n][w] have q^T gram q larger than *best, *best becomes the largest and *row becomes
 * first + the index of the first such row. */
void gkv__gram_largest(struct gkv__exec *e, const float *q, size_t n, size_t w, const double *gram,
                       size_t first, double *best, size_t *row);

#endif
