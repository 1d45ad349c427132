/* SPDX-License-Identifier: BSD-2-Clause
 * form_int.h - memory layout of activations and weights for integer products (gemm_int.h says
 * what they mean).  The including file defines INV, a panel's outputs in vectors, and
 * I8_SIGNED. */

enum { INR = INV * VW };

/* s: scale; sum: s times the sum of q; start: initial value of a sum of products.  Where the
 * halves of a block of weights have different scales, sum and start are per half. */
struct FN(i8) { float s, sum; int32_t start; int8_t q[32]; };
struct FN(i8h) { float s, sum[2]; int32_t start[2]; int8_t q[32]; };
struct FN(i16) { float s; int16_t q[32]; };

typedef v32 FN(bytes_fn)(const void *row, size_t i, float d[2], float m[2]);

/* Bytes of a block of a panel: `block` weights of each output, in gemm_int.h u[block / 4][INR][4]; d[halves][INR], and
 * m[halves][INR] if min. */
INLINE size_t i8_block_of(int block, int halves, int min)
{
    return (size_t)INR * ((size_t)block + 4 * (size_t)(halves + 1) * (size_t)(min + 1));
}

INLINE size_t i8_block(int halves, int min) { return i8_block_of(32, halves, min); }

/* Weights as the product instruction takes them. */
INLINE v32 i8_weights(v32 u, int off)
{
    return I8_SIGNED ? u - (uint8_t)off : u;
}
