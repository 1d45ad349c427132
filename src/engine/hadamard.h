/* SPDX-License-Identifier: BSD-2-Clause
 * hadamard.h - rows that are kept in 4 bits are turned before, each head by a Hadamard matrix
 *
 * A few numbers of a key are much larger than the others, and in a block of 32 with one scale they take the levels of
 * the rest.  The matrix is orthogonal: it spreads each number over its head and changes no product of a query and a key
 * that are both turned.  It is its own inverse.  (QuaRot, arXiv 2404.00456.) */
#ifndef GKV__HADAMARD_H
#define GKV__HADAMARD_H

#include "src/engine/exec.h"

/* Whether keys and values of that type are kept turned. */
bool gkv__uses_hadamard(const struct gkv__quant *type);
/* Turns x[n][n_head * head_dim] in place. */
void gkv__hadamard(const struct gkv__exec *e, float *x, size_t n, size_t n_head);

#endif
