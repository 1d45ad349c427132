/* SPDX-License-Identifier: BSD-2-Clause
 * prompt.c - see prompt.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/prompt.h"
#include "src/base/unicode.h"

static bool raw(const struct gkv__prompt *p)
{
    return p->tmpl == &gkv__template_raw;
}

static gkv_status append(struct gkv__prompt *p, const char *text, size_t len, gkv_error *err)
{
    if (len > p->cap - p->len) {
        size_t cap = p->cap ? p->cap : 4096;
        char *grown;

        while (cap - p->len < len) {
            if (cap > SIZE_MAX / 2)
                return gkv__fail(err, GKV_NOMEM, "out of memory");
            cap *= 2;
        }
        grown = realloc(p->text, cap);
        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "the system refused %zu bytes for the text", cap);
        p->text = grown;
        p->cap = cap;
    }
    if (len)
        memcpy(p->text + p->len, text, len);
    p->len += len;
    return GKV_OK;
}

static gkv_status append_str(struct gkv__prompt *p, const char *s, gkv_error *err)
{
    return append(p, s, strlen(s), err);
}

gkv_status gkv__prompt_open(struct gkv__prompt *p, const struct gkv__vocab *v,
                            const struct gkv__template *tmpl, size_t piece, gkv_error *err)
{
    p->vocab = v;
    p->tmpl = tmpl;
    p->piece = p->next = piece;
    if (gkv__vocab_add_bos(v) && gkv__vocab_bos(v) != GKV__NO_TOKEN) {
        GKV__TRY(gkv__tokens_reserve(&p->tokens, 1, err));
        gkv__tokens_push(&p->tokens, gkv__vocab_bos(v), 0);
    }
    return append_str(p, tmpl->open, err);
}

void gkv__prompt_close(struct gkv__prompt *p)
{
    gkv__tokens_free(&p->tokens);
    free(p->text);
    free(p->doc);
}

/* ---- documents -------------------------------------------------------------------------- */

static gkv_status check_text(struct gkv__prompt *p, bool last, gkv_error *err)
{
    const uint64_t start = p->doc[p->n_docs - 1].start;
    const char *nul = memchr(p->text + p->checked, 0, p->len - p->checked);
    int cut = 0;
    size_t good = p->checked + gkv__utf8_check(p->text + p->checked, p->len - p->checked, &cut);

    if (nul && (size_t)(nul - p->text) < good)
        return gkv__fail(err, GKV_DOCUMENT, "document %zu is not text: byte %" PRIu64 " is NUL",
                         p->n_docs, (uint64_t)(nul - p->text) - start);
    if (good < p->len && (!cut || last))
        return gkv__fail(err, GKV_DOCUMENT, "document %zu is not UTF-8 text: byte %" PRIu64 " is 0x%02x; "
                         "if it is text in another encoding, convert it with iconv(1)", p->n_docs,
                         (uint64_t)good - start, (unsigned char)p->text[good]);
    p->checked = good;
    return GKV_OK;
}

/* text[tokenized .. tokenized + n) becomes tokens; close_bytes at its end are the template's. */
static gkv_status tokenize(struct gkv__prompt *p, size_t n, size_t close_bytes, gkv_error *err)
{
    const double start = gkv__seconds();
    const size_t from = p->tokenized, open = strlen(p->tmpl->open);
    /* The opening and closing parts are parsed for special tokens, the rest is plain; and in the
     * opening, which is in the first piece as a whole, a system prompt. */
    const struct gkv__range plain[] = {
        { p->tmpl->system, p->tmpl->system_end }, { from < open ? open - from : 0, n - close_bytes }
    };
    const size_t n_plain = raw(p) ? 0 : from == 0 && p->tmpl->system_end ? 2 : 1;

    p->tokenized += n;
    GKV__TRY(gkv__tokenize(p->vocab, p->text + from, n, plain + 2 - n_plain, n_plain, &p->tokens,
                           err));
    p->seconds += gkv__seconds() - start;
    return GKV_OK;
}

/* What has arrived, up to a place where text and tokens can be cut, if there is one. */
static gkv_status tokenize_piece(struct gkv__prompt *p, gkv_error *err)
{
    const size_t n = p->checked - p->tokenized;
    size_t cut = gkv__token_safe_cut(p->vocab, p->text + p->tokenized, n);

    if (p->tokenized + cut < strlen(p->tmpl->open))     /* no piece ends inside the template */
        cut = 0;
    /* One word so far: look again when it is twice as long, or the search is quadratic. */
    p->next = cut ? p->piece : 2 * n;
    return cut ? tokenize(p, cut, 0, err) : GKV_OK;
}

gkv_status gkv__prompt_feed(struct gkv__prompt *p, const char *text, size_t len, gkv_error *err)
{
    if (!p->doc_open) {
        struct gkv__document *grown = realloc(p->doc, (p->n_docs + 1) * sizeof *grown);

        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        p->doc = grown;
        if (p->n_docs && !raw(p))
            GKV__TRY(append(p, "\n\n", 2, err));
        p->doc[p->n_docs++] = (struct gkv__document){ p->len, p->len };
        p->checked = p->len;
        p->doc_open = true;
    }
    GKV__TRY(append(p, text, len, err));
    p->doc[p->n_docs - 1].end = p->len;
    GKV__TRY(check_text(p, false, err));
    /* Where special tokens are parsed there is no safe cut. */
    if (p->checked - p->tokenized >= p->next && !raw(p))
        GKV__TRY(tokenize_piece(p, err));
    return GKV_OK;
}

gkv_status gkv__prompt_feed_end(struct gkv__prompt *p, gkv_error *err)
{
    if (p->doc_open)
        GKV__TRY(check_text(p, true, err));
    p->doc_open = false;
    return GKV_OK;
}

/* ---- question --------------------------------------------------------------------------- */

gkv_status gkv__prompt_ask(struct gkv__prompt *p, const char *question, size_t len,
                           const char *begin, gkv_error *err)
{
    struct gkv__tokens *t = &p->tokens;
    const uint32_t bos = gkv__vocab_bos(p->vocab);
    uint64_t bytes = 0;

    GKV__TRY(gkv__prompt_feed_end(p, err));
    for (size_t i = 0; i < p->n_docs; i++)
        bytes += p->doc[i].end - p->doc[i].start;
    if (!bytes)
        return gkv__fail(err, GKV_DOCUMENT, "the document is empty");
    if (gkv__utf8_check(question, len, NULL) < len)
        return gkv__fail(err, GKV_INVALID, "the question is not UTF-8");
    begin = begin ? begin : "";
    if (gkv__utf8_check(begin, strlen(begin), NULL) < strlen(begin))
        return gkv__fail(err, GKV_INVALID, "the beginning of the answer is not UTF-8");
    GKV__TRY(append_str(p, p->tmpl->ask, err));
    GKV__TRY(append(p, question, len, err));
    GKV__TRY(append_str(p, p->tmpl->close, err));
    GKV__TRY(append_str(p, begin, err));
    GKV__TRY(tokenize(p, p->len - p->tokenized, strlen(p->tmpl->close) + strlen(begin), err));

    /* A raw prompt may begin with its own BOS: not twice. */
    if (t->n > 1 && t->id[0] == bos && t->id[1] == bos && !t->len[0]) {
        t->n--;
        memmove(t->id, t->id + 1, t->n * sizeof *t->id);
        memmove(t->len, t->len + 1, t->n * sizeof *t->len);
    }
    return GKV_OK;
}

size_t gkv__prompt_tail(const struct gkv__prompt *p)
{
    uint64_t end = p->doc[p->n_docs - 1].end, at = p->len;
    size_t i = p->tokens.n;

    while (i && at > end)
        at -= p->tokens.len[--i];
    return p->tokens.n - i;
}

/* ---- passages --------------------------------------------------------------------------- */

struct passages { gkv_kept *span; size_t n, cap; };

static bool inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The kept bytes text[from .. to) of document d. */
static gkv_status add(struct passages *out, const struct gkv__prompt *p, size_t d, uint64_t from,
                      uint64_t to, float score, gkv_error *err)
{
    const struct gkv__document *doc = &p->doc[d];
    gkv_kept *last = out->n ? &out->span[out->n - 1] : NULL;

    while (from > doc->start && inside_character(p->text[from]))
        from--;
    while (to < doc->end && inside_character(p->text[to]))
        to++;
    from -= doc->start;
    to -= doc->start;
    if (last && last->file == d && last->end >= from) {
        last->end = to;
        if (score > last->score) {
            last->score = score;
            last->best = from;
        }
        return GKV_OK;
    }
    if (out->n == out->cap) {
        size_t cap = out->cap ? 2 * out->cap : 64;
        gkv_kept *grown = realloc(out->span, cap * sizeof *grown);

        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        out->span = grown;
        out->cap = cap;
    }
    out->span[out->n++] = (gkv_kept){
        .file = (uint32_t)d, .start = from, .end = to, .score = score, .best = from,
        .text = p->text + doc->start + from,
    };
    return GKV_OK;
}

gkv_status gkv__prompt_passages(const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                                const float *score, gkv_kept **out, size_t *n,
                                uint64_t *n_doc_tokens, gkv_error *err)
{
    struct passages all = { 0 };
    gkv_status status = GKV_OK;
    uint64_t start = 0;
    size_t doc = 0, at = 0;

    *n_doc_tokens = 0;
    for (size_t i = 0; i < p->tokens.n && status == GKV_OK; start += p->tokens.len[i++]) {
        const uint64_t end = start + p->tokens.len[i];
        const bool is_kept = at < n_kept && kept[at] == i;
        bool counted = false;

        at += is_kept;
        while (doc < p->n_docs && p->doc[doc].end <= start)
            doc++;
        /* A token can reach from one document into the next. */
        for (size_t d = doc; d < p->n_docs && p->doc[d].start < end && status == GKV_OK; d++) {
            uint64_t from = start > p->doc[d].start ? start : p->doc[d].start;
            uint64_t to = end < p->doc[d].end ? end : p->doc[d].end;

            if (from >= to)
                continue;
            *n_doc_tokens += !counted;
            counted = true;
            if (is_kept)
                status = add(&all, p, d, from, to, score ? score[i] : 0, err);
        }
    }
    if (status != GKV_OK) {
        free(all.span);
        return status;
    }
    *out = all.span;
    *n = all.n;
    return GKV_OK;
}
