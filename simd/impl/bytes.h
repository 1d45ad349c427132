/* SPDX-License-Identifier: BSD-2-Clause
 * bytes.h - the integer types: 32 weights of a row at a time as bytes, so that everything after
 * that (floats, GEMM panels, integer dot products) is written once for all types.
 *
 *     v32 bytes_NAME(const void *row, size_t i, float d[2], float m[2])
 *
 * returns weights 32 i .. 32 i + 31 as bytes u with w = d[h] * (u - OFF_NAME) + m[h], h = 0 for the
 * first sixteen and 1 for the others.  MIN_NAME: m is not zero (and d * u - |m| is rounded once, as
 * in to_f32: d * (u - OFF) has 24 bits at most in every type, so it is exact).
 * HALVES_NAME: the halves have scales of their own.  BLOCK_NAME: weights per block; an unrolled loop
 * over the groups of one block computes only once what the groups share.  These constants are
 * columns of src/quant/types.h.  TOP_NAME is the largest |u - OFF|, without minima a power of two; (u - OFF) << SHIFT_NAME
 * has eight bits then. */

#include "src/quant/grid.h"

#define FORMAT(TYPE, name, ggml, block, bytes, bits, range, off, min, halves, ...)          \
    enum { BLOCK_##name = block, BITS_##name = bits, OFF_##name = off, MIN_##name = min,    \
           HALVES_##name = halves, LAST_##name = (1 << bits) - 1 - off,                     \
           TOP_##name = LAST_##name > off ? LAST_##name : off, SHIFT_##name = 7 - __builtin_ctz(TOP_##name) };
GKV__BYTE_TYPES(FORMAT)
#undef FORMAT

typedef uint8_t  v16 __attribute__((vector_size(16)));
typedef uint8_t  v16u __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint8_t  v32 __attribute__((vector_size(32)));
typedef uint8_t  v32u __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint16_t v16h __attribute__((vector_size(32)));
typedef uint32_t v4w __attribute__((vector_size(16)));
typedef uint32_t v8w __attribute__((vector_size(32)));

#define UPTO16(x) x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, \
                  x + 8, x + 9, x + 10, x + 11, x + 12, x + 13, x + 14, x + 15

INLINE v32 load32(const uint8_t *p) { return *(const v32u *)p; }
INLINE v32 join(v16 a, v16 b)
{
#ifdef __aarch64__              /* 16-byte registers: GCC 12 copies byte by byte */
    union { v16 half[2]; v32 both; } x = { { a, b } };

    return x.both;
#else
    return __builtin_shufflevector(a, b, UPTO16(0), UPTO16(16));
#endif
}
INLINE uint32_t word(const uint8_t *p) { uint32_t w; memcpy(&w, p, sizeof w); return w; }

/* There are no shifts of bytes; callers mask off the bits that come in from neighbours. */
INLINE v32 right(v32 x, size_t bits) { return (v32)((v16h)x >> (int)bits); }
INLINE v32 left(v32 x, size_t bits) { return (v32)((v16h)x << (int)bits); }

/* Low nibbles of sixteen bytes, then the high ones. */
INLINE v32 nibbles(const uint8_t q[16])
{
    typedef uint16_t v8h __attribute__((vector_size(16)));
    v16 x = *(const v16u *)q;

    return join(x, (v16)((v8h)x >> 4)) & 15;
}

#define BITS 1, 2, 4, 8, 16, 32, 64, 128

/* 255 where bit j is set, else 0. */
INLINE v32 spread_bits(uint32_t bits)
{
#ifdef __aarch64__
    const v16 bit = { BITS, BITS };
    const v16 lo = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
    const uint8x16_t x = vreinterpretq_u8_u32(vdupq_n_u32(bits));

    return join((v16)vtstq_u8(vqtbl1q_u8(x, lo), bit), (v16)vtstq_u8(vqtbl1q_u8(x, lo + 2), bit));
#else
    const v32 bit = { BITS, BITS, BITS, BITS };
    v32 x = (v32)((v8w){ 0 } + bits);

    x = __builtin_shufflevector(x, x, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 18, 18, 18,
                                18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 19, 19);
    return (v32)((x & bit) == bit);
#endif
}
#undef BITS

/* 16 where bit j of four bytes is set, else 0. */
INLINE v32 fifth_bits(const uint8_t h[4]) { return spread_bits(word(h)) & 16; }

INLINE void same(float d[2], float x) { d[0] = d[1] = x; }

/* ---- blocks of 32 ----------------------------------------------------------------------- */

INLINE v32 bytes_q8_0(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q8_0 *b = (const struct gkv__block_q8_0 *)row + i;

    same(d, half(b->d));
    same(m, 0);
    return load32((const uint8_t *)b->q) + 128;
}

INLINE v32 bytes_q4_0(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q4_0 *b = (const struct gkv__block_q4_0 *)row + i;

    same(d, half(b->d));
    same(m, 0);
    return nibbles(b->q);
}

INLINE v32 bytes_q4_1(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q4_1 *b = (const struct gkv__block_q4_1 *)row + i;

    same(d, half(b->d));
    same(m, half(b->m));
    return nibbles(b->q);
}

INLINE v32 bytes_q5_0(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q5_0 *b = (const struct gkv__block_q5_0 *)row + i;

    same(d, half(b->d));
    same(m, 0);
    return nibbles(b->q) | fifth_bits(b->h);
}

INLINE v32 bytes_q5_1(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q5_1 *b = (const struct gkv__block_q5_1 *)row + i;

    same(d, half(b->d));
    same(m, half(b->m));
    return nibbles(b->q) | fifth_bits(b->h);
}

/* ---- blocks of 256: group s = i % 8 ------------------------------------------------------ */

INLINE float byte_of(uint64_t bytes, size_t s) { return (float)(int)(bytes >> 8 * s & 255); }

INLINE v32 bytes_q2_k(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q2_k *b = (const struct gkv__block_q2_k *)row + i / 8;
    const size_t s = i % 8;
    const float dl = half(b->d), ml = half(b->dmin);

    for (size_t h = 0; h < 2; h++) {
        d[h] = dl * (float)(b->scale[2 * s + h] & 15);
        m[h] = -(ml * (float)(b->scale[2 * s + h] >> 4));
    }
    return right(load32(b->q + s / 4 * 32), s % 4 * 2) & 3;
}

INLINE v32 bytes_q3_k(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q3_k *b = (const struct gkv__block_q3_k *)row + i / 8;
    const size_t s = i % 8;
    const float dl = half(b->d);

    for (size_t h = 0, k = 2 * s; h < 2; h++, k++) {
        int low = b->scale[k % 8] >> k / 8 * 4 & 15, high = b->scale[8 + k % 4] >> k / 4 * 2 & 3;

        d[h] = dl * (float)((low | high << 4) - 32);
    }
    same(m, 0);
    return (right(load32(b->q + s / 4 * 32), s % 4 * 2) & 3) |
           (left(right(load32(b->h), s) & 1, 2));
}

/* Eight scales and minima from twelve bytes (src/quant/scale.h), four at a time. */
INLINE void scales_k(const uint8_t p[12], size_t s, float dl, float ml, float d[2], float m[2])
{
    const uint32_t a = word(p), b = word(p + 4), c = word(p + 8);
    uint64_t scale = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    uint64_t min = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);

    scale = scale << 32 | (a & 0x3f3f3f3f);
    min = min << 32 | (b & 0x3f3f3f3f);
    same(d, dl * byte_of(scale, s));
    same(m, -(ml * byte_of(min, s)));
}

INLINE v32 bytes_q4_k(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q4_k *b = (const struct gkv__block_q4_k *)row + i / 8;
    const size_t s = i % 8;

    scales_k(b->scale, s, half(b->d), half(b->dmin), d, m);
    return right(load32(b->q + s / 2 * 32), s % 2 * 4) & 15;
}

INLINE v32 bytes_q5_k(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q5_k *b = (const struct gkv__block_q5_k *)row + i / 8;
    const size_t s = i % 8;

    scales_k(b->scale, s, half(b->d), half(b->dmin), d, m);
    return (right(load32(b->q + s / 2 * 32), s % 2 * 4) & 15) |
           (left(right(load32(b->h), s), 4) & 16);
}

INLINE v32 bytes_q6_k(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_q6_k *b = (const struct gkv__block_q6_k *)row + i / 8;
    const size_t s = i % 8, t = s % 4;
    const float dl = half(b->d);

    for (size_t h = 0; h < 2; h++)
        d[h] = dl * (float)b->scale[2 * s + h];
    same(m, 0);
    return (right(load32(b->q + s / 4 * 64 + t % 2 * 32), t / 2 * 4) & 15) |
           (left(right(load32(b->h + s / 4 * 32), t * 2), 4) & 48);
}

/* ---- tables of unequal steps --------------------------------------------------------------- */

/* table[x], x < 16. */
INLINE v32 look_up(v16 table, v32 x)
{
#ifdef __AVX2__
    typedef char v32c __attribute__((vector_size(32)));

    return (v32)__builtin_ia32_pshufb256((v32c)join(table, table), (v32c)x);
#elif defined(__aarch64__)
    return join((v16)vqtbl1q_u8(table, __builtin_shufflevector(x, x, UPTO16(0))),
                (v16)vqtbl1q_u8(table, __builtin_shufflevector(x, x, UPTO16(16))));
#else
    v32 y;

    for (int j = 0; j < 32; j++)
        y[j] = table[x[j]];
    return y;
#endif
}

INLINE v32 iq4_values(v32 nibbles)
{
    typedef int8_t v16i __attribute__((vector_size(16)));

    return look_up((v16)(v16i){ GKV__IQ4_VALUES } ^ 128, nibbles);
}

INLINE v32 bytes_iq4_nl(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq4_nl *b = (const struct gkv__block_iq4_nl *)row + i;

    same(d, half(b->d));
    same(m, 0);
    return iq4_values(nibbles(b->q));
}

INLINE v32 fp4_values(v32 nibbles)
{
    typedef int8_t v16i __attribute__((vector_size(16)));

    return look_up((v16)((v16i){ GKV__FP4_VALUES } + 16), nibbles);
}

INLINE v32 bytes_mxfp4(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_mxfp4 *b = (const struct gkv__block_mxfp4 *)row + i;

    same(d, gkv__e8m0_half(b->d));
    same(m, 0);
    return fp4_values(nibbles(b->q));
}

INLINE v32 bytes_iq4_xs(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq4_xs *b = (const struct gkv__block_iq4_xs *)row + i / 8;
    const size_t s = i % 8;
    int low = b->scale_l[s / 2] >> s % 2 * 4 & 15, high = b->scale_h >> s * 2 & 3;

    same(d, half(b->d) * (float)((low | high << 4) - 32));
    same(m, 0);
    return iq4_values(nibbles(b->q + 16 * s));
}

/* ---- points of a grid (src/quant/grid.h) ----------------------------------------------------- */

/* Four points of eight weights. */
INLINE v32 of_eights(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    typedef uint64_t v2q __attribute__((vector_size(16)));

    return join((v16)(v2q){ a, b }, (v16)(v2q){ c, d });
}

/* Eight points of four weights; bit j of `high` is bit 8 of the number of point j. */
INLINE v32 of_fours(const uint32_t *grid, const uint8_t q[8], unsigned high)
{
#ifdef __AVX2__
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i h = _mm256_and_si256(_mm256_set1_epi32((int)high), bit);
    const __m256i above = _mm256_and_si256(_mm256_cmpeq_epi32(h, bit), _mm256_set1_epi32(256));
    const __m256i at = _mm256_or_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)q)), above);

    return (v32)_mm256_i32gather_epi32((const void *)grid, at, 4);
#else
    uint32_t p[8];

    for (int j = 0; j < 8; j++)
        p[j] = grid[q[j] | (high >> j & 1) << 8];
    return join((v16)(v4w){ p[0], p[1], p[2], p[3] }, (v16)(v4w){ p[4], p[5], p[6], p[7] });
#endif
}

/* 2 off - u, which is the opposite of u - off, where a bit is set. */
INLINE v32 negated(v32 u, uint32_t signs, int off)
{
#ifdef __AVX512VL__
    return (v32)_mm256_mask_sub_epi8((__m256i)u, signs, _mm256_set1_epi8((char)(2 * off)), (__m256i)u);
#else
    const v32 s = spread_bits(signs);

    return (u ^ s) + (s & (uint8_t)(2 * off + 1));
#endif
}

/* Four times seven signs, the eighth of which makes the number of negative weights even. */
INLINE uint32_t even_signs(uint32_t rest)
{
    const uint32_t x = (rest & 0x7f) | (rest << 1 & 0x7f00) | (rest << 2 & 0x7f0000) | (rest << 3 & 0x7f000000);
    uint32_t odd = x ^ (x >> 4 & 0x0f0f0f0f);

    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return x | (odd & 0x01010101) << 7;
}

INLINE v32 bytes_iq2_xxs(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq2_xxs *b = (const struct gkv__block_iq2_xxs *)row + i / 8;
    const uint8_t *q = (const uint8_t *)(b->q + i % 8 * 4);
    const uint64_t *grid = gkv__grid_iq2_xxs;
    const uint32_t rest = word(q + 4);

    same(d, half(b->d) * (0.125f * (float)(2 * (rest >> 28) + 1)));
    same(m, 0);
    return negated(of_eights(grid[q[0]], grid[q[1]], grid[q[2]], grid[q[3]]), even_signs(rest), OFF_iq2_xxs);
}

/* Scales of four bits for sixteen weights. */
INLINE void scales_iq2(float dl, uint8_t scale, float d[2], float m[2])
{
    d[0] = dl * (0.125f * (float)(2 * (scale & 15) + 1));
    d[1] = dl * (0.125f * (float)(2 * (scale >> 4) + 1));
    same(m, 0);
}

INLINE v32 bytes_iq2_xs(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq2_xs *b = (const struct gkv__block_iq2_xs *)row + i / 8;
    const uint16_t *q = b->q + i % 8 * 4;
    const uint64_t *grid = gkv__grid_iq2_xs;
    const uint32_t seven = (uint32_t)(q[0] >> 9) | (uint32_t)(q[1] >> 9) << 7 | (uint32_t)(q[2] >> 9) << 14 |
                           (uint32_t)(q[3] >> 9) << 21;

    scales_iq2(half(b->d), b->scale[i % 8], d, m);
    return negated(of_eights(grid[q[0] & 511], grid[q[1] & 511], grid[q[2] & 511], grid[q[3] & 511]),
                   even_signs(seven), OFF_iq2_xs);
}

INLINE v32 bytes_iq2_s(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq2_s *b = (const struct gkv__block_iq2_s *)row + i / 8;
    const uint8_t *q = b->q + i % 8 * 4;
    const uint64_t *grid = gkv__grid_iq2_s;
    const unsigned h = b->h[i % 8];

    scales_iq2(half(b->d), b->scale[i % 8], d, m);
    return negated(of_eights(grid[q[0] | (h << 8 & 768)], grid[q[1] | (h << 6 & 768)], grid[q[2] | (h << 4 & 768)],
                             grid[q[3] | (h << 2 & 768)]), word(b->sign + i % 8 * 4), OFF_iq2_s);
}

INLINE v32 bytes_iq3_xxs(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq3_xxs *b = (const struct gkv__block_iq3_xxs *)row + i / 8;
    const uint32_t rest = word((const uint8_t *)(b->rest + i % 8 * 2));

    same(d, half(b->d) * (0.5f * (float)(2 * (rest >> 28) + 1)));
    same(m, 0);
    return negated(of_fours(gkv__grid_iq3_xxs, b->q + i % 8 * 8, 0), even_signs(rest), OFF_iq3_xxs);
}

INLINE v32 bytes_iq3_s(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq3_s *b = (const struct gkv__block_iq3_s *)row + i / 8;
    const size_t s = i % 8;

    same(d, half(b->d) * (float)(2 * (b->scale[s / 2] >> s % 2 * 4 & 15) + 1));
    same(m, 0);
    return negated(of_fours(gkv__grid_iq3_s, b->q + 8 * s, b->h[s]), word(b->sign + 4 * s), OFF_iq3_s);
}

/* A point of iq1, whose number has its high bits, and the direction of its shift above them, in h. */
INLINE uint64_t point_iq1(uint8_t low, unsigned high, unsigned down)
{
    return gkv__grid_iq1[low | (high & 7) << 8] - (down & 1) * GKV__IQ1_DOWN;
}

INLINE v32 bytes_iq1_s(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq1_s *b = (const struct gkv__block_iq1_s *)row + i / 8;
    const uint8_t *q = b->q + i % 8 * 4;
    const unsigned h = b->h[i % 8], down = h >> 15;

    same(d, half(b->d) * (0.125f * (float)(2 * (h >> 12 & 7) + 1)));
    same(m, 0);
    return of_eights(point_iq1(q[0], h, down), point_iq1(q[1], h >> 3, down), point_iq1(q[2], h >> 6, down),
                     point_iq1(q[3], h >> 9, down));
}

/* The scale of a block of iq1_m is spread over four numbers. */
INLINE float scale_iq1_m(const struct gkv__block_iq1_m *b)
{
#ifdef __AVX512F__              /* where this is fast */
    uint64_t four;

    memcpy(&four, b->scale, sizeof four);
    return half((uint16_t)_pext_u64(four, 0xf000f000f000f000));
#else
    return half((uint16_t)(b->scale[0] >> 12 | (b->scale[1] >> 12) << 4 | (b->scale[2] >> 12) << 8 |
                           (b->scale[3] >> 12) << 12));
#endif
}

INLINE v32 bytes_iq1_m(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_iq1_m *b = (const struct gkv__block_iq1_m *)row + i / 8;
    const size_t s = i % 8;
    const uint8_t *q = b->q + 4 * s;
    const unsigned h = b->h[2 * s], g = b->h[2 * s + 1], scale = (unsigned)b->scale[s / 2] >> s % 2 * 6;
    const float dl = 0.125f * scale_iq1_m(b);

    d[0] = dl * (float)(2 * (scale & 7) + 1);
    d[1] = dl * (float)(2 * (scale >> 3 & 7) + 1);
    same(m, 0);
    return of_eights(point_iq1(q[0], h, h >> 3), point_iq1(q[1], h >> 4, h >> 7), point_iq1(q[2], g, g >> 3),
                     point_iq1(q[3], g >> 4, g >> 7));
}

/* ---- ternary weights ------------------------------------------------------------------------- */

/* Multiplied by 3, modulo 256, `times` times. */
#define TIMES_3(x, times) for (size_t j = 0; j < (times); j++) (x) += (x) + (x)


/* The first digit, to the base of three, of a byte as a fraction of 256. */
INLINE v32 first_digit(v32 x)
{
    return (v32)-((x > 85) + (x > 170));
}

/* Four bytes times 1, 3, 9 and 27. */
INLINE v16 four_by_four(const uint8_t h[4])
{
    const v4w x = { word(h), word(h), word(h), word(h) }, power = { 1, 3, 9, 27 };

    return (v16)(((x & 0x00ff00ff) * power & 0x00ff00ff) | ((x >> 8 & 0x00ff00ff) * power & 0x00ff00ff) << 8);
}

INLINE v32 bytes_tq1_0(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_tq1_0 *b = (const struct gkv__block_tq1_0 *)row + i / 8;
    const size_t s = i % 8;
    v16 q = *(const v16u *)(b->q + 32);
    v32 x;

    same(d, half(b->d));
    same(m, 0);
    if (s < 5) {                        /* five times 32 weights */
        x = load32(b->q);
        TIMES_3(x, s);
    } else {                            /* five times 16 and four times 4 */
        TIMES_3(q, 2 * (s - 5));
        x = join(q, s < 7 ? q + q + q : four_by_four(b->h));
    }
    return first_digit(x);
}

INLINE v32 bytes_tq2_0(const void *row, size_t i, float d[2], float m[2])
{
    const struct gkv__block_tq2_0 *b = (const struct gkv__block_tq2_0 *)row + i / 8;
    const size_t s = i % 8;

    same(d, half(b->d));
    same(m, 0);
    return right(load32(b->q + s / 4 * 32), s % 4 * 2) & 3;
}
