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
/* What a method asks for: tokens of passages; 0: none. */
size_t     gkv__refine_size(const struct gkv__task *t);
/* What it or else the schedule asks for. */
size_t     gkv__refine_again(const struct gkv__task *t);
/* A whole first pass: the schedule (reading.h says what is spared), and the best passages again. */
gkv_status gkv__first_pass(struct gkv__exec *e, const struct gkv__first *f, double *spared, gkv_error *err);
/* The parts of the first function, for a method that scores the passages itself: at[size], ascending, are the tokens of
 * passages, with the first ones and the question; afterwards their scores are score[size]. */
gkv_status gkv__refine_choose(const struct gkv__first *f, size_t size, size_t first, uint32_t *at, gkv_error *err);
void       gkv__refine_merge(const struct gkv__first *f, size_t size, const uint32_t *at, const float *score);
/* The task for the chosen passages, taken as a text of their own. */
struct gkv__task gkv__refine_task(const struct gkv__task *t, size_t size);
/* Bytes that it allocates beyond the scores. */
uint64_t   gkv__refine_bytes(const struct gkv__task *t, size_t size, uint32_t chunk, unsigned n_threads);

#endif
