/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.h - activations times weights, in whatever format the file has them.  The narrow door
 * between the model and all matrix kernels. */
#ifndef GKV__GEMM_H
#define GKV__GEMM_H

#include "src/exec.h"

/* Who multiplies blocks of rows, and in what arithmetic.
 *   own        integer formats in integers (simd.h: gkv__product): the weights are exact, activations
 *              are rounded to 8 or 16 bits in blocks of 32; the rest in f32
 *   exact      f32 activations with exactly dequantised weights, sums in f32
 *   openblas   the same, by a library */
struct gkv__gemm;
const struct gkv__gemm *gkv__gemm_named(const char *name);      /* NULL: there is none       */
const char             *gkv__gemm_at(size_t i);                 /* names; NULL after the last */

/* Rows of activations that products read: x[n, n_in], packed.  form: room for them in the form
 * some products want (gkv__gemm_form floats per row), so that those that want the same share it;
 * `have` says what is in it, NULL nothing. */
struct gkv__rows {
    const float *x;
    size_t       n;
    void        *form;
    void       (*have)(void *to, const float *x, size_t n);
};
size_t gkv__gemm_form(size_t n_in);

/* y[n, w.n_out] (+)= x[n, w.n_in] W^T, rows of y packed.  add: accumulate into y. */
void gkv__gemm(struct gkv__exec *e, float *y, struct gkv__rows *x, const struct gkv__mat *w,
               bool add);

uint64_t gkv__gemm_scratch(const struct gkv__simd *simd);       /* bytes per thread          */

#endif
