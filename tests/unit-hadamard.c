/* SPDX-License-Identifier: BSD-2-Clause
 * unit-hadamard.c - heads turned by a Hadamard matrix, against the matrix by its definition in double precision: it is
 * its own inverse, keeps products, does not depend on threads, and is what 4-bit rows with an outlier need. */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/hadamard.h"
#include "tests/tap.h"
#include "tests/worse.h"

enum { N = 37, HEADS = 3, MOST = 256 };

static uint32_t state = 4321;

static float uniform(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)((double)state / 2147483648.0 - 1);
}

/* Row r, column c of the matrix of `size` without its scale: -1 to the number of ones that r and c share. */
static double sign(size_t r, size_t c)
{
    return __builtin_popcountll(r & c) % 2 ? -1 : 1;
}

static void check(size_t d, size_t size)
{
    const struct gkv__shape s = { .head_dim = (uint32_t)d };
    const size_t n = (size_t)N * HEADS * d;
    struct gkv__exec one = { .shape = &s, .n_threads = 1 }, three = { .shape = &s, .n_threads = 3 };
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *z = malloc(n * sizeof *z);
    double worst = 0, back = 0, products = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = y[i] = z[i] = uniform();
    gkv__hadamard(&one, y, N, HEADS);
    gkv__hadamard(&three, z, N, HEADS);
    for (size_t at = 0; at < n; at += size) {
        double before = 0, after = 0;

        for (size_t r = 0; r < size; r++) {
            double want = 0;

            for (size_t c = 0; c < size; c++)
                want += sign(r, c) * (double)x[at + c] / sqrt((double)size);
            worst = worse(worst, fabs(want - (double)y[at + r]));
            before += (double)x[at + r] * (double)x[(at + size) % n + r];
            after += (double)y[at + r] * (double)y[(at + size) % n + r];
        }
        products = worse(products, fabs(before - after));
    }
    ok(!memcmp(y, z, n * sizeof *y), "head_dim %zu: the same bytes from one thread and from three", d);
    gkv__hadamard(&one, y, N, HEADS);
    for (size_t i = 0; i < n; i++)
        back = worse(back, fabs((double)y[i] - (double)x[i]));
    /* Each of log2(size) sums and the scale round once; numbers stay below sqrt(size). */
    ok(worst <= 10 * FLT_EPSILON * sqrt((double)size), "head_dim %zu: as the matrix of %zu says (%.1e)", d, size, worst);
    ok(back <= 20 * FLT_EPSILON * sqrt((double)size), "head_dim %zu: twice is as before (%.1e)", d, back);
    ok(products <= 20 * FLT_EPSILON * (double)size * sqrt((double)size), "head_dim %zu: products stay (%.1e)", d, products);
    free(x);
    free(y);
    free(z);
}

/* Mean square error of a row of 64 in 4 bits, one number of which is 16 times as large as the others can be. */
static double error(bool turned)
{
    const struct gkv__shape s = { .head_dim = 64 };
    const struct gkv__exec e = { .shape = &s, .n_threads = 1 };
    const struct gkv__quant *type = gkv__quant_of(GKV__TYPE_Q4_0);
    double sum = 0;

    state = 99;
    for (size_t i = 0; i < 200; i++) {
        float x[64], y[64];
        uint8_t packed[64];

        for (size_t j = 0; j < 64; j++)
            y[j] = x[j] = j == 5 ? 16 : uniform();
        if (turned)
            gkv__hadamard(&e, y, 1, 1);
        type->from_f32(y, packed, 64);
        type->to_f32(packed, y, 64);
        if (turned)
            gkv__hadamard(&e, y, 1, 1);
        for (size_t j = 0; j < 64; j++)
            sum += ((double)y[j] - (double)x[j]) * ((double)y[j] - (double)x[j]) / 200 / 64;
    }
    return sum;
}

int main(void)
{
    static const struct { size_t d, size; } cases[] = { { 64, 64 }, { 128, 128 }, { MOST, 256 }, { 16, 16 }, { 96, 32 }, { 80, 16 }, { 9, 1 } };
    const double plain = error(false), turned = error(true);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].d, cases[i].size);
    ok(turned < plain / 4, "a row with an outlier: mean square error %.4f in 4 bits, turned %.4f", plain, turned);
    ok(gkv__uses_hadamard(gkv__quant_of(GKV__TYPE_Q4_0)) && !gkv__uses_hadamard(gkv__quant_of(GKV__TYPE_Q8_0)) &&
       !gkv__uses_hadamard(gkv__quant_of(GKV__TYPE_F16)), "only rows of 4 bits are turned");
    return done();
}
