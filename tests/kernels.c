/* SPDX-License-Identifier: BSD-2-Clause
 * kernels.c - every kernel at every level against double precision on the same quantised data.
 * Inputs end at a guard page, or begin after one, so that a read beyond an end crashes.
 * Outputs are surrounded by poison, which must not change.  Errors are compared with bounds from
 * numerics: a sum of n products is within (n + c) eps sum |a b|. */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "simd/simd.h"
#include "tests/kernels.h"
#include "tests/table-scale.h"
#include "tests/tap.h"
#include "tests/worse.h"

static uint32_t state = 12345;

static double uniform(void)             /* xorshift32, in [-1, 1) */
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (double)state / 2147483648.0 - 1;
}

/* ---- guarded memory --------------------------------------------------------------------- */

enum { N_GUARDED = 32 };
static struct { char *map; size_t len; } guarded[N_GUARDED];
static int n_guarded;

/* Allocates bytes that end at an unreadable page, or begin after one. */
static void *guard(size_t bytes, int before)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (bytes + page - 1) / page * page;
    char *p = mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || (len && mprotect(p + page, len, PROT_READ | PROT_WRITE)) ||
        n_guarded == N_GUARDED)
        exit(1);
    guarded[n_guarded].map = p;
    guarded[n_guarded++].len = len + 2 * page;
    return before ? p + page : p + page + len - bytes;
}

static void release(void)
{
    while (n_guarded) {
        n_guarded--;
        munmap(guarded[n_guarded].map, guarded[n_guarded].len);
    }
}

static float *floats(size_t n, int before)
{
    float *p = guard(n * sizeof *p, before);

    for (size_t i = 0; i < n; i++)
        p[i] = (float)uniform();
    return p;
}

/* Offsets in a block of its f16 scale, and of its minimum or scale of minima. */
static const struct { size_t d, m; } scales_at[GKV__N_TYPES] = {
#define AT(TYPE, name, ggml, block, bytes, bits, range, off, min, ...)                      \
    [GKV__TYPE_##TYPE] = { offsetof(struct gkv__block_##name, d),                           \
                           offsetof(struct gkv__block_##name, d) + 2 * min },
    GKV__INTEGER_TYPES(AT)
};

/* Random blocks of a type: random bits with reasonable scales of either sign, sometimes zero
 * or subnormal. */
static uint8_t *blocks(const struct gkv__quant *q, size_t n, int before)
{
    size_t bytes = n / q->block * q->bytes;
    uint8_t *p = guard(bytes, before);

    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)((uniform() + 1) * 128);
    for (size_t i = 0; i < n / q->block; i++) {
        static const double unit[8] = { 0, 0x1p-20, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125 };
        uint8_t *b = p + i * q->bytes;
        double range = unit[(int)((uniform() + 1) * 4)];
        uint16_t d = gkv__f32_to_f16((float)(uniform() * range));
        uint16_t m = gkv__f32_to_f16((float)(uniform() * range));
        float f = (float)uniform();
        uint32_t u;

        memcpy(&u, &f, sizeof u);
        switch (q->type) {
        case GKV__TYPE_F32: memcpy(b, &f, sizeof f); break;
        case GKV__TYPE_F16: d = gkv__f32_to_f16(f); memcpy(b, &d, sizeof d); break;
        case GKV__TYPE_BF16: d = (uint16_t)(u >> 16); memcpy(b, &d, sizeof d); break;
        case GKV__TYPE_MXFP4: b[0] = (uint8_t)(range > 0 ? 124 + (int)(uniform() * 4) : 0); break;
        default:
            if (!q->from_f32) {
                table_scale(q, b, d);
                break;
            }
            memcpy(b + scales_at[q->type].m, &m, sizeof m);
            memcpy(b + scales_at[q->type].d, &d, sizeof d);
        }
    }
    return p;
}

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

static const double EPS = FLT_EPSILON / 2;
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

/* Products with one scale for 128 weights and activations.  Rows with a single 1 read back what the weights became: each is
 * off by half a step at most, a quarter in the mean, and a little more where a scale has 16 bits.  A step is 1/127 of the largest
 * weight that the scales allow, which random weights do not reach: of 32 none may, and grids end at 9 of 16.  With the weights
 * that were read, other activations add only their own half steps. */
static void test_coarse(const struct gkv__simd *k, const struct gkv__quant *q)
{
    static const size_t ks[2][4] = { { 128, 256, 384, 640 }, { 256, 512 } };
    static const size_t ms[] = { 1, 5, 6, 13 };
    const struct gkv__product *mul = &k->coarse[q->type];
    double worst_weight = 0, worst = 0, off = 0, weights = 0;
    int poison = 0, alone = 0;

    for (size_t ik = 0; ik < 4 && ks[q->block == 256][ik]; ik++)
        for (size_t n = 1; n <= (size_t)mul->nr + 3; n += n < 3 ? 1 : 15) {
            const size_t kk = ks[q->block == 256][ik], units = kk / mul->unit, ldx = units * mul->x_bytes;
            const size_t n_panels = (n + mul->nr - 1) / mul->nr, stride = kk / q->block * q->bytes;
            uint8_t *w = blocks(q, n * kk, 1), *panels = guard(n_panels * mul->nr * units * mul->w_bytes, 1);
            float *f = malloc(n * kk * sizeof *f), *became = malloc(n * kk * sizeof *became);
            float *hot = calloc(kk, sizeof *hot);

            q->to_f32(w, f, n * kk);
            for (size_t j = 0; j < n; j += mul->nr)
                mul->pack(panels + j * units * mul->w_bytes, w + j * stride, stride, n - j < mul->nr ? n - j : mul->nr, kk);
            for (size_t i = 0; i < kk; i++) {
                uint8_t *form = malloc(ldx);

                hot[i] = 1;
                mul->prepare(form, hot, kk);
                mul->gemm(became + i * n, n, form, ldx, panels, 1, n, kk, 0);
                hot[i] = 0;
                free(form);
            }
            for (size_t j = 0; j < n; j++)
                for (size_t g = 0; g < kk; g += 128) {
                    double largest = 0;

                    for (size_t i = g; i < g + 128; i++)
                        largest = fmax(largest, fabs((double)f[j * kk + i]));
                    for (size_t i = g; i < g + 128; i++) {
                        const double e = fabs((double)became[i * n + j] - (double)f[j * kk + i]) / (largest / 127 + 1e-30);

                        worst_weight = worse(worst_weight, e);
                        off += e;
                        weights += largest > 0;
                    }
                }
            for (size_t im = 0; im < sizeof ms / sizeof *ms; im++)
                for (int add = 0; add < 2; add++) {
                    const size_t m = ms[im], ldc = n + 2, n_c = (m - 1) * ldc + n;
                    float *x = floats(m * kk, add), *c = floats(n_c, add), *old = malloc(n_c * sizeof *old);
                    float *one = malloc(n * sizeof *one);
                    uint8_t *form = guard(m * ldx, add);

                    memcpy(old, c, n_c * sizeof *old);
                    for (size_t r = 0; r < m; r++)
                        mul->prepare(form + r * ldx, x + r * kk, kk);
                    mul->gemm(c, ldc, form, ldx, panels, m, n, kk, add);
                    for (size_t r = 0; r < m; r++) {
                        memcpy(one, old + r * ldc, n * sizeof *one);
                        mul->gemm(one, n, form + r * ldx, ldx, panels, 1, n, kk, add);
                        alone += memcmp(one, c + r * ldc, n * sizeof *one) != 0;
                        for (size_t j = 0; j < ldc && r * ldc + j < n_c; j++) {
                            double want = add ? (double)old[r * ldc + j] : 0, bound = EPS * fabs(want);

                            if (j >= n) {
                                poison += c[r * ldc + j] != old[r * ldc + j];
                                continue;
                            }
                            for (size_t g = 0; g < kk; g += 128) {
                                double abs_x = 0, abs_w = 0, sum = 0;

                                for (size_t i = g; i < g + 128; i++) {
                                    const double a = (double)x[r * kk + i], b = (double)became[i * n + j];

                                    want += a * b;
                                    abs_x = fmax(abs_x, fabs(a));
                                    abs_w += fabs(b);
                                    sum += fabs(a * b);
                                }
                                bound += abs_w * abs_x / 254 * 1.0001 + (double)(units + 8) * EPS * sum;
                            }
                            worst = worse(worst, fabs((double)c[r * ldc + j] - want) / (bound + 1e-30));
                        }
                    }
                    free(old);
                    free(one);
                }
            free(f);
            free(became);
            free(hot);
            release();
        }
    ok(worst_weight < 1.3 && off < (q->from_f32 ? 0.3 : 0.55) * weights,
       "weights %s as %s: %s (off by %.2f, %.2f in the mean)", q->name, mul->form, k->level, worst_weight, off / weights);
    ok(worst <= 1 && !poison && !alone, "gemm %s in %s: %s (%.2f of the bound)", q->name, mul->form, k->level, worst);
}

/* Coarse products of what has no scale: what is infinite or no number makes its own results such, and no others; what is too
 * small for a scale becomes 0. */
static void test_coarse_odd(const struct gkv__simd *k)
{
    enum { N = 256, ROWS = 6, OUTS = 3, Q = 34 };
    const struct gkv__quant *q = gkv__quant_of(GKV__TYPE_Q8_0);
    const struct gkv__product *mul = &k->coarse[q->type];
    const size_t ldx = N / mul->unit * mul->x_bytes;
    uint8_t *w = guard(OUTS * N / 32 * Q, 0), *form = guard(ROWS * ldx, 0);
    uint8_t *panel = guard(mul->nr * (N / mul->unit) * mul->w_bytes, 0);
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
    for (size_t r = 0; r < ROWS; r++)
        mul->prepare(form + r * ldx, x[r], N);
    mul->pack(panel, w, N / 32 * Q, OUTS, N);
    mul->gemm(c[0], OUTS, form, ldx, panel, ROWS, OUTS, N, 0);
    for (size_t r = 0; r < ROWS; r++) {
        const int odd = r == 1 || r == 2;

        wrong += (isfinite(c[r][0]) != 0) == odd || isfinite(c[r][1]) || (!odd && c[r][2] != 0);
        if (!odd)
            wrong += fabs((double)c[r][0] - (r == 3 || r == 4 ? 0 : 127 * N)) > N;
        if (r == 3)
            wrong += c[r][0] != 0;
    }
    ok(!wrong, "coarse products without a scale: %s, %d wrong", k->level, wrong);
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

/* ---- layers with a state ---------------------------------------------------------------- */

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
            many->gemm(c, ldc, form, w, stride, m, n, kk, scratch, add);
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
                many->gemm(one, 1, form1, w + j * stride, stride, 1, 1, kk, scratch, add);
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

/* What is not in the table is not tested below: caches may have any of these types. */
static void test_table(const struct gkv__simd *k)
{
    static const enum gkv__type types[] = { GKV__TYPE_F32, GKV__TYPE_F16, GKV__TYPE_BF16, GKV__TYPE_Q8_0, GKV__TYPE_Q4_0 };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ok(k->attend_few[types[i]], "attend_few %s: %s has it", gkv__quant_of(types[i])->name, k->level);
}

static void test_level(const struct gkv__simd *k)
{
    test_table(k);
    for (int t = 0; t < GKV__N_TYPES; t++) {
        test_unpack(k, gkv__quant_of((enum gkv__type)t));
        test_dot(k, gkv__quant_of((enum gkv__type)t));
        if (k->dots[t])
            test_dots(k, gkv__quant_of((enum gkv__type)t));
        if (k->product[t].form)
            test_mul(k, gkv__quant_of((enum gkv__type)t));
        if (k->coarse[t].form)
            test_coarse(k, gkv__quant_of((enum gkv__type)t));
        if (k->many[t].form)
            test_many(k, gkv__quant_of((enum gkv__type)t));
        if (k->attend_few[t])
            test_attend_few(k, gkv__quant_of((enum gkv__type)t));
    }
    if (k->product[GKV__TYPE_MXFP4].form)
        test_small_scales(k);
    if (k->coarse[GKV__TYPE_Q8_0].form)
        test_coarse_odd(k);
    test_all_f16(k);
    test_gemm(k);
    test_attend(k);
    if (k->attend.pairs)
        test_form(k);
    test_rows(k);
    test_softmax(k);
    test_convolve(k);
    test_rates(k);
    test_weigh(k);
    test_solve(k);
    test_multiply(k);
    test_step(k);
}

int main(void)
{
    const char *const only = getenv("KERNELS_LEVEL");   /* for build-aux/mutants.py: of one level, and nothing else */
    const unsigned cpu = gkv__cpu_detect();
    struct gkv__simd k;
    const char *level;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if (only && strcmp(level, only))
            continue;
        ok(!(mask & GKV__CPU_AVX512) || !(mask & GKV__CPU_AVXVNNI), "%s asks for no AVX-VNNI beside AVX-512", level);
        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "all kernels: %s", level);
            continue;
        }
        gkv__simd_init(&k, mask);
        if (mask & (GKV__CPU_AVX2 | GKV__CPU_NEON)) {
            struct gkv__simd ref;
            unsigned all = 1;

            gkv__simd_init(&ref, 0);
            for (size_t t = 0; t < GKV__N_TYPES; t++)
                all &= !ref.attend_few[t] || ref.attend_few[t] != k.attend_few[t];
            ok(all, "%s has its own attend_few of every type", level);
        }
        test_level(&k);
    }
#if HAVE_ISA_AVX2
    if (cpu & GKV__CPU_AVX2 && !only) {
        memset(&k.many, 0, sizeof k.many);
        fill_wide_table(&k);
        test_level(&k);
        fill_wide_bf16_table(&k);
        test_attend(&k);
        test_form(&k);
        test_attend_few(&k, gkv__quant_of(GKV__TYPE_F16));
        test_attend_few(&k, gkv__quant_of(GKV__TYPE_BF16));
    }
#endif
    return done();
}
