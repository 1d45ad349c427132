/* SPDX-License-Identifier: BSD-2-Clause
 * ref.c - the truth, in plain C: what every other level is compared with. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "simd/simd.h"

enum { NR = 8, LANES = 8 };

static void unpack_f32_ref(const void *src, float *dst, size_t n)
{
    gkv__quant_of(GKV__TYPE_F32)->to_f32(src, dst, n);
}

static void unpack_f16_ref(const void *src, float *dst, size_t n)
{
    gkv__quant_of(GKV__TYPE_F16)->to_f32(src, dst, n);
}

static void unpack_bf16_ref(const void *src, float *dst, size_t n)
{
    gkv__quant_of(GKV__TYPE_BF16)->to_f32(src, dst, n);
}

static void unpack_q8_0_ref(const void *src, float *dst, size_t n)
{
    gkv__quant_of(GKV__TYPE_Q8_0)->to_f32(src, dst, n);
}

static void unpack_q4_0_ref(const void *src, float *dst, size_t n)
{
    gkv__quant_of(GKV__TYPE_Q4_0)->to_f32(src, dst, n);
}

/* All dot products unpack a block and sum in order. */
static float dot_ref(enum gkv__type type, const void *w, const float *x, size_t n)
{
    const struct gkv__quant *q = gkv__quant_of(type);
    const uint8_t *p = w;
    float buf[256], sum = 0;

    for (size_t i = 0; i < n; i += q->block, p += q->bytes) {
        q->to_f32(p, buf, q->block);
        for (size_t j = 0; j < q->block; j++)
            sum += buf[j] * x[i + j];
    }
    return sum;
}

static float dot_f32_ref(const void *w, const float *x, size_t n)
{
    return dot_ref(GKV__TYPE_F32, w, x, n);
}

static float dot_f16_ref(const void *w, const float *x, size_t n)
{
    return dot_ref(GKV__TYPE_F16, w, x, n);
}

static float dot_bf16_ref(const void *w, const float *x, size_t n)
{
    return dot_ref(GKV__TYPE_BF16, w, x, n);
}

static float dot_q8_0_ref(const void *w, const float *x, size_t n)
{
    return dot_ref(GKV__TYPE_Q8_0, w, x, n);
}

static float dot_q4_0_ref(const void *w, const float *x, size_t n)
{
    return dot_ref(GKV__TYPE_Q4_0, w, x, n);
}

static void pack_ref(float *panel, const float *w, size_t ldw, size_t n, size_t k)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < NR; j++)
            panel[i * NR + j] = j < n ? w[j * ldw + i] : 0;
}

static void gemm_ref(float *c, size_t ldc, const float *a, size_t lda, const float *panels,
                     size_t m, size_t n, size_t k, int add)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            const float *b = panels + j / NR * NR * k + j % NR;
            float sum = 0;
            for (size_t i = 0; i < k; i++)
                sum += a[r * lda + i] * b[i * NR];
            c[r * ldc + j] = add ? c[r * ldc + j] + sum : sum;
        }
}

static void attend_ref(float *ot, float *m, float *l, const float *qt, const float *k,
                       const float *v, size_t nk, size_t d, const int32_t *vis, float *s)
{
    for (size_t i = 0; i < LANES; i++) {
        size_t n = vis ? (size_t)(vis[i] < 0 ? 0 : vis[i]) : nk;
        float max = m[i], sum = 0, scale;

        for (size_t j = 0; j < n; j++) {
            float dot = 0;
            for (size_t x = 0; x < d; x++)
                dot += qt[x * LANES + i] * k[j * d + x];
            s[j * LANES + i] = dot;
            max = dot > max ? dot : max;
        }
        scale = exp2f(m[i] - max);
        for (size_t x = 0; x < d; x++)
            ot[x * LANES + i] *= scale;
        for (size_t j = 0; j < n; j++) {
            float p = exp2f(s[j * LANES + i] - max);
            sum += p;
            for (size_t x = 0; x < d; x++)
                ot[x * LANES + i] += p * v[j * d + x];
        }
        l[i] = l[i] * scale + sum;
        m[i] = max;
    }
}

static void rmsnorm_ref(float *y, const float *x, const float *w, size_t n, float eps)
{
    double sum = 0;
    float scale;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    scale = (float)(1 / sqrt(sum / (double)n + eps));
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * scale * w[i];
}

static void swiglu_ref(float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        g[i] = g[i] / (1 + expf(-g[i])) * u[i];
}

void gkv__simd_ref(struct gkv__simd *k)
{
    k->unpack[GKV__TYPE_F32] = unpack_f32_ref;
    k->unpack[GKV__TYPE_F16] = unpack_f16_ref;
    k->unpack[GKV__TYPE_BF16] = unpack_bf16_ref;
    k->unpack[GKV__TYPE_Q8_0] = unpack_q8_0_ref;
    k->unpack[GKV__TYPE_Q4_0] = unpack_q4_0_ref;
    k->dot[GKV__TYPE_F32] = dot_f32_ref;
    k->dot[GKV__TYPE_F16] = dot_f16_ref;
    k->dot[GKV__TYPE_BF16] = dot_bf16_ref;
    k->dot[GKV__TYPE_Q8_0] = dot_q8_0_ref;
    k->dot[GKV__TYPE_Q4_0] = dot_q4_0_ref;
    k->pack = pack_ref;
    k->gemm = gemm_ref;
    k->nr = NR;
    k->attend = attend_ref;
    k->lanes = LANES;
    k->rmsnorm = rmsnorm_ref;
    k->swiglu = swiglu_ref;
}
