/* SPDX-License-Identifier: BSD-2-Clause
 * gemv_int.h - products of one row (decoding) with integer types.  Weights are read once, as the file has
 * them.  Activations have the form of gemm_int.h in another order (prepare_one).  gemm_int.h includes this file
 * and says how the sums are computed.  HOW(NAME) selects how a type is handled. */
#if defined __AVX512BW__ && VW == 16
#define BY_64 1
#include "simd/impl/wide.h"
#define HOW(name) HOW_##name
#endif

INLINE float sum8(v8f v)
{
    float a[8];

    memcpy(a, &v, sizeof a);
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

typedef v8f v8fu __attribute__((aligned(4), may_alias));

enum { HALVES = 1, PAIRED };

/* Adds 32 or 64 products to eight partial sums.  d0: scale of weights times scale of activations; d1: the
 * same for the upper four lanes, if `two`. */
INLINE v8f group(v8f acc, v8i sum, const float *d0, const float *d1, int two)
{
#ifdef __aarch64__
    const union ints s = { sum };
    union floats a = { acc };

    a.half[0] = vfmaq_n_f32(a.half[0], vcvtq_f32_s32(s.half[0]), *d0);
    a.half[1] = vfmaq_n_f32(a.half[1], vcvtq_f32_s32(s.half[1]), two ? *d1 : *d0);
    return a.both;
#else
    v8f d = splat8(*d0);

    if (two) {
        v8f e = splat8(*d1);

        if (two == PAIRED) {    /* else GCC would turn two broadcasts and a blend into one shuffle */
            __asm__("" : "+x"(d));
            __asm__("" : "+x"(e));
        }
        d = __builtin_shufflevector(d, e, 0, 1, 2, 3, 12, 13, 14, 15);
    }
    return fused8(__builtin_convertvector(sum, v8f), d, acc);
#endif
}

/* Prefetches what `rows` rows of activations will be multiplied with.  Speed relative to the choice for one row: q8_0 with 4096
 * 0.92 on Zen 4, 1.09 on Intel; q4_0 with 1024 0.94 to 1.02; with 2048 0.84 to 0.94 and 0.79 on Zen 4; without prefetching 0.89
 * to 0.97.  From three rows on one turn of the loop has more instructions than a processor keeps under way, so the next loads
 * start late and should find their lines in the first-level cache: on Zen 4, 5 rows of q8_0 take 0.8 of the time. */
INLINE void fetch_weights(const uint8_t *const row[2], size_t per_256, int rows)
{
    const size_t ahead = rows >= 3 ? 2048 : per_256 > 256 ? 1024 : 4096;

    fetch_pair(row, per_256, ahead, rows >= 3);
}

/* Layout of a form: bytes of a unit, offset of its sums (0: none, s is there), offset of q, and bytes
 * of q. */
struct layout { size_t bytes, sum, q, width; };

enum { FORM_MOST = 68 };        /* bytes of a unit in any form */
_Static_assert(sizeof(struct FN(i8h)) <= FORM_MOST, "room for a unit");
#if I16
_Static_assert(sizeof(struct FN(i16)) <= FORM_MOST, "room for a unit");
#endif

typedef v8i FN(product_fn)(v32 u, int off, const uint8_t *q);

/* The second of three: that of a macro which a type has, or what follows. */
#define SECOND(a, b, ...) b
#define SECOND_OF(...) SECOND(__VA_ARGS__)

#if !BY_64
/* The sixteen bytes of nibbles of two blocks of 32 become two vectors: u[0] has the first half of each block,
 * u[1] the second. */
INLINE void pair_fifths(v32 u[2], const uint8_t a[4], const uint8_t b[4])
{
    v32 x = fifth_bits(a), y = fifth_bits(b);

    u[0] |= __builtin_shufflevector(x, y, UPTO16(0), UPTO16(32));
    u[1] |= __builtin_shufflevector(x, y, UPTO16(16), UPTO16(48));
}

typedef void FN(pair_fn)(const void *row, size_t i, v32 u[2]);

#define PAIR(name, more)                                                                    \
    INLINE void pair_##name(const void *row, size_t i, v32 u[2])                            \
    {                                                                                       \
        const struct gkv__block_##name *b = (const struct gkv__block_##name *)row + i;      \
        const v32 x = join(*(const v16u *)b[0].q, *(const v16u *)b[1].q);                   \
                                                                                            \
        u[0] = x & 15;                                                                      \
        u[1] = right(x, 4) & 15;                                                            \
        more;                                                                               \
    }
PAIR(q4_0, )
PAIR(q4_1, )
PAIR(q5_0, pair_fifths(u, b[0].h, b[1].h))
PAIR(q5_1, pair_fifths(u, b[0].h, b[1].h))
#define PAIRED_q4_0 , pair_q4_0
#define PAIRED_q4_1 , pair_q4_1
#define PAIRED_q5_0 , pair_q5_0
#define PAIRED_q5_1 , pair_q5_1

/* Types without a PAIRED_ line are handled one block at a time. */
#define HOW(name) .pair = SECOND_OF(PAIRED_##name, NULL, )
#endif

/* The constants that gemv is compiled for. */
struct FN(recipe) {
    void          (*prepare)(void *to, const float *x, size_t n);
    FN(bytes_fn)   *bytes;
    FN(scales_fn)  *scales;
    FN(product_fn) *product;
#if BY_64
    void          (*wide)(const void *row, vi u[4]);            /* wide.h                    */
    const uint8_t  *order;
    int             sums;
    struct lie      lie;                /* bytes 0: `wide` unpacks the blocks                */
#else
    FN(pair_fn)    *pair;               /* NULL: one block at a time                         */
#endif
    int             off, halves, min;
    size_t          per_256;            /* bytes of 256 weights                              */
    struct layout   form;
};

/* Activations as gemv wants them, 256 at a time: q in the order of the weights; then eight scales; then the
 * sums, eight or (halves) sixteen, times their factor: m or -OFF d (OFF is a power of two, so nothing
 * is rounded).  No load crosses a cache line.  What is left of a row stays in gemm_int.h's form. */
INLINE size_t gathered(const struct FN(recipe) m)       /* bytes of q */
{
#if BY_64
    if (m.lie.bytes)
        return 320;             /* with zeros, the last quarter twice, rounded up to 64 */
#endif
    return 8 * m.form.width;
}

/* Scales, and sums if they are used. */
INLINE int has_sums(const struct FN(recipe) m) { return m.min || (m.off && !I8_SIGNED); }
INLINE size_t sides(const struct FN(recipe) m) { return has_sums(m) ? (size_t)m.halves + 2 : 1; }

INLINE size_t one_bytes(const struct FN(recipe) m)
{
    return (gathered(m) + sides(m) * sizeof(v8f) + 63) / 64 * 64;
}

#if BY_64
/* tails: those of both rows are in the first row's. */
struct FN(sums) { vf acc[2]; v8f rest, tails; };

INLINE void dot_256(const struct FN(recipe) m, int rows, struct FN(sums) t[][2], int k, const uint8_t *r, v8f ds[][2],
                    const uint8_t *q, size_t ldq)
{
    const int each = 4 / m.sums;
    vi u[4];

    m.wide(r, u);
#pragma GCC unroll 5
    for (int x = 0; x < rows; x++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i += each) {
            vi s = isplat(0);

#pragma GCC unroll 2
            for (int j = i; j < i + each; j++)
                s = i8_step(s, u[j], load_i(q + (size_t)x * ldq + 64 * j));
            t[x][k].acc[i / each & 1] = fused(__builtin_convertvector(s, vf), spread(ds[x], m.order + 4 * i, m.halves),
                                              t[x][k].acc[i / each & 1]);
        }
}

INLINE v8f folded(const struct FN(recipe) m, const struct FN(sums) t[2], int k)
{
    const __m512 s = (__m512)(t[k].acc[0] + t[k].acc[1]);
    v8f rest = t[k].rest, none = { 0 };

    if (m.lie.bytes)
        rest += k ? __builtin_shufflevector(t[0].tails, none, 4, 5, 6, 7, 8, 8, 8, 8)
                  : __builtin_shufflevector(t[0].tails, none, 0, 1, 2, 3, 8, 8, 8, 8);
    return (v8f)_mm512_castps512_ps256(s) + (v8f)_mm512_extractf32x8_ps(s, 1) + rest;
}

/* q of eight units for blocks that stay as in the file: zeros at the places of their scales. */
INLINE void gather_lying(const struct FN(recipe) m, uint8_t *to, const uint8_t *q)
{
    const size_t whole = m.lie.bytes / 8, width = 32 / m.lie.parts;

    for (size_t j = 0; j < m.lie.parts; j++) {
        uint8_t image[8 * 34] = { 0 }, *tail = to + 64 * whole * m.lie.parts + 32 * j;

        for (size_t b = 0; b < 8; b++)
            memcpy(image + b * m.lie.bytes + 2, q + b * m.form.bytes + j * width, width);
        for (size_t v = 0; v < whole; v++)
            memcpy(to + 64 * (v * m.lie.parts + j), image + 64 * v, 64);
        memcpy(tail, image + 64 * whole, 16);
        memcpy(tail + 16, image + 64 * whole, 16);
    }
}

/* q of eight units, in the order of the weights. */
INLINE void gather(const struct FN(recipe) m, uint8_t *to, const uint8_t *q)
{
    if (m.lie.bytes)
        gather_lying(m, to, q);
    else
        for (size_t k = 0; k < 16; k++)
            memcpy(to + 16 * k, q + m.order[k] / 2 * m.form.bytes + m.order[k] % 2 * 16, 16);
}
#else
struct FN(sums) { v8f acc[2], rest; };

/* One row of weights r, `rows` rows of activations q, ldq bytes apart. */
INLINE void dot_256(const struct FN(recipe) m, int rows, struct FN(sums) t[][2], int k, const uint8_t *r, v8f d[][2],
                    const uint8_t *q, size_t ldq)
{
    float ds[GKV__FEW_MOST][2][8];

#pragma GCC unroll 5
    for (int x = 0; x < rows; x++)
        for (int h = 0; h <= m.halves; h++)
            *(v8fu *)ds[x][h] = d[x][h];
    if (!m.halves)
        __asm__("" : "+m"(ds)); /* broadcasts from memory need no shuffles, the bottleneck here */
    if (m.pair) {
#pragma GCC unroll 4
        for (size_t u = 0; u < 8; u += 2) {
            v32 u2[2];

            m.pair(r, u, u2);
            u2[0] = i8_weights(u2[0], m.off);
            u2[1] = i8_weights(u2[1], m.off);
#pragma GCC unroll 5
            for (int x = 0; x < rows; x++) {
                const v32u *x2 = (const v32u *)(q + (size_t)x * ldq + u * 32);

                t[x][k].acc[u / 2 & 1] = group(t[x][k].acc[u / 2 & 1], i8_dot64(u2[0], x2[0], u2[1], x2[1]),
                                               &ds[x][0][u], &ds[x][0][u + 1], PAIRED);
            }
        }
        return;
    }
#pragma GCC unroll 8
    for (size_t u = 0; u < 8; u++) {
        float one[2], other[2];
        const v32 w = m.bytes(r, u, one, other);

#pragma GCC unroll 5
        for (int x = 0; x < rows; x++) {
            v8i p = m.product(w, m.off, q + (size_t)x * ldq + u * m.form.width);

            t[x][k].acc[u & 1] = group(t[x][k].acc[u & 1], p, &ds[x][0][u], &ds[x][m.halves][u], m.halves);
        }
    }
}

INLINE v8f folded(const struct FN(recipe) m, const struct FN(sums) t[2], int k)
{
    (void)m;
    return t[k].acc[0] + t[k].acc[1] + t[k].rest;
}

INLINE void gather(const struct FN(recipe) m, uint8_t *to, const uint8_t *q)
{
    for (size_t i = 0; i < 8; i++, q += m.form.bytes) {
        for (size_t h = 0; m.pair && h < 2; h++)
            memcpy(to + i / 2 * 64 + 32 * h + i % 2 * 16, q + 16 * h, 16);
        if (!m.pair)
            memcpy(to + i * m.form.width, q, m.form.width);
    }
}
#endif

/* The sum in unit p of the form for half h, times its factor. */
INLINE float sum_of(const struct FN(recipe) m, const uint8_t *p, int h)
{
    float sum;

    memcpy(&sum, p + m.form.sum + 4 * h, sizeof sum);
    return m.min ? sum : sum * -(float)m.off;
}

INLINE void prepare_one(const struct FN(recipe) m, uint8_t *to, const float *x, size_t n)
{
    for (; n >= 256; n -= 256, x += 256, to += one_bytes(m)) {
        _Alignas(4) uint8_t form[8 * FORM_MOST];
        float side[3][8];

        m.prepare(form, x, 256);
        gather(m, to, form + m.form.q);
        for (size_t u = 0; u < 8; u++) {
            memcpy(&side[0][u], form + u * m.form.bytes, sizeof **side);
            for (int h = 0; h <= m.halves; h++)
                side[1 + h][u] = sum_of(m, form + u * m.form.bytes, h);
        }
        memcpy(to + gathered(m), side, sides(m) * sizeof *side);
    }
    m.prepare(to, x, n);
}

#if BY_64
/* Eight blocks of 32 of each of two rows, used as they are in the file, and of `rows` rows of activations q. */
INLINE void eight_lying(const struct FN(recipe) m, int rows, struct FN(sums) t[][2], const uint8_t *const r[2],
                        const uint8_t *q, size_t ldq)
{
    const size_t whole = m.lie.bytes / 8, parts = m.lie.parts, side = gathered(m), tail = 64 * whole * parts;
    v8f head[2], d[GKV__FEW_MOST][2];
    vi w[2][4];
    v32 u[2];

#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
#pragma GCC unroll 4
        for (size_t v = 0; v < whole; v++) {
            w[k][v] = load_i(r[k] + 64 * v);
            __asm__("" : "+v"(w[k][v]));        /* else it would be read again, across two lines */
        }
        head[k] = heads(w[k], m.lie.bytes);
#pragma GCC unroll 5
        for (int x = 0; x < rows; x++) {
            const v8fu *s = (const v8fu *)(const void *)(q + (size_t)x * ldq + side);

            t[x][k].rest = fused8(head[k], s[1], t[x][k].rest);
            d[x][k] = head[k] * s[0];
        }
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < whole; v++)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            vi y[2];

            m.lie.weights(y, w[k][v]);
#pragma GCC unroll 5
            for (int x = 0; x < rows; x++) {
                vi s = isplat(0);

#pragma GCC unroll 2
                for (size_t j = 0; j < parts; j++)
                    s = i8_step(s, y[j], load_i(q + (size_t)x * ldq + 64 * (v * parts + j)));
                t[x][k].acc[v & 1] = fused(__builtin_convertvector(s, vf), spread_lying(d[x][k], m.lie.bytes, v),
                                           t[x][k].acc[v & 1]);
            }
        }
    m.lie.tail(u, join(*(const v16u *)(r[0] + 64 * whole), *(const v16u *)(r[1] + 64 * whole)));
#pragma GCC unroll 5
    for (int x = 0; x < rows; x++) {
        const uint8_t *e = q + (size_t)x * ldq + tail;
        const v8i s = parts == 1 ? i8_dot32(u[0], load32(e)) : i8_dot64(u[0], load32(e), u[1], load32(e + 32));

        t[x]->tails = fused8(__builtin_convertvector(s, v8f),
                             __builtin_shufflevector(d[x][0], d[x][1], 7, 7, 7, 7, 15, 15, 15, 15), t[x]->tails);
    }
}
#endif

/* Eight blocks of each of two rows r, and of `rows` rows of activations q, ldq bytes apart. */
INLINE void eight_blocks(const struct FN(recipe) m, int rows, struct FN(sums) t[][2], const uint8_t *const r[2],
                         const uint8_t *q, size_t ldq)
{
#if BY_64
    if (m.lie.bytes) {
        eight_lying(m, rows, t, r, q, ldq);
        return;
    }
#endif
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        v8f d[2], min[2], ds[GKV__FEW_MOST][2];

        m.scales(r[k], d, min);
#pragma GCC unroll 5
        for (int x = 0; x < rows; x++) {
            const v8fu *side = (const v8fu *)(const void *)(q + (size_t)x * ldq + gathered(m));

            for (int h = 0; h <= m.halves; h++) {
                if (has_sums(m))
                    t[x][k].rest = fused8(m.min ? min[h] : d[h], side[1 + h], t[x][k].rest);
                ds[x][h] = d[h] * side[0];
            }
        }
        dot_256(m, rows, t, k, r[k], ds, q, ldq);
    }
}

/* The total of row k, with what is left of the row (r) and of the activations (p). */
INLINE float finish_row(const struct FN(recipe) m, const struct FN(sums) t[2], int k, const uint8_t *r,
                        const uint8_t *p, size_t n)
{
    v8f acc = folded(m, t, k);
    float tail = 0;

    for (; n; n -= 32, r += m.per_256 / 8, p += m.form.bytes) {
        float d[2], min[2], s;
        const v8i sum = m.product(m.bytes(r, 0, d, min), m.off, p + m.form.q);

        memcpy(&s, p, sizeof s);
        for (int h = 0; h <= m.halves; h++) {
            if (has_sums(m))
                tail = fused1(m.min ? min[h] : d[h], sum_of(m, p, h), tail);
            d[h] *= s;
        }
        acc = group(acc, sum, &d[0], &d[m.halves], m.halves);
    }
    return tail + sum8(acc);
}

/* Two rows of weights, `rows` rows x, ldx bytes apart, and of y, ldy floats apart. */
INLINE void two_rows(const struct FN(recipe) m, int rows, float *y, size_t ldy, struct pair p, const uint8_t *x, size_t ldx,
                     size_t n, int add)
{
    const uint8_t *r[2] = { p.row[0], p.row[1] }, *q = x;
    struct FN(sums) t[GKV__FEW_MOST][2] = { 0 };

    for (size_t i = n / 256; i--; q += one_bytes(m), r[0] += m.per_256, r[1] += m.per_256) {
        fetch_weights(r, m.per_256, rows);
        eight_blocks(m, rows, t, r, q, ldx);
    }
#pragma GCC unroll 5
    for (int i = 0; i < rows; i++) {
        float sum[2];

#pragma GCC unroll 2
        for (int k = 0; k < 2; k++)
            sum[k] = finish_row(m, t[i], k, r[k], q + (size_t)i * ldx, n % 256);
        put_pair(y + (size_t)i * ldy, p, sum, add);
    }
}

/* Weights are read once and never stored.  Two rows at a time, which are far apart: neighbouring rows are
 * read at 0.77 to 0.94 of the rate (Zen 4). */
INLINE void gemv(const struct FN(recipe) m, float *y, const struct gkv__band *w, const uint8_t *x, size_t n, int add)
{
    for (size_t o = w->from; o < w->to; o++)
        two_rows(m, 1, y, 0, pair_of(w, o), x, 0, n, add);
}

/* Two to GKV__FEW_MOST rows of activations share what unpacks weights. */
INLINE void gemv_few(const struct FN(recipe) m, float *y, size_t ldy, const struct gkv__band *w, const uint8_t *x, size_t ldx,
                     size_t rows, size_t n, int add)
{
    for (size_t o = w->from; o < w->to; o++) {
        const struct pair p = pair_of(w, o);

        switch (rows) {
        case 2: two_rows(m, 2, y, ldy, p, x, ldx, n, add); break;
        case 3: two_rows(m, 3, y, ldy, p, x, ldx, n, add); break;
        case 4: two_rows(m, 4, y, ldy, p, x, ldx, n, add); break;
        case 5: two_rows(m, 5, y, ldy, p, x, ldx, n, add); break;
        }
    }
}

/* For the types that most of a model's weights have, and those whose points are looked up: each takes a compiler two
 * seconds. */
#define FEW_q4_0 , 1
#define FEW_q8_0 , 1
#define FEW_q4_k , 1
#define FEW_q5_k , 1
#define FEW_q6_k , 1
#define FEW_iq2_xxs , 1
#define FEW_iq2_xs , 1
#define FEW_iq2_s , 1
#define FEW_iq3_xxs , 1
#define FEW_iq3_s , 1
#define FEW_iq1_s , 1
#define FEW_iq1_m , 1
#define HAS_FEW(name) SECOND_OF(FEW_##name, 0, )
