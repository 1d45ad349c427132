/* SPDX-License-Identifier: BSD-2-Clause
 * arch-llama.c - Llama 1 to 3, Mistral 7B and Nemo, and all that share their layer: RMSNorm,
 * RoPE on adjacent pairs, grouped-query attention, SwiGLU, no biases. */
#include "config.h"
#include <stdio.h>
#include "src/arch.h"

static gkv_status bind_layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t d = s->n_embd, q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct { const char *name; uint32_t n_out, n_in; struct gkv__mat *to; } mats[] = {
        { "attn_q", q, d, &w->q },              { "attn_k", kv, d, &w->k },
        { "attn_v", kv, d, &w->v },             { "attn_output", d, q, &w->o },
        { "ffn_gate", s->n_ff, d, &w->gate },   { "ffn_up", s->n_ff, d, &w->up },
        { "ffn_down", d, s->n_ff, &w->down },
    };
    char name[64];

    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) {
        snprintf(name, sizeof name, "blk.%u.%s.weight", il, mats[i].name);
        GKV__TRY(gkv__arch_mat(m, name, mats[i].n_out, mats[i].n_in, mats[i].to, err));
    }
    snprintf(name, sizeof name, "blk.%u.attn_norm.weight", il);
    GKV__TRY(gkv__arch_vec(m, name, d, &w->attn_norm, err));
    snprintf(name, sizeof name, "blk.%u.ffn_norm.weight", il);
    return gkv__arch_vec(m, name, d, &w->ffn_norm, err);
}

static gkv_status bind(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    uint32_t experts = 0;

    GKV__TRY(gkv__arch_u32(m, "expert_count", &experts, false, err));
    if (experts)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: mixture of experts is not supported",
                         gkv__gguf_path(m->file));
    GKV__TRY(gkv__arch_mat(m, "token_embd.weight", s->n_vocab, s->n_embd, &m->embed, err));
    GKV__TRY(gkv__arch_vec(m, "output_norm.weight", s->n_embd, &m->output_norm, err));
    m->output = m->embed;       /* tied, unless the file says otherwise */
    if (gkv__arch_has(m, "output.weight"))
        GKV__TRY(gkv__arch_mat(m, "output.weight", s->n_vocab, s->n_embd, &m->output, err));
    if (gkv__arch_has(m, "rope_freqs.weight"))
        GKV__TRY(gkv__arch_vec(m, "rope_freqs.weight", s->n_rot / 2, &m->rope_divisor, err));
    for (uint32_t il = 0; il < s->n_layer; il++)
        GKV__TRY(bind_layer(m, il, err));
    return GKV_OK;
}

const struct gkv__arch gkv__arch_llama = {
    .name = "llama",
    .pairs = GKV__ROPE_ADJACENT,
    .bind = bind,
};
