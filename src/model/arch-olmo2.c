/* SPDX-License-Identifier: BSD-2-Clause
 * arch-olmo2.c - OLMo 2 and 3: norms after attention and MLP instead of before them, and norms of
 * queries and keys over all heads together.  OLMo 3 has a window in three of four layers, whose RoPE is not
 * scaled. */
#include "config.h"
#include "src/model/arch.h"
#include "src/model/rope.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    float base = m->rope_base;

    GKV__TRY(gkv__arch_windows(m, 0, 4, err));
    GKV__TRY(gkv__arch_positive(m, "rope.freq_base_swa", &base, err));
    return gkv__rope_local(m, base, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    w->local_rope = w->window > 0;
    w->norm_rows = true;
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    GKV__TRY(gkv__arch_matrices(m, il, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_q_norm.weight", w->q.n_out, &w->q_norm, err));
    return gkv__arch_layer_vec(m, il, "attn_k_norm.weight", w->k.n_out, &w->k_norm, err);
}

const struct gkv__arch gkv__arch_olmo2 = {
    .name = "olmo2",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys,
    .layer = layer,
};
