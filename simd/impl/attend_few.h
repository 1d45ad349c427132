/* SPDX-License-Identifier: BSD-2-Clause
 * attend_few.h - a few query rows against many keys, as in decoding.  The vectors run along
 * the head, so no lane is idle.  K and V are converted in registers, so memory traffic is little
 * more than reading their bytes once. */

/* Lane i of the result is the sum of the lanes of x[i].  A step folds two vectors into one; the order of
 * vectors and halves is chosen so that each shuffle is one instruction. */
#define FOLD_(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define FOLD(a, b, some, others) (FOLD_(a, b, some) + FOLD_(a, b, others))
#define LIST(...) __VA_ARGS__
#if VW == 16
#define FOLD16(a, b) FOLD(a, b, \
    LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23), \
    LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#define FOLD8(a, b) FOLD(a, b, \
    LIST(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27), \
    LIST(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
#define FOLD4(a, b) FOLD(a, b, \
    LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29), \
    LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
#define FOLD2(a, b) FOLD(a, b, \
    LIST(0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30), \
    LIST(1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31))
#elif VW == 8
#define FOLD8(a, b) FOLD(a, b, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
#define FOLD4(a, b) FOLD(a, b, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
#define FOLD2(a, b) FOLD(a, b, LIST(0, 2, 8, 10, 4, 6, 12, 14), LIST(1, 3, 9, 11, 5, 7, 13, 15))
#else
#define FOLD4(a, b) FOLD(a, b, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#define FOLD2(a, b) FOLD(a, b, LIST(0, 2, 4, 6), LIST(1, 3, 5, 7))
#endif
INLINE vf vsums(const vf x[VW])
{
    vf a[4];

    UNROLL
    for (int i = 0; i < 4; i++)
#if VW == 16
        a[i] = FOLD8(FOLD16(x[i], x[i + 4]), FOLD16(x[i + 8], x[i + 12]));
#elif VW == 8
        a[i] = FOLD8(x[i], x[i + 4]);
#else
        a[i] = x[i];
#endif
    return FOLD2(FOLD4(a[0], a[1]), FOLD4(a[2], a[3]));
}

/* Bytes of n elements of the cache, where n is whole blocks. */
INLINE size_t few_bytes(enum gkv__type type, size_t n)
{
    return type == GKV__TYPE_Q8_0 ? n / 32 * sizeof(struct gkv__block_q8_0)
         : type == GKV__TYPE_Q4_0 ? n / 32 * sizeof(struct gkv__block_q4_0)
         : type == GKV__TYPE_F32 ? 4 * n : 2 * n;
}

/* In blocks of 32 with a scale. */
INLINE int few_blocks(enum gkv__type type)
{
    return type == GKV__TYPE_Q8_0 || type == GKV__TYPE_Q4_0;
}

/* Elements that are converted at a time: those that share a scale. */
INLINE size_t few_span(enum gkv__type type)
{
    return few_blocks(type) ? 32 : VW;
}

/* VW elements of a block of q4_0, from `at` on: the low halves of sixteen bytes, then the high ones. */
INLINE vf from_q4(const struct gkv__block_q4_0 *b, size_t at)
{
    int8_t x[VW] __attribute__((aligned(16)));

    for (size_t j = 0; j < VW; j++)
        x[j] = (int8_t)((b->q[at % 16 + j] >> (at / 16 * 4) & 15) - 8);
    return from_i8(x) * half(b->d);
}

/* VW elements of f32, f16, bf16, q8_0 or q4_0 (type and i are constants): elements from i on, counted from p;
 * of blocks, from skip + i on, where p is the block that contains element skip. */
INLINE vf cached(enum gkv__type type, const char *p, size_t i, size_t skip)
{
    if (type == GKV__TYPE_Q8_0) {
        const struct gkv__block_q8_0 *b = (const struct gkv__block_q8_0 *)(const void *)p + i / 32;

        return from_i8((const int8_t *)b->q + skip + i % 32) * half(b->d);
    }
    if (type == GKV__TYPE_Q4_0)
        return from_q4((const struct gkv__block_q4_0 *)(const void *)p + i / 32, skip + i % 32);
    p += few_bytes(type, i);
    if (type == GKV__TYPE_F32)
        return load((const float *)(const void *)p);
    return type == GKV__TYPE_F16 ? from_f16(*(const vhu *)(const void *)p)
                                 : from_bf16(*(const vhu *)(const void *)p);
}

/* The first n elements at p, then zeros: for the end of a row whose length is no multiple of VW, since the
 * cache may end there.  Not for blocks. */
INLINE vf cached_end(enum gkv__type type, const char *p, size_t n)
{
    char buf[4 * VW] __attribute__((aligned(64))) = { 0 };

    if (few_blocks(type))
        return splat(0);
    memcpy(buf, p, few_bytes(type, n));
    return cached(type, buf, 0, 0);
}

/* Prefetches n bytes (a constant) that the next step reads into the second-level cache; beyond the end this
 * does no harm.  A line of which only the beginning is needed is left to the processor. */
INLINE const char *fetch(const char *p, size_t n)
{
    __builtin_prefetch(p, 0, 2);
    UNROLL
    for (size_t i = 64; i + 64 <= n; i += 64)
        __builtin_prefetch(p + i, 0, 2);
    return p + n;
}

/* VW dot products of rt rows of q[rt][GKV__FEW_ROW(d)] with VW / rt keys: lane c * rt + r is that of key c
 * and row r. */
INLINE vf few_dots(enum gkv__type type, int rt, const void *queries, const char *const key[VW],
                   size_t d, const char **next)
{
    const float *q = queries;
    const int kt = VW / rt;
    const size_t dq = GKV__FEW_ROW(d), span = few_span(type);
    vf acc[VW];
    size_t x = 0;

    UNROLL
    for (int a = 0; a < VW; a++)
        acc[a] = splat(0);
    for (; x + span <= d; x += span) {
        *next = fetch(*next, few_bytes(type, (size_t)kt * span));
        UNROLL
        for (size_t h = 0; h < span; h += VW) {
            vf row[4];
            UNROLL
            for (int r = 0; r < rt; r++)
                row[r] = load(q + (size_t)r * dq + x + h);
            UNROLL
            for (int c = 0; c < kt; c++) {
                vf y = cached(type, key[c] + few_bytes(type, x), h, 0);
                UNROLL
                for (int r = 0; r < rt; r++)
                    acc[c * rt + r] = fused(y, row[r], acc[c * rt + r]);
            }
        }
    }
    if (x < d)
        UNROLL
        for (int c = 0; c < kt; c++) {
            vf y = cached_end(type, key[c] + few_bytes(type, x), d - x);
            UNROLL
            for (int r = 0; r < rt; r++)
                acc[c * rt + r] = fused(y, load(q + (size_t)r * dq + x), acc[c * rt + r]);
        }
    return vsums(acc);
}

/* acc[rt][ns] += p[nk, rt]^T v[nk, ...], for ns vectors of columns from x on.  n < VW: v has only n columns
 * left, in one vector. */
INLINE const char *few_add(enum gkv__type type, int rt, int ns, vf acc[][16], const void *v,
                           const float *p, size_t nk, size_t d, size_t x, size_t n, const char *next)
{
    const size_t stride = few_bytes(type, d);
    const size_t skip = few_blocks(type) && ns * VW % 32 ? x % 32 : 0;
    const char *p0 = (const char *)v + few_bytes(type, x);

    for (size_t i = 0; i < nk; i++, p0 += stride) {
        vf row[16];
        next = fetch(next, few_bytes(type, (size_t)ns * VW));
        UNROLL
        for (int j = 0; j < ns; j++)
            row[j] = n < VW ? cached_end(type, p0, n) : cached(type, p0, (size_t)j * VW, skip);
        UNROLL
        for (int r = 0; r < rt; r++) {
            float w = p[i * (size_t)rt + (size_t)r];
            UNROLL
            for (int j = 0; j < ns; j++)
                acc[r][j] = fused(row[j], splat(w), acc[r][j]);
        }
    }
    return next;
}

/* Functions that differ between the two arithmetics.  rt rows are 1, 2 or 4, a divisor of VW, so that a
 * vector of scores always holds the same rows.
 *   dots     as few_dots
 *   weights  converts p[n], whole vectors, to the form that add takes; NULL: add takes floats
 *   add      as few_add */
struct few_form {
    vf (*dots)(enum gkv__type type, int rt, const void *q, const char *const key[VW], size_t d,
               const char **next);
    void (*weights)(enum gkv__type type, int rt, float *p, size_t n);
    const char *(*add)(enum gkv__type type, int rt, int ns, vf acc[][16], const void *v,
                       const float *p, size_t nk, size_t d, size_t x, size_t n, const char *next);
};

/* s[nk][rt] = k[nk, d] q[rt, d]^T.  The rest of the last vector is set far below any score; keys beyond the
 * end are replaced by the last key. */
INLINE void few_scores(const struct few_form *form, enum gkv__type type, int rt, float *s,
                       const void *q, const void *k, size_t nk, size_t d, const char *next)
{
    const int kt = VW / rt;

    for (size_t i = 0; i < nk; i += (size_t)kt) {
        const char *key[VW];

        UNROLL
        for (int c = 0; c < kt; c++)
            key[c] = (const char *)k + (i + (size_t)c < nk ? i + (size_t)c : nk - 1) * few_bytes(type, d);
        store(s + i * (size_t)rt, form->dots(type, rt, q, key, d, &next));
    }
    for (size_t i = nk * (size_t)rt; i % VW; i++)
        s[i] = 3 * GKV__ATTEND_MIN;
}

/* o[rt][ns * VW] = o * scale[rt] + p[nk, rt]^T v[nk, ...], columns as in few_add. */
INLINE const char *few_values(const struct few_form *form, enum gkv__type type, int rt, int ns,
                              float *o, const float *scale, const void *v, const float *p, size_t nk,
                              size_t d, size_t x, size_t n, const char *next)
{
    const size_t dq = GKV__FEW_ROW(d);
    vf acc[4][16];

    o += x;
    UNROLL
    for (int r = 0; r < rt; r++)
        UNROLL
        for (int j = 0; j < ns; j++)
            acc[r][j] = load(o + (size_t)r * dq + (size_t)j * VW) * scale[r];
    next = form->add(type, rt, ns, acc, v, p, nk, d, x, n, next);
    UNROLL
    for (int r = 0; r < rt; r++)
        UNROLL
        for (int j = 0; j < ns; j++)
            store(o + (size_t)r * dq + (size_t)j * VW, acc[r][j]);
    return next;
}

enum { FEW_KEYS = 128 };        /* most keys of a step */

/* Applies cap and limits of `see` to s[nk][rt], the scores of rows r .. and keys key ..: as in softmax.h. */
INLINE void few_see_some(float *s, int rt, size_t nk, size_t r, size_t key,
                         const struct gkv__sight *see)
{
    const size_t n = nk * (size_t)rt;
    const float inv = see->cap > 0 ? 1 / see->cap : 0;

    if (see->cap > 0)
        for (size_t i = 0; i < n; i += VW)      /* not to the scores that are far below */
            store(s + i, pick(load(s + i) > GKV__ATTEND_MIN, vtanh(load(s + i) * inv) * see->cap,
                              load(s + i)));
    for (size_t i = 0; see->to && i < n; i++)
        if ((int64_t)(key + i / (size_t)rt) >= see->to[r + i % (size_t)rt])
            s[i] = 3 * GKV__ATTEND_MIN;
    for (size_t i = 0; see->from && i < n; i++)
        if ((int64_t)(key + i / (size_t)rt) < see->from[r + i % (size_t)rt])
            s[i] = 3 * GKV__ATTEND_MIN;
}

/* rt rows against the keys of one step; next: the keys of the step after it, for prefetching. */
INLINE void few(const struct few_form *form, enum gkv__type type, int rt, float *o, float *m,
                float *l, const float *q, const void *k, const void *v, size_t nk, size_t d,
                size_t row, size_t key, const struct gkv__sight *see, const void *next)
{
    const int ns = VW / rt;
    const size_t n = (nk * (size_t)rt + VW - 1) / VW * VW;
    float s[FEW_KEYS * 4], lane[VW], scale[4];
    vf max, sum = splat(0);
    size_t x = 0;

    few_scores(form, type, rt, s, q, k, nk, d, v);
    if (see)
        few_see_some(s, rt, nk, row, key, see);

    max = load(s);
    for (size_t i = VW; i < n; i += VW)
        max = vmax(load(s + i), max);
    store(lane, max);
    for (int r = 0; r < rt; r++) {
        float top = m[r];
        for (int i = r; i < VW; i += rt)
            top = lane[i] > top ? lane[i] : top;
        for (int i = r; i < VW; i += rt)
            lane[i] = top;
        scale[r] = vexp2(splat(m[r] - top))[0];
        m[r] = top;
    }
    max = load(lane);
    for (size_t i = 0; i < n; i += VW) {
        vf e = vexp2(load(s + i) - max);
        sum += e;
        store(s + i, e);
    }
    store(lane, sum);
    for (int r = 0; r < rt; r++) {
        l[r] *= scale[r];
        for (int i = r; i < VW; i += rt)
            l[r] += lane[i];
    }
    if (form->weights)
        form->weights(type, rt, s, n);

    for (; x + (size_t)ns * VW <= d; x += (size_t)ns * VW)
        next = few_values(form, type, rt, ns, o, scale, v, s, nk, d, x, VW, next);
    if (ns > 4)                 /* enough accumulators to hide their latency */
        for (; x + 4 * VW <= d; x += 4 * VW)
            next = few_values(form, type, rt, 4, o, scale, v, s, nk, d, x, VW, next);
    for (; x + VW <= d; x += VW)
        next = few_values(form, type, rt, 1, o, scale, v, s, nk, d, x, VW, next);
    if (x < d)
        few_values(form, type, rt, 1, o, scale, v, s, nk, d, x, d - x, next);
}

/* V is prefetched while scores are computed, and the next step's K while values are added; steps are so short
 * that the first-level cache holds K and V of this step and K of the next one. */
INLINE void few_rows(const struct few_form *form, enum gkv__type type, float *o, float *m, float *l,
                     const float *q, const void *k, const void *v, size_t rows, size_t nk, size_t d,
                     const struct gkv__sight *see)
{
    const size_t dq = GKV__FEW_ROW(d);
    size_t step = 8192 / few_bytes(type, d) / 16 * 16;

    step = step < 16 ? 16 : step > FEW_KEYS ? FEW_KEYS : step;
    for (size_t i = 0; i < nk; i += step) {
        const char *k0 = (const char *)k + few_bytes(type, i * d), *v0 = (const char *)v + few_bytes(type, i * d);
        const char *next = i + step < nk ? k0 + few_bytes(type, step * d) : v0;
        const size_t n = nk - i < step ? nk - i : step;
        size_t r = 0;

        for (; r + 4 <= rows; r += 4)
            few(form, type, 4, o + r * dq, m + r, l + r, q + r * dq, k0, v0, n, d, r, i, see, next);
        for (; r + 2 <= rows; r += 2)
            few(form, type, 2, o + r * dq, m + r, l + r, q + r * dq, k0, v0, n, d, r, i, see, next);
        if (r < rows)
            few(form, type, 1, o + r * dq, m + r, l + r, q + r * dq, k0, v0, n, d, r, i, see, next);
    }
}

static const struct few_form few_floats = { few_dots, NULL, few_add };

#define FEW(name, type)                                                                     \
    static void FN(name)(float *o, float *m, float *l, float *q, const void *k,             \
                         const void *v, size_t rows, size_t nk, size_t d,                   \
                         const struct gkv__sight *see)                                      \
    {                                                                                       \
        few_rows(&few_floats, type, o, m, l, q, k, v, rows, nk, d, see);                    \
    }
