/* SPDX-License-Identifier: BSD-2-Clause
 * select-gemfilter.c - restart with the tokens that one early layer attends to from the last
 * token of the prompt.  Shi, Ming, Nguyen, Liang, Joty: "Discovering the Gems in Early Layers"
 * (2024), Algorithm 1, as the authors' code has it: raw q . k summed over heads, no softmax,
 * pooled over neighbours, one set of indices for all layers and heads. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/select.h"
#include "src/top.h"

extern const struct gkv__select gkv__select_gemfilter;

enum { POOL, KERNEL };
enum { AVG, MAX, NONE };

static const struct gkv__param params[] = {
    [POOL] = { "pool", "avg", "how neighbouring scores are pooled", .words = "avg max none" },
    [KERNEL] = { "kernel", "5", "width of the pool, an odd number of tokens", 1, 255, .odd = true },
    { .name = NULL },
};

/* As torch's avg_pool1d(kernel, stride 1, padding kernel / 2) and max_pool1d: beyond the ends
 * there are zeros for the average, whose divisor stays `kernel`, and nothing for the maximum. */
static void pool(float *out, const float *in, size_t n, size_t kernel, bool average)
{
    const size_t half = kernel / 2;

    for (size_t i = 0; i < n; i++) {
        size_t from = i < half ? 0 : i - half, to = n - i <= half ? n : i + half + 1;
        float sum = 0, max = -INFINITY;

        for (size_t j = from; j < to; j++) {
            sum += in[j];
            max = in[j] > max ? in[j] : max;
        }
        out[i] = average ? sum / (float)kernel : max;
    }
}

static size_t pick(const struct gkv__pick *in, uint32_t *out)
{
    if ((int)in->param[POOL] != NONE) {
        pool(in->spare, in->score, in->n, (size_t)in->param[KERNEL], (int)in->param[POOL] == AVG);
        memcpy(in->score, in->spare, in->n * sizeof *in->score);
    }
    memcpy(in->spare, in->score, in->n * sizeof *in->score);
    for (size_t i = 0; i < in->keep_first; i++)
        in->spare[i] = INFINITY;
    for (size_t i = in->n - in->keep_last; i < in->n; i++)
        in->spare[i] = INFINITY;
    gkv__top(in->spare, in->n, in->k, out);
    return in->k;
}

const struct gkv__select gkv__select_gemfilter = {
    .name = "gemfilter",
    .summary = "restart with the tokens that one early layer attends to",
    .params = params,
    .needs = GKV__NEEDS_LAST_ROW,
    .pick = pick,
};
