/* SPDX-License-Identifier: BSD-2-Clause
 * arch-granite.c - Granite 3 and 4 without a recurrent state: Llama's layer with factors of embeddings,
 * scores, of what is added to the residual stream, and of logits; granitemoe with a mixture of experts, and in
 * some files an expert for all rows. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status scales(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    float score = 0, logit = 0;

    GKV__TRY(gkv__arch_positive(m, "embedding_scale", &s->embed_scale, err));
    GKV__TRY(gkv__arch_positive(m, "residual_scale", &s->residual_scale, err));
    GKV__TRY(gkv__arch_positive(m, "attention.scale", &score, err));
    GKV__TRY(gkv__arch_positive(m, "logit_scale", &logit, err));
    s->attn_scale = (double)score;
    s->logit_scale = logit > 0 ? 1 / logit : 0;
    return GKV_OK;
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    return gkv__arch_matrices(m, il, err);
}

static gkv_status expert_keys(struct gkv_model *m, gkv_error *err)
{
    GKV__TRY(scales(m, err));
    return gkv__arch_expert_keys(m, err);
}

static gkv_status expert_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_attention(m, il, err));
    if (m->shape.n_ff_shared)
        GKV__TRY(gkv__arch_shared_expert(m, il, m->shape.n_ff_shared, err));
    return gkv__arch_experts(m, il, err);
}

const struct gkv__arch gkv__arch_granite = {
    .name = "granite",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = scales,
    .layer = layer,
};

const struct gkv__arch gkv__arch_granitemoe = {
    .name = "granitemoe",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = expert_keys,
    .layer = expert_layer,
};
