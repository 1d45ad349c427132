/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.h - blocks of rows times panels of weights, in f32. */

static void FN(pack)(float *panel, const float *w, size_t ldw, size_t n, size_t k)
{
    size_t i = 0;

    if (n < NR)
        memset(panel, 0, k * NR * sizeof *panel);
    for (; i + 8 <= k; i += 8)                  /* a cache line of the panel's rows at a time */
        for (size_t j = 0; j < n; j++)
            for (size_t x = 0; x < 8; x++)
                panel[(i + x) * NR + j] = w[j * ldw + i + x];
    for (; i < k; i++)
        for (size_t j = 0; j < n; j++)
            panel[i * NR + j] = w[j * ldw + i];
}

/* acc[mr][nv] += a[mr, k] b[k, nv], mr and nv constants: accumulators stay in registers. */
INLINE void tile(int mr, int nv, vf acc[][4], const float *a, size_t lda, const float *b,
                 size_t ldb, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        vf row[4];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            row[j] = load(b + i * ldb + (size_t)j * VW);
#pragma GCC unroll 16
        for (int r = 0; r < mr; r++) {
            float x = one_lane(a[(size_t)r * lda + i]);
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                acc[r][j] = fused(row[j], splat(x), acc[r][j]);
        }
    }
}

INLINE void gemm_tile(int mr, float *c, size_t ldc, const float *a, size_t lda,
                      const float *b, size_t n, size_t k, int add)
{
    vf acc[16][4];

#pragma GCC unroll 16
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++)
            acc[r][j] = splat(0);
    tile(mr, NV, acc, a, lda, b, NR, k);
    if (n == NR) {
#pragma GCC unroll 16
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++) {
                float *p = c + (size_t)r * ldc + (size_t)j * VW;
                store(p, add ? load(p) + acc[r][j] : acc[r][j]);
            }
    } else {
        float buf[16 * NR];
#pragma GCC unroll 16
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++)
                store(buf + r * NR + j * VW, acc[r][j]);
        for (int r = 0; r < mr; r++)
            for (size_t j = 0; j < n; j++) {
                float *p = c + (size_t)r * ldc + j;
                *p = add ? *p + buf[(size_t)r * NR + j] : buf[(size_t)r * NR + j];
            }
    }
}

static void FN(gemm)(float *c, size_t ldc, const float *a, size_t lda, const float *panels,
                     size_t m, size_t n, size_t k, int add)
{
    for (size_t j = 0; j < n; j += NR, panels += k * NR) {
        size_t nj = n - j < NR ? n - j : NR, r = 0;

        for (; r + MR <= m; r += MR)
            gemm_tile(MR, c + r * ldc + j, ldc, a + r * lda, lda, panels, nj, k, add);
        for (; r + 2 <= m; r += 2)
            gemm_tile(2, c + r * ldc + j, ldc, a + r * lda, lda, panels, nj, k, add);
        if (r < m)
            gemm_tile(1, c + r * ldc + j, ldc, a + r * lda, lda, panels, nj, k, add);
    }
}
