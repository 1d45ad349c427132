/* SPDX-License-Identifier: BSD-2-Clause
 * scales.h - scales and minima of 256 weights at a time, for products of one row, where computing them one by
 * one would cost more than the weights.
 *
 *     void scales_NAME(const void *row, v8f d[2], v8f m[2])
 *
 * row points to the first of 256 weights; lane i of d[h] and m[h] is what bytes_NAME stores in
 * d[h] and m[h] for group i.  d[1] and m[1] are set only if HALVES_NAME, m only if MIN_NAME. */

#define PER_256(name) (256 / BLOCK_##name * sizeof(struct gkv__block_##name))

typedef uint8_t v8b __attribute__((vector_size(8)));
typedef int8_t v8c __attribute__((vector_size(8)));
typedef uint16_t v8h __attribute__((vector_size(16)));

INLINE v8f floats_v8b(v8b x)
{
#ifdef __aarch64__
    const uint16x8_t w = vmovl_u8((uint8x8_t)x);

    return join8(vcvtq_f32_u32(vmovl_u16(vget_low_u16(w))), vcvtq_f32_u32(vmovl_high_u16(w)));
#else
    return __builtin_convertvector((v8i){ EACH8(x, 0) }, v8f);
#endif
}

INLINE v8f floats_u8(uint64_t bytes)
{
    v8b x;

    memcpy(&x, &bytes, sizeof x);
    return floats_v8b(x);
}

INLINE v8f floats_i8(v8c x)
{
#ifdef __aarch64__
    const int16x8_t w = vmovl_s8((int8x8_t)x);

    return join8(vcvtq_f32_s32(vmovl_s16(vget_low_s16(w))), vcvtq_f32_s32(vmovl_high_s16(w)));
#else
    return __builtin_convertvector((v8i){ EACH8(x, 0) }, v8f);
#endif
}

INLINE v8f halves_f16(v8h h)
{
#ifdef __F16C__
    return (v8f)_mm256_cvtph_ps((__m128i)h);
#elif defined(__aarch64__)
    const float16x8_t f = (float16x8_t)h;

    return join8(vcvt_f32_f16(vget_low_f16(f)), vcvt_high_f32_f16(f));
#else
    return (v8f){ half(h[0]), half(h[1]), half(h[2]), half(h[3]),
                  half(h[4]), half(h[5]), half(h[6]), half(h[7]) };
#endif
}

/* One field of eight consecutive blocks. */
#define EIGHT_(b, field) (v8h){ (b)[0].field, (b)[1].field, (b)[2].field, (b)[3].field, \
                                (b)[4].field, (b)[5].field, (b)[6].field, (b)[7].field }
#ifdef __AVX512BW__
/* The same with two loads, since 64 bytes span four blocks of n words each: faster for a type with two
 * fields (q4_1: 1.19 times). */
INLINE v8h every_nth(const uint8_t *p, size_t n)
{
    const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 8 * n);
    const short i = (short)n;
    const __m512i at = _mm512_castsi128_si512(
        _mm_setr_epi16(0, i, (short)(2 * i), (short)(3 * i), 32, (short)(32 + i), (short)(32 + 2 * i), (short)(32 + 3 * i)));

    return (v8h)_mm512_castsi512_si128(_mm512_permutex2var_epi16(a, at, b));
}
#define OF_EIGHT(b, field) \
    (sizeof *(b) > 20 ? EIGHT_(b, field) \
                      : every_nth((const uint8_t *)&(b)->field, sizeof *(b) / 2))
#else
#define OF_EIGHT(b, field) EIGHT_(b, field)
#endif

#define SCALES_D(name)                                                                      \
    INLINE void scales_##name(const void *row, v8f d[2], v8f m[2])                          \
    {                                                                                       \
        const struct gkv__block_##name *b = row;                                            \
        d[0] = halves_f16(OF_EIGHT(b, d));                                                  \
        (void)m;                                                                            \
    }
#define SCALES_DM(name)                                                                     \
    INLINE void scales_##name(const void *row, v8f d[2], v8f m[2])                          \
    {                                                                                       \
        const struct gkv__block_##name *b = row;                                            \
        d[0] = halves_f16(OF_EIGHT(b, d));                                                  \
        m[0] = halves_f16(OF_EIGHT(b, m));                                                  \
    }
SCALES_D(q8_0) SCALES_D(q4_0) SCALES_D(q5_0) SCALES_D(iq4_nl) SCALES_DM(q4_1) SCALES_DM(q5_1)

/* As gkv__e8m0_half. */
INLINE void scales_mxfp4(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_mxfp4 *b = row;
#ifdef __AVX2__
    const __m256i at = _mm256_setr_epi32(0, 17, 34, 51, 68, 85, 102, 119);
    const v8w e = (v8w)_mm256_i32gather_epi32((const void *)b, at, 1) & 255;
#else
    const v8w e = { b[0].d, b[1].d, b[2].d, b[3].d, b[4].d, b[5].d, b[6].d, b[7].d };
#endif
    const v8w tiny = (v8w)(e < 2);

    d[0] = (v8f)((0x00200000u << (e & 1) & tiny) | ((e - 1) << 23 & ~tiny));
    (void)m;
}

#define EVEN(x) __builtin_shufflevector(x, x, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(x) __builtin_shufflevector(x, x, 1, 3, 5, 7, 9, 11, 13, 15)

INLINE void scales_q2_k(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_q2_k *b = row;
    const float dl = half(b->d), ml = half(b->dmin);
    const v16 s = *(const v16u *)b->scale, scale = s & 15, min = (v16)((v8h)s >> 4) & 15;
    const v8b even = EVEN(scale), odd = ODD(scale), even_min = EVEN(min), odd_min = ODD(min);

    d[0] = floats_v8b(even) * dl;
    d[1] = floats_v8b(odd) * dl;
    m[0] = floats_v8b(even_min) * -ml;
    m[1] = floats_v8b(odd_min) * -ml;
}

INLINE void scales_q3_k(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_q3_k *b = row;
    const float dl = half(b->d);
    const uint32_t lo = word(b->scale), hi = word(b->scale + 4), high = word(b->scale + 8);
    const v4w low = { lo, hi, lo >> 4, hi >> 4 }, two = { high << 4, high << 2, high, high >> 2 };
    const v16 s = (v16)((low & 0x0f0f0f0f) | (two & 0x30303030)) - 32;
    const v8b even = EVEN(s), odd = ODD(s);

    d[0] = floats_i8((v8c)even) * dl;
    d[1] = floats_i8((v8c)odd) * dl;
    (void)m;
}

/* For a block that begins with d, dmin and twelve bytes of scales and minima.  Uses general registers, because
 * the vector units are busier. */
INLINE void scales_6_bits(const uint8_t *block, v8f *d, v8f *m)
{
    const uint32_t a = word(block + 4), b = word(block + 8), c = word(block + 12);
    const uint64_t scale = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    const uint64_t min = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
#ifdef __F16C__
    const __m128 of = _mm_cvtph_ps(_mm_cvtsi32_si128((int)word(block)));
#else
    const float of[2] = { half((uint16_t)word(block)), half((uint16_t)(word(block) >> 16)) };
#endif

    *d = floats_u8(scale << 32 | (a & 0x3f3f3f3f)) * of[0];
    *m = floats_u8(min << 32 | (b & 0x3f3f3f3f)) * -of[1];
}

INLINE void scales_q4_k(const void *row, v8f d[2], v8f m[2])
{
    scales_6_bits(row, d, m);
}

INLINE void scales_q5_k(const void *row, v8f d[2], v8f m[2])
{
    scales_6_bits(row, d, m);
}

INLINE void scales_q6_k(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_q6_k *b = row;
    const v16 s = *(const v16u *)(const void *)b->scale;
    const float dl = half(b->d);
    const v8b even = EVEN(s), odd = ODD(s);

    d[0] = floats_i8((v8c)even) * dl;
    d[1] = floats_i8((v8c)odd) * dl;
    (void)m;
}

INLINE void scales_iq4_xs(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq4_xs *b = row;
    const v8w low = word(b->scale_l) - (v8w){ 0 }, high = b->scale_h - (v8w){ 0 };
    const v8w four = { 0, 4, 8, 12, 16, 20, 24, 28 }, two = { 0, 2, 4, 6, 8, 10, 12, 14 };
    const v8i s = (v8i)((low >> four & 15) | (high >> two & 3) << 4) - 32;

    d[0] = floats8(s) * half(b->d);
    (void)m;
}

/* 2 s + 1 times unit, of s below 2^31. */
INLINE v8f odd_scales(v8w s, float unit) { return floats8((v8i)(s + s + 1)) * unit; }

INLINE v8w words8(const void *p)
{
    v8w w;

    memcpy(&w, p, sizeof w);
    return w;
}

INLINE void scales_iq2_xxs(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq2_xxs *b = row;
    const v8w rest = __builtin_shufflevector(words8(b->q), words8(b->q + 16), 1, 3, 5, 7, 9, 11, 13, 15);

    d[0] = odd_scales(rest >> 28, 0.125f * half(b->d));
    (void)m;
}

INLINE void scales_iq3_xxs(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq3_xxs *b = row;

    d[0] = odd_scales(words8(b->rest) >> 28, 0.5f * half(b->d));
    (void)m;
}

/* Four bits for each sixteen weights. */
INLINE void scales_of_16(const uint8_t scale[8], float dl, v8f d[2])
{
    v8b s;

    memcpy(&s, scale, sizeof s);
    d[0] = fused8(floats_v8b(s & 15), splat8(2), splat8(1)) * (0.125f * dl);
    d[1] = fused8(floats_v8b(s >> 4), splat8(2), splat8(1)) * (0.125f * dl);
}

INLINE void scales_iq2_xs(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq2_xs *b = row;

    scales_of_16(b->scale, half(b->d), d);
    (void)m;
}

INLINE void scales_iq2_s(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq2_s *b = row;

    scales_of_16(b->scale, half(b->d), d);
    (void)m;
}

INLINE void scales_iq3_s(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq3_s *b = row;
    const v8w low = word(b->scale) - (v8w){ 0 }, four = { 0, 4, 8, 12, 16, 20, 24, 28 };

    d[0] = odd_scales(low >> four & 15, half(b->d));
    (void)m;
}

INLINE void scales_iq1_s(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq1_s *b = row;
    const v8w h = { EACH8(b->h, 0) };

    d[0] = odd_scales(h >> 12 & 7, 0.125f * half(b->d));
    (void)m;
}

INLINE void scales_iq1_m(const void *row, v8f d[2], v8f m[2])
{
    const struct gkv__block_iq1_m *b = row;
    const v8w first = { 0, 6, 16, 22, 0, 6, 16, 22 };
#ifdef __AVX2__                 /* else GCC 12 stores the words and waits for them */
    const __m256i twice = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    const __m256i both = _mm256_castsi128_si256(_mm_loadl_epi64((const void *)b->scale));
    const v8w w = (v8w)_mm256_permutevar8x32_epi32(both, twice);
#else
    const uint32_t lo = word((const uint8_t *)b->scale), hi = word((const uint8_t *)(b->scale + 2));
    const v8w w = { lo, lo, lo, lo, hi, hi, hi, hi };
#endif
    const float dl = 0.125f * scale_iq1_m(b);

    d[0] = odd_scales(w >> first & 7, dl);
    d[1] = odd_scales(w >> (first + 3) & 7, dl);
    (void)m;
}

INLINE void scales_tq1_0(const void *row, v8f d[2], v8f m[2])
{
    d[0] = splat8(half(((const struct gkv__block_tq1_0 *)row)->d));
    (void)m;
}

INLINE void scales_tq2_0(const void *row, v8f d[2], v8f m[2])
{
    d[0] = splat8(half(((const struct gkv__block_tq2_0 *)row)->d));
    (void)m;
}
