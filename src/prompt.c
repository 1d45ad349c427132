/* SPDX-License-Identifier: BSD-2-Clause
 * prompt.c - see prompt.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/base/unicode.h"
#include "src/prompt.h"

/* ---- the question ----------------------------------------------------------------------- */

/* The text that is not tokenized yet and all that follows it. */
struct rest {
    char              *text;            /* malloc'ed                                         */
    size_t             n;
    struct gkv__range *plain;           /* where no special tokens are parsed; malloc'ed     */
    size_t             n_plain;
};

static void rest_free(struct rest *r)
{
    free(r->text);
    free(r->plain);
}

/* In a first walk, without text, counts. */
static void put(struct rest *r, const char *p, size_t n)
{
    if (r->text && n)
        memcpy(r->text + r->n, p, n);
    r->n += n;
}

static void put_plain(struct rest *r, const char *p, size_t n)
{
    struct gkv__range *last = r->n_plain ? &r->plain[r->n_plain - 1] : NULL;

    if (r->text && last && last->end == r->n)
        last->end += n;
    else if (r->text)
        r->plain[r->n_plain++] = (struct gkv__range){ r->n, r->n + n };
    put(r, p, n);
}

/* Templates that know one turn only are told of earlier ones in its text. */
static void put_turns(struct rest *r, const struct gkv__template *t, const struct gkv__asked *a)
{
    const bool known = t->turn && t->next;
    const char *turn = known ? t->turn : "\nAnswer: ", *next = known ? t->next : "\n\nQuestion: ";
    void (*between)(struct rest *, const char *, size_t) = known ? put : put_plain;

    for (size_t i = 0; i < a->n_turns; i++) {
        put_plain(r, a->turn[i].question, strlen(a->turn[i].question));
        between(r, turn, strlen(turn));
        put_plain(r, a->turn[i].answer, strlen(a->turn[i].answer));
        between(r, next, strlen(next));
    }
}

/* Special tokens are parsed in what the template puts in front of the documents, between turns and at the end;
 * all else is plain text, also a system prompt in the opening. */
static void walk(struct rest *r, const gkv_document *d, const struct gkv__asked *a)
{
    const struct gkv__template *t = d->tmpl;
    const size_t open = strlen(t->open), special = d->tokenized < open ? open - d->tokenized : 0;

    r->n = 0;
    if (r->text && !d->tokenized && t->system_end)
        r->plain[r->n_plain++] = (struct gkv__range){ t->system, t->system_end };
    put(r, d->text + d->tokenized, special);
    put_plain(r, d->text + d->tokenized + special, d->len - d->tokenized - special);
    put_plain(r, t->ask, strlen(t->ask));
    put_turns(r, t, a);
    put_plain(r, a->question, a->len);
    if (a->think && *t->start) {
        put(r, t->start, strlen(t->start));
        return;                                 /* the answer begins after the thought */
    }
    put(r, t->close, strlen(t->close));
    if (t->direct)
        put(r, t->direct, strlen(t->direct));
    if (a->begin)
        put(r, a->begin, strlen(a->begin));
}

static gkv_status rest_of(struct rest *r, const gkv_document *d, const struct gkv__asked *a, gkv_error *err)
{
    *r = (struct rest){ .text = NULL };
    walk(r, d, a);
    r->text = malloc(r->n + 1);
    r->plain = calloc(2 * a->n_turns + 4, sizeof *r->plain);
    if (!r->text || !r->plain) {
        rest_free(r);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    walk(r, d, a);
    if (gkv__document_is_raw(d))
        r->n_plain = 0;
    return GKV_OK;
}

/* Joins the document's tokens and those of the rest in one array.  If a raw prompt begins with its own
 * BOS, the added one is dropped. */
static gkv_status join(struct gkv__prompt *p, gkv_error *err)
{
    const struct gkv__tokens *fixed = &p->d->tokens;
    const bool twice = fixed->n == 1 && !fixed->len[0] && p->rest.n &&
                       fixed->id[0] == gkv__vocab_bos(p->d->vocab) && p->rest.id[0] == fixed->id[0];

    p->n_fixed = twice ? 0 : fixed->n;
    p->n = p->n_fixed + p->rest.n;
    p->id = malloc(p->n * sizeof *p->id + 1);
    if (!p->id)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    if (p->n_fixed)
        memcpy(p->id, fixed->id, p->n_fixed * sizeof *p->id);
    if (p->rest.n)
        memcpy(p->id + p->n_fixed, p->rest.id, p->rest.n * sizeof *p->id);
    return GKV_OK;
}

static gkv_status tokenize(struct gkv__prompt *p, const struct rest *r, gkv_error *err)
{
    const struct gkv__tokens *fixed = &p->d->tokens;
    const struct gkv__vocab *v = p->d->vocab;
    struct gkv__tokens *rest = &p->rest;

    if (fixed->limit)           /* what earlier tokens and this text leave */
        rest->limit = fixed->limit - gkv__min(fixed->limit - 1, fixed->n * (uint64_t)GKV__TOKEN_BYTES + r->n);
    if (!fixed->n)
        return gkv__tokenize(v, r->text, r->n, r->plain, r->n_plain, rest, err);
    return gkv__tokenize_after(v, fixed->id[fixed->n - 1], r->text, r->n, r->plain, r->n_plain, rest, err);
}

gkv_status gkv__prompt_make(struct gkv__prompt *p, const gkv_document *d, const struct gkv__asked *a,
                            gkv_error *err)
{
    const double start = gkv__seconds();
    struct rest rest;
    gkv_status status;

    if (gkv__utf8_check(a->question, a->len, NULL) < a->len)
        return gkv__fail(err, GKV_INVALID, "the question is not UTF-8");
    if (a->begin && gkv__utf8_check(a->begin, strlen(a->begin), NULL) < strlen(a->begin))
        return gkv__fail(err, GKV_INVALID, "the beginning of the answer is not UTF-8");
    p->d = d;
    GKV__TRY(rest_of(&rest, d, a, err));
    p->len = d->tokenized + rest.n;
    status = tokenize(p, &rest, err);
    rest_free(&rest);
    if (status == GKV_OK)
        status = join(p, err);
    p->seconds = gkv__seconds() - start;
    return status;
}

void gkv__prompt_close(struct gkv__prompt *p)
{
    gkv__tokens_free(&p->rest);
    free(p->id);
    *p = (struct gkv__prompt){ 0 };
}

size_t gkv__prompt_tail(const struct gkv__prompt *p)
{
    uint64_t end = p->d->file[p->d->n_files - 1].end, at = p->len;
    size_t i = p->n;

    while (i && at > end)
        at -= gkv__prompt_len(p, --i);
    return p->n - i;
}

void gkv__prompt_find(const struct gkv__prompt *p, size_t file, uint64_t start, uint64_t end, size_t *from,
                      size_t *to)
{
    uint64_t at = 0;
    size_t i = 0;

    start += p->d->file[file].start;
    end += p->d->file[file].start;
    while (i < p->n && at + gkv__prompt_len(p, i) <= start)
        at += gkv__prompt_len(p, i++);
    *from = i;
    while (i < p->n && at < end)
        at += gkv__prompt_len(p, i++);
    *to = i;
}

/* ---- words ------------------------------------------------------------------------------ */

/* Lower case of the scripts that have it in rows; the others stay as they are. */
static uint32_t lower(uint32_t c)
{
    static const struct { uint32_t first, last, shift; } row[] = {
        { 'A', 'Z', 32 }, { 0xc0, 0xd6, 32 }, { 0xd8, 0xde, 32 }, { 0x391, 0x3a9, 32 }, { 0x400, 0x40f, 80 },
        { 0x410, 0x42f, 32 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (c >= row[i].first && c <= row[i].last)
            return c + row[i].shift;
    return c;
}

/* The next word in text[*at .. len): its number, *at behind it, *start its beginning; 0: there is none. */
static uint32_t next_word(const char *text, size_t len, size_t *at, size_t *start)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    uint32_t h = 0, c;

    for (size_t n; *at < len; *at += n) {
        n = gkv__utf8_next(p + *at, end, &c, NULL);
        if (!(gkv__uc_class(c) & (GKV__UC_LETTER | GKV__UC_NUMBER)) && gkv__uc_kind(c) != GKV__UC_MARK) {
            if (h)
                return h;
            continue;
        }
        if (!h)
            *start = *at;
        c = lower(c);
        h = h ? h : 2166136261u;
        for (unsigned b = 0; b < 24; b += 8)        /* FNV-1a */
            h = (h ^ (c >> b & 0xff)) * 16777619u;
        h = h ? h : 1;
    }
    return h;
}

void gkv__prompt_words_close(struct gkv__words *w)
{
    free(w->of_token);
    free(w->asked);
    *w = (struct gkv__words){ 0 };
}

static void words_asked(struct gkv__words *w, const char *question, size_t len)
{
    size_t at = 0, start;

    for (uint32_t word; (word = next_word(question, len, &at, &start)); ) {
        size_t i = 0;

        while (i < w->n_asked && w->asked[i] != word)
            i++;
        if (i == w->n_asked)
            w->asked[w->n_asked++] = word;
    }
}

gkv_status gkv__prompt_words(const struct gkv__prompt *p, const char *question, size_t len,
                             struct gkv__words *w, gkv_error *err)
{
    const struct gkv__file *last = &p->d->file[p->d->n_files - 1];
    size_t at = (size_t)p->d->file[0].start, start = 0, i = 0;
    uint64_t token = 0;                 /* where token i begins */

    *w = (struct gkv__words){ calloc(p->n, sizeof *w->of_token), calloc(len / 2 + 1, sizeof *w->asked), 0 };
    if (!w->of_token || !w->asked) {
        gkv__prompt_words_close(w);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    words_asked(w, question, len);
    for (uint32_t word; (word = next_word(p->d->text, (size_t)last->end, &at, &start)); ) {
        while (i < p->n && token + gkv__prompt_len(p, i) <= start)
            token += gkv__prompt_len(p, i++);
        if (i < p->n && !w->of_token[i])
            w->of_token[i] = word;
    }
    return GKV_OK;
}

/* ---- passages --------------------------------------------------------------------------- */

struct passages { gkv_kept *span; size_t n, cap; };

static bool inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Adds bytes text[from .. to) of file d to the passages. */
static gkv_status add(struct passages *out, const struct gkv__prompt *p, size_t d, uint64_t from,
                      uint64_t to, float score, bool apart, gkv_error *err)
{
    const struct gkv__file *doc = &p->d->file[d];
    gkv_kept *last = out->n ? &out->span[out->n - 1] : NULL;

    while (from > doc->start && inside_character(p->d->text[from]))
        from--;
    while (to < doc->end && inside_character(p->d->text[to]))
        to++;
    from -= doc->start;
    to -= doc->start;
    if (!apart && last && last->file == d && last->end >= from) {
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
        .text = p->d->text + doc->start + from,
    };
    return GKV_OK;
}

gkv_status gkv__prompt_passages(const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                                const float *score, bool apart, gkv_kept **out, size_t *n,
                                uint64_t *n_doc_tokens, gkv_error *err)
{
    struct passages all = { 0 };
    gkv_status status = GKV_OK;
    uint64_t start = 0;
    size_t doc = 0, at = 0;

    *n_doc_tokens = 0;
    for (size_t i = 0; i < p->n && status == GKV_OK; start += gkv__prompt_len(p, i++)) {
        const uint64_t end = start + gkv__prompt_len(p, i);
        const bool is_kept = at < n_kept && kept[at] == i;
        bool counted = false;

        at += is_kept;
        while (doc < p->d->n_files && p->d->file[doc].end <= start)
            doc++;
        /* A token can reach from one file into the next.     */
        for (size_t d = doc; d < p->d->n_files && p->d->file[d].start < end && status == GKV_OK; d++) {
            uint64_t from = start > p->d->file[d].start ? start : p->d->file[d].start;
            uint64_t to = end < p->d->file[d].end ? end : p->d->file[d].end;

            if (from >= to)
                continue;
            *n_doc_tokens += !counted;
            counted = true;
            if (is_kept)
                status = add(&all, p, d, from, to, score ? score[i] : 0, apart, err);
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
