/* SPDX-License-Identifier: BSD-2-Clause
 * document.c - see document.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/sum.h"
#include "src/document.h"
#include "src/first/group.h"
#include "src/model/model.h"
#include "src/base/unicode.h"

gkv_status gkv__document_append(gkv_document *d, const char *text, size_t len, gkv_error *err)
{
    if (len > d->cap - d->len) {
        size_t cap = d->cap ? d->cap : 4096;
        char *grown;

        while (cap - d->len < len) {
            if (cap > SIZE_MAX / 2)
                return gkv__fail(err, GKV_NOMEM, "out of memory");
            cap *= 2;
        }
        grown = realloc(d->text, cap);
        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "the system refused %s for the text", gkv__needed(cap).text);
        d->text = grown;
        d->cap = cap;
    }
    if (len)
        memcpy(d->text + d->len, text, len);
    d->len += len;
    return GKV_OK;
}

/* ---- opening, closing ------------------------------------------------------------------- */

gkv_status gkv__document_init(gkv_document *d, const struct gkv__vocab *v,
                              const struct gkv__template *tmpl, size_t piece, gkv_error *err)
{
    d->vocab = v;
    d->tmpl = tmpl;
    d->index.fd = -1;
    d->piece = d->next = piece;
    if (gkv__vocab_add_bos(v) && gkv__vocab_bos(v) != GKV__NO_TOKEN) {
        GKV__TRY(gkv__tokens_reserve(&d->tokens, 1, err));
        gkv__tokens_push(&d->tokens, gkv__vocab_bos(v), 0);
    }
    return gkv__document_append(d, tmpl->open, strlen(tmpl->open), err);
}

void gkv__document_free(gkv_document *d)
{
    for (size_t i = 0; i < d->n_joined; i++)
        gkv_document_close(d->joined[i]);
    free(d->joined);
    free(d->part);
    gkv__index_close(&d->index);
    gkv__tokens_free(&d->tokens);
    free(d->own_template.text);
    free(d->text);
    free(d->file);
}

/* A template that says in front of the documents whether the model shall think is told so. */
static gkv_status think(gkv_document *d, const char *system, const struct gkv__template **t, gkv_error *err)
{
    if ((*t)->marks && !*(*t)->start) {
        free(d->own_template.text);
        d->own_template.text = NULL;
        GKV__TRY(gkv__model_template(d->model, system, true, &d->own_template, err));
        *t = &d->own_template;
    }
    return *(*t)->start ? GKV_OK : gkv__fail(err, GKV_INVALID, "think: the chat template \"%s\" does not let a model think "
                                             "before it answers", (*t)->name);
}

static gkv_status choose_template(gkv_document *d, const gkv_options *o, const struct gkv__template **out,
                                  gkv_error *err)
{
    const gkv_model *m = d->model;
    const char *name = o->chat_template;

    if (o->system && (o->raw || name))
        return gkv__fail(err, GKV_INVALID,
                         "only the model's own chat template takes a system prompt");
    if (o->raw) {
        *out = &gkv__template_raw;
    } else if (o->system) {
        gkv_error why = { 0 };

        *out = &d->own_template;
        if (gkv__utf8_check(o->system, strlen(o->system), NULL) < strlen(o->system))
            return gkv__fail(err, GKV_INVALID, "the system prompt is not UTF-8");
        if (gkv__model_template(m, o->system, false, &d->own_template, &why) != GKV_OK)
            return gkv__fail(err, GKV_INVALID, "no system prompt for this model: %s", why.text);
    } else if (name) {
        *out = gkv__template_named(name);
        if (!*out) {
            char list[256] = "";
            size_t at = 0;
            for (size_t i = 0; gkv__template_at(i); i++)
                at += (size_t)snprintf(list + at, sizeof list - at, " %s", gkv__template_at(i)->name);
            return gkv__fail_unknown(err, "template", name, strlen(name), list);
        }
    } else {
        *out = m->chat_template ? m->chat_template : gkv__template_plain;
        if (*out != m->own_template)
            snprintf(d->warning, sizeof d->warning, "%.140s; using \"%s\" (choose with --template, "
                     "or give the whole prompt with --raw)", m->template_error.status ?
                     m->template_error.text : "the model has no chat template",
                     (*out)->name);
    }
    return o->think ? think(d, o->system, out, err) : GKV_OK;
}

/* Text is tokenized while it arrives, in pieces of this many bytes, so that a document that can
 * never fit is refused long before its end. */
enum { PIECE = 16 << 20, MIN_PIECE = 64 << 10, TOKEN = 16 };    /* TOKEN: bytes; most tokens are shorter */

static size_t piece_of(uint64_t max_context)
{
    return (size_t)gkv__max(MIN_PIECE, max_context ? gkv__min(PIECE, gkv__times(max_context, TOKEN)) : PIECE);
}

static gkv_status open_for(gkv_document *d, const gkv_options *o, gkv_error *err)
{
    const gkv_model *m = d->model;
    const struct gkv__template *tmpl = NULL;

    if (!m->vocab) {
        if (err)
            *err = m->vocab_error;
        return m->vocab_error.status;
    }
    GKV__TRY(choose_template(d, o, &tmpl, err));
    d->max_context = o->max_context;
    d->limit = o->memory_limit ? o->memory_limit : gkv_memory_default() / gkv__group_local(o->group);
    return gkv__document_init(d, m->vocab, tmpl, piece_of(o->max_context), err);
}

gkv_status gkv_document_open(gkv_document **out, gkv_model *model, const gkv_options *opt, gkv_error *err)
{
    gkv_document *d = calloc(1, sizeof *d);
    gkv_options o;
    gkv_status status;

    *out = NULL;
    if (!d)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->model = model;
    d->index.fd = -1;
    status = gkv__options(&o, opt, err);
    if (status == GKV_OK)
        status = open_for(d, &o, err);
    if (status != GKV_OK) {
        gkv_document_close(d);
        return status;
    }
    d->resident = gkv__mem_resident();
    *out = d;
    return GKV_OK;
}

void gkv_document_close(gkv_document *d)
{
    if (d)
        gkv__document_free(d);
    free(d);
}

/* ---- documents -------------------------------------------------------------------------- */

static gkv_status check_text(gkv_document *d, bool last, gkv_error *err)
{
    const uint64_t start = d->file[d->n_files - 1].start;
    const char *nul;
    size_t good;
    int cut = 0;

    if (d->checked == d->len)                   /* before the first byte there is no text at all */
        return GKV_OK;
    nul = memchr(d->text + d->checked, 0, d->len - d->checked);
    good = d->checked + gkv__utf8_check(d->text + d->checked, d->len - d->checked, &cut);
    if (nul && (size_t)(nul - d->text) < good)
        return gkv__fail(err, GKV_DOCUMENT, "document %zu is not text: byte %" PRIu64 " is NUL",
                         d->n_files, (uint64_t)(nul - d->text) - start + 1);
    if (good < d->len && (!cut || last))
        return gkv__fail(err, GKV_DOCUMENT, "document %zu is not UTF-8 text: byte %" PRIu64 " is 0x%02x; "
                         "if it is text in another encoding, convert it with iconv(1)", d->n_files,
                         (uint64_t)good - start + 1, (unsigned char)d->text[good]);
    d->checked = good;
    return GKV_OK;
}

/* Tokenizes the next n bytes.  All is plain text, except the template's opening, where special tokens are
 * parsed (but not in a system prompt). */
static gkv_status tokenize(gkv_document *d, size_t n, gkv_error *err)
{
    const double start = gkv__seconds();
    const size_t from = d->tokenized, open = strlen(d->tmpl->open);
    const struct gkv__range plain[] = {
        { d->tmpl->system, d->tmpl->system_end }, { from < open ? open - from : 0, n },
    };
    const size_t n_plain = !from && d->tmpl->system_end ? 2 : 1;

    GKV__TRY(gkv__tokenize(d->vocab, d->text + from, n, plain + 2 - n_plain, n_plain, &d->tokens, err));
    d->tokenized += n;
    d->seconds += gkv__seconds() - start;
    return GKV_OK;
}

/* Tokenizes what has arrived, up to the last place where tokens can be cut safely, if there is one. */
static gkv_status tokenize_piece(gkv_document *d, gkv_error *err)
{
    const size_t n = d->checked - d->tokenized;
    size_t cut = gkv__token_safe_cut(d->vocab, d->text + d->tokenized, n);

    if (d->tokenized + cut < strlen(d->tmpl->open))     /* the opening is never cut */
        cut = 0;
    /* No cut found in one long word: try again at twice its length, so that the search stays linear. */
    d->next = cut ? d->piece : 2 * n;
    return cut ? tokenize(d, cut, err) : GKV_OK;
}

static gkv_status begin_file(gkv_document *d, gkv_error *err)
{
    struct gkv__file *grown = realloc(d->file, (d->n_files + 1) * sizeof *grown);

    if (!grown)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->file = grown;
    if (d->n_files && !gkv__document_is_raw(d))
        GKV__TRY(gkv__document_append(d, "\n\n", 2, err));
    d->file[d->n_files++] = (struct gkv__file){ d->len, d->len };
    d->checked = d->len;
    d->file_open = true;
    return GKV_OK;
}

/* Up to this much text is never refused for itself; the plan of all memory then decides. */
enum { LITTLE = 1 << 20 };

/* Checks that len more bytes of text fit; what is left of the limit is for tokens. */
static gkv_status reserve_text(gkv_document *d, size_t len, gkv_error *err)
{
    const uint64_t text = (uint64_t)d->len + len, held = d->resident + text;

    if (!d->limit)
        return GKV_OK;
    if (held >= d->limit && text > LITTLE)
        return gkv__fail(err, GKV_LIMIT, "the program and its text need at least %s of memory, the limit is "
                         "%s; raise --memory, or give a shorter document", gkv__needed(held).text,
                         gkv__limit(d->limit).text);
    d->tokens.limit = gkv__max(d->limit > held ? d->limit - held : 0, LITTLE);
    return GKV_OK;
}

static gkv_status check_tokens(const gkv_document *d, gkv_error *err)
{
    if (d->max_context && d->tokens.n > d->max_context)
        return gkv__fail(err, GKV_LIMIT, "the prompt has at least %zu tokens, the limit is %" PRIu64
                         "; raise --context, or give a shorter document", d->tokens.n, d->max_context);
    return d->check ? d->check(d->check_arg, d->tokens.n, err) : GKV_OK;
}

static gkv_status feed(gkv_document *d, const char *text, size_t len, gkv_error *err)
{
    const size_t before = d->tokenized;

    GKV__TRY(reserve_text(d, len, err));
    if (!d->file_open)
        GKV__TRY(begin_file(d, err));
    GKV__TRY(gkv__document_append(d, text, len, err));
    d->file[d->n_files - 1].end = d->len;
    GKV__TRY(check_text(d, false, err));
    /* Raw documents have no safe cut, because special tokens are parsed in them. */
    if (d->checked - d->tokenized >= d->next && !gkv__document_is_raw(d))
        GKV__TRY(tokenize_piece(d, err));
    return d->tokenized > before ? check_tokens(d, err) : GKV_OK;
}

/* If text was refused, the document lacks it from then on. */
static gkv_status fed(gkv_document *d, gkv_status status)
{
    d->broken = d->broken || status != GKV_OK;
    return status;
}

static gkv_status takes_text(const gkv_document *d, gkv_error *err)
{
    if (d->finished)
        return gkv__fail(err, GKV_INVALID, "the document has been asked about: it takes no more text");
    if (d->broken)
        return gkv__fail(err, GKV_INVALID, "a part of the document is missing: it could not be fed");
    return GKV_OK;
}

gkv_status gkv_document_feed(gkv_document *d, const char *text, size_t len, gkv_error *err)
{
    GKV__TRY(takes_text(d, err));
    return fed(d, feed(d, text, len, err));
}

static gkv_status end_file(gkv_document *d, gkv_error *err)
{
    if (d->file_open)
        GKV__TRY(check_text(d, true, err));
    d->file_open = false;
    return GKV_OK;
}

gkv_status gkv_document_end_file(gkv_document *d, gkv_error *err)
{
    GKV__TRY(takes_text(d, err));
    return fed(d, end_file(d, err));
}

gkv_status gkv__document_finish(gkv_document *d, gkv_error *err)
{
    uint64_t bytes = 0;

    if (d->finished)
        return GKV_OK;
    GKV__TRY(gkv_document_end_file(d, err));
    for (size_t i = 0; i < d->n_files; i++)
        bytes += d->file[i].end - d->file[i].start;
    if (!bytes)
        return gkv__fail(err, GKV_DOCUMENT, "the document is empty");
    if (!gkv__document_is_raw(d))
        GKV__TRY(tokenize_piece(d, err));
    d->finished = true;
    return GKV_OK;
}

/* ---- results ---------------------------------------------------------------------------- */

const char *gkv_document_text(const gkv_document *d, size_t i, size_t *len)
{
    *len = 0;
    if (i >= d->n_files)
        return NULL;
    *len = (size_t)(d->file[i].end - d->file[i].start);
    return d->text + d->file[i].start;
}

uint64_t gkv_document_tokens(const gkv_document *d)
{
    return d->tokens.n;
}

/* The model's own template is its program and the system prompt; what that prints may have the date in it. */
uint64_t gkv__document_template(const gkv_document *d)
{
    const struct gkv__template *t = d->tmpl;
    const bool own = t == &d->own_template || t == d->model->own_template;
    struct gkv__str part[3] = {
        { t->open, strlen(t->open) }, { t->ask, strlen(t->ask) }, { t->close, strlen(t->close) },
    };
    uint64_t h = GKV__SUM_START;

    if (own) {
        part[0] = (struct gkv__str){ "", 0 };
        (void)gkv__gguf_str(d->model->file, "tokenizer.chat_template", &part[0], NULL);    /* checked when opened */
        part[1] = (struct gkv__str){ t->open + t->system, t->system_end - t->system };
        part[2] = (struct gkv__str){ "think", t->told ? 5 : 0 };
    }
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        h = gkv__sum(gkv__sum(h, &part[i].n, sizeof part[i].n), part[i].p, (size_t)part[i].n);
    return h;
}

uint64_t gkv_document_hash(const gkv_document *d)
{
    uint64_t h = GKV__SUM_START;

    for (size_t i = 0; i < d->n_files; i++) {
        size_t len;
        const char *text = gkv_document_text(d, i, &len);

        h = gkv__sum(gkv__sum(h, &(uint64_t){ len }, sizeof(uint64_t)), text, len);
    }
    return h;
}

uint64_t gkv_document_page(const gkv_document *d, size_t i, uint64_t byte)
{
    uint64_t page = 1;
    size_t len;
    const char *text = gkv_document_text(d, i, &len), *end;

    if (!text)
        return 0;
    end = text + gkv__min(byte, len);
    while ((text = memchr(text, '\f', (size_t)(end - text)))) {
        page++;
        text++;
    }
    return page;
}
