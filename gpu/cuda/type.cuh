/* SPDX-License-Identifier: BSD-2-Clause
 * type.cuh - tensor types on the device.
 *
 * A file's blocks have odd sizes, so the upload sorts them into planes: each plane has one field of
 * all blocks of a matrix, in order, and every load below is aligned.  Kernels see a quantised type
 * as units: 32 weights in two runs of 16 integers that fit in a signed byte, each run with
 * x = a * integer + b. */
#ifndef TYPE_CUH
#define TYPE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
extern "C" {
#include "src/quant/quant.h"
}

enum { MAX_PLANES = 4, PLANE_ALIGN = 256 };

struct planes { const uint8_t *p[MAX_PLANES]; };

/* ---- for the host ----------------------------------------------------------------        */

/* How a field of a block is stored in its plane: sort.cuh has those that are not simply copied. */
enum sorted { COPIED, BYTES, SCALES_K, HIGH_Q6, SCALES_Q6 };

/* A field's offset and bytes in a block of the file, and its bytes in the plane. */
struct field { uint16_t at, bytes, stored; sorted how; };

struct fields { int n; field f[MAX_PLANES]; };  /* in the order of planes                    */

struct type_row {
    uint32_t  ggml, block, bytes;
    int       type;                             /* enum gkv__type                            */
    fields    plane;
};

#define AT(type, member) \
    { offsetof(gkv__block_##type, member), sizeof(((gkv__block_##type *)0)->member), \
      sizeof(((gkv__block_##type *)0)->member), COPIED }
#define TO(type, member, bytes) { offsetof(gkv__block_##type, member), bytes, bytes, COPIED }
#define AS(type, member, bytes, stored, how) { offsetof(gkv__block_##type, member), bytes, stored, how }

__host__ __device__ constexpr bool is_dense(int type)
{
    return type == GKV__TYPE_F32 || type == GKV__TYPE_F16 || type == GKV__TYPE_BF16;
}

/* Forms of the operands of products; quantised weights are converted to one. */
enum form { FORM_F32, FORM_F16, FORM_BF16, N_FORMS };

/* ---- units ------------------------------------------------------------------------------ */

struct unit {
    uint32_t q[8];              /* four integers each: 0 .. 3 the first run, 4 .. 7 the other */
    float    a[2], b[2];
};

__device__ inline float low_half(uint32_t v)
{
    return __half2float(__ushort_as_half((uint16_t)v));
}

__device__ inline float high_half(uint32_t v)
{
    return __half2float(__ushort_as_half((uint16_t)(v >> 16)));
}

__device__ inline void nibbles(const uint32_t *v, unit &u)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u.q[i] = v[i] & 0x0f0f0f0f;
        u.q[4 + i] = v[i] >> 4 & 0x0f0f0f0f;
    }
}

/* Spreads bits 0 .. 3 to the lowest bit of a byte each. */
__device__ inline uint32_t fifth_bits(uint32_t bits)
{
    return (bits & 15) * 0x00204081 & 0x01010101;
}

/* Maps the four nibbles of the low half of v through the table of unequal steps. */
__device__ inline uint32_t steps(uint32_t v)
{
    /* -127 -104 -83 -65 | -49 -35 -22 -10 | 1 13 25 38 | 53 69 89 113 */
    const uint32_t low = __byte_perm(0xbfad9881, 0xf6eaddcf, v & 0x7777);
    const uint32_t high = __byte_perm(0x26190d01, 0x71594535, v & 0x7777);

    return __byte_perm(low, high, (v & 0x8888) >> 1 | 0x3210);
}

/* The same for floats of four bits, doubled. */
__device__ inline uint32_t fours(uint32_t v)
{
    /* 0 1 2 3 | 4 6 8 12 | 0 -1 -2 -3 | -4 -6 -8 -12 */
    const uint32_t low = __byte_perm(0x03020100, 0x0c080604, v & 0x7777);
    const uint32_t high = __byte_perm(0xfdfeff00, 0xf4f8fafc, v & 0x7777);

    return __byte_perm(low, high, (v & 0x8888) >> 1 | 0x3210);
}

__device__ inline void unequal(const uint32_t *v, unit &u)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t a = steps(v[i]), b = steps(v[i] >> 16);

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

/* f times byte i of word.  The byte becomes the lowest byte of 2^23 as a float, which is faster than a
 * conversion.  less is -2^23 f, so there is only one rounding. */
__device__ inline float times_byte(float f, float less, uint32_t word, uint32_t i)
{
    return fmaf(f, __uint_as_float(__byte_perm(word, 0x4b000000, 0x7440 | i)), less);
}

/* Sets scales and minima of u from d and dmin and a word of SCALES_K. */
__device__ inline void scales_k(uint32_t d, uint32_t word, unit &u)
{
    const float a = low_half(d), b = -high_half(d), less_a = -8388608 * a, less_b = -8388608 * b;

#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        u.a[i] = times_byte(a, less_a, word, i);
        u.b[i] = times_byte(b, less_b, word, 2 + i);
    }
}

/* A field of two bytes is loaded together with its neighbour, as four bytes. */
__host__ __device__ constexpr uint32_t word_of_half(uint32_t block)
{
    return block / 2 * 4;
}

__device__ inline float half_of_word(uint32_t word, uint32_t block)
{
    return low_half(word >> block % 2 * 16);
}

/* ---- each type ---------------------------------------------------------------------------- */

/* Where unit n is unit i of a block:
 *   FIELDS     the fields of a block, in the order of planes
 *   APART      distance between the two runs of 16 of a block that make a unit
 *   PIECES     bytes of each piece of memory that a unit is made from, two hexadecimal digits each, the first
 *              piece in the lowest two
 *   plane      the plane of piece k
 *   at         its offset in that plane: planes are smaller than 4 GiB
 *   unpack     makes a unit from v, its pieces one after the other; not for dense types
 * Types without a layout become f16 (upload.cu). */
template <int T> struct layout {
    static constexpr fields FIELDS = { 0, {} };
    enum : uint64_t { PIECES = 0 };
};

#define CONSTANT __host__ __device__ static constexpr
#define UNPACK __device__ static inline void unpack(const uint32_t *v, uint32_t block, uint32_t i, unit &u)

struct by_planes {                      /* one piece from each plane */
    enum { APART = 1 };
    CONSTANT int plane(int k) { return k; }
};

template <int BYTES> struct dense_layout : by_planes {          /* a unit is 16 bytes        */
    static constexpr fields FIELDS = { 1, { { 0, BYTES, BYTES, COPIED } } };
    enum : uint64_t { PIECES = 0x10 };
    CONSTANT uint32_t at(int, uint32_t n, uint32_t, uint32_t) { return n * 16; }
};

template <> struct layout<GKV__TYPE_F32>  : dense_layout<4> {};
template <> struct layout<GKV__TYPE_F16>  : dense_layout<2> {};
template <> struct layout<GKV__TYPE_BF16> : dense_layout<2> {};

template <> struct layout<GKV__TYPE_Q8_0> {
    static constexpr fields FIELDS = { 2, { AT(q8_0, q), AT(q8_0, d) } };
    enum { APART = 1 };
    enum : uint64_t { PIECES = 0x041010 };
    CONSTANT int plane(int k) { return k / 2; }
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k < 2 ? n * 32 + 16 * k : word_of_half(block);
    }
    UNPACK
    {
#pragma unroll
        for (int j = 0; j < 8; j++)
            u.q[j] = v[j];
        same(u, half_of_word(v[8], block), 0);
    }
};

template <> struct layout<GKV__TYPE_Q4_0> : by_planes {
    static constexpr fields FIELDS = { 2, { AT(q4_0, q), AT(q4_0, d) } };
    enum : uint64_t { PIECES = 0x0410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : word_of_half(block);
    }
    UNPACK
    {
        const float d = half_of_word(v[4], block);

        nibbles(v, u);
        same(u, d, -8 * d);
    }
};

template <> struct layout<GKV__TYPE_Q4_1> : by_planes {
    static constexpr fields FIELDS = { 2, { AT(q4_1, q), TO(q4_1, d, 4) } };
    enum : uint64_t { PIECES = 0x0410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : block * 4;
    }
    UNPACK
    {
        nibbles(v, u);
        same(u, low_half(v[4]), high_half(v[4]));
    }
};

__device__ inline void add_fifths(const uint32_t *v, unit &u)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        u.q[j] |= fifth_bits(v[4] >> 4 * j) << 4;
}

template <> struct layout<GKV__TYPE_Q5_0> : by_planes {
    static constexpr fields FIELDS = { 3, { AT(q5_0, q), AT(q5_0, h), AT(q5_0, d) } };
    enum : uint64_t { PIECES = 0x040410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : k == 1 ? block * 4 : word_of_half(block);
    }
    UNPACK
    {
        const float d = half_of_word(v[5], block);

        nibbles(v, u);
        add_fifths(v, u);
        same(u, d, -16 * d);
    }
};

template <> struct layout<GKV__TYPE_Q5_1> : by_planes {
    static constexpr fields FIELDS = { 3, { AT(q5_1, q), AT(q5_1, h), TO(q5_1, d, 4) } };
    enum : uint64_t { PIECES = 0x040410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : block * 4;
    }
    UNPACK
    {
        nibbles(v, u);
        add_fifths(v, u);
        same(u, low_half(v[5]), high_half(v[5]));
    }
};

template <> struct layout<GKV__TYPE_IQ4_NL> : by_planes {
    static constexpr fields FIELDS = { 2, { AT(iq4_nl, q), AT(iq4_nl, d) } };
    enum : uint64_t { PIECES = 0x0410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : word_of_half(block);
    }
    UNPACK
    {
        unequal(v, u);
        same(u, half_of_word(v[4], block), 0);
    }
};

/* Blocks have an odd number of bytes.  A scale of one byte is loaded together with its neighbours. */
template <> struct layout<GKV__TYPE_MXFP4> : by_planes {
    static constexpr fields FIELDS = { 2, { AS(mxfp4, q, 16, 16, BYTES), AS(mxfp4, d, 1, 1, BYTES) } };
    enum : uint64_t { PIECES = 0x0410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : block / 4 * 4;
    }
    UNPACK
    {
        const uint32_t e = min(byte_of(v[4], block % 4), 254u);

#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t a = fours(v[j]), b = fours(v[j] >> 16);

            u.q[j] = __byte_perm(a, b, 0x6420);
            u.q[4 + j] = __byte_perm(a, b, 0x7531);
        }
        same(u, __uint_as_float(e > 1 ? (e - 1) << 23 : 0x200000u << e), 0);
    }
};

template <> struct layout<GKV__TYPE_IQ4_XS> : by_planes {
    static constexpr fields FIELDS = { 2, { AT(iq4_xs, q), TO(iq4_xs, d, 8) } };
    enum : uint64_t { PIECES = 0x0810 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : block * 8;
    }
    UNPACK
    {
        const uint32_t low = byte_of(v[5], i / 2) >> i % 2 * 4 & 15, high = v[4] >> (16 + 2 * i) & 3;

        unequal(v, u);
        same(u, low_half(v[4]) * (float)((int)(low | high << 4) - 32), 0);
    }
};

template <> struct layout<GKV__TYPE_Q4_K> : by_planes {
    static constexpr fields FIELDS = { 3, { AT(q4_k, q), TO(q4_k, d, 4),
                                            AS(q4_k, scale, 12, 16, SCALES_K) } };
    enum { APART = 2 };
    enum : uint64_t { PIECES = 0x040410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : k == 1 ? block * 4 : n / 2 * 4;
    }
    UNPACK
    {
        nibbles(v, u);
        scales_k(v[4], v[5], u);
    }
};

template <> struct layout<GKV__TYPE_Q5_K> : by_planes {
    static constexpr fields FIELDS = { 4, { AT(q5_k, q), TO(q5_k, d, 4),
                                            AS(q5_k, scale, 12, 16, SCALES_K), AT(q5_k, h) } };
    enum { APART = 2 };
    enum : uint64_t { PIECES = 0x10040410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t i)
    {
        return k == 0 ? n * 16 : k == 1 ? block * 4 : k == 2 ? n / 2 * 4 : block * 32 + i % 2 * 16;
    }
    UNPACK
    {
        const uint32_t s = i / 2 * 2;

        nibbles(v, u);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] |= (v[6 + j] >> s & 0x01010101) << 4;
            u.q[4 + j] |= (v[6 + j] >> (s + 1) & 0x01010101) << 4;
        }
        scales_k(v[4], v[5], u);
    }
};

template <> struct layout<GKV__TYPE_Q6_K> : by_planes {
    static constexpr fields FIELDS = { 4, { AT(q6_k, q), AS(q6_k, h, 64, 64, HIGH_Q6),
                                            AS(q6_k, scale, 16, 16, SCALES_Q6), AT(q6_k, d) } };
    enum { APART = 4 };
    enum : uint64_t { PIECES = 0x04040810 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t)
    {
        return k == 0 ? n * 16 : k == 1 ? n * 8 : k == 2 ? n / 2 * 4 : word_of_half(block);
    }
    UNPACK
    {
        const uint32_t s = v[6] >> i % 2 * 8;
        const float d = half_of_word(v[7], block);

        nibbles(v, u);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t h = v[4 + j % 2];

            u.q[j] |= (j < 2 ? h << 4 : h) & 0x30303030;
            u.q[4 + j] |= (j < 2 ? h << 2 : h >> 2) & 0x30303030;
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            u.a[j] = d * (float)(int8_t)(s >> 16 * j);
            u.b[j] = -32 * u.a[j];
        }
    }
};

__host__ __device__ constexpr uint32_t crumbs_at(uint32_t block, uint32_t i)
{
    return block * 64 + i / 4 * 32 + i % 2 * 16;
}

/* The two-bit values number c of the bytes, and those number c + 1. */
__device__ inline void crumbs(const uint32_t *v, uint32_t c, unit &u)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        u.q[j] = v[j] >> 2 * c & 0x03030303;
        u.q[4 + j] = v[j] >> (2 * c + 2) & 0x03030303;
    }
}

template <> struct layout<GKV__TYPE_Q2_K> : by_planes {
    static constexpr fields FIELDS = { 3, { AT(q2_k, q), AT(q2_k, scale), TO(q2_k, d, 4) } };
    enum { APART = 2 };
    enum : uint64_t { PIECES = 0x040410 };
    CONSTANT uint32_t at(int k, uint32_t n, uint32_t block, uint32_t i)
    {
        return k == 0 ? crumbs_at(block, i) : k == 1 ? n / 2 * 4 : block * 4;
    }
    UNPACK
    {
        crumbs(v, i % 4 / 2 * 2, u);
#pragma unroll
        for (uint32_t j = 0; j < 2; j++) {
            const uint32_t s = byte_of(v[4], i % 2 + 2 * j);

            u.a[j] = low_half(v[5]) * (float)(s & 15);
            u.b[j] = -high_half(v[5]) * (float)(s >> 4);
        }
    }
};

template <> struct layout<GKV__TYPE_Q3_K> {     /* scales: see src/quant/q3_k.c */
    static constexpr fields FIELDS = { 4, { AT(q3_k, q), AT(q3_k, h), AT(q3_k, scale), AT(q3_k, d) } };
    enum { APART = 2 };
    enum : uint64_t { PIECES = 0x040404041010 };
    CONSTANT int plane(int k) { return k > 1 ? 2 + k / 5 : k; }
    CONSTANT uint32_t at(int k, uint32_t, uint32_t block, uint32_t i)
    {
        return k == 0 ? crumbs_at(block, i) : k == 1 ? block * 32 + i % 2 * 16
             : k < 5 ? block * 12 + (k - 2) * 4 : word_of_half(block);
    }
    UNPACK
    {
        const uint32_t c = i % 4 / 2 * 2;

        crumbs(v, c, u);
        const uint32_t low = c ? v[9] : v[8];
        const float d = half_of_word(v[11], block);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u.q[j] |= (v[4 + j] >> (i / 4 * 4 + c) & 0x01010101) << 2;
            u.q[4 + j] |= (v[4 + j] >> (i / 4 * 4 + c + 1) & 0x01010101) << 2;
        }
#pragma unroll
        for (uint32_t j = 0; j < 2; j++) {
            const uint32_t at = i % 2 + 2 * j;
            const uint32_t s = (byte_of(low, at) >> i / 4 * 4 & 15) |
                               (byte_of(v[10], at) >> (i / 4 * 4 + c) & 3) << 4;

            u.a[j] = d * (float)((int)s - 32);
            u.b[j] = -4 * u.a[j];
        }
    }
};

#undef UNPACK

/* ---- all types ---------------------------------------------------------------------------- */

static const type_row type_rows[] = {
#define ROW(TYPE, name, ggml, block, bytes, ...) \
    { ggml, block, bytes, GKV__TYPE_##TYPE, layout<GKV__TYPE_##TYPE>::FIELDS },
    GKV__TYPES(ROW)
#undef ROW
};

static inline const type_row *type_of(uint32_t ggml)
{
    for (const type_row &r : type_rows)
        if (r.ggml == ggml && r.plane.n)
            return &r;
    return nullptr;
}

template <int T> struct type_constant { static constexpr int value = T; };

#define CASE(TYPE, ...)                                                                     \
    case GKV__TYPE_##TYPE:                                                                  \
        if constexpr (layout<GKV__TYPE_##TYPE>::FIELDS.n != 0)                              \
            f(type_constant<GKV__TYPE_##TYPE>());                                           \
        break;

template <class F> static inline void for_dense(int type, F f)
{
    switch (type) { GKV__FLOAT_TYPES(CASE) }
}

template <class F> static inline void for_quantised(int type, F f)
{
    switch (type) { GKV__INTEGER_TYPES(CASE) }
}

#undef CASE

/* Calls fn<T>(...) for a type known at run time; dense and quantised types have a macro each.  `call` cannot
 * return from the function around it. */
#define FOR_DENSE(type, call) for_dense(type, [&](auto t_) { constexpr int T = decltype(t_)::value; call; })
#define FOR_QUANTISED(type, call) \
    for_quantised(type, [&](auto t_) { constexpr int T = decltype(t_)::value; call; })

/* Units per block. */
__host__ __device__ constexpr int units_of(int type)
{
    switch (type) {
#define CASE(TYPE, name, ggml, block, ...) case GKV__TYPE_##TYPE: return block / 32;
    GKV__INTEGER_TYPES(CASE)
#undef CASE
    }
    return 1;
}

template <int T> __host__ __device__ constexpr int apart_of()
{
    return layout<T>::APART;
}

/* Run of 16 number `run` of a row is half `which` of unit `unit`.  With APART = `apart`, 2 * apart consecutive
 * runs make `apart` units. */
template <int T> __device__ inline void unit_of_run(uint32_t run, uint32_t *unit, uint32_t *which)
{
    constexpr uint32_t apart = apart_of<T>();

    *unit = run / (2 * apart) * apart + run % apart;
    *which = run / apart % 2;
}

template <int T> __device__ inline uint32_t first_run(uint32_t unit)
{
    constexpr uint32_t apart = apart_of<T>();

    return unit / apart * 2 * apart + unit % apart;
}

__host__ __device__ constexpr uint64_t pieces_of(int type)
{
    switch (type) {
#define CASE(TYPE, ...) case GKV__TYPE_##TYPE: return layout<GKV__TYPE_##TYPE>::PIECES;
    GKV__TYPES(CASE)
#undef CASE
    }
    return 0;
}

__host__ __device__ constexpr uint32_t piece_bytes(int type, int k)
{
    return (uint32_t)(pieces_of(type) >> 8 * k & 255);
}

__host__ __device__ constexpr int n_pieces(int type)
{
    int n = 0;

    while (piece_bytes(type, n))
        n++;
    return n;
}

__host__ __device__ constexpr uint32_t unit_bytes(int type)
{
    uint32_t sum = 0;

    for (int k = 0; piece_bytes(type, k); k++)
        sum += piece_bytes(type, k);
    return sum;
}

template <int T> __host__ __device__ constexpr uint32_t piece_at(int k, uint32_t n)
{
    return layout<T>::at(k, n, n / units_of(T), n % units_of(T));
}

/* 32 units further on, piece k is so many bytes further on. */
template <int T> __host__ __device__ constexpr uint32_t piece_stride(int k)
{
    return piece_at<T>(k, 64) - piece_at<T>(k, 32);
}

/* Unpacks unit n; v: its pieces, one after the other. */
template <int T> __device__ inline void unpack_unit(const uint32_t *v, uint32_t n, unit &u)
{
    layout<T>::unpack(v, n / units_of(T), n % units_of(T), u);
}

/* Weights are read once, so pieces of 16 bytes bypass the first-level cache; scales are shared by lanes. */
template <int BYTES> __device__ inline void load_piece(const uint8_t *p, uint32_t *v)
{
    if constexpr (BYTES == 16)
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(p));
    else if constexpr (BYTES == 8)
        asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(p));
    else
        v[0] = __ldg((const uint32_t *)p);
}

/* Loads the pieces of unit n + 32 * FURTHER of a matrix into v. */
template <int T, int FURTHER = 0, int K = 0>
__device__ inline void load_unit(const planes &w, uint32_t n, uint32_t *v)
{
    if constexpr (K < n_pieces(T)) {
        const uint8_t *p = w.p[layout<T>::plane(K)] + piece_at<T>(K, n);

        load_piece<piece_bytes(T, K)>(p + FURTHER * piece_stride<T>(K), v);
        load_unit<T, FURTHER, K + 1>(w, n, v + piece_bytes(T, K) / 4);
    }
}

template <int T> __device__ inline void get(const planes &w, uint32_t n, unit &u)
{
    uint32_t v[unit_bytes(T) / 4];

    load_unit<T>(w, n, v);
    unpack_unit<T>(v, n, u);
}

/* Element i of four in a word, as a signed byte. */
template <int T> __device__ inline float element(uint32_t word, int i)
{
    return (float)(int8_t)(word >> 8 * i);
}

/* ---- dense ------------------------------------------------------------------------------ */

template <int T> struct dense;
template <> struct dense<GKV__TYPE_F32>  { enum { PER = 4, BYTES = 4 }; };
template <> struct dense<GKV__TYPE_F16>  { enum { PER = 8, BYTES = 2 }; };
template <> struct dense<GKV__TYPE_BF16> { enum { PER = 8, BYTES = 2 }; };

/* Converts the weights in 16 bytes to floats. */
template <int T> __device__ inline void widen(const uint32_t *w, float *out)
{
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
