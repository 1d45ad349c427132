/* SPDX-License-Identifier: BSD-2-Clause
 * state.h - layers with a state of fixed size instead of keys and values.
 *
 * Gated DeltaNet, Yang, Kautz and Hatamizadeh, "Gated Delta Networks" (2024):
 *
 *   [q, k, v] = silu(convolution of the last `width` rows of Wqkv h), per channel;  q and k of length 1
 *   a = exp(A softplus(Walpha h + dt))       decay          b = sigmoid(Wbeta h)    rate
 *   S = a S + k (b (v - a S^T k))^T          the delta rule, for each head of values
 *   y = rmsnorm(S^T q / sqrt(k_dim)) silu(Wz h)
 *
 * Mamba-2, Dao and Gu, "Transformers are SSMs" (2024), the same without the rule's correction:
 *
 *   [x, k, q] = silu(convolution of the last `width` rows of Wqkv h + bias), per channel
 *   b = softplus(Walpha h + dt)              a = exp(A b)
 *   S = a S + k (b x)^T                      for each head of x, k_heads of which share a key
 *   y = rmsnorm((S^T q + skip x) silu(Wz h)), by groups of heads that share a key
 *
 * The short convolution of LFM2, whose state is the last rows alone:
 *
 *   y = (Wz h) convolution of the last `width` rows of (Wqkv h) (Wbeta h), per channel */
#ifndef GKV__STATE_H
#define GKV__STATE_H

#include "src/engine/gemm.h"
#include "src/engine/pass.h"

/* y[n][v_heads * v_dim] for the normalised rows h of layer il, in a buffer of p->e; the state becomes that after
 * these rows.  anew: they are the first of a text. */
float *gkv__state(const struct gkv__pass *p, uint32_t il, struct gkv__rows *h, float *state, bool anew);

/* A few rows of which the last may have to be taken back.  A state cannot be cut, so this has the states before them,
 * and of each row what the state takes in: going on from there again is the same arithmetic, without the products. */
struct gkv__rewind {
    float *states;              /* those of all layers, before the rows                      */
    float *row;                 /* [layers with a state][most][of gkv__state_row, without z] */
    size_t most, n;             /* rows: room, and of the last step                          */
    bool   touched;             /* its memory was used                                       */
};
uint64_t   gkv__rewind_floats(const gkv_model *m, size_t rows);     /* 0: no layer has a state */
gkv_status gkv__rewind_open(struct gkv__rewind *r, const gkv_model *m, size_t rows, gkv_error *err);
void       gkv__rewind_close(struct gkv__rewind *r, const gkv_model *m);
/* n rows follow, with p->alone and p->rewind. */
void       gkv__rewind_begin(struct gkv__rewind *r, const struct gkv__cache *c, size_t n);
/* Only the first n of them have been. */
void       gkv__rewind_to(struct gkv__rewind *r, const struct gkv__pass *p, size_t n);

uint64_t gkv__state_row(const struct gkv__shape *s);    /* floats per row of exec.state          */
uint64_t gkv__state_scratch(const struct gkv__simd *simd, const struct gkv__shape *s);  /* bytes */

#endif
