/* SPDX-License-Identifier: BSD-2-Clause
 * model.c - opens a GGUF file as a model: binds tensors by name and shape, or refuses the file. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/model/arch.h"
#include "src/base/mem.h"
#include "src/model/rope.h"
#include "src/model/layers.h"
#include "src/model/repacked.h"
#include "src/template/template.h"
#include "src/token/token.h"

/* ---- opening ---------------------------------------------------------------------------- */

/* Seconds since 1970 in local time; $SOURCE_DATE_EPOCH instead if it is set, so that a run can be
 * repeated on another day. */
static int64_t wall_clock(void)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    time_t now = time(NULL);
    struct tm t;

    if (fixed && *fixed)
        return strtoll(fixed, NULL, 10);
    return localtime_r(&now, &t) ? (int64_t)now + t.tm_gmtoff : (int64_t)now;
}

/* The text of a token, for templates that print it. */
static void token_name(const struct gkv_model *m, uint32_t id, char name[64])
{
    size_t n = gkv__token_text(m->vocab, id, true, name, 63);

    name[n < 64 ? n : 0] = 0;
}

gkv_status gkv__model_template(const struct gkv_model *m, const char *system, bool think,
                               struct gkv__template *out, gkv_error *err)
{
    const uint32_t bos = gkv__vocab_bos(m->vocab);
    struct gkv__str jinja = { NULL, 0 };
    uint32_t eos = GKV__NO_TOKEN;
    char bos_name[64], eos_name[64];

    GKV__TRY(gkv__gguf_str(m->file, "tokenizer.chat_template", &jinja, err));
    GKV__TRY(gkv__gguf_u32(m->file, "tokenizer.ggml.eos_token_id", &eos, err));
    if (!jinja.n)
        return gkv__fail(err, GKV_UNSUPPORTED, "the model has no chat template");
    token_name(m, bos, bos_name);
    token_name(m, eos, eos_name);
    return gkv__template_own(out, jinja.p, (size_t)jinja.n, system, bos_name, eos_name,
                             gkv__vocab_add_bos(m->vocab) && bos != GKV__NO_TOKEN, think, wall_clock(),
                             err);
}

/* Uses the file's own template if it can be run, else the family that it resembles; then template_error
 * says why it cannot be run. */
static gkv_status chat_template(struct gkv_model *m, gkv_error *err)
{
    struct gkv__str jinja = { "", 0 };
    gkv_status status;

    GKV__TRY(gkv__gguf_str(m->file, "tokenizer.chat_template", &jinja, err));
    m->own_template = calloc(1, sizeof *m->own_template);
    if (!m->own_template)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__model_template(m, NULL, false, m->own_template, &m->template_error);
    if (status == GKV_NOMEM || status == GKV_FORMAT) {
        if (err)
            *err = m->template_error;
        return status;
    }
    m->chat_template = status == GKV_OK ? m->own_template
                                        : gkv__template_recognise(jinja.p, (size_t)jinja.n);
    return GKV_OK;
}

static gkv_status vocabulary(struct gkv_model *m, gkv_error *err)
{
    const struct gkv__kv *tokens = gkv__gguf_find(m->file, "tokenizer.ggml.tokens");

    if (tokens && tokens->is_array && tokens->n <= UINT32_MAX)
        m->shape.n_vocab = (uint32_t)tokens->n;
    if (gkv__vocab_open(&m->vocab, m->file, &m->vocab_error) != GKV_OK) {
        if (m->vocab_error.status == GKV_UNSUPPORTED)
            return GKV_OK;      /* reported when text is needed; ids work without */
        if (err)
            *err = m->vocab_error;
        return m->vocab_error.status;
    }
    return chat_template(m, err);
}

static void list_filters(struct gkv_model *m)
{
    const size_t room = sizeof m->filters;
    size_t at = 0;

    for (uint32_t il = 0; (gkv__has_states(m) || !gkv__is_even(m)) && il < m->shape.n_layer; il++) {
        if (!gkv__can_filter(m, il))
            continue;
        if (at + 12 > room) {
            snprintf(m->filters + at, room - at, " ...");
            return;
        }
        at += (size_t)snprintf(m->filters + at, room - at, "%s%u", at ? " " : "", il);
    }
}

static void describe(struct gkv_model *m)
{
    struct gkv__str name = { "", 0 };

    if (gkv__gguf_str(m->file, "general.name", &name, NULL) == GKV_OK)
        snprintf(m->name, sizeof m->name, "%.*s", (int)(name.n < 63 ? name.n : 63), name.p);
    gkv__describe_types(m->file, &m->types);
    list_filters(m);
}

static gkv_status unknown(const char *path, const struct gkv__str *arch, gkv_error *err)
{
    char known[512] = "";
    size_t at = 0;

    if (!arch->n)
        return gkv__fail(err, GKV_FORMAT, "%s: key general.architecture is missing", path);
    for (size_t i = 0; gkv__arch_at(i); i++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", gkv__arch_at(i));
    return gkv__fail(err, GKV_UNSUPPORTED, "%s: architecture \"%.*s\" is not supported; there are:%s",
                     path, (int)(arch->n < 64 ? arch->n : 64), arch->p, known);
}

static gkv_status bind(struct gkv_model *m, gkv_error *err)
{
    const char *path = gkv__gguf_path(m->file);
    struct gkv__str arch = { "", 0 };

    GKV__TRY(gkv__gguf_str(m->file, "general.architecture", &arch, err));
    m->arch = gkv__arch_named(arch.p, (size_t)arch.n);
    if (!m->arch)
        return unknown(path, &arch, err);
    GKV__TRY(gkv__arch_shape(m, err));
    GKV__TRY(gkv__arch_u32(m, "vocab_size", &m->shape.n_vocab, false, err));
    if (!m->shape.n_vocab)
        return gkv__fail(err, GKV_FORMAT, "%s: no vocabulary and no vocab_size", path);
    m->layer = calloc(m->shape.n_layer, sizeof *m->layer);
    if (!m->layer)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    GKV__TRY(gkv__arch_bind(m, err));
    if (m->vocab && gkv__vocab_size(m->vocab) > m->shape.n_vocab)
        return gkv__fail(err, GKV_FORMAT, "%s: %u tokens but embeddings for %u", path,
                         gkv__vocab_size(m->vocab), m->shape.n_vocab);
    return gkv__layer_table(m, err);
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
    m->store = gkv__store_open();
    status = m->store ? gkv__gguf_open(&m->file, path, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
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
    if (m->own_template)
        free(m->own_template->text);
    free(m->own_template);
    gkv__rope_close(m);
    gkv__store_close(m->store, m->shape.n_layer);
    free(m->ones);
    free(m->layer);
    free(m);
}

static void describe_model(const gkv_model *m, gkv_model_info *out)
{
    const struct gkv__shape *s = &m->shape;

    *out = (gkv_model_info){
        .name = m->name,
        .architecture = m->arch ? m->arch->name : "",
        .types = m->types.all,
        .parameters = m->types.parameters,
        .file_bytes = gkv__gguf_bytes(m->file),
        .n_layer = s->n_layer, .n_embd = s->n_embd, .n_head = s->n_head,
        .n_head_kv = s->n_head_kv, .head_dim = s->head_dim, .n_ff = s->n_ff,
        .n_vocab = s->n_vocab, .context = s->context,
        .rope = gkv__rope_name(m->rope_kind),
        .rope_base = m->rope_base,
        .tokenizer = m->vocab ? gkv__vocab_kind(m->vocab) : "",
        .pre = m->vocab ? gkv__vocab_pre(m->vocab) : "",
        .chat_template = m->chat_template ? m->chat_template->name : NULL,
        .filter_layer = m->filter_layer,
        .filter_layer_source = m->filter_layer_source,
        .tsp_layer = m->tsp_layer,
        .tsp_layer_source = m->tsp_layer_source,
        .type_groups = m->types.group,
        .chat_template_own = m->chat_template && m->chat_template == m->own_template,
        .chat_template_problem = m->template_error.status ? m->template_error.text : NULL,
        .attending = *m->filters ? m->filters : NULL,
        .mtp = s->n_further,
        .mtp_problem = s->n_further && !gkv__has_mtp(m) ? m->mtp_error.text : NULL,
    };
}

void gkv_model_describe_size(const gkv_model *m, gkv_model_info *out, size_t size)
{
    gkv_model_info all;

    describe_model(m, &all);
    gkv__give(out, size, &all, sizeof all);
}

uint64_t gkv_model_fingerprint(const gkv_model *m)
{
    return gkv__gguf_fingerprint(m->file);
}

gkv_status gkv_model_layers(gkv_model *m, uint32_t filter, uint32_t tsp, const char *source,
                            gkv_error *err)
{
    const uint32_t n = m->shape.n_layer;

    if (filter >= n || tsp >= n)
        return gkv__fail(err, GKV_INVALID, "layer %u: the model has %u layers",
                         filter >= n ? filter : tsp, n);
    GKV__TRY(gkv__may_filter(m, filter, err));
    m->filter_layer = filter;
    m->tsp_layer = tsp;
    snprintf(m->source, sizeof m->source, "%s", source);
    m->filter_layer_source = m->tsp_layer_source = m->source;
    return GKV_OK;
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
        at += gkv__token_text_after(m->vocab, i ? ids[i - 1] : GKV__NO_TOKEN, ids[i], true,
                                    NULL, 0);
    }
    cap = at + 1;               /* a space that is removed again, later the NUL */
    *text = malloc(cap);
    if (!*text)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    at = 0;
    for (size_t i = 0; i < n; i++)
        at += gkv__token_text_after(m->vocab, i ? ids[i - 1] : GKV__NO_TOKEN, ids[i], true,
                                    *text + at, cap - at);
    (*text)[at] = 0;
    *len = at;
    return GKV_OK;
}

/* ---- layers with a state ---------------------------------------------------------------- */

uint32_t gkv__n_attending(const struct gkv_model *m, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t il = 0; il < n; il++)
        sum += gkv__attends(m, il);
    return sum;
}

/* Where layers differ, the filter layer is one of those that see the whole text. */
bool gkv__can_filter(const struct gkv_model *m, uint32_t il)
{
    return gkv__has_keys(m, il) && !m->layer[il].shape;
}

gkv_status gkv__may_filter(const struct gkv_model *m, uint32_t il, gkv_error *err)
{
    if (gkv__can_filter(m, il))
        return GKV_OK;
    if (!gkv__attends(m, il))
        return gkv__fail(err, GKV_INVALID, "layer %u has a state and no keys, so it cannot score tokens; layers that "
                         "attend: %s", il, m->filters);
    return gkv__fail(err, GKV_INVALID, "layer %u %s, so it cannot score tokens; layers that can: %s", il,
                     m->layer[il].shares ? "has the keys of an earlier layer" : "sees a part of the text only", m->filters);
}

/* ---- residency -------------------------------------------------------------------------- */

const struct gkv__mat *gkv__model_matrix(const struct gkv_model *m, uint32_t il, size_t i)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__mat *const all[GKV__N_MATRICES] = {
        &w->gate, &w->up, &w->down,     /* first, as gkv__model_pieces knows */
        &w->q, &w->k, &w->v, &w->o,
        &w->qkv, &w->z, &w->beta, &w->alpha, &w->out,
        &w->router, &w->shared_gate, &w->shared_up, &w->shared_down,
        &w->embed_gate, &w->embed_in, &w->embed_out,
    };

    return all[i];
}

uint32_t gkv__model_pieces(const struct gkv_model *m, uint32_t il, size_t i)
{
    const struct gkv__layer_weights *w = &m->layer[il];

    if (!w->router.data || i > 2)
        return 1;
    return w->up.data || i ? m->shape.n_expert : 2 * m->shape.n_expert;
}

void gkv__model_layer_need(const struct gkv_model *m, uint32_t il, bool need)
{
    for (size_t i = 0; i < GKV__N_MATRICES; i++) {
        const struct gkv__mat *w = gkv__model_matrix(m, il, i);

        if (w->data)
            (need ? gkv__gguf_willneed : gkv__gguf_dontneed)(w->data, gkv__mat_bytes(w));
    }
}

void gkv__model_drop(const struct gkv_model *m)
{
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        gkv__model_layer_need(m, il, false);
    gkv__gguf_dontneed(m->embed.data, gkv__mat_bytes(&m->embed));
    if (m->layer_embed.data)
        gkv__gguf_dontneed(m->layer_embed.data, gkv__mat_bytes(&m->layer_embed));
    gkv__gguf_dontneed(m->output.data, gkv__mat_bytes(&m->output));
    if (gkv__has_mtp(m)) {
        gkv__model_layer_need(m, m->shape.n_layer, false);
        gkv__gguf_dontneed(m->mtp.eh.data, gkv__mat_bytes(&m->mtp.eh));
        gkv__gguf_dontneed(m->mtp.embed.data, gkv__mat_bytes(&m->mtp.embed));
        gkv__gguf_dontneed(m->mtp.head.data, gkv__mat_bytes(&m->mtp.head));
    }
}

static uint64_t vector_bytes(const struct gkv__shape *s, const struct gkv__layer_weights *w)
{
    const uint64_t q = (uint64_t)s->n_head * s->head_dim, kv = (uint64_t)s->n_head_kv * s->head_dim;
    const struct { const float *p; uint64_t n; } vecs[] = {
        { w->attn_norm, s->n_embd }, { w->ffn_norm, s->n_embd }, { w->attn_post, s->n_embd },
        { w->ffn_post, s->n_embd }, { w->q_bias, q }, { w->k_bias, kv }, { w->v_bias, kv },
        { w->q_norm, w->norm_rows ? q : s->head_dim }, { w->k_norm, w->norm_rows ? kv : s->head_dim },
        { w->out_scale, 1 }, { w->embed_post, s->n_embd }, { w->router_norm, s->n_embd }, { w->expert_norm, s->n_embd },
        { w->shared_post, s->n_embd }, { w->expert_post, s->n_embd }, { w->expert_scale, s->n_expert },
        { w->o_bias, s->n_embd }, { w->sinks, s->n_head }, { w->router_bias, s->n_expert },
        { w->gate_bias, (uint64_t)s->n_expert * s->n_ff_expert },
        { w->up_bias, (uint64_t)s->n_expert * s->n_ff_expert },
        { w->down_bias, (uint64_t)s->n_expert * s->n_embd },
        { w->shared_router, s->n_embd },
        { w->conv, gkv__state_channels(s) * s->state.width }, { w->dt, s->state.v_heads },
        { w->a, s->state.v_heads }, { w->skip, s->state.v_heads }, { w->conv_bias, gkv__state_channels(s) },
        { w->state_norm, (w->mixer == GKV__MAMBA2 ? s->state.v_heads : 1) * (uint64_t)s->state.v_dim },
    };
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        sum += vecs[i].p ? vecs[i].n : 0;
    return sum * sizeof(float);
}

uint64_t gkv__model_layer_bytes(const struct gkv_model *m, uint32_t il)
{
    uint64_t sum = vector_bytes(gkv__shape_of(m, il), &m->layer[il]);

    for (size_t i = 0; i < GKV__N_MATRICES; i++) {
        const struct gkv__mat *w = gkv__model_matrix(m, il, i);

        sum += w->data ? gkv__mat_bytes(w) : 0;
    }
    return sum;
}

uint64_t gkv__model_weight_bytes(const struct gkv_model *m)
{
    uint64_t sum = gkv__model_embed_bytes(m);

    if (m->output.data != m->embed.data)
        sum += gkv__mat_bytes(&m->output);
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        sum += gkv__model_layer_bytes(m, il);
    return sum;
}

uint64_t gkv__model_mtp_bytes(const struct gkv_model *m)
{
    const struct gkv__mtp_weights *t = &m->mtp;
    uint64_t sum;

    if (!gkv__has_mtp(m))
        return 0;
    sum = gkv__model_layer_bytes(m, m->shape.n_layer) + gkv__mat_bytes(&t->eh) + 3 * m->shape.n_embd * sizeof(float);
    if (t->embed.data != m->embed.data)
        sum += gkv__mat_bytes(&t->embed);
    if (t->head.data != m->output.data)
        sum += gkv__mat_bytes(&t->head);
    return sum;
}

/* Linux maps this much around a page that is read from a cached file. */
enum { AROUND = 64 << 10 };

static uint64_t spare(const struct gkv__mat *table, uint64_t n, uint64_t each)
{
    const uint64_t all = gkv__mat_bytes(table);
    uint64_t near;

    return gkv__mul(n, each, &near) && near < all ? all - near : 0;
}

/* Of the embeddings of all layers, which are long rows, a token may need two such places. */
static uint64_t layer_spare(const struct gkv_model *m, uint64_t n)
{
    return m->layer_embed.data ? spare(&m->layer_embed, n, AROUND + gkv__mat_row_bytes(&m->layer_embed)) : 0;
}

uint64_t gkv__model_embed_bytes(const struct gkv_model *m)
{
    return gkv__mat_bytes(&m->embed) + (m->layer_embed.data ? gkv__mat_bytes(&m->layer_embed) : 0);
}

uint64_t gkv__model_embed_spare(const struct gkv_model *m, uint64_t n)
{
    return spare(&m->embed, n, AROUND) + layer_spare(m, n);
}

uint64_t gkv__model_input_spare(const struct gkv_model *m, uint64_t n)
{
    return m->output.data == m->embed.data ? layer_spare(m, n) : gkv__model_embed_spare(m, n);
}
