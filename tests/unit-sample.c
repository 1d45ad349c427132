/* SPDX-License-Identifier: BSD-2-Clause
 * unit-sample.c - tokens are drawn with the probabilities that penalties, top-k, top-p, min-p and temperature define,
 * in this order: against a plain reference in double. */
#include "config.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/sample.h"
#include "tests/rng.h"
#include "tests/tap.h"

enum { N = 5, MANY = 23, DRAWS = 40000 };

static const float logits[N] = { 0.5f, 2, -1, 1.25f, 2 };

/* Whether the frequencies of DRAWS tokens are those of want[n], which need not add up to 1.  A right frequency
 * leaves 5 standard deviations once in a million tests. */
static bool draws(struct gkv__sampler s, const float *x, int n, const double *want)
{
    struct gkv__candidate scratch[MANY];
    unsigned count[MANY] = { 0 };
    double sum = 0;
    bool good = true;

    for (int i = 0; i < DRAWS; i++)
        count[gkv__sample(&s, x, scratch, (size_t)n)]++;
    for (int i = 0; i < n; i++)
        sum += want[i];
    for (int i = 0; i < n; i++) {
        const double p = want[i] / sum, deviation = sqrt(p * (1 - p) * DRAWS);

        good = good && fabs(count[i] - p * DRAWS) <= 5 * deviation;
    }
    for (int i = 0; i < n && !good; i++)
        printf("# token %d: %u of %d drawn, %.0f expected\n", i, count[i], DRAWS, want[i] / sum * DRAWS);
    return good;
}

static struct gkv__sampler sampler(float temperature, uint32_t top_k, float top_p, float min_p)
{
    return (struct gkv__sampler){ .temperature = temperature, .top_p = top_p, .min_p = min_p, .state = 42,
                                  .top_k = top_k, .last_n = 64, .repeat = 1 };
}

static void softmax(float temperature, double *p)
{
    for (int i = 0; i < N; i++)
        p[i] = exp((double)logits[i] / (double)temperature);
}

/* What the sampler should do with x[n], step by step, each on what the one before left. */
static void reference(struct gkv__sampler s, const float *x, int n, double *want)
{
    int order[MANY], left = n;
    double sum = 0, kept = 0;

    for (int i = 0; i < n; i++) {
        int at = i;

        for (; at && x[order[at - 1]] < x[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        want[i] = 0;
    }
    if (s.top_k && (int)s.top_k < left)
        left = (int)s.top_k;
    for (int i = 0; i < left; i++)
        sum += exp((double)x[order[i]]);
    for (int i = 0; i < left; i++) {
        kept += exp((double)x[order[i]]) / sum;
        if (s.top_p < 1 && kept >= (double)s.top_p)
            left = i + 1;
    }
    while (left > 1 && exp((double)x[order[left - 1]]) < (double)s.min_p * exp((double)x[order[0]]))
        left--;
    for (int i = 0; i < left; i++)
        want[order[i]] = exp((double)x[order[i]] / (double)s.temperature);
}

static double unit(void)
{
    return rng() * 0x1p-32;
}

static void test_random(void)
{
    bool good = true;

    for (int round = 0; round < 60 && good; round++) {
        struct gkv__sampler s = sampler(0.2f + (float)unit() * 2, rng() % (MANY + 3),
                                        round % 3 ? (float)unit() : 1,
                                        round % 4 ? 0.3f * (float)unit() : 0);
        float x[MANY];
        double want[MANY];

        for (int i = 0; i < MANY; i++)
            x[i] = 4 * (float)unit() - 2;
        reference(s, x, MANY, want);
        good = draws(s, x, MANY, want);
        if (!good)
            printf("# temperature %g top-k %u top-p %g min-p %g\n", (double)s.temperature, s.top_k, (double)s.top_p,
                   (double)s.min_p);
    }
    ok(good, "any numbers: the steps one after the other");
}

/* A seed means the same tokens in every version: the first numbers of splitmix64 from 1234567 on, as they are published,
 * among a thousand tokens of the same logit. */
static void test_generator(void)
{
    static const uint64_t number[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821),
    };
    static struct gkv__candidate scratch[1000];
    static float equal[1000];
    struct gkv__sampler s = { .temperature = 1, .top_p = 1, .repeat = 1, .state = 1234567 };
    bool good = true;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        good &= gkv__sample(&s, equal, scratch, 1000) == (uint32_t)((double)number[i] * 0x1p-64 * 1000);
    ok(good, "the generator is splitmix64");
}

/* splitmix64, as test_generator has it. */
static double uniform_of(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int by_logit(const void *a, const void *b)
{
    const struct gkv__candidate *x = a, *y = b;

    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1) : x->id < y->id ? -1 : 1;
}

/* Of many tokens only those are put in order that are looked at: the same are drawn as if all were.  Some logits are equal. */
static void test_order(void)
{
    enum { LARGE = 20000, SEEDS = 40 };
    static struct gkv__candidate c[LARGE], scratch[LARGE];
    static float x[LARGE];
    static const struct { float temperature, top_p, spread; uint32_t top_k; } kinds[] = {
        { 0.8f, 1, 4, 0 }, { 1, 1, 0.01f, 0 }, { 3, 1, 1, 0 }, { 0.8f, 0.9f, 4, 0 }, { 1, 0.7f, 0.02f, 0 }, { 1, 0.95f, 2, 0 },
        { 1, 1, 1, 40 }, { 1, 0.9f, 1, 700 }, { 1, 1, 0.1f, 5001 }, { 1, 1, 1, LARGE - 1 },
    };
    int wrong = 0;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t n = kinds[k].top_k ? kinds[k].top_k : LARGE;

        for (uint32_t i = 0; i < LARGE; i++) {
            x[i] = kinds[k].spread * (float)(rng() % 1000) / 500;
            c[i] = (struct gkv__candidate){ x[i], i };
        }
        qsort(c, LARGE, sizeof *c, by_logit);
        if (kinds[k].top_p < 1) {
            double all = 0, kept = 0;
            size_t i = 0;

            for (size_t j = 0; j < n; j++)
                all += exp((double)(c[j].logit - c->logit));
            while (kept < (double)kinds[k].top_p * all)
                kept += exp((double)(c[i++].logit - c->logit));
            n = i;
        }
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct gkv__sampler s = sampler(kinds[k].temperature, kinds[k].top_k, kinds[k].top_p, 0), same;
            double at, sum = 0;
            size_t i = 0;

            s.state = same.state = seed;
            for (size_t j = 0; j < n; j++)
                sum += (double)expf((c[j].logit - c->logit) / s.temperature);
            at = uniform_of(&same.state) * sum;
            while (i + 1 < n && (at -= (double)expf((c[i].logit - c->logit) / s.temperature)) >= 0)
                i++;
            wrong += gkv__sample(&s, x, scratch, LARGE) != c[i].id;
        }
    }
    ok(!wrong, "of many tokens, those are drawn that would be if all were in order: %d wrong", wrong);
}

static bool penalizes(struct gkv__sampler s, const uint32_t *id, size_t n)
{
    struct gkv__candidate scratch[N];
    float got[N];
    bool good = true;

    memset(scratch, 0xff, sizeof scratch);
    memcpy(got, logits, sizeof got);
    gkv__penalize(&s, got, id, n, scratch);
    for (uint32_t i = 0; i < N; i++) {
        double want = (double)logits[i], count = 0;

        for (size_t j = n > s.last_n ? n - s.last_n : 0; j < n; j++)
            count += id[j] == i;
        if (count > 0) {
            want = want > 0 ? want / (double)s.repeat : want * (double)s.repeat;
            want -= count * (double)s.frequency + (double)s.presence;
        }
        good = good && fabs(want - (double)got[i]) < 1e-5;
    }
    return good;
}

static void test_penalties(void)
{
    static const uint32_t id[] = { 4, 1, 1, 2, 0, 1, 2 };
    const struct gkv__sampler row[] = {
        { .last_n = 64, .repeat = 1.5f }, { .last_n = 64, .repeat = 0.5f }, { .last_n = 2, .repeat = 3 },
        { .last_n = 64, .repeat = 1, .presence = 0.75f }, { .last_n = 6, .repeat = 1, .frequency = 0.5f },
        { .last_n = 5, .repeat = 1.25f, .presence = -1, .frequency = 0.125f }, { .last_n = 7, .repeat = 2 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ok(penalizes(row[i], id, 7) && gkv__penalizes(&row[i]), "penalties: last %u, repeat %g, presence %g, frequency %g",
           row[i].last_n, (double)row[i].repeat, (double)row[i].presence, (double)row[i].frequency);
    ok(penalizes(row[0], id, 0), "penalties: nothing yet");
    ok(!gkv__penalizes(&(struct gkv__sampler){ .last_n = 64, .repeat = 1 }) &&
       !gkv__penalizes(&(struct gkv__sampler){ .repeat = 2, .presence = 1 }), "no penalties: 1, 0, 0, or no tokens");
}

int main(void)
{
    static const float temperature[] = { 0.3f, 1, 2.5f }, hidden[N] = { 1, -INFINITY, 0, -INFINITY, 1 };
    struct gkv__sampler s = sampler(1, 0, 1, 0);
    struct gkv__candidate scratch[N];
    const float bad[3] = { NAN, NAN, NAN };
    uint32_t first[20], same = 0;
    double p[N];

    for (int i = 0; i < 3; i++) {
        softmax(temperature[i], p);
        ok(draws(sampler(temperature[i], 0, 1, 0), logits, N, p), "temperature %g: softmax of the logits divided by it",
           (double)temperature[i]);
    }
    softmax(1, p);
    p[2] = 0;
    ok(draws(sampler(1, 0, 0.95f, 0), logits, N, p), "top-p 0.95: the least likely token goes, the one that reaches 0.95 stays");
    p[0] = p[3] = 0;
    ok(draws(sampler(1, 0, 0.7f, 0), logits, N, p), "top-p 0.7: two tokens");
    ok(draws(sampler(1, 2, 1, 0), logits, N, p), "top-k 2: the same");
    p[4] = 0;
    ok(draws(sampler(1, 0, 0.3f, 0), logits, N, p), "top-p 0.3: of two equal tokens the first");
    ok(draws(sampler(1, 1, 1, 0), logits, N, p), "top-k 1: the same");
    ok(draws(sampler(1, 0, 0, 0), logits, N, p), "top-p 0: one token");
    softmax(1, p);
    p[2] = p[0] = 0;
    ok(draws(sampler(1, 0, 1, 0.46f), logits, N, p), "min-p 0.46: the third token is 0.472 times as likely as the likeliest");
    p[3] = 0;
    ok(draws(sampler(1, 0, 1, 0.48f), logits, N, p), "min-p 0.48: it goes");
    softmax(2, p);
    p[2] = p[0] = 0;
    ok(draws(sampler(2, 0, 1, 0.46f), logits, N, p), "min-p 0.46 at temperature 2: before the temperature is applied");
    ok(draws(sampler(2, 0, 0.89f, 0), logits, N, p), "top-p 0.89 at temperature 2: before the temperature is applied");
    p[3] = 0;
    ok(draws(sampler(2, 3, 0.79f, 0), logits, N, p), "top-p 0.79 of the three tokens of top-k 3: two tokens");
    ok(draws(sampler(2, 0, 0.74f, 0.48f), logits, N, p), "min-p 0.48 after top-p 0.74 of all tokens");
    p[0] = p[4] = exp(1);
    p[2] = 1;
    p[1] = p[3] = 0;
    ok(draws(sampler(1, 4, 1, 0), hidden, N, p), "a logit of -infinity: never");
    test_random();
    test_penalties();

    s.temperature = 0;
    ok(gkv__sample(&s, logits, scratch, N) == 1, "temperature 0: the largest logit, of equal ones the first");
    s.temperature = 1;
    ok(gkv__sample(&s, bad, scratch, 3) == 0, "no numbers: the first token");
    s.state = 7;
    for (int i = 0; i < 20; i++)
        first[i] = gkv__sample(&s, logits, scratch, N);
    s.state = 7;
    for (int i = 0; i < 20; i++)
        same += gkv__sample(&s, logits, scratch, N) == first[i];
    ok(same == 20, "the same seed, the same tokens");
    test_generator();
    test_order();
    return done();
}
