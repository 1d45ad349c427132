/* SPDX-License-Identifier: BSD-2-Clause
 * sparse.h - causal attention that leaves out blocks of keys which get little of it (XAttention, Xu et al. 2025).
 *
 * Queries and keys are cut into blocks of GKV__SPARSE_BLOCK tokens, from position 0 on.  For each query head and
 * block of queries, the share of the attention that a block of keys gets is estimated:
 *
 *     with groups i of GKV__SPARSE_STRIDE queries and j of as many keys, both in order of position,
 *     s(i, j) = mean over r of  q(last of i - r) . k(first of j + r) / sqrt(head_dim)     an antidiagonal
 *     share(block) = sum over groups i of queries, and over the groups j of the block, of softmax_{j <= i} s(i, j)
 *
 * The first block and that of the queries themselves are kept, then those with the largest shares, of equal ones the
 * earlier, until what is kept has `threshold` of the sum; with threshold 1, all.  Sums run in f32 in one order at
 * every level, so levels differ by the rounding of products with or without FMA, and of tanh where scores have a cap.
 * A query that is missing in its group, before or behind the rows of a call, counts as zeros. */
#ifndef GKV__SPARSE_H
#define GKV__SPARSE_H

#include <stdatomic.h>
#include "src/engine/exec.h"
#include "src/engine/kv.h"

enum { GKV__SPARSE_BLOCK = 128, GKV__SPARSE_STRIDE = 16 };

/* threshold and dense_from are the caller's, the rest is of gkv__sparse_open. */
struct gkv__sparse {
    double    threshold;        /* above 0, at most 1                                        */
    uint64_t  dense_from;       /* slot: rows of its block and of later ones see all keys    */
    uint64_t  room_bytes;       /* of each thread                                            */
    unsigned  n_threads;
    uint8_t  *room;             /* [n_threads][room_bytes]                                   */
    atomic_ullong kept, seen;   /* blocks of keys that were kept, and those that dense attention takes */
};

/* room_bytes for positions 0 .. n - 1 of one layer. */
uint64_t   gkv__sparse_room(const struct gkv__simd *simd, size_t head_dim, size_t group, uint64_t n);
/* For rows 0 .. n - 1 in the first n_layer layers of a model.  Frees with gkv__sparse_close, also after an error. */
uint64_t   gkv__sparse_bytes(const struct gkv__simd *simd, const gkv_model *m, uint32_t n_layer, uint64_t n,
                             unsigned n_threads);
gkv_status gkv__sparse_open(struct gkv__sparse *sp, const struct gkv__exec *e, const gkv_model *m, uint32_t n_layer,
                            uint64_t n, gkv_error *err);
void       gkv__sparse_close(struct gkv__sparse *sp);

/* As gkv__attend without sums.  Few rows, and rows with a window, are dense. */
void gkv__attend_sparse(struct gkv__exec *e, struct gkv__sparse *sp, const struct gkv__cache *c, uint32_t il,
                        float *out, const float *q, size_t n, uint64_t pos, const struct gkv__view *view);

#endif
