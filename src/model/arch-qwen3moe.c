/* SPDX-License-Identifier: BSD-2-Clause
 * arch-qwen3moe.c - Qwen 3 with a mixture of experts in place of the MLP. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_attention(m, il, err));
    GKV__TRY(gkv__arch_qk_norms(m, il, err));
    return gkv__arch_experts(m, il, err);
}

const struct gkv__arch gkv__arch_qwen3moe = {
    .name = "qwen3moe",
    .pairs = GKV__ROPE_HALVES,
    .keys = gkv__arch_expert_keys,
    .layer = layer,
};
