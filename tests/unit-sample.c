/* SPDX-License-Identifier: BSD-2-Clause
 * unit-sample.c - tokens are drawn with the probabilities that temperature, top-p and min-p define. */
#include "config.h"
#include <math.h>
#include <stdbool.h>
#include "src/answer/sample.h"
#include "tests/tap.h"

enum { N = 5, DRAWS = 40000 };

static const float logits[N] = { 0.5f, 2, -1, 1.25f, 2 };

/* Whether the frequencies of DRAWS tokens are those of want[], which need not add up to 1.  A right frequency
 * leaves 5 standard deviations once in a million tests. */
static bool draws(float temperature, float top_p, float min_p, const double *want)
{
    struct gkv__sampler s = { temperature, top_p, min_p, 42 };
    struct gkv__candidate scratch[N];
    unsigned count[N] = { 0 };
    double sum = 0;
    bool good = true;

    for (int i = 0; i < DRAWS; i++)
        count[gkv__sample(&s, logits, scratch, N)]++;
    for (int i = 0; i < N; i++)
        sum += want[i];
    for (int i = 0; i < N; i++) {
        const double p = want[i] / sum, deviation = sqrt(p * (1 - p) * DRAWS);

        good = good && fabs(count[i] - p * DRAWS) <= 5 * deviation;
    }
    for (int i = 0; i < N && !good; i++)
        printf("# token %d: %u of %d drawn, %.0f expected\n", i, count[i], DRAWS, want[i] / sum * DRAWS);
    return good;
}

static void softmax(float temperature, double *p)
{
    for (int i = 0; i < N; i++)
        p[i] = exp((double)logits[i] / (double)temperature);
}

int main(void)
{
    static const float temperature[] = { 0.3f, 1, 2.5f };
    struct gkv__sampler s = { 1, 1, 0, 7 };
    struct gkv__candidate scratch[N];
    const float bad[3] = { NAN, NAN, NAN };
    uint32_t first[20], same = 0;
    double p[N];

    for (int i = 0; i < 3; i++) {
        softmax(temperature[i], p);
        ok(draws(temperature[i], 1, 0, p), "temperature %g: softmax of the logits divided by it", (double)temperature[i]);
    }
    softmax(1, p);
    p[2] = 0;
    ok(draws(1, 0.95f, 0, p), "top-p 0.95: the least likely token goes, the one that reaches 0.95 stays");
    p[0] = p[3] = 0;
    ok(draws(1, 0.7f, 0, p), "top-p 0.7: two tokens");
    p[4] = 0;
    ok(draws(1, 0.3f, 0, p), "top-p 0.3: of two equal tokens the first");
    ok(draws(1, 0, 0, p), "top-p 0: one token");
    softmax(1, p);
    p[2] = p[0] = 0;
    ok(draws(1, 1, 0.46f, p), "min-p 0.46: the third token is 0.472 times as likely as the likeliest");
    p[3] = 0;
    ok(draws(1, 1, 0.48f, p), "min-p 0.48: it goes");
    softmax(2, p);
    p[2] = 0;
    ok(draws(2, 1, 0.46f, p), "min-p 0.46 at temperature 2: after the temperature was applied");

    ok(gkv__sample(&(struct gkv__sampler){ .temperature = 0 }, logits, scratch, N) == 1,
       "temperature 0: the largest logit, of equal ones the first");
    ok(gkv__sample(&s, bad, scratch, 3) == 0, "no numbers: the first token");
    s.state = 7;
    for (int i = 0; i < 20; i++)
        first[i] = gkv__sample(&s, logits, scratch, N);
    s.state = 7;
    for (int i = 0; i < 20; i++)
        same += gkv__sample(&s, logits, scratch, N) == first[i];
    ok(same == 20, "the same seed, the same tokens");
    return done();
}
