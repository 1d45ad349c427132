/* SPDX-License-Identifier: BSD-2-Clause
 * formats.h - blocks of each tensor type to floats, and their product with floats. */

static void FN(unpack_f16)(const void *src, float *dst, size_t n)
{
    const uint16_t *p = src;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(dst + i, from_f16(*(const vhu *)(p + i)));
    for (; i < n; i++)
        dst[i] = half(p[i]);
}

INLINE vf from_bf16(vh h)
{
    return (vf)(__builtin_convertvector(h, vu) << 16);
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

INLINE vf from_i8(const int8_t *p)
{
    return __builtin_convertvector(*(const vbu *)p, vf);
}

static void FN(unpack_q8_0)(const void *src, float *dst, size_t n)
{
    const struct gkv__block_q8_0 *b = src;

    for (size_t i = 0; i < n; i += 32, b++) {
        float d = half(b->d);
        for (int j = 0; j < 32; j += VW)
            store(dst + i + j, from_i8(b->q + j) * d);
    }
}

/* Sixteen bytes of nibbles as 32 signed bytes in element order. */
INLINE void nibbles(const struct gkv__block_q4_0 *b, int8_t q[32])
{
    typedef uint8_t b16 __attribute__((vector_size(16)));
    typedef uint8_t b16u __attribute__((vector_size(16), aligned(1), may_alias));
    b16 x = *(const b16u *)b->q;

    *(b16u *)q = (x & 15) - 8;
    *(b16u *)(q + 16) = (x >> 4) - 8;
}

static void FN(unpack_q4_0)(const void *src, float *dst, size_t n)
{
    const struct gkv__block_q4_0 *b = src;
    int8_t q[32];

    for (size_t i = 0; i < n; i += 32, b++) {
        float d = half(b->d);
        nibbles(b, q);
        for (int j = 0; j < 32; j += VW)
            store(dst + i + j, from_i8(q + j) * d);
    }
}

static float FN(dot_f32)(const void *w, const float *x, size_t n)
{
    const float *p = w;
    vf s[4] = { { 0 } };
    size_t i = 0;
    float tail = 0;

    for (; i + 4 * VW <= n; i += 4 * VW)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            s[j] += load(p + i + j * VW) * load(x + i + j * VW);
    for (; i + VW <= n; i += VW)
        s[0] += load(p + i) * load(x + i);
    for (; i < n; i++)
        tail += p[i] * x[i];
    return vsum((s[0] + s[1]) + (s[2] + s[3])) + tail;
}

#define DOT16(name, conv)                                                                   \
    static float FN(name)(const void *w, const float *x, size_t n)                          \
    {                                                                                       \
        const uint16_t *p = w;                                                              \
        vf s[4] = { { 0 } };                                                                \
        size_t i = 0;                                                                       \
        float tail = 0;                                                                     \
                                                                                            \
        for (; i + 4 * VW <= n; i += 4 * VW)                                                \
            _Pragma("GCC unroll 4")                                                         \
            for (int j = 0; j < 4; j++)                                                     \
                s[j] += conv(*(const vhu *)(p + i + j * VW)) * load(x + i + j * VW);        \
        for (; i + VW <= n; i += VW)                                                        \
            s[0] += conv(*(const vhu *)(p + i)) * load(x + i);                              \
        for (; i < n; i++)                                                                  \
            tail += conv((vh){ p[i] })[0] * x[i];                                           \
        return vsum((s[0] + s[1]) + (s[2] + s[3])) + tail;                                  \
    }
DOT16(dot_f16, from_f16)
DOT16(dot_bf16, from_bf16)

static float FN(dot_q8_0)(const void *w, const float *x, size_t n)
{
    const struct gkv__block_q8_0 *b = w;
    vf s[2] = { { 0 } };

    for (size_t i = 0; i < n; i += 32, b++) {
        vf t[2] = { { 0 } };
        for (int j = 0; j < 32; j += 2 * VW) {
            t[0] += from_i8(b->q + j) * load(x + i + j);
            t[1] += from_i8(b->q + j + VW) * load(x + i + j + VW);
        }
        s[i / 32 % 2] += (t[0] + t[1]) * half(b->d);
    }
    return vsum(s[0] + s[1]);
}

static float FN(dot_q4_0)(const void *w, const float *x, size_t n)
{
    const struct gkv__block_q4_0 *b = w;
    vf s[2] = { { 0 } };
    int8_t q[32];

    for (size_t i = 0; i < n; i += 32, b++) {
        vf t[2] = { { 0 } };
        nibbles(b, q);
        for (int j = 0; j < 32; j += 2 * VW) {
            t[0] += from_i8(q + j) * load(x + i + j);
            t[1] += from_i8(q + j + VW) * load(x + i + j + VW);
        }
        s[i / 32 % 2] += (t[0] + t[1]) * half(b->d);
    }
    return vsum(s[0] + s[1]);
}
