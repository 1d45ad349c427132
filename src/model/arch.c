/* SPDX-License-Identifier: BSD-2-Clause
 * arch.c - the list of architectures, and what their bind functions share. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/model/arch.h"
#include "src/model/rope.h"

extern const struct gkv__arch gkv__arch_llama, gkv__arch_qwen2, gkv__arch_qwen3, gkv__arch_phi3,
    gkv__arch_gemma2, gkv__arch_gemma3, gkv__arch_gemma4, gkv__arch_qwen3moe,
    gkv__arch_qwen35, gkv__arch_qwen35moe, gkv__arch_qwen3next,
    gkv__arch_smollm3,
    gkv__arch_olmo2,
    gkv__arch_mistral3,
    gkv__arch_granite,
    gkv__arch_granitemoe,
    gkv__arch_granitehybrid,
    gkv__arch_glm4,
    gkv__arch_exaone4,
    gkv__arch_gpt_oss,
    gkv__arch_llama4,
    gkv__arch_lfm2,
    gkv__arch_lfm2moe;

static const struct gkv__arch *const archs[] = {
    &gkv__arch_llama,
    &gkv__arch_qwen2,
    &gkv__arch_qwen3,
    &gkv__arch_phi3,
    &gkv__arch_gemma2,
    &gkv__arch_gemma3,
    &gkv__arch_gemma4,
    &gkv__arch_qwen3moe,
    &gkv__arch_qwen35,
    &gkv__arch_qwen35moe,
    &gkv__arch_qwen3next,
    &gkv__arch_smollm3,
    &gkv__arch_olmo2,
    &gkv__arch_mistral3,
    &gkv__arch_granite,
    &gkv__arch_granitemoe,
    &gkv__arch_granitehybrid,
    &gkv__arch_glm4,
    &gkv__arch_exaone4,
    &gkv__arch_gpt_oss,
    &gkv__arch_llama4,
    &gkv__arch_lfm2,
    &gkv__arch_lfm2moe,
};

const struct gkv__arch *gkv__arch_named(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i]->name) == len && !memcmp(archs[i]->name, name, len))
            return archs[i];
    return NULL;
}

const char *gkv__arch_at(size_t i)
{
    return i < sizeof archs / sizeof *archs ? archs[i]->name : NULL;
}

enum { MOST_FF = 1 << 22 };

/* ---- keys ------------------------------------------------------------------------------- */

static gkv_status full_key(const struct gkv_model *m, const char *key, bool required,
                           char buf[128], gkv_error *err)
{
    snprintf(buf, 128, "%s.%s", m->arch->name, key);
    if (required && !gkv__gguf_find(m->file, buf))
        return gkv__fail(err, GKV_FORMAT, "%s: key %s is missing", gkv__gguf_path(m->file), buf);
    return GKV_OK;
}

gkv_status gkv__arch_u32(const struct gkv_model *m, const char *key, uint32_t *out, bool required,
                         gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, required, full, err));
    return gkv__gguf_u32(m->file, full, out, err);
}

static gkv_status in_range(const struct gkv_model *m, const char *what, uint64_t v, uint64_t min,
                           uint64_t max, gkv_error *err)
{
    if (v >= min && v <= max)
        return GKV_OK;
    return gkv__fail(err, GKV_FORMAT, "%s: %s is %" PRIu64 ", not in %" PRIu64 " .. %" PRIu64,
                     gkv__gguf_path(m->file), what, v, min, max);
}

/* Of a key that has a number for each layer. */
static gkv_status number_of_layer(const struct gkv_model *m, const struct gkv__kv *list, uint32_t il, uint32_t *out,
                                  gkv_error *err)
{
    const bool whole = list->type != GKV__STR && list->type != GKV__F32 && list->type != GKV__F64;
    const int64_t v = whole && il < list->n ? gkv__gguf_int_at(list, il) : -1;

    if (v < 0 || v > UINT32_MAX)
        return gkv__fail(err, GKV_FORMAT, "%s: %.*s has not one whole number for each of %u layers",
                         gkv__gguf_path(m->file), (int)list->key.n, list->key.p, m->shape.n_layer);
    *out = (uint32_t)v;
    return GKV_OK;
}

gkv_status gkv__arch_u32_of(const struct gkv_model *m, const char *key, uint32_t il, uint32_t *out, gkv_error *err)
{
    const struct gkv__kv *kv;
    char full[128];

    GKV__TRY(full_key(m, key, false, full, err));
    kv = gkv__gguf_find(m->file, full);
    return kv && kv->is_array ? number_of_layer(m, kv, il, out, err) : gkv__gguf_u32(m->file, full, out, err);
}

/* A key that has one number, or one for each layer, which is the same in all layers or 0. */
static gkv_status same_in_layers(const struct gkv_model *m, const char *key, uint32_t *out, bool required, gkv_error *err)
{
    const uint32_t fallback = *out;
    uint32_t v = 0;
    char full[128];

    GKV__TRY(full_key(m, key, required, full, err));
    *out = 0;
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        v = fallback;
        GKV__TRY(gkv__arch_u32_of(m, key, il, &v, err));
        if (v && *out && v != *out)
            return gkv__fail(err, GKV_UNSUPPORTED, "%s: %s is %u in one layer and %u in another", gkv__gguf_path(m->file),
                             key, *out, v);
        *out = v ? v : *out;
    }
    return GKV_OK;
}

/* The largest of such numbers, which are 1 .. most. */
static gkv_status largest_of_layers(const struct gkv_model *m, const char *key, uint32_t most, uint32_t *out,
                                    gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, true, full, err));
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        uint32_t v = 0;

        GKV__TRY(gkv__arch_u32_of(m, key, il, &v, err));
        GKV__TRY(in_range(m, key, v, 1, most, err));
        *out = v > *out ? v : *out;
    }
    return GKV_OK;
}

gkv_status gkv__arch_f32(const struct gkv_model *m, const char *key, float *out, bool required,
                         gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, required, full, err));
    return gkv__gguf_f32(m->file, full, out, err);
}

gkv_status gkv__arch_positive(const struct gkv_model *m, const char *key, float *out,
                              gkv_error *err)
{
    const float fallback = *out;

    GKV__TRY(gkv__arch_f32(m, key, out, false, err));
    if (*out == fallback || (*out >= 1e-6f && *out <= 1e30f))
        return GKV_OK;
    return gkv__fail(err, GKV_FORMAT, "%s: %s is %g", gkv__gguf_path(m->file), key, (double)*out);
}

gkv_status gkv__arch_bool(const struct gkv_model *m, const char *key, bool *out, gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, false, full, err));
    return gkv__gguf_bool(m->file, full, out, err);
}

gkv_status gkv__arch_str(const struct gkv_model *m, const char *key, struct gkv__str *out,
                         gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, false, full, err));
    return gkv__gguf_str(m->file, full, out, err);
}

gkv_status gkv__arch_shares(const struct gkv_model *m, uint32_t n_head_kv, gkv_error *err)
{
    if (n_head_kv && m->shape.n_head % n_head_kv == 0)
        return GKV_OK;
    return gkv__fail(err, GKV_FORMAT, "%s: %u heads do not share %u KV heads evenly", gkv__gguf_path(m->file),
                     m->shape.n_head, n_head_kv);
}

gkv_status gkv__arch_shape(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    const char *path = gkv__gguf_path(m->file);
    uint32_t v_dim;
    bool causal = true;

    s->pairs = m->arch->pairs;
    GKV__TRY(gkv__arch_u32(m, "block_count", &s->n_layer, true, err));
    GKV__TRY(in_range(m, "block_count", s->n_layer, 1, 1024, err));
    GKV__TRY(gkv__arch_u32(m, "embedding_length", &s->n_embd, true, err));
    GKV__TRY(gkv__arch_u32(m, "expert_feed_forward_length", &s->n_ff, false, err));  /* some have that alone */
    if (m->arch->uneven)
        GKV__TRY(largest_of_layers(m, "feed_forward_length", MOST_FF, &s->n_ff, err));
    else
        GKV__TRY(gkv__arch_u32(m, "feed_forward_length", &s->n_ff, !s->n_ff, err));
    GKV__TRY(gkv__arch_u32(m, "attention.head_count", &s->n_head, true, err));
    GKV__TRY(in_range(m, "embedding_length", s->n_embd, 1, 1 << 20, err));
    GKV__TRY(in_range(m, "feed_forward_length", s->n_ff, 1, MOST_FF, err));
    GKV__TRY(in_range(m, "attention.head_count", s->n_head, 1, 4096, err));
    s->n_head_kv = s->n_head;
    if (!m->arch->uneven) {
        GKV__TRY(same_in_layers(m, "attention.head_count_kv", &s->n_head_kv, false, err));
        GKV__TRY(gkv__arch_shares(m, s->n_head_kv, err));
    }
    s->head_dim = s->n_embd / s->n_head;
    GKV__TRY(gkv__arch_u32(m, "attention.key_length", &s->head_dim, false, err));
    GKV__TRY(in_range(m, "attention.key_length", s->head_dim, 2, 1024, err));
    v_dim = s->head_dim;
    GKV__TRY(gkv__arch_u32(m, "attention.value_length", &v_dim, false, err));
    if (v_dim != s->head_dim)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: keys of %u and values of %u are not supported",
                         path, s->head_dim, v_dim);
    s->n_rot = s->head_dim;
    GKV__TRY(gkv__arch_u32(m, "rope.dimension_count", &s->n_rot, false, err));
    if (!s->n_rot || s->n_rot % 2 || s->n_rot > s->head_dim)
        return gkv__fail(err, GKV_FORMAT, "%s: rope.dimension_count is %u for heads of %u", path,
                         s->n_rot, s->head_dim);
    GKV__TRY(gkv__arch_bool(m, "attention.causal", &causal, err));
    if (!causal)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: the model's attention is not causal, so it cannot write", path);
    s->context = 0;
    GKV__TRY(gkv__arch_u32(m, "context_length", &s->context, true, err));
    GKV__TRY(gkv__arch_f32(m, "attention.layer_norm_rms_epsilon", &s->eps, true, err));
    if (!(s->eps >= 0 && s->eps < 1))
        return gkv__fail(err, GKV_FORMAT, "%s: layer_norm_rms_epsilon is %g", path, (double)s->eps);
    return GKV_OK;
}

/* ---- tensors ---------------------------------------------------------------------------- */

bool gkv__arch_has(const struct gkv_model *m, const char *name)
{
    return gkv__gguf_tensor(m->file, name) != NULL;
}

static gkv_status find_tensor(struct gkv_model *m, const char *name, uint32_t planes, uint32_t rows,
                              uint32_t cols, const struct gkv__tensor **out,
                              const struct gkv__quant **format, gkv_error *err)
{
    const struct gkv__tensor *t = gkv__gguf_tensor(m->file, name);
    const char *path = gkv__gguf_path(m->file);

    *out = NULL;
    *format = NULL;
    if (!t)
        return gkv__fail(err, GKV_FORMAT, "%s: tensor %s is missing", path, name);
    if (t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != planes || t->dim[3] != 1)
        return gkv__fail(err, GKV_FORMAT, "%s: tensor %s is %" PRIu64 " x %" PRIu64 " x %" PRIu64
                         ", expected %u x %u x %u", path, name, t->dim[0], t->dim[1], t->dim[2], cols,
                         rows, planes);
    *format = gkv__quant_of_ggml(t->type);
    if (!*format || (*format)->type == GKV__TYPE_NONE)
        return gkv__fail(err, GKV_UNSUPPORTED,
                         "%s: tensor %s has type %s, which is not supported yet; convert the model "
                         "to q8_0, q4_k or another of the usual types", path, name,
                         *format ? (*format)->name : "unknown");
    m->bound[t - gkv__gguf_tensor_at(m->file, 0)] = true;
    *out = t;
    return GKV_OK;
}

/* n matrices of one shape, stored one after the other. */
static gkv_status stack(struct gkv_model *m, const char *name, uint32_t n, uint32_t n_out,
                        uint32_t n_in, struct gkv__mat *out, gkv_error *err)
{
    const struct gkv__tensor *t;

    GKV__TRY(find_tensor(m, name, n, n_out, n_in, &t, &out->format, err));
    out->data = t->data;
    out->n_out = n * n_out;
    out->n_in = n_in;
    return GKV_OK;
}

gkv_status gkv__arch_mat(struct gkv_model *m, const char *name, uint32_t n_out,
                         uint32_t n_in, struct gkv__mat *out, gkv_error *err)
{
    return stack(m, name, 1, n_out, n_in, out, err);
}

static gkv_status vectors(struct gkv_model *m, const char *name, uint32_t rows, uint32_t n,
                          const float **out, gkv_error *err)
{
    const struct gkv__quant *format;
    const struct gkv__tensor *t;

    GKV__TRY(find_tensor(m, name, 1, rows, n, &t, &format, err));
    if (format->type != GKV__TYPE_F32)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: tensor %s has type %s, expected f32",
                         gkv__gguf_path(m->file), name, format->name);
    *out = (const float *)(const void *)t->data;
    return GKV_OK;
}

gkv_status gkv__arch_vec(struct gkv_model *m, const char *name, uint32_t n,
                         const float **out, gkv_error *err)
{
    return vectors(m, name, 1, n, out, err);
}

gkv_status gkv__arch_layer_vecs(struct gkv_model *m, uint32_t il, const char *name, uint32_t rows,
                                uint32_t n, const float **out, gkv_error *err)
{
    char full[64];

    snprintf(full, sizeof full, "blk.%u.%s", il, name);
    return vectors(m, full, rows, n, out, err);
}

bool gkv__arch_layer_has(const struct gkv_model *m, uint32_t il, const char *name)
{
    char full[64];

    snprintf(full, sizeof full, "blk.%u.%s", il, name);
    return gkv__arch_has(m, full);
}

gkv_status gkv__arch_layer_vec(struct gkv_model *m, uint32_t il, const char *name, uint32_t n,
                               const float **out, gkv_error *err)
{
    char full[64];

    snprintf(full, sizeof full, "blk.%u.%s", il, name);
    return gkv__arch_vec(m, full, n, out, err);
}

gkv_status gkv__arch_layer_mat(struct gkv_model *m, uint32_t il, const char *name, uint32_t n_out,
                               uint32_t n_in, struct gkv__mat *out, gkv_error *err)
{
    char full[64];

    snprintf(full, sizeof full, "blk.%u.%s.weight", il, name);
    return gkv__arch_mat(m, full, n_out, n_in, out, err);
}

/* ---- a model ---------------------------------------------------------------------------- */

gkv_status gkv__arch_norms(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];

    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_norm.weight", m->shape.n_embd, &w->attn_norm, err));
    return gkv__arch_layer_vec(m, il, "ffn_norm.weight", m->shape.n_embd, &w->ffn_norm, err);
}

gkv_status gkv__arch_post_norms(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];
    const uint32_t d = m->shape.n_embd;

    GKV__TRY(gkv__arch_layer_vec(m, il, "post_attention_norm.weight", d, &w->attn_post, err));
    return gkv__arch_layer_vec(m, il, "post_ffw_norm.weight", d, &w->ffn_post, err);
}

gkv_status gkv__arch_qk_norms(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];
    const uint32_t d = m->shape.head_dim;

    GKV__TRY(gkv__arch_layer_vec(m, il, "attn_q_norm.weight", d, &w->q_norm, err));
    return gkv__arch_layer_vec(m, il, "attn_k_norm.weight", d, &w->k_norm, err);
}

gkv_status gkv__arch_qkv_biases(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    struct gkv__layer_weights *w = &m->layer[il];
    const struct { const char *name; uint32_t n; const float **to; } rows[] = {
        { "attn_q.bias", w->q.n_out, &w->q_bias }, { "attn_k.bias", w->k.n_out, &w->k_bias },
        { "attn_v.bias", w->v.n_out, &w->v_bias },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (gkv__arch_layer_has(m, il, rows[i].name))
            GKV__TRY(gkv__arch_layer_vec(m, il, rows[i].name, rows[i].n, rows[i].to, err));
    return GKV_OK;
}

gkv_status gkv__arch_windows(struct gkv_model *m, uint32_t window, uint32_t period, gkv_error *err)
{
    const char *key = "attention.sliding_window_pattern";
    const struct gkv__kv *flags;
    char full[128];

    GKV__TRY(full_key(m, key, false, full, err));
    GKV__TRY(gkv__arch_u32(m, "attention.sliding_window", &window, false, err));
    flags = gkv__gguf_find(m->file, full);
    if (!flags || !flags->is_array) {
        GKV__TRY(gkv__arch_u32(m, key, &period, false, err));
        for (uint32_t il = 0; il < m->shape.n_layer; il++)
            m->layer[il].window = gkv__arch_is_local(il, period) ? window : 0;
        return GKV_OK;
    }
    if (flags->n != m->shape.n_layer || flags->type == GKV__STR || flags->type == GKV__F32 || flags->type == GKV__F64)
        return gkv__fail(err, GKV_FORMAT, "%s: %s has not one flag for each of %u layers",
                         gkv__gguf_path(m->file), key, m->shape.n_layer);
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        m->layer[il].window = gkv__gguf_int_at(flags, il) ? window : 0;
    return GKV_OK;
}

gkv_status gkv__arch_has_heads(const struct gkv_model *m, uint32_t il, bool *out, gkv_error *err)
{
    uint32_t heads = m->shape.n_head_kv;

    GKV__TRY(gkv__arch_u32_of(m, "attention.head_count_kv", il, &heads, err));
    *out = heads;
    return GKV_OK;
}

gkv_status gkv__arch_all_have_heads(const struct gkv_model *m, bool *out, gkv_error *err)
{
    *out = true;
    for (uint32_t il = 0; il < m->shape.n_layer && *out; il++)
        GKV__TRY(gkv__arch_has_heads(m, il, out, err));
    return GKV_OK;
}

gkv_status gkv__arch_state_keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__state_shape *s = &m->shape.state;
    uint32_t inner = 0;
    const struct { const char *key; uint32_t most, *to; } rows[] = {
        { "ssm.conv_kernel", 16, &s->width },           { "ssm.state_size", 1024, &s->k_dim },
        { "ssm.group_count", 1024, &s->k_heads },       { "ssm.time_step_rank", 1024, &s->v_heads },
        { "ssm.inner_size", 1 << 20, &inner },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        GKV__TRY(gkv__arch_u32(m, rows[i].key, rows[i].to, true, err));
        GKV__TRY(in_range(m, rows[i].key, *rows[i].to, 1, rows[i].most, err));
    }
    if (s->v_heads % s->k_heads || inner % s->v_heads || inner / s->v_heads > 1024 || inner / s->v_heads < 2)
        return gkv__fail(err, GKV_FORMAT, "%s: ssm.inner_size %u, ssm.time_step_rank %u and ssm.group_count %u do not "
                         "divide evenly", gkv__gguf_path(m->file), inner, s->v_heads, s->k_heads);
    s->v_dim = inner / s->v_heads;
    return GKV_OK;
}

/* Matrices of layer il: n of each kind, one after the other. */
struct row { const char *name; uint32_t n_out, n_in; struct gkv__mat *to; };

static gkv_status bind_rows(struct gkv_model *m, uint32_t il, uint32_t n, const struct row *rows,
                            size_t n_rows, gkv_error *err)
{
    char name[64];

    for (size_t i = 0; i < n_rows; i++) {
        snprintf(name, sizeof name, "blk.%u.%s.weight", il, rows[i].name);
        GKV__TRY(stack(m, name, n, rows[i].n_out, rows[i].n_in, rows[i].to, err));
    }
    return GKV_OK;
}

gkv_status gkv__arch_attention(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t d = s->n_embd, q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct row rows[] = {
        { "attn_q", s->gated ? 2 * q : q, d, &w->q },
        { "attn_k", kv, d, &w->k },     { "attn_v", kv, d, &w->v },
        { "attn_output", d, q, &w->o },
    };

    return bind_rows(m, il, 1, rows, sizeof rows / sizeof *rows, err);
}

gkv_status gkv__arch_mlp(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd, f = m->shape.n_ff_dense ? m->shape.n_ff_dense : m->shape.n_ff;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct row rows[] = {
        { "ffn_gate", f, d, &w->gate }, { "ffn_up", f, d, &w->up }, { "ffn_down", d, f, &w->down },
    };

    return bind_rows(m, il, 1, rows, sizeof rows / sizeof *rows, err);
}

gkv_status gkv__arch_matrices(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    GKV__TRY(gkv__arch_attention(m, il, err));
    return gkv__arch_mlp(m, il, err);
}

gkv_status gkv__arch_expert_keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;

    GKV__TRY(gkv__arch_u32(m, "expert_count", &s->n_expert, true, err));
    GKV__TRY(gkv__arch_u32(m, "expert_used_count", &s->n_used, true, err));
    s->n_ff_expert = s->n_ff;
    GKV__TRY(gkv__arch_u32(m, "expert_feed_forward_length", &s->n_ff_expert, false, err));
    GKV__TRY(gkv__arch_u32(m, "expert_shared_feed_forward_length", &s->n_ff_shared, false, err));
    GKV__TRY(in_range(m, "expert_count", s->n_expert, 1, 1024, err));
    GKV__TRY(in_range(m, "expert_used_count", s->n_used, 1, s->n_expert, err));
    GKV__TRY(in_range(m, "expert_feed_forward_length", s->n_ff_expert, 1, 1 << 20, err));
    GKV__TRY(in_range(m, "expert_shared_feed_forward_length", s->n_ff_shared, 0, 1 << 20, err));
    s->n_ff = s->n_ff_expert > s->n_ff_shared ? s->n_ff_expert : s->n_ff_shared;
    return GKV_OK;
}

gkv_status gkv__arch_mixed_expert_keys(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    const uint32_t dense = s->n_ff;

    GKV__TRY(gkv__arch_expert_keys(m, err));
    if (s->n_ff < dense)
        s->n_ff = dense;
    s->n_ff_dense = dense;
    return GKV_OK;
}

gkv_status gkv__arch_experts(struct gkv_model *m, uint32_t il, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd, f = m->shape.n_ff_expert;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct row router = { "ffn_gate_inp", m->shape.n_expert, d, &w->router }, rows[] = {
        { "ffn_gate_exps", f, d, &w->gate },    { "ffn_up_exps", f, d, &w->up },
        { "ffn_down_exps", d, f, &w->down },
    }, joined[] = {
        { "ffn_gate_up_exps", 2 * f, d, &w->gate }, { "ffn_down_exps", d, f, &w->down },
    };

    GKV__TRY(bind_rows(m, il, 1, &router, 1, err));
    if (gkv__arch_layer_has(m, il, "ffn_gate_up_exps.weight"))
        return bind_rows(m, il, m->shape.n_expert, joined, sizeof joined / sizeof *joined, err);
    return bind_rows(m, il, m->shape.n_expert, rows, sizeof rows / sizeof *rows, err);
}

gkv_status gkv__arch_shared_expert(struct gkv_model *m, uint32_t il, uint32_t n_ff, gkv_error *err)
{
    const uint32_t d = m->shape.n_embd;
    struct gkv__layer_weights *w = &m->layer[il];
    const struct row rows[] = {
        { "ffn_gate_shexp", n_ff, d, &w->shared_gate }, { "ffn_up_shexp", n_ff, d, &w->shared_up },
        { "ffn_down_shexp", d, n_ff, &w->shared_down },
    };

    return bind_rows(m, il, 1, rows, sizeof rows / sizeof *rows, err);
}

static gkv_status ends(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const char *norm = m->arch->output_norm ? m->arch->output_norm : "output_norm.weight";

    GKV__TRY(gkv__arch_mat(m, "token_embd.weight", s->n_vocab, s->n_embd, &m->embed, err));
    GKV__TRY(gkv__arch_vec(m, norm, s->n_embd, &m->output_norm, err));
    m->output = m->embed;       /* tied, unless the file has its own */
    if (gkv__arch_has(m, "output.weight"))
        GKV__TRY(gkv__arch_mat(m, "output.weight", s->n_vocab, s->n_embd, &m->output, err));
    return GKV_OK;
}

static gkv_status nothing_left_over(const struct gkv_model *m, gkv_error *err)
{
    for (size_t i = 0; i < gkv__gguf_n_tensors(m->file); i++) {
        const struct gkv__str *name = &gkv__gguf_tensor_at(m->file, i)->name;

        if (!m->bound[i])
            return gkv__fail(err, GKV_UNSUPPORTED,
                             "%s: tensor %.*s is not part of architecture %s as gemkv knows it",
                             gkv__gguf_path(m->file), (int)(name->n < 64 ? name->n : 64), name->p,
                             m->arch->name);
    }
    return GKV_OK;
}

/* Tensors of layers from .. from + n - 1 are not used. */
static void leave_out(struct gkv_model *m, uint32_t from, uint32_t n)
{
    for (size_t i = 0; i < gkv__gguf_n_tensors(m->file); i++) {
        const struct gkv__str *name = &gkv__gguf_tensor_at(m->file, i)->name;
        uint32_t il = 0;
        size_t at = 4;

        if (name->n < 6 || memcmp(name->p, "blk.", 4))
            continue;
        for (; at < name->n && at < 12 && name->p[at] >= '0' && name->p[at] <= '9'; at++)
            il = il * 10 + (uint32_t)(name->p[at] - '0');
        if (at > 4 && at < name->n && name->p[at] == '.' && il >= from && il < from + n)
            m->bound[i] = true;
    }
}

/* The file may end with layers that predict further tokens. */
static gkv_status further(struct gkv_model *m, gkv_error *err)
{
    uint32_t n = 0;

    GKV__TRY(gkv__arch_u32(m, "nextn_predict_layers", &n, false, err));
    if (n >= m->shape.n_layer)
        return gkv__fail(err, GKV_FORMAT, "%s: %u of %u layers predict further tokens", gkv__gguf_path(m->file), n,
                         m->shape.n_layer);
    if (n && m->arch->mtp && !gkv__arch_has(m, "blk.0.attn_norm.weight"))
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: this file has only the layer that predicts further tokens; take that "
                         "of the whole model", gkv__gguf_path(m->file));
    m->shape.n_layer -= n;
    m->shape.n_further = n;
    leave_out(m, m->shape.n_layer, n);
    return GKV_OK;
}

/* The embeddings and the head may be those of the model. */
static gkv_status bind_mtp(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const uint32_t il = s->n_layer, d = s->n_embd;
    struct gkv__mtp_weights *t = &m->mtp;
    struct gkv__mat eh;

    if (s->n_further > 1)
        return gkv__fail(err, GKV_UNSUPPORTED, "the model has %u layers that predict further tokens, and gemkv knows "
                         "models with one", s->n_further);
    if (!m->arch->mtp)
        return gkv__fail(err, GKV_UNSUPPORTED, "gemkv does not know how models of architecture %s predict further "
                         "tokens", m->arch->name);
    GKV__TRY(m->arch->layer(m, il, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "nextn.enorm.weight", d, &t->enorm, err));
    GKV__TRY(gkv__arch_layer_vec(m, il, "nextn.hnorm.weight", d, &t->hnorm, err));
    t->norm = m->output_norm;
    t->embed = m->embed;
    t->head = m->output;
    if (gkv__arch_layer_has(m, il, "nextn.shared_head_norm.weight"))
        GKV__TRY(gkv__arch_layer_vec(m, il, "nextn.shared_head_norm.weight", d, &t->norm, err));
    if (gkv__arch_layer_has(m, il, "nextn.embed_tokens.weight"))
        GKV__TRY(gkv__arch_layer_mat(m, il, "nextn.embed_tokens", s->n_vocab, d, &t->embed, err));
    if (gkv__arch_layer_has(m, il, "nextn.shared_head_head.weight"))
        GKV__TRY(gkv__arch_layer_mat(m, il, "nextn.shared_head_head", s->n_vocab, d, &t->head, err));
    GKV__TRY(gkv__arch_layer_mat(m, il, "nextn.eh_proj", d, 2 * d, &eh, err));
    t->eh = eh;                 /* now it is there */
    return GKV_OK;
}

static gkv_status bind(struct gkv_model *m, gkv_error *err)
{
    uint32_t experts = 0;

    GKV__TRY(further(m, err));
    GKV__TRY(gkv__rope_open(m, err));
    if (m->arch->keys)
        GKV__TRY(m->arch->keys(m, err));
    GKV__TRY(gkv__arch_u32(m, "expert_count", &experts, false, err));
    if (experts != m->shape.n_expert)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: architecture %s with %u experts is not supported",
                         gkv__gguf_path(m->file), m->arch->name, experts);
    GKV__TRY(ends(m, err));
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        GKV__TRY(m->arch->layer(m, il, err));
    if (m->shape.n_further)     /* the model answers without it, too */
        (void)bind_mtp(m, &m->mtp_error);
    return nothing_left_over(m, err);
}

gkv_status gkv__arch_bind(struct gkv_model *m, gkv_error *err)
{
    gkv_status status;

    m->bound = calloc(gkv__gguf_n_tensors(m->file) + 1, sizeof *m->bound);
    if (!m->bound)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = bind(m, err);
    free(m->bound);
    m->bound = NULL;
    return status;
}
