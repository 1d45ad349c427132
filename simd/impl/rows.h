/* SPDX-License-Identifier: BSD-2-Clause
 * rows.h - what is done to one row at a time. */

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
