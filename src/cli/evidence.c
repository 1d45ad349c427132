/* SPDX-License-Identifier: BSD-2-Clause
 * evidence.c - see evidence.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/evidence.h"
#include "src/cli/input.h"
#include "src/cli/say.h"

static void put_lines(struct json *j, const struct place *p)
{
    json_named_open(j, "lines", '[');
    json_uint(j, p->line);
    json_uint(j, p->line_end);
    json_close(j);
}

/* With -L "page" has always been there, and is 1 in a text without pages. */
static void put_document(struct json *j, const struct run *r, uint32_t file, const struct place *p)
{
    const char *path = r->o.file.v[file], *part = run_part(r, file);

    json_named_uint(j, "file", file);
    json_named_string(j, "document", r->o.library ? path : input_name(path));
    if (p->page || r->o.library)
        json_named_uint(j, "page", p->page ? p->page : 1);
    if (p->page != p->page_end)
        json_named_uint(j, "page_end", p->page_end);
    if (p->page && part && strcmp(part, "page"))
        json_named_string(j, "part", part);
}

static void put_text(struct json *j, const char *text, struct span s)
{
    json_key(j, "text");
    json_text(j, text, (size_t)(s.end - s.start));
}

static void put_span(struct json *j, struct span s, float score)
{
    json_named_uint(j, "start", s.start);
    json_named_uint(j, "end", s.end);
    json_key(j, "score");
    json_score(j, score);
}

void evidence_kept(struct json *j, const struct run *r)
{
    size_t          n;
    const gkv_kept *kept = gkv_session_kept(r->session, &n);
    struct place   *place = place_kept(gkv_session_document(r->session), kept, n);
    size_t         *rank = place_ranks(kept, n);

    json_named_open(j, "kept", '[');
    for (size_t i = 0; i < n; i++) {
        const struct span s = { kept[i].start, kept[i].end };

        json_open(j, '{');
        put_document(j, r, kept[i].file, &place[i]);
        put_span(j, s, kept[i].score);
        json_named_uint(j, "rank", rank[i]);
        put_lines(j, &place[i]);
        put_text(j, kept[i].text, s);
        json_close(j);
    }
    json_close(j);
    free(place);
    free(rank);
}

static void put_passage(struct json *j, const struct run *r, const struct passage *p)
{
    put_document(j, r, p->best->file, &p->place);
    put_span(j, p->span, p->best->score);
    put_lines(j, &p->place);
    put_text(j, p->text, p->span);
}

void evidence_passages(struct json *j, const struct run *r)
{
    size_t          n;
    struct passage *p = run_passages(r, &n);

    json_named_open(j, "passages", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        put_passage(j, r, &p[i]);
        json_close(j);
    }
    json_close(j);
    free(p);
}

/* ---- --json=lines -------------------------------------------------------------------- */
static int finish_line(const struct run *r, struct json *j)
{
    json_close(j);
    json_print(r->o.io, j);
    return out_flush(r->o.io);
}

int evidence_events(const struct run *r)
{
    size_t          n;
    struct passage *p = run_passages(r, &n);
    struct json     j = { .depth = 0 };
    int             code = 0;

    if (r->often) {
        json_open(&j, '{');
        json_named_string(&j, "event", "question");
        json_named_string(&j, "question", r->question);
        code = finish_line(r, &j);
    }
    for (size_t i = 0; i < n && !code; i++) {
        json_open(&j, '{');
        json_named_string(&j, "event", "passage");
        json_named_uint(&j, "rank", i + 1);
        put_passage(&j, r, &p[i]);
        code = finish_line(r, &j);
    }
    free(p);
    return code;
}

int evidence_token(const struct run *r, const char *text, size_t len)
{
    struct json j = { .depth = 0 };

    json_open(&j, '{');
    json_named_string(&j, "event", "token");
    json_key(&j, "text");
    json_text(&j, text, len);
    return finish_line(r, &j);
}

/* ---- --cite -------------------------------------------------------------------------- */
enum { QUOTE = 240, WORD = 40 };        /* bytes of a citation's text that are shown; a longer word may be cut */

static struct place place_of_claim(const struct run *r, const struct claim *c, const char **text)
{
    size_t      len;
    const char *all = gkv_document_text(gkv_session_document(r->session), c->passage->best->file, &len);

    *text = all + c->support.start;
    return place_of(all, len, c->support);
}

static bool is_space(char c)
{
    return c && strchr(" \t\r\n\f\v", c);
}

/* The words with one space between them, on one line; an ellipsis replaces what is too long. */
static void add_quote(struct text *out, const char *s, size_t len)
{
    size_t n = len < QUOTE ? len : QUOTE, word = n;

    while (n < len && word > QUOTE - WORD && !is_space(s[word]))
        word--;
    if (n < len && is_space(s[word]))
        n = word;
    while (n < len && n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        if (!is_space(s[i]))
            text_add(out, s + i, 1);
        else if (i && !is_space(s[i - 1]))
            text_puts(out, " ");
    text_puts(out, n < len ? "\xe2\x80\xa6" : "");
}

static struct cited cite(const struct run *r, const char *answer, size_t len, struct passage **p)
{
    size_t n;

    *p = run_passages(r, &n);
    return cite_answer(answer, len, r->question, *p, n);
}

void evidence_print_cited(const struct run *r, const char *answer, size_t len)
{
    struct passage *p;
    struct cited    c = cite(r, answer, len, &p);
    struct text     out = { NULL, 0, 0 };
    size_t          at = 0, number = 0;

    for (size_t i = 0; i < c.n; i++) {
        text_add(&out, c.answer.p + at, (size_t)c.claim[i].sentence.end - at);
        at = (size_t)c.claim[i].sentence.end;
        if (c.claim[i].passage)
            text_printf(&out, " [%zu]", c.claim[i].number);
    }
    text_puts(&out, c.n_numbers ? "\n\n" : "\n");
    for (size_t i = 0; i < c.n; i++) {
        const char  *text;
        struct place place;
        char        *where;

        if (c.claim[i].number <= number)        /* without support, or listed already     */
            continue;
        number = c.claim[i].number;
        place = place_of_claim(r, &c.claim[i], &text);
        where = run_place(r, c.claim[i].passage->best->file, &place);
        text_printf(&out, "[%zu] %s: ", number, where);
        add_quote(&out, text, (size_t)(c.claim[i].support.end - c.claim[i].support.start));
        text_puts(&out, "\n");
        free(where);
    }
    out_text(r->o.io, out.p, out.n);
    text_free(&out);
    cite_free(&c);
    free(p);
}

void evidence_citations(struct json *j, const struct run *r, const char *answer, size_t len)
{
    struct passage *p;
    struct cited    c = cite(r, answer, len, &p);

    json_key(j, "answer");
    json_text(j, c.answer.p, c.answer.n);
    json_named_open(j, "citations", '[');
    for (size_t i = 0; i < c.n; i++) {
        const struct claim *k = &c.claim[i];

        json_open(j, '{');
        json_key(j, "sentence");
        json_text(j, c.answer.p + k->sentence.start, (size_t)(k->sentence.end - k->sentence.start));
        json_key(j, "supported");
        json_bool(j, k->passage);
        if (k->passage) {
            const char        *text;
            const struct place place = place_of_claim(r, k, &text);

            put_document(j, r, k->passage->best->file, &place);
            put_span(j, k->support, k->passage->best->score);
            put_lines(j, &place);
            put_text(j, text, k->support);
        }
        json_close(j);
    }
    json_close(j);
    cite_free(&c);
    free(p);
}
