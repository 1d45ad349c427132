/* SPDX-License-Identifier: BSD-2-Clause
 * arch-qwen2.c - Qwen 2 and 2.5: Llama's layer with biases on queries, keys and values. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_matrices(m, il, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_q.bias", w->q.n_out, &w->q_bias, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_k.bias", w->k.n_out, &w->k_bias, err));
    return gkv__arch_layer_vec(m, il, "attn_v.bias", w->v.n_out, &w->v_bias, err);
}

const struct gkv__arch gkv__arch_qwen2 = {
    .name = "qwen2",
    .pairs = GKV__ROPE_HALVES,
    .layer = layer,
};
