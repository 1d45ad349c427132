/* SPDX-License-Identifier: BSD-2-Clause
 * amx.c - Sapphire Rapids (2023) on: eight tiles of 16 rows of 64 bytes.  One instruction
 * multiplies 16 x 32 bf16 by 32 x 16 into 16 x 16 f32, a thousand operations a cycle; with four
 * accumulators and two tiles for each side, loads are the bottleneck.  Attention in tiles is here, too, where both
 * sides fit a cache and the softmax between its products takes the vector units. */
#if !defined __AMX_BF16__ && !defined __AMXBF16__       /* clang before 15 has the second name */
#error "amx.c needs CFLAGS_AMX"
#endif
#include "config.h"
#include <immintrin.h>
#include <stddef.h>
#include "simd/simd.h"

#define SUFFIX amx
#define VW 16
#define NV 2
#define AMR 4
#define ANV 4
#define BMR 8
#define BNV 2
#include "simd/impl/vec.h"
#include "simd/impl/bytes.h"
#include "simd/impl/tile.h"
#include "simd/impl/scales.h"

/* For products of few rows, which would use only few rows of a tile, and of widths that tiles do not divide. */
INLINE vf bf16_dp(vf s, vi w, vi x)
{
    s = fused((vf)(w << 16), (vf)(x << 16), s);
    return fused((vf)(w & (int32_t)0xffff0000), (vf)(x & (int32_t)0xffff0000), s);
}

#include "simd/impl/gemm_bf16.h"

INLINE vi bf16_row(vf lo, vf hi)
{
    return (vi)_mm512_cvtne2ps_pbh((__m512)hi, (__m512)lo);
}

INLINE vh bf16_half(vf x)
{
    return (vh)_mm512_cvtneps_pbh((__m512)x);
}

#include "simd/impl/pairs.h"
#include "simd/impl/softmax.h"
#include "simd/impl/attend_bf16.h"

/* Palette 1; bytes per row and rows of each tile: tiles 0-3 are sums, 4 and 5 activations, 6 and 7
 * weights. */
struct config { uint8_t palette, start, zero[14]; uint16_t bytes[16]; uint8_t rows[16]; };

/* The compiler does not know what the tile instructions read: neither all of the configuration nor memory. */
#define WRITTEN(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Tiles 0 .. 4 have `rows` rows. */
INLINE void configure(uint8_t rows)
{
    struct config config = { .palette = 1 };

    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = i <= 4 ? rows : 16;
    }
    WRITTEN(&config);
    _tile_loadconfig(&config);
}

/* The same with 16 rows, where tiles 0, 2 and 6 have a columns of 32 bits, and 1, 3 and 7 have b. */
INLINE void configure_columns(uint8_t a, uint8_t b)
{
    struct config config = { .palette = 1 };

    for (int i = 0; i < 8; i++) {
        config.bytes[i] = i == 4 || i == 5 ? 64 : i % 2 ? 4 * b : 4 * a;
        config.rows[i] = 16;
    }
    WRITTEN(&config);
    _tile_loadconfig(&config);
}

static void FN(put_sums)(float *c, const float *sum, size_t n, int add)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(c + i, add ? load(c + i) + load(sum + i) : load(sum + i));
    for (; i < n; i++)
        c[i] = add ? c[i] + sum[i] : sum[i];
}

INLINE void transpose16(__m512i r[16])
{
    __m512i a[16], b[16];

    UNROLL
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 4)
        UNROLL
        for (int j = 0; j < 2; j++) {
            b[i + 2 * j] = _mm512_unpacklo_epi64(a[i + j], a[i + j + 2]);
            b[i + 2 * j + 1] = _mm512_unpackhi_epi64(a[i + j], a[i + j + 2]);
        }
    UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i even[] = { _mm512_shuffle_i32x4(b[i], b[i + 4], 0x88),
                                 _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0x88) };
        const __m512i odd[] = { _mm512_shuffle_i32x4(b[i], b[i + 4], 0xdd),
                                _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0xdd) };

        r[i] = _mm512_shuffle_i32x4(even[0], even[1], 0x88);
        r[i + 4] = _mm512_shuffle_i32x4(odd[0], odd[1], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(even[0], even[1], 0xdd);
        r[i + 12] = _mm512_shuffle_i32x4(odd[0], odd[1], 0xdd);
    }
}

#include "simd/impl/tiles.h"
#include "simd/impl/gemm_tiles.h"
#include "simd/impl/gemm_tiles_i8.h"

/* ---- attention -------------------------------------------------------------------------- */

/* sums 0 .. 3 += tile 4 times 64 lanes of 16 pairs */
INLINE void four_products(const uint8_t *b)
{
    _tile_loadd(5, b, 4 * LANES);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, b + 64, 4 * LANES);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(5, b + 128, 4 * LANES);
    _tile_dpbf16ps(2, 4, 5);
    _tile_loadd(6, b + 192, 4 * LANES);
    _tile_dpbf16ps(3, 4, 6);
}

INLINE void store_sums(float *to)
{
    _tile_stored(0, to, 4 * LANES);
    _tile_stored(1, to + 16, 4 * LANES);
    _tile_stored(2, to + 32, 4 * LANES);
    _tile_stored(3, to + 48, 4 * LANES);
}

/* s[nk][LANES] = k[nk, d] qt[d, LANES].  The last 16 keys may overlap keys that were computed before. */
INLINE void key_tiles(float *s, const uint8_t *k, const uint8_t *qt, size_t nk, size_t d)
{
    const size_t rows = nk < 16 ? nk : 16;

    configure((uint8_t)rows);
    for (size_t i = 0; i < nk; i += 16) {
        const size_t at = i + rows <= nk ? i : nk - rows;

        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (size_t x = 0; x < d; x += 32) {
            _tile_loadd(4, k + (at * d + x) * 2, 2 * d);
            four_products(qt + x / 2 * LANES * 4);
        }
        store_sums(s + at * LANES);
    }
}

/* ot[d][LANES] += v[d, nk] p[nk, LANES], both in blocks of 32 keys */
INLINE void value_tiles(float *ot, const uint8_t *v, const uint8_t *p, size_t nk, size_t d)
{
    configure(16);
    for (size_t x = 0; x < d; x += 16) {
        float *o = ot + x * LANES;

        _tile_loadd(0, o, 4 * LANES);
        _tile_loadd(1, o + 16, 4 * LANES);
        _tile_loadd(2, o + 32, 4 * LANES);
        _tile_loadd(3, o + 48, 4 * LANES);
        for (size_t i = 0; i < nk; i += 32) {
            _tile_loadd(4, v + (i * d + x * 32) * 2, 64);
            four_products(p + i / 2 * LANES * 4);
        }
        store_sums(o);
    }
}

/* ot *= scale, unless all are 1, as they are for most blocks of keys */
INLINE void rescale(float *ot, const vf scale[ANV], size_t d)
{
    vi other = { 0 };

    UNROLL
    for (int j = 0; j < ANV; j++)
        other |= scale[j] != 1.0f;
    if (_mm512_test_epi32_mask((__m512i)other, (__m512i)other))
        for (size_t x = 0; x < d; x++)
            UNROLL
            for (int j = 0; j < ANV; j++)
                store(ot + x * LANES + (size_t)j * VW, load(ot + x * LANES + (size_t)j * VW) * scale[j]);
}

/* Where tiles do not divide the head, without them. */
static void attend_amx(float *ot, float *m, float *l, const void *q, const void *keys, const void *vals, size_t nk,
                       size_t d, const struct gkv__sight *see, float *s)
{
    float few[16 * LANES];              /* for weights, which are padded with zeros to 32 keys  */
    vf max[ANV], scale[ANV];

    if (d % 32) {
        attend_bf16_amx(ot, m, l, q, keys, vals, nk, d, see, s);
        return;
    }
    s = nk < 16 ? few : s;
    WRITTEN(q);
    key_tiles(s, keys, q, nk, d);
    if (see)
        see_some(s, nk, see);
    raise(s, nk, m, max, scale);
    weights(s, l, nk, max, scale);
    for (size_t i = (nk + 1) / 2; i < (nk + 31) / 32 * 16; i++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            store(s + i * LANES + (size_t)j * VW, splat(0));
    rescale(ot, scale, d);
    WRITTEN(s);
    value_tiles(ot, vals, (const uint8_t *)s, nk, d);
    _tile_release();
}

/* [n / 32][width][32]: 32 values of a dimension side by side; zeros for rows from n on. */
INLINE void columns(enum gkv__type type, uint16_t *to, const char *from, size_t n, size_t width)
{
    const size_t row = width * size_of(type);

    for (size_t b = 0; b < n; b += 32)
        for (size_t x = 0; x < width; x += 16) {
            __m512i r[16];

            UNROLL
            for (size_t i = 0; i < 16; i++) {
                const char *lo = from + (b + 2 * i) * row + x * size_of(type);

                r[i] = (__m512i)bf16_pair(b + 2 * i < n ? whole(type, lo) : splat(0),
                                          b + 2 * i + 1 < n ? whole(type, lo + row) : splat(0));
            }
            transpose16(r);
            UNROLL
            for (size_t j = 0; j < 16; j++)
                _mm512_storeu_si512(to + b * width + (x + j) * 32, r[j]);
        }
}

static void values_amx(void *to, const void *from, enum gkv__type type, size_t n, size_t width)
{
    if (width % 32)
        pairs_bf16_amx(to, from, type, n, width);
    else if (type == GKV__TYPE_F32)
        columns(GKV__TYPE_F32, to, from, n, width);
    else
        columns(GKV__TYPE_F16, to, from, n, width);
}

void gkv__simd_amx(struct gkv__simd *k)
{
    k->attend = (struct gkv__attend){ "bf16", GKV__TYPE_BF16, 3, LANES, 256, 32, pairs_bf16_amx, narrow_bf16_amx,
                                      values_amx, attend_amx };
    fill_bf16_amx(k);
    fill_many_amx(k);
    fill_many_coarse_amx(k->many_coarse);
}
