/* SPDX-License-Identifier: BSD-2-Clause
 * arch-phi3.c - Phi 3, 3.5 and 4: Llama's layer with queries, keys and values in one matrix, gate
 * and up in another.  Both are split by rows when they are bound, so layer.c sees Llama's layer. */
#include "config.h"
#include <stdio.h>
#include "src/model/arch.h"

static gkv_status matrix(struct gkv_model *m, uint32_t il, const char *what, uint32_t n_out,
                         uint32_t n_in, struct gkv__mat *out, gkv_error *err)
{
    char name[64];

    snprintf(name, sizeof name, "blk.%u.%s.weight", il, what);
    return gkv__arch_mat(m, name, n_out, n_in, out, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t d = s->n_embd, q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__mat qkv, both;

    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(matrix(m, il, "attn_qkv", q + 2 * kv, d, &qkv, err));
    GKV__TRY(matrix(m, il, "attn_output", d, q, &w->o, err));
    GKV__TRY(matrix(m, il, "ffn_up", 2 * s->n_ff, d, &both, err));
    GKV__TRY(matrix(m, il, "ffn_down", d, s->n_ff, &w->down, err));
    w->q = gkv__mat_rows(&qkv, 0, q);
    w->k = gkv__mat_rows(&qkv, q, kv);
    w->v = gkv__mat_rows(&qkv, q + kv, kv);
    w->gate = gkv__mat_rows(&both, 0, s->n_ff);
    w->up = gkv__mat_rows(&both, s->n_ff, s->n_ff);
    return gkv__arch_u32(m, "attention.sliding_window", &w->window, false, err);
}

const struct gkv__arch gkv__arch_phi3 = {
    .name = "phi3",
    .pairs = GKV__ROPE_HALVES,
    .layer = layer,
};
