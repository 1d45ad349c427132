/* SPDX-License-Identifier: BSD-2-Clause
 * arch-gemma4.c - Gemma 4 (text): Gemma 3 with heads of another size and number in layers with a window than in
 * those that see the whole text.  Values have a norm without weights, scores no scale, and each layer's rows a factor.
 * Layers that see the whole text may take their values from their keys, and rotate a part of each head.
 *
 * In E2B and E4B, the last layers have no keys and values, but use those of the last layer before them of their kind,
 * and each token has an embedding for each layer.  26B-A4B has experts beside the MLP. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "src/model/arch.h"
#include "src/model/rope.h"

enum { PERIOD = 6 };            /* where the file does not say it */

static bool is_near(const struct gkv_model *m, uint32_t il)
{
    return m->layer[il].window > 0;
}

/* How many KV heads layers of one kind have: the same in all of them. */
static gkv_status heads_kv(const struct gkv_model *m, bool near, uint32_t *out, gkv_error *err)
{
    *out = 0;
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        uint32_t n = m->shape.n_head;

        if (is_near(m, il) != near)
            continue;
        GKV__TRY(gkv__arch_u32_of(m, "attention.head_count_kv", il, &n, err));
        GKV__TRY(gkv__arch_shares(m, n, err));
        if (*out && n != *out)
            return gkv__fail(err, GKV_UNSUPPORTED, "%s: attention.head_count_kv is %u in one layer and %u in another of "
                             "the same kind", gkv__gguf_path(m->file), *out, n);
        *out = n;
    }
    return GKV_OK;
}

static gkv_status bad(const struct gkv_model *m, const char *key, uint32_t value, uint32_t least, uint32_t most,
                      gkv_error *err)
{
    return gkv__fail(err, GKV_FORMAT, "%s: %s is %u, not in %u .. %u", gkv__gguf_path(m->file), key, value, least, most);
}

/* Shapes of both kinds of layers. */
static gkv_status shapes(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    uint32_t values;

    GKV__TRY(heads_kv(m, false, &s->n_head_kv, err));
    GKV__TRY(heads_kv(m, true, &s->near.n_head_kv, err));
    if (!s->n_head_kv || !s->near.n_head_kv)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: gemma4 with layers of one kind only is not supported",
                         gkv__gguf_path(m->file));
    s->near.head_dim = s->head_dim;
    GKV__TRY(gkv__arch_u32(m, "attention.key_length_swa", &s->near.head_dim, false, err));
    if (s->near.head_dim < 2 || s->near.head_dim > s->head_dim)
        return bad(m, "attention.key_length_swa", s->near.head_dim, 2, s->head_dim, err);
    values = s->near.head_dim;
    GKV__TRY(gkv__arch_u32(m, "attention.value_length_swa", &values, false, err));
    if (values != s->near.head_dim)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: keys of %u and values of %u are not supported",
                         gkv__gguf_path(m->file), s->near.head_dim, values);
    s->near.n_rot = s->near.head_dim;
    GKV__TRY(gkv__arch_u32(m, "rope.dimension_count_swa", &s->near.n_rot, false, err));
    if (!s->near.n_rot || s->near.n_rot % 2 || s->near.n_rot > s->near.head_dim)
        return gkv__fail(err, GKV_FORMAT, "%s: rope.dimension_count_swa is %u for heads of %u", gkv__gguf_path(m->file),
                         s->near.n_rot, s->near.head_dim);
    return GKV_OK;
}

/* Which layers have no keys and values of their own, and whose they use. */
static gkv_status sharing(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;

    GKV__TRY(gkv__arch_u32(m, "attention.shared_kv_layers", &s->n_sharing, false, err));
    for (uint32_t n = s->n_sharing; n > 0; n--) {
        const uint32_t il = s->n_layer - n;
        uint32_t from = s->n_sharing < s->n_layer ? s->n_layer - s->n_sharing : 0;

        while (from > 0 && is_near(m, from - 1) != is_near(m, il))
            from--;
        if (!from)
            return gkv__fail(err, GKV_FORMAT, "%s: attention.shared_kv_layers is %u of %u layers, which leaves none "
                             "to share", gkv__gguf_path(m->file), s->n_sharing, s->n_layer);
        m->layer[il].shares = true;
        m->layer[il].source = from - 1;
    }
    return GKV_OK;
}

/* The tables of embeddings for each layer.  A layer's part of a row is whole blocks. */
static gkv_status tables(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t all = s->n_embd_layer * s->n_layer;
    struct gkv__mat projection;

    GKV__TRY(gkv__arch_mat(m, "per_layer_token_embd.weight", s->n_vocab, all, &m->layer_embed, err));
    GKV__TRY(gkv__arch_vec(m, "per_layer_proj_norm.weight", s->n_embd_layer, &m->layer_embed_norm, err));
    GKV__TRY(gkv__arch_mat(m, "per_layer_model_proj.weight", all, s->n_embd, &projection, err));
    if (s->n_embd_layer % m->layer_embed.format->block)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: embeddings of %u for each layer in type %s are not supported",
                         gkv__gguf_path(m->file), s->n_embd_layer, m->layer_embed.format->name);
    for (uint32_t il = 0; il < s->n_layer; il++)
        m->layer[il].embed_in = gkv__mat_rows(&projection, il * s->n_embd_layer, s->n_embd_layer);
    return GKV_OK;
}

static gkv_status keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    float base = 10000;
    uint32_t n_expert = 0;

    GKV__TRY(gkv__arch_u32(m, "expert_count", &n_expert, false, err));
    s->beside = n_expert > 0;
    if (s->beside)
        GKV__TRY(gkv__arch_mixed_expert_keys(m, err));
    s->glu = GKV__GLU_GELU;
    s->embed_scale = (float)sqrt((double)s->n_embd);
    s->attn_scale = 1;
    GKV__TRY(gkv__arch_windows(m, 0, PERIOD, err));
    GKV__TRY(shapes(m, err));
    GKV__TRY(sharing(m, err));
    GKV__TRY(gkv__arch_u32(m, "embedding_length_per_layer_input", &s->n_embd_layer, false, err));
    if (s->n_embd_layer > s->n_embd || s->n_embd_layer > s->n_ff)
        return bad(m, "embedding_length_per_layer_input", s->n_embd_layer, 0, s->n_embd < s->n_ff ? s->n_embd : s->n_ff,
                   err);
    if (s->n_embd_layer)
        GKV__TRY(tables(m, err));
    GKV__TRY(gkv__arch_positive(m, "final_logit_softcapping", &s->logit_cap, err));
    GKV__TRY(gkv__arch_positive(m, "rope.freq_base_swa", &base, err));
    if (m->rope_kind != GKV__ROPE_PROPORTIONAL)
        return gkv__fail(err, GKV_FORMAT, "%s: gemma4 without tensor rope_freqs.weight", gkv__gguf_path(m->file));
    m->ones = malloc(s->head_dim * sizeof *m->ones);
    if (!m->ones)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < s->head_dim; i++)
        m->ones[i] = 1;
    m->near = gkv__shape_near(s);
    return gkv__rope_local(m, base, err);
}

/* Files may have keys and values of layers that use those of others: nobody reads them. */
static gkv_status idle(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = gkv__shape_of(m, il);
    const uint32_t kv = s->n_head_kv * s->head_dim;
    const float *norm;
    struct gkv__mat mat;

    if (gkv__arch_layer_has(m, il, "attn_k.weight"))
        GKV__TRY(gkv__arch_layer_mat(m, il, "attn_k", kv, s->n_embd, &mat, err));
    if (gkv__arch_layer_has(m, il, "attn_v.weight"))
        GKV__TRY(gkv__arch_layer_mat(m, il, "attn_v", kv, s->n_embd, &mat, err));
    if (gkv__arch_layer_has(m, il, "attn_k_norm.weight"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "attn_k_norm.weight", s->head_dim, &norm, err));
    return GKV_OK;
}

static gkv_status attention(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = gkv__shape_of(m, il);
    const uint32_t d = s->n_embd, q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_layer_mat(m, il, "attn_q", q, d, &w->q, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_q_norm.weight", s->head_dim, &w->q_norm, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "attn_output", d, q, &w->o, err));
    if (w->shares)
        return idle(m, il, err);
    GKV__TRY(gkv__arch_layer_mat(m, il, "attn_k", kv, d, &w->k, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_k_norm.weight", s->head_dim, &w->k_norm, err));
    w->v_norm = m->ones;
    if (is_near(m, il) || gkv__arch_layer_has(m, il, "attn_v.weight"))
        return gkv__arch_layer_mat(m, il, "attn_v", kv, d, &w->v, err);
    return GKV_OK;
}

static gkv_status mlp(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd;
    struct gkv__layer_weights *w = &m->layer[il];
    uint32_t n_ff = 0;

    GKV__TRY(gkv__arch_u32_of(m, "feed_forward_length", il, &n_ff, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "ffn_gate", n_ff, d, m->shape.beside ? &w->shared_gate : &w->gate, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "ffn_up", n_ff, d, m->shape.beside ? &w->shared_up : &w->up, err));
    return gkv__arch_layer_mat(m, il, "ffn_down", d, n_ff, m->shape.beside ? &w->shared_down : &w->down, err);
}

static gkv_status experts(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd;
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_layer_vec(m, il, "ffn_gate_inp.scale", d, &w->router_norm, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "pre_ffw_norm_2.weight", d, &w->expert_norm, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "post_ffw_norm_1.weight", d, &w->shared_post, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "post_ffw_norm_2.weight", d, &w->expert_post, err));
    if (gkv__arch_layer_has(m, il, "ffn_down_exps.scale"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "ffn_down_exps.scale", m->shape.n_expert, &w->expert_scale, err));
    return gkv__arch_experts(m, il, err);
}

static gkv_status own_embeddings(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd, n = m->shape.n_embd_layer;
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_layer_mat(m, il, "inp_gate", n, d, &w->embed_gate, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "proj", d, n, &w->embed_out, err));
    return gkv__arch_layer_vec(m, il, "post_norm.weight", d, &w->embed_post, err);
}

static gkv_status layer(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    w->local_rope = is_near(m, il);
    w->shape = is_near(m, il) ? &m->near : NULL;
    GKV__TRY(gkv__arch_norms(m, il, err));
    GKV__TRY(gkv__arch_post_norms(m, il, err));
    if (gkv__arch_layer_has(m, il, "layer_output_scale.weight"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "layer_output_scale.weight", 1, &w->out_scale, err));
    GKV__TRY(attention(m, il, err));
    if (m->shape.n_embd_layer)
        GKV__TRY(own_embeddings(m, il, err));
    if (m->shape.beside)
        GKV__TRY(experts(m, il, err));
    return mlp(m, il, err);
}

const struct gkv__arch gkv__arch_gemma4 = {
    .name = "gemma4",
    .pairs = GKV__ROPE_HALVES,
    .uneven = true,
    .proportional = true,
    .keys = keys,
    .layer = layer,
};
