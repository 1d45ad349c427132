/* SPDX-License-Identifier: BSD-2-Clause
 * pool.h - pooling over neighbours: a token's score becomes that of the tokens around it. */
#ifndef GKV__POOL_H
#define GKV__POOL_H

#include <stddef.h>

enum gkv__pool { GKV__POOL_AVG, GKV__POOL_MAX, GKV__POOL_NONE };
#define GKV__POOL_WORDS "avg max none"          /* in that order, for struct gkv__param      */

/* As torch's avg_pool1d(kernel, stride 1, padding kernel / 2) and max_pool1d.  Padding counts as
 * zeros in an average, which always divides by `kernel`, and is ignored by a maximum.
 * kernel is odd.  score[n] is replaced; spare[n] is scratch. */
void gkv__pool(float *score, float *spare, size_t n, size_t kernel, enum gkv__pool kind);

#endif
