/* SPDX-License-Identifier: BSD-2-Clause
 * tile.h - code that products in other arithmetics than f32 share. */

typedef int32_t v8i __attribute__((vector_size(32)));
typedef float v8f __attribute__((vector_size(32)));
typedef v8i v8iu __attribute__((aligned(4), may_alias));

/* AArch64's registers hold four lanes; GCC 12 shuffles and converts wider vectors lane by lane. */
#ifdef __aarch64__
union ints { v8i both; int32x4_t half[2]; };
union floats { v8f both; float32x4_t half[2]; };

INLINE v8f join8(float32x4_t a, float32x4_t b)
{
    const union floats x = { .half = { a, b } };

    return x.both;
}
#endif

INLINE v8f splat8(float x)
{
    return x - (v8f){ 0 };
}

/* As fused, of eight lanes. */
INLINE v8f fused8(v8f a, v8f b, v8f c)
{
#ifdef __aarch64__
    const union floats x = { a }, y = { b }, z = { c };

    return join8(vfmaq_f32(z.half[0], x.half[0], y.half[0]), vfmaq_f32(z.half[1], x.half[1], y.half[1]));
#else
    return (v8f)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
}

INLINE v8f floats8(v8i x)
{
#ifdef __aarch64__
    const union ints a = { x };

    return join8(vcvtq_f32_s32(a.half[0]), vcvtq_f32_s32(a.half[1]));
#else
    return __builtin_convertvector(x, v8f);
#endif
}

INLINE void transpose8(v8i r[8])
{
#ifdef __aarch64__
    int32x4_t in[8][2], out[8][2];

    memcpy(in, r, sizeof in);
    for (int g = 0; g < 2; g++)
        for (int h = 0; h < 2; h++) {
            const int32x4_t a = vzip1q_s32(in[4 * g][h], in[4 * g + 2][h]);
            const int32x4_t b = vzip2q_s32(in[4 * g][h], in[4 * g + 2][h]);
            const int32x4_t c = vzip1q_s32(in[4 * g + 1][h], in[4 * g + 3][h]);
            const int32x4_t d = vzip2q_s32(in[4 * g + 1][h], in[4 * g + 3][h]);

            out[4 * h][g] = vzip1q_s32(a, c);
            out[4 * h + 1][g] = vzip2q_s32(a, c);
            out[4 * h + 2][g] = vzip1q_s32(b, d);
            out[4 * h + 3][g] = vzip2q_s32(b, d);
        }
    memcpy(r, out, sizeof out);
#else
    v8i a[8], b[8];

UNROLL
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
UNROLL
    for (int i = 0; i < 8; i += 4)
UNROLL
        for (int j = 0; j < 2; j++) {
            b[i + j] = __builtin_shufflevector(a[i + j], a[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + j + 2] = __builtin_shufflevector(a[i + j], a[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#endif
}

INLINE vi isplat(int32_t x)
{
    return x - (vi){ 0 };
}

INLINE int32_t four(const uint8_t *p)
{
    int32_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

INLINE vi load_i(const void *p)
{
    vi v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* c[mr][n] (+)= acc, n <= nv * VW outputs of a tile. */
INLINE void tile_store(int mr, int nv, float *c, size_t ldc, vf acc[8][4], size_t n, int add)
{
    if (n == (size_t)nv * VW) {
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) {
                float *p = c + (size_t)r * ldc + (size_t)j * VW;
                store(p, add ? load(p) + acc[r][j] : acc[r][j]);
            }
    } else {
        float buf[8 * 4 * VW];
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                store(buf + r * (nv * VW) + j * VW, acc[r][j]);
        for (int r = 0; r < mr; r++)
            for (size_t j = 0; j < n; j++) {
                float *p = c + (size_t)r * ldc + j;
                *p = add ? *p + buf[(size_t)r * (size_t)(nv * VW) + j] : buf[(size_t)r * (size_t)(nv * VW) + j];
            }
    }
}
