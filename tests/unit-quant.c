/* SPDX-License-Identifier: BSD-2-Clause
 * unit-quant.c - tensor types: the table, and conversions against arithmetic in double */
#include "config.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/quant/grid.h"
#include "src/quant/quant.h"
#include "tests/file.h"
#include "tests/rng.h"
#include "tests/tap.h"

static uint32_t bits_of(float f)
{
    uint32_t x;

    memcpy(&x, &f, sizeof x);
    return x;
}

static float float_of(uint32_t x)
{
    float f;

    memcpy(&f, &x, sizeof f);
    return f;
}

static bool same(double a, double b)    /* the sign of zero counts */
{
    return a == b && !signbit(a) == !signbit(b);
}

/* ---- references ---------------------------------------------------------------------- */
/* The value of a small float with these fields, exact in double. */
static double value(unsigned sign, unsigned exponent, unsigned mantissa, int m_bits,
                    int bias)
{
    double v = exponent ? ldexp(1 + ldexp(mantissa, -m_bits), (int)exponent - bias)
                        : ldexp(mantissa, 1 - bias - m_bits);

    return sign ? -v : v;
}

static double f16_value(uint16_t h)
{
    return value(h >> 15, h >> 10 & 31, h & 0x3ff, 10, 15);
}

static double bf16_value(uint16_t h)
{
    return value(h >> 15, h >> 7 & 255, h & 0x7f, 7, 127);
}

/* Whether h is the nearest to f of all codes, ties to even.  Codes of one sign have the order of their
 * values, so its neighbours are h - 1 and h + 1; the code after the largest number, which is infinity,
 * counts as the number that would follow. */
static bool nearest(float f, uint16_t h, double (*of)(uint16_t))
{
    uint16_t code = h & 0x7fff;
    double   x = fabs((double)f), v = of(code), up = of((uint16_t)(code + 1)), down;

    if (!signbit(f) != !(h >> 15))
        return false;
    if (x > (v + up) / 2 || (x == (v + up) / 2 && (code & 1)))
        return false;
    if (!code)
        return true;
    down = of((uint16_t)(code - 1));
    return x > (down + v) / 2 || (x == (down + v) / 2 && !(code & 1));
}

/* ---- half precision ------------------------------------------------------------------ */
static void test_f16(void)
{
    unsigned to = 0, back = 0, nan = 0, rounded = 0, n_rounded = 0;

    for (uint32_t h = 0; h < 65536; h++) {
        float f = gkv__f16_to_f32((uint16_t)h);

        if ((h & 0x7fff) > 0x7c00) {
            nan += isnan(f) && gkv__f32_to_f16(f) == (h | 0x200);
            continue;
        }
        to += (h & 0x7fff) == 0x7c00 ? isinf(f) && !signbit(f) == !(h >> 15)
                                     : same((double)f, f16_value((uint16_t)h));
        back += gkv__f32_to_f16(f) == h;
    }
    ok(to == 65536 - 2046, "f16: all %u numbers are exact", to);
    ok(back == 65536 - 2046, "f16: and come back");
    ok(nan == 2046, "f16: NaNs become quiet, and keep sign and payload");
    /* around each value and each midpoint */
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float v = gkv__f16_to_f32((uint16_t)h);
        float mid = (float)((f16_value((uint16_t)h) + f16_value((uint16_t)(h + 1))) / 2);

        for (int step = -2; step <= 2; step++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                uint32_t near_v = bits_of(v) + (uint32_t)step;
                uint32_t near_mid = bits_of(mid) + (uint32_t)step;

                if (near_v < 0x7f800000) {
                    float f = float_of(near_v | sign << 31);

                    n_rounded++;
                    rounded += nearest(f, gkv__f32_to_f16(f), f16_value);
                }
                if (near_mid < 0x7f800000) {
                    float f = float_of(near_mid | sign << 31);

                    n_rounded++;
                    rounded += nearest(f, gkv__f32_to_f16(f), f16_value);
                }
            }
    }
    ok(rounded == n_rounded, "f16: %u of %u roundings to nearest even", rounded, n_rounded);
    rounded = 0;
    for (int i = 0; i < 100000; i++) {
        float    f = float_of(rng());
        uint16_t h = gkv__f32_to_f16(f);

        rounded += isnan(f) ? (h & 0x7fff) > 0x7c00
                   : fabsf(f) >= 65520 ? (h & 0x7fff) == 0x7c00 && !signbit(f) == !(h >> 15)
                                       : nearest(f, h, f16_value);
    }
    ok(rounded == 100000, "f16: random bits are rounded right");
    ok(gkv__f32_to_f16(65519.996f) == 0x7bff && gkv__f32_to_f16(65520) == 0x7c00 &&
       gkv__f32_to_f16(-INFINITY) == 0xfc00 && gkv__f32_to_f16(0x1p-25f) == 0 &&
       gkv__f32_to_f16(0x1.000002p-25f) == 1 && gkv__f32_to_f16(-0.0f) == 0x8000,
       "f16: the edges");
#if defined __FLT16_MANT_DIG__ && (!defined __i386__ || defined __SSE2__)
    rounded = 0;
    for (int i = 0; i < 100000; i++) {
        float    f = float_of(rng() & 0xbfffffff);
        __extension__ _Float16 theirs = (_Float16)f;
        uint16_t h;

        memcpy(&h, &theirs, sizeof h);
        rounded += isnan(f) || h == gkv__f32_to_f16(f);
    }
    ok(rounded == 100000, "f16: as the compiler's _Float16");
#endif
}

/* Rows of f16 and bf16 agree with scalar conversion, from an odd address. */
static void test_rows(const char *name, double (*of)(uint16_t))
{
    const struct gkv__quant *q = gkv__quant_named(name);
    unsigned                 good = 0;
    uint8_t                  raw[2 * 7 + 1];
    float                    x[7], y[7];

    for (int round = 0; round < 10000; round++) {
        for (int i = 0; i < 7; i++)
            x[i] = float_of(rng() & 0xbfffffff);        /* finite, and below 2 */
        q->from_f32(x, raw + 1, 7);
        q->to_f32(raw + 1, y, 7);
        for (int i = 0; i < 7; i++) {
            uint16_t h;

            memcpy(&h, raw + 1 + 2 * i, sizeof h);
            good += nearest(x[i], h, of) && same((double)y[i], of(h));
        }
    }
    ok(good == 70000, "%s: rows of any address and length", name);
}

static void test_bf16(void)
{
    const struct gkv__quant *q = gkv__quant_named("bf16");
    unsigned                 to = 0, back = 0, nan = 0;
    const float              edge[] = { 0x1.fffffep127f, 0x1.fefffep127f, HUGE_VALF };
    uint16_t                 got[3];

    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i, again;
        float    f;

        q->to_f32(&h, &f, 1);
        q->from_f32(&f, &again, 1);
        to += bits_of(f) == i << 16;
        if (isnan(f))
            nan += again == (h | 0x40);
        else
            back += again == h;
    }
    ok(to == 65536, "bf16: all numbers are exact");
    ok(back == 65536 - 254 && nan == 254, "bf16: and come back, NaNs quiet");
    q->from_f32(edge, got, 3);
    ok(got[0] == 0x7f80 && got[1] == 0x7f7f && got[2] == 0x7f80, "bf16: the edges");
}

/* ---- blocks -------------------------------------------------------------------------- */
static void test_q8_0(void)
{
    const struct gkv__quant *q = gkv__quant_named("q8_0");
    unsigned                 good = 0, close = 0, n = 0;
    struct gkv__block_q8_0   b[3], odd;
    float                    x[96], y[96];
    uint8_t                  raw[3 * 34 + 1];

    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 96; i++)
            x[i] = ((float)(rng() >> 8) * 0x1p-23f - 1) * ldexpf(1, (int)(rng() % 3) - 1);
        q->from_f32(x, raw + 1, 96);
        q->to_f32(raw + 1, y, 96);
        memcpy(b, raw + 1, sizeof b);
        for (int i = 0; i < 3; i++) {
            float max = 0, d;

            for (int j = 0; j < 32; j++)
                max = fmaxf(max, fabsf(x[32 * i + j]));
            d = max / 127;
            for (int j = 0; j < 32; j++, n++) {
                double stored = f16_value(b[i].d);

                good += b[i].d == gkv__f32_to_f16(d) &&
                        b[i].q[j] == (int)roundf(x[32 * i + j] * (1 / d)) &&
                        same((double)y[32 * i + j], stored * b[i].q[j]);
                /* half a step, and the rounding of the scale to f16 */
                close += fabs((double)y[32 * i + j] - (double)x[32 * i + j]) <=
                         (double)d * (0.5 + 127 * 0x1p-11) * 1.0001;
            }
        }
    }
    ok(good == n, "q8_0: scale, integers and values of %u elements", n);
    ok(close == n, "q8_0: off by half a step at most");
    memset(x, 0, sizeof x);
    q->from_f32(x, b, 32);
    q->to_f32(b, y, 32);
    memset(&odd, 0, sizeof odd);
    ok(!memcmp(b, &odd, sizeof odd) && !memcmp(x, y, 32 * sizeof *x), "q8_0: zeros");
    x[3] = NAN;
    x[4] = -1;
    q->from_f32(x, b, 32);
    ok(b[0].q[3] == 0 && b[0].q[4] == -127, "q8_0: a NaN becomes 0");
    x[3] = 0;
    x[4] = 0x1p-140f;
    q->from_f32(x, b, 32);
    ok(b[0].q[4] == 0 && b[0].d == 0, "q8_0: too small to scale becomes 0");
}

static void test_q4_0(void)
{
    const struct gkv__quant *q = gkv__quant_named("q4_0");
    unsigned                 good = 0;
    uint8_t                  raw[3 * 18 + 1];
    float                    y[96];

    for (int round = 0; round < 2000; round++) {
        struct gkv__block_q4_0 b[3];

        for (int i = 0; i < 3; i++) {
            b[i].d = (uint16_t)(rng() & 0xbfff);        /* finite */
            for (int j = 0; j < 16; j++)
                b[i].q[j] = (uint8_t)rng();
        }
        memcpy(raw + 1, b, sizeof b);
        q->to_f32(raw + 1, y, 96);
        for (int i = 0; i < 96; i++) {
            uint8_t byte = b[i / 32].q[i % 16];
            int     nibble = i % 32 < 16 ? byte & 15 : byte >> 4;

            good += same((double)y[i], f16_value(b[i / 32].d) * (nibble - 8));
        }
    }
    ok(good == 192000, "q4_0: %u elements exact", good);
}

/* ---- all formats of integers --------------------------------------------------------- */
static uint32_t fnv(const void *data, size_t n)         /* FNV-1a */
{
    const uint8_t *p = data;
    uint32_t       h = 0x811c9dc5;

    while (n--)
        h = (h ^ *p++) * 0x01000193;
    return h;
}

/* Blocks convert to the same bits as with gguf-py, from an odd address. */
static void test_vectors(const struct gkv__quant *q)
{
    const size_t groups = q->block / 32, row = q->bytes + 4 * groups;
    size_t       n, bad = 0;
    char         name[64];
    uint8_t     *file, raw[256];
    float        x[256];

    snprintf(name, sizeof name, "tests/files/quant/%s.bin", q->name);
    file = slurp(name, &n);
    for (size_t i = 0; i < n / row; i++) {
        const uint8_t *p = file + i * row;

        memcpy(raw + 1, p, q->bytes);
        q->to_f32(raw + 1, x, q->block);
        for (size_t s = 0; s < groups; s++) {
            uint32_t want;

            memcpy(&want, p + q->bytes + 4 * s, sizeof want);
            if (fnv(x + 32 * s, 32 * sizeof *x) != want) {
                printf("# block %zu, weights %zu to %zu\n", i, 32 * s, 32 * s + 31);
                bad++;
            }
        }
    }
    ok(n && n % row == 0 && !bad, "%s: %zu blocks as gguf-py reads them", q->name, n / row);
    free(file);
}

/* All points of each grid, of which a vector has some: the numbers of the grid are d * (u - off). */
static void test_grids(void)
{
    static const struct { const uint64_t *eight; const uint32_t *four; size_t n; float d; int off; } grid[] = {
        { gkv__grid_iq2_xxs, NULL, 256, 1, GKV__IQ2_OFF }, { gkv__grid_iq2_xs, NULL, 512, 1, GKV__IQ2_OFF },
        { gkv__grid_iq2_s, NULL, 1024, 1, GKV__IQ2_OFF }, { NULL, gkv__grid_iq3_xxs, 256, 2, GKV__IQ3_XXS_OFF },
        { NULL, gkv__grid_iq3_s, 512, 1, GKV__IQ3_S_OFF }, { gkv__grid_iq1, NULL, 2048, 0.125f, GKV__IQ1_OFF + 1 },
    };
    size_t   n, i = 0;
    char    *text = slurp("tests/files/quant/grids.txt", &n), name[16];
    unsigned want;
    int      used;

    for (const char *p = text; sscanf(p, "%15s %x%n", name, &want, &used) == 2; p += used, i++) {
        const size_t wide = grid[i].four ? 4 : 8;
        float       *x = malloc(grid[i].n * 8 * sizeof *x);

        for (size_t k = 0; k < grid[i].n; k++)
            gkv__grid_floats(x + k * wide, grid[i].d, grid[i].four ? grid[i].four[k] : grid[i].eight[k], wide,
                             grid[i].off, 0);
        ok(fnv(x, grid[i].n * wide * sizeof *x) == want, "%s: %zu points as gguf-py has them", name, grid[i].n);
        free(x);
    }
    ok(i == sizeof grid / sizeof *grid, "... all %zu grids", i);
    free(text);
}

/* The same for every number that f16 and bf16 have. */
static void test_halves(void)
{
    size_t    n;
    char     *text = slurp("tests/files/quant/decode.txt", &n), name[16];
    uint16_t *code = malloc((1 << 16) * sizeof *code);
    float    *x = malloc((1 << 16) * sizeof *x);
    unsigned  want;
    int       used;

    for (const char *p = text; sscanf(p, "%15s %x%n", name, &want, &used) == 2; p += used) {
        const struct gkv__quant *q = gkv__quant_named(name);
        const unsigned           exponent = strcmp(name, "f16") ? 0x7f80 : 0x7c00;

        n = 0;
        for (unsigned c = 0; c < 1 << 16; c++)
            if ((c & exponent) != exponent)
                code[n++] = (uint16_t)c;
        q->to_f32(code, x, n);
        ok(fnv(x, n * sizeof *x) == want, "%s: %zu numbers as gguf-py reads them", name, n);
    }
    free(x);
    free(code);
    free(text);
}

enum { N_ENCODED = 32 * 256 };

static float *uniform_blocks(void)      /* as quant-vectors.py has them */
{
    float *x = malloc(N_ENCODED * sizeof *x);

    rng_state = 1;
    for (int i = 0; i < N_ENCODED; i++)
        x[i] = ldexpf((float)(rng() >> 8) * 0x1p-23f - 1, i / 32 % 24 - 12);
    return x;
}

/* The same bytes as gguf-py writes, for the types that it can write. */
static void test_encode(void)
{
    size_t   n;
    char    *text = slurp("tests/files/quant/encode.txt", &n), name[16];
    float   *x = uniform_blocks();
    uint8_t *raw = malloc(N_ENCODED * sizeof *x);
    unsigned want;
    int      used;

    for (const char *p = text; sscanf(p, "%15s %x%n", name, &want, &used) == 2; p += used) {
        const struct gkv__quant *q = gkv__quant_named(name);

        q->from_f32(x, raw, N_ENCODED);
        ok(fnv(raw, N_ENCODED / q->block * q->bytes) == want, "%s: as gguf-py writes it", name);
    }
    free(raw);
    free(x);
    free(text);
}

/* The error of a type on uniform numbers (a step of 2 / 15, of four bits, is 6.7 %), and its results for
 * unusual numbers. */
static void test_quality(const struct gkv__quant *q, double worst)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0x1p-149f, 1 };
    float  *x = malloc(256 * 64 * sizeof *x), *y = malloc(256 * 64 * sizeof *x);
    uint8_t raw[64 * 512], again[64 * 512];
    double  error = 0, power = 0;
    bool    zeros = true;
    size_t  bytes = 64 * 256 / q->block * q->bytes;

    rng_state = 2;
    for (int i = 0; i < 256 * 64; i++)
        x[i] = (float)(rng() >> 8) * 0x1p-23f - 1;
    q->from_f32(x, raw, 256 * 64);
    q->to_f32(raw, y, 256 * 64);
    for (int i = 0; i < 256 * 64; i++) {
        error += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
        power += (double)x[i] * (double)x[i];
    }
    ok(sqrt(error / power) < worst, "%s: loses %.2g %%", q->name, 100 * sqrt(error / power));
    memset(x, 0, 256 * sizeof *x);
    q->from_f32(x, raw, 256);
    q->to_f32(raw, y, 256);
    for (int i = 0; i < 256; i++)
        zeros = zeros && y[i] == 0;
    ok(zeros, "%s: zeros", q->name);
    for (int i = 0; i < 256 * 64; i++)          /* sanitizers watch the conversions */
        x[i] = rng() % 8 ? (float)(rng() >> 8) * 0x1p-23f - 1 : odd[rng() % 7];
    q->from_f32(x, raw, 256 * 64);
    q->from_f32(x, again, 256 * 64);
    ok(!memcmp(raw, again, bytes), "%s: the same bytes again, whatever they mean", q->name);
    free(x);
    free(y);
}

static void test_integers(void)
{
    static const struct { enum gkv__type type; int bits; } row[] = {
#define ROW(TYPE, name, ggml, block, bytes, bits, ...) { GKV__TYPE_##TYPE, bits },
        GKV__INTEGER_TYPES(ROW)
#undef ROW
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct gkv__quant *q = gkv__quant_of(row[i].type);

        if (!BIG_ENDIAN_HOST)           /* the vectors are little-endian */
            test_vectors(q);
        /* Steps of four-bit floats are up to a third of the number. */
        test_quality(q, ldexp(q->type == GKV__TYPE_MXFP4 ? 2.4 : 1.2, -row[i].bits));
    }
#define READ(TYPE, ...)                                                                     \
    if (!BIG_ENDIAN_HOST)                                                                   \
        test_vectors(gkv__quant_of(GKV__TYPE_##TYPE));
    GKV__TABLE_TYPES(READ)
#undef READ
    if (!BIG_ENDIAN_HOST) {
        test_grids();
        test_halves();
        test_encode();
    }
}

/* ---- the table ----------------------------------------------------------------------- */
/* Name, number, block and bytes are those of gguf-py. */
static void test_facts(void)
{
    size_t   n;
    char    *text = slurp("tests/files/quant/types.txt", &n), name[16];
    uint32_t ggml, block, bytes;
    int      used, rows = 0, good = 0;

    for (const char *p = text;
         sscanf(p, "%15s %" SCNu32 " %" SCNu32 " %" SCNu32 "%n", name, &ggml, &block, &bytes, &used) == 4;
         p += used, rows++) {
        const struct gkv__quant *q = gkv__quant_named(name);

        good += q && q->type != GKV__TYPE_NONE && q->ggml == ggml && q->block == block && q->bytes == bytes;
    }
    ok(rows == GKV__N_TYPES && good == rows, "%d types as gguf-py has them", rows);
    free(text);
}

static void test_table(void)
{
#define ONE(...) + 1
    const unsigned all = GKV__N_TYPES + (0 GKV__KNOWN_TYPES(ONE));
    unsigned n = 0, unique = 0, none = 0, read = 0;
    bool     good = true;
    float    x[2] = { -1.5f, NAN }, y[2];

    for (uint32_t i = 0; i < 1000; i++) {
        const struct gkv__quant *q = gkv__quant_of_ggml(i);

        if (!q)
            continue;
        n++;
        unique += q->ggml == i && gkv__quant_named(q->name) == q && q->block && q->bytes;
        none += q->type == GKV__TYPE_NONE && !q->to_f32 && !q->from_f32;
    }
    ok(n == all && unique == n, "%u types, each found by number and by name", n);
    ok(none == n - GKV__N_TYPES, "%u of them are known by name only", none);
    for (int t = 0; t < GKV__N_TYPES; t++) {
        const struct gkv__quant *q = gkv__quant_of((enum gkv__type)t);

        good = good && (int)q->type == t && q->to_f32 && q == gkv__quant_of_ggml(q->ggml);
        read += !q->from_f32;
    }
    ok(good && read == (0 GKV__TABLE_TYPES(ONE)), "the rows that compute, %u of them only read", read);
#undef ONE
    ok(!gkv__quant_of_ggml(4) && !gkv__quant_of_ggml(31) &&
       !gkv__quant_of_ggml(UINT32_MAX) && !gkv__quant_named("q4") && !gkv__quant_named(""),
       "unknown numbers and names");
    gkv__quant_named("f32")->from_f32(x, y, 2);
    ok(!memcmp(x, y, sizeof x), "f32 as it is");
}

int main(void)
{
    test_table();
    test_facts();
    test_f16();
    test_rows("f16", f16_value);
    test_bf16();
    test_rows("bf16", bf16_value);
    test_q8_0();
    test_q4_0();
    test_integers();
    return done();
}
