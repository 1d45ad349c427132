/* SPDX-License-Identifier: BSD-2-Clause
 * tiles.h - tiles in C, as Intel's manual defines them (Architecture Instruction Set Extensions, chapter 3), in the
 * place of the compiler's _tile_...  What a processor would refuse with an exception ends the program. */
#ifndef TESTS_EMULATED_TILES_H
#define TESTS_EMULATED_TILES_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, TILE_ROWS = 16, TILE_ROW = 64 };

struct tiles {
    bool    configured;
    uint8_t rows[TILES];
    uint16_t bytes[TILES];                      /* of a row                               */
    uint8_t data[TILES][TILE_ROWS][TILE_ROW];
};

static _Thread_local struct tiles tile_state;

static void tile_must(bool right, const char *what)
{
    if (right)
        return;
    printf("Bail out! tiles: %s\n", what);
    fflush(stdout);
    abort();
}

/* A thread that keeps its tiles makes each change of threads cost 8 KB. */
__attribute__((destructor)) static void tiles_end(void)
{
    tile_must(!tile_state.configured, "not released");
}

static void tile_loadconfig(const void *config)
{
    const uint8_t *c = config;

    memset(&tile_state, 0, sizeof tile_state);
    memcpy(tile_state.bytes, c + 16, sizeof tile_state.bytes);
    memcpy(tile_state.rows, c + 48, sizeof tile_state.rows);
    tile_must(*c == 1, "palette");
    for (int i = 1; i < 16; i++)
        tile_must(!c[i] && (i < TILES || (!c[16 + 2 * i] && !c[17 + 2 * i] && !c[48 + i])), "reserved bytes");
    for (int t = 0; t < TILES; t++)
        tile_must(tile_state.rows[t] <= TILE_ROWS && tile_state.bytes[t] <= TILE_ROW, "shape");
    tile_state.configured = true;
}

static void tile_release(void)
{
    memset(&tile_state, 0, sizeof tile_state);
}

static void tile_there(int t)
{
    tile_must(tile_state.configured && tile_state.rows[t] && tile_state.bytes[t], "not configured");
}

static void tile_zero(int t)
{
    tile_there(t);
    memset(tile_state.data[t], 0, sizeof tile_state.data[t]);
}

static void tile_loadd(int t, const void *from, size_t stride)
{
    tile_zero(t);
    for (size_t r = 0; r < tile_state.rows[t]; r++)
        memcpy(tile_state.data[t][r], (const char *)from + r * stride, tile_state.bytes[t]);
}

static void tile_stored(int t, void *to, size_t stride)
{
    tile_there(t);
    for (size_t r = 0; r < tile_state.rows[t]; r++)
        memcpy((char *)to + r * stride, tile_state.data[t][r], tile_state.bytes[t]);
}

/* What both kinds of products ask for. */
static void tile_product(int c, int a, int b)
{
    tile_there(a);
    tile_there(b);
    tile_there(c);
    tile_must(a != b && a != c && b != c, "a tile twice");
    tile_must(tile_state.bytes[a] % 4 == 0 && tile_state.bytes[b] % 4 == 0, "part of a word");
    tile_must(tile_state.rows[c] == tile_state.rows[a] && tile_state.bytes[c] == tile_state.bytes[b] &&
              tile_state.rows[b] == tile_state.bytes[a] / 4, "shapes of a product");
}

/* Zero where the exponent is: what has no exponent counts as nothing, before and behind each operation. */
static __m512 tile_flushed(__m512 x)
{
    return _mm512_maskz_mov_ps(_mm512_test_epi32_mask(_mm512_castps_si512(x), _mm512_set1_epi32(0x7f800000)), x);
}

static __m512 tile_low(__m512i pairs)
{
    return tile_flushed(_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)));
}

static __m512 tile_high(__m512i pairs)
{
    return tile_flushed(_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000))));
}

/* c += a b: the even products of a row are summed, and the odd ones, and both sums are added to c. */
static void tile_dpbf16ps(int c, int a, int b)
{
    const size_t k = tile_state.bytes[a] / 4;

    tile_product(c, a, b);
    for (size_t r = 0; r < tile_state.rows[c]; r++) {
        __m512 even = _mm512_setzero_ps(), odd = even, sum;

        for (size_t i = 0; i < k; i++) {
            const __m512i y = _mm512_loadu_si512(tile_state.data[b][i]);
            __m512i x;
            int32_t pair;

            memcpy(&pair, tile_state.data[a][r] + 4 * i, sizeof pair);
            x = _mm512_set1_epi32(pair);
            even = tile_flushed(_mm512_fmadd_ps(tile_low(x), tile_low(y), even));
            odd = tile_flushed(_mm512_fmadd_ps(tile_high(x), tile_high(y), odd));
        }
        sum = tile_flushed(_mm512_add_ps(even, odd));
        sum = tile_flushed(_mm512_add_ps(tile_flushed(_mm512_loadu_ps(tile_state.data[c][r])), sum));
        memcpy(tile_state.data[c][r], &sum, tile_state.bytes[c]);
    }
}

/* c += a b of signed bytes, modulo 2^32: 16 rows of a row of bytes, four of which are beside each other in b. */
static void tile_dpbssd(int c, int a, int b)
{
    const size_t k = tile_state.bytes[a] / 4, n = tile_state.bytes[b] / 4;

    tile_product(c, a, b);
    for (size_t r = 0; r < tile_state.rows[c]; r++)
        for (size_t j = 0; j < n; j++) {
            uint32_t sum;

            memcpy(&sum, tile_state.data[c][r] + 4 * j, sizeof sum);
            for (size_t i = 0; i < 4 * k; i++)
                sum += (uint32_t)((int8_t)tile_state.data[a][r][i] * (int8_t)tile_state.data[b][i / 4][4 * j + i % 4]);
            memcpy(tile_state.data[c][r] + 4 * j, &sum, sizeof sum);
        }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadconfig tile_loadconfig
#define _tile_release    tile_release
#define _tile_zero       tile_zero
#define _tile_loadd      tile_loadd
#define _tile_stored     tile_stored
#define _tile_dpbf16ps   tile_dpbf16ps
#define _tile_dpbssd     tile_dpbssd

#endif
