/* SPDX-License-Identifier: BSD-2-Clause
 * arch-granite.c - Granite 3 and 4: Llama's layer with factors of embeddings, scores, of what is added to
 * the residual stream, and of logits; granitemoe with a mixture of experts, and in some files an expert for all
 * rows.  In granitehybrid, which has either kind of MLP, most layers are Mamba-2 instead of attention, and the
 * others have no RoPE unless the file says so. */
#include "config.h"
#include "src/model/arch.h"
#include "src/model/rope.h"

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

static gkv_status experts(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    if (m->shape.n_ff_shared)
        GKV__TRY(gkv__arch_shared_expert(m, il, m->shape.n_ff_shared, err));
    return gkv__arch_experts(m, il, err);
}

static gkv_status expert_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_attention(m, il, err));
    return experts(m, il, err);
}

/* Files without experts still give the MLP's size as that of an expert for all rows. */
static gkv_status hybrid_keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    uint32_t experts = 0;
    bool rotates = true, all = false;

    GKV__TRY(scales(m, err));
    GKV__TRY(gkv__arch_u32(m, "expert_count", &experts, false, err));
    if (experts)
        GKV__TRY(gkv__arch_expert_keys(m, err));
    else
        GKV__TRY(gkv__arch_u32(m, "expert_shared_feed_forward_length", &s->n_ff, false, err));
    if (!s->n_ff || s->n_ff > 1 << 22)
        return gkv__fail(err, GKV_FORMAT, "%s: expert_shared_feed_forward_length is %u", gkv__gguf_path(m->file), s->n_ff);
    GKV__TRY(gkv__arch_all_have_heads(m, &all, err));
    if (!all)
        GKV__TRY(gkv__arch_state_keys(m, err));
    s->state.side_by_side = true;
    GKV__TRY(gkv__arch_bool(m, "rope.scaling.finetuned", &rotates, err));
    for (uint32_t il = 0; il < s->n_layer; il++)
        m->layer[il].no_rope = !rotates;
    return rotates ? GKV_OK : gkv__rope_still(m, err);
}

/* One matrix has the rows of the gates, of what is convolved, and of the steps. */
static gkv_status mamba(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__state_shape *s = &m->shape.state;
    const uint32_t inner = s->v_heads * s->v_dim, n = (uint32_t)gkv__state_channels(&m->shape);
    struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__mat in;
    const struct { const char *name; uint32_t rows, n; const float **to; } vecs[] = {
        { "ssm_conv1d.weight", n, s->width, &w->conv },
        { "ssm_dt.bias", 1, s->v_heads, &w->dt },
        { "ssm_a", s->v_heads, 1, &w->a },
        { "ssm_d", s->v_heads, 1, &w->skip },
        { "ssm_norm.weight", s->k_heads, inner / s->k_heads, &w->state_norm },
    };

    w->mixer = GKV__MAMBA2;
    GKV__TRY(gkv__arch_layer_mat(m, il, "ssm_in", inner + n + s->v_heads, m->shape.n_embd, &in, err));
    w->z = gkv__mat_rows(&in, 0, inner);
    w->qkv = gkv__mat_rows(&in, inner, n);
    w->alpha = gkv__mat_rows(&in, inner + n, s->v_heads);
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        GKV__TRY(gkv__arch_layer_vecs(m, il, vecs[i].name, vecs[i].rows, vecs[i].n, vecs[i].to, err));
    if (gkv__arch_layer_has(m, il, "ssm_conv1d.bias"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "ssm_conv1d.bias", n, &w->conv_bias, err));
    return gkv__arch_layer_mat(m, il, "ssm_out", m->shape.n_embd, inner, &w->out, err);
}

static gkv_status hybrid_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    bool attends = true;

    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_has_heads(m, il, &attends, err));
    GKV__TRY((attends ? gkv__arch_attention : mamba)(m, il, err));
    if (attends)
        GKV__TRY(gkv__arch_qkv_biases(m, il, err));
    if (attends && gkv__arch_layer_has(m, il, "attn_output.bias"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "attn_output.bias", m->shape.n_embd, &m->layer[il].o_bias, err));
    return (m->shape.n_expert ? experts : gkv__arch_mlp)(m, il, err);
}

const struct gkv__arch gkv__arch_granite = {
    .name = "granite",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = scales,
    .layer = layer,
};

const struct gkv__arch gkv__arch_granitehybrid = {
    .name = "granitehybrid",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = hybrid_keys,
    .layer = hybrid_layer,
};

const struct gkv__arch gkv__arch_granitemoe = {
    .name = "granitemoe",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = expert_keys,
    .layer = expert_layer,
};
