/* SPDX-License-Identifier: BSD-2-Clause
 * ref.c - plain C: the reference that every other level is compared with. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "simd/simd.h"

enum { NR = 8, LANES = 8 };

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

#define DOT(TYPE, type, ...)                                                                \
    static float dot_##type##_ref(const void *w, const float *x, size_t n)                  \
    {                                                                                       \
        return dot_ref(GKV__TYPE_##TYPE, w, x, n);                                          \
    }
GKV__TYPES(DOT)

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

/* The first key that query i sees, and the key after the last, in 0 .. nk. */
static size_t first_seen(const struct gkv__sight *see, size_t i)
{
    return see && see->from && see->from[i] > 0 ? (size_t)see->from[i] : 0;
}

static size_t last_seen(const struct gkv__sight *see, size_t i, size_t nk)
{
    const int64_t to = see && see->to ? see->to[i] : (int64_t)nk;

    return to < 0 ? 0 : (size_t)to < nk ? (size_t)to : nk;
}

static float capped(const struct gkv__sight *see, float score)
{
    return see && see->cap > 0 ? see->cap * tanhf(score / see->cap) : score;
}

static void attend_ref(float *ot, float *m, float *l, const void *q, const void *keys,
                       const void *vals, size_t nk, size_t d, const struct gkv__sight *see,
                       float *s)
{
    const float *qt = q, *k = keys, *v = vals;

    for (size_t i = 0; i < LANES; i++) {
        const size_t from = first_seen(see, i), n = last_seen(see, i, nk);
        float max = m[i], sum = 0, scale;

        for (size_t j = from; j < n; j++) {
            float dot = 0;
            for (size_t x = 0; x < d; x++)
                dot += qt[x * LANES + i] * k[j * d + x];
            dot = capped(see, dot);
            s[j * LANES + i] = dot;
            max = dot > max ? dot : max;
        }
        scale = exp2f(m[i] - max);
        for (size_t x = 0; x < d; x++)
            ot[x * LANES + i] *= scale;
        for (size_t j = from; j < n; j++) {
            float p = exp2f(s[j * LANES + i] - max);
            sum += p;
            for (size_t x = 0; x < d; x++)
                ot[x * LANES + i] += p * v[j * d + x];
        }
        l[i] = l[i] * scale + sum;
        m[i] = max;
    }
}

static void few_ref(enum gkv__type type, float *o, float *m, float *l, const float *q,
                    const void *k, const void *v, size_t rows, size_t nk, size_t d,
                    const struct gkv__sight *see)
{
    const struct gkv__quant *t = gkv__quant_of(type);
    const uint8_t *kb = k, *vb = v;
    const size_t bytes = d / t->block * t->bytes;

    for (size_t r = 0; r < rows; r++, o += GKV__FEW_ROW(d), q += GKV__FEW_ROW(d))
        for (size_t i = first_seen(see, r); i < last_seen(see, r, nk); i++) {
            float s = 0, x[32], scale, p;       /* the longest block of a cache has 32 */
            for (size_t j = 0; j < d; j++) {
                if (j % t->block == 0)
                    t->to_f32(kb + i * bytes + j / t->block * t->bytes, x, t->block);
                s += x[j % t->block] * q[j];
            }
            s = capped(see, s);
            scale = s > m[r] ? exp2f(m[r] - s) : 1;
            m[r] = s > m[r] ? s : m[r];
            p = exp2f(s - m[r]);
            l[r] = l[r] * scale + p;
            for (size_t j = 0; j < d; j++) {
                if (j % t->block == 0)
                    t->to_f32(vb + i * bytes + j / t->block * t->bytes, x, t->block);
                o[j] = o[j] * scale + p * x[j % t->block];
            }
        }
}

static void attend_few_f32_ref(float *o, float *m, float *l, float *q, const void *k,
                               const void *v, size_t rows, size_t nk, size_t d,
                               const struct gkv__sight *see)
{
    few_ref(GKV__TYPE_F32, o, m, l, q, k, v, rows, nk, d, see);
}

static void attend_few_f16_ref(float *o, float *m, float *l, float *q, const void *k,
                               const void *v, size_t rows, size_t nk, size_t d,
                               const struct gkv__sight *see)
{
    few_ref(GKV__TYPE_F16, o, m, l, q, k, v, rows, nk, d, see);
}

static void attend_few_bf16_ref(float *o, float *m, float *l, float *q, const void *k,
                                const void *v, size_t rows, size_t nk, size_t d,
                                const struct gkv__sight *see)
{
    few_ref(GKV__TYPE_BF16, o, m, l, q, k, v, rows, nk, d, see);
}

static void attend_few_q8_0_ref(float *o, float *m, float *l, float *q, const void *k,
                                const void *v, size_t rows, size_t nk, size_t d,
                                const struct gkv__sight *see)
{
    few_ref(GKV__TYPE_Q8_0, o, m, l, q, k, v, rows, nk, d, see);
}

static void attend_few_q4_0_ref(float *o, float *m, float *l, float *q, const void *k,
                                const void *v, size_t rows, size_t nk, size_t d,
                                const struct gkv__sight *see)
{
    few_ref(GKV__TYPE_Q4_0, o, m, l, q, k, v, rows, nk, d, see);
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

static void softmax_sum_ref(float *m, float *l, const float *s, size_t n)
{
    float max = *m;
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        max = s[i] > max ? s[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += (double)exp2f(s[i] - max);
    *l = (float)((double)(*l * exp2f(*m - max)) + sum);
    *m = max;
}

static void softmax_add_ref(float *y, const float *s, size_t n, float m, float weight)
{
    for (size_t i = 0; i < n; i++)
        y[i] += weight * exp2f(s[i] - m);
}

static void geglu_ref(float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = g[i], t = 1.59576912f * (x + 0.044715f * x * x * x);
        g[i] = x / (1 + expf(-t)) * u[i];
    }
}

static void softcap_ref(float *x, size_t n, float cap)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * tanhf(x[i] / cap);
}

static void gate_ref(float *x, const float *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= 1 / (1 + expf(-g[i]));
}

/* ---- layers with a state ---------------------------------------------------------------- */

static void convolve_ref(float *y, size_t ldy, const float *const *x, const float *w, const float *bias, size_t rows,
                         size_t width, size_t n, int act)
{
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < n; c++) {
            float s = bias ? bias[c] : 0;

            for (size_t i = 0; i < width; i++)
                s += x[t + i][c] * w[c * width + i];
            y[t * ldy + c] = act ? s / (1 + expf(-s)) : s;
        }
}

static void rates_ref(float *b, float *a, const float *dt, const float *decay, size_t n, int same)
{
    for (size_t i = 0; i < n; i++) {
        const float x = a[i] + dt[i], rate = x > 20 ? x : log1pf(expf(x));

        b[i] = same ? rate : 1 / (1 + expf(-b[i]));
        a[i] = decay[i] * rate;
    }
}

static void weigh_ref(float *a, float *p, size_t ld, const float *g, const float *b, float *from, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        from[i] = expf(g[i]);
        to[i] = expf(g[n - 1] - g[i]);
        for (size_t x = 0; x < n; x++) {
            const float decay = x <= i ? expf(g[i] - g[x]) : 0;

            p[i * ld + x] = x <= i ? p[i * ld + x] * decay : 0;
            if (a)
                a[i * ld + x] = x < i ? a[i * ld + x] * -b[i] * decay : 0;
        }
    }
}

static void scale_ref(float *x, size_t ld, const float *by, size_t rows, size_t n)
{
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < n; i++)
            x[t * ld + i] *= by[t];
}

static void solve_ref(float *u, size_t ldu, const float *a, size_t lda, size_t rows, size_t n)
{
    for (size_t i = 1; i < rows; i++)
        for (size_t x = 0; x < i; x++)
            for (size_t c = 0; c < n; c++)
                u[i * ldu + c] += a[i * lda + x] * u[x * ldu + c];
}

static void product_ref(float *c, size_t ldc, const float *a, size_t row, size_t column, const float *b, size_t ldb,
                        size_t m, size_t n, size_t k, float scale)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++)
            c[r * ldc + j] = scale != 0 ? c[r * ldc + j] * scale : 0;
    for (size_t r = 0; r < m; r++)
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++)
                c[r * ldc + j] += a[r * row + i * column] * b[i * ldb + j];
}

static void multiply_ref(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m,
                         size_t n, size_t k, float scale)
{
    product_ref(c, ldc, a, lda, 1, b, ldb, m, n, k, scale);
}

static void multiply_turned_ref(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m,
                                size_t n, size_t k, float scale)
{
    product_ref(c, ldc, a, 1, lda, b, ldb, m, n, k, scale);
}

static void step_ref(float *o, float *s, size_t lds, const float *k, const float *q, const float *v, float a, float b,
                     size_t dk, size_t n, int correct)
{
    for (size_t c = 0; c < n; c++) {
        float sum = 0, u;

        for (size_t i = 0; correct && i < dk; i++)
            sum += a * s[i * lds + c] * k[i];
        u = b * (v[c] - sum);
        o[c] = 0;
        for (size_t i = 0; i < dk; i++) {
            s[i * lds + c] = a * s[i * lds + c] + k[i] * u;
            o[c] += s[i * lds + c] * q[i];
        }
    }
}

void gkv__simd_ref(struct gkv__simd *k)
{
    for (int t = 0; t < GKV__N_TYPES; t++)
        k->unpack[t] = gkv__quant_of((enum gkv__type)t)->to_f32;
#define SLOT(TYPE, type, ...) k->dot[GKV__TYPE_##TYPE] = dot_##type##_ref;
    GKV__TYPES(SLOT)
    k->pack = pack_ref;
    k->gemm = gemm_ref;
    k->nr = NR;
    k->attend = (struct gkv__attend){ "f32", GKV__TYPE_F32, 6, LANES, 128, 0, NULL, NULL, NULL, attend_ref };
    k->attend_few[GKV__TYPE_F32] = attend_few_f32_ref;
    k->attend_few[GKV__TYPE_F16] = attend_few_f16_ref;
    k->attend_few[GKV__TYPE_BF16] = attend_few_bf16_ref;
    k->attend_few[GKV__TYPE_Q8_0] = attend_few_q8_0_ref;
    k->attend_few[GKV__TYPE_Q4_0] = attend_few_q4_0_ref;
    k->rmsnorm = rmsnorm_ref;
    k->swiglu = swiglu_ref;
    k->softmax_sum = softmax_sum_ref;
    k->softmax_add = softmax_add_ref;
    k->geglu = geglu_ref;
    k->softcap = softcap_ref;
    k->gate = gate_ref;
    k->state = (struct gkv__state_kernels){
        .convolve = convolve_ref, .rates = rates_ref, .weigh = weigh_ref, .scale = scale_ref, .solve = solve_ref,
        .multiply = multiply_ref, .multiply_turned = multiply_turned_ref, .step = step_ref,
    };
}
