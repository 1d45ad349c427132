/* SPDX-License-Identifier: BSD-2-Clause
 * arch.h - architectures: one file and one row each.  An architecture says which keys and
 * tensors of the file belong to which part of the common layer (layer.c); it computes nothing. */
#ifndef GKV__ARCH_H
#define GKV__ARCH_H

#include "src/model/model.h"

struct gkv__arch {
    const char          *name;          /* general.architecture, and prefix of its keys      */
    enum gkv__rope_pairs pairs;
    bool                 yarn_between;  /* yarn's ramp may begin and end between two pairs   */
    bool                 uneven;        /* layers differ in the number and size of their heads, which keys()
                                           reads, and in n_ff */
    bool                 proportional;  /* rope_freqs says which pairs rotate                */
    bool                 mtp;           /* layer() binds that behind the others, too, which predicts a further token */
    const char          *output_norm;   /* tensor of the last norm; NULL: output_norm.weight */
    /* Reads keys that only this architecture has into m->shape and m->rope; NULL: there are none. */
    gkv_status (*keys)(struct gkv_model *m, gkv_error *err);
    /* Binds the tensors of layer il, by name and shape, and fills in the rest of m->layer[il]. */
    gkv_status (*layer)(struct gkv_model *m, uint32_t il, gkv_error *err);
};

const struct gkv__arch *gkv__arch_named(const char *name, size_t len);
const char             *gkv__arch_at(size_t i);         /* names; NULL after the last        */

/* gkv__arch_shape reads the common decoder keys (block_count ... rope.*) into m->shape and checks their
 * ranges; gkv__arch_bind then binds every tensor.  GKV_UNSUPPORTED if a tensor of the file was left
 * unused: a model with an extra bias would otherwise give fluent but wrong answers. */
gkv_status gkv__arch_shape(struct gkv_model *m, gkv_error *err);
gkv_status gkv__arch_bind(struct gkv_model *m, gkv_error *err);

/* ---- for the bind functions: keys are given without the "name." prefix ------------------ */
gkv_status gkv__arch_u32(const struct gkv_model *m, const char *key, uint32_t *out, bool required,
                         gkv_error *err);
/* An optional key that may have a number for each layer: that of layer il. */
gkv_status gkv__arch_u32_of(const struct gkv_model *m, const char *key, uint32_t il, uint32_t *out, gkv_error *err);
/* GKV_FORMAT unless the heads share n_head_kv KV heads evenly. */
gkv_status gkv__arch_shares(const struct gkv_model *m, uint32_t n_head_kv, gkv_error *err);
gkv_status gkv__arch_f32(const struct gkv_model *m, const char *key, float *out, bool required,
                         gkv_error *err);
/* An optional key, whose value must be more than 0. */
gkv_status gkv__arch_positive(const struct gkv_model *m, const char *key, float *out,
                              gkv_error *err);
gkv_status gkv__arch_bool(const struct gkv_model *m, const char *key, bool *out, gkv_error *err);
gkv_status gkv__arch_str(const struct gkv_model *m, const char *key, struct gkv__str *out,
                         gkv_error *err);

/* The window of each layer, which the keys attention.sliding_window and ..._pattern give: a flag for each
 * layer, or a period.  window, period: what they are without keys; 0: no window, all layers. */
gkv_status gkv__arch_windows(struct gkv_model *m, uint32_t window, uint32_t period, gkv_error *err);

/* Whether layer il has KV heads, where a layer without them has a state; and whether all layers have. */
gkv_status gkv__arch_has_heads(const struct gkv_model *m, uint32_t il, bool *out, gkv_error *err);
gkv_status gkv__arch_all_have_heads(const struct gkv_model *m, bool *out, gkv_error *err);
/* The keys ssm.* of layers with a state: m->shape.state. */
gkv_status gkv__arch_state_keys(struct gkv_model *m, gkv_error *err);

/* Bind the norms before attention and MLP; those after them; those of queries and keys. */
gkv_status gkv__arch_norms(struct gkv_model *m, uint32_t il, gkv_error *err);
gkv_status gkv__arch_post_norms(struct gkv_model *m, uint32_t il, gkv_error *err);
gkv_status gkv__arch_qk_norms(struct gkv_model *m, uint32_t il, gkv_error *err);
/* Bind the biases of queries, keys and values if the file has them. */
gkv_status gkv__arch_qkv_biases(struct gkv_model *m, uint32_t il, gkv_error *err);
/* Bind the matrices as most files have them: the four of attention; the three of the MLP; all. */
gkv_status gkv__arch_attention(struct gkv_model *m, uint32_t il, gkv_error *err);
gkv_status gkv__arch_mlp(struct gkv_model *m, uint32_t il, gkv_error *err);
gkv_status gkv__arch_matrices(struct gkv_model *m, uint32_t il, gkv_error *err);
/* A mixture of experts in place of the MLP: its keys, and its tensors. */
gkv_status gkv__arch_expert_keys(struct gkv_model *m, gkv_error *err);
gkv_status gkv__arch_experts(struct gkv_model *m, uint32_t il, gkv_error *err);
/* The keys where other layers have an MLP, of feed_forward_length. */
gkv_status gkv__arch_mixed_expert_keys(struct gkv_model *m, gkv_error *err);
/* An expert for all rows, of n_ff. */
gkv_status gkv__arch_shared_expert(struct gkv_model *m, uint32_t il, uint32_t n_ff, gkv_error *err);
/* Of every `period` layers all but the last have a window; 0: all layers have one. */
static inline bool gkv__arch_is_local(uint32_t il, uint32_t period)
{
    return !period || il % period + 1 < period;
}
/* Tensor blk.IL.NAME as n f32 values. */
gkv_status gkv__arch_layer_vec(struct gkv_model *m, uint32_t il, const char *name, uint32_t n,
                               const float **out, gkv_error *err);

/* The same with a vector for each of `rows`, one after the other. */
gkv_status gkv__arch_layer_vecs(struct gkv_model *m, uint32_t il, const char *name, uint32_t rows,
                                uint32_t n, const float **out, gkv_error *err);

/* Tensor name as a matrix [n_out, n_in] of any type that gemkv computes with, or as n f32 values.
 * GKV_FORMAT when it is missing or has another shape. */
gkv_status gkv__arch_mat(struct gkv_model *m, const char *name, uint32_t n_out,
                         uint32_t n_in, struct gkv__mat *out, gkv_error *err);
gkv_status gkv__arch_vec(struct gkv_model *m, const char *name, uint32_t n,
                         const float **out, gkv_error *err);
/* As arch_mat for blk.IL.NAME.weight. */
gkv_status gkv__arch_layer_mat(struct gkv_model *m, uint32_t il, const char *name, uint32_t n_out,
                               uint32_t n_in, struct gkv__mat *out, gkv_error *err);
bool       gkv__arch_has(const struct gkv_model *m, const char *name);
bool       gkv__arch_layer_has(const struct gkv_model *m, uint32_t il, const char *name);

#endif
