/* SPDX-License-Identifier: BSD-2-Clause
 * chance.c - see chance.h */
#include "config.h"
#include <math.h>
#include "src/cli/eval/chance.h"

void chance_interval(size_t right, size_t n, double *low, double *high)
{
    const double z = 1.959964, z2 = z * z, m = (double)n, p = n ? (double)right / m : 0;
    const double middle = (p + z2 / (2 * m)) / (1 + z2 / m);
    const double half = z / (1 + z2 / m) * sqrt(p * (1 - p) / m + z2 / (4 * m * m));

    *low = right ? middle - half : 0;
    *high = right < n ? middle + half : 1;
}

double chance_ahead(size_t more, size_t fewer)
{
    const size_t n = more + fewer;
    double       log_of = -(double)n * log(2), sum = 0;         /* of one of the 2^n outcomes */

    for (size_t k = 0; k <= n; k++) {
        sum += k >= more ? exp(log_of) : 0;
        log_of += k < n ? log((double)(n - k) / (double)(k + 1)) : 0;
    }
    return sum < 1 ? sum : 1;
}

struct tally chance_tally(const signed char *right, size_t n)
{
    struct tally t = { 0, 0 };

    for (size_t i = 0; i < n; i++) {
        t.right += right[i] > 0;
        t.asked += right[i] >= 0;
    }
    return t;
}

double chance_between(const signed char *better, const signed char *right, size_t n)
{
    size_t more = 0, fewer = 0;

    for (size_t i = 0; i < n; i++) {
        more += better[i] > 0 && right[i] <= 0;
        fewer += better[i] <= 0 && right[i] > 0;
    }
    return chance_ahead(more, fewer);
}

bool chance_behind(const signed char *better, const signed char *right, size_t n)
{
    /* Not the usual 0.05, since the harm is in recommending what is worse: of 20 questions, 2 fewer than all are
     * chance, 3 are not. */
    const double LEVEL = 0.2;

    return chance_between(better, right, n) < LEVEL;
}

size_t chance_choose(const signed char *right, size_t n_way, size_t n, size_t *best)
{
    size_t i = 0, most = 0;

    *best = n_way;
    for (size_t w = 0; w < n_way; w++) {
        const size_t n_right = chance_tally(right + w * n, n).right;

        if (n_right > most) {
            *best = w;
            most = n_right;
        }
    }
    if (*best == n_way)
        return n_way;
    /* Of few questions chance explains nearly everything, so four fifths of the best are wanted, too. */
    while (i < *best && (5 * chance_tally(right + i * n, n).right < 4 * most ||
                         chance_behind(right + *best * n, right + i * n, n)))
        i++;
    return i;
}
