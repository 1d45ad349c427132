/* SPDX-License-Identifier: BSD-2-Clause
 * attend.h - a tile of queries against a block of keys. */

/* s[mr][lanes] = k[mr, d] qt[d, lanes] */
INLINE void scores(int mr, float *s, const float *k, const float *qt, size_t d)
{
    vf acc[16][4];

    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            acc[r][j] = splat(0);
    tile(mr, ANV, acc, k, d, qt, LANES, d);
    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            store(s + r * LANES + j * VW, acc[r][j]);
}

/* ot[mr][lanes] = ot * scale[lanes] + v[nk, mr]^T p[nk, lanes], rows of v d apart */
INLINE void values(int mr, float *ot, const vf *scale, const float *v, size_t d,
                   const float *p, size_t nk)
{
    vf acc[16][4];

    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            acc[r][j] = load(ot + r * LANES + j * VW) * scale[j];
    for (size_t i = 0; i < nk; i++) {
        vf row[4];
        UNROLL
        for (int j = 0; j < ANV; j++)
            row[j] = load(p + i * LANES + (size_t)j * VW);
        UNROLL
        for (int r = 0; r < mr; r++) {
            float x = one_lane(v[i * d + (size_t)r]);
            UNROLL
            for (int j = 0; j < ANV; j++)
                acc[r][j] = fused(row[j], splat(x), acc[r][j]);
        }
    }
    UNROLL
    for (int r = 0; r < mr; r++)
        UNROLL
        for (int j = 0; j < ANV; j++)
            store(ot + r * LANES + j * VW, acc[r][j]);
}

static void FN(attend)(float *ot, float *m, float *l, const void *q, const void *keys,
                       const void *vals, size_t nk, size_t d, const struct gkv__sight *see,
                       float *s)
{
    const float *qt = q, *k = keys, *v = vals;
    vf max[ANV], sum[ANV], scale[ANV];
    size_t i = 0;

    for (; i + AMR <= nk; i += AMR)
        scores(AMR, s + i * LANES, k + i * d, qt, d);
    for (; i < nk; i++)
        scores(1, s + i * LANES, k + i * d, qt, d);
    if (see)
        see_some(s, nk, see);
    raise(s, nk, m, max, scale);

    UNROLL
    for (int j = 0; j < ANV; j++)
        sum[j] = load(l + j * VW) * scale[j];
    for (i = 0; i < nk; i++)
        UNROLL
        for (int j = 0; j < ANV; j++) {
            float *p = s + i * LANES + (size_t)j * VW;
            vf e = vexp2(load(p) - max[j]);
            sum[j] += e;
            store(p, e);
        }
    UNROLL
    for (int j = 0; j < ANV; j++)
        store(l + j * VW, sum[j]);

    for (i = 0; i + AMR <= d; i += AMR)
        values(AMR, ot + i * LANES, scale, v + i, d, s, nk);
    for (; i < d; i++)
        values(1, ot + i * LANES, scale, v + i, d, s, nk);
}
