/* SPDX-License-Identifier: BSD-2-Clause
 * passages.c - see passages.h */
#include "config.h"
#include <string.h>
#include "src/base/top.h"
#include "src/select/passages.h"

struct gkv__passages gkv__passages_of(const struct gkv__task *t, double size)
{
    const size_t n = (size_t)t->n - t->keep_last, s = (size_t)size;

    return (struct gkv__passages){ s, n, (n + s - 1) / s };
}

size_t gkv__passages_keep(const struct gkv__task *t, const struct gkv__passages *p, float *score, float *spare,
                          uint32_t *out)
{
    for (size_t i = (size_t)t->n; i-- > p->n_tokens; )
        score[i] = 0;
    for (size_t i = p->n_tokens; i--; )         /* from behind: the passages' own scores are in front */
        score[i] = score[i / p->size];
    memcpy(spare, score, (size_t)t->n * sizeof *spare);
    gkv__force(spare, (size_t)t->n, t->keep_first, t->keep_last);
    gkv__top(spare, (size_t)t->n, (size_t)t->k, out);
    return (size_t)t->k;
}
