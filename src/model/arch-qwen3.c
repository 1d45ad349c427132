/* SPDX-License-Identifier: BSD-2-Clause
 * arch-qwen3.c - Qwen 3: Llama's layer with a norm on each head's query and key. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_matrices(m, il, err));
    return gkv__arch_qk_norms(m, il, err);
}

const struct gkv__arch gkv__arch_qwen3 = {
    .name = "qwen3",
    .pairs = GKV__ROPE_HALVES,
    .layer = layer,
};
