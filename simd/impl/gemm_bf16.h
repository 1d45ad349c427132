/* SPDX-License-Identifier: BSD-2-Clause
 * gemm_bf16.h - products of bf16 weights in bf16: activations are rounded to bf16 (to nearest
 * even: up to 2^-8 of each), products of pairs are summed in f32.  The including file defines
 *
 *     BMR, BNV          tile
 *     bf16_dp(s, w, x)  s plus, in each lane, two products of bf16
 */

enum { BNR = BNV * VW };

/* Bytes that gemv prefetches ahead.  512 is as good; with 4096 or without prefetching a token takes 1.05 to 1.2
 * times as long (Zen 4). */
enum { BF16_AHEAD = 1024 };

/* Rounds the bits of floats to bf16: to nearest, ties to even; a NaN stays one. */
INLINE vh bf16_of(vu u)
{
    const vu nan = (vu)((u & 0x7fffffff) > 0x7f800000);
    const vu near = u + 0x7fff + (u >> 16 & 1);

    return __builtin_convertvector((near ^ ((near ^ (u | 0x400000)) & nan)) >> 16, vh);
}

static void FN(prepare_bf16)(void *to, const float *x, size_t n)
{
    uint16_t *p = to;
    size_t i = 0;
    vu u = { 0 };
    vh h;

    for (; i + VW <= n; i += VW) {
        memcpy(&u, x + i, sizeof u);
        h = bf16_of(u);
        memcpy(p + i, &h, sizeof h);
    }
    memcpy(&u, x + i, (n - i) * sizeof *x);
    h = bf16_of(u);
    memcpy(p + i, &h, (n - i) * sizeof *p);
}

/* Interleaves a cache line, or a pair, of each of 16 rows; rows from `rows` on are zeros. */
INLINE void pack_lines(uint8_t *to, const uint8_t *w, size_t stride, size_t rows, size_t bytes)
{
    const size_t part = bytes < 32 ? bytes : 32;

    for (size_t at = 0; at < bytes; at += 32)
        for (size_t g = 0; g < 16; g += 8) {
            v8i r[8];

UNROLL
            for (size_t x = 0; x < 8; x++) {
                r[x] = (v8i){ 0 };
                if (g + x < rows)
                    memcpy(&r[x], w + (g + x) * stride + at, part);
            }
            transpose8(r);
UNROLL
            for (size_t x = 0; x < part / 4; x++)
                *(v8iu *)(void *)(to + (at / 4 + x) * 4 * BNR + 4 * g) = r[x];
        }
}

/* panel[k / 2][BNR][2], 16 rows at a time, each of them in its own page.  With more rows at once every line
 * arrives late; with fewer, lines of the panel are written in parts. */
static void FN(pack_bf16)(void *panel, const void *w, size_t stride, size_t n, size_t k)
{
    for (size_t j = 0; j < BNR; j += 16) {
        const uint8_t *from = (const uint8_t *)w + j * stride;
        const size_t rows = j < n ? n - j : 0;
        uint8_t *to = (uint8_t *)panel + 4 * j;
        size_t i = 0;

        for (; i + 32 <= k; i += 32, from += 64, to += 16 * 4 * BNR)
            if (rows >= 16)
                pack_lines(to, from, stride, 16, 64);
            else
                pack_lines(to, from, stride, rows, 64);
        for (; i < k; i += 2, from += 4, to += 4 * BNR)
            pack_lines(to, from, stride, rows, 4);
    }
}

INLINE void bf16_tile(int mr, float *c, size_t ldc, const uint8_t *x, size_t ldx, const uint8_t *w,
                      size_t n, size_t k, int add)
{
    vf acc[8][4];

#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < BNV; j++)
            acc[r][j] = splat(0);
    for (size_t i = 0; i < k / 2; i++, x += 4, w += 4 * BNR) {
        vi u[4];
#pragma GCC unroll 4
        for (int j = 0; j < BNV; j++)
            u[j] = load_i(w + (size_t)j * VW * 4);
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++) {
            vi q = isplat(four(x + (size_t)r * ldx));
#pragma GCC unroll 4
            for (int j = 0; j < BNV; j++)
                acc[r][j] = bf16_dp(acc[r][j], u[j], q);
        }
    }
    tile_store(mr, BNV, c, ldc, acc, n, add);
}

static void FN(gemm_bf16)(float *c, size_t ldc, const void *x, size_t ldx, const void *panels,
                          size_t m, size_t n, size_t k, int add)
{
    const uint8_t *w = panels, *rows = x;

    for (size_t j = 0; j < n; j += BNR, w += k / 2 * 4 * BNR) {
        size_t nj = n - j < BNR ? n - j : BNR, r = 0;

        for (; r + BMR <= m; r += BMR)
            bf16_tile(BMR, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
        for (; r < m; r++)
            bf16_tile(1, c + r * ldc + j, ldc, rows + r * ldx, ldx, w, nj, k, add);
    }
}

/* Two rows times x; sums in the same order as in formats.h. */
INLINE void bf16_rows(float y[2], const uint8_t *const w[2], const uint8_t *x, size_t n)
{
    vf s[2][4] = { 0 };
    float tail[2] = { 0 };
    size_t i = 0;

    for (; i + 8 * VW <= n; i += 8 * VW) {
        const uint8_t *const at[2] = { w[0] + 2 * i, w[1] + 2 * i };

        fetch_pair(at, 16 * VW, BF16_AHEAD, 0);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++)
                s[k][j] = bf16_dp(s[k][j], load_i(at[k] + 4 * VW * j), load_i(x + 2 * i + 4 * VW * j));
    }
    for (; i + 2 * VW <= n; i += 2 * VW)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++)
            s[k][0] = bf16_dp(s[k][0], load_i(w[k] + 2 * i), load_i(x + 2 * i));
    for (; i < n; i++)
        for (int k = 0; k < 2; k++) {
            uint16_t a, b;

            memcpy(&a, w[k] + 2 * i, sizeof a);
            memcpy(&b, x + 2 * i, sizeof b);
            tail[k] = fused1(from_bf16((vh){ a })[0], from_bf16((vh){ b })[0], tail[k]);
        }
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++)
        y[k] = vsum((s[k][0] + s[k][1]) + (s[k][2] + s[k][3])) + tail[k];
}

static void FN(gemv_bf16)(float *y, const struct gkv__band *w, const void *x, size_t n, int add)
{
    for (size_t o = w->from; o < w->to; o++) {
        const struct pair r = pair_of(w, o);
        float sum[2];

        bf16_rows(sum, r.row, x, n);
        put_pair(y, r, sum, add);
    }
}

static void FN(fill_bf16)(struct gkv__simd *k)
{
    k->product[GKV__TYPE_BF16] = (struct gkv__product){
        "bf16", 2, 4, 4, BNR, 512, FN(prepare_bf16), FN(pack_bf16), FN(gemm_bf16),
        FN(prepare_bf16), FN(gemv_bf16), NULL };
}
