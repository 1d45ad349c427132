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
 * columns of src/quant/types.h. */

#define FORMAT(TYPE, name, ggml, block, bytes, bits, range, off, min, halves, ...)          \
    enum { BLOCK_##name = block, BITS_##name = bits, OFF_##name = off, MIN_##name = min,    \
           HALVES_##name = halves };
GKV__INTEGER_TYPES(FORMAT)
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

/* 16 where bit j of four bytes is set, else 0. */
INLINE v32 fifth_bits(const uint8_t h[4])
{
#ifdef __aarch64__
    const v16 bit = { BITS, BITS };
    const v16 lo = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
    const uint8x16_t x = vreinterpretq_u8_u32(vdupq_n_u32(word(h)));

    return join((v16)vtstq_u8(vqtbl1q_u8(x, lo), bit),
                (v16)vtstq_u8(vqtbl1q_u8(x, lo + 2), bit)) & 16;
#else
    const v32 bit = { BITS, BITS, BITS, BITS };
    v32 x = (v32)((v8w){ 0 } + word(h));

    x = __builtin_shufflevector(x, x, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 18, 18, 18,
                                18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 19, 19);
    return (v32)((x & bit) == bit) & 16;
#endif
}
#undef BITS

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

    for (int h = 0; h < 2; h++) {
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

    for (int h = 0; h < 2; h++)
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
