/* SPDX-License-Identifier: BSD-2-Clause
 * formats.h - conversion of each tensor type to floats, and products with floats. */

static void FN(unpack_f16)(const void *src, float *dst, size_t n)
{
    const uint16_t *p = src;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(dst + i, from_f16(*(const vhu *)(p + i)));
    for (; i < n; i++)
        dst[i] = half(p[i]);
}

static void FN(unpack_bf16)(const void *src, float *dst, size_t n)
{
    const uint16_t *p = src;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(dst + i, from_bf16(*(const vhu *)(p + i)));
    for (; i < n; i++)
        dst[i] = from_bf16((vh){ p[i] })[0];
}

INLINE void unpack_group(float *dst, v32 u, const float d[2], const float m[2], int min)
{
    int8_t q[32];

    *(v32u *)q = u;
#pragma GCC unroll 8
    for (size_t j = 0; j < 32; j += VW) {
        vf w = from_i8(q + j), scale = splat(d[j / 16]);
        store(dst + j, min ? fused(w, scale, splat(m[j / 16])) : w * scale);
    }
}

#define UNPACK(TYPE, name, ...)                                                             \
    static void FN(unpack_##name)(const void *restrict src, float *restrict dst, size_t n)  \
    {                                                                                       \
        const struct gkv__block_##name *b = src;                                            \
                                                                                            \
        for (size_t k = 0; k < n; k += BLOCK_##name, b++)                                   \
            _Pragma("GCC unroll 8")                                                         \
            for (size_t i = 0; i < BLOCK_##name / 32; i++) {                                \
                float d[2], m[2];                                                           \
                v32 u = bytes_##name(b, i, d, m);                                           \
                unpack_group(dst + k + 32 * i, u - OFF_##name, d, m, MIN_##name);           \
            }                                                                               \
    }
GKV__BYTE_TYPES(UNPACK)

/* dot: one row.  dots: two rows at a time; each row's sums are those of dot.  No prefetching: 1 KB ahead is 0.95 to 1.04
 * times as fast (Zen 4). */
#define FLOATS(name, type, conv)                                                            \
    INLINE void rows_##name(float *y, const type *const *w, const float *x, size_t n, int rows) \
    {                                                                                       \
        vf s[2][4] = { 0 };                                                                 \
        float tail[2] = { 0 };                                                              \
        size_t i = 0;                                                                       \
                                                                                            \
        for (; i + 4 * VW <= n; i += 4 * VW)                                                \
            UNROLL                                                                          \
            for (int j = 0; j < 4; j++)                                                     \
                UNROLL                                                                      \
                for (int k = 0; k < rows; k++)                                              \
                    s[k][j] = fused(conv(w[k] + i + j * VW), load(x + i + j * VW), s[k][j]); \
        for (; i + VW <= n; i += VW)                                                        \
            UNROLL                                                                          \
            for (int k = 0; k < rows; k++)                                                  \
                s[k][0] = fused(conv(w[k] + i), load(x + i), s[k][0]);                      \
        for (; i < n; i++)                                                                  \
            for (int k = 0; k < rows; k++)                                                  \
                tail[k] = fused1(one_##name(w[k][i]), x[i], tail[k]);                       \
        UNROLL                                                                              \
        for (int k = 0; k < rows; k++)                                                      \
            y[k] = vsum((s[k][0] + s[k][1]) + (s[k][2] + s[k][3])) + tail[k];               \
    }                                                                                       \
                                                                                            \
    static float FN(dot_##name)(const void *w, const float *x, size_t n)                    \
    {                                                                                       \
        const type *row = w;                                                                \
        float y;                                                                            \
                                                                                            \
        rows_##name(&y, &row, x, n, 1);                                                     \
        return y;                                                                           \
    }                                                                                       \
                                                                                            \
    static void FN(dots_##name)(float *y, const struct gkv__band *w, const void *x, size_t n, int add) \
    {                                                                                       \
        for (size_t o = w->from; o < w->to; o++) {                                          \
            const struct pair r = pair_of(w, o);                                            \
            const type *const row[2] = { (const void *)r.row[0], (const void *)r.row[1] };  \
            float sum[2];                                                                   \
                                                                                            \
            rows_##name(sum, row, x, n, 2);                                                 \
            put_pair(y, r, sum, add);                                                       \
        }                                                                                   \
    }

#define one_f32(w)   (w)
#define one_f16(w)   half(w)
#define one_bf16(w)  from_bf16((vh){ w })[0]
#define load_f16(p)  from_f16(*(const vhu *)(p))
#define load_bf16(p) from_bf16(*(const vhu *)(p))
FLOATS(f32, float, load)
FLOATS(f16, uint16_t, load_f16)
FLOATS(bf16, uint16_t, load_bf16)

/* With minima every weight is computed, since the sums of d * u * x and of m * x may be large where their
 * difference is not; without minima, the scale is applied to the sum of its group. */
INLINE void dot_group(vf s[2], v32 u, const float *x, const float d[2], const float m[2],
                      int min, int halves, size_t odd)
{
    vf t[2] = { { 0 } };
    int8_t q[32];

    *(v32u *)q = u;
#pragma GCC unroll 8
    for (size_t j = 0; j < 32; j += VW)
        if (min)
            s[j / VW % 2] = fused(fused(from_i8(q + j), splat(d[j / 16]), splat(m[j / 16])), load(x + j),
                                  s[j / VW % 2]);
        else
            t[j / 16] = fused(from_i8(q + j), load(x + j), t[j / 16]);
    if (!min && halves) {
        s[0] = fused(t[0], splat(d[0]), s[0]);
        s[1] = fused(t[1], splat(d[1]), s[1]);
    } else if (!min) {
        s[odd] = fused(t[0] + t[1], splat(d[0]), s[odd]);
    }
}

#define DOT(TYPE, name, ...)                                                                \
    static float FN(dot_##name)(const void *w, const float *x, size_t n)                    \
    {                                                                                       \
        const struct gkv__block_##name *b = w;                                              \
        vf s[2] = { { 0 } };                                                                \
                                                                                            \
        for (size_t k = 0; k < n; k += BLOCK_##name, b++)                                   \
            _Pragma("GCC unroll 8")                                                         \
            for (size_t i = 0; i < BLOCK_##name / 32; i++) {                                \
                float d[2], m[2];                                                           \
                v32 u = bytes_##name(b, i, d, m);                                           \
                dot_group(s, u - OFF_##name, x + k + 32 * i, d, m, MIN_##name,              \
                          HALVES_##name, i % 2);                                            \
            }                                                                               \
        return vsum(s[0] + s[1]);                                                           \
    }
GKV__BYTE_TYPES(DOT)
