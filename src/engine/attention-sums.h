/* SPDX-License-Identifier: BSD-2-Clause
 * attention-sums.h - how much attention keys receive from some rows: most methods choose tokens by it. */
#ifndef GKV__ATTENTION_SUMS_H
#define GKV__ATTENTION_SUMS_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"

/* Rows of rotated queries that attend to the keys of layer il of the cache: row i sees slots
 * 0 .. slot + i, or those of them that `view` says, as in attend.h. */
struct gkv__observers {
    const struct gkv__cache *c;
    uint32_t                 il;
    const float             *q;         /* [n][n_head * head_dim]                            */
    size_t                   n;
    uint64_t                 slot;
    const float             *weight;    /* [n] weight of each row; NULL: 1                   */
    struct gkv__view         view;
    const float             *sums;      /* [n][n_head][2], as attention leaves them in gkv__pass's sums;
                                           NULL: unknown, they are computed first            */
};

/* received[h * stride + j] += sum over the rows of weight * softmax(q_h k^T / sqrt(head_dim))[j]  for
 * every query head h and the keys j < n_keys.  The softmax is over all keys that a row sees; rows are
 * added in order; nothing of size n x n_keys is allocated. */
void gkv__attention_sums(struct gkv__exec *e, const struct gkv__observers *l, float *received, size_t stride,
               uint64_t n_keys);

uint64_t gkv__attention_sums_scratch(const struct gkv__simd *simd, const struct gkv__shape *s);

#endif
