/* SPDX-License-Identifier: BSD-2-Clause
 * arch-smollm3.c - SmolLM 3: Llama's layer; every fourth layer, from layer 3 on, has no RoPE. */
#include "config.h"
#include "src/model/arch.h"
#include "src/model/rope.h"

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    m->layer[il].no_rope = !gkv__arch_is_local(il, 4);
    GKV__TRY(gkv__arch_norms(m, il, err));
    return gkv__arch_matrices(m, il, err);
}

const struct gkv__arch gkv__arch_smollm3 = {
    .name = "smollm3",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = gkv__rope_still,
    .layer = layer,
};
