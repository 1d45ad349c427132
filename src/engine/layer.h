/* SPDX-License-Identifier: BSD-2-Clause
 * layer.h - one transformer layer over a block of rows. */
#ifndef GKV__LAYER_H
#define GKV__LAYER_H

#include "src/engine/pass.h"

/* x[n][n_embd] = embeddings of the tokens id[n]. */
void gkv__embed(struct gkv__exec *e, const gkv_model *m, const uint32_t *id, float *x, size_t n);

/* A layer with a state begins anew at slot 0, and goes on behind that from where it was.
 *
 * x[n][n_embd], the residual stream of the tokens id[n] at positions pos .. pos + n - 1, goes through layer il in
 * place (id: NULL if the model has no embeddings for each layer); keys and values of these rows are stored in layer
 * ic of the cache, behind those of earlier positions.  n <= e->chunk.  Leaves the rows' rotated queries in e->q. */
void gkv__layer(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t pos,
                uint32_t ic);
/* The same for tokens at positions at[n], ascending, into slots slot .. of the cache. */
void gkv__layer_at(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t slot,
                   const uint32_t *at, uint32_t ic);

/* gkv__layer in two steps, for tokens whose block meets keys that come from elsewhere: keys and values of these rows
 * into the cache; and then, with those of all earlier positions there, the rest. */
void gkv__layer_kv(const struct gkv__pass *p, uint32_t il, const float *x, size_t n, uint64_t pos, uint32_t ic);
void gkv__layer_rest(const struct gkv__pass *p, uint32_t il, const uint32_t *id, float *x, size_t n, uint64_t pos,
                     uint32_t ic);

/* Rotated queries and keys of layer il, without its attention: keys into e->k, queries into e->q (only
 * rows from first_q on, each at its own place). */
void gkv__layer_qk(const struct gkv__pass *p, uint32_t il, const float *x, size_t n, uint64_t pos,
                   size_t first_q);

/* Keys of layer il before RoPE, into e->k. */
void gkv__layer_keys(const struct gkv__pass *p, uint32_t il, const float *x, size_t n);

/* Cosines and sines of positions pos .. pos + n - 1 in layer il into e->turn[n][n_rot], and the factors of
 * queries there into e->heat; n <= e->chunk. */
void gkv__turn(const struct gkv__pass *p, uint32_t il, size_t n, uint64_t pos);
/* Rotates one head p[head_dim] by one row of e->turn; back: in the other direction. */
void gkv__rotate(const struct gkv__shape *s, float *p, const float *turn, bool back);
/* Rotates k[n][n_head_kv * head_dim] of layer il to positions pos ...; n <= e->chunk. */
void gkv__rope_keys(const struct gkv__pass *p, uint32_t il, float *k, size_t n, uint64_t pos);

/* In all layers of the cache, rotates the keys in slots slot .. slot + n - 1 from positions from .. to
 * positions to .. */
void gkv__move_keys(const struct gkv__pass *p, uint64_t slot, size_t n, uint64_t from, uint64_t to);

/* gate[n][n_ff] = act(gate) * up, the activation of the model's MLP; up may be overwritten. */
void gkv__glu(struct gkv__exec *e, const gkv_model *m, float *gate, float *up, size_t n, size_t n_ff);

/* Factor of what is added to the residual stream. */
static inline float gkv__residual_scale(const struct gkv__shape *s)
{
    return s->residual_scale > 0 ? s->residual_scale : 1;
}

/* logits[n][n_vocab] of n <= e->chunk rows x[n][n_embd] that have gone through all layers. */
void gkv__logits(struct gkv__exec *e, const gkv_model *m, const float *x, size_t n,
                 float *logits);

/* The same by another norm, w[n_embd], and another head. */
void gkv__logits_by(struct gkv__exec *e, const gkv_model *m, const float *w, const struct gkv__mat *head, const float *x,
                    size_t n, float *logits);

/* log softmax(logits[n])[id] */
float gkv__log_probability(const float *logits, size_t n, uint32_t id);

#endif
