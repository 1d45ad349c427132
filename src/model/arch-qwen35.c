/* SPDX-License-Identifier: BSD-2-Clause
 * arch-qwen35.c - Qwen 3.5: three of four layers are gated DeltaNet, which has a state of fixed size; the
 * fourth is Qwen 3's attention with a gate.  RoPE rotates a part of each head; its sections are for
 * images, and for text all of them have the same position.
 *
 * qwen35moe has experts in place of the MLP, and one more for all rows.  qwen3next, which came before, is the same
 * but for the order of heads, and beta and alpha in one matrix. */
#include "config.h"
#include <stdio.h>
#include "src/model/arch.h"

enum { PERIOD = 4 };            /* where the file does not say it */

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    m->shape.gated = true;
    return gkv__arch_state_keys(m, err);
}

/* Which layers have a state: a list in the file, or all but every PERIOD-th; not the one behind the others. */
static gkv_status has_state(const struct gkv_model *m, uint32_t il, bool *out, gkv_error *err)
{
    const struct gkv__kv *list;
    uint32_t period = PERIOD;
    char key[64];

    snprintf(key, sizeof key, "%s.attention.recurrent_layers", m->arch->name);
    list = gkv__gguf_find(m->file, key);
    GKV__TRY(gkv__arch_u32(m, "full_attention_interval", &period, false, err));
    if (list && (!list->is_array || list->type != GKV__BOOL || list->n < m->shape.n_layer))
        return gkv__fail(err, GKV_FORMAT, "%s: attention.recurrent_layers is no list of %u layers",
                         gkv__gguf_path(m->file), m->shape.n_layer);
    if (!period)
        return gkv__fail(err, GKV_FORMAT, "%s: full_attention_interval is 0", gkv__gguf_path(m->file));
    *out = il < m->shape.n_layer && (list ? gkv__gguf_int_at(list, il) : gkv__arch_is_local(il, period));
    return GKV_OK;
}

static gkv_status state_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__state_shape *s = &m->shape.state;
    const uint32_t d = m->shape.n_embd, v = s->v_heads * s->v_dim, n = (uint32_t)gkv__state_channels(&m->shape);
    struct gkv__layer_weights *w = &m->layer[il];

    w->mixer = GKV__DELTA;
    GKV__TRY(gkv__arch_layer_mat(m, il, "attn_qkv", n, d, &w->qkv, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "attn_gate", v, d, &w->z, err));
    if (s->side_by_side) {
        GKV__TRY(gkv__arch_layer_mat(m, il, "ssm_ba", 2 * s->v_heads, d, &w->beta, err));
    } else {
        GKV__TRY(gkv__arch_layer_mat(m, il, "ssm_beta", s->v_heads, d, &w->beta, err));
        GKV__TRY(gkv__arch_layer_mat(m, il, "ssm_alpha", s->v_heads, d, &w->alpha, err));
    }
    GKV__TRY(gkv__arch_layer_mat(m, il, "ssm_out", d, v, &w->out, err));
    GKV__TRY(gkv__arch_layer_vecs(m, il, "ssm_conv1d.weight", n, s->width, &w->conv, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "ssm_dt.bias", s->v_heads, &w->dt, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "ssm_a", s->v_heads, &w->a, err));
    return gkv__arch_layer_vec(m, il, "ssm_norm.weight", s->v_dim, &w->state_norm, err);
}

static gkv_status attention_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_attention(m, il, err));
    return gkv__arch_qk_norms(m, il, err);
}

/* Norms and what mixes the tokens. */
static gkv_status upper(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];
    bool state = false;

    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_norm.weight", m->shape.n_embd, &w->attn_norm, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "post_attention_norm.weight", m->shape.n_embd, &w->ffn_norm, err));
    GKV__TRY(has_state(m, il, &state, err));
    return (state ? state_layer : attention_layer)(m, il, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(upper(m, il, err));
    return gkv__arch_mlp(m, il, err);
}

static gkv_status layer_moe(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(upper(m, il, err));
    GKV__TRY(gkv__arch_experts(m, il, err));
    GKV__TRY(gkv__arch_shared_expert(m, il, m->shape.n_ff_shared, err));
    return gkv__arch_layer_vec(m, il, "ffn_gate_inp_shexp.weight", m->shape.n_embd, &m->layer[il].shared_router, err);
}

static gkv_status keys_moe(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;

    GKV__TRY(keys(m, err));
    GKV__TRY(gkv__arch_expert_keys(m, err));
    if (!s->n_ff_shared)
        s->n_ff_shared = s->n_ff_expert;
    return GKV_OK;
}

static gkv_status keys_next(struct gkv_model *m, gkv_error *err)
{
    m->shape.state.side_by_side = true;
    return keys_moe(m, err);
}

const struct gkv__arch gkv__arch_qwen35 = {
    .name = "qwen35",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys,
    .layer = layer,
    .mtp = true,
};

const struct gkv__arch gkv__arch_qwen35moe = {
    .name = "qwen35moe",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys_moe,
    .layer = layer_moe,
    .mtp = true,
};

const struct gkv__arch gkv__arch_qwen3next = {
    .name = "qwen3next",
    .pairs = GKV__ROPE_HALVES,
    .keys = keys_next,
    .layer = layer_moe,
    .mtp = true,
};
