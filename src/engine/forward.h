/* SPDX-License-Identifier: BSD-2-Clause
 * forward.h - tokens through the whole model. */
#ifndef GKV__FORWARD_H
#define GKV__FORWARD_H

#include "src/engine/pass.h"

/* n tokens through the whole model, e->chunk at a time, at positions pos .. of the
 * cache; x[n_embd] becomes the hidden state of the last token after the last layer. */
gkv_status gkv__forward(const struct gkv__pass *p, const uint32_t *id, size_t n, uint64_t pos, float *x,
                        gkv_error *err);

/* The same for n <= e->chunk tokens; returns all their rows, x[n][n_embd]. */
gkv_status gkv__block(const struct gkv__pass *p, const uint32_t *id, size_t n, uint64_t pos, float *x,
                      gkv_error *err);

#endif
