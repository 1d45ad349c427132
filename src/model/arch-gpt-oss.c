/* SPDX-License-Identifier: BSD-2-Clause
 * arch-gpt-oss.c - gpt-oss: biases everywhere, a sink in each head's softmax, a window in every second layer,
 * from layer 0 on, and a mixture of experts with an activation of its own.  The norm before the MLP has the
 * name of one after attention. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    m->shape.glu = GKV__GLU_CLAMPED;
    GKV__TRY(gkv__arch_windows(m, 128, 2, err));
    return gkv__arch_expert_keys(m, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct { const char *name; uint32_t rows, n; const float **to; } vecs[] = {
        { "attn_norm.weight", 1, s->n_embd, &w->attn_norm },
        { "post_attention_norm.weight", 1, s->n_embd, &w->ffn_norm },
        { "attn_q.bias", 1, q, &w->q_bias },
        { "attn_k.bias", 1, kv, &w->k_bias },
        { "attn_v.bias", 1, kv, &w->v_bias },
        { "attn_output.bias", 1, s->n_embd, &w->o_bias },
        { "attn_sinks.weight", 1, s->n_head, &w->sinks },
        { "ffn_gate_inp.bias", 1, s->n_expert, &w->router_bias },
        { "ffn_gate_exps.bias", s->n_expert, s->n_ff_expert, &w->gate_bias },
        { "ffn_up_exps.bias", s->n_expert, s->n_ff_expert, &w->up_bias },
        { "ffn_down_exps.bias", s->n_expert, s->n_embd, &w->down_bias },
    };

    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        GKV__TRY(gkv__arch_layer_vecs(m, il, vecs[i].name, vecs[i].rows, vecs[i].n, vecs[i].to, err));
    GKV__TRY(gkv__arch_attention(m, il, err));
    return gkv__arch_experts(m, il, err);
}

const struct gkv__arch gkv__arch_gpt_oss = {
    .name = "gpt-oss",
    .pairs = GKV__ROPE_HALVES,
    .yarn_between = true,
    .keys = keys,
    .layer = layer,
};
