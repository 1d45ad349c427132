/* SPDX-License-Identifier: BSD-2-Clause
 * attend_bf16.h - a tile of queries against a block of keys, with products of pairs of bfloat16.
 * The shapes are those of attend.h with pairs instead of floats: pairs along the head for scores,
 * along the keys for values. */

/* acc[mr][lanes] += sum over n of b[i][lanes] times pair a[r * row + i * step] */
INLINE void tile_bf16(int mr, vf acc[][4], const one_pair *a, size_t row, size_t step,
                      const one_pair *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vi q[4];
        UNROLL
        for (int j = 0; j < ANV; j++)
            q[j] = *(const pairs_u *)(b + i * LANES + (size_t)j * VW);
        UNROLL
        for (int r = 0; r < mr; r++) {
            vi x = a[(size_t)r * row + i * step] - (vi){ 0 };
            UNROLL
            for (int j = 0; j < ANV; j++)
                acc[r][j] = bf16_dp(acc[r][j], x, q[j]);
        }
    }
}

/* s[mr][lanes] = k[mr, 2 n] qt[2 n, lanes] */
INLINE void scores_bf16(int mr, float *s, const one_pair *k, const one_pair *qt, size_t n)
{
    vf acc[16][4];

    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            acc[r][j] = splat(0);
    tile_bf16(mr, acc, k, n, 1, qt, n);
    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            store(s + r * LANES + j * VW, acc[r][j]);
}

/* ot[mr][lanes] = ot * scale[lanes] + v[2 n, mr]^T p[2 n, lanes], pairs of v d apart */
INLINE void values_bf16(int mr, float *ot, const vf *scale, const one_pair *v, size_t d,
                        const one_pair *p, size_t n)
{
    vf acc[16][4];

    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            acc[r][j] = load(ot + r * LANES + j * VW) * scale[j];
    tile_bf16(mr, acc, v, 1, d, p, n);
    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            store(ot + r * LANES + j * VW, acc[r][j]);
}

/* 2^f for f in [-1/2, 1/2] with a relative error of 2^-17, exactly 1 for 0: degree 4, by interpolation.  The
 * rounding to bfloat16 that follows has an error of up to 2^-8. */
INLINE vf weight_near_0(vf f)
{
    vf p = splat(0.009656710550189018f);

    p = fused(p, f, splat(0.05583828315138817f));
    p = fused(p, f, splat(0.24022530019283295f));
    p = fused(p, f, splat(0.6931367516517639f));
    return fused(p, f, splat(1.0f));
}

/* Two rows of weights become one row of pairs, stored where only weights that were read already can be
 * overwritten.  The sums l are those of the unrounded weights. */
INLINE void weights(float *s, float *l, size_t nk, const vf *max, const vf *scale)
{
    vf sum[ANV];

    UNROLL
    for (int j = 0; j < ANV; j++)
        sum[j] = load(l + j * VW) * scale[j];
    for (size_t i = 0; i < nk; i += 2)
        UNROLL
        for (int j = 0; j < ANV; j++) {
            float *w = s + i * LANES + (size_t)j * VW;
            vf e = vexp2_by(weight_near_0, load(w) - max[j]), f = splat(0);

            if (i + 1 < nk)
                f = vexp2_by(weight_near_0, load(w + LANES) - max[j]);
            sum[j] += e + f;
            *(pairs_u *)(s + i / 2 * LANES + (size_t)j * VW) = bf16_pair(e, f);
        }
    UNROLL
    for (int j = 0; j < ANV; j++)
        store(l + j * VW, sum[j]);
}

static void FN(attend_bf16)(float *ot, float *m, float *l, const void *q, const void *keys,
                            const void *vals, size_t nk, size_t d,
                            const struct gkv__sight *see, float *s)
{
    const one_pair *qt = q, *k = keys, *v = vals, *p = (const one_pair *)s;
    const size_t n = (d + 1) / 2;
    vf max[ANV], scale[ANV];
    size_t i = 0;

    for (; i + AMR <= nk; i += AMR)
        scores_bf16(AMR, s + i * LANES, k + i * n, qt, n);
    for (; i < nk; i++)
        scores_bf16(1, s + i * LANES, k + i * n, qt, n);
    if (see)
        see_some(s, nk, see);
    raise(s, nk, m, max, scale);
    weights(s, l, nk, max, scale);
    for (i = 0; i + AMR <= d; i += AMR)
        values_bf16(AMR, ot + i * LANES, scale, v + i, d, p, (nk + 1) / 2);
    for (; i < d; i++)
        values_bf16(1, ot + i * LANES, scale, v + i, d, p, (nk + 1) / 2);
}

/* ---- conversion of inputs to the form; also in place, since writes stay behind reads -------- */

INLINE size_t size_of(enum gkv__type type)
{
    return type == GKV__TYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

INLINE vf whole(enum gkv__type type, const void *p)
{
    return type == GKV__TYPE_F32 ? load(p) : from_f16(*(const vhu *)p);
}

/* VW elements of a row from element i on, zeros from element n on.  type is a constant. */
INLINE vf some_of(enum gkv__type type, const void *row, size_t i, size_t n)
{
    const size_t size = size_of(type);
    const char *p = (const char *)row + i * size;

    if (i + VW > n) {
        float end[VW] = { 0 };

        if (i < n)
            memcpy(end, p, (n - i) * size);
        return whole(type, end);
    }
    return whole(type, p);
}

/* Stores the first n elements of v, at most VW. */
INLINE void put(void *to, const void *v, size_t n, size_t size)
{
    if (n >= VW)
        memcpy(to, v, VW * size);       /* a constant size: one store instead of a loop */
    else
        memcpy(to, v, n * size);
}

INLINE void pairs(enum gkv__type type, void *to, const void *from, size_t n, size_t width)
{
    const size_t row = width * size_of(type);

    for (size_t i = 0; i < n; i += 2)
        for (size_t x = 0; x < width; x += VW) {
            const char *lo = (const char *)from + i * row;
            vi p = bf16_pair(some_of(type, lo, x, width),
                             i + 1 < n ? some_of(type, lo + row, x, width) : splat(0));

            put((float *)to + i / 2 * width + x, &p, width - x, sizeof(float));
        }
}

INLINE void narrow(enum gkv__type type, void *to, const void *from, size_t n, size_t width)
{
    const size_t row = width * size_of(type);
    const size_t even = (width + 1) / 2 * 2;

    for (size_t i = 0; i < n; i++)
        for (size_t x = 0; x < even; x += VW) {
            vh h = bf16_half(some_of(type, (const char *)from + i * row, x, width));

            put((uint16_t *)to + i * even + x, &h, even - x, sizeof(uint16_t));
        }
}

#define FORM(form)                                                                          \
    static void FN(form##_bf16)(void *to, const void *from, enum gkv__type type, size_t n,  \
                                size_t width)                                               \
    {                                                                                       \
        if (type == GKV__TYPE_F32)                                                          \
            form(GKV__TYPE_F32, to, from, n, width);                                        \
        else                                                                                \
            form(GKV__TYPE_F16, to, from, n, width);                                        \
    }
FORM(pairs)
FORM(narrow)
