/* SPDX-License-Identifier: BSD-2-Clause
 * model.c - a GGUF file becomes a model: tensors bound by name and shape, or refused. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/arch.h"
#include "src/mem.h"
#include "src/template.h"

/* ---- what must hold of any model -------------------------------------------------------- */

/* Rows of a quantised matrix must be whole blocks; the reader proved it of dim[0].  Here: every
 * tensor of the file is one that the architecture asked for.  A model with an extra bias would
 * otherwise answer nonsense in good English. */
static gkv_status nothing_left_over(const struct gkv_model *m, gkv_error *err)
{
    size_t n = gkv__gguf_n_tensors(m->file), bound = 0;
    const struct gkv__shape *s = &m->shape;
    const void **used = calloc((size_t)s->n_layer * 9 + 4, sizeof *used);
    gkv_status status = GKV_OK;

    if (!used)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    used[bound++] = m->embed.data;
    used[bound++] = m->output.data;
    used[bound++] = m->output_norm;
    used[bound++] = m->rope_divisor;
    for (uint32_t il = 0; il < s->n_layer; il++) {
        const struct gkv__layer_weights *w = &m->layer[il];
        const void *const all[9] = { w->q.data, w->k.data, w->v.data, w->o.data, w->gate.data,
                                     w->up.data, w->down.data, w->attn_norm, w->ffn_norm };
        memcpy(used + bound, all, sizeof all);
        bound += 9;
    }
    for (size_t i = 0; i < n && status == GKV_OK; i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(m->file, i);
        size_t j = 0;

        while (j < bound && used[j] != t->data)
            j++;
        if (j == bound)
            status = gkv__fail(err, GKV_UNSUPPORTED,
                               "%s: tensor %.*s is not part of architecture %s as gemkv knows it",
                               gkv__gguf_path(m->file), (int)(t->name.n < 64 ? t->name.n : 64),
                               t->name.p, m->arch->name);
    }
    free(used);
    return status;
}

/* Radians per position of each rotated pair: base^(-2i/n), scaled. */
static gkv_status rope_frequencies(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;

    m->rope_freq = malloc(s->n_rot / 2 * sizeof *m->rope_freq);
    if (!m->rope_freq)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < s->n_rot / 2; i++) {
        double f = pow((double)s->rope_base, -2.0 * i / s->n_rot) / (double)s->rope_factor;
        if (m->rope_divisor) {
            if (!(m->rope_divisor[i] > 0))
                return gkv__fail(err, GKV_FORMAT, "%s: rope_freqs.weight[%u] is %g",
                                 gkv__gguf_path(m->file), i, (double)m->rope_divisor[i]);
            f /= (double)m->rope_divisor[i];
        }
        m->rope_freq[i] = f;
    }
    return GKV_OK;
}

/* Filter layer: the file's own, else the papers' rule of thumb, 0.47 of the depth. */
static gkv_status filter_layer(struct gkv_model *m, gkv_error *err)
{
    const uint32_t n = m->shape.n_layer;

    m->filter_layer = (uint32_t)(0.47 * n);
    m->filter_layer_source = "default";
    if (!gkv__gguf_find(m->file, "gemkv.filter_layer"))
        return GKV_OK;
    GKV__TRY(gkv__gguf_u32(m->file, "gemkv.filter_layer", &m->filter_layer, err));
    m->filter_layer_source = "file";
    if (m->filter_layer >= n)
        return gkv__fail(err, GKV_FORMAT, "%s: gemkv.filter_layer is %u of %u layers",
                         gkv__gguf_path(m->file), m->filter_layer, n);
    return GKV_OK;
}

static gkv_status vocabulary(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__kv *tokens = gkv__gguf_find(m->file, "tokenizer.ggml.tokens");
    struct gkv__str jinja = { NULL, 0 };

    if (tokens && tokens->is_array && tokens->n <= UINT32_MAX)
        m->shape.n_vocab = (uint32_t)tokens->n;
    if (gkv__vocab_open(&m->vocab, m->file, &m->vocab_error) != GKV_OK) {
        if (m->vocab_error.status == GKV_UNSUPPORTED)
            return GKV_OK;      /* said when somebody needs it; ids can still be computed with */
        if (err)
            *err = m->vocab_error;
        return m->vocab_error.status;
    }
    GKV__TRY(gkv__gguf_str(m->file, "tokenizer.chat_template", &jinja, err));
    if (jinja.n)
        m->chat_template = gkv__template_recognise(jinja.p, (size_t)jinja.n);
    return GKV_OK;
}

static void describe(struct gkv_model *m)
{
    struct gkv__str name = { "", 0 };
    size_t count[32] = { 0 }, n = gkv__gguf_n_tensors(m->file), at = 0;
    const struct gkv__quant *kind[32];
    size_t n_kinds = 0;

    if (gkv__gguf_str(m->file, "general.name", &name, NULL) == GKV_OK)
        snprintf(m->name, sizeof m->name, "%.*s", (int)(name.n < 63 ? name.n : 63), name.p);
    for (size_t i = 0; i < n; i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(m->file, i);
        const struct gkv__quant *q = gkv__quant_of_ggml(t->type);
        size_t j = 0;

        m->parameters += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
        while (j < n_kinds && kind[j] != q)
            j++;
        if (j == n_kinds && n_kinds < 32)
            kind[n_kinds++] = q;
        if (j < 32)
            count[j]++;
    }
    for (size_t j = 0; j < n_kinds && at < sizeof m->types; j++)
        at += (size_t)snprintf(m->types + at, sizeof m->types - at, "%s%s %zu", j ? ", " : "",
                               kind[j] ? kind[j]->name : "unknown", count[j]);
}

static gkv_status bind(struct gkv_model *m, gkv_error *err)
{
    const char *path = gkv__gguf_path(m->file);
    struct gkv__str arch = { "", 0 };

    GKV__TRY(gkv__gguf_str(m->file, "general.architecture", &arch, err));
    m->arch = gkv__arch_named(arch.p, (size_t)arch.n);
    if (!m->arch)
        return arch.n ? gkv__fail(err, GKV_UNSUPPORTED,
                                  "%s: architecture \"%.*s\" is not supported yet (llama is)", path,
                                  (int)(arch.n < 64 ? arch.n : 64), arch.p)
                      : gkv__fail(err, GKV_FORMAT, "%s: key general.architecture is missing", path);
    GKV__TRY(gkv__arch_shape(m, err));
    GKV__TRY(gkv__arch_u32(m, "vocab_size", &m->shape.n_vocab, false, err));
    if (!m->shape.n_vocab)
        return gkv__fail(err, GKV_FORMAT, "%s: no vocabulary and no vocab_size", path);
    m->layer = calloc(m->shape.n_layer, sizeof *m->layer);
    if (!m->layer)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    GKV__TRY(m->arch->bind(m, err));
    GKV__TRY(nothing_left_over(m, err));
    if (m->vocab && gkv__vocab_size(m->vocab) > m->shape.n_vocab)
        return gkv__fail(err, GKV_FORMAT, "%s: %u tokens but embeddings for %u", path,
                         gkv__vocab_size(m->vocab), m->shape.n_vocab);
    GKV__TRY(rope_frequencies(m, err));
    return filter_layer(m, err);
}

/* ---- API -------------------------------------------------------------------------------- */

gkv_status gkv_model_open(gkv_model **out, const char *path, unsigned flags, gkv_error *err)
{
    double start = gkv__seconds();
    gkv_model *m = calloc(1, sizeof *m);
    gkv_status status;

    *out = NULL;
    if (!m)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__gguf_open(&m->file, path, err);
    if (status == GKV_OK)
        status = vocabulary(m, err);
    if (status == GKV_OK && !(flags & GKV_MODEL_VOCAB_ONLY))
        status = bind(m, err);
    if (status == GKV_OK && (flags & GKV_MODEL_VOCAB_ONLY) && !m->vocab) {
        if (err)
            *err = m->vocab_error;
        status = m->vocab_error.status;
    }
    if (status != GKV_OK) {
        gkv_model_close(m);
        return status;
    }
    describe(m);
    m->load_seconds = gkv__seconds() - start;
    *out = m;
    return GKV_OK;
}

void gkv_model_close(gkv_model *m)
{
    if (!m)
        return;
    gkv__vocab_close(m->vocab);
    gkv__gguf_close(m->file);
    free(m->rope_freq);
    free(m->layer);
    free(m);
}

void gkv_model_describe(const gkv_model *m, gkv_model_info *out)
{
    const struct gkv__shape *s = &m->shape;

    *out = (gkv_model_info){
        .name = m->name,
        .architecture = m->arch ? m->arch->name : "",
        .types = m->types,
        .parameters = m->parameters,
        .file_bytes = gkv__gguf_bytes(m->file),
        .n_layer = s->n_layer, .n_embd = s->n_embd, .n_head = s->n_head,
        .n_head_kv = s->n_head_kv, .head_dim = s->head_dim, .n_ff = s->n_ff,
        .n_vocab = s->n_vocab, .context = s->context,
        .rope = m->rope_divisor ? "llama3" : s->rope_factor > 1 ? "linear" : "none",
        .rope_base = s->rope_base,
        .tokenizer = m->vocab ? gkv__vocab_kind(m->vocab) : "",
        .pre = m->vocab ? gkv__vocab_pre(m->vocab) : "",
        .chat_template = m->chat_template ? m->chat_template->name : NULL,
        .filter_layer = m->filter_layer,
        .filter_layer_source = m->filter_layer_source,
    };
}

static gkv_status need_vocab(const gkv_model *m, gkv_error *err)
{
    if (m->vocab)
        return GKV_OK;
    if (err)
        *err = m->vocab_error;
    return m->vocab_error.status;
}

gkv_status gkv_tokenize(const gkv_model *m, const char *text, size_t len, unsigned flags,
                        uint32_t **ids, size_t *n, gkv_error *err)
{
    const struct gkv__range whole = { 0, len };
    bool special = flags & GKV_TOKENS_SPECIAL, bos;
    struct gkv__tokens t = { 0 };
    gkv_status status;

    *ids = NULL;
    *n = 0;
    GKV__TRY(need_vocab(m, err));
    bos = special && gkv__vocab_add_bos(m->vocab) && gkv__vocab_bos(m->vocab) != GKV__NO_TOKEN;
    status = gkv__tokenize(m->vocab, text, len, &whole, !special, &t, err);
    if (status == GKV_OK) {
        *ids = malloc((t.n + 1) * sizeof **ids);
        if (!*ids)
            status = gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    if (status == GKV_OK) {
        if (bos)
            **ids = gkv__vocab_bos(m->vocab);
        if (t.n)
            memcpy(*ids + bos, t.id, t.n * sizeof **ids);
        *n = t.n + bos;
    }
    gkv__tokens_free(&t);
    return status;
}

gkv_status gkv_detokenize(const gkv_model *m, const uint32_t *ids, size_t n, char **text,
                          size_t *len, gkv_error *err)
{
    size_t at = 0, cap;

    *text = NULL;
    *len = 0;
    GKV__TRY(need_vocab(m, err));
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= gkv__vocab_size(m->vocab))
            return gkv__fail(err, GKV_INVALID, "token %u is not in the vocabulary of %u", ids[i],
                             gkv__vocab_size(m->vocab));
        at += gkv__token_text(m->vocab, ids[i], true, NULL, 0);
    }
    cap = at;
    *text = malloc(cap + 1);
    if (!*text)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    at = 0;
    for (size_t i = 0; i < n; i++)
        at += gkv__token_text(m->vocab, ids[i], true, *text + at, cap - at);
    (*text)[at] = 0;
    *len = at;
    return GKV_OK;
}

/* ---- residency -------------------------------------------------------------------------- */

void gkv__model_layer_need(const struct gkv_model *m, uint32_t il, bool need)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__mat *mats[] = { &w->q, &w->k, &w->v, &w->o, &w->gate, &w->up, &w->down };

    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++)
        (need ? gkv__gguf_willneed : gkv__gguf_dontneed)(mats[i]->data, gkv__mat_bytes(mats[i]));
}

uint64_t gkv__model_layer_bytes(const struct gkv_model *m, uint32_t il)
{
    const struct gkv__layer_weights *w = &m->layer[il];

    return gkv__mat_bytes(&w->q) + gkv__mat_bytes(&w->k) + gkv__mat_bytes(&w->v) +
           gkv__mat_bytes(&w->o) + gkv__mat_bytes(&w->gate) + gkv__mat_bytes(&w->up) +
           gkv__mat_bytes(&w->down) + 2 * sizeof(float) * (uint64_t)m->shape.n_embd;
}

uint64_t gkv__model_weight_bytes(const struct gkv_model *m)
{
    uint64_t sum = gkv__mat_bytes(&m->embed);

    if (m->output.data != m->embed.data)
        sum += gkv__mat_bytes(&m->output);
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        sum += gkv__model_layer_bytes(m, il);
    return sum;
}
