/* SPDX-License-Identifier: BSD-2-Clause
 * state.h - layers with a state: the convolution, rates and decays, products of a tile of rows, and the rule itself
 * for one row. */

/* ---- the convolution -------------------------------------------------------------------- */

INLINE void convolve_columns(size_t width, float *y, size_t ldy, const float *const *x, const float *w,
                             const float *bias, size_t rows, size_t c, int act)
{
    const vf first = bias ? load(bias + c) : splat(0);
    vf weight[CONVOLVE_MOST];

    for (size_t i = 0; i < width; i++) {
        vf column = splat(0);

        for (size_t j = 0; j < VW; j++)
            column[j] = w[(c + j) * width + i];
        weight[i] = column;
    }
    for (size_t t = 0; t < rows; t++) {
        vf s = first;

        for (size_t i = 0; i < width; i++)
            s = fused(load(x[t + i] + c), weight[i], s);
        store(y + t * ldy + c, act ? silu(s) : s);
    }
}

static void FN(convolve)(float *y, size_t ldy, const float *const *x, const float *w, const float *bias, size_t rows,
                         size_t width, size_t n, int act)
{
    size_t c = 0;

    for (; c + VW <= n; c += VW)
        if (width == 4)                         /* the weights stay in registers             */
            convolve_columns(4, y, ldy, x, w, bias, rows, c, act);
        else if (width == 3)
            convolve_columns(3, y, ldy, x, w, bias, rows, c, act);
        else
            convolve_columns(width, y, ldy, x, w, bias, rows, c, act);
    for (; c < n; c++)
        for (size_t t = 0; t < rows; t++) {
            float s = bias ? bias[c] : 0;

            for (size_t i = 0; i < width; i++)
                s = fused1(x[t + i][c], w[c * width + i], s);
            y[t * ldy + c] = act ? silu((vf){ s })[0] : s;
        }
}

/* ---- rates and decays ------------------------------------------------------------------- */

INLINE vf sigmoid(vf x)
{
    return inverse(1.0f + vexp2(x * -1.44269504088896341f));
}

/* log(1 + e^x) = max(x, 0) + log(1 + z) with z = e^-|x|, and log(1 + z) = 2 artanh(z / (2 + z)).  The argument is at
 * most 1/3, so seven terms of the series leave 2^-26. */
INLINE vf softplus(vf x)
{
    const vf z = vexp2((vf)((vi)x | INT32_MIN) * 1.44269504088896341f), s = z / (z + 2.0f), q = s * s;
    vf p = splat(1.0f / 13);

    p = fused(p, q, splat(1.0f / 11));
    p = fused(p, q, splat(1.0f / 9));
    p = fused(p, q, splat(1.0f / 7));
    p = fused(p, q, splat(1.0f / 5));
    p = fused(p, q, splat(1.0f / 3));
    p = fused(p, q, splat(1.0f));
    return fused(2.0f * s, p, vmax(splat(0), x));
}

/* In lanes of one vector, of which n are used. */
INLINE void rates_of(float *b, float *a, const float *dt, const float *decay, size_t n, int same)
{
    float in[4][VW] = { { 0 } };
    vf rate;

    memcpy(in[0], b, n * sizeof *b);
    memcpy(in[1], a, n * sizeof *a);
    memcpy(in[2], dt, n * sizeof *dt);
    memcpy(in[3], decay, n * sizeof *decay);
    rate = softplus(load(in[1]) + load(in[2]));
    store(in[0], same ? rate : sigmoid(load(in[0])));
    store(in[1], load(in[3]) * rate);
    memcpy(b, in[0], n * sizeof *b);
    memcpy(a, in[1], n * sizeof *a);
}

static void FN(rates)(float *b, float *a, const float *dt, const float *decay, size_t n, int same)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        rates_of(b + i, a + i, dt + i, decay + i, VW, same);
    if (i < n)
        rates_of(b + i, a + i, dt + i, decay + i, n - i, same);
}

INLINE vf decay_of(vf x)
{
    return vexp2(x * 1.44269504088896341f);
}

static void FN(weigh)(float *a, float *p, size_t ld, const float *g, const float *b, float *from, float *to, size_t n)
{
    const size_t whole = (n + VW - 1) / VW * VW;
    vi lane;

    for (int j = 0; j < VW; j++)
        lane[j] = j;
    for (size_t x = 0; x < whole; x += VW) {
        store(from + x, decay_of(load(g + x)));
        store(to + x, decay_of(g[n - 1] - load(g + x)));
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t x = 0; x < whole; x += VW) {
            const int32_t last = (int32_t)i - (int32_t)x;       /* the lane on the diagonal   */
            vf decay, value;

            if (last < 0) {
                store(p + i * ld + x, splat(0));
                if (a)
                    store(a + i * ld + x, splat(0));
                continue;
            }
            decay = decay_of(g[i] - load(g + x));
            value = load(p + i * ld + x) * decay;
            store(p + i * ld + x, (vf)((vi)value & (lane <= last)));
            if (a) {
                value = load(a + i * ld + x) * decay * -b[i];
                store(a + i * ld + x, (vf)((vi)value & (lane < last)));
            }
        }
    }
}

static void FN(gate)(float *x, const float *g, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        store(x + i, load(x + i) * sigmoid(load(g + i)));
    for (; i < n; i++)
        x[i] *= sigmoid((vf){ g[i] })[0];
}

/* ---- a tile of rows --------------------------------------------------------------------- */

static void FN(scale)(float *x, size_t ld, const float *by, size_t rows, size_t n)
{
    for (size_t t = 0; t < rows; t++) {
        float *row = x + t * ld;
        size_t i = 0;

        for (; i + VW <= n; i += VW)
            store(row + i, load(row + i) * by[t]);
        for (; i < n; i++)
            row[i] *= by[t];
    }
}

INLINE void solve_columns(int nv, float *u, size_t ldu, const float *a, size_t lda, size_t rows)
{
    for (size_t i = 1; i < rows; i++) {
        vf s[4];

        UNROLL
        for (int j = 0; j < nv; j++)
            s[j] = load(u + i * ldu + (size_t)j * VW);
        for (size_t x = 0; x < i; x++)
            UNROLL
            for (int j = 0; j < nv; j++)
                s[j] = fused(load(u + x * ldu + (size_t)j * VW), splat(a[i * lda + x]), s[j]);
        UNROLL
        for (int j = 0; j < nv; j++)
            store(u + i * ldu + (size_t)j * VW, s[j]);
    }
}

static void FN(solve)(float *u, size_t ldu, const float *a, size_t lda, size_t rows, size_t n)
{
    size_t c = 0;

    for (; c + 4 * VW <= n; c += 4 * VW)
        solve_columns(4, u + c, ldu, a, lda, rows);
    for (; c + VW <= n; c += VW)
        solve_columns(1, u + c, ldu, a, lda, rows);
    for (; c < n; c++)
        for (size_t i = 1; i < rows; i++)
            for (size_t x = 0; x < i; x++)
                u[i * ldu + c] = fused1(a[i * lda + x], u[x * ldu + c], u[i * ldu + c]);
}

/* mr rows and nv vectors of c = scale c + A B; element (r, i) of A is a[r * lda + i], or a[i * lda + r] if turned. */
INLINE void multiply_tile(int mr, int nv, int turned, float *c, size_t ldc, const float *a, size_t lda, const float *b,
                          size_t ldb, size_t k, float scale)
{
    vf acc[16][4];

    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < nv; j++)
            acc[r][j] = splat(0);
    for (size_t i = 0; i < k; i++) {
        vf row[4];

        UNROLL
        for (int j = 0; j < nv; j++)
            row[j] = load(b + i * ldb + (size_t)j * VW);
        UNROLL
        for (int r = 0; r < mr; r++) {
            const float x = one_lane(turned ? a[i * lda + (size_t)r] : a[(size_t)r * lda + i]);

            UNROLL
            for (int j = 0; j < nv; j++)
                acc[r][j] = fused(row[j], splat(x), acc[r][j]);
        }
    }
    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < nv; j++) {
            float *to = c + (size_t)r * ldc + (size_t)j * VW;

            store(to, scale != 0 ? fused(load(to), splat(scale), acc[r][j]) : acc[r][j]);
        }
}

INLINE void multiply_columns(int nv, int turned, float *c, size_t ldc, const float *a, size_t lda, const float *b,
                             size_t ldb, size_t m, size_t k, float scale)
{
    const size_t step = turned ? 1 : lda;
    size_t r = 0;

    for (; r + MR <= m; r += MR)
        multiply_tile(MR, nv, turned, c + r * ldc, ldc, a + r * step, lda, b, ldb, k, scale);
    for (; r < m; r++)
        multiply_tile(1, nv, turned, c + r * ldc, ldc, a + r * step, lda, b, ldb, k, scale);
}

INLINE void multiply_all(int turned, float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
                         size_t m, size_t n, size_t k, float scale)
{
    size_t j = 0;

    for (; j + NR <= n; j += NR)
        multiply_columns(NV, turned, c + j, ldc, a, lda, b + j, ldb, m, k, scale);
    for (; j + VW <= n; j += VW)
        multiply_columns(1, turned, c + j, ldc, a, lda, b + j, ldb, m, k, scale);
    for (; j < n; j++)
        for (size_t r = 0; r < m; r++) {
            float sum = 0;

            for (size_t i = 0; i < k; i++)
                sum = fused1(turned ? a[i * lda + r] : a[r * lda + i], b[i * ldb + j], sum);
            c[r * ldc + j] = scale != 0 ? fused1(c[r * ldc + j], scale, sum) : sum;
        }
}

static void FN(multiply)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m,
                         size_t n, size_t k, float scale)
{
    multiply_all(0, c, ldc, a, lda, b, ldb, m, n, k, scale);
}

static void FN(multiply_turned)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m,
                                size_t n, size_t k, float scale)
{
    multiply_all(1, c, ldc, a, lda, b, ldb, m, n, k, scale);
}

/* ---- one row ---------------------------------------------------------------------------- */

/* nv vectors of columns: once through the state to correct v, once to change it; the second time it is in a cache. */
INLINE void step_columns(int nv, float *o, float *s, size_t lds, const float *k, const float *q, const float *v,
                         float a, float b, size_t dk, int correct)
{
    vf sum[8], u[8];

    UNROLL
    for (int j = 0; j < nv; j++)
        sum[j] = splat(0);
    for (size_t i = 0; correct && i < dk; i++)
        UNROLL
        for (int j = 0; j < nv; j++)
            sum[j] = fused(load(s + i * lds + (size_t)j * VW), splat(k[i]), sum[j]);
    UNROLL
    for (int j = 0; j < nv; j++) {
        u[j] = b * fused(splat(-a), sum[j], load(v + (size_t)j * VW));
        sum[j] = splat(0);
    }
    for (size_t i = 0; i < dk; i++)
        UNROLL
        for (int j = 0; j < nv; j++) {
            float *at = s + i * lds + (size_t)j * VW;
            const vf x = fused(load(at), splat(a), u[j] * k[i]);

            store(at, x);
            sum[j] = fused(x, splat(q[i]), sum[j]);
        }
    UNROLL
    for (int j = 0; j < nv; j++)
        store(o + (size_t)j * VW, sum[j]);
}

static void FN(step)(float *o, float *s, size_t lds, const float *k, const float *q, const float *v, float a, float b,
                     size_t dk, size_t n, int correct)
{
    enum { AT_ONCE = VW == 8 ? 4 : 8 };         /* AVX2 has 16 registers                     */
    size_t c = 0;

    for (; c + AT_ONCE * VW <= n; c += AT_ONCE * VW)
        step_columns(AT_ONCE, o + c, s + c, lds, k, q, v + c, a, b, dk, correct);
    for (; c + VW <= n; c += VW)
        step_columns(1, o + c, s + c, lds, k, q, v + c, a, b, dk, correct);
    for (; c < n; c++) {
        float sum = 0, u;

        for (size_t i = 0; correct && i < dk; i++)
            sum = fused1(s[i * lds + c], k[i], sum);
        u = b * fused1(-a, sum, v[c]);
        sum = 0;
        for (size_t i = 0; i < dk; i++) {
            s[i * lds + c] = fused1(s[i * lds + c], a, k[i] * u);
            sum = fused1(s[i * lds + c], q[i], sum);
        }
        o[c] = sum;
    }
}

static void FN(fill_state)(struct gkv__state_kernels *k)
{
    *k = (struct gkv__state_kernels){
        .convolve = FN(convolve), .rates = FN(rates), .weigh = FN(weigh), .scale = FN(scale), .solve = FN(solve),
        .multiply = FN(multiply), .multiply_turned = FN(multiply_turned), .step = FN(step),
    };
}
