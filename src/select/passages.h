/* SPDX-License-Identifier: BSD-2-Clause
 * passages.h - what methods that rank passages of equal length share: the last one may be shorter, and tokens that are
 * forced at the end, the question, are in none. */
#ifndef GKV__PASSAGES_H
#define GKV__PASSAGES_H

#include "src/first/task.h"

struct gkv__passages {
    size_t size, n_tokens, n;           /* tokens of a passage and in all of them; passages  */
};

struct gkv__passages gkv__passages_of(const struct gkv__task *t, double size);

static inline size_t gkv__passage_end(const struct gkv__passages *p, size_t i)
{
    return (i + 1) * p->size < p->n_tokens ? (i + 1) * p->size : p->n_tokens;
}

/* score[0 .. p->n) are those of passages; afterwards every token has its passage's, score[t->n], and out[t->k] are the
 * tokens kept: of the best passages, then those at the beginning of the next one.  spare[t->n].  Returns t->k. */
size_t gkv__passages_keep(const struct gkv__task *t, const struct gkv__passages *p, float *score, float *spare,
                          uint32_t *out);

#endif
