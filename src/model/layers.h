/* SPDX-License-Identifier: BSD-2-Clause
 * layers.h - the layer table: which layers of a model selection uses, from the file's keys, the
 * papers' measurements, or a rule of thumb. */
#ifndef GKV__LAYERS_H
#define GKV__LAYERS_H

#include "src/model/model.h"

/* Sets m->filter_layer and m->tsp_layer and their sources; m->arch and m->shape are set already. */
gkv_status gkv__layer_table(struct gkv_model *m, gkv_error *err);

#endif
