/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.h - activations times weights, in whatever format the file has them.  The narrow door
 * between the model and all matrix kernels. */
#ifndef GKV__GEMM_H
#define GKV__GEMM_H

#include "src/exec.h"

/* y[n, w.n_out] (+)= x[n, w.n_in] W^T, rows of x and y packed.  Products are of f32 activations
 * with exactly dequantised weights, sums in f32.  add: accumulate into y. */
void gkv__gemm(struct gkv__exec *e, float *y, const float *x, size_t n, const struct gkv__mat *w,
               bool add);

uint64_t gkv__gemm_scratch(const struct gkv__simd *simd);       /* bytes per thread          */

/* A line for gemkv info --cpu when blocks of rows are multiplied by another library than our
 * kernel table, else NULL. */
const char *gkv__gemm_external(void);

#endif
