/* SPDX-License-Identifier: BSD-2-Clause
 * arch-llama.c - Llama 1 to 3, Mistral 7B and Nemo, Ministral 8B, and all that share their layer:
 * RMSNorm, RoPE on adjacent pairs, grouped-query attention, SwiGLU, no biases.  Mistral 7B v0.1
 * has a window, if the file says so. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_matrices(m, il, err));
    return gkv__arch_u32(m, "attention.sliding_window", &m->layer[il].window, false, err);
}

const struct gkv__arch gkv__arch_llama = {
    .name = "llama",
    .pairs = GKV__ROPE_ADJACENT,
    .layer = layer,
};
