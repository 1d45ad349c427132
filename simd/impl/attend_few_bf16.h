/* SPDX-License-Identifier: BSD-2-Clause
 * attend_few_bf16.h - attend_few.h with products of pairs of bfloat16: pairs along the head for scores,
 * of neighbouring keys for values.  Converting f16 through floats would take as long as the products
 * save; instead f16's bits are moved, which gives a bfloat16 of another scale. */

enum { TWICE = 2 * VW };

/* Factor that as_bf16 loses, and the part of it that queries are multiplied by: split so that neither they
 * nor sums leave the range of floats. */
#define FEW_BIAS(type) ((type) == GKV__TYPE_F16 ? 0x1p112f : 1.0f)
#define FEW_QUERY(type) ((type) == GKV__TYPE_F16 ? 0x1p64f : 1.0f)

/* f16's five exponent bits become the low ones of eight, so the number is 2^-112 times the original; it is
 * rounded to nearest, ties away from 0.  f16 below 2^-14 become subnormal, which bf16_dp treats as 0.
 * Infinity becomes 2^16 times that scale, and NaN becomes a number. */
INLINE vi as_bf16(enum gkv__type type, twice h)
{
    return type == GKV__TYPE_F16 ? (vi)(((twice_signed)(h + 4) >> 3) & (int16_t)0x8fff) : (vi)h;
}

/* The first n of TWICE elements, then zeros. */
INLINE vi cached_bf16(enum gkv__type type, const char *p, size_t n)
{
    twice h = { 0 };

    if (n >= TWICE)
        h = *(const twice_u *)(const void *)p;
    else if (n == VW)
        memcpy(&h, p, sizeof h / 2);    /* a constant size: not through the stack */
    else
        memcpy(&h, p, 2 * n);
    return as_bf16(type, h);
}

/* Converts floats q[rows][GKV__FEW_ROW(d)] to bfloat16 in place, with zeros up to a multiple of TWICE. */
INLINE void few_narrow(float *q, float scale, size_t rows, size_t d)
{
    const size_t dq = GKV__FEW_ROW(d);

    for (size_t r = 0; r < rows; r++, q += dq)
        for (size_t x = 0; x < dq; x += TWICE) {
            vf hi = x + VW < dq ? load(q + x + VW) : splat(0);

            *(pairs_u *)(void *)(q + x / 2) = bf16_row(load(q + x) * scale, hi * scale);
        }
}

INLINE vf few_dots_bf16(enum gkv__type type, int rt, const void *q, const char *const key[VW],
                        size_t d, const char **next)
{
    const int kt = VW / rt;
    const size_t dq = GKV__FEW_ROW(d);
    vf acc[VW];

    UNROLL
    for (int a = 0; a < VW; a++)
        acc[a] = splat(0);
    for (size_t x = 0; x < d; x += TWICE) {
        vi row[4];

        *next = fetch(*next, (size_t)kt * 2 * TWICE);
        UNROLL
        for (int r = 0; r < rt; r++)
            row[r] = *(const pairs_u *)((const one_pair *)q + (size_t)r * dq + x / 2);
        UNROLL
        for (int c = 0; c < kt; c++) {
            vi y = cached_bf16(type, key[c] + 2 * x, d - x);
            UNROLL
            for (int r = 0; r < rt; r++)
                acc[c * rt + r] = bf16_dp(acc[c * rt + r], y, row[r]);
        }
    }
    return vsums(acc) * (FEW_BIAS(type) / FEW_QUERY(type));
}

/* Converts p[n / rt][rt] to pairs of neighbouring keys, [ceil(n / rt / 2)][rt][2]. */
INLINE void few_weights_bf16(enum gkv__type type, int rt, float *p, size_t n)
{
    for (size_t i = 0; i < n; i += TWICE) {
        vf hi = i + VW < n ? load(p + i + VW) : splat(0);
        vi w = bf16_row(load(p + i) * FEW_BIAS(type), hi * FEW_BIAS(type));

        *(pairs_u *)(void *)(p + i / 2) = rt == 4 ? pairs_of_4(w) : rt == 2 ? pairs_of_2(w) : w;
    }
}

INLINE const char *few_add_bf16(enum gkv__type type, int rt, int ns, vf acc[][16], const void *v,
                                const float *weights, size_t nk, size_t d, size_t x, size_t n,
                                const char *next)
{
    const one_pair *p = (const one_pair *)(const void *)weights;
    const size_t stride = 2 * d, width = ns > 1 ? TWICE : n;
    const char *p0 = (const char *)v + 2 * x;

    for (size_t i = 0; i < nk; i += 2, p0 += 2 * stride) {
        const char *p1 = i + 1 < nk ? p0 + stride : p0;     /* its weight is 0 */
        vi row[16];

        next = fetch(next, (size_t)ns * 2 * TWICE);
        UNROLL
        for (int j = 0; j < ns; j += 2) {
            vi a = cached_bf16(type, p0 + 2 * j * VW, width), b = cached_bf16(type, p1 + 2 * j * VW, width);

            row[j] = pairs_low(a, b);
            if (ns > 1)
                row[j + 1] = pairs_high(a, b);
        }
        UNROLL
        for (int r = 0; r < rt; r++) {
            vi w = p[i / 2 * (size_t)rt + (size_t)r] - (vi){ 0 };
            UNROLL
            for (int j = 0; j < ns; j++)
                acc[r][j] = bf16_dp(acc[r][j], row[j], w);
        }
    }
    return next;
}

static const struct few_form few_bf16 = { few_dots_bf16, few_weights_bf16, few_add_bf16 };

/* One or two rows take as long in floats, because products take little of their time. */
#define FEW_BF16(name, type)                                                                \
    static void FN(name)(float *o, float *m, float *l, float *q, const void *k,             \
                         const void *v, size_t rows, size_t nk, size_t d,                   \
                         const struct gkv__sight *see)                                      \
    {                                                                                       \
        if (rows < 4) {                                                                     \
            few_rows(&few_floats, type, o, m, l, q, k, v, rows, nk, d, see);                \
            return;                                                                         \
        }                                                                                   \
        few_narrow(q, FEW_QUERY(type), rows, d);                                            \
        few_rows(&few_bf16, type, o, m, l, q, k, v, rows, nk, d, see);                      \
    }
FEW_BF16(attend_few_pairs_f16, GKV__TYPE_F16)
FEW_BF16(attend_few_pairs_bf16, GKV__TYPE_BF16)
