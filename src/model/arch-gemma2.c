/* SPDX-License-Identifier: BSD-2-Clause
 * arch-gemma2.c - Gemma 2: scaled embeddings, GELU, norms also after attention and MLP, caps on
 * scores and logits, and a window in every second layer, from layer 0 on. */
#include "config.h"
#include <math.h>
#include "src/model/arch.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;

    s->glu = GKV__GLU_GELU;
    s->embed_scale = (float)sqrt((double)s->n_embd);
    if (s->n_layer == 46)               /* 27B divides scores by the root of n_embd / n_head */
        s->attn_scale = 1 / sqrt((double)(s->n_embd / s->n_head));
    s->attn_cap = 50;
    s->logit_cap = 30;
    GKV__TRY(gkv__arch_windows(m, 4096, 2, err));
    GKV__TRY(gkv__arch_positive(m, "attn_logit_softcapping", &s->attn_cap, err));
    return gkv__arch_positive(m, "final_logit_softcapping", &s->logit_cap, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    return gkv__arch_matrices(m, il, err);
}

const struct gkv__arch gkv__arch_gemma2 = {
    .name = "gemma2",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys,
    .layer = layer,
};
