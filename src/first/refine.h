/* SPDX-License-Identifier: BSD-2-Clause
 * refine.h - makes an approximate ranking exact where it counts: schedule `layer` prefills and scores
 * the passages around the best tokens, as a text of their own. */
#ifndef GKV__REFINE_H
#define GKV__REFINE_H

#include "src/first/schedule.h"

/* f->score[t->n] ranks all tokens.  Afterwards the best passages (`size` tokens, with the question and
 * the first ones) have their exact scores, and other tokens rank below them in the same order as
 * before.  size == t->n: the whole text is scored exactly, and f->score is not read. */
gkv_status gkv__refine(struct gkv__exec *e, const struct gkv__first *f, size_t size, gkv_error *err);
/* Bytes that it allocates beyond the scores. */
uint64_t   gkv__refine_bytes(const struct gkv__task *t, size_t size, uint32_t chunk, unsigned n_threads);

#endif
