/* SPDX-License-Identifier: BSD-2-Clause
 * hadamard.c - see hadamard.h */
#include "config.h"
#include <math.h>
#include "src/base/thread.h"
#include "src/engine/hadamard.h"

enum { ROWS = 16 };             /* tokens of a piece of work                                 */

struct work { float *x; size_t n, width, size; };

bool gkv__uses_hadamard(const struct gkv__quant *type)
{
    return type->type == GKV__TYPE_Q4_0;
}

/* The order of the sums is the same on every machine. */
static void turn(float *x, size_t size)
{
    const float scale = 1.0f / sqrtf((float)size);

    for (size_t half = 1; half < size; half *= 2)
        for (size_t i = 0; i < size; i += 2 * half)
            for (size_t j = i; j < i + half; j++) {
                const float a = x[j], b = x[j + half];

                x[j] = a + b;
                x[j + half] = a - b;
            }
    for (size_t i = 0; i < size; i++)
        x[i] *= scale;
}

static void item(void *arg, size_t i, unsigned thread)
{
    const struct work *w = arg;
    const size_t end = (i + 1) * ROWS < w->n ? (i + 1) * ROWS : w->n;

    (void)thread;
    for (float *x = w->x + i * ROWS * w->width; x < w->x + end * w->width; x += w->size)
        turn(x, w->size);
}

/* Heads whose size is no power of two are turned in parts of the largest one that divides it. */
void gkv__hadamard(const struct gkv__exec *e, float *x, size_t n, size_t n_head)
{
    const size_t d = e->shape->head_dim;
    struct work w = { x, n, n_head * d, d & (0 - d) };

    gkv__for(e->n_threads, (n + ROWS - 1) / ROWS, item, &w);
}
