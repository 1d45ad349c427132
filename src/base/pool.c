/* SPDX-License-Identifier: BSD-2-Clause
 * pool.c - see pool.h */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/base/pool.h"

void gkv__pool(float *score, float *spare, size_t n, size_t kernel, enum gkv__pool kind)
{
    const size_t half = kernel / 2;

    if (kind == GKV__POOL_NONE)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t from = i < half ? 0 : i - half, to = n - i <= half ? n : i + half + 1;
        float sum = 0, max = -INFINITY;

        for (size_t j = from; j < to; j++) {
            sum += score[j];
            max = score[j] > max ? score[j] : max;
        }
        spare[i] = kind == GKV__POOL_AVG ? sum / (float)kernel : max;
    }
    memcpy(score, spare, n * sizeof *score);
}
