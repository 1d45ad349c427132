/* SPDX-License-Identifier: BSD-2-Clause
 * rows.h - operations on one row at a time. */

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
    return g * inverse(1.0f + vexp2(g * -1.44269504088896341f));
}

/* x / 2 (1 + tanh(u)) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3) */
INLINE vf gelu(vf x)
{
    return x / (1.0f + vexp2(x * fused(x * x, splat(-0.10294324f), splat(-2.3022082f))));
}

static void FN(swiglu)(float *g, const float *u, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(g + i, silu(load(g + i)) * load(u + i));
    for (; i < n; i++)
        g[i] = silu((vf){ g[i] })[0] * u[i];
}

static void FN(softmax_sum)(float *m, float *l, const float *s, size_t n)
{
    vf top = splat(*m), sum = splat(0);
    float max = *m, rest = 0;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        top = vmax(load(s + i), top);
    for (int j = 0; j < VW; j++)
        max = top[j] > max ? top[j] : max;
    for (; i < n; i++)
        max = s[i] > max ? s[i] : max;
    top = splat(max);
    for (i = 0; i + VW <= n; i += VW)
        sum += vexp2(load(s + i) - top);
    for (; i < n; i++)
        rest += vexp2(splat(s[i] - max))[0];
    *l = fused1(*l, vexp2(splat(*m - max))[0], vsum(sum) + rest);
    *m = max;
}

static void FN(softmax_add)(float *y, const float *s, size_t n, float m, float weight)
{
    const vf max = splat(m);
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(y + i, fused(splat(weight), vexp2(load(s + i) - max), load(y + i)));
    for (; i < n; i++)
        y[i] = fused1(weight, vexp2(splat(s[i] - m))[0], y[i]);
}

static void FN(geglu)(float *g, const float *u, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(g + i, gelu(load(g + i)) * load(u + i));
    for (; i < n; i++)
        g[i] = gelu((vf){ g[i] })[0] * u[i];
}

static void FN(softcap)(float *x, size_t n, float cap)
{
    const float inv = 1 / cap;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(x + i, vtanh(load(x + i) * inv) * cap);
    for (; i < n; i++)
        x[i] = vtanh((vf){ x[i] * inv })[0] * cap;
}
