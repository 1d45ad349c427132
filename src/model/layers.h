/* SPDX-License-Identifier: BSD-2-Clause
 * layers.h - the layers that selection looks at, which differ from model to model: what the
 * file says, what the papers measured, or their rule of thumb. */
#ifndef GKV__LAYERS_H
#define GKV__LAYERS_H

#include "src/model/model.h"

/* m->filter_layer and m->tsp_layer with their sources; the architecture and its shape are known. */
gkv_status gkv__layer_table(struct gkv_model *m, gkv_error *err);

#endif
