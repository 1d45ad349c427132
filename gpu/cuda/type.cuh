/* SPDX-License-Identifier: BSD-2-Clause
 * type.cuh - tensor types on the device.
 *
 * A file's blocks have odd sizes, so the upload sorts them: the fields of all blocks of a matrix
 * lie in planes, each field behind the same one of the block before, and every load below is
 * aligned.  What a kernel sees of a quantised type is its units: 32 weights as two runs of 16
 * integers that fit in a signed byte, each with x = a * integer + b. */
#ifndef TYPE_CUH
#define TYPE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
extern "C" {
#include "src/quant.h"
}

enum { MAX_PLANES = 4, PLANE_ALIGN = 256 };

struct planes { const uint8_t *p[MAX_PLANES]; };

/* ---- what the host knows ---------------------------------------------------------------- */

/* Of a block in the file.  stored: bytes in the plane, if they are not simply copied. */
struct field { uint16_t at, bytes, stored; };

struct type_row {
    uint32_t  ggml, block, bytes;
    int       type;                             /* enum gkv__type                            */
    int       n_fields;
    field     f[MAX_PLANES];                    /* in the order of planes                    */
};

#define AT(type, member) \
    { offsetof(gkv__block_##type, member), sizeof(((gkv__block_##type *)0)->member), \
      sizeof(((gkv__block_##type *)0)->member) }
#define TO(type, member, bytes) { offsetof(gkv__block_##type, member), bytes, bytes }
/* Scales and minima of two groups, a byte each: a word for each pair of groups. */
#define WORDS(type) { offsetof(gkv__block_##type, scale), 12, 16 }
#define ROW(ggml, block, name, TYPE, n, ...) \
    { ggml, block, sizeof(gkv__block_##name), GKV__TYPE_##TYPE, n, { __VA_ARGS__ } }

static const type_row type_rows[] = {
    { 0, 1, 4, GKV__TYPE_F32, 1, { { 0, 4, 4 } } },
    { 1, 1, 2, GKV__TYPE_F16, 1, { { 0, 2, 2 } } },
    { 30, 1, 2, GKV__TYPE_BF16, 1, { { 0, 2, 2 } } },
    ROW(8, 32, q8_0, Q8_0, 2, AT(q8_0, q), AT(q8_0, d)),
    ROW(2, 32, q4_0, Q4_0, 2, AT(q4_0, q), AT(q4_0, d)),
    ROW(3, 32, q4_1, Q4_1, 2, AT(q4_1, q), TO(q4_1, d, 4)),
    ROW(6, 32, q5_0, Q5_0, 3, AT(q5_0, q), AT(q5_0, h), AT(q5_0, d)),
    ROW(7, 32, q5_1, Q5_1, 3, AT(q5_1, q), AT(q5_1, h), TO(q5_1, d, 4)),
    ROW(10, 256, q2_k, Q2_K, 3, AT(q2_k, q), AT(q2_k, scale), TO(q2_k, d, 4)),
    ROW(11, 256, q3_k, Q3_K, 4, AT(q3_k, q), AT(q3_k, h), AT(q3_k, scale), AT(q3_k, d)),
    ROW(12, 256, q4_k, Q4_K, 3, AT(q4_k, q), TO(q4_k, d, 4), WORDS(q4_k)),
    ROW(13, 256, q5_k, Q5_K, 4, AT(q5_k, q), TO(q5_k, d, 4), WORDS(q5_k), AT(q5_k, h)),
    ROW(14, 256, q6_k, Q6_K, 4, AT(q6_k, q), AT(q6_k, h), AT(q6_k, scale), AT(q6_k, d)),
    ROW(20, 32, iq4_nl, IQ4_NL, 2, AT(iq4_nl, q), AT(iq4_nl, d)),
    ROW(23, 256, iq4_xs, IQ4_XS, 2, AT(iq4_xs, q), TO(iq4_xs, d, 8)),
};

static const type_row *type_of(uint32_t ggml)
{
    for (const type_row &r : type_rows)
        if (r.ggml == ggml)
            return &r;
    return nullptr;
}

__host__ __device__ constexpr bool is_dense(int type)
{
    return type == GKV__TYPE_F32 || type == GKV__TYPE_F16 || type == GKV__TYPE_BF16;
}

/* fn<TYPE>(...) of a run-time type; dense and quantised ones have functions of their own. */
#define FOR_DENSE(type, call)                                                               \
    switch (type) {                                                                         \
    case GKV__TYPE_F32:  { constexpr int T = GKV__TYPE_F32; call; break; }                  \
    case GKV__TYPE_F16:  { constexpr int T = GKV__TYPE_F16; call; break; }                  \
    case GKV__TYPE_BF16: { constexpr int T = GKV__TYPE_BF16; call; break; }                 \
    }
#define FOR_QUANTISED(type, call)                                                           \
    switch (type) {                                                                         \
    case GKV__TYPE_Q8_0:   { constexpr int T = GKV__TYPE_Q8_0; call; break; }               \
    case GKV__TYPE_Q4_0:   { constexpr int T = GKV__TYPE_Q4_0; call; break; }               \
    case GKV__TYPE_Q4_1:   { constexpr int T = GKV__TYPE_Q4_1; call; break; }               \
    case GKV__TYPE_Q5_0:   { constexpr int T = GKV__TYPE_Q5_0; call; break; }               \
    case GKV__TYPE_Q5_1:   { constexpr int T = GKV__TYPE_Q5_1; call; break; }               \
    case GKV__TYPE_Q2_K:   { constexpr int T = GKV__TYPE_Q2_K; call; break; }               \
    case GKV__TYPE_Q3_K:   { constexpr int T = GKV__TYPE_Q3_K; call; break; }               \
    case GKV__TYPE_Q4_K:   { constexpr int T = GKV__TYPE_Q4_K; call; break; }               \
    case GKV__TYPE_Q5_K:   { constexpr int T = GKV__TYPE_Q5_K; call; break; }               \
    case GKV__TYPE_Q6_K:   { constexpr int T = GKV__TYPE_Q6_K; call; break; }               \
    case GKV__TYPE_IQ4_NL: { constexpr int T = GKV__TYPE_IQ4_NL; call; break; }             \
    case GKV__TYPE_IQ4_XS: { constexpr int T = GKV__TYPE_IQ4_XS; call; break; }             \
    }

/* ---- units ------------------------------------------------------------------------------ */

struct unit {
    uint32_t q[8];              /* four integers each: 0 .. 3 the first run, 4 .. 7 the other */
    float    a[2], b[2];
};

/* Units per block, and which runs of 16 of a block make a unit: how far apart its two are. */
__host__ __device__ constexpr int units_of(int type)
{
    return type == GKV__TYPE_Q2_K || type == GKV__TYPE_Q3_K || type == GKV__TYPE_Q4_K ||
           type == GKV__TYPE_Q5_K || type == GKV__TYPE_Q6_K || type == GKV__TYPE_IQ4_XS ? 8 : 1;
}

__host__ __device__ constexpr int apart_of(int type)
{
    return type == GKV__TYPE_Q6_K ? 4
         : units_of(type) == 8 && type != GKV__TYPE_IQ4_XS ? 2 : 1;
}

/* Run of 16 number `run` of a row is half `which` of unit `unit`: with units of runs `apart`
 * apart, 2 * apart runs in a row make `apart` units. */
template <int T> __device__ inline void unit_of_run(uint32_t run, uint32_t *unit, uint32_t *which)
{
    constexpr uint32_t apart = apart_of(T);

    *unit = run / (2 * apart) * apart + run % apart;
    *which = run / apart % 2;
}

template <int T> __device__ inline uint32_t first_run(uint32_t unit)
{
    constexpr uint32_t apart = apart_of(T);

    return unit / apart * 2 * apart + unit % apart;
}

/* Weights are read once: they need no place in the first cache. */
__device__ inline uint4 load16(const uint8_t *p)
{
    uint4 v;

    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

__device__ inline uint4 load16_shared_by_lanes(const uint8_t *p)
{
    return __ldg((const uint4 *)p);
}

__device__ inline float low_half(uint32_t v)
{
    return __half2float(__ushort_as_half((uint16_t)v));
}

__device__ inline float high_half(uint32_t v)
{
    return __half2float(__ushort_as_half((uint16_t)(v >> 16)));
}

__device__ inline void nibbles(const uint4 &v, unit &u)
{
    const uint32_t w[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
    for (int i = 0; i < 4; i++) {
        u.q[i] = w[i] & 0x0f0f0f0f;
        u.q[4 + i] = w[i] >> 4 & 0x0f0f0f0f;
    }
}

/* Bits 0 .. 3 to bit 4 of a byte each. */
__device__ inline uint32_t fifth_bits(uint32_t bits)
{
    return (bits & 15) * 0x00204081 & 0x01010101;
}

/* Four nibbles of the low half of v through the table of unequal steps. */
__device__ inline uint32_t steps(uint32_t v)
{
    /* -127 -104 -83 -65 | -49 -35 -22 -10 | 1 13 25 38 | 53 69 89 113 */
    const uint32_t low = __byte_perm(0xbfad9881, 0xf6eaddcf, v & 0x7777);
    const uint32_t high = __byte_perm(0x26190d01, 0x71594535, v & 0x7777);

    return __byte_perm(low, high, (v & 0x8888) >> 1 | 0x3210);
}

__device__ inline void unequal(const uint4 &v, unit &u)
{
    const uint32_t w[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t a = steps(w[i]), b = steps(w[i] >> 16);

        u.q[i] = __byte_perm(a, b, 0x6420);
        u.q[4 + i] = __byte_perm(a, b, 0x7531);
    }
}

__device__ inline void same(unit &u, float a, float b)
{
    u.a[0] = u.a[1] = a;
    u.b[0] = u.b[1] = b;
}

__device__ inline uint32_t byte_of(uint32_t v, uint32_t i)
{
    return v >> 8 * i & 255;
}

/* f times byte i of word: the byte becomes the last one of 2^23 as a float, which costs less than
 * a conversion.  less is -2^23 f, so nothing is rounded twice. */
__device__ inline float times_byte(float f, float less, uint32_t word, uint32_t i)
{
    return fmaf(f, __uint_as_float(__byte_perm(word, 0x4b000000, 0x7440 | i)), less);
}

/* d and dmin of q4_k and q5_k, and a word of WORDS. */
__device__ inline void scales_k(uint32_t d, uint32_t word, unit &u)
{
    const float a = low_half(d), b = -high_half(d), less_a = -8388608 * a, less_b = -8388608 * b;

#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        u.a[i] = times_byte(a, less_a, word, i);
        u.b[i] = times_byte(b, less_b, word, 2 + i);
    }
}

/* What a unit is made from, as it lies in memory: members that a type does not have cost
 * nothing. */
struct raw_unit { uint4 q, h, s; };

__device__ inline uint32_t load2(const uint8_t *p)
{
    return __ldg((const uint16_t *)p);
}

__device__ inline uint32_t load4(const uint8_t *p)
{
    return __ldg((const uint32_t *)p);
}

/* Unit n of a matrix. */
template <int T> __device__ inline void load_unit(const planes &w, uint32_t n, raw_unit &r)
{
    const uint32_t i = n % units_of(T);
    const size_t block = n / units_of(T);

    if constexpr (T == GKV__TYPE_Q8_0) {
        r.q = load16(w.p[0] + block * 32);
        r.h = load16(w.p[0] + block * 32 + 16);
        r.s.x = load2(w.p[1] + block * 2);
    } else if constexpr (T == GKV__TYPE_Q4_0 || T == GKV__TYPE_IQ4_NL) {
        r.q = load16(w.p[0] + block * 16);
        r.s.x = load2(w.p[1] + block * 2);
    } else if constexpr (T == GKV__TYPE_Q4_1) {
        r.q = load16(w.p[0] + block * 16);
        r.s.x = load4(w.p[1] + block * 4);
    } else if constexpr (T == GKV__TYPE_Q5_0 || T == GKV__TYPE_Q5_1) {
        r.q = load16(w.p[0] + block * 16);
        r.h.x = load4(w.p[1] + block * 4);
        r.s.x = T == GKV__TYPE_Q5_0 ? load2(w.p[2] + block * 2) : load4(w.p[2] + block * 4);
    } else if constexpr (T == GKV__TYPE_IQ4_XS) {
        const uint2 s = __ldg((const uint2 *)(w.p[1] + block * 8));

        r.q = load16(w.p[0] + (size_t)n * 16);
        r.s.x = s.x;
        r.s.y = s.y;
    } else if constexpr (T == GKV__TYPE_Q4_K) {
        r.q = load16(w.p[0] + (size_t)n * 16);
        r.s.x = load4(w.p[1] + block * 4);
        r.s.y = load4(w.p[2] + (size_t)(n / 2) * 4);
    } else if constexpr (T == GKV__TYPE_Q5_K) {
        r.q = load16(w.p[0] + (size_t)n * 16);
        r.s.x = load4(w.p[1] + block * 4);
        r.s.y = load4(w.p[2] + (size_t)(n / 2) * 4);
        r.h = load16_shared_by_lanes(w.p[3] + block * 32 + i % 2 * 16);
    } else if constexpr (T == GKV__TYPE_Q6_K) {
        const uint8_t *scale = w.p[2] + block * 16 + i / 4 * 8 + i % 4;

        r.q = load16(w.p[0] + (size_t)n * 16);
        r.h = load16_shared_by_lanes(w.p[1] + block * 64 + i / 4 * 32 + i % 2 * 16);
        r.s.x = load2(w.p[3] + block * 2);
        r.s.y = __ldg(scale) | (uint32_t)__ldg(scale + 4) << 8;
    } else if constexpr (T == GKV__TYPE_Q2_K) {
        const uint8_t *scale = w.p[1] + block * 16 + i / 4 * 8 + i % 4 / 2 * 4 + i % 2;

        r.q = load16_shared_by_lanes(w.p[0] + block * 64 + i / 4 * 32 + i % 2 * 16);
        r.s.x = load4(w.p[2] + block * 4);
        r.s.y = __ldg(scale) | (uint32_t)__ldg(scale + 2) << 8;
    } else {                                    /* q3_k: quant-q3_k.c has the scales */
        const uint8_t *p = w.p[2] + block * 12;
        const uint32_t s = i / 4 * 8 + i % 4 / 2 * 4 + i % 2;

        r.q = load16_shared_by_lanes(w.p[0] + block * 64 + i / 4 * 32 + i % 2 * 16);
        r.h = load16_shared_by_lanes(w.p[1] + block * 32 + i % 2 * 16);
        r.s.x = load2(w.p[3] + block * 2);
        r.s.y = (__ldg(p + s % 8) >> s / 8 * 4 & 15) | (__ldg(p + 8 + s % 4) >> s / 4 * 2 & 3) << 4 |
                (__ldg(p + (s + 2) % 8) >> s / 8 * 4 & 15) << 8 |
                (__ldg(p + 8 + (s + 2) % 4) >> (s + 2) / 4 * 2 & 3) << 12;
    }
}

template <int T> __device__ inline void unpack_unit(const raw_unit &r, uint32_t i, unit &u)
{
    const uint32_t q[4] = { r.q.x, r.q.y, r.q.z, r.q.w }, h[4] = { r.h.x, r.h.y, r.h.z, r.h.w };

    if constexpr (T == GKV__TYPE_Q8_0) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] = q[j];
            u.q[4 + j] = h[j];
        }
        same(u, low_half(r.s.x), 0);
    } else if constexpr (T == GKV__TYPE_Q4_0) {
        nibbles(r.q, u);
        same(u, low_half(r.s.x), -8 * low_half(r.s.x));
    } else if constexpr (T == GKV__TYPE_Q4_1) {
        nibbles(r.q, u);
        same(u, low_half(r.s.x), high_half(r.s.x));
    } else if constexpr (T == GKV__TYPE_Q5_0 || T == GKV__TYPE_Q5_1) {
        const float d = low_half(r.s.x);

        nibbles(r.q, u);
#pragma unroll
        for (int j = 0; j < 8; j++)
            u.q[j] |= fifth_bits(h[0] >> 4 * j) << 4;
        same(u, d, T == GKV__TYPE_Q5_0 ? -16 * d : high_half(r.s.x));
    } else if constexpr (T == GKV__TYPE_IQ4_NL) {
        unequal(r.q, u);
        same(u, low_half(r.s.x), 0);
    } else if constexpr (T == GKV__TYPE_IQ4_XS) {
        const uint32_t low = byte_of(r.s.y, i / 2) >> i % 2 * 4 & 15, high = r.s.x >> (16 + 2 * i) & 3;

        unequal(r.q, u);
        same(u, low_half(r.s.x) * (float)((int)(low | high << 4) - 32), 0);
    } else if constexpr (T == GKV__TYPE_Q4_K) {
        nibbles(r.q, u);
        scales_k(r.s.x, r.s.y, u);
    } else if constexpr (T == GKV__TYPE_Q5_K) {
        const uint32_t s = i / 2 * 2;

        nibbles(r.q, u);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] |= (h[j] >> s & 0x01010101) << 4;
            u.q[4 + j] |= (h[j] >> (s + 1) & 0x01010101) << 4;
        }
        scales_k(r.s.x, r.s.y, u);
    } else if constexpr (T == GKV__TYPE_Q6_K) {
        const uint32_t shift = i % 4 / 2 * 2;

        nibbles(r.q, u);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] |= (h[j] >> shift & 0x03030303) << 4;
            u.q[4 + j] |= (h[j] >> (shift + 4) & 0x03030303) << 4;
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            u.a[j] = low_half(r.s.x) * (float)(int8_t)(r.s.y >> 8 * j);
            u.b[j] = -32 * u.a[j];
        }
    } else {                                    /* q2_k, q3_k */
        const uint32_t c = i % 4 / 2 * 2;

#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] = q[j] >> 2 * c & 0x03030303;
            u.q[4 + j] = q[j] >> (2 * c + 2) & 0x03030303;
        }
        if constexpr (T == GKV__TYPE_Q2_K) {
#pragma unroll
            for (uint32_t j = 0; j < 2; j++) {
                u.a[j] = low_half(r.s.x) * (float)(byte_of(r.s.y, j) & 15);
                u.b[j] = -high_half(r.s.x) * (float)(byte_of(r.s.y, j) >> 4);
            }
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                u.q[j] |= (h[j] >> (i / 4 * 4 + c) & 0x01010101) << 2;
                u.q[4 + j] |= (h[j] >> (i / 4 * 4 + c + 1) & 0x01010101) << 2;
            }
#pragma unroll
            for (uint32_t j = 0; j < 2; j++) {
                u.a[j] = low_half(r.s.x) * (float)((int)byte_of(r.s.y, j) - 32);
                u.b[j] = -4 * u.a[j];
            }
        }
    }
}

template <int T> __device__ inline void get(const planes &w, uint32_t n, unit &u)
{
    raw_unit r = {};

    load_unit<T>(w, n, r);
    unpack_unit<T>(r, n % units_of(T), u);
}

/* Element i of four in a word: signed for the types that have signs. */
template <int T> __device__ inline float element(uint32_t word, int i)
{
    return (float)(int8_t)(word >> 8 * i);
}

/* ---- dense ------------------------------------------------------------------------------ */

template <int T> struct dense;
template <> struct dense<GKV__TYPE_F32>  { enum { PER = 4, BYTES = 4 }; };
template <> struct dense<GKV__TYPE_F16>  { enum { PER = 8, BYTES = 2 }; };
template <> struct dense<GKV__TYPE_BF16> { enum { PER = 8, BYTES = 2 }; };

/* The weights of 16 bytes. */
template <int T> __device__ inline void widen(const uint4 &v, float *out)
{
    const uint32_t w[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
    for (int i = 0; i < 4; i++) {
        if constexpr (T == GKV__TYPE_F32) {
            out[i] = __uint_as_float(w[i]);
        } else if constexpr (T == GKV__TYPE_F16) {
            out[2 * i] = low_half(w[i]);
            out[2 * i + 1] = high_half(w[i]);
        } else {
            out[2 * i] = __uint_as_float(w[i] << 16);
            out[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000);
        }
    }
}

#endif
