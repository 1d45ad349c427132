/* SPDX-License-Identifier: BSD-2-Clause
 * pages.c - the text of a document, as pdftotext writes it: pages end with a form feed
 *
 *     2 bytes where a passage begins   1 byte how long it is   1 byte the size of pieces   text */
#include "config.h"
#include <string.h>
#include "src/base/snap.h"
#include "src/base/unicode.h"
#include "src/cli/cite.h"
#include "src/cli/input/pages.h"
#include "src/library/passage.h"
#include "tests/fuzz/fuzz.h"

static int add(void *arg, const char *text, size_t len)
{
    text_add(arg, text, len);
    return 0;
}

/* What comes out of it, fed in pieces; *list: its pages without text. */
static struct text feed(struct io *io, struct input in, size_t step, char **list)
{
    struct text  out = { NULL, 0, 0 };
    struct pages p = { .io = io, .name = "x", .sink = add, .arg = &out, .fd = 0 };        /* fd: pages count */
    int          code = 0;

    text_add(&out, "", 0);
    for (size_t at = 0; at < in.n && !code; at += step)
        code = pages_feed(&p, (const char *)in.p + at, in.n - at < step ? in.n - at : step);
    must(p.n_blank <= p.page && p.page <= in.n);
    *list = format("%llu %llu %d", (unsigned long long)p.page, (unsigned long long)p.n_blank, p.some);
    pages_end(&p, code);
    return out;
}

static void compare(struct io *io, struct input in, size_t step)
{
    char       *list[2];
    struct text whole = feed(io, in, in.n + 1, &list[0]), parts = feed(io, in, step, &list[1]);

    must(!strcmp(list[0], list[1]) && whole.n == parts.n && !memcmp(whole.p, parts.p, whole.n));
    text_free(&whole);
    text_free(&parts);
    free(list[0]);
    free(list[1]);
}

/* A passage is widened, and is in the text. */
static void widen(const char *text, size_t len, struct span s)
{
    const struct span  trimmed = place_trim(text, s), whole = place_sentences(text, len, s);
    const struct place p = place_of(text, len, s);
    char              *cited;

    must(trimmed.start <= trimmed.end && trimmed.start >= s.start && trimmed.end <= s.end);
    must(whole.start <= whole.end && whole.end <= len);
    must(p.page <= p.page_end && p.line && p.line_end && (p.page < p.page_end || p.line <= p.line_end));
    cited = place_cite("a.pdf", NULL, &p);
    must(*cited);
    free(cited);
    for (enum gkv__snap how = GKV__SNAP_NONE; how <= GKV__SNAP_SENTENCE; how++) {
        const struct gkv__range r = gkv__snap(text, len, how, (struct gkv__range){ (size_t)s.start, (size_t)s.end });

        must(r.start <= r.end && r.end <= len);
    }
}

/* Sentences and passages follow each other up to the end. */
static void walk(const char *text, size_t len)
{
    uint64_t at = 0, next, end;

    while (at < len) {
        end = place_sentence(text, len, at, &next);
        must(end <= next && next > at && next <= len);
        at = next;
    }
    for (size_t p = 0; p < len; p = (size_t)next) {
        next = gkv__passage_end(text, len, p, 100);
        must(next > p && next <= len);
    }
}

static void cite(const char *text, size_t len, struct span s)
{
    const gkv_kept best = { .start = s.start, .end = s.end };
    struct passage p = { &best, text + s.start, s, place_of(text, len, s) };
    struct cited   c = cite_answer(text, len / 2, "What was it?", &p, 1);

    for (size_t i = 0; i < c.n; i++) {
        const struct span sentence = c.claim[i].sentence, support = c.claim[i].support;

        must(sentence.start <= sentence.end && sentence.end <= c.answer.n);
        must(!c.claim[i].passage || (support.start <= support.end && support.end <= len));
    }
    cite_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct input in = { data, size };
    size_t       start = take(&in) * 256u + take(&in), n = take(&in), step = 1 + take(&in);
    struct text  text = { NULL, 0, 0 };
    struct io    io;
    struct span  s;
    char        *words;

    if (!null)
        null = fopen("/dev/null", "w");
    io = (struct io){ .out = null, .err = null };
    compare(&io, in, step);
    text_add(&text, (const char *)in.p, in.n);
    text_clean(&text);
    must(gkv__utf8_check(text.p, text.n, NULL) == text.n && !memchr(text.p, 0, text.n));
    s.start = text.n ? start % text.n : 0;
    s.end = s.start + (n < text.n - s.start ? n : text.n - s.start);
    widen(text.p, text.n, s);
    walk(text.p, text.n);
    cite(text.p, text.n, s);
    words = gkv__passage_words(text.p);
    must(words);
    free(words);
    text_free(&text);
    return 0;
}
