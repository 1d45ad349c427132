/* SPDX-License-Identifier: BSD-2-Clause
 * arch-exaone4.c - EXAONE 4: norms after attention and MLP instead of before them, and of each head's query
 * and key.  Where a model has windows, the layers without one have no RoPE. */
#include "config.h"
#include "src/model/arch.h"
#include "src/model/rope.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    GKV__TRY(gkv__arch_windows(m, m->shape.n_layer == 64 ? 4096 : 0, 4, err));
    return gkv__rope_still(m, err);
}

static bool has_windows(const struct gkv_model *m)
{
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        if (m->layer[il].window)
            return true;
    return false;
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    w->no_rope = !w->window && has_windows(m);
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    GKV__TRY(gkv__arch_qk_norms(m, il, err));
    return gkv__arch_matrices(m, il, err);
}

const struct gkv__arch gkv__arch_exaone4 = {
    .name = "exaone4",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys,
    .layer = layer,
};
