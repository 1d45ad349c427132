/* SPDX-License-Identifier: BSD-2-Clause
 * kernels-attend.c - attention at every level, of many rows and of few, and the forms that it reads; as kernels.c */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "simd/simd.h"
#include "tests/guarded.h"
#include "tests/kernels.h"
#include "tests/levels.h"
#include "tests/tap.h"
#include "tests/worse.h"

/* Rounds n floats to the nearest bfloat16, so that conversion to the form is exact. */
static void round_bf16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        gkv__quant_of(GKV__TYPE_BF16)->from_f32(x + i, &h, 1);
        gkv__quant_of(GKV__TYPE_BF16)->to_f32(&h, x + i, 1);
    }
}

enum { QUERIES, KEYS, VALUES };

/* The n rows of x in the form that attend reads, made by `pairs`, `narrow` or `values`; allocated next to a guard
 * page. */
static const void *in_form(const struct gkv__attend *a, const float *x, size_t n, size_t width,
                           int kind, int before)
{
    const int keys = kind == KEYS, values = kind == VALUES && a->values;
    const size_t row = keys ? (width + 1) / 2 * 2 : width, pairs = values ? (n + 31) / 32 * 16 : (n + 1) / 2;
    const size_t bytes = (keys ? n : pairs) * row * (keys ? 2 : 4);
    float *buf;
    void *p;

    if (!a->pairs)
        return x;
    buf = malloc(bytes);
    if (keys)
        a->narrow(buf, x, GKV__TYPE_F32, n, width);
    else if (values)
        a->values(buf, x, GKV__TYPE_F32, n, width);
    else
        a->pairs(buf, x, GKV__TYPE_F32, n, width);
    p = guard(bytes, before);
    memcpy(p, buf, bytes);
    free(buf);
    return p;
}

/* Rounding itself: as in src/quant/bf16.c, from floats in place and from f16, with odd ends padded. */
static void test_form(const struct gkv__simd *k)
{
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_BF16), *f16 = gkv__quant_of(GKV__TYPE_F16);
    int bad = 0;

    for (size_t n = 1; n <= 5; n++)
        for (size_t width = 1; width <= 70; width += width < 36 ? 1 : 17)
            for (int before = 0; before < 2; before++)
                for (int halves = 0; halves < 2; halves++) {
                    const enum gkv__type type = halves ? GKV__TYPE_F16 : GKV__TYPE_F32;
                    const size_t even = (width + 1) / 2 * 2, rows = (n + 1) / 2 * 2;
                    float *x = floats(n * width, before);
                    uint16_t *h = guard(n * width * sizeof *h, before), want;
                    uint16_t *v = guard(rows * width * sizeof *v, before);
                    uint16_t *key = guard(n * even * sizeof *key, before);
                    float *y = guard(n * width * sizeof *y, before);

                    x[n * width / 2] = NAN;
                    x[n * width / 3] = -INFINITY;
                    if (halves) {
                        f16->from_f32(x, h, n * width);
                        f16->to_f32(h, x, n * width);
                        k->attend.pairs(v, h, type, n, width);
                        k->attend.narrow(key, h, type, n, width);
                    } else {
                        memcpy(y, x, n * width * sizeof *y);
                        k->attend.pairs(y, y, type, n, width);
                        memcpy(v, y, rows * width * sizeof *v);
                        memcpy(y, x, n * width * sizeof *y);
                        k->attend.narrow(y, y, type, n, width);
                        memcpy(key, y, n * even * sizeof *key);
                    }
                    for (size_t i = 0; i < rows; i++)
                        for (size_t j = 0; j < width; j++) {
                            q->from_f32(i < n ? &x[i * width + j] : &(float){ 0 }, &want, 1);
                            bad += want != v[(i / 2 * width + j) * 2 + i % 2];
                        }
                    for (size_t i = 0; i < n; i++)
                        for (size_t j = 0; j < even; j++) {
                            q->from_f32(j < width ? &x[i * width + j] : &(float){ 0 }, &want, 1);
                            bad += want != key[i * even + j];
                        }
                    release();
                }
    ok(!bad, "attend's form: %s", k->level);
}

/* What queries see in the tests below: all keys; no late keys; neither late nor early keys, with a cap on
 * scores. */
enum { ALL, TO, BOTH, SIGHTS };

/* The limits of n queries in block b of nk keys. */
static struct gkv__sight sight(int kind, int32_t *to, int32_t *from, size_t n, size_t nk, size_t b)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (int32_t)(b ? i * 7 % (nk + 1) : i % nk + 1);
        from[i] = to[i] / 3;
    }
    return (struct gkv__sight){ to, kind == BOTH ? from : NULL, kind == BOTH ? 30 : 0 };
}

/* The score in double, -inf if key j of the block is hidden from query i. */
static double seen(int kind, const struct gkv__sight *see, size_t i, size_t j, double score)
{
    if (kind == ALL)
        return score;
    if ((int32_t)j >= see->to[i] || (see->from && (int32_t)j < see->from[i]))
        return -INFINITY;
    return kind == BOTH ? (double)see->cap * tanh(score / (double)see->cap) : score;
}

/* The largest error of query i's output after two blocks of nk keys, in units of its bound.  qo: query and output,
 * d numbers `step` apart; l: what the output is divided by.
 *
 * A score is a sum of d products, at most 4 d, and its error is relative in the weight (times ln 2); a cap adds
 * 8 eps of the cap; then there are two sums over the keys.  Rounding a weight to bfloat16 adds up to 2^-8. */
static double attention_error(const float *const *qo, size_t step, double l, const float *k, const float *v, size_t nk,
                              size_t d, int kind, const struct gkv__sight *see, size_t i, int in_pairs)
{
    double score[300], max = -INFINITY, sum = 0, worst = 0;

    for (size_t j = 0; j < 2 * nk; j++) {
        score[j] = 0;
        for (size_t x = 0; x < d; x++)
            score[j] += (double)qo[0][x * step] * (double)k[j * d + x];
        score[j] = seen(kind, &see[j / nk], i, j % nk, score[j]);
        max = fmax(max, score[j]);
    }
    for (size_t j = 0; j < 2 * nk; j++)
        sum += score[j] = exp2(score[j] - max);
    for (size_t x = 0; x < d; x++) {
        double want = 0, mag = 0, bound;

        for (size_t j = 0; j < 2 * nk; j++) {
            want += score[j] / sum * (double)v[j * d + x];
            mag += score[j] / sum * fabs((double)v[j * d + x]);
        }
        bound = (0.7 * 4 * (double)(d * (d + 2)) + 4 * (double)nk + 16) * EPS * mag;
        bound += kind == BOTH ? 0.7 * 8 * 30 * EPS * mag : 0;
        bound += in_pairs ? mag / 256 : 0;
        worst = worse(worst, fabs((double)qo[1][x * step] / l - want) / (bound + 1e-30));
    }
    return worst;
}

/* Two blocks of keys one after the other, so that the running maximum changes: once, for all queries, a little.  There
 * are more values than keys that are seen. */
static void test_attend(const struct gkv__simd *k)
{
    static const size_t ds[] = { 1, 12, 16, 64, 80, 128, 256 }, ns[] = { 1, 3, 16, 32, 37, 65 };
    const size_t lanes = k->attend.lanes;
    double worst = 0;

    for (size_t id = 0; id < sizeof ds / sizeof *ds; id++)
        for (size_t in = 0; in < sizeof ns / sizeof *ns; in++)
            for (int kind = 0; kind < SIGHTS; kind++) {
                const int masked = kind != ALL;         /* also chooses the guard page */
                const size_t d = ds[id], nk = ns[in];
                const int slight = d == 64 && nk == 32;
                float *qt = floats(d * lanes, masked), *kk = floats(2 * nk * d, masked);
                float *v = floats(2 * nk * d, masked), *ot = floats(d * lanes, masked);
                float *m = floats(lanes, masked), *l = floats(lanes, masked);
                float *s = floats(nk * lanes, masked);
                int32_t *to = guard(2 * lanes * sizeof *to, masked), *from = guard(2 * lanes * sizeof *to, masked);
                struct gkv__sight see[2];
                const void *qf;

                memset(ot, 0, d * lanes * sizeof *ot);
                for (size_t i = 0; i < lanes; i++) {
                    m[i] = GKV__ATTEND_MIN;
                    l[i] = 0;
                    for (size_t x = 0; x < d; x++)
                        qt[x * lanes + i] *= slight ? 0.01f : 4;
                }
                for (size_t i = 0; i < 2 * nk * d && slight; i++)
                    v[i] = fabsf(v[i]);         /* a wrong weight is not averaged away       */
                if (k->attend.pairs) {
                    round_bf16(qt, d * lanes);
                    round_bf16(kk, 2 * nk * d);
                    round_bf16(v, 2 * nk * d);
                }
                qf = in_form(&k->attend, qt, d, lanes, QUERIES, masked);
                for (size_t b = 0; b < 2; b++) {
                    see[b] = sight(kind, to + b * lanes, from + b * lanes, lanes, nk, b);
                    k->attend.run(ot, m, l, qf, in_form(&k->attend, kk + b * nk * d, nk, d, KEYS, masked),
                                  in_form(&k->attend, v + b * nk * d, (2 - b) * nk, d, VALUES, masked), nk, d,
                                  masked ? &see[b] : NULL, s);
                }
                for (size_t i = 0; i < lanes; i++) {
                    const float *one[] = { qt + i, ot + i };

                    worst = worse(worst, attention_error(one, lanes, (double)l[i], kk, v, nk, d, kind, see, i,
                                                        k->attend.pairs != NULL));
                }
                release();
            }
    ok(worst <= 1, "attend: %s (%.2f of the bound)", k->level, worst);
}

/* f16 as attend_few_bf16.h converts it: 8 bits, ties away from 0; below 2^-14 it becomes 0, unless it rounds
 * up to 2^-14. */
static float eight_bits(float x)
{
    int e;
    const double m = frexp((double)x, &e);

    if (fabsf(x) < 0x1p-14f)
        return fabsf(x) < 0x1p-14f - 0x1p-22f ? 0 : copysignf(0x1p-14f, x);
    return (float)ldexp(round(ldexp(m, 8)), e - 8);
}

/* Two calls one after the other, so that the running maximum changes. */
static void test_attend_few(const struct gkv__simd *k, const struct gkv__quant *t)
{
    static const size_t ds[] = { 1, 12, 64, 80, 96, 128, 256 }, rs[] = { 1, 2, 3, 4, 7, 8 };
    static const size_t ns[] = { 1, 2, 5, 16, 37, 150 };
    double worst = 0;

    for (size_t id = 0; id < sizeof ds / sizeof *ds; id++)
        for (size_t ir = 0; ir < sizeof rs / sizeof *rs && ds[id] % t->block == 0; ir++)
            for (size_t c = 0; c < SIGHTS * sizeof ns / sizeof *ns; c++) {
                const size_t d = ds[id], rows = rs[ir], nk = ns[c / SIGHTS], row = GKV__FEW_ROW(d);
                const int kind = (int)(c % SIGHTS), masked = kind != ALL;
                const size_t bytes = nk * d / t->block * t->bytes;
                float *q = floats(rows * row, masked), *o = floats(rows * row, masked);
                float *m = floats(rows, masked), *l = floats(rows, masked);
                uint8_t *kb = blocks(t, 2 * nk * d, masked), *vb = blocks(t, 2 * nk * d, masked);
                float *kf = malloc(2 * nk * d * sizeof *kf), *vf = malloc(2 * nk * d * sizeof *vf);
                float *kept = malloc(rows * row * sizeof *q);
                const int in_pairs = k->attend.pairs && rows >= 4 &&
                                     (t->type == GKV__TYPE_F16 || t->type == GKV__TYPE_BF16);
                int32_t *to = guard(2 * rows * sizeof *to, masked), *from = guard(2 * rows * sizeof *to, masked);
                struct gkv__sight see[2];

                t->to_f32(kb, kf, 2 * nk * d);
                t->to_f32(vb, vf, 2 * nk * d);
                memset(o, 0, rows * row * sizeof *o);
                for (size_t r = 0; r < rows; r++) {
                    m[r] = GKV__ATTEND_MIN;
                    l[r] = 0;
                    for (size_t x = 0; x < row; x++)
                        q[r * row + x] = x < d ? 4 * q[r * row + x] : 0;
                }
                memcpy(kept, q, rows * row * sizeof *q);
                for (size_t i = 0; i < 2 * nk * d && in_pairs && t->type == GKV__TYPE_F16; i++) {
                    kf[i] = eight_bits(kf[i]);
                    vf[i] = eight_bits(vf[i]);
                }
                for (size_t b = 0; b < 2; b++) {
                    memcpy(q, kept, rows * row * sizeof *q);
                    see[b] = sight(kind, to + b * rows, from + b * rows, rows, nk, b);
                    k->attend_few[t->type](o, m, l, q, kb + b * bytes, vb + b * bytes, rows, nk, d,
                                           masked ? &see[b] : NULL);
                }
                if (in_pairs)
                    round_bf16(kept, rows * row);
                for (size_t r = 0; r < rows; r++) {
                    const float *one[] = { kept + r * row, o + r * row };

                    worst = worse(worst, attention_error(one, 1, (double)l[r], kf, vf, nk, d, kind, see, r, in_pairs));
                }
                free(kf);
                free(vf);
                free(kept);
                release();
            }
    ok(worst <= 1, "attend_few %s: %s (%.2f of the bound)", t->name, k->level, worst);
}

/* What is not in the table is not tested below: caches may have any of these types. */
static void test_table(const struct gkv__simd *k)
{
    static const enum gkv__type types[] = { GKV__TYPE_F32, GKV__TYPE_F16, GKV__TYPE_BF16, GKV__TYPE_Q8_0, GKV__TYPE_Q4_0 };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ok(k->attend_few[types[i]], "attend_few %s: %s has it", gkv__quant_of(types[i])->name, k->level);
}

/* Faster than plain C at each level but ref. */
static void test_own(const struct gkv__simd *k)
{
    struct gkv__simd ref;
    unsigned all = 1;

    gkv__simd_init(&ref, 0);
    for (size_t t = 0; t < GKV__N_TYPES; t++)
        all &= !ref.attend_few[t] || ref.attend_few[t] != k->attend_few[t];
    ok(all, "%s has its own attend_few of every type", k->level);
}

static void test_level(const struct gkv__simd *k)
{
    test_table(k);
    if (strcmp(k->level, "ref"))
        test_own(k);
    for (int t = 0; t < GKV__N_TYPES; t++)
        if (k->attend_few[t])
            test_attend_few(k, gkv__quant_of((enum gkv__type)t));
    test_attend(k);
    if (k->attend.pairs)
        test_form(k);
}

#if HAVE_ISA_AVX2
static void test_bf16(const struct gkv__simd *k)
{
    test_attend(k);
    test_form(k);
    test_attend_few(k, gkv__quant_of(GKV__TYPE_F16));
    test_attend_few(k, gkv__quant_of(GKV__TYPE_BF16));
}
#endif

int main(void)
{
    test_levels(test_level);
#if HAVE_ISA_AVX2
    test_wide(fill_wide_table, test_level);
    test_wide(fill_wide_bf16_table, test_bf16);
#endif
    return done();
}
