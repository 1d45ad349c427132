/* SPDX-License-Identifier: BSD-2-Clause
 * rope.h - the ways in which models stretch rotary embedding over more text than they were first
 * trained on: from the keys and tensors of the file to radians per position. */
#ifndef GKV__ROPE_H
#define GKV__ROPE_H

#include "src/model/model.h"

/* Fills m->rope_kind, rope_base, rope_context and rope[]; after gkv__arch_shape. */
gkv_status gkv__rope_open(struct gkv_model *m, gkv_error *err);
void       gkv__rope_close(struct gkv_model *m);

/* Another table, without any scaling, for layers that look near. */
gkv_status gkv__rope_local(struct gkv_model *m, float base, gkv_error *err);

const char *gkv__rope_name(enum gkv__rope_kind kind);

#endif
