/* SPDX-License-Identifier: BSD-2-Clause
 * types.h - one row for each tensor type.  The enum, the tables, kernels, devices, tests and scripts
 * take their lists of types from these rows.
 *
 *     name    as files call it, and the suffix of its functions
 *     ggml    its number in a GGUF file
 *     block   elements per block, and the bytes of one
 *     bits    bits of an element, without scales
 *
 * and of integers u, with x = d * (u - off) + m:
 *
 *     range   u7: u is at most 127, and |u - off| at most 16, or 32 with halves or a minimum; u8: more
 *     off     subtracted from u; 0 or a power of two
 *     min     1: the format has m; the f16 of m, or of its unit, follows d
 *     halves  1: sixteen elements share d and m; 0: 32 or more do
 *     layout  members of a block, struct gkv__block_NAME: little-endian, no padding; see quant.h
 *
 * build-aux/quant-vectors.py reads these lines too. */
#ifndef GKV__TYPES_H
#define GKV__TYPES_H

/* X(TYPE, name, ggml, block, bytes, bits): kernels, if there are any, are written type by type. */
#define GKV__FLOAT_TYPES(X)                                                                 \
    X(F32,    f32,     0,   1,   4, 32)                                                     \
    X(F16,    f16,     1,   1,   2, 16)                                                     \
    X(BF16,   bf16,   30,   1,   2, 16)

/* X(TYPE, name, ggml, block, bytes, bits, range, off, min, halves, layout): bytes_NAME gives 32
 * elements as integers (simd/impl/bytes.h), and all kernels follow. */
#define GKV__INTEGER_TYPES(X)                                                               \
    X(Q8_0,   q8_0,    8,  32,  34,  8, u8, 128, 0, 0, (uint16_t d; int8_t q[32];))         \
    X(Q4_0,   q4_0,    2,  32,  18,  4, u7,   8, 0, 0, (uint16_t d; uint8_t q[16];))        \
    X(Q4_1,   q4_1,    3,  32,  20,  4, u7,   0, 1, 0, (uint16_t d, m; uint8_t q[16];))     \
    X(Q5_0,   q5_0,    6,  32,  22,  5, u7,  16, 0, 0, (uint16_t d; uint8_t h[4], q[16];))  \
    X(Q5_1,   q5_1,    7,  32,  24,  5, u7,   0, 1, 0, (uint16_t d, m; uint8_t h[4], q[16];)) \
    X(Q2_K,   q2_k,   10, 256,  84,  2, u7,   0, 1, 1, (uint8_t scale[16], q[64]; uint16_t d, dmin;)) \
    X(Q3_K,   q3_k,   11, 256, 110,  3, u7,   4, 0, 1, (uint8_t h[32], q[64], scale[12]; uint16_t d;)) \
    X(Q4_K,   q4_k,   12, 256, 144,  4, u7,   0, 1, 0, (uint16_t d, dmin; uint8_t scale[12], q[128];)) \
    X(Q5_K,   q5_k,   13, 256, 176,  5, u7,   0, 1, 0, (uint16_t d, dmin; uint8_t scale[12], h[32], q[128];)) \
    X(Q6_K,   q6_k,   14, 256, 210,  6, u7,  32, 0, 1, (uint8_t q[128], h[64]; int8_t scale[16]; uint16_t d;)) \
    X(IQ4_NL, iq4_nl, 20,  32,  18,  4, u8, 128, 0, 0, (uint16_t d; uint8_t q[16];))        \
    X(IQ4_XS, iq4_xs, 23, 256, 136,  4, u8, 128, 0, 0, (uint16_t d, scale_h; uint8_t scale_l[4], q[128];)) \
    X(MXFP4,  mxfp4,  39,  32,  17,  4, u7,  16, 0, 0, (uint8_t d, q[16];))

/* The same columns: types that are read and not written.  Those of iq choose among the points of a grid (grid.h). */
#define GKV__TABLE_TYPES(X)                                                                 \
    X(IQ2_XXS, iq2_xxs,  16, 256,  66,  2, u8, 64, 0, 0, (uint16_t d, q[32];))              \
    X(IQ2_XS,  iq2_xs,   17, 256,  74,  2, u8, 64, 0, 1, (uint16_t d, q[32]; uint8_t scale[8];)) \
    X(IQ2_S,   iq2_s,    22, 256,  82,  2, u8, 64, 0, 1, (uint16_t d; uint8_t q[32], sign[32], h[8], scale[8];)) \
    X(IQ3_XXS, iq3_xxs,  18, 256,  98,  3, u8, 32, 0, 0, (uint16_t d; uint8_t q[64]; uint16_t rest[16];)) \
    X(IQ3_S,   iq3_s,    21, 256, 110,  3, u7, 16, 0, 0, (uint16_t d; uint8_t q[64], h[8], sign[32], scale[4];)) \
    X(IQ1_S,   iq1_s,    19, 256,  50,  1, u7, 16, 0, 0, (uint16_t d; uint8_t q[32]; uint16_t h[8];)) \
    X(IQ1_M,   iq1_m,    29, 256,  56,  1, u7, 16, 0, 1, (uint8_t q[32], h[16]; uint16_t scale[4];)) \
    X(TQ1_0,   tq1_0,    34, 256,  54,  1, u7,  1, 0, 0, (uint8_t q[48], h[4]; uint16_t d;)) \
    X(TQ2_0,   tq2_0,    35, 256,  66,  2, u7,  1, 0, 0, (uint8_t q[64]; uint16_t d;))

/* Types with kernels by way of bytes_NAME. */
#define GKV__BYTE_TYPES(X) GKV__INTEGER_TYPES(X) GKV__TABLE_TYPES(X)

/* All types that this build computes with. */
#define GKV__TYPES(X) GKV__FLOAT_TYPES(X) GKV__BYTE_TYPES(X)

/* X(name, ggml, block, bytes): the rest of ggml's types, so that a file can be checked and the type
 * shown by name.  ggml removed numbers 4, 5, 31 to 33 and 36 to 38, so they are left out. */
#define GKV__KNOWN_TYPES(X)                                                                 \
    X(q8_1,     9,  32,  36)                                                                \
    X(q8_k,    15, 256, 292)                                                                \
    X(i8,      24,   1,   1)                                                                \
    X(i16,     25,   1,   2)                                                                \
    X(i32,     26,   1,   4)                                                                \
    X(i64,     27,   1,   8)                                                                \
    X(f64,     28,   1,   8)                                                                \
    X(nvfp4,   40,  64,  36)                                                                \
    X(q1_0,    41, 128,  18)                                                                \
    X(q2_0,    42,  64,  18)

#endif
