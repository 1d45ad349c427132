/* SPDX-License-Identifier: BSD-2-Clause
 * kernels.c - every kernel at every level: sizes and content come from the input, the result is compared with that of
 * `ref` or of plain C in double, within the bounds of tests/kernels.c.  Buffers end where their content ends.
 *
 *     1 byte level   1 byte kernel   1 byte tensor type   3 bytes sizes   1 byte: adds   content, again and again */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "simd/simd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/table-scale.h"

static const double EPS = FLT_EPSILON / 2;

static struct gkv__simd ref, simd;
static struct input     content;
static size_t           next;
static size_t           a, b, c;        /* the sizes drawn                                */
static int              add;

/* ---- content ------------------------------------------------------------------------- */
static unsigned byte(void)
{
    return content.n ? content.p[next++ % content.n] : 7;
}

/* At most 128, and as small as 2^-15. */
static float value(void)
{
    const int m = (int)byte() - 128;

    return ldexpf((float)m, -(int)(byte() % 16));
}

static void *room(size_t n)
{
    void *p = malloc(n ? n : 1);

    must(p);
    return p;
}

static float *floats(size_t n)
{
    float *x = room(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = value();
    return x;
}

static void *copy(const void *x, size_t n)
{
    return memcpy(room(n), x, n);
}

static uint8_t *weights(const struct gkv__quant *q, size_t n)
{
    uint8_t *w = room(n / q->block * q->bytes);
    float   *f;

    if (q->from_f32) {
        f = floats(n);
        q->from_f32(f, w, n);
        free(f);
        return w;
    }
    for (size_t i = 0; i < n / q->block * q->bytes; i++)
        w[i] = (uint8_t)byte();
    for (size_t i = 0; i < n / q->block; i++)
        table_scale(q, w + i * q->bytes, gkv__f32_to_f16(value()));
    return w;
}

static float *unpacked(const struct gkv__quant *q, const uint8_t *w, size_t n)
{
    float *f = room(n * sizeof *f);

    q->to_f32(w, f, n);
    return f;
}

static void near(float got, double want, double bound)
{
    if (!(fabs((double)got - want) <= bound + 1e-30))
        fprintf(stderr, "%s: %.9g, not %.9g, which is off by more than %.3g\n", simd.level, (double)got, want, bound);
    must(fabs((double)got - want) <= bound + 1e-30);
}

/* ---- one function per kernel ----------------------------------------------------------- */
static void unpack(const struct gkv__quant *q)
{
    const size_t n = a * q->block, bytes = a * q->bytes;
    uint8_t     *w = room(bytes);
    float       *got = room(n * sizeof *got), *want;

    for (size_t i = 0; i < bytes; i++)
        w[i] = (uint8_t)byte();
    want = unpacked(q, w, n);
    simd.unpack[q->type](w, got, n);
    for (size_t i = 0; i < n; i++)
        must(isnan(want[i]) ? isnan(got[i]) : !memcmp(&got[i], &want[i], sizeof *got));
    free(w);
    free(got);
    free(want);
}

static void dot(const struct gkv__quant *q)
{
    const size_t n = a * q->block, rows = 1 + b % 8, stride = a * q->bytes;
    uint8_t     *w = weights(q, n * rows);
    float       *x = floats(n), *f = unpacked(q, w, n * rows), *y = room(rows * sizeof *y);

    for (size_t o = 0; o < rows; o++) {
        double want = 0, mag = 0;

        for (size_t i = 0; i < n; i++) {
            want += (double)f[o * n + i] * (double)x[i];
            mag += fabs((double)f[o * n + i] * (double)x[i]);
        }
        y[o] = simd.dot[q->type](w + o * stride, x, n);
        near(y[o], want, (double)(n + 4) * EPS * mag);
    }
    if (simd.dots[q->type]) {
        float *z = room(rows * sizeof *z);

        simd.dots[q->type](z, &(struct gkv__band){ w, stride, rows, 0, gkv__band_most(rows) }, x, n, 0);
        must(!memcmp(y, z, rows * sizeof *z));
        free(z);
    }
    free(w);
    free(x);
    free(f);
    free(y);
}

/* y[m][n] is x[m][k] times the transpose of w[n][k], onto what was there if `add`; each product rounds, and `more` besides. */
static void near_product(const float *y, const float *old, const float *x, const float *w, size_t m, size_t n, size_t k,
                         unsigned more)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            double want = add ? (double)old[r * n + j] : 0, mag = fabs(want);

            for (size_t i = 0; i < k; i++) {
                want += (double)x[r * k + i] * (double)w[j * k + i];
                mag += fabs((double)x[r * k + i] * (double)w[j * k + i]);
            }
            near(y[r * n + j], want, (double)(k + more) * EPS * mag);
        }
}

static void gemm(void)
{
    const size_t m = 1 + a % 24, n = 1 + b % 40, k = 1 + c, n_panels = (n + simd.nr - 1) / simd.nr;
    float       *x = floats(m * k), *w = floats(n * k), *panels = room(n_panels * simd.nr * k * sizeof *panels);
    float       *y = floats(m * n), *old = copy(y, m * n * sizeof *y);

    for (size_t j = 0; j < n; j += simd.nr)
        simd.pack(panels + j * k, w + j * k, k, n - j < simd.nr ? n - j : simd.nr, k);
    simd.gemm(y, n, x, k, panels, m, n, k, add);
    near_product(y, old, x, w, m, n, k, 2);
    free(x);
    free(w);
    free(panels);
    free(y);
    free(old);
}

/* What rounding of activations and sums may do to the product of w[k] and x[k]. */
static double product_bound(const struct gkv__product *p, const struct gkv__quant *q, const float *w, const float *x,
                            size_t k, double *want)
{
    const double top = strcmp(p->form, "i16") ? 127 : 32767;
    double       bound = 0;

    *want = 0;
    for (size_t g = 0; g < k; g += 32) {
        const size_t first = g / q->block * q->block, end = q->block > 32 ? first + q->block : g + 32;
        double       largest = 0, sum = 0, abs_w = 0, abs_x = 0;

        for (size_t i = first < g ? first : g; i < end && i < k; i++)
            largest = fmax(largest, fabs((double)w[i]));
        for (size_t i = g; i < g + 32 && i < k; i++) {
            *want += (double)w[i] * (double)x[i];
            sum += fabs((double)x[i]);
            abs_w += fabs((double)w[i]);
            abs_x = fmax(abs_x, fabs((double)x[i]));
        }
        bound += (8 * (double)(k / 32 + 8) + (p->unit < 32 ? (double)k : 0)) * EPS * largest * sum;
        bound += abs_w * abs_x / top * (0.5 + 4 * top * EPS);
    }
    return bound;
}

static void product(const struct gkv__quant *q)
{
    const struct gkv__product *p = &simd.product[q->type];
    const size_t step = q->block > p->unit ? q->block : p->unit, k = step * (1 + c % (1024 / step));
    const size_t m = 1 + a % 13, n = 1 + b % 40, stride = k / q->block * q->bytes, ldx = k / p->unit * p->x_bytes;
    const size_t n_panels = (n + p->nr - 1) / p->nr, few = 1 + a % GKV__FEW_MOST, one_bytes = gkv__one_bytes(p, k);
    const struct gkv__band band = { NULL, stride, n, 0, gkv__band_most(n) };
    uint8_t     *w = weights(q, n * k), *form = room(m * ldx), *one = room(m * one_bytes);
    uint8_t     *panels = room(n_panels * p->nr * (k / p->unit) * p->w_bytes);
    float       *x = floats(m * k), *f = unpacked(q, w, n * k), *y = floats(m * n), *old = copy(y, m * n * sizeof *y);
    float       *z = copy(old, m * n * sizeof *z), *each = copy(old, m * n * sizeof *each);
    struct gkv__band all = band;

    all.w = w;
    for (size_t r = 0; r < m; r++) {
        p->prepare(form + r * ldx, x + r * k, k);
        p->prepare_one(one + r * one_bytes, x + r * k, k);
        p->gemv(z + r * n, &all, one + r * one_bytes, k, add);
    }
    for (size_t j = 0; j < n; j += p->nr)
        p->pack(panels + j * (k / p->unit) * p->w_bytes, w + j * stride, stride, n - j < p->nr ? n - j : p->nr, k);
    p->gemm(y, n, form, ldx, panels, m, n, k, add);
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            const double before = add ? (double)old[r * n + j] : 0;
            double       want, bound = product_bound(p, q, f + j * k, x + r * k, k, &want);

            bound += 2 * EPS * (fabs(before) + fabs(want));
            near(y[r * n + j], want + before, bound);
            near(z[r * n + j], want + before, bound);
        }
    if (p->few && few > 1 && few <= m) {
        p->few(each, n, &all, one, one_bytes, few, k, add);
        must(!memcmp(each, z, few * n * sizeof *each));
    }
    free(w);
    free(form);
    free(panels);
    free(one);
    free(x);
    free(f);
    free(y);
    free(old);
    free(z);
    free(each);
}

/* One scale for 128: how much is rounded, tests/kernels.c says of weights that are not as odd as these.  Here the memory
 * counts, and that a row's result does not depend on the others. */
static void coarse(const struct gkv__quant *q)
{
    const struct gkv__product *p = &simd.coarse[q->type];
    const size_t step = q->block > p->unit ? q->block : p->unit, k = step * (1 + c % (1024 / step));
    const size_t m = 1 + a % 13, n = 1 + b % 40, stride = k / q->block * q->bytes, ldx = k / p->unit * p->x_bytes;
    const size_t n_panels = (n + p->nr - 1) / p->nr;
    uint8_t     *w = weights(q, n * k), *form = room(m * ldx), *panels = room(n_panels * p->nr * (k / p->unit) * p->w_bytes);
    float       *x = floats(m * k), *y = floats(m * n), *z = copy(y, m * n * sizeof *y);

    for (size_t r = 0; r < m; r++)
        p->prepare(form + r * ldx, x + r * k, k);
    for (size_t j = 0; j < n; j += p->nr)
        p->pack(panels + j * (k / p->unit) * p->w_bytes, w + j * stride, stride, n - j < p->nr ? n - j : p->nr, k);
    p->gemm(y, n, form, ldx, panels, m, n, k, add);
    for (size_t r = 0; r < m; r++)
        p->gemm(z + r * n, n, form + r * ldx, ldx, panels, 1, n, k, add);
    must(!memcmp(y, z, m * n * sizeof *y));
    free(w);
    free(form);
    free(panels);
    free(x);
    free(y);
    free(z);
}

static void round_bf16(float *x, size_t n)
{
    uint16_t h;

    for (size_t i = 0; i < n; i++) {
        gkv__quant_of(GKV__TYPE_BF16)->from_f32(x + i, &h, 1);
        gkv__quant_of(GKV__TYPE_BF16)->to_f32(&h, x + i, 1);
    }
}

static void many(const struct gkv__quant *q)
{
    const struct gkv__many *p = &simd.many[q->type];
    const size_t step = q->block > p->unit ? q->block : p->unit, k = step * (1 + c % (1024 / step));
    const size_t m = 1 + a % p->rows, n = 1 + b % p->cols, stride = k / q->block * q->bytes;
    const size_t row = k / p->unit * p->x_bytes;
    uint8_t     *w = weights(q, n * k), *form = room(m * row);
    void        *scratch = aligned_alloc(64, (p->scratch + 63) / 64 * 64 + 64);
    float       *x = floats(m * k), *f = unpacked(q, w, n * k), *y = floats(m * n), *old = copy(y, m * n * sizeof *y);

    must(scratch);
    for (size_t i = 0; i < m; i += GKV__GROUP)
        p->prepare(form + i * row, x + i * k, k, m - i < GKV__GROUP ? m - i : GKV__GROUP, k);
    p->gemm(y, n, form, w, stride, NULL, m, n, k, scratch, add);
    round_bf16(x, m * k);
    round_bf16(f, n * k);
    near_product(y, old, x, f, m, n, k, 4);
    free(w);
    free(form);
    free(scratch);
    free(x);
    free(f);
    free(y);
    free(old);
}

/* As coarse, in tiles. */
static void many_coarse(const struct gkv__quant *q)
{
    const struct gkv__many *p = &simd.many_coarse[q->type];
    const size_t step = q->block > p->unit ? q->block : p->unit, k = step * (1 + c % (2048 / step));
    const size_t m = 1 + a % p->rows, n = 1 + b % p->cols, stride = k / q->block * q->bytes;
    const size_t row = k / p->unit * p->x_bytes, r = a % m, o = b * 7 % n;
    uint8_t     *w = weights(q, n * k), *form = room(m * row), *form1 = room(row);
    void        *scratch = aligned_alloc(64, (p->scratch + 63) / 64 * 64 + 64);
    float       *x = floats(m * k), *y = floats(m * n), z = y[r * n + o];

    must(scratch);
    for (size_t i = 0; i < m; i += GKV__GROUP)
        p->prepare(form + i * row, x + i * k, k, m - i < GKV__GROUP ? m - i : GKV__GROUP, k);
    p->gemm(y, n, form, w, stride, NULL, m, n, k, scratch, add);
    p->prepare(form1, x + r * k, k, 1, k);
    p->gemm(&z, 1, form1, w + o * stride, stride, NULL, 1, 1, k, scratch, add);
    must(!memcmp(&z, &y[r * n + o], sizeof z));
    free(w);
    free(form);
    free(form1);
    free(scratch);
    free(x);
    free(y);
}

/* Queries that give scores of at most 4 d, in base 2, and keys and values of at most 1. */
static float *small(size_t n, float most)
{
    float *x = floats(n);

    for (size_t i = 0; i < n; i++)
        x[i] *= most / 128;
    return x;
}

/* The outputs of `rows` queries by ref, one after the other. */
static void attend_ref(float *o, const float *q, const float *k, const float *v, size_t rows, size_t nk, size_t d,
                       const struct gkv__sight *see)
{
    const size_t row = GKV__FEW_ROW(d);
    float       *turn = copy(q, rows * row * sizeof *q), *m = room(rows * sizeof *m), *l = room(rows * sizeof *l);

    memset(o, 0, rows * row * sizeof *o);
    for (size_t r = 0; r < rows; r++) {
        m[r] = GKV__ATTEND_MIN;
        l[r] = 0;
    }
    ref.attend_few[GKV__TYPE_F32](o, m, l, turn, k, v, rows, nk, d, see);
    for (size_t r = 0; r < rows; r++)
        for (size_t x = 0; x < d; x++)
            o[r * row + x] /= l[r];
    free(turn);
    free(m);
    free(l);
}

/* As in tests/kernels.c, for both of the two that are compared; values are at most 1. */
static double attend_bound(size_t nk, size_t d, const struct gkv__sight *see, bool pairs)
{
    const double one = 0.7 * 4 * (double)(d * (d + 2)) + 4 * (double)nk + 16 + (see ? 0.7 * 8 * 30 : 0);

    return 2 * one * EPS + (pairs ? 1.0 / 256 : 0);
}

/* Each query sees at least the first key that it may see. */
static struct gkv__sight sight(int32_t *to, int32_t *from, size_t n, size_t nk)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = 1 + (int32_t)(byte() % nk);
        from[i] = (int32_t)(byte() % (unsigned)to[i]);
    }
    return (struct gkv__sight){ to, from, 30 };
}

static void attend_few(const struct gkv__quant *t)
{
    const size_t d = t->block > 1 ? t->block * (1 + a % 4) : 1 + a % 130, nk = 1 + b % 70, rows = 1 + c % 8;
    const size_t row = GKV__FEW_ROW(d);
    const bool   pairs = simd.attend.pairs && rows >= 4 && (t->type == GKV__TYPE_F16 || t->type == GKV__TYPE_BF16);
    float       *kf = small(nk * d, 1), *vf = small(nk * d, 1), *q = small(rows * row, 4), *kept;
    float       *o = room(rows * row * sizeof *o), *want = room(rows * row * sizeof *want);
    float       *m = room(rows * sizeof *m), *l = room(rows * sizeof *l);
    uint8_t     *k = room(nk * d / t->block * t->bytes), *v = room(nk * d / t->block * t->bytes);
    int32_t     *to = room(rows * sizeof *to), *from = room(rows * sizeof *from);
    struct gkv__sight see = sight(to, from, rows, nk);

    for (size_t r = 0; r < rows; r++) {
        m[r] = GKV__ATTEND_MIN;
        l[r] = 0;
        for (size_t x = d; x < row; x++)
            q[r * row + x] = 0;
    }
    if (pairs) {                        /* then f16, with its narrow range, holds them exactly as bf16 */
        round_bf16(q, rows * row);
        for (size_t i = 0; i < nk * d; i++) {
            kf[i] = fabsf(kf[i]) < 0x1p-13f ? 0 : kf[i];
            vf[i] = fabsf(vf[i]) < 0x1p-13f ? 0 : vf[i];
        }
        round_bf16(kf, nk * d);
        round_bf16(vf, nk * d);
    }
    t->from_f32(kf, k, nk * d);
    t->from_f32(vf, v, nk * d);
    t->to_f32(k, kf, nk * d);
    t->to_f32(v, vf, nk * d);
    memset(o, 0, rows * row * sizeof *o);
    kept = copy(q, rows * row * sizeof *q);
    simd.attend_few[t->type](o, m, l, q, k, v, rows, nk, d, add ? &see : NULL);
    attend_ref(want, kept, kf, vf, rows, nk, d, add ? &see : NULL);
    for (size_t r = 0; r < rows; r++)
        for (size_t x = 0; x < d; x++)
            near(o[r * row + x] / l[r], (double)want[r * row + x], attend_bound(nk, d, add ? &see : NULL, pairs));
    free(kf);
    free(vf);
    free(q);
    free(o);
    free(want);
    free(m);
    free(l);
    free(kept);
    free(k);
    free(v);
    free(to);
    free(from);
}

/* x[n][width] in the form of keys, or of queries and values, in a buffer of its size. */
static void *formed(const float *x, size_t n, size_t width, gkv__form_fn *form, bool keys, bool values)
{
    const size_t pairs = values ? (n + 31) / 32 * 16 : (n + 1) / 2;
    void        *p = room(keys ? n * ((width + 1) / 2 * 2) * 2 : pairs * width * 4);

    form(p, x, GKV__TYPE_F32, n, width);
    return p;
}

static void attend(void)
{
    const struct gkv__attend *at = &simd.attend;
    const size_t d = 1 + a % 130, nk = 1 + b % 70, lanes = at->lanes, row = GKV__FEW_ROW(d);
    float       *k = small(nk * d, 1), *v = small(nk * d, 1), *q = small(lanes * row, 4);
    float       *qt = room(d * lanes * sizeof *qt), *ot = room(d * lanes * sizeof *ot);
    float       *want = room(lanes * row * sizeof *want);
    float       *m = room(lanes * sizeof *m), *l = room(lanes * sizeof *l), *s = room(nk * lanes * sizeof *s);
    int32_t     *to = room(lanes * sizeof *to), *from = room(lanes * sizeof *from);
    struct gkv__sight see = sight(to, from, lanes, nk);
    void        *form[3] = { qt, k, v };

    if (at->pairs) {
        round_bf16(k, nk * d);
        round_bf16(v, nk * d);
        round_bf16(q, lanes * row);
    }
    memset(ot, 0, d * lanes * sizeof *ot);
    for (size_t i = 0; i < lanes; i++) {
        m[i] = GKV__ATTEND_MIN;
        l[i] = 0;
        for (size_t x = 0; x < row; x++)
            if (x < d)
                qt[x * lanes + i] = q[i * row + x];
            else
                q[i * row + x] = 0;
    }
    if (at->pairs) {
        form[0] = formed(qt, d, lanes, at->pairs, false, false);
        form[1] = formed(k, nk, d, at->narrow, true, false);
        form[2] = formed(v, nk, d, at->values ? at->values : at->pairs, false, at->values);
    }
    at->run(ot, m, l, form[0], form[1], form[2], nk, d, add ? &see : NULL, s);
    attend_ref(want, q, k, v, lanes, nk, d, add ? &see : NULL);
    for (size_t i = 0; i < lanes; i++)
        for (size_t x = 0; x < d; x++)
            near(ot[x * lanes + i] / l[i], (double)want[i * row + x],
                 attend_bound(nk, d, add ? &see : NULL, at->pairs));
    for (size_t i = 0; i < 3 && at->pairs; i++)
        free(form[i]);
    free(k);
    free(v);
    free(q);
    free(qt);
    free(ot);
    free(want);
    free(m);
    free(l);
    free(s);
    free(to);
    free(from);
}

/* Functions of each element; errors are relative to what is in front of the exponential, as in tests/kernels.c. */
static void rows(void)
{
    const size_t n = 1 + a;
    float       *x = floats(n), *w = floats(n), *got = room(n * sizeof *got), *want = room(n * sizeof *want);
    float        m[2] = { GKV__ATTEND_MIN, GKV__ATTEND_MIN }, l[2] = { 0, 0 };

    simd.rmsnorm(got, x, w, n, 1e-5f);
    ref.rmsnorm(want, x, w, n, 1e-5f);
    for (size_t i = 0; i < n; i++)
        near(got[i], (double)want[i], (double)(n + 16) * EPS * fabs((double)want[i]));
    memcpy(got, x, n * sizeof *x);
    memcpy(want, x, n * sizeof *x);
    simd.swiglu(got, w, n);
    ref.swiglu(want, w, n);
    for (size_t i = 0; i < n; i++)
        near(got[i], (double)want[i], 2 * (fabs((double)x[i]) + 12) * EPS * fabs((double)want[i]));
    memcpy(got, x, n * sizeof *x);
    memcpy(want, x, n * sizeof *x);
    simd.geglu(got, w, n);
    ref.geglu(want, w, n);
    for (size_t i = 0; i < n; i++) {
        const double g = (double)x[i], t = 1.6 * fabs(g + 0.044715 * g * g * g);

        near(got[i], (double)want[i], 2 * (4 * t + 12) * EPS * fabs((double)want[i]));
    }
    memcpy(got, x, n * sizeof *x);
    memcpy(want, x, n * sizeof *x);
    simd.softcap(got, n, 30);
    ref.softcap(want, n, 30);
    for (size_t i = 0; i < n; i++)
        near(got[i], (double)want[i], 16 * EPS * fabs((double)want[i]));
    memcpy(got, w, n * sizeof *w);
    memcpy(want, w, n * sizeof *w);
    simd.gate(got, x, n);
    ref.gate(want, x, n);
    for (size_t i = 0; i < n; i++)
        near(got[i], (double)want[i], 2 * (fabs((double)x[i]) + 14) * EPS * fabs((double)want[i]));
    simd.softmax_sum(&m[0], &l[0], x, n);
    ref.softmax_sum(&m[1], &l[1], x, n);
    must(!memcmp(&m[0], &m[1], sizeof *m));
    near(l[0], (double)l[1], ((double)n + 300) * EPS * (double)l[1]);
    free(x);
    free(w);
    free(got);
    free(want);
}

/* Layers with a state: sums of products, whose error is relative to the sum of their sizes. */
static void state(void)
{
    const size_t m = 1 + a % 21, n = 1 + b % 70, k = 1 + c % 64, width = 2 + a % (CONVOLVE_MOST - 1);
    const float  scale = add ? 0.375f : 0;
    float       *x = floats(m * k), *y = floats(k * n), *z = floats(m * n), *was = copy(z, m * n * sizeof *z);
    float       *w = floats(n * width), *out = room(m * n * sizeof *out), *in[CONVOLVE_MOST + 21];

    for (int turned = 0; turned < 2; turned++) {
        memcpy(z, was, m * n * sizeof *z);
        (turned ? simd.state.multiply_turned : simd.state.multiply)(z, n, x, turned ? m : k, y, n, m, n, k, scale);
        for (size_t r = 0; r < m; r++)
            for (size_t j = 0; j < n; j++) {
                double want = (double)scale * (double)was[r * n + j], mag = fabs(want);

                for (size_t i = 0; i < k; i++) {
                    want += (double)x[turned ? i * m + r : r * k + i] * (double)y[i * n + j];
                    mag += fabs((double)x[turned ? i * m + r : r * k + i] * (double)y[i * n + j]);
                }
                near(z[r * n + j], want, (double)(k + 2) * EPS * mag);
            }
    }
    for (size_t t = 0; t < m + width - 1; t++)
        in[t] = floats(n);
    simd.state.convolve(out, n, (const float *const *)in, w, NULL, m, width, n, 0);
    for (size_t t = 0; t < m; t++)
        for (size_t j = 0; j < n; j++) {
            double want = 0, mag = 0;

            for (size_t i = 0; i < width; i++) {
                want += (double)w[j * width + i] * (double)in[t + i][j];
                mag += fabs((double)w[j * width + i] * (double)in[t + i][j]);
            }
            near(out[t * n + j], want, (double)(width + 2) * EPS * mag);
        }
    for (size_t t = 0; t < m + width - 1; t++)
        free(in[t]);
    free(x);
    free(y);
    free(z);
    free(was);
    free(w);
    free(out);
}

/* ---- which ----------------------------------------------------------------------------- */
/* The levels that this processor has. */
static size_t levels(unsigned mask[16])
{
    const unsigned cpu = gkv__cpu_detect();
    unsigned       level;
    size_t         n = 0;

    for (size_t i = 0; gkv__simd_level(i, &level) && n < 16; i++)
        if ((level & cpu) == level)
            mask[n++] = level;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned          mask[16];
    static size_t            n_levels;
    struct input             in = { data, size };
    unsigned                 level, kernel;
    const struct gkv__quant *q;

    if (!n_levels) {
        n_levels = levels(mask);
        gkv__simd_init(&ref, 0);
    }
    level = take(&in);
    kernel = take(&in);
    q = gkv__quant_of((enum gkv__type)(take(&in) % GKV__N_TYPES));
    a = take(&in);
    b = take(&in);
    c = take(&in);
    add = take(&in) & 1;
    content = in;
    next = 0;
    gkv__simd_init(&simd, mask[level % n_levels]);
    switch (kernel % 9) {
    case 0: unpack(q); break;
    case 1: dot(q); break;
    case 2: gemm(); break;
    case 3:
        if (simd.product[q->type].form)
            product(q);
        if (simd.coarse[q->type].form)
            coarse(q);
        break;
    case 4:
        if (simd.many[q->type].form)
            many(q);
        if (simd.many_coarse[q->type].form)
            many_coarse(q);
        break;
    case 5: if (simd.attend_few[q->type]) attend_few(q); break;
    case 6: attend(); break;
    case 7: rows(); break;
    default: state(); break;
    }
    return 0;
}
