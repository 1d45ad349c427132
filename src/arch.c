/* SPDX-License-Identifier: BSD-2-Clause
 * arch.c - the list of architectures, and what their bind functions share. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "src/arch.h"

extern const struct gkv__arch gkv__arch_llama;

static const struct gkv__arch *const archs[] = {
    &gkv__arch_llama,
};

const struct gkv__arch *gkv__arch_named(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i]->name) == len && !memcmp(archs[i]->name, name, len))
            return archs[i];
    return NULL;
}

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

gkv_status gkv__arch_f32(const struct gkv_model *m, const char *key, float *out, bool required,
                         gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, required, full, err));
    return gkv__gguf_f32(m->file, full, out, err);
}

gkv_status gkv__arch_str(const struct gkv_model *m, const char *key, struct gkv__str *out,
                         gkv_error *err)
{
    char full[128];

    GKV__TRY(full_key(m, key, false, full, err));
    return gkv__gguf_str(m->file, full, out, err);
}

static gkv_status in_range(const struct gkv_model *m, const char *what, uint64_t v, uint64_t min,
                           uint64_t max, gkv_error *err)
{
    if (v >= min && v <= max)
        return GKV_OK;
    return gkv__fail(err, GKV_FORMAT, "%s: %s is %" PRIu64 ", not in %" PRIu64 " .. %" PRIu64,
                     gkv__gguf_path(m->file), what, v, min, max);
}

/* Scaling that changes only the frequencies: none, or linear (Chen et al. 2023).  Llama 3's
 * comes as a tensor of divisors. */
static gkv_status rope_scaling(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    struct gkv__str type = { "none", 4 };

    s->rope_factor = 1;
    GKV__TRY(gkv__arch_str(m, "rope.scaling.type", &type, err));
    if (type.n == 4 && !memcmp(type.p, "none", 4))
        return GKV_OK;
    if (type.n != 6 || memcmp(type.p, "linear", 6))
        return gkv__fail(err, GKV_UNSUPPORTED,
                         "%s: RoPE scaling \"%.*s\" is not supported yet (none, linear and "
                         "rope_freqs are)", gkv__gguf_path(m->file),
                         (int)(type.n < 32 ? type.n : 32), type.p);
    GKV__TRY(gkv__arch_f32(m, "rope.scaling.factor", &s->rope_factor, true, err));
    if (!(s->rope_factor > 0 && s->rope_factor <= 65536))
        return gkv__fail(err, GKV_FORMAT, "%s: rope.scaling.factor is %g",
                         gkv__gguf_path(m->file), (double)s->rope_factor);
    return GKV_OK;
}

gkv_status gkv__arch_shape(struct gkv_model *m, gkv_error *err)
{
    struct gkv__shape *s = &m->shape;
    const char *path = gkv__gguf_path(m->file);
    uint32_t v_dim;

    s->pairs = m->arch->pairs;
    GKV__TRY(gkv__arch_u32(m, "block_count", &s->n_layer, true, err));
    GKV__TRY(gkv__arch_u32(m, "embedding_length", &s->n_embd, true, err));
    GKV__TRY(gkv__arch_u32(m, "feed_forward_length", &s->n_ff, true, err));
    GKV__TRY(gkv__arch_u32(m, "attention.head_count", &s->n_head, true, err));
    GKV__TRY(in_range(m, "block_count", s->n_layer, 1, 1024, err));
    GKV__TRY(in_range(m, "embedding_length", s->n_embd, 1, 1 << 20, err));
    GKV__TRY(in_range(m, "feed_forward_length", s->n_ff, 1, 1 << 22, err));
    GKV__TRY(in_range(m, "attention.head_count", s->n_head, 1, 4096, err));
    s->n_head_kv = s->n_head;
    GKV__TRY(gkv__arch_u32(m, "attention.head_count_kv", &s->n_head_kv, false, err));
    if (!s->n_head_kv || s->n_head % s->n_head_kv)
        return gkv__fail(err, GKV_FORMAT, "%s: %u heads do not share %u KV heads evenly", path,
                         s->n_head, s->n_head_kv);
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
    s->context = 0;
    GKV__TRY(gkv__arch_u32(m, "context_length", &s->context, true, err));
    GKV__TRY(gkv__arch_f32(m, "attention.layer_norm_rms_epsilon", &s->eps, true, err));
    if (!(s->eps >= 0 && s->eps < 1))
        return gkv__fail(err, GKV_FORMAT, "%s: layer_norm_rms_epsilon is %g", path, (double)s->eps);
    s->rope_base = 10000;
    GKV__TRY(gkv__arch_f32(m, "rope.freq_base", &s->rope_base, false, err));
    if (!(s->rope_base > 1 && isfinite(s->rope_base)))
        return gkv__fail(err, GKV_FORMAT, "%s: rope.freq_base is %g", path, (double)s->rope_base);
    return rope_scaling(m, err);
}

/* ---- tensors ---------------------------------------------------------------------------- */

bool gkv__arch_has(const struct gkv_model *m, const char *name)
{
    return gkv__gguf_tensor(m->file, name) != NULL;
}

static gkv_status find_tensor(const struct gkv_model *m, const char *name, uint32_t rows,
                              uint32_t cols, const struct gkv__tensor **out,
                              const struct gkv__quant **format, gkv_error *err)
{
    const struct gkv__tensor *t = gkv__gguf_tensor(m->file, name);
    const char *path = gkv__gguf_path(m->file);

    if (!t)
        return gkv__fail(err, GKV_FORMAT, "%s: tensor %s is missing", path, name);
    if (t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != 1 || t->dim[3] != 1)
        return gkv__fail(err, GKV_FORMAT,
                         "%s: tensor %s is %" PRIu64 " x %" PRIu64 ", expected %u x %u", path,
                         name, t->dim[0], t->dim[1], cols, rows);
    *format = gkv__quant_of_ggml(t->type);
    if (!*format || (*format)->type == GKV__TYPE_NONE)
        return gkv__fail(err, GKV_UNSUPPORTED,
                         "%s: tensor %s has type %s, which is not supported yet; convert the model "
                         "to q8_0, q4_k or another of the usual types", path, name,
                         *format ? (*format)->name : "unknown");
    *out = t;
    return GKV_OK;
}

gkv_status gkv__arch_mat(const struct gkv_model *m, const char *name, uint32_t n_out,
                         uint32_t n_in, struct gkv__mat *out, gkv_error *err)
{
    const struct gkv__tensor *t;

    GKV__TRY(find_tensor(m, name, n_out, n_in, &t, &out->format, err));
    out->data = t->data;
    out->n_out = n_out;
    out->n_in = n_in;
    return GKV_OK;
}

gkv_status gkv__arch_vec(const struct gkv_model *m, const char *name, uint32_t n,
                         const float **out, gkv_error *err)
{
    const struct gkv__quant *format;
    const struct gkv__tensor *t;

    GKV__TRY(find_tensor(m, name, 1, n, &t, &format, err));
    if (format->type != GKV__TYPE_F32)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: tensor %s has type %s, expected f32",
                         gkv__gguf_path(m->file), name, format->name);
    *out = (const float *)(const void *)t->data;
    return GKV_OK;
}
