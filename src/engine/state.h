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

/* y[n][v_heads * v_dim] for the normalised rows h of layer il, in a buffer of e; the state becomes that after
 * these rows.  anew: they are the first of a text. */
float *gkv__state(struct gkv__exec *e, const gkv_model *m, uint32_t il, struct gkv__rows *h, float *state, bool anew);

uint64_t gkv__state_row(const struct gkv__shape *s);    /* floats per row of exec.state          */
uint64_t gkv__state_scratch(const struct gkv__simd *simd, const struct gkv__shape *s);  /* bytes */

#endif
