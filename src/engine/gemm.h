/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.h - activations times weights, in whatever format the file has them.  The narrow door
 * between the model and all matrix kernels. */
#ifndef GKV__GEMM_H
#define GKV__GEMM_H

#include "src/engine/exec.h"

/* Libraries that multiply blocks of rows, and in what arithmetic.
 *   own        in the form of the kernels (simd.h: gkv__product): the weights are exact;
 *              beside integer formats activations are rounded to 8 or 16 bits in blocks of 32,
 *              beside bf16 to that where the processor has such products; the rest in f32
 *   exact      f32 activations with exactly dequantised weights, sums in f32
 *   openblas   the same, by a library
 *   onednn     the same, by another; bf16 weights with activations rounded to bf16, where the
 *              processor has such products
 * Products of few rows are ours whoever is chosen. */
struct gkv__gemm;
const struct gkv__gemm *gkv__gemm_named(const char *name);      /* NULL: not in this build    */
const char             *gkv__gemm_at(size_t i);                 /* names; NULL after the last */
const char             *gkv__gemm_describe(size_t i);           /* "name: ..."; likewise      */
bool                    gkv__gemm_left_out(const char *name);   /* configure knows --with-name */

/* What a library keeps as long as gkv__exec lives. */
void                   *gkv__gemm_open(const struct gkv__gemm *g, unsigned n_threads);
void                    gkv__gemm_close(const struct gkv__gemm *g, void *library);

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

uint64_t gkv__gemm_scratch(const struct gkv__gemm *g, const struct gkv__simd *simd,
                           const struct gkv__shape *s);         /* bytes per thread          */
uint64_t gkv__gemm_resident(const struct gkv__gemm *g);         /* bytes of the library itself */

#endif
