/* SPDX-License-Identifier: BSD-2-Clause
 * vec_impl.h - kernel bodies written once over the compiler's vector types, compiled per
 * instruction set.  The including file defines
 *
 *     SUFFIX     name of the level, ends every function so that objdump tells the truth
 *     VW         floats in a vector register
 *     MR, NV     GEMM tile: MR rows of NV vectors of accumulators; MR * NV + NV + 1 registers
 *     AMR, ANV   the same for attention, where the vectors hold query rows
 *
 * Both tiles broadcast one scalar of A against NV vectors of B.  In attention the vectors run
 * over queries, so that maximum, exponential and sum are vertical, K and V are read as they
 * are stored, and nothing is ever transposed but Q once. */

#include <math.h>
#include <string.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, SUFFIX)
#define INLINE static inline __attribute__((always_inline))

enum { NR = NV * VW, LANES = ANV * VW };

typedef float   vf __attribute__((vector_size(VW * 4)));
typedef int32_t vi __attribute__((vector_size(VW * 4)));
typedef float   vfu __attribute__((vector_size(VW * 4), aligned(4), may_alias));
typedef int8_t  vb __attribute__((vector_size(VW)));
typedef uint8_t vub __attribute__((vector_size(VW)));
typedef int8_t  vbu __attribute__((vector_size(VW), aligned(1), may_alias));
typedef uint16_t vh __attribute__((vector_size(VW * 2)));
typedef uint16_t vhu __attribute__((vector_size(VW * 2), aligned(2), may_alias));
typedef uint32_t vu __attribute__((vector_size(VW * 4)));

INLINE vf load(const float *p) { return *(const vfu *)p; }
INLINE void store(float *p, vf v) { *(vfu *)p = v; }
INLINE vf splat(float x) { return x - (vf){ 0 }; }
INLINE vf pick(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }
INLINE vf vmax(vf a, vf b) { return pick(a > b, a, b); }

INLINE float vsum(vf v)
{
    float lane[VW], sum = 0;

    store(lane, v);
    for (int w = VW / 2; w > 0; w /= 2)         /* pairwise: smaller error than in order */
        for (int i = 0; i < w; i++)
            lane[i] += lane[i + w];
    sum = lane[0];
    return sum;
}

/* 2^x to 1.5 ulp for x in [-126, 126]; 0 below, 2^126 above.  Cody-Waite split at the nearest
 * integer, polynomial of degree 6 by interpolation at Chebyshev points of [-1/2, 1/2]. */
INLINE vf vexp2(vf x)
{
    const vf magic = splat(12582912.0f);        /* 1.5 * 2^23: adding it rounds to integer */
    vi ok = x >= -126.0f;
    vf y, r, f, p;

    y = pick(x > 126.0f, splat(126.0f), x);
    y = pick(ok, y, splat(-126.0f));
    r = y + magic;
    f = y - (r - magic);
    p = splat(0.00015337577497120947f);
    p = p * f + 0.0013399859890341759f;
    p = p * f + 0.009618519805371761f;
    p = p * f + 0.05550329014658928f;
    p = p * f + 0.24022646248340607f;
    p = p * f + 0.6931471824645996f;
    p = p * f + 1.0f;
    return (vf)(((vi)p + ((vi)r << 23)) & ok);
}

/* binary16 to binary32 by shifting the exponent into place and scaling: exact, subnormals
 * included; only infinity and NaN need their exponent mended. */
INLINE vf from_f16(vh h)
{
    vu w = __builtin_convertvector(h, vu);
    vu m = (w & 0x7fff) << 13, sign = (w & 0x8000) << 16;
    vf f = (vf)m * 0x1p112f;
    vu inf = (vu)(m >= (0x7c00u << 13));

    return (vf)((vu)f | (inf & 0x7f800000u) | sign);
}

INLINE float half(uint16_t h)
{
    return from_f16((vh){ h })[0];
}

/* ---- formats ---------------------------------------------------------------------------- */

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

/* ---- GEMM ------------------------------------------------------------------------------- */

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
            float x = a[(size_t)r * lda + i];
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                acc[r][j] += row[j] * x;
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

/* ---- attention -------------------------------------------------------------------------- */

/* s[mr][lanes] = k[mr, d] qt[d, lanes] */
INLINE void scores(int mr, float *s, const float *k, const float *qt, size_t d)
{
    vf acc[16][4];

#pragma GCC unroll 16
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < ANV; j++)
            acc[r][j] = splat(0);
    tile(mr, ANV, acc, k, d, qt, LANES, d);
#pragma GCC unroll 16
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < ANV; j++)
            store(s + r * LANES + j * VW, acc[r][j]);
}

/* ot[mr][lanes] = ot * scale[lanes] + v[nk, mr]^T p[nk, lanes], rows of v d apart */
INLINE void values(int mr, float *ot, const vf *scale, const float *v, size_t d,
                   const float *p, size_t nk)
{
    vf acc[16][4];

#pragma GCC unroll 16
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < ANV; j++)
            acc[r][j] = load(ot + r * LANES + j * VW) * scale[j];
    for (size_t i = 0; i < nk; i++) {
        vf row[4];
#pragma GCC unroll 4
        for (int j = 0; j < ANV; j++)
            row[j] = load(p + i * LANES + (size_t)j * VW);
#pragma GCC unroll 16
        for (int r = 0; r < mr; r++) {
            float x = v[i * d + (size_t)r];
#pragma GCC unroll 4
            for (int j = 0; j < ANV; j++)
                acc[r][j] += row[j] * x;
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int j = 0; j < ANV; j++)
            store(ot + r * LANES + j * VW, acc[r][j]);
}

static void FN(attend)(float *ot, float *m, float *l, const float *qt, const float *k,
                       const float *v, size_t nk, size_t d, const int32_t *vis, float *s)
{
    vf max[ANV], sum[ANV], scale[ANV];
    size_t i = 0;

    for (; i + AMR <= nk; i += AMR)
        scores(AMR, s + i * LANES, k + i * d, qt, d);
    for (; i < nk; i++)
        scores(1, s + i * LANES, k + i * d, qt, d);

    if (vis)            /* far below any score: exp2 gives exactly 0 */
        for (i = 0; i < nk; i++)
            for (int j = 0; j < LANES; j++)
                if ((int32_t)i >= vis[j])
                    s[i * LANES + (size_t)j] = 3 * GKV__ATTEND_MIN;

    for (int j = 0; j < ANV; j++)
        max[j] = load(m + j * VW);
    for (i = 0; i < nk; i++)
        for (int j = 0; j < ANV; j++)
            max[j] = vmax(load(s + i * LANES + (size_t)j * VW), max[j]);
    for (int j = 0; j < ANV; j++) {
        scale[j] = vexp2(load(m + j * VW) - max[j]);
        store(m + j * VW, max[j]);
        sum[j] = load(l + j * VW) * scale[j];
    }
    for (i = 0; i < nk; i++)
        for (int j = 0; j < ANV; j++) {
            float *p = s + i * LANES + (size_t)j * VW;
            vf e = vexp2(load(p) - max[j]);
            sum[j] += e;
            store(p, e);
        }
    for (int j = 0; j < ANV; j++)
        store(l + j * VW, sum[j]);

    for (i = 0; i + AMR <= d; i += AMR)
        values(AMR, ot + i * LANES, scale, v + i, d, s, nk);
    for (; i < d; i++)
        values(1, ot + i * LANES, scale, v + i, d, s, nk);
}

/* ---- rows ------------------------------------------------------------------------------- */

static void FN(rmsnorm)(float *y, const float *x, const float *w, size_t n, float eps)
{
    float scale = 1 / sqrtf(FN(dot_f32)(x, x, n) / (float)n + eps);
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(y + i, load(x + i) * scale * load(w + i));
    for (; i < n; i++)
        y[i] = x[i] * scale * w[i];
}

INLINE vf silu(vf g)
{
    return g / (1.0f + vexp2(g * -1.44269504088896341f));
}

static void FN(swiglu)(float *g, const float *u, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(g + i, silu(load(g + i)) * load(u + i));
    for (; i < n; i++)
        g[i] = silu((vf){ g[i] })[0] * u[i];
}

static void FN(fill)(struct gkv__simd *k)
{
    k->unpack[GKV__TYPE_F16] = FN(unpack_f16);
    k->unpack[GKV__TYPE_BF16] = FN(unpack_bf16);
    k->unpack[GKV__TYPE_Q8_0] = FN(unpack_q8_0);
    k->unpack[GKV__TYPE_Q4_0] = FN(unpack_q4_0);
    k->dot[GKV__TYPE_F32] = FN(dot_f32);
    k->dot[GKV__TYPE_F16] = FN(dot_f16);
    k->dot[GKV__TYPE_BF16] = FN(dot_bf16);
    k->dot[GKV__TYPE_Q8_0] = FN(dot_q8_0);
    k->dot[GKV__TYPE_Q4_0] = FN(dot_q4_0);
    k->pack = FN(pack);
    k->gemm = FN(gemm);
    k->nr = NR;
    k->attend = FN(attend);
    k->lanes = LANES;
    k->rmsnorm = FN(rmsnorm);
    k->swiglu = FN(swiglu);
}
