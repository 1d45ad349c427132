/* SPDX-License-Identifier: BSD-2-Clause
 * quant.h - tensor types.  The rest of gemkv knows a type by its row only.  To add one, add a
 * line in types.h and a file src/quant/NAME.c with the two functions of convert.h. */
#ifndef GKV__QUANT_H
#define GKV__QUANT_H

#include <stddef.h>
#include <stdint.h>
#include "src/quant/types.h"

/* Types this build computes with, numbered without gaps: they index the kernel tables. */
enum gkv__type {
#define GKV__ROW(TYPE, ...) GKV__TYPE_##TYPE,
    GKV__TYPES(GKV__ROW)
#undef GKV__ROW
    GKV__N_TYPES,
    GKV__TYPE_NONE = GKV__N_TYPES       /* known by name and size only */
};

struct gkv__quant {
    const char    *name;        /* lower case: "q8_0"                                        */
    uint32_t       ggml;        /* number of the type in a GGUF file                         */
    uint32_t       block;       /* elements per block                                        */
    uint32_t       bytes;       /* bytes per block                                           */
    enum gkv__type type;
    void (*to_f32)(const void *src, float *dst, size_t n);      /* convert.h; NULL: type NONE */
    void (*from_f32)(const float *src, void *dst, size_t n);  /* NULL: not written           */
    uint32_t       run;         /* in a KV cache, values of so many slots lie side by side; 0: rows */
};

const struct gkv__quant *gkv__quant_of_ggml(uint32_t ggml);     /* NULL: unknown number      */
const struct gkv__quant *gkv__quant_of(enum gkv__type type);    /* type < GKV__N_TYPES       */
const struct gkv__quant *gkv__quant_named(const char *name);    /* NULL: unknown name        */

/* struct gkv__block_NAME, shared with simd/ and gpu/. */
#define GKV__MEMBERS(...) __VA_ARGS__
#define GKV__ROW(TYPE, name, ggml, block, bytes, bits, range, off, min, halves, layout)     \
    struct gkv__block_##name { GKV__MEMBERS layout };
GKV__BYTE_TYPES(GKV__ROW)
#undef GKV__ROW
#undef GKV__MEMBERS

/* Layout of the blocks.  d, m, dmin are f16.
 * Blocks of 32: the low nibble of byte j of q is x[j], the high nibble x[j + 16]; bit j of h is
 * bit 4 of x[j].  iq: the nibble indexes GKV__IQ4_VALUES, which gives `value`.
 *
 *   q8_0             x = d * q
 *   q4_0             x = d * (q - 8)
 *   q5_0             x = d * (q - 16)
 *   q4_1, q5_1       x = d * q + m
 *   iq4_nl           x = d * value
 *   mxfp4            x = 2^(d - 128) * value, the nibble indexes GKV__FP4_VALUES; d = 255 is as 254
 *
 * Blocks of 256, in groups with scales of their own.
 *   q2_k, q3_k       16 groups of 16; for s = 0 .. 7 and j < 32, x[32 s + j] has its low two bits
 *                    in q[32 (s / 4) + j], at bit 2 (s % 4); q3_k has bit 2 in bit s of h[j]
 *                    q2_k: x = d * (scale & 15) * q - dmin * (scale >> 4)
 *                    q3_k: x = d * (scale - 32) * (q - 4)
 *   q4_k, q5_k       8 groups of 32; low and high nibble of q[32 s + j] are x[64 s + j] and
 *                    x[64 s + 32 + j], s = 0 .. 3; bit s of q5_k's h[j] is bit 4 of x[32 s + j]
 *                    x = d * scale * q - dmin * min
 *   q6_k             16 groups of 16; per half of 128: low and high nibble of q[j] are x[j] and
 *                    x[64 + j], j < 64; x[32 s + j] has bits 4 and 5 in h[j], at bit 2 s
 *                    x = d * scale * (q - 32)
 *   iq4_xs           8 groups of 32, nibbles as in the blocks of 32
 *                    x = d * (scale - 32) * value: scale s has its low four bits in nibble s of
 *                    scale_l and its high two bits in scale_h, at bit 2 s
 * iq1 to iq3, tq1 and tq2 are in their own files, with grid.h.
 * q3_k.c shows how q3_k packs its six-bit scales, scale.h how q4_k and q5_k do. */

#define GKV__IQ4_VALUES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

#define GKV__FP4_VALUES 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12

/* The scale of mxfp4, subnormal for d < 2; in integers, so that kernels need no ldexp. */
static inline float gkv__e8m0_half(uint8_t d)
{
    const union { uint32_t u; float f; } x = {
        d < 2 ? 0x00200000u << d : (uint32_t)(d - 1) << 23 };

    return x.f;
}

float    gkv__f16_to_f32(uint16_t h);
uint16_t gkv__f32_to_f16(float f);      /* nearest even */

#endif
