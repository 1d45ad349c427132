/* SPDX-License-Identifier: BSD-2-Clause
 * keys.h - the filter layer's keys, one row of [n_head_kv * head_dim] per token, as they are before RoPE,
 * in any tensor type; and their scores for a question that comes later. */
#ifndef GKV__KEYS_H
#define GKV__KEYS_H

#include "src/engine/pass.h"
#include "src/first/task.h"

struct gkv__keys {
    const struct gkv__quant *type;
    uint8_t                 *rows;
};

/* Bytes of a row of that type. */
uint64_t gkv__keys_row(const struct gkv__shape *s, const struct gkv__quant *type);
/* Rows at .. at + n - 1: the keys in layer il of hidden states x[n][n_embd]. */
void     gkv__keys_put(const struct gkv__pass *p, const struct gkv__keys *k, uint32_t il, const float *x,
                       size_t n, size_t at);

/* What scores them. */
struct gkv__probe_row {
    uint32_t     il;
    bool         common;        /* all keys are at the same distance from the query, whatever their place */
    const float *q;             /* gkv__fold_query of the row, rotated; scaled if common     */
};
/* score[n] of the rows at .., which are tokens pos .. of their text. */
void     gkv__keys_score(const struct gkv__pass *p, const struct gkv__keys *k, const struct gkv__probe_row *r,
                         size_t at, size_t n, uint64_t pos, float *score);
/* The query of x's last row, x[n][n_embd] being rows of layer il before it, into q[n_head_kv * head_dim]:
 * at position pos + n - 1, or where all keys are as far away as its own beginning. */
void     gkv__keys_query(const struct gkv__pass *p, uint32_t il, bool common, const float *x, size_t n,
                         uint64_t pos, float *q);

#endif
