/* SPDX-License-Identifier: BSD-2-Clause
 * refine.h - an approximate ranking made exact where it counts: the passages around its best tokens
 * are taken for a text of their own, which schedule `layer` reads and scores. */
#ifndef GKV__REFINE_H
#define GKV__REFINE_H

#include "src/first/schedule.h"

/* f->score[t->n] ranks all tokens; afterwards the best passages, `size` tokens with the question and
 * the first ones, have the scores that they have among themselves, and all others lie below, in
 * the order that they had.  size == t->n: all of the text is read, and no scores are needed before. */
gkv_status gkv__refine(struct gkv__exec *e, const struct gkv__first *f, size_t size, gkv_error *err);
/* What it allocates beyond the scores. */
uint64_t   gkv__refine_bytes(const struct gkv__task *t, size_t size, uint32_t chunk, unsigned n_threads);

#endif
