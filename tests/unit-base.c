/* SPDX-License-Identifier: BSD-2-Clause
 * unit-base.c - the small parts that all others use: parameters, pooling, selection, checksums, sizes, statuses */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/param.h"
#include "src/base/pool.h"
#include "src/base/size.h"
#include "src/base/sum.h"
#include "src/base/top.h"
#include "tests/rng.h"
#include "tests/tap.h"

static gkv_error err;

/* ---- parameters ------------------------------------------------------------------------- */

static const struct gkv__param rows[] = {
    { "kernel", "5", "", 1, 99, true, NULL },
    { "pool", "avg", "", 0, 0, false, GKV__POOL_WORDS },
    { "part", "0.5", "", 0, 1, false, NULL },
    { "rows", "8", "", 0, 64, false, NULL },
    { .name = NULL }
}, none[] = { { .name = NULL } };

static void check_parse(void)
{
    static const struct { const char *spec; double v[4]; const char *text; } good[] = {
        { "x", { 5, 0, 0.5, 8 }, "kernel=5,pool=avg,part=0.5,rows=8" },
        { "x:kernel=7", { 7, 0, 0.5, 8 }, "kernel=7,pool=avg,part=0.5,rows=8" },
        { "x:kernel=99,rows=64,part=1", { 99, 0, 1, 64 }, "kernel=99,pool=avg,part=1,rows=64" },
        { "x:rows=0,part=0,kernel=1,pool=none", { 1, 2, 0, 0 }, "kernel=1,pool=none,part=0,rows=0" },
        { "x:pool=max,pool=avg,pool=max", { 5, 1, 0.5, 8 }, "kernel=5,pool=max,part=0.5,rows=8" },
        { "x:part=0.25", { 5, 0, 0.25, 8 }, "kernel=5,pool=avg,part=0.25,rows=8" },
        { "x:rows=6.4e1", { 5, 0, 0.5, 64 }, "kernel=5,pool=avg,part=0.5,rows=64" },
    };
    static const struct { const char *spec, *says; } bad[] = {
        { "x:kernel=4", "kernel=4: not an odd number from 1 to 99" },
        { "x:kernel=0", "kernel=0: not an odd number from 1 to 99" },
        { "x:kernel=101", "kernel=101: not an odd number from 1 to 99" },
        { "x:kernel=-1", "kernel=-1: not an odd number from 1 to 99" },
        { "x:rows=1.5", "rows=1.5: not a whole number from 0 to 64" },
        { "x:rows=65", "rows=65: not a whole number from 0 to 64" },
        { "x:rows=-1", "rows=-1: not a whole number from 0 to 64" },
        { "x:rows=", "rows=: not a whole number from 0 to 64" },
        { "x:rows", "rows=: not a whole number from 0 to 64" },
        { "x:rows=8x", "rows=8x: not a whole number from 0 to 64" },
        { "x:rows=00000000000000000000000000000008", "rows=00000000000000000000000000000008: not a whole number from 0 to 64" },
        { "x:part=1.5", "part=1.5: not a number from 0 to 1" },
        { "x:part=nan", "part=nan: not a number from 0 to 1" },
        { "x:pool=min", "pool=min: not one of: avg max none" },
        { "x:pool=av", "pool=av: not one of: avg max none" },
        { "x:pool=none ", "pool=none : not one of: avg max none" },
        { "x:row=8", "method x has no parameter \"row\" (did you mean rows?); it has: kernel pool part rows" },
        { "x:rowss=8", "method x has no parameter \"rowss\" (did you mean rows?); it has: kernel pool part rows" },
        { "x:q=8", "method x has no parameter \"q\"; it has: kernel pool part rows" },
        { "x:rows=8,", "method x has no parameter \"\"; it has: kernel pool part rows" },
        { "x:", "method x has no parameter \"\"; it has: kernel pool part rows" },
    };
    double v[GKV__MAX_PARAMS];
    char   text[64];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const gkv_status status = gkv__param_parse("method", good[i].spec, rows, v, &err);

        gkv__param_text(rows, v, text, sizeof text);
        ok(status == GKV_OK && !memcmp(v, good[i].v, sizeof good[i].v) && !strcmp(text, good[i].text), "%s: %s",
           good[i].spec, text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(gkv__param_parse("method", bad[i].spec, rows, v, &err) == GKV_INVALID && !strcmp(err.text, bad[i].says), "%s: %s",
           bad[i].spec, err.text);
    ok(gkv__param_parse("schedule", "y:a=1", none, v, &err) == GKV_INVALID &&
       !strcmp(err.text, "schedule y has no parameter \"a\"; it has: none"), "of none: %s", err.text);
    ok(gkv__param_parse("schedule", "y", none, v, &err) == GKV_OK, "none of none");
    ok(gkv__param_row(rows, "kernel") == 0 && gkv__param_row(rows, "rows") == 3 && gkv__param_row(rows, "row") == -1 &&
       gkv__param_row(none, "") == -1, "the row of a name");
    ok(gkv__param_is("x", "x") && gkv__param_is("x:a=1", "x") && !gkv__param_is("xy", "x") && !gkv__param_is("x", "xy") &&
       !gkv__param_is("", "x") && !gkv__param_is(":x", "x"), "whose specification it is");
    for (size_t n = 1; n <= sizeof text; n++) {
        char cut[sizeof text + 1];

        memset(cut, '#', sizeof cut);
        gkv__param_parse("method", "x:pool=none", rows, v, &err);
        gkv__param_text(rows, v, cut, n);
        if (cut[n] != '#' || strlen(cut) >= n || strncmp(cut, "kernel=5,pool=none,part=0.5,rows=8", strlen(cut)) ||
            (strlen(cut) + 1 < n && strcmp(cut, "kernel=5,pool=none,part=0.5,rows=8")))
            ok(0, "in %zu bytes: %s", n, cut);
    }
    ok(1, "cut to any size");
}

/* ---- pooling and selection -------------------------------------------------------------- */

static void check_pool(void)
{
    float x[12], y[12], spare[12];
    size_t bad = 0, cases = 0;

    for (size_t n = 0; n <= 12; n++)
        for (size_t kernel = 1; kernel <= 13; kernel += 2)
            for (enum gkv__pool kind = GKV__POOL_AVG; kind <= GKV__POOL_NONE; kind++, cases++) {
                for (size_t i = 0; i < n; i++)
                    x[i] = y[i] = (float)(rng() % 2000) / 64 - 20;      /* mostly negative, and sums are exact */
                gkv__pool(y, spare, n, kernel, kind);
                for (size_t i = 0; i < n; i++) {
                    double         sum = 0, max = -INFINITY;
                    volatile float want;            /* on i386, what is not stored has more digits */

                    for (size_t j = 0; j < n; j++)
                        if ((i > j ? i - j : j - i) <= kernel / 2) {
                            sum += (double)x[j];
                            max = fmax(max, (double)x[j]);
                        }
                    want = kind == GKV__POOL_NONE ? x[i] : kind == GKV__POOL_MAX ? (float)max : (float)sum / (float)kernel;
                    bad += y[i] != want;
                }
            }
    ok(cases == 13 * 7 * 3 && bad == 0, "%zu poolings, %zu numbers differ", cases, bad);
}

/* Whether a goes before b: NaN is behind all, and of equal ones the first. */
static bool before(const float *x, size_t a, size_t b)
{
    if (isnan(x[a]) || isnan(x[b]))
        return isnan(x[a]) == isnan(x[b]) ? a < b : isnan(x[b]);
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

static void check_top(void)
{
    static const float odd[] = { 0, -0.0f, NAN, INFINITY, -INFINITY, 1, -1, 1e-40f, -1e-40f, 1.0000001f };
    float    x[300];
    uint32_t out[300];
    size_t   bad = 0;

    for (unsigned round = 0; round < 600; round++) {
        const size_t n = round < 300 ? rng() % 12 : 1 + rng() % 300, k = n ? rng() % (n + 1) : 0;
        size_t at = 0;

        for (size_t i = 0; i < n; i++)
            x[i] = round % 3 == 0 ? odd[rng() % 10] : round % 3 == 1 ? (float)(rng() % 7) - 3 : (float)rng() / 1e9f - 2;
        memset(out, 0xff, sizeof out);
        gkv__top(x, n, k, out);
        for (size_t i = 0; i < n; i++) {
            size_t better = 0;

            for (size_t j = 0; j < n; j++)
                better += before(x, j, i);
            if (better < k)
                bad += at >= k || out[at++] != i;
        }
        bad += at != k || out[k] != UINT32_MAX;
    }
    ok(bad == 0, "the largest of 600 lists, %zu differ", bad);
    for (size_t i = 0; i < 8; i++)
        x[i] = (float)i;
    gkv__force(x, 8, 2, 3);
    ok(isinf(x[0]) && isinf(x[1]) && x[2] == 2 && x[4] == 4 && x[5] > 9 && isinf(x[6]) && isinf(x[7]), "the first and the last");
    gkv__force(x, 5, 0, 0);
    ok(x[2] == 2 && x[3] == 3 && x[4] == 4, "none of them");
}

/* ---- checksums and sizes ---------------------------------------------------------------- */

static void check_sum(void)
{
    static const struct { size_t n; uint64_t sum; } row[] = {   /* files have them: by the comment in sum.c, in Python */
        { 0, UINT64_C(0xc01b415e4aa6de93) },
        { 1, UINT64_C(0xc43747af519ea5ec) },
        { 7, UINT64_C(0x67313580837d352d) },
        { 8, UINT64_C(0xa859e8620a9e9d51) },
        { 9, UINT64_C(0x7a417912bd395700) },
        { 31, UINT64_C(0xf2d18f6f95a6e159) },
        { 32, UINT64_C(0x801c21bac5738491) },
        { 33, UINT64_C(0x1ba2bf8ae6fa36a9) },
        { 64, UINT64_C(0x6575904a1ac6940d) },
        { 100, UINT64_C(0x7f972b062ba8f70d) },
    };
    uint8_t  b[100];
    size_t   bad = 0;
    uint64_t all;

    for (unsigned i = 0; i < 100; i++)
        b[i] = (uint8_t)(i * i + 7 * i + 1);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (BIG_ENDIAN_HOST)
            skip("big-endian machine", "the sum of %zu bytes", row[i].n);
        else
            ok(gkv__sum(GKV__SUM_START, b, row[i].n) == row[i].sum, "the sum of %zu bytes", row[i].n);
    all = gkv__sum(GKV__SUM_START, b, 100);
    for (size_t i = 0; i < 800; i++) {
        b[i / 8] ^= (uint8_t)(1 << i % 8);
        bad += gkv__sum(GKV__SUM_START, b, 100) == all;
        b[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (size_t i = 0; i + 40 < 100; i++)               /* what is moved, and what is cut off */
        bad += gkv__sum(GKV__SUM_START, b + i, 40) == gkv__sum(GKV__SUM_START, b + i + 1, 40);
    ok(bad == 0 && gkv__sum(all, b, 100) != all && gkv__sum(GKV__SUM_START, "\0", 1) != gkv__sum(GKV__SUM_START, "\0\0", 2),
       "another text has another sum");
}

static void check_sizes(void)
{
    const uint64_t most = UINT64_MAX, half = UINT64_C(1) << 32;

    ok(gkv__plus(2, 3) == 5 && gkv__plus(most, 0) == most && gkv__plus(most - 1, 1) == most && gkv__plus(most, 1) == most &&
       gkv__plus(most, most) == most, "sums");
    ok(gkv__times(2, 3) == 6 && gkv__times(most, 0) == 0 && gkv__times(half, half - 1) == most - half + 1 &&
       gkv__times(half, half) == most && gkv__times(most, 2) == most, "products");
    ok(gkv__min(1, 2) == 1 && gkv__min(2, 1) == 1 && gkv__max(1, 2) == 2 && gkv__max(2, 1) == 2, "the smaller and the larger");
}

/* ---- statuses and options --------------------------------------------------------------- */

static void check_statuses(void)
{
    char long_one[600], seen[16][32];
    bool differ = true;

    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = 0;
    ok(gkv__fail(&err, GKV_LIMIT, "a\tb\x1f\x7f%s %d", "\xc3\xa9~", 7) == GKV_LIMIT && err.status == GKV_LIMIT &&
       !strcmp(err.text, "a?b??\xc3\xa9~ 7"), "what controls a terminal is left out: %s", err.text);
    ok(gkv__fail(NULL, GKV_IO, "nobody reads this") == GKV_IO, "a failure that nobody reads about");
    ok(gkv__fail(&err, GKV_IO, "%s", long_one) == GKV_IO && strlen(err.text) == sizeof err.text - 1, "a long one is cut");
    for (int i = GKV_OK; i <= GKV_CANCELLED; i++) {
        snprintf(seen[i], sizeof *seen, "%s", gkv_status_name((gkv_status)i));
        for (int j = 0; j < i; j++)
            differ &= strcmp(seen[i], seen[j]) != 0;
    }
    ok(differ && !strcmp(seen[GKV_OK], "ok") && !strcmp(seen[GKV_CANCELLED], "cancelled"), "names of statuses");
    ok(!strcmp(gkv_status_name((gkv_status)(GKV_CANCELLED + 1)), "unknown") &&
       !strcmp(gkv_status_name((gkv_status)-1), "unknown"), "and of others");
}

/* A program that was compiled with another version has options of another size. */
static void check_options(void)
{
    struct { gkv_options o; char more[16 * sizeof(gkv_options)]; } *big = calloc(1, sizeof *big);
    const size_t first = offsetof(gkv_options, schedule);
    gkv_options  o, to;

    gkv_options_init(&o);
    ok(o.size == sizeof o && o.keep == 1024 && o.layer == -1 && o.keep_first == 4 && o.keep_last == GKV_KEEP_PROMPT &&
       o.max_tokens == 256 && o.draft == 4 && o.top_p == 1 && o.repeat_last_n == 64 && o.repeat_penalty == 1 && !o.method,
       "defaults");
    o.keep = 7;
    o.draft = 9;
    memset(&to, 0x55, sizeof to);
    ok(gkv__options(&to, &o, &err) == GKV_OK && to.size == sizeof to && to.keep == 7 && to.draft == 9 && to.top_p == 1,
       "of the same size");
    o.size = offsetof(gkv_options, draft);
    memset(&to, 0x55, sizeof to);
    ok(gkv__options(&to, &o, &err) == GKV_OK && to.size == sizeof to && to.keep == 7 && to.draft == 4 && !to.draft_mtp,
       "of an older version, which lacks some: these have defaults");
    o.method = "full";
    o.size = first;
    ok(gkv__options(&to, &o, &err) == GKV_OK && to.size == sizeof to && to.keep == 1024 && !strcmp(to.method, "full"),
       "of the oldest, which knows the method only");
    o.size = first - 1;
    ok(gkv__options(&to, &o, &err) == GKV_INVALID && strstr(err.text, "has not set up"), "of none: %s", err.text);
    o.size = 0;
    ok(gkv__options(&to, &o, &err) == GKV_INVALID, "of no size");
    gkv_options_init_size(&big->o, sizeof big->o + 8);
    big->more[0] = 9;
    ok(big->o.size == sizeof o + 8 && gkv__options(&to, &big->o, &err) == GKV_OK && to.size == sizeof to && to.keep == 1024,
       "of a newer version");
    big->o.size = 16 * sizeof o;
    ok(gkv__options(&to, &big->o, &err) == GKV_OK, "of a much newer one");
    big->o.size = 16 * sizeof o + 1;
    ok(gkv__options(&to, &big->o, &err) == GKV_INVALID, "of a size that cannot be");
    memset(&o, 0x55, sizeof o);
    gkv_options_init_size(&o, offsetof(gkv_options, draft));
    ok(o.size == offsetof(gkv_options, draft) && o.keep == 1024 && o.repeat_penalty == 1 && o.draft == 0x55555555,
       "an older program's room is not exceeded");
    free(big);
}

int main(void)
{
    check_parse();
    check_pool();
    check_top();
    check_sum();
    check_sizes();
    check_statuses();
    check_options();
    return done();
}
