/* SPDX-License-Identifier: BSD-2-Clause
 * pairs.h - pairs of 16-bit numbers in 32-bit lanes, the first one in the low half; for 16 lanes.  The
 * including file defines
 *
 *     vf bf16_dp(vf s, vi w, vi x)     s plus both products of each lane
 *     vi bf16_row(vf lo, vf hi)        32 bfloat16 in order, rounded to nearest even
 *     vh bf16_half(vf x)               16 bfloat16, rounded in the same way */

typedef int32_t one_pair __attribute__((aligned(2), may_alias));
typedef vi pairs_u __attribute__((aligned(4), may_alias));
typedef uint16_t twice __attribute__((vector_size(4 * VW)));
typedef uint16_t twice_u __attribute__((vector_size(4 * VW), aligned(2), may_alias));
typedef int16_t twice_signed __attribute__((vector_size(4 * VW)));

#define SHUFFLE16(a, b, ...) (vi)__builtin_shufflevector((twice)(a), (twice)(b), __VA_ARGS__)

/* Pairs of two rows of 32: of their first 16 columns, and of the others. */
INLINE vi pairs_low(vi a, vi b)
{
    return SHUFFLE16(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39,
                     8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
}

INLINE vi pairs_high(vi a, vi b)
{
    return SHUFFLE16(a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                     24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
}

/* For consecutive rows of 4 or 2 columns: every two become one row of pairs. */
INLINE vi pairs_of_4(vi w)
{
    return SHUFFLE16(w, w, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15,
                     16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31);
}

INLINE vi pairs_of_2(vi w)
{
    return SHUFFLE16(w, w, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15,
                     16, 18, 17, 19, 20, 22, 21, 23, 24, 26, 25, 27, 28, 30, 29, 31);
}

INLINE vi bf16_pair(vf lo, vf hi)
{
    const vi w = bf16_row(lo, hi);

    return SHUFFLE16(w, w, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
