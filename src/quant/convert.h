/* SPDX-License-Identifier: BSD-2-Clause
 * convert.h - the two functions that each tensor type's file defines, or of types that are not written the first.
 *
 * n is a multiple of the block size; blocks need not be aligned.  to_f32 is exact, except for one
 * rounding where a format adds a minimum.  from_f32 rounds to nearest even.  For q8_0, q4_0, q4_1,
 * q5_0 and q5_1 it writes the same bytes as ggml's quantize_row_*_ref; for the other types its
 * quality is plain, see scale.h. */
#ifndef GKV__QUANT_CONVERT_H
#define GKV__QUANT_CONVERT_H

#include "src/quant/quant.h"

#define GKV__TO(TYPE, name, ...) void gkv__to_f32_##name(const void *src, float *dst, size_t n);
#define GKV__FROM(TYPE, name, ...) void gkv__from_f32_##name(const float *src, void *dst, size_t n);
GKV__TYPES(GKV__TO)
GKV__FLOAT_TYPES(GKV__FROM)
GKV__INTEGER_TYPES(GKV__FROM)
#undef GKV__TO
#undef GKV__FROM

#endif
