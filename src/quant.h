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
    GKV__N_TYPES,
    GKV__TYPE_NONE = GKV__N_TYPES       /* known by name and size only */
};

struct gkv__quant {
    const char    *name;        /* lower case: "q8_0"                                        */
    uint32_t       ggml;        /* number of the type in a GGUF file                         */
    uint32_t       block;       /* elements per block                                        */
    uint32_t       bytes;       /* bytes per block                                           */
    enum gkv__type type;
    /* n is a multiple of block.  to_f32 is exact.  from_f32 rounds to nearest even; q8_0 takes
     * max|x| / 127 as scale and rounds halves away from zero, as ggml does.  NULL where gemkv
     * never needs to write the type. */
    void (*to_f32)(const void *src, float *dst, size_t n);
    void (*from_f32)(const float *src, void *dst, size_t n);
};

const struct gkv__quant *gkv__quant_of_ggml(uint32_t ggml);     /* NULL: unknown number      */
const struct gkv__quant *gkv__quant_of(enum gkv__type type);    /* type < GKV__N_TYPES       */
const struct gkv__quant *gkv__quant_named(const char *name);    /* NULL: unknown name        */

/* Layout of blocks, shared with simd/: little-endian, no padding. */
struct gkv__block_q8_0 { uint16_t d; int8_t q[32]; };           /* x = f16(d) * q            */
struct gkv__block_q4_0 { uint16_t d; uint8_t q[16]; };          /* low nibbles are x[0..15]: x = f16(d) * (nibble - 8) */

float    gkv__f16_to_f32(uint16_t h);
uint16_t gkv__f32_to_f16(float f);      /* nearest even */

#endif
