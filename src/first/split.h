/* SPDX-License-Identifier: BSD-2-Clause
 * split.h - the schedule `layer` over the processes of a group: exact, and the same scores as in one process, to the bit. */
#ifndef GKV__SPLIT_H
#define GKV__SPLIT_H

#include "src/first/group.h"

/* As the functions of struct gkv__schedule, for tasks that gkv__grouped. */
gkv_status gkv__split(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err);
uint64_t   gkv__split_bytes(const struct gkv__task *t, uint32_t chunk);

#endif
