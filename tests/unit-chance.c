/* SPDX-License-Identifier: BSD-2-Clause
 * unit-chance.c - what chance explains, and which way is recommended
 *
 * Probabilities were computed with Python's fractions. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/cli/eval/chance.h"
#include "tests/tap.h"

/* An end of the interval is the share of which what was seen is 1.96 standard deviations away. */
static double away(size_t right, size_t n, double share)
{
    return fabs((double)right / (double)n - share) / sqrt(share * (1 - share) / (double)n);
}

static void intervals(void)
{
    size_t bad = 0;
    double low, high;

    for (size_t n = 1; n <= 40; n++)
        for (size_t right = 0; right <= n; right++) {
            const double seen = (double)right / (double)n;

            chance_interval(right, n, &low, &high);
            bad += right ? !(low < seen && fabs(away(right, n, low) - 1.96) < 1e-4) : low > 0;
            bad += right < n ? !(high > seen && fabs(away(right, n, high) - 1.96) < 1e-4) : high < 1;
        }
    chance_interval(0, 0, &low, &high);
    ok(!bad && low <= 0 && high >= 1, "intervals: %zu ends are wrong", bad);
}

static void coins(void)
{
    static const struct { size_t more, fewer; double p; } want[] = {
        { 0, 0, 1 }, { 1, 0, 0.5 }, { 3, 0, 0.125 }, { 4, 1, 0.1875 }, { 0, 3, 1 }, { 8, 2, 0.0546875 },
        { 60, 40, 0.02844397 }, { 5000, 5000, 0.5039893 },
    };
    size_t bad = 0;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        bad += !(fabs(chance_ahead(want[i].more, want[i].fewer) - want[i].p) < 1e-6);
    ok(!bad, "throws of coins: %zu differ", bad);
}

/* "1" right, "0" wrong, "-" not asked; a string for each way. */
static size_t choose(const char *const *way, size_t n_way, size_t *best)
{
    signed char  all[2 * 8 * 32], *right = all + 8 * 32;        /* what is before it looks right */
    const size_t n = strlen(*way);

    memset(all, 1, sizeof all);
    for (size_t i = 0; i < n_way * n; i++)
        right[i] = way[i / n][i % n] == '-' ? -1 : way[i / n][i % n] == '1';
    return chance_choose(right, n_way, n, best);
}

static void choices(void)
{
    static const struct { const char *what, *way[4]; size_t choice, best; } want[] = {
        { "as good as the best, but cheaper", { "0000", "1111", "1111", "0111" }, 1, 1 },
        { "3 of 20 are not chance", { "11111111111111111000", "11111111111111111111", "1", "1" }, 1, 1 },
        { "2 of 20 are", { "00111111111111111111", "11111111111111111111", "1", "1" }, 0, 1 },
        { "other questions count against each other",
          { "00011111111111111111", "11111111111111111000", "1", "1" }, 0, 0 },
        { "one more than the other", { "0001111111111111111", "1111111111111111100", "1", "1" }, 0, 1 },
        { "the second is behind, too",
          { "00000000000000000000", "11111111111111111000", "11111111111111111111", "11111111111111111111" }, 2, 2 },
        { "of two questions all are wanted", { "00", "10", "11", "11" }, 2, 2 },
        { "a question that was not asked is not right", { "----", "1---", "1011", "1111" }, 3, 3 },
        { "nor are the last of many", { "1111111111111111----", "11111111111111111111", "1", "1" }, 1, 1 },
        { "the best may be the last", { "0000", "0000", "0000", "0001" }, 3, 3 },
        { "none is right", { "0000", "----", "0000", "0000" }, 4, 4 },
    };

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const size_t n_way = strlen(want[i].way[3]) == strlen(want[i].way[0]) ? 4 : 2;
        size_t       best;
        const size_t choice = choose(want[i].way, n_way, &best);

        ok(choice == want[i].choice && best == want[i].best, "%s", want[i].what);
    }
}

int main(void)
{
    const signed char right[] = { 1, -1, 0, 1, 0 }, other[] = { 1, 1, 0, 0, -1 };
    const struct tally t = chance_tally(right, 5);

    intervals();
    coins();
    choices();
    ok(t.right == 2 && t.asked == 4, "counts");
    ok(fabs(chance_between(right, other, 5) - 0.75) < 1e-9, "of the two questions that differ, one each");
    return done();
}
