/* SPDX-License-Identifier: BSD-2-Clause
 * top.c - see top.h.  Radix selection: four histograms of one byte each find the k-th largest
 * key exactly, whatever the distribution.  One pass over the scores then collects. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/top.h"

/* Unsigned keys in the order of the floats; NaN is below everything. */
static uint32_t key(float f)
{
    uint32_t u;

    if (f != f)
        return 0;
    f += 0.0f;                                  /* -0 and +0 are equal */
    memcpy(&u, &f, sizeof u);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

void gkv__top(const float *score, size_t n, size_t k, uint32_t *out)
{
    uint32_t cut = 0, mask = 0;
    size_t rest = k, at = 0;

    if (!k)
        return;
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t count[256] = { 0 };
        uint32_t b = 255;

        for (size_t i = 0; i < n; i++)
            if ((key(score[i]) & mask) == cut)
                count[key(score[i]) >> shift & 255]++;
        while (count[b] < rest)
            rest -= count[b--];
        cut |= b << shift;
        mask |= 255u << shift;
    }
    /* All keys above the cut, and the first `rest` of those equal to it. */
    for (size_t i = 0; i < n && at < k; i++) {
        uint32_t x = key(score[i]);

        if (x > cut || (x == cut && rest)) {
            rest -= x == cut;
            out[at++] = (uint32_t)i;
        }
    }
}

void gkv__force(float *score, size_t n, size_t keep_first, size_t keep_last)
{
    for (size_t i = 0; i < keep_first; i++)
        score[i] = INFINITY;
    for (size_t i = n - keep_last; i < n; i++)
        score[i] = INFINITY;
}
