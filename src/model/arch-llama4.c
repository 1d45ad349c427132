/* SPDX-License-Identifier: BSD-2-Clause
 * arch-llama4.c - Llama 4 (text).  Three of four layers attend inside chunks of 8192 tokens, with RoPE and,
 * except in the model of 128 experts, norms of queries and keys; the others attend to the whole text, without RoPE,
 * and their queries grow with the logarithm of their position.  All layers, or every second one, have a mixture
 * of experts with an expert for all rows. */
#include "config.h"
#include <stdlib.h>
#include "src/model/arch.h"
#include "src/model/rope.h"

enum { CHUNK = 8192, PERIOD = 4 };

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    uint32_t chunk = CHUNK;

    GKV__TRY(gkv__arch_u32(m, "interleave_moe_layer_step", &s->expert_period, true, err));
    GKV__TRY(gkv__arch_mixed_expert_keys(m, err));
    s->router = GKV__ROUTER_SIGMOID_IN;
    GKV__TRY(gkv__arch_u32(m, "attention.sliding_window", &chunk, false, err));
    if (!chunk)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: llama4 without chunks is not supported", gkv__gguf_path(m->file));
    s->temper = 0.1f;
    s->temper_span = CHUNK;
    s->temper_shift = 1;
    /* A norm without weights after RoPE is one with weights 1 before it, because a rotation keeps lengths. */
    m->ones = malloc(s->head_dim * sizeof *m->ones);
    if (!m->ones)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < s->head_dim; i++)
        m->ones[i] = 1;
    return gkv__rope_still(m, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    struct gkv__layer_weights *w = &m->layer[il];
    const bool far = !gkv__arch_is_local(il, PERIOD);

    w->no_rope = w->tempered = far;
    w->chunk = far ? 0 : CHUNK;
    if (!far && s->n_expert != 128)
        w->q_norm = w->k_norm = m->ones;
    GKV__TRY(gkv__arch_norms(m, il, err));
    if (!s->expert_period || (il + 1) % s->expert_period)
        return gkv__arch_matrices(m, il, err);
    GKV__TRY(gkv__arch_attention(m, il, err));
    GKV__TRY(gkv__arch_shared_expert(m, il, s->n_ff_expert, err));
    return gkv__arch_experts(m, il, err);
}

const struct gkv__arch gkv__arch_llama4 = {
    .name = "llama4",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = keys,
    .layer = layer,
};
