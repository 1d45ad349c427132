/* SPDX-License-Identifier: BSD-2-Clause
 * reading.h - scores of first passes that other questions may have, too: those about the same prompt with another
 * budget, another layer or another way to pick.  A pass to a deep layer comes by the earlier ones, and scores them on
 * its way. */
#ifndef GKV__READING_H
#define GKV__READING_H

#include "src/first/schedule.h"

/* f->score, by f->t->schedule or as f->t->reading has it.  *spared: how many seconds longer it would have taken alone;
 * less than 0 when it read on for other questions. */
gkv_status gkv__read(struct gkv__exec *e, const struct gkv__first *f, double *spared, gkv_error *err);
/* The layer to which a pass goes for r, if there is memory for it. */
uint32_t   gkv__reading_deepest(const struct gkv__task *t, const gkv_reading *r);
/* Bytes that t->reading may take, besides. */
uint64_t   gkv__reading_bytes(const struct gkv__task *t);

#endif
