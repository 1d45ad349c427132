/* SPDX-License-Identifier: BSD-2-Clause
 * rope.h - RoPE scaling: how models extend rotary embedding to more text than they were first
 * trained on.  Computes radians per position from keys and tensors of the file. */
#ifndef GKV__ROPE_H
#define GKV__ROPE_H

#include "src/model/model.h"

/* Fills m->rope_kind, rope_base, rope_context and rope[]; after gkv__arch_shape. */
gkv_status gkv__rope_open(struct gkv_model *m, gkv_error *err);
void       gkv__rope_close(struct gkv_model *m);

/* One more table, without scaling, for layers with a window. */
gkv_status gkv__rope_local(struct gkv_model *m, float base, gkv_error *err);

/* The table of layers without RoPE. */
gkv_status gkv__rope_still(struct gkv_model *m, gkv_error *err);

const char *gkv__rope_name(enum gkv__rope_kind kind);

#endif
