/* SPDX-License-Identifier: BSD-2-Clause
 * attention-sums.h - how much attention keys get from some rows: what most methods choose by. */
#ifndef GKV__ATTENTION_SUMS_H
#define GKV__ATTENTION_SUMS_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"

/* Rows of queries, rotated, that look at the keys of layer il of the cache: row i sees slots
 * 0 .. slot + i, the last `window` of them, as in attend.h. */
struct gkv__observers {
    const struct gkv__cache *c;
    uint32_t                 il;
    const float             *q;         /* [n][n_head * head_dim]                            */
    size_t                   n;
    uint64_t                 slot;
    const float             *weight;    /* [n] of each row; NULL: 1                          */
    uint32_t                 window;    /* 0: all                                            */
    const float             *sums;      /* [n][n_head][2], as attention left them in exec.sums; NULL:
                                           they are not known, and computed first            */
};

/* received[h * stride + j] += sum over the rows of weight * softmax(q_h k^T / sqrt(head_dim))[j]  for
 * every query head h and the keys j < n_keys.  The softmax is over all that a row sees, its sums
 * in order of rows; nothing of the size n x n_keys exists. */
void gkv__attention_sums(struct gkv__exec *e, const struct gkv__observers *l, float *received, size_t stride,
               uint64_t n_keys);

uint64_t gkv__attention_sums_scratch(const struct gkv__simd *simd, const struct gkv__shape *s);

#endif
