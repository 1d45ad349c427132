/* SPDX-License-Identifier: BSD-2-Clause
 * arch-lfm2.c - LFM 2: most layers have a short convolution between two gates instead of attention; lfm2moe with
 * a mixture of experts in all but the first layers, whose shares are sigmoids and whose biases only choose. */
#include "config.h"
#include "src/model/arch.h"

enum { MOST_TOKENS = 16, SIGMOID = 2 };         /* of the convolution; expert_gating_func    */

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__state_shape *s = &m->shape.state;
    bool all = false;

    GKV__TRY(gkv__arch_windows(m, 0, 0, err));
    GKV__TRY(gkv__arch_u32(m, "shortconv.l_cache", &s->width, true, err));
    if (s->width < 2 || s->width > MOST_TOKENS)
        return gkv__fail(err, GKV_FORMAT, "%s: shortconv.l_cache is %u, not in 2 .. %d", gkv__gguf_path(m->file),
                         s->width, MOST_TOKENS);
    s->v_heads = 1;
    s->v_dim = m->shape.n_embd;
    GKV__TRY(gkv__arch_all_have_heads(m, &all, err));
    if (all)
        *s = (struct gkv__state_shape){ 0 };
    return GKV_OK;
}

static gkv_status convolution(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd;
    struct gkv__layer_weights *w = &m->layer[il];
    struct gkv__mat in;

    w->mixer = GKV__SHORT_CONV;
    w->window = 0;
    GKV__TRY(gkv__arch_layer_mat(m, il, "shortconv.in_proj", 3 * d, d, &in, err));
    w->qkv = gkv__mat_rows(&in, 0, d);
    w->z = gkv__mat_rows(&in, d, d);
    w->beta = gkv__mat_rows(&in, 2 * d, d);
    GKV__TRY(gkv__arch_layer_vecs(m, il, "shortconv.conv.weight", d, m->shape.state.width, &w->conv, err));
    return gkv__arch_layer_mat(m, il, "shortconv.out_proj", d, d, &w->out, err);
}

static gkv_status upper(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    bool attends = true;

    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_has_heads(m, il, &attends, err));
    if (!attends)
        return convolution(m, il, err);
    GKV__TRY(gkv__arch_attention(m, il, err));
    return gkv__arch_qk_norms(m, il, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(upper(m, il, err));
    return gkv__arch_mlp(m, il, err);
}

static gkv_status keys_moe(struct gkv_model *m, gkv_error *err)
{
    uint32_t gate = SIGMOID;

    GKV__TRY(keys(m, err));
    GKV__TRY(gkv__arch_mixed_expert_keys(m, err));
    GKV__TRY(gkv__arch_u32(m, "expert_gating_func", &gate, false, err));
    if (gate != SIGMOID)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: lfm2moe with expert_gating_func %u is not supported",
                         gkv__gguf_path(m->file), gate);
    m->shape.router = GKV__ROUTER_SIGMOID;
    return GKV_OK;
}

static gkv_status layer_moe(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const char *bias = "exp_probs_b.bias";
    uint32_t dense = 0;

    GKV__TRY(upper(m, il, err));
    GKV__TRY(gkv__arch_u32(m, "leading_dense_block_count", &dense, false, err));
    if (il < dense)
        return gkv__arch_mlp(m, il, err);
    if (gkv__arch_layer_has(m, il, bias))
        GKV__TRY(gkv__arch_layer_vec(m, il, bias, m->shape.n_expert, &m->layer[il].router_bias, err));
    return gkv__arch_experts(m, il, err);
}

const struct gkv__arch gkv__arch_lfm2 = {
    .name = "lfm2",
    .pairs = GKV__ROPE_HALVES,
    .output_norm = "token_embd_norm.weight",
    .keys = keys,
    .layer = layer,
};

const struct gkv__arch gkv__arch_lfm2moe = {
    .name = "lfm2moe",
    .pairs = GKV__ROPE_HALVES,
    .output_norm = "token_embd_norm.weight",
    .keys = keys_moe,
    .layer = layer_moe,
};
