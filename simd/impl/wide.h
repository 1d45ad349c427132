/* SPDX-License-Identifier: BSD-2-Clause
 * wide.h - for products of one row with 64-byte vectors (x86): 256 weights in a few vectors.  HOW_NAME says
 * which of two ways a type uses.
 *
 * Apart: four vectors.
 *
 *     void wide_NAME(const void *row, vi u[4])
 *
 * returns the same bytes as bytes_NAME, in an order that takes few instructions: order[i] says which
 * sixteen of the 256 weights are in quarter i % 4 of vector i / 4.  sums: 2 when u[0] and u[1], and u[2] and
 * u[3], have the same scales lane by lane, so that their products are added as integers; else 4.
 *
 * Lying: blocks of 18 and 34 bytes stay as in the file.  Eight of them, 144 or 272 bytes, are two or four
 * vectors and a quarter.  At the places of their scales the activations are 0.  Since two blocks are a multiple
 * of four bytes, no lane has weights of two blocks, so one vector of scales, lane by lane, is enough.  The
 * quarters that are left of two rows share a vector of 32 bytes. */

#define APART(name, how, n) .wide = wide_##name, .order = order_##how, .sums = n
#define LYING(...)          .lie = { __VA_ARGS__ }

static const uint8_t
    order_whole[16]   = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    order_blocks[16]  = { 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15 },
    order_halves[16]  = { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 },
    order_crumbs[16]  = { 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15 },
    order_ternary[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11, 15, 14 };

typedef uint16_t v32h __attribute__((vector_size(64)));
typedef uint8_t  v64 __attribute__((vector_size(64)));

INLINE uint64_t eight_bytes(const void *p) { uint64_t x; memcpy(&x, p, sizeof x); return x; }
INLINE vi masked(vi x, int mask) { return (vi)((v64)x & (uint8_t)mask); }
INLINE vi right64(vi x, int bits) { return (vi)((v32h)x >> bits); }

/* x | more & mask, in one instruction. */
INLINE vi with(vi x, __m512i more, int mask)
{
    return (vi)_mm512_ternarylogic_epi32((__m512i)x, more, _mm512_set1_epi8((char)mask), 0xf8);
}

/* Sixteen bytes of each of four blocks: masked loads instead of shuffles. */
INLINE vi quarters(const uint8_t *p, size_t apart)
{
    __m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const void *)p));

    x = _mm512_mask_broadcast_i32x4(x, 0x00f0, _mm_loadu_si128((const void *)(p + apart)));
    x = _mm512_mask_broadcast_i32x4(x, 0x0f00, _mm_loadu_si128((const void *)(p + 2 * apart)));
    return (vi)_mm512_mask_broadcast_i32x4(x, 0xf000, _mm_loadu_si128((const void *)(p + 3 * apart)));
}

/* 32 bytes, copied to both halves. */
INLINE vi repeated(const uint8_t *p)
{
    return (vi)_mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)p));
}

/* x with `more` added to the bytes whose bit is set. */
INLINE vi where(vi x, __mmask64 bits, int more)
{
    return (vi)_mm512_mask_add_epi8((__m512i)x, bits, (__m512i)x, _mm512_set1_epi8((char)more));
}

/* Mask of the bytes that have bit lo, in the lower half, or bit hi, in the upper half. */
INLINE __mmask64 bits_of(vi h, int lo, int hi)
{
    const __m256i a = _mm256_set1_epi8((char)(1 << lo)), b = _mm256_set1_epi8((char)(1 << hi));

    return _mm512_test_epi8_mask((__m512i)h, _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1));
}

INLINE void two_nibbles(vi u[2], vi x)
{
    u[0] = masked(x, 15);
    u[1] = masked(right64(x, 4), 15);
}

/* ---- blocks of 32 ----------------------------------------------------------------------- */

#define WIDE_NIBBLES(name, more)                                                            \
    INLINE void wide_##name(const void *row, vi u[4])                                       \
    {                                                                                       \
        const struct gkv__block_##name *b = row;                                            \
                                                                                            \
        _Pragma("GCC unroll 2")                                                             \
        for (size_t i = 0; i < 4; i += 2, b += 4) {                                         \
            two_nibbles(u + i, quarters(b->q, sizeof *b));                                  \
            more;                                                                           \
        }                                                                                   \
    }

/* Adds bits h of four blocks: those of their lower halves to u[0], of their upper halves to u[1]. */
INLINE void add_fifths(vi u[2], const uint8_t *h, size_t apart)
{
    const uint64_t a = word(h), b = word(h + apart), c = word(h + 2 * apart), d = word(h + 3 * apart);

    u[0] = where(u[0], (a & 0xffff) | (b & 0xffff) << 16 | (c & 0xffff) << 32 | d << 48, 16);
    u[1] = where(u[1], a >> 16 | (b & ~0xffffull) | (c >> 16) << 32 | (d >> 16) << 48, 16);
}

/* What sixteen codes stand for, not negative. */
INLINE __m128i codes_iq4(void) { return _mm_xor_si128(_mm_setr_epi8(GKV__IQ4_VALUES), _mm_set1_epi8(-128)); }
INLINE __m128i codes_fp4(void) { return _mm_add_epi8(_mm_setr_epi8(GKV__FP4_VALUES), _mm_set1_epi8(16)); }

INLINE void values_of(vi u[2], __m128i codes)
{
    const __m512i table = _mm512_broadcast_i32x4(codes);

#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        u[i] = (vi)_mm512_shuffle_epi8(table, (__m512i)u[i]);
}

WIDE_NIBBLES(q4_1, )
WIDE_NIBBLES(q5_0, add_fifths(u + i, b->h, sizeof *b))
WIDE_NIBBLES(q5_1, add_fifths(u + i, b->h, sizeof *b))
WIDE_NIBBLES(mxfp4, values_of(u + i, codes_fp4()))

#define HOW_mxfp4 APART(mxfp4, blocks, 2)
#define HOW_q4_1 APART(q4_1, blocks, 2)
#define HOW_q5_0 APART(q5_0, blocks, 2)
#define HOW_q5_1 APART(q5_1, blocks, 2)

/* ---- blocks of 256 ---------------------------------------------------------------------- */

#define HOW_iq4_xs APART(iq4_xs, blocks, 2)
INLINE void wide_iq4_xs(const void *row, vi u[4])
{
    const struct gkv__block_iq4_xs *b = row;

#pragma GCC unroll 2
    for (size_t i = 0; i < 4; i += 2) {
        two_nibbles(u + i, load_i(b->q + 32 * i));
        values_of(u + i, codes_iq4());
    }
}

#define SIXTEEN(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

/* Of four groups of 32 bytes: the first sixteen of each, then the others. */
INLINE void halves_of(__m512i x[2], const uint8_t q[128])
{
    const __m512i a = _mm512_loadu_si512(q), b = _mm512_loadu_si512(q + 64);

    x[0] = _mm512_shuffle_i64x2(a, b, 0x88);
    x[1] = _mm512_shuffle_i64x2(a, b, 0xdd);
}

#define HOW_q4_k APART(q4_k, halves, 2)
INLINE void wide_q4_k(const void *row, vi u[4])
{
    const struct gkv__block_q4_k *b = row;
    __m512i x[2];

    halves_of(x, b->q);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        u[i] = masked((vi)x[i], 15);
        u[i + 2] = masked(right64((vi)x[i], 4), 15);
    }
}

#define HOW_q5_k APART(q5_k, halves, 2)
INLINE void wide_q5_k(const void *row, vi u[4])
{
    const struct gkv__block_q5_k *b = row;
    /* Each group of 32 has a bit of h: groups 0, 2, 4, 6 these; groups 1, 3, 5, 7 the next higher ones. */
    const __m512i low = (__m512i)(v64){ SIXTEEN(1), SIXTEEN(4), SIXTEEN(16), SIXTEEN(64) };
    __m512i x[2];

    halves_of(x, b->q);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m512i h = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(b->h + 16 * i)));

        u[i] = where(masked((vi)x[i], 15), _mm512_test_epi8_mask(h, low), 16);
        u[i + 2] = where(masked(right64((vi)x[i], 4), 15),
                         _mm512_test_epi8_mask(h, _mm512_add_epi8(low, low)), 16);
    }
}

#define HOW_q2_k APART(q2_k, crumbs, 4)
INLINE void wide_q2_k(const void *row, vi u[4])
{
    const vi x = load_i(((const struct gkv__block_q2_k *)row)->q);

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        u[i] = masked(right64(x, 2 * i), 3);
}

#define HOW_q3_k APART(q3_k, crumbs, 4)
INLINE void wide_q3_k(const void *row, vi u[4])
{
    const struct gkv__block_q3_k *b = row;
    const vi x = load_i(b->q), h = repeated(b->h);

    u[0] = where(masked(x, 3), bits_of(h, 0, 4), 4);
    u[1] = where(masked(right64(x, 2), 3), bits_of(h, 1, 5), 4);
    u[2] = where(masked(right64(x, 4), 3), bits_of(h, 2, 6), 4);
    u[3] = where(masked(right64(x, 6), 3), bits_of(h, 3, 7), 4);
}

#define HOW_q6_k APART(q6_k, whole, 4)
/* Bits 4 and 5 come from h: for the four groups of a half it is shifted left by 4, 2 and 0, and right by 2. */
INLINE void wide_q6_k(const void *row, vi u[4])
{
    const struct gkv__block_q6_k *b = row;
    const __m256i two = _mm256_set1_epi16(2), four = _mm256_set1_epi16(4);
    const __m512i up = _mm512_inserti64x4(_mm512_castsi256_si512(four), two, 1);
    const __m512i down = _mm512_inserti64x4(_mm512_setzero_si512(), two, 1);

#pragma GCC unroll 2
    for (size_t i = 0; i < 4; i += 2) {
        const __m512i h = (__m512i)repeated(b->h + 16 * i);

        two_nibbles(u + i, load_i(b->q + 32 * i));
        u[i] = with(u[i], _mm512_sllv_epi16(h, up), 48);
        u[i + 1] = with(u[i + 1], _mm512_srlv_epi16(h, down), 48);
    }
}

/* ---- points of a grid ---------------------------------------------------------------------- */

/* Eight points of eight weights, and sixteen of four. */
INLINE vi eights(const uint64_t *grid, __m256i at) { return (vi)_mm512_i32gather_epi64(at, (const void *)grid, 8); }
INLINE vi fours(const uint32_t *grid, __m512i at) { return (vi)_mm512_i32gather_epi32(at, (const void *)grid, 4); }

/* Numbers of points, from bytes. */
INLINE __m256i eight_of(const uint8_t *q) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)q)); }
INLINE __m512i sixteen_of(const uint8_t *q) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)q)); }

/* low, with bits `mask` of all, shifted right by 0, 1, .. 7 times `bits`, above. */
INLINE __m256i with_high(__m256i low, uint32_t all, const int at[8], int mask)
{
    const __m256i shift = _mm256_setr_epi32(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
    const __m256i h = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)all), shift), _mm256_set1_epi32(mask));

    return _mm256_or_si256(low, _mm256_slli_epi32(h, 8));
}

/* 2 off - u, the opposite of u - off, where a bit is set. */
INLINE vi opposite(vi u, uint64_t signs, int off)
{
    return (vi)_mm512_mask_sub_epi8((__m512i)u, signs, _mm512_set1_epi8((char)(2 * off)), (__m512i)u);
}

/* 32 times seven signs become eight each, with an even number of negative weights. */
INLINE void make_even(uint64_t signs[4], __m256i seven)
{
    const __m256i odd = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    const __m256i folded = _mm256_and_si256(_mm256_xor_si256(seven, _mm256_srli_epi16(seven, 4)), _mm256_set1_epi8(15));

    _mm256_storeu_si256((void *)signs, _mm256_or_si256(seven, _mm256_shuffle_epi8(odd, folded)));
    __asm__("" : "+m"(*(uint64_t (*)[4])signs));        /* masks cost less from memory than from registers */
}

/* Four times seven bits in each lane. */
INLINE __m256i sevens(v8w rest)
{
    return (__m256i)((rest & 0x7f) | (rest << 1 & 0x7f00) | (rest << 2 & 0x7f0000) | (rest << 3 & 0x7f000000));
}

#define HOW_iq2_xxs APART(iq2_xxs, whole, 4)
INLINE void wide_iq2_xxs(const void *row, vi u[4])
{
    const struct gkv__block_iq2_xxs *b = row;
    const __m256i each = _mm256_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1,
                                          8, -1, -1, -1, 9, -1, -1, -1, 10, -1, -1, -1, 11, -1, -1, -1);
    uint64_t signs[4];

    make_even(signs, sevens(__builtin_shufflevector(words8(b->q), words8(b->q + 16), 1, 3, 5, 7, 9, 11, 13, 15)));
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __m256i q = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(b->q + 8 * i)));

        u[i] = opposite(eights(gkv__grid_iq2_xxs, _mm256_shuffle_epi8(q, each)), signs[i], OFF_iq2_xxs);
    }
}

#define HOW_iq2_xs APART(iq2_xs, whole, 4)
INLINE void wide_iq2_xs(const void *row, vi u[4])
{
    const struct gkv__block_iq2_xs *b = row;
    uint64_t signs[4];

    make_even(signs, _mm512_cvtepi16_epi8(_mm512_srli_epi16(_mm512_loadu_si512(b->q), 9)));
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __m256i q = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(b->q + 8 * i)));

        u[i] = opposite(eights(gkv__grid_iq2_xs, _mm256_and_si256(q, _mm256_set1_epi32(511))), signs[i], OFF_iq2_xs);
    }
}

#define HOW_iq2_s APART(iq2_s, whole, 4)
INLINE void wide_iq2_s(const void *row, vi u[4])
{
    static const int two[8] = { 0, 2, 4, 6, 8, 10, 12, 14 };
    const struct gkv__block_iq2_s *b = row;

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const uint32_t h = (uint32_t)(b->h[2 * i] | b->h[2 * i + 1] << 8);
        const __m256i at = with_high(eight_of(b->q + 8 * i), h, two, 3);

        u[i] = opposite(eights(gkv__grid_iq2_s, at), eight_bytes(b->sign + 8 * i), OFF_iq2_s);
    }
}

#define HOW_iq3_xxs APART(iq3_xxs, whole, 4)
INLINE void wide_iq3_xxs(const void *row, vi u[4])
{
    const struct gkv__block_iq3_xxs *b = row;
    uint64_t signs[4];

    make_even(signs, sevens(words8(b->rest)));
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        u[i] = opposite(fours(gkv__grid_iq3_xxs, sixteen_of(b->q + 16 * i)), signs[i], OFF_iq3_xxs);
}

#define HOW_iq3_s APART(iq3_s, whole, 4)
INLINE void wide_iq3_s(const void *row, vi u[4])
{
    const struct gkv__block_iq3_s *b = row;

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __mmask16 h = (__mmask16)(b->h[2 * i] | b->h[2 * i + 1] << 8);
        const __m512i low = sixteen_of(b->q + 16 * i), at = _mm512_mask_or_epi32(low, h, low, _mm512_set1_epi32(256));

        u[i] = opposite(fours(gkv__grid_iq3_s, at), eight_bytes(b->sign + 8 * i), OFF_iq3_s);
    }
}

/* Eight points of iq1; `down`: those that are moved down. */
INLINE vi eights_iq1(__m256i at, __mmask8 down)
{
    const __m512i u = (__m512i)eights(gkv__grid_iq1, at);

    return (vi)_mm512_mask_sub_epi64(u, down, u, _mm512_set1_epi64(GKV__IQ1_DOWN));
}

#define HOW_iq1_s APART(iq1_s, whole, 4)
INLINE void wide_iq1_s(const void *row, vi u[4])
{
    static const int three[8] = { 0, 3, 6, 9, 16, 19, 22, 25 };
    const int low = 1 << 15, high = INT32_MIN;
    const __m256i top = _mm256_setr_epi32(low, low, low, low, high, high, high, high);
    const struct gkv__block_iq1_s *b = row;

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const uint32_t h = word((const uint8_t *)(b->h + 2 * i));

        u[i] = eights_iq1(with_high(eight_of(b->q + 8 * i), h, three, 7),
                          _mm256_test_epi32_mask(_mm256_set1_epi32((int)h), top));
    }
}

#define HOW_iq1_m APART(iq1_m, whole, 4)
INLINE void wide_iq1_m(const void *row, vi u[4])
{
    static const int four[8] = { 0, 4, 8, 12, 16, 20, 24, 28 };
    const __m256i top = _mm256_setr_epi32(8, 1 << 7, 1 << 11, 1 << 15, 1 << 19, 1 << 23, 1 << 27, INT32_MIN);
    const struct gkv__block_iq1_m *b = row;

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const uint32_t h = word(b->h + 4 * i);

        u[i] = eights_iq1(with_high(eight_of(b->q + 8 * i), h, four, 7),
                          _mm256_test_epi32_mask(_mm256_set1_epi32((int)h), top));
    }
}

/* ---- ternary weights ------------------------------------------------------------------------ */

#define HOW_tq1_0 APART(tq1_0, ternary, 4)
INLINE __m512i times_3(__m512i x, __mmask64 where)
{
    return _mm512_mask_add_epi8(x, where, x, _mm512_add_epi8(x, x));
}

INLINE void wide_tq1_0(const void *row, vi u[4])
{
    const __mmask64 all = UINT64_MAX, upper = all << 32, last = all << 48;
    const __m512i one = _mm512_set1_epi8(1);
    const struct gkv__block_tq1_0 *b = row;
    __m512i x[4], r = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(b->q + 32)));

    x[0] = times_3((__m512i)repeated(b->q), upper);
    x[1] = times_3(times_3(x[0], all), all);
    r = times_3(r, last | 0xffff0000);                  /* times 1, 3, 9, 27 */
    r = times_3(times_3(r, upper), upper);
    x[2] = _mm512_mask_blend_epi8(upper, times_3(times_3(x[1], all), all), r);
    x[3] = _mm512_mask_broadcast_i32x4(times_3(r, last), 0x0f00, (__m128i)four_by_four(b->h));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512i digit = _mm512_maskz_mov_epi8(_mm512_cmpgt_epu8_mask(x[i], _mm512_set1_epi8(85)), one);

        u[i] = (vi)_mm512_mask_add_epi8(digit, _mm512_cmpgt_epu8_mask(x[i], _mm512_set1_epi8((char)170)), digit, one);
    }
}

#define HOW_tq2_0 APART(tq2_0, crumbs, 4)
INLINE void wide_tq2_0(const void *row, vi u[4])
{
    const vi x = load_i(((const struct gkv__block_tq2_0 *)row)->q);

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        u[i] = masked(right64(x, 2 * i), 3);
}

/* ---- blocks that stay as in the file ------------------------------------------------------ */

struct lie {
    size_t bytes, parts;                        /* of a block; weights per byte              */
    void (*weights)(vi u[2], vi x);             /* unpacks 64 bytes                          */
    void (*tail)(v32 u[2], v32 x);              /* unpacks 32 bytes                          */
};

#define HOW_q8_0 LYING(34, 1, lying_q8_0, tail_q8_0)
INLINE void lying_q8_0(vi u[2], vi x) { u[0] = (vi)((v64)x ^ 128); }
INLINE void tail_q8_0(v32 u[2], v32 x) { u[0] = x ^ 128; }

#define HOW_q4_0 LYING(18, 2, two_nibbles, tail_q4_0)
INLINE void tail_q4_0(v32 u[2], v32 x)
{
    u[0] = x & 15;
    u[1] = right(x, 4) & 15;
}

#define HOW_iq4_nl LYING(18, 2, lying_iq4_nl, tail_iq4_nl)
INLINE void lying_iq4_nl(vi u[2], vi x)
{
    two_nibbles(u, x);
    values_of(u, codes_iq4());
}

INLINE void tail_iq4_nl(v32 u[2], v32 x)
{
    tail_q4_0(u, x);
    u[0] = iq4_values(u[0]);
    u[1] = iq4_values(u[1]);
}

/* The scales of eight blocks of `bytes` bytes, from the vectors that the blocks fill; each block begins with
 * its scale. */
INLINE v8f heads(const vi x[4], size_t bytes)
{
    const short n = (short)(bytes / 2);         /* in words; indices into two vectors count modulo 64 */
    const __m128i four = _mm_setr_epi16(0, n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n);
    const __m128i more = _mm_setr_epi16(4 * n, 5 * n, 6 * n, 7 * n, 0, 0, 0, 0);
    __m128i h = _mm512_castsi512_si128(
        _mm512_permutex2var_epi16((__m512i)x[0], _mm512_castsi128_si512(four), (__m512i)x[1]));

    if (bytes > 18)             /* only four blocks begin in the first two vectors */
        h = _mm_unpacklo_epi64(h, _mm512_castsi512_si128(
            _mm512_permutex2var_epi16((__m512i)x[2], _mm512_castsi128_si512(more), (__m512i)x[3])));
    return halves_f16((v8h)h);
}

/* Lane l is the scale of the weights in bytes 4 l .. 4 l + 3 of vector v. */
INLINE vf spread_lying(v8f d, size_t bytes, size_t v)
{
    vi at;

#pragma GCC unroll 16
    for (size_t l = 0; l < VW; l++) {
        const size_t byte = 64 * v + 4 * l;

        at[l] = (int)((byte % bytes < 2 ? byte + 3 : byte) / bytes);
    }
    return (vf)_mm512_permutexvar_ps((__m512i)at, _mm512_castps256_ps512((__m256)d));
}

/* Lane l is the scale of the weights in quarter l / 4.  d[h][i] is that of half h of group i. */
INLINE vf spread(const v8f d[2], const uint8_t quarter[4], int halves)
{
    __m512 x = _mm512_castps256_ps512((__m256)d[0]);
    vi at;

    if (halves)
        x = _mm512_insertf32x8(x, (__m256)d[1], 1);
    /* Unrolled, because it is a constant only then: -O2 would leave a loop.         */
#pragma GCC unroll 16
    for (int l = 0; l < VW; l++)
        at[l] = quarter[l / 4] / 2 + (halves ? quarter[l / 4] % 2 * 8 : 0);
    return (vf)_mm512_permutexvar_ps((__m512i)at, x);
}
