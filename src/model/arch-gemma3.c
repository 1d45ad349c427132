/* SPDX-License-Identifier: BSD-2-Clause
 * arch-gemma3.c - Gemma 3 (text): Gemma 2 with norms of queries and keys instead of caps; five of
 * every six layers have a window, and RoPE tables of their own. */
#include "config.h"
#include <math.h>
#include "src/model/arch.h"
#include "src/model/rope.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    float base = 10000;

    s->glu = GKV__GLU_GELU;
    s->embed_scale = (float)sqrt((double)s->n_embd);
    if (s->n_layer == 62)               /* 27B divides scores by the root of n_embd / n_head */
        s->attn_scale = 1 / sqrt((double)(s->n_embd / s->n_head));
    GKV__TRY(gkv__arch_windows(m, 0, 6, err));
    GKV__TRY(gkv__arch_positive(m, "final_logit_softcapping", &s->logit_cap, err));
    GKV__TRY(gkv__arch_positive(m, "rope.freq_base_swa", &base, err));
    return gkv__rope_local(m, base, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    GKV__TRY(gkv__arch_qk_norms(m, il, err));
    w->local_rope = w->window > 0;
    return gkv__arch_matrices(m, il, err);
}

const struct gkv__arch gkv__arch_gemma3 = {
    .name = "gemma3",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys,
    .layer = layer,
};
