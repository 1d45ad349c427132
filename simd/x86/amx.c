/* SPDX-License-Identifier: BSD-2-Clause
 * amx.c - Sapphire Rapids (2023) on: eight tiles of 16 rows of 64 bytes.  One instruction
 * multiplies 16 x 32 bf16 by 32 x 16 into 16 x 16 f32, a thousand operations a cycle; with four
 * accumulators and two tiles for each side, loads are the bottleneck. */
#ifndef __AMX_BF16__
#error "amx.c needs CFLAGS_AMX"
#endif
#include "config.h"
#include <immintrin.h>
#include <stddef.h>
#include "simd/simd.h"

#define SUFFIX amx
#define VW 16
#define NV 2
#define ANV 3
#define BNV 2
#include "simd/impl/vec.h"
#include "simd/impl/tile.h"

/* For products of one row, which would use only one row of a tile.  */
INLINE vf bf16_dp(vf s, vi w, vi x)
{
    s += (vf)(w << 16) * (vf)(x << 16);
    return s + (vf)(w & (int32_t)0xffff0000) * (vf)(x & (int32_t)0xffff0000);
}

static void gemm_bf16_amx(float *c, size_t ldc, const void *x, size_t ldx, const void *panels,
                          size_t m, size_t n, size_t k, int add);
#include "simd/impl/gemm_bf16.h"

/* Palette 1; bytes per row and rows of each tile: tiles 0-3 are sums, 4 and 5 activations, 6 and 7
 * weights. */
struct config { uint8_t palette, start, zero[14]; uint16_t bytes[16]; uint8_t rows[16]; };

/* 32 x 32 sums over whole tiles of 32 inputs. */
INLINE void block(float *sum, const uint8_t *x, size_t ldx, const uint8_t *w, size_t k)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t i = 0; i < k / 32; i++, x += 64, w += 16 * 4 * BNR) {
        _tile_loadd(4, x, ldx);
        _tile_loadd(6, w, 4 * BNR);
        _tile_loadd(7, w + 64, 4 * BNR);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, x + 16 * ldx, ldx);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sum, 4 * BNR);
    _tile_stored(1, sum + 16, 4 * BNR);
    _tile_stored(2, sum + 16 * BNR, 4 * BNR);
    _tile_stored(3, sum + 16 * BNR + 16, 4 * BNR);
}

/* The inputs after the last whole tile; all inputs when there are fewer than 32 rows. */
static void rest(float *sum, const uint8_t *x, size_t ldx, const uint8_t *w, size_t m, size_t k)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < BNR; j += VW) {
            vf s = load(sum + r * BNR + j);

            for (size_t i = 0; i < k / 2; i++)
                s = bf16_dp(s, load_i(w + (i * BNR + j) * 4), isplat(four(x + r * ldx + 4 * i)));
            store(sum + r * BNR + j, s);
        }
}

static void put(float *c, const float *sum, size_t n, int add)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(c + i, add ? load(c + i) + load(sum + i) : load(sum + i));
    for (; i < n; i++)
        c[i] = add ? c[i] + sum[i] : sum[i];
}

static void gemm_bf16_amx(float *c, size_t ldc, const void *x, size_t ldx, const void *panels,
                          size_t m, size_t n, size_t k, int add)
{
    struct config config = { .palette = 1 };
    const size_t whole = k / 32 * 32;
    const uint8_t *w = panels;
    float sum[32 * BNR];

    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = 16;
    }
    _tile_loadconfig(&config);
    for (size_t j = 0; j < n; j += BNR, w += k / 2 * 4 * BNR)
        for (size_t r = 0; r < m; r += 32) {
            /* The last 32 rows may overlap rows that were computed before. */
            const size_t at = r + 32 <= m || m < 32 ? r : m - 32, mr = m < 32 ? m : 32;
            const uint8_t *rows = (const uint8_t *)x + at * ldx;

            if (mr == 32)
                block(sum, rows, ldx, w, whole);
            else
                memset(sum, 0, sizeof sum);
            rest(sum, rows + (mr == 32 ? 2 * whole : 0), ldx, w + (mr == 32 ? 2 * whole * BNR : 0),
                 mr, mr == 32 ? k - whole : k);
            for (size_t i = r - at; i < mr; i++)
                put(c + (at + i) * ldc + j, sum + i * BNR, n - j < BNR ? n - j : BNR, add);
        }
    _tile_release();
}

void gkv__simd_amx(struct gkv__simd *k)
{
    fill_bf16_amx(k);
}
