/* SPDX-License-Identifier: BSD-2-Clause
 * pass.h - the two passes over tokens. */
#ifndef GKV__PASS_H
#define GKV__PASS_H

#include "src/exec.h"
#include "src/kv.h"

/* first.c - the `layer` schedule (ALGORITHMS S1): layer by layer over all n tokens, exact.
 * score[j] = sum over query heads h of  q_h(n - 1) . k_{h / group}(j)  at layer il: rotated,
 * raw, f32 (GemFilter, Algorithm 1).  Layers from il on but for its q and k projections are
 * never touched.  kv: type of the one layer's cache that is alive. */
gkv_status gkv__first_pass(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, size_t n,
                           uint32_t il, const struct gkv__quant *kv, float *score, gkv_error *err);

/* Bytes that it allocates for n tokens, score not included. */
uint64_t gkv__first_bytes(const gkv_model *m, const struct gkv__quant *kv, uint64_t n);
/* Bytes of weights that are resident at its peak. */
uint64_t gkv__first_weights(const gkv_model *m, uint32_t il);

/* second.c - n tokens through the whole model, e->chunk at a time, at positions pos .. of the
 * cache; x[n_embd] is the last token's row after the last layer. */
gkv_status gkv__forward(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, size_t n,
                        uint64_t pos, struct gkv__cache *c, float *x, gkv_error *err);

/* The same for n <= e->chunk tokens, whose rows all come back: x[n][n_embd]. */
gkv_status gkv__block(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, size_t n,
                      uint64_t pos, struct gkv__cache *c, float *x, gkv_error *err);

#endif
