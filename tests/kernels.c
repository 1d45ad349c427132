/* SPDX-License-Identifier: BSD-2-Clause
 * kernels.c - every kernel at every level against double precision on the same quantised data: products, conversions and
 * rows.  kernels-attend.c and kernels-state.c have the others.  Inputs end at a guard page, or begin after one (guarded.h).
 * Outputs are surrounded by poison, which must not change.  Errors are compared with bounds from
 * numerics: a sum of n products is within (n + c) eps sum |a b|. */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "simd/simd.h"
#include "tests/guarded.h"
#include "tests/kernels.h"
#include "tests/levels.h"
#include "tests/tap.h"
#include "tests/worse.h"

/* A block of a type that is only read, whose weights are as large as its table allows: byte by byte, what makes
 * their sum largest, times `sign`. */
static void largest_block(const struct gkv__quant *q, uint8_t *b, float sign)
{
    float x[256], most;

    memset(b, 0, q->bytes);
    for (size_t i = 0; i < q->bytes; i++) {
        uint8_t best = 0;

        most = -FLT_MAX;
        for (unsigned byte = 0; byte < 256; byte++) {
            float sum = 0;

            b[i] = (uint8_t)byte;
            table_scale(q, b, gkv__f32_to_f16(1));
            q->to_f32(b, x, q->block);
            for (size_t j = 0; j < q->block; j++)
                sum += x[j] * sign;
            if (sum > most) {
                most = sum;
                best = (uint8_t)byte;
            }
        }
        b[i] = best;
    }
    table_scale(q, b, gkv__f32_to_f16(1));
}

/* Rows of kk weights at the ends of their range, of either sign in turns. */
static void extreme_blocks(const struct gkv__quant *q, uint8_t *w, size_t n, size_t kk)
{
    static enum gkv__type made;
    static uint8_t largest[2][256];
    const size_t stride = kk / q->block * q->bytes;

    if (q->from_f32) {
        float *f = malloc(n * kk * sizeof *f);

        for (size_t i = 0; i < n * kk; i++)
            f[i] = i % 16 == 5 ? 0 : i / kk % 2 ? 1 : -1;
        q->from_f32(f, w, n * kk);
        free(f);
        return;
    }
    for (int s = 0; made != q->type && s < 2; s++)
        largest_block(q, largest[s], s ? 1 : -1);
    made = q->type;
    for (size_t i = 0; i < n * stride; i++)
        w[i] = largest[i / stride % 2][i % q->bytes];
}

/* ---- one test per slot ------------------------------------------------------------------ */

enum { N_MAX = 1300 };          /* a few blocks of the largest type */

static void test_unpack(const struct gkv__simd *k, const struct gkv__quant *q)
{
    int bad = 0;

    for (size_t n = 0; n <= 40 * q->block && n <= N_MAX; n += q->block)
        for (int before = 0; before < 2; before++) {
            uint8_t *src = blocks(q, n, before);
            float *out = floats(n, before), *want = malloc((n + 1) * sizeof *want);

            memset(out, 0xa5, n * sizeof *out);
            q->to_f32(src, want, n);
            k->unpack[q->type](src, out, n);
            bad += n && memcmp(out, want, n * sizeof *out);     /* exact */
            free(want);
            release();
        }
    ok(!bad, "unpack %s: %s", q->name, k->level);
}

/* Tests every f16: the only type whose elements can be subnormal or infinite. */
static void test_all_f16(const struct gkv__simd *k)
{
    static uint16_t src[65536];
    static float out[65536];
    int bad = 0;

    for (size_t i = 0; i < 65536; i++)
        src[i] = (uint16_t)i;
    k->unpack[GKV__TYPE_F16](src, out, 65536);
    for (size_t i = 0; i < 65536; i++) {
        float want = gkv__f16_to_f32((uint16_t)i);
        bad += isnan(want) ? !isnan(out[i]) : memcmp(&want, &out[i], sizeof want) != 0;
    }
    ok(!bad, "unpack f16, all 65,536: %s", k->level);
}

static void test_dot(const struct gkv__simd *k, const struct gkv__quant *q)
{
    int bad = 0;

    for (size_t n = 0; n <= 40 * q->block && n <= N_MAX; n += q->block)
        for (int before = 0; before < 2; before++) {
            uint8_t *w = blocks(q, n, before);
            float *x = floats(n, before), *f = malloc((n + 1) * sizeof *f);
            double want = 0, mag = 0, got;

            q->to_f32(w, f, n);
            for (size_t i = 0; i < n; i++) {
                want += (double)f[i] * (double)x[i];
                mag += fabs((double)f[i] * (double)x[i]);
            }
            got = (double)k->dot[q->type](w, x, n);
            bad += !(fabs(got - want) <= (double)(n + 4) * EPS * mag);
            free(f);
            release();
        }
    ok(!bad, "dot %s: %s", q->name, k->level);
}

static void test_dots(const struct gkv__simd *k, const struct gkv__quant *q)
{
    static const size_t ns[] = { 1, 16, 63, 64, 131, 320 };
    int bad = 0;

    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        for (size_t n_out = 1; n_out < 8; n_out++) {
            const size_t n = ns[i], stride = n * q->bytes;
            uint8_t *w = blocks(q, n * n_out, 0);
            float *x = floats(n, 0), *y = floats(n_out, 0);

            for (size_t o = 0; o < gkv__band_most(n_out); o++)
                k->dots[q->type](y, &(struct gkv__band){ w, stride, n_out, o, o + 1 }, x, n, 0);
            for (size_t o = 0; o < n_out; o++) {
                float want = k->dot[q->type](w + o * stride, x, n);
                bad += memcmp(&want, &y[o], sizeof want) != 0;
            }
            release();
        }
    ok(!bad, "dots %s: %s", q->name, k->level);
}

static void test_gemm(const struct gkv__simd *k)
{
    static const size_t ms[] = { 1, 2, 3, 5, 7, 13, 24 }, ks[] = { 1, 7, 64, 129 };
    int bad = 0, poison = 0;

    for (size_t im = 0; im < sizeof ms / sizeof *ms; im++)
        for (size_t ik = 0; ik < sizeof ks / sizeof *ks; ik++)
            for (size_t n = 1; n <= 2 * k->nr + 3; n += n < 4 ? 1 : 5)
                for (int add = 0; add < 2; add++) {
                    const size_t m = ms[im], kk = ks[ik], lda = kk + 3, ldc = n + 2;
                    const size_t n_panels = (n + k->nr - 1) / k->nr;
                    float *a = floats((m - 1) * lda + kk, add), *w = floats(n * kk, add);
                    float *panels = floats(n_panels * k->nr * kk, add);
                    float *c = floats((m - 1) * ldc + n, add);
                    float *old = malloc(((m - 1) * ldc + n) * sizeof *old);

                    memcpy(old, c, ((m - 1) * ldc + n) * sizeof *old);
                    for (size_t j = 0; j < n; j += k->nr)
                        k->pack(panels + j * kk, w + j * kk, kk, n - j < k->nr ? n - j : k->nr, kk);
                    k->gemm(c, ldc, a, lda, panels, m, n, kk, add);
                    for (size_t r = 0; r < m; r++)
                        for (size_t j = 0; j < ldc && r * ldc + j < (m - 1) * ldc + n; j++) {
                            double want = add ? (double)old[r * ldc + j] : 0, mag = fabs(want);
                            if (j >= n) {
                                poison += c[r * ldc + j] != old[r * ldc + j];
                                continue;
                            }
                            for (size_t i = 0; i < kk; i++) {
                                double p = (double)a[r * lda + i] * (double)w[j * kk + i];
                                want += p;
                                mag += fabs(p);
                            }
                            bad += !(fabs((double)c[r * ldc + j] - want) <= (double)(kk + 2) * EPS * mag);
                        }
                    free(old);
                    release();
                }
    ok(!bad && !poison, "gemm: %s", k->level);
}

/* Products with few rows of activations x, whatever they are: those of each row alone, and nothing else is
 * written. */
static void test_few(const struct gkv__product *mul, const uint8_t *w, size_t stride, size_t n, const float *x, size_t kk,
                     int *wrong)
{
    const size_t bytes = gkv__one_bytes(mul, kk), half = gkv__band_most(n), cut = half / 3, ldy = n + 2;

    for (size_t rows = 2; rows <= GKV__FEW_MOST && mul->few; rows++)
        for (int add = 0; add < 2; add++) {
            uint8_t *one = guard(rows * bytes, add);
            float *y = floats((rows - 1) * ldy + n, add), *want = malloc(((rows - 1) * ldy + n) * sizeof *want);

            memcpy(want, y, ((rows - 1) * ldy + n) * sizeof *want);
            for (size_t r = 0; r < rows; r++) {
                mul->prepare_one(one + r * bytes, x + r * kk, kk);
                mul->gemv(want + r * ldy, &(struct gkv__band){ w, stride, n, 0, half }, one + r * bytes, kk, add);
            }
            mul->few(y, ldy, &(struct gkv__band){ w, stride, n, cut, half }, one, bytes, rows, kk, add);
            mul->few(y, ldy, &(struct gkv__band){ w, stride, n, 0, cut }, one, bytes, rows, kk, add);
            *wrong += memcmp(y, want, ((rows - 1) * ldy + n) * sizeof *want) != 0;
            free(want);
        }
}

/* Products in integers.  First with activations that the form holds exactly (integers times a power of
 * two, where the largest of each 32 is the largest possible), so that the only error is the rounding of
 * a few sums per block.  Then the same with all weights and activations at the ends of their ranges,
 * where narrow sums must not overflow.  Then with any activations, which adds half a step for each
 * of them. */
static void test_mul(const struct gkv__simd *k, const struct gkv__quant *q)
{
    static const size_t ms[] = { 1, 3, 4, 6, 13 };
    /* For elements, blocks of 32, and blocks of 256: gemv takes 256 at a time. */
    static const size_t sizes[3][6] = { { 2, 48, 94, 256, 300, 512 }, { 32, 64, 96, 256, 288, 736 },
                                        { 256, 512, 768 } };
    const struct gkv__product *mul = &k->product[q->type];
    const size_t *const ks = sizes[mul->unit < 32 ? 0 : q->block == 32 ? 1 : 2];
    const int top = strcmp(mul->form, "i16") ? 127 : 32767;
    double worst = 0, worst_gemv = 0;
    int poison = 0, band = 0, few = 0;

    for (size_t im = 0; im < sizeof ms / sizeof *ms; im++)
        for (size_t ik = 0; ik < 6 && ks[ik]; ik++)
            for (size_t n = 1; n <= 2 * (size_t)mul->nr + 3; n += n < 3 ? 1 : 7)
                for (int kind = 0; kind < 3; kind++) {
                    const int extreme = kind == 1, any = kind == 2;
                    const size_t kk = ks[ik], half = gkv__band_most(n), cut = half / 3;
                    const size_t m = ms[im], ldc = n + 2, stride = kk / q->block * q->bytes;
                    const size_t n_panels = (n + mul->nr - 1) / mul->nr, units = kk / mul->unit;
                    const size_t ldx = units * mul->x_bytes;
                    float *x = floats(m * kk, any), *c = floats((m - 1) * ldc + n, any);
                    uint8_t *w = blocks(q, n * kk, any), *form = guard(m * ldx, any);
                    uint8_t *panels = guard(n_panels * mul->nr * units * mul->w_bytes, any);
                    uint8_t *one = guard(gkv__one_bytes(mul, kk), any);
                    float *y = floats(n, any), *z = floats(n, !any), *was = malloc(n * sizeof *was);
                    float *old = malloc(((m - 1) * ldc + n) * sizeof *old), *f = malloc(n * kk * sizeof *f);

                    if (extreme)
                        extreme_blocks(q, w, n, kk);
                    q->to_f32(w, f, n * kk);
                    memcpy(old, c, ((m - 1) * ldc + n) * sizeof *old);
                    for (size_t i = 0; !any && i < m * kk; i++) {
                        x[i] = i % 32 == 7 || extreme ? (float)top : (float)(int)((float)top * x[i]);
                        x[i] *= i / 32 % 2 ? 0x1p-9f : -0x1p-7f;
                    }
                    for (size_t r = 0; r < m; r++)
                        mul->prepare(form + r * ldx, x + r * kk, kk);
                    for (size_t j = 0; j < n; j += mul->nr)
                        mul->pack(panels + j * units * mul->w_bytes, w + j * stride, stride,
                                  n - j < mul->nr ? n - j : mul->nr, kk);
                    mul->gemm(c, ldc, form, ldx, panels, m, n, kk, any);
                    mul->prepare_one(one, x, kk);
                    mul->gemv(y, &(struct gkv__band){ w, stride, n, cut, half }, one, kk, 0);
                    mul->gemv(y, &(struct gkv__band){ w, stride, n, 0, cut }, one, kk, 0);
                    memcpy(was, z, n * sizeof *z);
                    mul->gemv(z, &(struct gkv__band){ w, stride, n, 0, half }, one, kk, 1);
                    for (size_t j = 0; j < n; j++)
                        band += z[j] != was[j] + y[j];
                    if (m == 6 && any)
                        test_few(mul, w, stride, n, x, kk, &few);
                    for (size_t r = 0; r < m; r++)
                        for (size_t j = 0; j < ldc && r * ldc + j < (m - 1) * ldc + n; j++) {
                            double want = 0, bound = 0, before = (double)old[r * ldc + j];
                            if (j >= n) {
                                poison += c[r * ldc + j] != old[r * ldc + j];
                                continue;
                            }
                            for (size_t g = 0; g < kk; g += 32) {
                                double largest = 0, sum = 0, abs_w = 0, abs_x = 0;
                                for (size_t i = g; i < g + 32 && i < kk; i++) {
                                    double a = (double)x[r * kk + i], b = (double)f[j * kk + i];
                                    want += a * b;
                                    largest = fmax(largest, fabs(b));
                                    sum += fabs(a);
                                    abs_w += fabs(b);
                                    abs_x = fmax(abs_x, fabs(a));
                                }
                                /* scale and minimum are at most a few times the largest weight */
                                bound += 8 * (double)(kk / 32 + 8) * EPS * largest * sum;
                                if (mul->unit < 32)     /* sums are in f32 */
                                    bound += (double)kk * EPS * largest * sum;
                                if (any)
                                    bound += abs_w * abs_x / top * (0.5 + 4 * top * EPS);
                            }
                            if (r == 0)
                                worst_gemv = worse(worst_gemv, fabs((double)y[j] - want) / (bound + 1e-30));
                            bound += EPS * (fabs(before) + fabs(want));
                            want += any ? before : 0;
                            worst = worse(worst, fabs((double)c[r * ldc + j] - want) / (bound + 1e-30));
                        }
                    free(old);
                    free(was);
                    free(f);
                    release();
                }
    ok(worst <= 1 && !poison, "gemm %s in %s: %s (%.2f of the bound)", q->name, mul->form,
       k->level, worst);
    ok(worst_gemv <= 1 && !band, "gemv %s in %s: %s (%.2f of the bound)", q->name, mul->form, k->level,
       worst_gemv);
    if (mul->few)
        ok(!few, "few rows of %s in %s: %s, %d of them wrong", q->name, mul->form, k->level, few);
}

/* The largest magnitude.  In floats: gcc 12 for AArch64 ends with an internal error on a maximum of doubles here. */
static double magnitude(const float *x, size_t n)
{
    float most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return (double)most;
}

/* Products with one scale for many weights and activations, of either kind: from panels, or from tiles. */
struct coarse {
    const struct gkv__quant   *q;
    const struct gkv__product *mul;
    const struct gkv__many    *many;    /* or NULL                                           */
};

static const char *form_of(const struct coarse *s)
{
    return s->many ? s->many->form : s->mul->form;
}

/* The n outputs of w, packed. */
static uint8_t *packed_many(const struct gkv__many *many, const uint8_t *w, size_t stride, size_t n, size_t k)
{
    const size_t each = (k / many->unit + many->deep - 1) / many->deep * many->block;
    uint8_t *to = guard((n + 31) / 32 * each, 0);

    for (size_t o = 0; o < n; o += 32)
        many->pack(to + o / 32 * each, w + o * stride, stride, n - o < 32 ? n - o : 32, k);
    return to;
}

/* c (+)= x w^T, of m packed rows of x. */
static void multiply_coarse(const struct coarse *s, float *c, size_t ldc, const float *x, const uint8_t *w, size_t m, size_t n,
                            size_t k, int add)
{
    const size_t unit = s->many ? s->many->unit : s->mul->unit;
    const size_t stride = k / s->q->block * s->q->bytes, ldx = k / unit * (s->many ? s->many->x_bytes : s->mul->x_bytes);
    const int had = n_guarded;
    uint8_t *form = guard(m * ldx, add);

    if (s->many) {
        uint8_t *scratch = guard(s->many->scratch, 0);

        for (size_t i = 0; i < m; i += GKV__GROUP)
            s->many->prepare(form + i * ldx, x + i * k, k, m - i < GKV__GROUP ? m - i : GKV__GROUP, k);
        s->many->gemm(c, ldc, form, w, stride, add ? packed_many(s->many, w, stride, n, k) : NULL, m, n, k, scratch, add);
    } else {
        const size_t nr = s->mul->nr, units = k / unit;
        uint8_t *panels = guard((n + nr - 1) / nr * nr * units * s->mul->w_bytes, 1);

        for (size_t j = 0; j < n; j += nr)
            s->mul->pack(panels + j * units * s->mul->w_bytes, w + j * stride, stride, n - j < nr ? n - j : nr, k);
        for (size_t i = 0; i < m; i++)
            s->mul->prepare(form + i * ldx, x + i * k, k);
        s->mul->gemm(c, ldc, form, ldx, panels, m, n, k, add);
    }
    release_but(had);
}

/* What the weights became, [k][n]: rows with a single 1 read them back. */
static float *weights_became(const struct coarse *s, const uint8_t *w, size_t n, size_t k)
{
    float *became = malloc(k * n * sizeof *became), *hot = calloc(64 * k, sizeof *hot);

    for (size_t i = 0; i < k; i += 64) {
        const size_t m = k - i < 64 ? k - i : 64;

        for (size_t r = 0; r < m; r++)
            hot[r * k + i + r] = 1;
        multiply_coarse(s, became + i * n, n, hot, w, m, n, k, 0);
        for (size_t r = 0; r < m; r++)
            hot[r * k + i + r] = 0;
    }
    free(hot);
    return became;
}

/* Each weight is off by half a step at most, a quarter in the mean, and a little more where a scale has 16 bits.  A step is 1/127
 * of the largest weight that the scales allow, which random weights do not reach: of 32 none may, and grids end at 9 of 16.
 * Those of mxfp4 are 0 to 4, 6, 8 and 12 of 16, and one block in 10,000 has none above 6.
 * With the weights that were read, other activations add only their own half steps.  block: inputs with one scale. */
static void test_coarse(const struct gkv__simd *k, const struct coarse *s, size_t block)
{
    static const size_t ks[2][2][5] = { { { 128, 256, 384, 640 }, { 256, 512 } }, { { 64, 256, 320, 512, 1344 }, { 256, 1280 } } };
    static const size_t ms[2][5] = { { 1, 5, 6, 13 }, { 1, 17, 31, 32, 77 } };
    static const size_t ns[2][6] = { { 1, 2, 3, 18, 33, 48 }, { 1, 3, 16, 31, 33, 70 } };
    const struct gkv__quant *q = s->q;
    const int tiles = s->many != NULL;
    double worst_weight = 0, worst = 0, off = 0, weights = 0;
    int poison = 0, alone = 0;

    for (size_t ik = 0; ik < 5 && ks[tiles][q->block == 256][ik]; ik++)
        for (size_t in = 0; in < 6; in++) {
            const size_t kk = ks[tiles][q->block == 256][ik], n = ns[tiles][in];
            uint8_t *w = blocks(q, n * kk, 1);
            float *f = malloc(n * kk * sizeof *f), *became = weights_became(s, w, n, kk);

            q->to_f32(w, f, n * kk);
            for (size_t j = 0; j < n; j++)
                for (size_t g = 0; g < kk; g += block) {
                    const size_t wide = kk - g < block ? kk - g : block;
                    const double most = magnitude(f + j * kk + g, wide);

                    weights += most > 0 ? (double)wide : 0;
                    for (size_t i = g; i < g + wide; i++) {
                        const double e = fabs((double)became[i * n + j] - (double)f[j * kk + i]) / (most / 127 + 1e-30);

                        worst_weight = worse(worst_weight, e);
                        off += e;
                    }
                }
            for (size_t im = 0; im < 5 && ms[tiles][im]; im++)
                for (int add = 0; add < 2; add++) {
                    const size_t m = ms[tiles][im], ldc = n + 2, n_c = (m - 1) * ldc + n;
                    float *x = floats(m * kk, add), *c = floats(n_c, add), *old = malloc(n_c * sizeof *old);
                    float *one = malloc(n * sizeof *one);

                    memcpy(old, c, n_c * sizeof *old);
                    multiply_coarse(s, c, ldc, x, w, m, n, kk, add);
                    for (size_t r = 0; r < m; r++) {
                        if (r % (1 + m / 8) == 0) {
                            memcpy(one, old + r * ldc, n * sizeof *one);
                            multiply_coarse(s, one, n, x + r * kk, w, 1, n, kk, add);
                            alone += memcmp(one, c + r * ldc, n * sizeof *one) != 0;
                        }
                        for (size_t j = 0; j < ldc && r * ldc + j < n_c; j++) {
                            double want = add ? (double)old[r * ldc + j] : 0, bound = EPS * fabs(want);

                            if (j >= n) {
                                poison += c[r * ldc + j] != old[r * ldc + j];
                                continue;
                            }
                            for (size_t g = 0; g < kk; g += block) {
                                const size_t wide = kk - g < block ? kk - g : block;
                                double abs_w = 0, sum = 0;

                                for (size_t i = g; i < g + wide; i++) {
                                    const double a = (double)x[r * kk + i], b = (double)became[i * n + j];

                                    want += a * b;
                                    abs_w += fabs(b);
                                    sum += fabs(a * b);
                                }
                                bound += abs_w * magnitude(x + r * kk + g, wide) / 254 * 1.0001 +
                                         (double)(kk / block + 9) * EPS * sum;
                            }
                            worst = worse(worst, fabs((double)c[r * ldc + j] - want) / (bound + 1e-30));
                        }
                    }
                    free(old);
                    free(one);
                }
            free(f);
            free(became);
            release();
        }
    ok(worst_weight < (q->type == GKV__TYPE_MXFP4 ? 2.1 : 1.3) && off < (q->from_f32 ? 0.3 : 0.55) * weights,
       "weights %s as %s: %s (off by %.2f, %.2f in the mean)", q->name, form_of(s), k->level, worst_weight, off / weights);
    ok(worst <= 1 && !poison && !alone, "gemm %s in %s: %s (%.2f of the bound)", q->name, form_of(s), k->level, worst);
}

/* Coarse products of what has no scale: what is infinite or no number makes its own results such, and no others; what is too
 * small for a scale becomes 0. */
static void test_coarse_odd(const struct gkv__simd *k, const struct coarse *s)
{
    enum { N = 256, ROWS = 6, OUTS = 3, Q = 34 };
    uint8_t *w = guard(OUTS * N / 32 * Q, 0);
    float x[ROWS][N], c[ROWS][OUTS];
    int wrong = 0;

    for (size_t b = 0; b < OUTS * N / 32; b++) {
        const size_t out = b / (N / 32);
        const uint16_t d = out == 0 ? gkv__f32_to_f16(1) : out == 2 || b % 2 ? 0 : gkv__f32_to_f16(INFINITY);

        memcpy(w + b * Q, &d, sizeof d);
        memset(w + b * Q + 2, 127, 32);
    }
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = 0; i < N; i++)
            x[r][i] = r == 1 && i == 3 ? NAN : r == 2 && i == 200 ? -INFINITY : r == 3 ? 0x1p-125f : r == 4 ? 0 : 1;
    multiply_coarse(s, c[0], OUTS, x[0], w, ROWS, OUTS, N, 0);
    for (size_t r = 0; r < ROWS; r++) {
        const int odd = r == 1 || r == 2;

        wrong += (isfinite(c[r][0]) != 0) == odd || isfinite(c[r][1]) || (!odd && c[r][2] != 0);
        if (!odd)
            wrong += fabs((double)c[r][0] - (r == 3 || r == 4 ? 0 : 127 * N)) > N;
        if (r == 3)
            wrong += c[r][0] != 0;
    }
    ok(!wrong, "coarse products in %s without a scale: %s, %d wrong", form_of(s), k->level, wrong);
    release();
}

/* The smallest scales of mxfp4, which are subnormal, where test_mul's bound would hide them: activations are as large
 * as the scales are small. */
static void test_small_scales(const struct gkv__simd *k)
{
    enum { N = 256, BLOCKS = N / 32 };
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_MXFP4);
    const struct gkv__product *mul = &k->product[q->type];
    const size_t units = N / mul->unit;
    uint8_t *w = blocks(q, N, 0), *one = guard(gkv__one_bytes(mul, N), 0), *form = guard(units * mul->x_bytes, 0);
    uint8_t *panel = guard(mul->nr * units * mul->w_bytes, 0);
    float x[N], f[N], y, c;
    double want = 0, sum = 0;

    for (size_t i = 0; i < BLOCKS; i++)
        w[i * q->bytes] = (uint8_t)(i % 4);
    q->to_f32(w, f, N);
    for (size_t i = 0; i < N; i++) {
        x[i] = ldexpf((i % 2 ? 1.0f : -1.0f) * (f[i] < 0 ? -127 : 127), 100);     /* exact in the form */
        want += (double)f[i] * (double)x[i];
        sum += fabs((double)f[i] * (double)x[i]);
    }
    mul->prepare_one(one, x, N);
    mul->gemv(&y, &(struct gkv__band){ w, BLOCKS * q->bytes, 1, 0, 1 }, one, N, 0);
    mul->prepare(form, x, N);
    mul->pack(panel, w, BLOCKS * q->bytes, 1, N);
    mul->gemm(&c, 1, form, units * mul->x_bytes, panel, 1, 1, N, 0);
    sum *= 1e-4;
    ok(fabs((double)y - want) < sum && fabs((double)c - want) < sum, "small scales of mxfp4: %s", k->level);
    release();
}

static void test_rows(const struct gkv__simd *k)
{
    double norm = 0, glu = 0, gelu = 0, cap = 0;

    for (size_t n = 1; n < 200; n += n < 40 ? 1 : 13)
        for (int before = 0; before < 2; before++) {
            float *x = floats(n, before), *w = floats(n, before), *y = floats(n, before);
            double ss = 0;

            for (size_t i = 0; i < n; i++)
                ss += (double)x[i] * (double)x[i];
            k->rmsnorm(y, x, w, n, 1e-5f);
            for (size_t i = 0; i < n; i++) {
                double want = (double)x[i] / sqrt(ss / (double)n + (double)1e-5f) * (double)w[i];
                norm = worse(norm, fabs((double)y[i] - want) / (((double)n / 2 + 8) * EPS * fabs(want) + 1e-38));
            }
            for (size_t i = 0; i < n; i++)
                x[i] *= i % 3 ? 8 : 100;        /* the far ends of the exponential too */
            memcpy(y, x, n * sizeof *y);
            k->swiglu(y, w, n);
            for (size_t i = 0; i < n; i++) {
                double g = (double)x[i], want = g / (1 + exp(-g)) * (double)w[i];
                /* -g log2(e) is rounded: |g| eps in the exponential */
                double bound = (fabs(g) + 12) * EPS * fabs(want) + 1e-34;
                glu = worse(glu, fabs((double)y[i] - want) / bound);
            }
            memcpy(y, x, n * sizeof *y);
            k->geglu(y, w, n);
            for (size_t i = 0; i < n; i++) {
                double g = (double)x[i], t = 2 * sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
                double want = g / (1 + exp(-t)) * (double)w[i];
                /* the same with t instead of g; t is rounded three times */
                double bound = (4 * fabs(t) + 12) * EPS * fabs(want) + 1e-34;
                gelu = worse(gelu, fabs((double)y[i] - want) / bound);
            }
            for (size_t i = 0; i < n; i++)
                x[i] *= (i + n) % 2 ? 1 : 1e-4f;        /* also tiny arguments, where tanh x = x */
            memcpy(y, x, n * sizeof *y);
            k->softcap(y, n, 30);
            for (size_t i = 0; i < n; i++) {
                double want = 30 * tanh((double)x[i] / 30);
                cap = worse(cap, fabs((double)y[i] - want) / (8 * EPS * fabs(want) + 1e-38));
            }
            release();
        }
    ok(norm <= 1, "rmsnorm: %s (%.2f of the bound)", k->level, norm);
    ok(glu <= 1, "swiglu: %s (%.2f of the bound)", k->level, glu);
    ok(gelu <= 1, "geglu: %s (%.2f of the bound)", k->level, gelu);
    ok(cap <= 1, "softcap: %s (%.2f of the bound)", k->level, cap);
}

/* Two pieces of a row, the second with the larger maximum; keys far below it have no influence. */
static void test_softmax(const struct gkv__simd *k)
{
    double worst = 0;

    for (size_t n = 1; n < 200; n += n < 40 ? 1 : 13)
        for (int before = 0; before < 2; before++) {
            float *s = floats(2 * n, before), *y = floats(2 * n, before), m = GKV__ATTEND_MIN, l = 0;
            double max = -INFINITY, sum = 0;

            for (size_t i = 0; i < 2 * n; i++) {
                s[i] *= i % 5 ? 4 : 200;
                s[i] += i < n ? 0 : 50;
                y[i] = (float)i;
                max = fmax(max, (double)s[i]);
            }
            for (size_t i = 0; i < 2 * n; i++)
                sum += exp2((double)s[i] - max);
            k->softmax_sum(&m, &l, s, n);
            k->softmax_sum(&m, &l, s + n, n);
            k->softmax_add(y, s, 2 * n, m, 3 / l);
            for (size_t i = 0; i < 2 * n; i++) {
                double share = 3 * exp2((double)s[i] - max) / sum, want = (double)i + share;
                /* rounding of the difference, and errors of the polynomial and of the sum */
                double bound = (fabs((double)s[i] - max) + (double)n / 4 + 12) * EPS * share +
                               EPS * want + 1e-30;
                worst = worse(worst, fabs((double)y[i] - want) / bound);
            }
            release();
        }
    ok(worst <= 1, "softmax: %s (%.2f of the bound)", k->level, worst);
}

/* Products of many rows, straight from the weights, against double precision with weights and activations rounded to
 * bfloat16: then products are exact, and what remains is the rounding of sums.  Each output is what the row has alone. */
static void test_many(const struct gkv__simd *k, const struct gkv__quant *q)
{
    const struct gkv__many *many = &k->many[q->type];
    const struct gkv__quant *bf16 = gkv__quant_of(GKV__TYPE_BF16);
    /* Inputs: 256 k + 32 part.  The last five are of whole calls, of more than one slab, and so wide that lines are
     * written past the caches, unless they begin in the middle. */
    static const struct { size_t m, n, k, part, ldc; } sizes[] = {
        { 1, 1, 0, 1, 3 }, { 5, 3, 1, 0, 3 }, { 16, 16, 0, 9, 16 }, { 17, 15, 1, 0, 20 }, { 31, 33, 0, 3, 40 },
        { 32, 32, 0, 8, 32 }, { 33, 31, 2, 0, 31 }, { 48, 48, 0, 17, 64 }, { 64, 64, 3, 0, 64 }, { 77, 70, 2, 0, 71 },
        { 59, 18, 2, 1, 18 }, { 256, 40, 0, 10, 40 }, { 254, 256, 1, 0, 256 }, { 40, 40, 9, 0, 48 },
        { 256, 64, 0, 2, 1024 }, { 256, 64, 0, 2, 1040 },
    };
    double worst = 0;
    int poison = 0, alone = 0;

    for (size_t is = 0; is < sizeof sizes / sizeof *sizes; is++)
        for (int add = 0; add < 2; add++) {
            const size_t m = sizes[is].m, n = sizes[is].n, ldc = sizes[is].ldc, ldx = 7;
            const size_t kk = q->block > 32 ? (sizes[is].k ? sizes[is].k : 1) * 256
                                            : sizes[is].k * 256 + sizes[is].part * 32;
            const size_t stride = kk / q->block * q->bytes, n_c = (m - 1) * ldc + n;
            const size_t shift = ldc > 1024 ? 4 : 0;
            float *x = floats((m - 1) * (kk + ldx) + kk, add), *c = floats(n_c + shift, ldc >= 1024 ? 1 : add) + shift;
            float *one = floats(1, add);
            uint8_t *w = blocks(q, n * kk, add), *form = guard(m * kk / many->unit * many->x_bytes, add);
            uint8_t *form1 = guard(kk / many->unit * many->x_bytes, add), *scratch = guard(many->scratch, add);
            float *old = malloc(n_c * sizeof *old), *f = malloc(n * kk * sizeof *f), *fx = malloc(m * kk * sizeof *fx);
            float *again = floats(n_c + shift, 0) + shift;
            uint16_t *r = malloc((m > n ? m : n) * kk * sizeof *r);

            memcpy(old, c, n_c * sizeof *old);
            q->to_f32(w, f, n * kk);
            bf16->from_f32(f, r, n * kk);
            bf16->to_f32(r, f, n * kk);
            for (size_t i = 0; i < m; i++) {
                bf16->from_f32(x + i * (kk + ldx), r, kk);
                bf16->to_f32(r, fx + i * kk, kk);
            }
            for (size_t i = 0; i < m; i += GKV__GROUP)
                many->prepare(form + i * kk / many->unit * many->x_bytes, x + i * (kk + ldx), kk + ldx,
                              m - i < GKV__GROUP ? m - i : GKV__GROUP, kk);
            memcpy(again, c, n_c * sizeof *again);
            many->gemm(again, ldc, form, NULL, 0, packed_many(many, w, stride, n, kk), m, n, kk, scratch, add);
            many->gemm(c, ldc, form, w, stride, NULL, m, n, kk, scratch, add);
            alone += memcmp(again, c, n_c * sizeof *again) != 0;
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < ldc && i * ldc + j < n_c; j++) {
                    double want = add ? (double)old[i * ldc + j] : 0, mag = fabs(want);

                    if (j >= n) {
                        poison += c[i * ldc + j] != old[i * ldc + j];
                        continue;
                    }
                    for (size_t z = 0; z < kk; z++) {
                        const double p = (double)fx[i * kk + z] * (double)f[j * kk + z];

                        want += p;
                        mag += fabs(p);
                    }
                    mag = (double)(kk + 4) * EPS * mag + 1e-36;
                    worst = worse(worst, fabs((double)c[i * ldc + j] - want) / mag);
                }
            for (size_t i = 0; i < m; i += 1 + m / 3) {
                const size_t j = i * 7 % n;

                *one = old[i * ldc + j];
                many->prepare(form1, x + i * (kk + ldx), kk + ldx, 1, kk);
                many->gemm(one, 1, form1, w + j * stride, stride, NULL, 1, 1, kk, scratch, add);
                alone += memcmp(one, c + i * ldc + j, sizeof *one) != 0;
            }
            free(old);
            free(f);
            free(fx);
            free(r);
            release();
        }
    ok(worst <= 1 && !poison && !alone, "many rows, %s %s: %s (%.2f of the bound)", q->name, many->form, k->level,
       worst);
}

static void test_level(const struct gkv__simd *k)
{
    for (int t = 0; t < GKV__N_TYPES; t++) {
        test_unpack(k, gkv__quant_of((enum gkv__type)t));
        test_dot(k, gkv__quant_of((enum gkv__type)t));
        if (k->dots[t])
            test_dots(k, gkv__quant_of((enum gkv__type)t));
        if (k->product[t].form)
            test_mul(k, gkv__quant_of((enum gkv__type)t));
        if (k->coarse[t].form)
            test_coarse(k, &(struct coarse){ gkv__quant_of((enum gkv__type)t), &k->coarse[t], NULL }, 128);
        if (k->many_coarse[t].form)
            test_coarse(k, &(struct coarse){ gkv__quant_of((enum gkv__type)t), NULL, &k->many_coarse[t] }, 256);
        if (k->many[t].form)
            test_many(k, gkv__quant_of((enum gkv__type)t));
    }
    if (!strcmp(k->level, "amx"))
        ok(k->many[GKV__TYPE_Q8_0].form && k->many[GKV__TYPE_BF16].form && k->many_coarse[GKV__TYPE_Q8_0].form,
           "amx multiplies many rows in tiles");
    if (k->product[GKV__TYPE_MXFP4].form)
        test_small_scales(k);
    if (k->coarse[GKV__TYPE_Q8_0].form)
        test_coarse_odd(k, &(struct coarse){ gkv__quant_of(GKV__TYPE_Q8_0), &k->coarse[GKV__TYPE_Q8_0], NULL });
    if (k->many_coarse[GKV__TYPE_Q8_0].form)
        test_coarse_odd(k, &(struct coarse){ gkv__quant_of(GKV__TYPE_Q8_0), NULL, &k->many_coarse[GKV__TYPE_Q8_0] });
    test_all_f16(k);
    test_gemm(k);
    test_rows(k);
    test_softmax(k);
}

static void test_masks(void)
{
    const char *level;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++)
        ok(!(mask & GKV__CPU_AVX512) || !(mask & GKV__CPU_AVXVNNI), "%s asks for no AVX-VNNI beside AVX-512", level);
}

int main(void)
{
    test_masks();
    test_levels(test_level);
#if HAVE_ISA_AVX2
    test_wide(fill_wide_table, test_level);
#endif
    return done();
}
