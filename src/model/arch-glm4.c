/* SPDX-License-Identifier: BSD-2-Clause
 * arch-glm4.c - GLM 4 (0414): Llama's layer with norms also after attention and MLP, gate and up in one
 * matrix, and RoPE on a part of each head.  Files of its models for pictures have their pairs in halves, which
 * the key rope.dimension_sections shows; for text they are the same model. */
#include "config.h"
#include <stdio.h>
#include "src/model/arch.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    (void)err;
    if (gkv__gguf_find(m->file, "glm4.rope.dimension_sections"))
        m->shape.pairs = GKV__ROPE_HALVES;
    return GKV_OK;
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__mat both;
    char up[64], down[64];

    snprintf(up, sizeof up, "blk.%u.ffn_up.weight", il);
    snprintf(down, sizeof down, "blk.%u.ffn_down.weight", il);
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    GKV__TRY(gkv__arch_attention(m, il, err));
    GKV__TRY(gkv__arch_qkv_biases(m, il, err));
    GKV__TRY(gkv__arch_mat(m, up, 2 * s->n_ff, s->n_embd, &both, err));
    GKV__TRY(gkv__arch_mat(m, down, s->n_embd, s->n_ff, &w->down, err));
    w->gate = gkv__mat_rows(&both, 0, s->n_ff);
    w->up = gkv__mat_rows(&both, s->n_ff, s->n_ff);
    return GKV_OK;
}

const struct gkv__arch gkv__arch_glm4 = {
    .name = "glm4",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = keys,
    .layer = layer,
    .mtp = true,
};
