/* SPDX-License-Identifier: BSD-2-Clause
 * vec.h - vectors of the level's width, and the basic functions that all kernels use. */

#ifndef GKV__VEC_H
#define GKV__VEC_H

#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, SUFFIX)
#define INLINE static inline __attribute__((always_inline))

/* Goes before loops over accumulators, whose trip counts are constants: if they are not unrolled, the
 * accumulators are in memory.  Each compiler ignores the other's pragma. */
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { NR = NV * VW, LANES = ANV * VW };

typedef float   vf __attribute__((vector_size(VW * 4)));
typedef int32_t vi __attribute__((vector_size(VW * 4)));
typedef int32_t viu __attribute__((vector_size(VW * 4), aligned(4), may_alias));
typedef float   vfu __attribute__((vector_size(VW * 4), aligned(4), may_alias));
typedef int8_t  vb __attribute__((vector_size(VW)));
typedef uint8_t vub __attribute__((vector_size(VW)));
typedef int8_t  vbu __attribute__((vector_size(VW), aligned(1), may_alias));
typedef int16_t vs __attribute__((vector_size(VW * 2)));
typedef uint16_t vh __attribute__((vector_size(VW * 2)));
typedef uint16_t vhu __attribute__((vector_size(VW * 2), aligned(2), may_alias));
typedef uint32_t vu __attribute__((vector_size(VW * 4)));

/* The lanes of v one by one.  GCC 12 turns an initializer of them into the one instruction that widens
 * them, but __builtin_convertvector into scalar code or two halves. */
#define EACH8(v, i) v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5], v[i + 6], v[i + 7]
#if VW == 16
#define EACH(v) EACH8(v, 0), EACH8(v, 8)
#elif VW == 8
#define EACH(v) EACH8(v, 0)
#else
#define EACH(v) v[0], v[1], v[2], v[3]
#endif

/* Row o of a band and the row that is computed with it, which may be the same. */
struct pair { size_t at[2]; const uint8_t *row[2]; };

INLINE struct pair pair_of(const struct gkv__band *w, size_t o)
{
    const size_t half = gkv__band_most(w->n_out), other = o + half < w->n_out ? o + half : o;
    const uint8_t *rows = w->w;

    return (struct pair){ { o, other }, { rows + o * w->stride, rows + other * w->stride } };
}

INLINE void put_pair(float *y, struct pair p, const float sum[2], int add)
{
    y[p.at[0]] = add ? y[p.at[0]] + sum[0] : sum[0];
    if (p.at[1] != p.at[0])
        y[p.at[1]] = add ? y[p.at[1]] + sum[1] : sum[1];
}

/* Prefetches n bytes of each row, `ahead` bytes after those read now, into the second-level cache or, if `near`, the first. */
INLINE void fetch_pair(const uint8_t *const row[2], size_t n, size_t ahead, int near)
{
#pragma GCC unroll 8
    for (size_t line = 0; line < n; line += 64)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++)
            if (near)
                __builtin_prefetch(row[k] + ahead + line, 0, 3);
            else
                __builtin_prefetch(row[k] + ahead + line, 0, 2);
}

INLINE vf load(const float *p) { return *(const vfu *)p; }
INLINE void store(float *p, vf v) { *(vfu *)p = v; }

/* A multiply-add of AArch64 takes its scalar from one lane, and loading one lane costs
 * nothing else.  Loading all lanes (LD1R), which GCC prefers where the address allows
 * it, takes a slot of a multiplier on many cores (Cortex-A72, A76, Neoverse N1). */
INLINE float one_lane(float x)
{
#ifdef __aarch64__
    __asm__("" : "+w"(x));
#endif
    return x;
}

INLINE vf splat(float x) { return x - (vf){ 0 }; }

/* a * b + c, rounded once.  A level is compiled with -ffp-contract=off, so that only these are.  A compiler that may choose
 * rounds the product, too, in one copy of a function and not in the other, and rows that are computed together are not the
 * bytes of one alone: clang 14 did so, gcc 13 where it joined two rows, and gcc 14, which for no processor in particular
 * avoids a chain of 256-bit FMA, where one row is a single chain. */
INLINE vf fused(vf a, vf b, vf c)
{
#if VW == 16 && defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VW == 16                  /* tests/wide.c */
    __m256 x[2], y[2], z[2];

    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    memcpy(z, &c, sizeof z);
    z[0] = _mm256_fmadd_ps(x[0], y[0], z[0]);
    z[1] = _mm256_fmadd_ps(x[1], y[1], z[1]);
    memcpy(&c, z, sizeof c);
    return c;
#elif VW == 8
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif
}

INLINE float fused1(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

INLINE vf pick(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }

/* If one is NaN, the second. */
INLINE vf vmax(vf a, vf b)
{
#if VW == 16 && defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return pick(a > b, a, b);
#endif
}

INLINE float vsum(vf v)
{
#if VW == 4 && defined(__aarch64__)
    return vaddvq_f32(v);
#else
    float lane[VW], sum = 0;

    store(lane, v);
    for (int w = VW / 2; w > 0; w /= 2)         /* pairwise: smaller error than in order */
        for (int i = 0; i < w; i++)
            lane[i] += lane[i + w];
    sum = lane[0];
    return sum;
#endif
}

/* 1 / x to 1 ulp, for x in [2^-100, 2^126].  AVX-512 has an estimate to 2^-14, and dividing takes 16 cycles. */
INLINE vf inverse(vf x)
{
#if VW == 16 && defined(__AVX512F__)
    const vf r = (vf)_mm512_rcp14_ps((__m512)x);

    return fused(r, (vf)_mm512_fnmadd_ps((__m512)x, (__m512)r, _mm512_set1_ps(1)), r);
#else
    return 1.0f / x;
#endif
}

typedef vf near_0_fn(vf f);

/* 2^f for f in [-1/2, 1/2] with an error of 1.5 ulp: degree 6 by interpolation at Chebyshev points. */
INLINE vf exp2_near_0(vf f)
{
    vf p = splat(0.00015337577497120947f);

    p = fused(p, f, splat(0.0013399859890341759f));
    p = fused(p, f, splat(0.009618519805371761f));
    p = fused(p, f, splat(0.05550329014658928f));
    p = fused(p, f, splat(0.24022646248340607f));
    p = fused(p, f, splat(0.6931471824645996f));
    return fused(p, f, splat(1.0f));
}

/* 2^x, as accurate as near_0, for x in [-126, 126]; 0 below and for NaN, 2^126 above.  Cody-Waite
 * split at the nearest integer. */
INLINE vf vexp2_by(near_0_fn *near_0, vf x)
{
#if VW == 16 && defined(__AVX512F__)
    const __m512 y = _mm512_min_ps((__m512)x, _mm512_set1_ps(126.0f));
    const __m512 r = _mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT);

    return (vf)_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-126.0f), _CMP_GE_OQ),
                                      (__m512)near_0((vf)(y - r)), r);
#else
    const vf magic = splat(12582912.0f);        /* 1.5 * 2^23: adding it rounds to integers */
    vi ok = x >= -126.0f;
    vf y, r;

    y = pick(x > 126.0f, splat(126.0f), x);
    y = pick(ok, y, splat(-126.0f));
    r = y + magic;
    return (vf)(((vi)near_0(y - (r - magic)) + ((vi)r << 23)) & ok);
#endif
}

INLINE vf vexp2(vf x) { return vexp2_by(exp2_near_0, x); }

/* tanh with an error of 4 ulp.  Near 0, where 1 - 2 / (e^2x + 1) would cancel: x times a polynomial of
 * degree 5 in x^2 by interpolation at Chebyshev points of [0, 0.55^2]. */
INLINE vf vtanh(vf x)
{
    const vi sign = (vi)x & INT32_MIN;
    const vf a = (vf)((vi)x ^ sign), z = x * x;
    vf far = 1.0f - 2.0f / (vexp2(a * 2.88539008177792681f) + 1.0f), p;

    p = splat(-0.006233633495867252f);
    p = fused(p, z, splat(0.02103821560740471f));
    p = fused(p, z, splat(-0.053842321038246155f));
    p = fused(p, z, splat(0.13332456350326538f));
    p = fused(p, z, splat(-0.3333331048488617f));
    p = fused(p, z, splat(1.0f));
    return pick(a < 0.55f, x * p, (vf)((vi)far | sign));
}

/* binary16 to binary32, where no instruction does it, by shifting the exponent into place (the
 * sign falls into its own place) and scaling: exact, even for subnormals; only infinity and NaN need a
 * corrected exponent. */
INLINE vf from_f16(vh h)
{
#if VW == 16 && defined(__AVX512F__)
    return (vf)_mm512_cvtph_ps((__m256i)h);
#elif VW == 8 && defined(__F16C__)
    return (vf)_mm256_cvtph_ps((__m128i)h);
#elif VW == 4 && defined(__aarch64__)
    return vcvt_f32_f16((float16x4_t)h);
#else
    vs t = (vs)h;
    vi w = { EACH(t) };
    vi bits = w << 13 & (int32_t)0x8fffe000, inf = (bits & 0x0f800000) == 0x0f800000;
    vf f = (vf)bits * 0x1p112f;

    return (vf)((vi)f | (inf & 0x7f800000));
#endif
}

INLINE vf from_bf16(vh h)
{
    vu x = { EACH(h) };

    return (vf)(x << 16);
}

INLINE vf from_i8(const int8_t *q)
{
#if VW == 4 && defined(__aarch64__)
    int32_t four;

    memcpy(&four, q, sizeof four);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8((int8x8_t)(int32x2_t){ four }))));
#else
    vb t = *(const vbu *)q;
    vi x = { EACH(t) };

    return __builtin_convertvector(x, vf);
#endif
}

INLINE float half(uint16_t h)
{
#ifdef __F16C__
    return _cvtsh_ss(h);
#elif defined(__aarch64__)
    __fp16 f;

    memcpy(&f, &h, sizeof f);
    return (float)f;
#else
    uint32_t bits = (uint32_t)(int16_t)h << 13 & 0x8fffe000;
    float f;

    memcpy(&f, &bits, sizeof f);
    f *= 0x1p112f;
    if (__builtin_expect((h & 0x7c00) == 0x7c00, 0)) {
        memcpy(&bits, &f, sizeof f);
        bits |= 0x7f800000;
        memcpy(&f, &bits, sizeof f);
    }
    return f;
#endif
}

#endif
