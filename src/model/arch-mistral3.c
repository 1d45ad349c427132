/* SPDX-License-Identifier: BSD-2-Clause
 * arch-mistral3.c - Mistral Small 3 and Ministral 3: Llama's layer; Ministral's queries grow with the
 * logarithm of their position from the original context on. */
#include "config.h"
#include "src/model/arch.h"

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;

    GKV__TRY(gkv__arch_positive(m, "attention.temperature_scale", &s->temper, err));
    s->temper_span = m->rope_context;
    if (s->temper > 0 && !s->temper_span)
        return gkv__fail(err, GKV_FORMAT, "%s: attention.temperature_scale without original_context_length",
                         gkv__gguf_path(m->file));
    return GKV_OK;
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    m->layer[il].tempered = m->shape.temper > 0;
    GKV__TRY(gkv__arch_norms(m, il, err));
    return gkv__arch_matrices(m, il, err);
}

const struct gkv__arch gkv__arch_mistral3 = {
    .name = "mistral3",
    .pairs = GKV__ROPE_ADJACENT,
    .keys = keys,
    .layer = layer,
};
