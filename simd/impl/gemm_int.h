/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_int.h - products with integer types in integer arithmetic.
 *
 * Activations are rounded to integers in blocks of 32 with one scale each.  Weights are exactly those
 * of the file: w = d (u - OFF) + m, u an unsigned byte.  For a block of 32
 *
 *     sum_i w_i x_i  =  s (d sum_i (u_i - OFF) q_i  +  m sum_i q_i),     x_i ~ s q_i
 *
 * and the sums are exact.  So the only error is the rounding of x: half a step of s, which is
 * max|x| / 127 (i8) or max|x| / 32767 (i16).
 *
 * OFF costs nothing: the sum starts from -OFF sum_i q_i, which prepare computes, instead of from
 * zero.  Where the instruction takes signed weights, they are u - OFF, and sums start from zero.
 *
 *
 * The including file defines, for vectors vi of 32-bit lanes, each lane an output:
 *
 *     IMR, INV         tile
 *     I8_SIGNED        1: weights are signed
 *     i8_start(a, b)   initial value that makes a sum come out a + b larger; a: for activations
 *                      with index 0 or 1 modulo 4, b: for those with 2 or 3.  Signed: 0
 *     i8_step(s, u, q) s plus, in each lane, four products of unsigned u and signed q
 *     i8_at(s, u, q, t)  signed: s plus, in each lane, four products of signed u and
 *                      activations 4 t .. 4 t + 3 of x, where q = i8_take(x, t)
 *     i8_finish(s)     the sum as a 32-bit integer
 *     i8_dot32(u, q)   32 products in eight lanes
 *     i8_dot64(u, q, v, r)  32 more, u and v at most 31
 *     i8_pauses(top)   1 if a sum of 32 products with u <= top, started from zero, can overflow the
 *                      lanes of i8_step, so that it must be finished half-way
 *     I16              1: formats of eight bits go with activations of 16, as without VNNI
 *                      there is no exact product of u > 127 and q that is as fast
 */

#include "simd/impl/form_int.h"

/* ---- activations ------------------------------------------------------------------------- */

/* The largest lane of v, which is not negative, so that floats have the order of their bits. */
INLINE int32_t top8(v8i v)
{
#ifdef __aarch64__
    const union ints a = { v };

    return vmaxvq_s32(vmaxq_s32(a.half[0], a.half[1]));
#else
    __m128i a = _mm_max_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));

    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(a, _mm_shuffle_epi32(a, 0xb1)));
#endif
}

INLINE v8i max8(v8i a, v8i b)
{
#ifdef __aarch64__
    const v8i more = a > b;

    return (a & more) | (b & ~more);
#else
    return (v8i)_mm256_max_epi32((__m256i)a, (__m256i)b);
#endif
}

/* 32 integers from -128 to 127 as bytes. */
INLINE v32 narrow32(const v8i q[4])
{
#ifdef __aarch64__
    v8b part[4];
    v32 all;

    for (int j = 0; j < 4; j++)
        part[j] = __builtin_convertvector(q[j], v8b);
    memcpy(&all, part, sizeof all);
    return all;
#else
    const __m256i a = _mm256_packs_epi32((__m256i)q[0], (__m256i)q[1]);
    const __m256i b = _mm256_packs_epi32((__m256i)q[2], (__m256i)q[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    return (v32)_mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order);
#endif
}

/* Round 32 floats to integers of at most max; returns the scale, which is not finite if one of them is not. */
INLINE float round32(const float *x, float max, v8i q[4])
{
    const v8f magic = splat8(12582912.0f);      /* 1.5 * 2^23: adding it rounds to even */
    v8f v[4], inv;
    v8i top = { 0 };
    int32_t bits;
    float most;

UNROLL
    for (int i = 0; i < 4; i++) {
        memcpy(&v[i], x + 8 * i, sizeof v[i]);
        top = max8((v8i)v[i] & 0x7fffffff, top);
    }
    bits = top8(top);
    memcpy(&most, &bits, sizeof most);
    if (bits >= 0x7f800000) {                   /* infinite, or no number: so is what comes of it */
        memset(q, 0, 4 * sizeof *q);
        return most;
    }
    inv = splat8(most > 0x1p-120f ? max / most : 0);    /* below, 1 / s overflows */
UNROLL
    for (int i = 0; i < 4; i++)
        q[i] = (v8i)fused8(v[i], inv, magic) - (v8i)magic;
    return most > 0x1p-120f ? most / max : 0;
}

typedef int16_t v8s __attribute__((vector_size(16)));

INLINE void prepare_i8(void *to, const float *x, size_t n, int off, int halves)
{
    struct FN(i8) *p = to;
    struct FN(i8h) *ph = to;

    for (size_t i = 0; i < n; i += 32, p++, ph++) {
        int32_t a[2], b[2];
        v8i q[4];
        const float s = round32(x + i, 127, q);

UNROLL
        for (int h = 0; h < 2; h++) {
            const v8i sum = q[2 * h] + q[2 * h + 1];
            const v8i pair = sum + __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);

            a[h] = pair[0] + pair[1];
            b[h] = pair[2] + pair[3];
        }
        *(v32u *)(halves ? ph->q : p->q) = narrow32(q);
        if (halves) {
            ph->s = s;
            for (int h = 0; h < 2; h++) {
                ph->sum[h] = s * (float)(a[h] + b[h]);
                ph->start[h] = i8_start(-off * a[h], -off * b[h]);
            }
        } else {
            p->s = s;
            p->sum = s * (float)(a[0] + b[0] + a[1] + b[1]);
            p->start = i8_start(-off * (a[0] + a[1]), -off * (b[0] + b[1]));
        }
    }
}

/* ---- weights ------------------------------------------------------------------------------ */

_Static_assert(INR % 8 == 0, "weights are transposed eight outputs at a time");

/* Stores 32 weights of eight outputs at p, in panel order. */
typedef void FN(put_fn)(uint8_t *p, const v32 u[8], int off);

INLINE void put_i8(uint8_t *p, const v32 u[8], int off)
{
    v8i q[8];

UNROLL
    for (int x = 0; x < 8; x++)
        q[x] = (v8i)i8_weights(u[x], off);
    transpose8(q);
UNROLL
    for (size_t x = 0; x < 8; x++)
        *(v8iu *)(void *)(p + x * INR * 4) = q[x];
}

/* Stores the scales, or minima, of eight groups of eight outputs; blocks are `apart` bytes apart. */
INLINE void put_floats(uint8_t *p, size_t apart, const v8f f[8])
{
    v8i t[8];

    memcpy(t, f, sizeof t);
    transpose8(t);
UNROLL
    for (size_t g = 0; g < 8; g++)
        *(v8iu *)(void *)(p + g * apart) = t[g];
}

typedef void FN(scales_fn)(const void *row, v8f d[2], v8f m[2]);

/* Constants that pack is compiled for; weights: bytes of 32; top, shift: gemm_coarse.h. */
struct FN(packing) {
    FN(bytes_fn)  *bytes;
    FN(scales_fn) *scales;
    FN(put_fn)    *put;
    int            off, halves, min;
    size_t         per_256, weights;
    int            top, shift;
};

/* Packs group i of eight rows. */
INLINE void pack_group(const struct FN(packing) m, uint8_t *p, const uint8_t *const r[8], size_t i)
{
    float scale[2], low[2];
    v32 u[8];

UNROLL
    for (int x = 0; x < 8; x++)
        u[x] = m.bytes(r[x], i, scale, low);
    m.put(p, u, m.off);
}

/* Packs eight outputs at a time; missing ones repeat the last row, and their results are not used.
 * Scales are computed for 256 weights at once: one by one they would cost more than the weights. */
INLINE void pack(const struct FN(packing) m, void *panel, const void *w, size_t stride, size_t n, size_t k)
{
    const size_t half = 4 * INR, mins = (size_t)(m.halves + 1) * half;
    const size_t block = m.weights * INR + mins * (size_t)(m.min + 1);

    for (size_t j = 0; j < INR; j += 8) {
        uint8_t *to = (uint8_t *)panel + 4 * j, *d = to + m.weights * INR;
        const uint8_t *r[8];
        size_t i = 0;

        for (size_t x = 0; x < 8; x++)
            r[x] = (const uint8_t *)w + (j + x < n ? j + x : n - 1) * stride;
        for (; i + 8 <= k / 32; i += 8, to += 8 * block, d += 8 * block) {
            v8f dd[2][8], mm[2][8];

UNROLL
            for (int x = 0; x < 8; x++) {
                v8f scale[2], low[2];

                m.scales(r[x], scale, low);
                for (int h = 0; h <= m.halves; h++) {
                    dd[h][x] = scale[h];
                    if (m.min)
                        mm[h][x] = low[h];
                }
            }
            for (int h = 0; h <= m.halves; h++) {
                put_floats(d + (size_t)h * half, block, dd[h]);
                if (m.min)
                    put_floats(d + mins + (size_t)h * half, block, mm[h]);
            }
#pragma GCC unroll 8
            for (size_t g = 0; g < 8; g++)
                pack_group(m, to + g * block, r, g);
            for (int x = 0; x < 8; x++)
                r[x] += m.per_256;
        }
        for (size_t g = 0; i < k / 32; i++, g++, to += block, d += block) {
            pack_group(m, to, r, g);
            for (size_t x = 0; x < 8; x++) {
                float scale[2], low[2];

                m.bytes(r[x], g, scale, low);
                for (size_t h = 0; h <= (size_t)m.halves; h++) {
                    memcpy(d + h * half + 4 * x, &scale[h], sizeof *scale);
                    if (m.min)
                        memcpy(d + mins + h * half + 4 * x, &low[h], sizeof *low);
                }
            }
        }
    }
}

/* ---- products ----------------------------------------------------------------------------- */

#if !I8_SIGNED
#define i8_take(x, t) isplat(four((x) + 4 * (size_t)(t)))
#define i8_at(s, u, q, t) i8_step(s, u, q)
#endif

/* block: inputs that share scales; 128 in gemm_coarse.h, which explains its activations. */
INLINE void i8_tile(int mr, int block, int halves, int min, int seg, float *c, size_t ldc, const uint8_t *x,
                    size_t ldx, const uint8_t *w, size_t n, size_t k, int add)
{
    const size_t xb = halves ? sizeof(struct FN(i8h)) : offsetof(struct FN(i8), q) + (size_t)block;
    const size_t xq = halves ? offsetof(struct FN(i8h), q) : offsetof(struct FN(i8), q);
    const size_t xs = halves ? offsetof(struct FN(i8h), start) : offsetof(struct FN(i8), start);
    const int parts = halves ? 2 : seg, steps = block / 4 / parts;
    vf acc[8][4];

#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < INV; j++)
            acc[r][j] = splat(0);
    for (size_t i = 0; i < k / (size_t)block; i++, x += xb, w += i8_block_of(block, halves, min)) {
        const float *d = (const float *)(const void *)(w + block * INR);
        const float *m = d + (halves + 1) * INR;
        vi whole[8][4];
        vf part[8][4];

#pragma GCC unroll 2
        for (int h = 0; h < parts; h++) {
            vi s[8][4];

#pragma GCC unroll 8
            for (int r = 0; r < mr; r++) {
                int32_t first = 0;
                if (!I8_SIGNED && (h == 0 || halves))
                    memcpy(&first, x + (size_t)r * ldx + xs + 4 * (size_t)h, sizeof first);
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++)
                    s[r][j] = isplat(first);
            }
#pragma GCC unroll 8
            for (int t = h * steps; t < (h + 1) * steps; t++) {
                vi u[4];
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++)
                    u[j] = load_i(w + ((size_t)t * INR + (size_t)j * VW) * 4);
#pragma GCC unroll 8
                for (int r = 0; r < mr; r++) {
                    vi q = i8_take(x + (size_t)r * ldx + xq, t);
#pragma GCC unroll 4
                    for (int j = 0; j < INV; j++)
                        s[r][j] = i8_at(s[r][j], u[j], q, t);
                }
            }
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++) {
                    if (halves) {
                        const vf p = __builtin_convertvector(i8_finish(s[r][j]), vf);
                        const vf scale = load(d + (size_t)h * INR + (size_t)j * VW);

                        part[r][j] = h ? fused(p, scale, part[r][j]) : p * scale;
                    } else {
                        vi p = i8_finish(s[r][j]);
                        whole[r][j] = h ? whole[r][j] + p : p;
                    }
                }
        }
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++) {
            const float *f = (const float *)(const void *)(x + (size_t)r * ldx);   /* s, sum */
#pragma GCC unroll 4
            for (int j = 0; j < INV; j++) {
                if (halves)
                    acc[r][j] = fused(part[r][j], splat(f[0]), acc[r][j]);
                else
                    acc[r][j] = fused(__builtin_convertvector(whole[r][j], vf), load(d + (size_t)j * VW) * f[0],
                                      acc[r][j]);
                if (min)
                    acc[r][j] = fused(load(m + (size_t)j * VW), splat(f[1]), acc[r][j]);
                if (min && halves)
                    acc[r][j] = fused(load(m + INR + (size_t)j * VW), splat(f[2]), acc[r][j]);
            }
        }
    }
    tile_store(mr, INV, c, ldc, acc, n, add);
}

INLINE void gemm_i8(int block, int halves, int min, int seg, float *c, size_t ldc, const void *x, size_t ldx,
                    const void *panels, size_t m, size_t n, size_t k, int add)
{
    const uint8_t *w = panels, *rows = x;

    for (size_t j = 0; j < n; j += INR, w += k / (size_t)block * i8_block_of(block, halves, min)) {
        size_t nj = n - j < INR ? n - j : INR, r = 0;

        for (; r + IMR <= m; r += IMR)
            i8_tile(IMR, block, halves, min, seg, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
        for (; r < m; r++)
            i8_tile(1, block, halves, min, seg, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
    }
}

#include "simd/impl/gemv_int.h"

INLINE v8i i8_products(v32 u, int off, const uint8_t *q)
{
    return i8_dot32(i8_weights(u, off), *(const v32u *)q);
}

/* ---- sixteen bits ------------------------------------------------------------------------- */

#if I16
INLINE void prepare_i16(void *to, const float *x, size_t n)
{
    struct FN(i16) *p = to;

    for (size_t i = 0; i < n; i += 32, p++) {
        v8i q[4];

        p->s = round32(x + i, 32767, q);
UNROLL
        for (int j = 0; j < 4; j++) {
            const v8s shorts = __builtin_convertvector(q[j], v8s);

            memcpy(p->q + 8 * j, &shorts, sizeof shorts);
        }
    }
}

/* 32 weights as two vectors of signed 16 bits. */
INLINE void wide16(v32 u, int off, v8i out[2])
{
    i16_widen(u - (uint8_t)off, out);
}

/* Bytes of a block of a panel: w[16][INR][2], d[halves][INR]. */
INLINE size_t i16_block(int halves) { return (size_t)INR * (64 + 4 * (size_t)(halves + 1)); }

INLINE void put_i16(uint8_t *p, const v32 u[8], int off)
{
    v8i q[2][8];

UNROLL
    for (int x = 0; x < 8; x++) {
        v8i pair[2];

        wide16(u[x], off, pair);
        q[0][x] = pair[0];
        q[1][x] = pair[1];
    }
UNROLL
    for (size_t h = 0; h < 2; h++) {
        transpose8(q[h]);
UNROLL
        for (size_t x = 0; x < 8; x++)
            *(v8iu *)(void *)(p + (8 * h + x) * INR * 4) = q[h][x];
    }
}

INLINE void i16_tile(int mr, int halves, float *c, size_t ldc, const uint8_t *x, size_t ldx, const uint8_t *w,
                     size_t n, size_t k, int add)
{
    const int parts = halves + 1;
    vf acc[8][4];

#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < INV; j++)
            acc[r][j] = splat(0);
    for (size_t i = 0; i < k / 32; i++, x += sizeof(struct FN(i16)), w += i16_block(halves)) {
#pragma GCC unroll 2
        for (int h = 0; h < parts; h++) {
            const float *d = (const float *)(const void *)(w + 64 * INR) + h * INR;
            vi s[8][4];

#pragma GCC unroll 8
            for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++)
                    s[r][j] = isplat(0);
#pragma GCC unroll 16
            for (int t = h * (16 / parts); t < (h + 1) * (16 / parts); t++) {
                vi u[4];
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++)
                    u[j] = load_i(w + ((size_t)t * INR + (size_t)j * VW) * 4);
#pragma GCC unroll 8
                for (int r = 0; r < mr; r++) {
                    vi q = isplat(four(x + (size_t)r * ldx + 4 + 4 * (size_t)t));
#pragma GCC unroll 4
                    for (int j = 0; j < INV; j++)
                        s[r][j] = i16_step(s[r][j], u[j], q);
                }
            }
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++) {
                float f;
                memcpy(&f, x + (size_t)r * ldx, sizeof f);
#pragma GCC unroll 4
                for (int j = 0; j < INV; j++)
                    acc[r][j] = fused(__builtin_convertvector(s[r][j], vf), load(d + (size_t)j * VW) * f, acc[r][j]);
            }
        }
    }
    tile_store(mr, INV, c, ldc, acc, n, add);
}

INLINE void gemm_i16(int halves, float *c, size_t ldc, const void *x, size_t ldx, const void *panels, size_t m,
                     size_t n, size_t k, int add)
{
    const uint8_t *w = panels, *rows = x;

    for (size_t j = 0; j < n; j += INR, w += k / 32 * i16_block(halves)) {
        size_t nj = n - j < INR ? n - j : INR, r = 0;

        for (; r + IMR <= m; r += IMR)
            i16_tile(IMR, halves, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
        for (; r < m; r++)
            i16_tile(1, halves, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
    }
}

/* The offset is subtracted here, so nothing needs correction afterwards. */
INLINE v8i i16_products(v32 u, int off, int halves, const uint8_t *q)
{
    v8i w[2];

    wide16(u, off, w);
    return halves ? i16_dot32_halves(w, q) : i16_dot32(w, q);
}
#endif

/* ---- table entries of each type ----------------------------------------------------------- */


#define GEMV(name)                                                                          \
    static void FN(prepare_one_##name)(void *to, const float *x, size_t n)                  \
    {                                                                                       \
        prepare_one(recipe_##name(), to, x, n);                                             \
    }                                                                                       \
    static void FN(gemv_##name)(float *y, const struct gkv__band *w, const void *x,         \
                                size_t n, int add)                                          \
    {                                                                                       \
        gemv(recipe_##name(), y, w, x, n, add);                                             \
    }

#define GEMV_FEW(name, form)                                                                \
    static void FN(few_##name##_##form)(float *y, size_t ldy, const struct gkv__band *w,    \
                                        const void *x, size_t ldx, size_t rows, size_t n, int add) \
    {                                                                                       \
        if (HAS_FEW(name))                                                                  \
            gemv_few(recipe_##name##_##form(), y, ldy, w, x, ldx, rows, n, add);            \
    }
#define FEW_OF(name, form) HAS_FEW(name) ? FN(few_##name##_##form) : NULL

#define GEMM_I8(name)                                                                       \
    static void FN(prepare_##name##_i8)(void *to, const float *x, size_t n)                 \
    {                                                                                       \
        prepare_i8(to, x, n, OFF_##name, HALVES_##name);                                    \
    }                                                                                       \
    static void FN(pack_##name##_i8)(void *panel, const void *w, size_t stride, size_t n,   \
                                     size_t k)                                              \
    {                                                                                       \
        const struct FN(packing) m = {                                                      \
            bytes_##name, scales_##name, put_i8, OFF_##name, HALVES_##name, MIN_##name,     \
            PER_256(name), .weights = 32 };                                                 \
        pack(m, panel, w, stride, n, k);                                                    \
    }                                                                                       \
    _Static_assert(HALVES_##name || !MIN_##name || BITS_##name < 6, "TILE pauses only once"); \
    INLINE struct FN(recipe) recipe_##name##_i8(void)                                       \
    {                                                                                       \
        const struct layout f = HALVES_##name                                               \
            ? (struct layout){ sizeof(struct FN(i8h)), offsetof(struct FN(i8h), sum),       \
                               offsetof(struct FN(i8h), q), 32 }                            \
            : (struct layout){ sizeof(struct FN(i8)), offsetof(struct FN(i8), sum),         \
                               offsetof(struct FN(i8), q), 32 };                            \
        return (struct FN(recipe)){                                                         \
            FN(prepare_##name##_i8), bytes_##name, scales_##name, i8_products, HOW(name),   \
            .off = OFF_##name, .halves = HALVES_##name, .min = MIN_##name,                  \
            .per_256 = PER_256(name), .form = f };                                          \
    }                                                                                       \
    GEMV(name##_i8)                                                                         \
    GEMV_FEW(name, i8)

/* Products depend on few properties of a type, so types share them. */
#define TILE_I8(name, block, halves, min, seg)                                              \
    static void FN(gemm_##name)(float *c, size_t ldc, const void *x, size_t ldx,            \
                                const void *panels, size_t m, size_t n, size_t k, int add)  \
    {                                                                                       \
        gemm_i8(block, halves, min, seg, c, ldc, x, ldx, panels, m, n, k, add);             \
    }
TILE_I8(i8, 32, 0, 0, 1)
TILE_I8(i8_min, 32, 0, 1, 1)
TILE_I8(i8_min_pause, 32, 0, 1, 1 + i8_pauses(31))
TILE_I8(i8_halves, 32, 1, 0, 1)
TILE_I8(i8_halves_min, 32, 1, 1, 1)

#define GEMM_I16(name)                                                                      \
    _Static_assert(!MIN_##name, "this form has no sums");                                   \
    INLINE v8i i16_products_##name(v32 u, int off, const uint8_t *q)                        \
    {                                                                                       \
        (void)off;                                                                          \
        return i16_products(u, OFF_##name, HALVES_##name, q);                                              \
    }                                                                                       \
    static void FN(pack_##name##_i16)(void *panel, const void *w, size_t stride, size_t n,  \
                                      size_t k)                                             \
    {                                                                                       \
        const struct FN(packing) m = { bytes_##name, scales_##name, put_i16,                \
                                       .off = OFF_##name, .halves = HALVES_##name,          \
                                       .per_256 = PER_256(name), .weights = 64 };           \
        pack(m, panel, w, stride, n, k);                                                    \
    }                                                                                       \
    INLINE struct FN(recipe) recipe_##name##_i16(void)                                      \
    {                                                                                       \
        return (struct FN(recipe)){                                                         \
            FN(prepare_i16), bytes_##name, scales_##name, i16_products_##name,              \
            .halves = HALVES_##name, .per_256 = PER_256(name),                              \
            .form = { sizeof(struct FN(i16)), 0, offsetof(struct FN(i16), q), 64 } };       \
    }                                                                                       \
    GEMV(name##_i16)                                                                        \
    GEMV_FEW(name, i16)

#if I16
static void FN(prepare_i16)(void *to, const float *x, size_t n)
{
    prepare_i16(to, x, n);
}
#define TILE_I16(name, halves)                                                              \
    static void FN(gemm_##name)(float *c, size_t ldc, const void *x, size_t ldx,            \
                                const void *panels, size_t m, size_t n, size_t k, int add)  \
    {                                                                                       \
        gemm_i16(halves, c, ldc, x, ldx, panels, m, n, k, add);                             \
    }
TILE_I16(i16, 0)
TILE_I16(i16_halves, 1)
#define IN_u8(how, ...) how##_I16(__VA_ARGS__)
#else
#define IN_u8(how, ...) how##_I8(__VA_ARGS__)
#endif
#define IN_u7(how, ...) how##_I8(__VA_ARGS__)

#define GEMM(TYPE, name, ggml, block, bytes, bits, range, ...) IN_##range(GEMM, name)
GKV__BYTE_TYPES(GEMM)
#undef GEMM

/* Tiles pause for types with u up to 31; where halves have sums of their own, that is not needed. */
#define TILE(name)                                                                          \
    (HALVES_##name ? MIN_##name ? FN(gemm_i8_halves_min) : FN(gemm_i8_halves)               \
     : !MIN_##name ? FN(gemm_i8) : BITS_##name > 4 ? FN(gemm_i8_min_pause) : FN(gemm_i8_min))

#if !I16 && !I8_SIGNED
#include "simd/impl/gemm_coarse.h"
#endif

static void FN(fill_int)(struct gkv__simd *k)
{
#define SLOT_I8(TYPE, name)                                                                 \
    k->product[GKV__TYPE_##TYPE] = (struct gkv__product){                                   \
        "i8", 32, HALVES_##name ? sizeof(struct FN(i8h)) : sizeof(struct FN(i8)),           \
        (uint16_t)(i8_block(HALVES_##name, MIN_##name) / INR), INR,                         \
        (uint16_t)one_bytes(recipe_##name##_i8()),                                          \
        FN(prepare_##name##_i8), FN(pack_##name##_i8), TILE(name),                          \
        FN(prepare_one_##name##_i8), FN(gemv_##name##_i8), FEW_OF(name, i8) };
#define SLOT_I16(TYPE, name)                                                                \
    k->product[GKV__TYPE_##TYPE] = (struct gkv__product){                                   \
        "i16", 32, sizeof(struct FN(i16)), (uint16_t)(i16_block(HALVES_##name) / INR), INR, \
        (uint16_t)one_bytes(recipe_##name##_i16()),                                         \
        FN(prepare_i16), FN(pack_##name##_i16),                                             \
        HALVES_##name ? FN(gemm_i16_halves) : FN(gemm_i16),                                 \
        FN(prepare_one_##name##_i16), FN(gemv_##name##_i16), FEW_OF(name, i16) };
#define SLOT(TYPE, name, ggml, block, bytes, bits, range, ...) IN_##range(SLOT, TYPE, name)
    GKV__BYTE_TYPES(SLOT)
#undef SLOT
#if !I16 && !I8_SIGNED
    FN(fill_coarse)(k->coarse);
#endif
}
