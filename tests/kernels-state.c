/* SPDX-License-Identifier: BSD-2-Clause
 * kernels-state.c - layers with a state at every level; as kernels.c */
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

/* Rows of n floats, ld apart, of which the last ends at the guard page. */
static float *rows_of(size_t rows, size_t ld, size_t n, int before)
{
    return floats(rows ? (rows - 1) * ld + n : 0, before);
}

static float *copy(const float *x, size_t n)
{
    return memcpy(malloc((n + 1) * sizeof *x), x, n * sizeof *x);
}

/* How many floats between the rows have changed. */
static int spoilt(const float *x, const float *was, size_t rows, size_t ld, size_t n)
{
    int bad = 0;

    for (size_t t = 0; t + 1 < rows; t++)
        for (size_t c = n; c < ld; c++)
            bad += memcmp(&x[t * ld + c], &was[t * ld + c], sizeof *x) != 0;
    return bad;
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* silu's slope is below 1.1. */
static void test_convolve(const struct gkv__simd *k)
{
    static const size_t widths[] = { 2, 3, 4, 7, 16 };
    double worst = 0;
    int bad = 0;

    for (size_t iw = 0; iw < sizeof widths / sizeof *widths; iw++)
        for (size_t n = 1; n < 80; n += n < 20 ? 1 : 13)
            for (int kind = 0; kind < 8; kind++) {
                const size_t width = widths[iw], rows = kind < 4 ? 1 : 9, ldy = n + 3;
                const int before = kind & 1, act = kind >> 1 & 1;
                float *w = floats(n * width, before), *bias = kind & 4 ? floats(n, before) : NULL;
                float *y = rows_of(rows, ldy, n, before), *was = copy(y, (rows - 1) * ldy + n);
                const float *x[32];

                for (size_t t = 0; t < rows + width - 1; t++) {
                    float *row = t < 18 ? floats(n, before) : malloc(n * sizeof *row);

                    for (size_t c = 0; c < n; c++)
                        row[c] = (float)(20 * uniform());
                    x[t] = row;
                }
                k->state.convolve(y, ldy, x, w, bias, rows, width, n, act);
                for (size_t t = 0; t < rows; t++)
                    for (size_t c = 0; c < n; c++) {
                        double sum = bias ? (double)bias[c] : 0, mag = fabs(sum), want, bound;

                        for (size_t i = 0; i < width; i++) {
                            sum += (double)w[c * width + i] * (double)x[t + i][c];
                            mag += fabs((double)w[c * width + i] * (double)x[t + i][c]);
                        }
                        want = act ? silu(sum) : sum;
                        bound = 1.1 * (double)(width + 2) * EPS * mag;
                        bound += act ? (fabs(sum) + 14) * EPS * fabs(want) + 1e-34 : 0;
                        worst = worse(worst, fabs((double)y[t * ldy + c] - want) / bound);
                    }
                bad += spoilt(y, was, rows, ldy, n);
                for (size_t t = 18; t < rows + width - 1; t++)
                    free((void *)(uintptr_t)x[t]);
                free(was);
                release();
            }
    ok(worst <= 1 && !bad, "convolve: %s (%.2f of the bound)", k->level, worst);
}

/* An argument x is rounded once, and once more times log2(e): 2 |x| eps in e^x. */
static void test_rates(const struct gkv__simd *k)
{
    double worst = 0, gate = 0, near = 0;

    for (size_t n = 1; n < 100; n += n < 40 ? 1 : 13)
        for (int kind = 0; kind < 4; kind++) {
            const int before = kind & 1, same = kind >> 1;
            float *b = floats(n, before), *a = floats(n, before), *dt = floats(n, before), *decay = floats(n, before);
            float *b0, *a0;

            for (size_t i = 0; i < n; i++) {
                b[i] *= i % 3 ? 8 : 60;
                a[i] *= i % 4 ? 4 : i % 8 ? 0.01f : 60;
                if (i % 5 == 3)         /* the series of softplus has its largest argument where a + dt is 0 */
                    dt[i] = -a[i];
            }
            b0 = copy(b, n);
            a0 = copy(a, n);
            k->state.rates(b, a, dt, decay, n, same);
            for (size_t i = 0; i < n; i++) {
                const double x = (double)a0[i] + (double)dt[i], rate = x > 30 ? x + exp(-x) : log1p(exp(x));
                const double of_b = same ? rate : 1 / (1 + exp(-(double)b0[i]));
                const double arg = same ? 2 * fabs(x) : fabs((double)b0[i]);

                near = i % 5 == 3 && same ? worse(near, fabs((double)b[i] - of_b) / (2 * EPS * of_b)) : near;
                worst = worse(worst, fabs((double)b[i] - of_b) / ((arg + 14) * EPS * of_b + 1e-36));
                worst = worse(worst, fabs((double)a[i] - (double)decay[i] * rate) /
                                    ((2 * fabs(x) + 15) * EPS * fabs((double)decay[i]) * rate + 1e-36));
            }
            memcpy(a, a0, n * sizeof *a);
            k->gate(a, b0, n);
            for (size_t i = 0; i < n; i++) {
                const double g = (double)b0[i], want = (double)a0[i] / (1 + exp(-g));

                gate = worse(gate, fabs((double)a[i] - want) / ((fabs(g) + 14) * EPS * fabs(want) + 1e-36));
            }
            free(b0);
            free(a0);
            release();
        }
    ok(worst <= 1, "rates: %s (%.2f of the bound)", k->level, worst);
    ok(near <= 1, "rates: %s, of 0 (%.2f of the bound)", k->level, near);
    ok(gate <= 1, "gate: %s (%.2f of the bound)", k->level, gate);
}

/* e^x: x is a rounded difference, and rounded again times log2(e). */
static double off(float got, double factor, double x)
{
    const double want = factor * exp(x);

    return fabs((double)got - want) / ((2 * fabs(x) + 16) * EPS * fabs(want) + 1e-36);
}

static void test_weigh(const struct gkv__simd *k)
{
    double worst = 0;
    int bad = 0;

    for (size_t n = 1; n <= 64; n += n < 36 ? 1 : 7)
        for (int kind = 0; kind < 4; kind++) {
            const size_t ld = (n + 15) / 16 * 16 + 16 * (n % 2), all = n * ld;
            const int before = kind & 1, both = kind >> 1;
            float *p = floats(all, before), *a = floats(all, before), *was = copy(p, all), *was_a = copy(a, all);
            float *g = floats(ld, before), *b = floats(n, before), *from = floats(ld, before), *to = floats(ld, before);
            double sum = 0;

            for (size_t i = 0; i < n; i++)          /* not computed there, and so anything       */
                for (size_t x = i + 1; x < n; x++)
                    p[i * ld + x] = a[i * ld + x] = was_a[i * ld + x] = NAN;
            for (size_t i = 0; i < ld; i++)
                g[i] = i < n ? (float)(sum += i % 9 == 4 ? 40 * fmin(uniform(), 0) : 0.3 * fmin(uniform(), 0)) : NAN;
            k->state.weigh(both ? a : NULL, p, ld, g, b, from, to, n);
            for (size_t i = 0; i < n; i++) {
                worst = worse(worst, off(from[i], 1, (double)g[i]));
                worst = worse(worst, off(to[i], 1, (double)g[n - 1] - (double)g[i]));
                for (size_t x = 0; x < n; x++) {
                    const double d = (double)g[i] - (double)g[x];

                    if (x <= i)
                        worst = worse(worst, off(p[i * ld + x], (double)was[i * ld + x], d));
                    if (x < i && both)
                        worst = worse(worst, off(a[i * ld + x], -(double)b[i] * (double)was_a[i * ld + x], d));
                    bad += x > i && p[i * ld + x] != 0;
                    bad += x >= i && both && a[i * ld + x] != 0;
                }
            }
            bad += !both && memcmp(a, was_a, all * sizeof *a);
            free(was);
            free(was_a);
            release();
        }
    ok(worst <= 1 && !bad, "weigh: %s (%.2f of the bound)", k->level, worst);
}

/* The error of each row is that of the rows before it, and of its own sum. */
static void test_solve(const struct gkv__simd *k)
{
    double worst = 0;
    int bad = 0;

    for (size_t rows = 1; rows <= 16; rows += rows < 4 ? 1 : 6)
        for (size_t n = 1; n < 140; n += n < 20 ? 1 : 17)
            for (int before = 0; before < 2; before++) {
                const size_t ld = n + 5, lda = rows + 2, all = (rows - 1) * ld + n;
                float *u = rows_of(rows, ld, n, before), *a = rows_of(rows, lda, rows, before), *was = copy(u, all);
                float *by = floats(rows, before);
                double *want = malloc(rows * sizeof *want), *error = malloc(rows * sizeof *error);

                k->state.scale(u, ld, by, rows, n);
                for (size_t t = 0; t < rows; t++)
                    for (size_t c = 0; c < n; c++)
                        bad += u[t * ld + c] != was[t * ld + c] * by[t];
                bad += spoilt(u, was, rows, ld, n);
                memcpy(u, was, all * sizeof *u);
                k->state.solve(u, ld, a, lda, rows, n);
                for (size_t c = 0; c < n; c++)
                    for (size_t i = 0; i < rows; i++) {
                        double mag = fabs((double)was[i * ld + c]);

                        want[i] = (double)was[i * ld + c];
                        error[i] = 0;
                        for (size_t x = 0; x < i; x++) {
                            const double by_a = (double)a[i * lda + x];

                            want[i] += by_a * want[x];
                            mag += fabs(by_a * want[x]);
                            error[i] += fabs(by_a) * error[x];
                        }
                        error[i] += (double)(i + 2) * EPS * (mag + error[i]);
                        worst = worse(worst, fabs((double)u[i * ld + c] - want[i]) / error[i]);
                    }
                bad += spoilt(u, was, rows, ld, n);
                free(was);
                free(want);
                free(error);
                release();
            }
    ok(worst <= 1 && !bad, "scale, solve: %s (%.2f of the bound)", k->level, worst);
}

static void test_multiply(const struct gkv__simd *k)
{
    static const size_t ms[] = { 1, 2, 7, 8, 21 }, ks[] = { 1, 5, 64 };
    static const float scales[] = { 0, 1, 0.375f };
    double worst = 0;
    int bad = 0;

    for (size_t im = 0; im < sizeof ms / sizeof *ms; im++)
        for (size_t ik = 0; ik < sizeof ks / sizeof *ks; ik++)
            for (size_t n = 1; n <= 70; n += n < 4 ? 1 : 5)
                for (int kind = 0; kind < 6; kind++) {
                    const size_t m = ms[im], kk = ks[ik], ldc = n + 2, ldb = n + 3;
                    const int turned = kind & 1;
                    const size_t lda = (turned ? m : kk) + 1, all = (m - 1) * ldc + n;
                    const float scale = scales[kind / 2];
                    float *a = rows_of(turned ? kk : m, lda, turned ? m : kk, turned);
                    float *b = rows_of(kk, ldb, n, kind / 2 == 1), *c = rows_of(m, ldc, n, kind / 2 == 1), *was;

                    if (!kind)
                        c[all / 2] = NAN;
                    was = copy(c, all);
                    (turned ? k->state.multiply_turned : k->state.multiply)(c, ldc, a, lda, b, ldb, m, n, kk, scale);
                    for (size_t r = 0; r < m; r++)
                        for (size_t j = 0; j < n; j++) {
                            double want = scale > 0 ? (double)scale * (double)was[r * ldc + j] : 0, mag = fabs(want);

                            for (size_t i = 0; i < kk; i++) {
                                const double p = (double)a[turned ? i * lda + r : r * lda + i] * (double)b[i * ldb + j];

                                want += p;
                                mag += fabs(p);
                            }
                            bad += !(fabs((double)c[r * ldc + j] - want) <= (double)(kk + 2) * EPS * mag);
                            worst = worse(worst, fabs((double)c[r * ldc + j] - want) / ((double)(kk + 2) * EPS * mag));
                        }
                    bad += spoilt(c, was, m, ldc, n);
                    free(was);
                    release();
                }
    ok(!bad, "multiply: %s (%.2f of the bound)", k->level, worst);
}

/* Errors of u, of the state and of o follow from one another. */
static void test_step(const struct gkv__simd *k)
{
    static const size_t ks[] = { 1, 16, 50, 128 };
    double worst = 0;
    int bad = 0;

    for (size_t ik = 0; ik < sizeof ks / sizeof *ks; ik++)
        for (size_t n = 1; n < 150; n += n < 20 ? 1 : 27)
            for (int kind = 0; kind < 4; kind++) {
                const size_t dk = ks[ik], lds = n + 4, all = (dk - 1) * lds + n;
                const int before = kind & 1, correct = kind >> 1;
                float *s = rows_of(dk, lds, n, before), *was = copy(s, all), *o = floats(n, before);
                float *v = floats(n, before), *q = floats(dk, before), *kk = floats(dk, before);
                const double a = 0.8125, b = 0.6875;

                k->state.step(o, s, lds, kk, q, v, (float)a, (float)b, dk, n, correct);
                for (size_t c = 0; c < n; c++) {
                    double sum = 0, mag = 0, u, error, out = 0, bound = 0;

                    for (size_t i = 0; correct && i < dk; i++) {
                        sum += a * (double)was[i * lds + c] * (double)kk[i];
                        mag += a * fabs((double)was[i * lds + c] * (double)kk[i]);
                    }
                    u = b * ((double)v[c] - sum);
                    error = b * ((double)(dk + 3) * EPS * mag + 3 * EPS * (fabs((double)v[c]) + mag));
                    for (size_t i = 0; i < dk; i++) {
                        const double old = a * (double)was[i * lds + c], more = (double)kk[i] * u, now = old + more;
                        const double off_by = fabs((double)kk[i]) * error + 3 * EPS * (fabs(old) + fabs(more));

                        worst = worse(worst, fabs((double)s[i * lds + c] - now) / (off_by + 1e-36));
                        out += now * (double)q[i];
                        bound += fabs((double)q[i]) * (off_by + (double)(dk + 2) * EPS * fabs(now));
                    }
                    worst = worse(worst, fabs((double)o[c] - out) / (bound + 1e-36));
                }
                bad += spoilt(s, was, dk, lds, n);
                free(was);
                release();
            }
    ok(worst <= 1 && !bad, "step: %s (%.2f of the bound)", k->level, worst);
}

static void test_level(const struct gkv__simd *k)
{
    test_convolve(k);
    test_rates(k);
    test_weigh(k);
    test_solve(k);
    test_multiply(k);
    test_step(k);
}

int main(void)
{
    test_levels(test_level);
#if HAVE_ISA_AVX2
    test_wide(fill_wide_table, test_level);
#endif
    return done();
}
