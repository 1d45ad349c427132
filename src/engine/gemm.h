/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.h - activations times weights, of any tensor type.  The model reaches all matrix kernels
 * through this interface only. */
#ifndef GKV__GEMM_H
#define GKV__GEMM_H

#include "src/engine/exec.h"

/* Libraries that multiply blocks of rows, and their arithmetic.
 *   own        our kernels (simd.h: gkv__product, gkv__many).  Weights are exact.  With integer types
 *              activations are rounded to 8 or 16 bits in blocks of 32; with bf16 weights to bf16
 *              where the processor multiplies bf16; otherwise f32.  Where it has tiles, many rows are
 *              multiplied in bf16, with integer types weights being rounded, too
 *   coarse     as own, but activations and weights of integer types are rounded to 8 bits in blocks of 128,
 *              or, where tiles multiply many rows, of 256: where a level has such products (gkv__simd: coarse,
 *              many_coarse)
 *   exact      f32 activations with exactly dequantised weights, sums in f32
 *   openblas   the same, by that library
 *   onednn     the same, by that library; where the processor multiplies bf16, bf16 weights with
 *              activations rounded to bf16
 * Products of few rows always use our own kernels. */
struct gkv__gemm;
const struct gkv__gemm *gkv__gemm_named(const char *name);      /* NULL: not in this build    */
const char             *gkv__gemm_at(size_t i);                 /* names; NULL after the last */
const char             *gkv__gemm_describe(size_t i);           /* "name: ..."; likewise      */
bool                    gkv__gemm_left_out(const char *name);   /* configure knows --with-name */

/* State of a library, kept as long as the gkv__exec that holds it. */
void                   *gkv__gemm_open(const struct gkv__gemm *g, unsigned n_threads);
void                    gkv__gemm_close(const struct gkv__gemm *g, void *library);

/* Rows of activations that products read: x[n, n_in], packed.  form: buffer of gkv__gemm_form floats
 * per row for the activations as products want them, shared by all products that want the same form;
 * `have` says which form is in it, NULL: none. */
typedef void gkv__have(void);           /* the function that converted them                  */
struct gkv__rows {
    const float *x;
    size_t       n;
    void        *form;
    gkv__have   *have;
};
size_t gkv__gemm_form(size_t n_in);

/* y[n, w.n_out] (+)= x[n, w.n_in] W^T, rows of y packed.  add: accumulate into y. */
void gkv__gemm(struct gkv__exec *e, float *y, struct gkv__rows *x, const struct gkv__mat *w,
               bool add);

/* Packs w once for all products of many rows by e (repack.h), with all of its threads: gkv__gemm_packed_bytes at `to`,
 * aligned to 64.  That is 0 if these products read w as it is. */
uint64_t gkv__gemm_packed_bytes(const struct gkv__gemm *g, const struct gkv__simd *simd, const struct gkv__mat *w);
void     gkv__gemm_pack(const struct gkv__exec *e, const struct gkv__mat *w, uint8_t *to);

uint64_t gkv__gemm_scratch(const struct gkv__gemm *g, const struct gkv__simd *simd,
                           const struct gkv__shape *s);         /* bytes per thread          */
uint64_t gkv__gemm_resident(const struct gkv__gemm *g);         /* bytes of the library itself */

#endif
