/* SPDX-License-Identifier: BSD-2-Clause
 * kv.h - the KV cache: rotated keys, and values, of tokens in some layers, in one tensor type,
 * contiguous per layer and KV head:  [KV head][slot][head_dim].
 *
 * Slots are not positions: a layer may hold only some tokens of the prompt, and other ones for
 * each KV head.  Keys keep the rotation of their own positions, and new tokens are written
 * behind the slots in use.
 *
 * Where only attention reads a cache, values may lie as its kernels take them (gkv__attend_store):
 * [KV head][slot / run][head_dim][run], in a type with a run.  Such slots are read in runs, and cannot be taken, copied
 * or moved to another cache.
 *
 * A layer may have a state of fixed size instead (state.h), which is what it remembers of all tokens
 * before.  It cannot be cut back to fewer tokens, so whoever wants that saves it in time. */
#ifndef GKV__KV_H
#define GKV__KV_H

#include "src/model/model.h"
#include "src/quant/quant.h"
#include "src/base/status.h"

struct gkv__cache {
    const struct gkv__quant *type;
    uint32_t n_layer, n_head_kv, head_dim;
    struct gkv__cache_layer {
        uint64_t n_max;             /* slots of each head, a multiple of the run             */
        uint64_t bytes;             /* of its memory                                         */
        uint32_t n_head_kv, head_dim;   /* 0: as in most layers, the cache's                 */
        uint64_t shift;             /* the token at position p is in slot p - shift          */
        uint8_t *k, *v;             /* NULL: it has a state, or those of another layer       */
        float   *state;             /* NULL: it has none                                     */
        uint64_t n_state;           /* floats of it                                          */
    } *layer;
    uint32_t repeat;                /* how often each KV head of the model is there, side by side; more
                                       than 1 where query heads of a group keep different tokens */
};

/* Those of layer il. */
static inline uint32_t gkv__cache_heads(const struct gkv__cache *c, uint32_t il)
{
    return c->layer[il].n_head_kv ? c->layer[il].n_head_kv : c->n_head_kv;
}
static inline uint32_t gkv__cache_dim(const struct gkv__cache *c, uint32_t il)
{
    return c->layer[il].head_dim ? c->layer[il].head_dim : c->head_dim;
}

uint64_t   gkv__cache_bytes(const struct gkv__quant *type, uint32_t n_layer, uint32_t n_head_kv,
                            uint32_t head_dim, uint64_t n_max);
uint64_t   gkv__cache_size(const struct gkv__cache *c);         /* bytes of all layers       */
/* n_max = 0: gkv__cache_room allocates each layer later. */
gkv_status gkv__cache_open(struct gkv__cache *c, const struct gkv__quant *type, uint32_t n_layer,
                           uint32_t n_head_kv, uint32_t head_dim, uint64_t n_max, gkv_error *err);
gkv_status gkv__cache_room(struct gkv__cache *c, uint32_t il, uint64_t n_max, gkv_error *err);
/* Gives layer il a state of n floats, all zero. */
gkv_status gkv__cache_state(struct gkv__cache *c, uint32_t il, uint64_t n, gkv_error *err);
/* A cache for the first n_layer layers of a model: each has n_max slots (0: none yet), a state, or
 * nothing, where it uses those of another layer; and the bytes of all. */
gkv_status gkv__cache_open_for(struct gkv__cache *c, const gkv_model *m, const struct gkv__quant *type,
                               uint32_t n_layer, uint64_t n_max, gkv_error *err);
uint64_t   gkv__cache_bytes_for(const gkv_model *m, const struct gkv__quant *type, uint32_t n_layer, uint64_t n_max);
/* The largest layer's bytes among the first n_layer; and layer ic of such a cache is laid out anew, empty, for layer il
 * of the model. */
uint64_t   gkv__cache_largest(const gkv_model *m, const struct gkv__quant *type, uint32_t n_layer, uint64_t n_max);
gkv_status gkv__cache_open_one(struct gkv__cache *c, const gkv_model *m, const struct gkv__quant *type,
                               uint32_t n_layer, uint64_t n_max, gkv_error *err);
void       gkv__cache_lay_out(struct gkv__cache *c, uint32_t ic, const gkv_model *m, uint32_t il);
/* Bytes of n slots in each layer that has slots, and of all states. */
uint64_t   gkv__cache_used(const struct gkv__cache *c, uint64_t n);
/* Floats of the states of the first n_layer layers of a model; copies all of the cache's out, and back. */
uint64_t   gkv__states_floats(const gkv_model *m, uint32_t n_layer);
void       gkv__states_save(const struct gkv__cache *c, float *to);
void       gkv__states_restore(struct gkv__cache *c, const float *from);
void       gkv__cache_drop(struct gkv__cache *c, uint32_t il);
void       gkv__cache_close(struct gkv__cache *c);

/* bfloat16 with values in runs; NULL: no such type. */
const struct gkv__quant *gkv__kv_in_runs(uint32_t run);

/* Address of a slot of (layer, head); consecutive slots follow.  Of values in runs: the first slot of a run. */
uint8_t *gkv__cache_k(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot);
uint8_t *gkv__cache_v(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t slot);

/* Store k, v [n][heads / repeat * head_dim] in slots slot .. slot + n - 1. */
void gkv__cache_put(struct gkv__cache *c, uint32_t il, uint64_t slot, const float *k,
                    const float *v, size_t n, unsigned n_threads);
/* Copies slots slot .. slot + n - 1 of layer il, whatever its type, to a packet of 2 * heads * n rows, or back. */
void gkv__cache_pack(const struct gkv__cache *c, uint32_t il, uint64_t slot, size_t n, void *packet);
void gkv__cache_unpack(struct gkv__cache *c, uint32_t il, uint64_t slot, size_t n, const void *packet);
/* Copy slots at[n] of layer sl of src, which has the same type, to slots 0 .. of (layer dl, head ih); at
 * NULL: the first n.  If dst repeats heads, src has the heads of the model or those of dst. */
void gkv__cache_take(struct gkv__cache *dst, uint32_t dl, const struct gkv__cache *src, uint32_t sl,
                     uint32_t ih, const uint32_t *at, size_t n);
/* Copies the first n slots of all heads of layer il; both have the same type and heads. */
void gkv__cache_copy(struct gkv__cache *dst, const struct gkv__cache *src, uint32_t il, size_t n);
/* Move slots from .. from + n - 1 of (layer, head) to slots to .. */
void gkv__cache_move(struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t to, uint64_t from, uint64_t n);

#endif
