/* SPDX-License-Identifier: BSD-2-Clause
 * quant.h - tensor types: one row each.  The only thing the rest of gemkv knows about a
 * format is its row; a new format is one file src/quant-NAME.c and one line in quant.c. */
#ifndef GKV__QUANT_H
#define GKV__QUANT_H

#include <stddef.h>
#include <stdint.h>

/* Types this build computes with, numbered without gaps: the index of kernel tables. */
enum gkv__type {
    GKV__TYPE_F32, GKV__TYPE_F16, GKV__TYPE_BF16, GKV__TYPE_Q8_0, GKV__TYPE_Q4_0,
    GKV__TYPE_Q4_1, GKV__TYPE_Q5_0, GKV__TYPE_Q5_1, GKV__TYPE_Q2_K, GKV__TYPE_Q3_K,
    GKV__TYPE_Q4_K, GKV__TYPE_Q5_K, GKV__TYPE_Q6_K, GKV__TYPE_IQ4_NL, GKV__TYPE_IQ4_XS,
    GKV__N_TYPES,
    GKV__TYPE_NONE = GKV__N_TYPES       /* known by name and size only */
};

struct gkv__quant {
    const char    *name;        /* lower case: "q8_0"                                        */
    uint32_t       ggml;        /* number of the type in a GGUF file                         */
    uint32_t       block;       /* elements per block                                        */
    uint32_t       bytes;       /* bytes per block                                           */
    enum gkv__type type;
    /* n is a multiple of block.  to_f32 is exact but for one rounding where a format adds a
     * minimum.  from_f32 rounds to nearest even; q8_0, q4_0, q4_1, q5_0 and q5_1 are byte for
     * byte what ggml's quantize_row_*_ref makes, the others decent and no more: see
     * scale.h. */
    void (*to_f32)(const void *src, float *dst, size_t n);
    void (*from_f32)(const float *src, void *dst, size_t n);
};

const struct gkv__quant *gkv__quant_of_ggml(uint32_t ggml);     /* NULL: unknown number      */
const struct gkv__quant *gkv__quant_of(enum gkv__type type);    /* type < GKV__N_TYPES       */
const struct gkv__quant *gkv__quant_named(const char *name);    /* NULL: unknown name        */

/* Layout of blocks, shared with simd/: little-endian, no padding.  d, m, dmin are f16.
 * Blocks of 32: byte j of q holds x[j] in its low nibble, x[j + 16] in its high one; bit j of
 * h is bit 4 of x[j].  iq: the integer is GKV__IQ4_VALUES of the nibble. */
struct gkv__block_q8_0 { uint16_t d; int8_t q[32]; };           /* x = d * q                 */
struct gkv__block_q4_0 { uint16_t d; uint8_t q[16]; };          /* x = d * (q - 8)           */
struct gkv__block_q4_1 { uint16_t d, m; uint8_t q[16]; };       /* x = d * q + m             */
struct gkv__block_q5_0 { uint16_t d; uint8_t h[4], q[16]; };    /* x = d * (q - 16)          */
struct gkv__block_q5_1 { uint16_t d, m; uint8_t h[4], q[16]; }; /* x = d * q + m             */
struct gkv__block_iq4_nl { uint16_t d; uint8_t q[16]; };        /* x = d * value             */

/* Blocks of 256, in groups with scales of their own.
 *   q2_k, q3_k       16 groups of 16; crumbs: bits 2 (s % 4) and on of q[32 (s / 4) + j] are
 *                    x[32 s + j], s = 0 .. 7, j < 32; bit s of q3_k's h[j] is bit 2 of that
 *   q4_k, q5_k       8 groups of 32; low and high nibble of q[32 s + j] are x[64 s + j] and
 *                    x[64 s + 32 + j], s = 0 .. 3; bit s of q5_k's h[j] is bit 4 of x[32 s + j]
 *   q6_k             16 groups of 16; per half of 128: low and high nibble of q[j] are x[j] and
 *                    x[64 + j], j < 64; bits 2 s and on of h[j] are bits 4 and 5 of x[32 s + j]
 *   iq4_xs           8 groups of 32, nibbles as in the blocks of 32
 * How six bits of scale are packed: q3_k in q3_k.c, q4_k and q5_k in scale.h. */
struct gkv__block_q2_k { uint8_t scale[16], q[64]; uint16_t d, dmin; };
                                    /* x = d * (scale & 15) * q - dmin * (scale >> 4)        */
struct gkv__block_q3_k { uint8_t h[32], q[64], scale[12]; uint16_t d; };
                                    /* x = d * (scale - 32) * (q - 4)                        */
struct gkv__block_q4_k { uint16_t d, dmin; uint8_t scale[12], q[128]; };
                                    /* x = d * scale * q - dmin * min                        */
struct gkv__block_q5_k { uint16_t d, dmin; uint8_t scale[12], h[32], q[128]; };
                                    /* x = d * scale * q - dmin * min                        */
struct gkv__block_q6_k { uint8_t q[128], h[64]; int8_t scale[16]; uint16_t d; };
                                    /* x = d * scale * (q - 32)                              */
struct gkv__block_iq4_xs { uint16_t d, scale_h; uint8_t scale_l[4], q[128]; };
                                    /* x = d * (scale - 32) * value: scale s is nibble s of
                                     * scale_l and, above it, bits 2 s and on of scale_h     */

#define GKV__IQ4_VALUES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

float    gkv__f16_to_f32(uint16_t h);
uint16_t gkv__f32_to_f16(float f);      /* nearest even */

#endif
