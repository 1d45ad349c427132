/* SPDX-License-Identifier: BSD-2-Clause
 * place.c - see place.h.  A document is any text: searches for the beginning of a sentence look at some hundred bytes
 * only, so that a megabyte without one costs nothing. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/place.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

enum {
    FAR = 600,                  /* bytes: more than nearly all sentences have             */
    WORD = 32                   /* longest word that could be an abbreviation             */
};

/* ---- characters ---------------------------------------------------------------------- */
static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)                   /* or a byte of a character beyond ASCII  */
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The character before byte `at`, which is not 0; returns where it begins. */
static uint64_t before(const char *text, uint64_t at, uint32_t *cp)
{
    uint64_t from = at - 1;

    while (from > 0 && at - from < 4 && inside_character(text[from]))
        from--;
    if (from + utf8_next(text + from, at - from, cp) == at)
        return from;
    *cp = UTF8_BAD;
    return at - 1;
}

static bool one_of(uint32_t cp, const uint32_t *list)
{
    while (*list && *list != cp)
        list++;
    return *list;
}

/* White space follows these when they end a sentence: . ! ? ellipsis, Greek and Arabic question marks, ... */
static bool ends(uint32_t cp)
{
    static const uint32_t list[] = { '.', '!', '?', 0x2026, 0x37e, 0x61f, 0x6d4, 0x964, 0x965, 0x589, 0x104b, 0x1362,
                                     0x17d4, 0x203c, 0x2047, 0x2048, 0x2049, 0 };

    return one_of(cp, list);
}

/* None need follow these. */
static bool ends_wide(uint32_t cp)
{
    static const uint32_t list[] = { 0x3002, 0xff01, 0xff1f, 0xff61, 0xff0e, 0 };

    return one_of(cp, list);
}

/* Quotation marks and brackets after the end, which belong to the sentence. */
static bool closes(uint32_t cp)
{
    static const uint32_t list[] = { '"', '\'', ')', ']', '}', '*', '_', 0xbb, 0x203a, 0x2019, 0x201d, 0x201c, 0x300d,
                                     0x300f, 0x3011, 0xff09, 0 };

    return one_of(cp, list);
}

/* Of the scripts that have it in rows. */
static bool is_lower(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7) || (c >= 0x3ac && c <= 0x3ce)
        || (c >= 0x430 && c <= 0x45f);
}

/* ---- where sentences begin ----------------------------------------------------------- */
static bool is_word(const char *list, const char *w, size_t n)
{
    for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ') {
        const size_t len = strcspn(p, " ");
        size_t       i = 0;

        while (i < n && i < len && (w[i] | 0x20) == p[i])
            i++;
        if (i == len && i == n)
            return true;
    }
    return false;
}

/* Does the full stop at byte `dot` shorten the word before it?  The text goes on with `next`. */
static bool is_abbreviation(const char *text, uint64_t dot, char next)
{
    static const char always[] = "mr mrs ms dr prof st sr jr vs hon rev gen col capt lt sgt messrs mme mlle cf al approx "
                                 "vgl bzw ca ggf sog inkl str dipl";
    static const char digit[] = "no nos vol p pp fig figs eq sec art ch ed jan feb mar apr jun jul aug sep sept oct nov "
                                "dec nr bd abs abb tab s ref";
    uint64_t from = dot;

    while (from > 0 && dot - from < WORD && is_letter(text[from - 1]))
        from--;
    if (dot - from == 1 || (dot - from < 4 && from < dot && inside_character(text[from + 1])))
        return true;                            /* one letter: an initial, "e.g."         */
    if (from == dot) {                          /* "3." begins an item of a list          */
        while (from > 0 && dot - from < 4 && is_digit(text[from - 1]))
            from--;
        return from < dot && dot - from < 4 && (from == 0 || text[from - 1] == '\n' || text[from - 1] == '\f');
    }
    return is_word(always, text + from, (size_t)(dot - from))
        || (is_digit(next) && is_word(digit, text + from, (size_t)(dot - from)));
}

/* "- ", "# ", "| ", a bullet, "12. " or "3) " */
static bool is_item(const char *text, uint64_t stop, uint64_t at)
{
    uint64_t digits = at;

    if (stop - at < 4)
        return false;
    if (text[at] == '#' || text[at] == '|' || (strchr("-*+", text[at]) && text[at + 1] == ' '))
        return true;
    while (digits < stop && digits - at < 4 && is_digit(text[digits]))
        digits++;
    if (digits > at && stop - digits > 1 && digits - at < 4)
        return (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ';
    return !memcmp(text + at, "\xe2\x80\xa2", 3);
}

/* Cells: tabs, bars, three spaces, commas without a space between them. */
static bool is_cells(const char *text, uint64_t stop, uint64_t at)
{
    unsigned commas = 0;

    for (uint64_t i = at; i < stop && text[i] != '\n' && text[i] != '\f'; i++) {
        const uint64_t left = stop - i;

        if (left < 4 || i == at)
            continue;
        if ((text[i] == '\t' && !is_space(text[i + 1])) || !memcmp(text + i, " | ", 3))
            return true;
        if (!memcmp(text + i, "   ", 3) && !is_space(text[i + 3]))
            return true;
        commas += (text[i] == ',' || text[i] == ';') && !is_space(text[i + 1]);
    }
    return commas > 1;
}

/* Is the line that begins at byte `at` a row of a table, an item of a list, a heading of Markdown? */
static bool is_row(const char *text, uint64_t len, uint64_t at)
{
    const uint64_t stop = len - at < FAR ? len : at + FAR;

    while (at < stop && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return is_item(text, stop, at) || is_cells(text, stop, at);
}

/* Does a sentence begin with the character at byte `at`, which is not white space? */
static bool begins(const char *text, uint64_t len, uint64_t at)
{
    uint64_t p = at, line = at;
    unsigned newlines = 0;
    uint32_t cp, next;

    if (at == 0)
        return true;
    if (!is_space(text[at - 1])) {              /* scripts without spaces                 */
        utf8_next(text + at, (size_t)(len - at), &next);
        if (closes(next) || ends_wide(next) || ends(next))
            return false;
        for (p = before(text, at, &cp); p > 0 && at - p < WORD && closes(cp); )
            p = before(text, p, &cp);
        return ends_wide(cp);
    }
    while (p > 0 && at - p < FAR && is_space(text[p - 1])) {
        p--;
        if (text[p] == '\f')
            return true;
        if (text[p] == '\n' && !newlines++)
            line = p + 1;
    }
    if (p == 0 || newlines > 1)
        return true;
    if (newlines) {
        uint64_t last = p;

        while (last > 0 && p - last < FAR && text[last - 1] != '\n' && text[last - 1] != '\f')
            last--;
        if (is_row(text, len, line) || is_row(text, len, last))
            return true;
    }
    utf8_next(text + at, (size_t)(len - at), &next);
    for (p = before(text, p, &cp); p > 0 && at - p < FAR && closes(cp); )
        p = before(text, p, &cp);
    if (ends_wide(cp))
        return true;
    return ends(cp) && !is_lower(next) && !(cp == '.' && is_abbreviation(text, p, text[at]));
}

/* ---- rounding ------------------------------------------------------------------------ */
struct span place_trim(const char *text, struct span s)
{
    uint64_t end = s.end;

    while (end > s.start && is_space(text[end - 1]))
        end--;
    if (end == s.start)
        return (struct span){ s.start, s.start };
    while (is_space(text[s.start]))
        s.start++;
    return (struct span){ s.start, end };
}

/* The last place up to `at` where a sentence begins; else a line, a word, `at` itself. */
static uint64_t back(const char *text, uint64_t len, uint64_t at)
{
    const uint64_t least = at > FAR ? at - FAR : 0;
    uint64_t       line = UINT64_MAX, word = UINT64_MAX;

    for (uint64_t p = at;; p--) {
        if (p < len && !inside_character(text[p]) && !is_space(text[p])) {
            if (begins(text, len, p))
                return p;
            if (p > 0 && is_space(text[p - 1])) {
                uint64_t q = p;

                while (q > least && is_space(text[q - 1]) && text[q - 1] != '\n')
                    q--;
                if (line == UINT64_MAX && q > 0 && text[q - 1] == '\n')
                    line = p;
                word = word == UINT64_MAX ? p : word;
            }
        }
        if (p == least)
            return line != UINT64_MAX ? line : word != UINT64_MAX ? word : at;
    }
}

/* The first place from `at` on where a sentence begins, or the text ends; else a line's or a word's end, `at` itself. */
static uint64_t forth(const char *text, uint64_t len, uint64_t at)
{
    uint64_t line = UINT64_MAX, word = UINT64_MAX;

    for (uint64_t p = at; p < len && p - at < FAR; p++) {
        if (!inside_character(text[p]) && !is_space(text[p]) && begins(text, len, p))
            return p;
        if (line == UINT64_MAX && text[p] == '\n')
            line = p;
        if (word == UINT64_MAX && is_space(text[p]))
            word = p;
    }
    if (len - at < FAR)
        return len;
    return line != UINT64_MAX ? line : word != UINT64_MAX ? word : at;
}

struct span place_sentences(const char *text, uint64_t len, struct span s)
{
    s.end = s.end < len ? s.end : len;
    s.start = s.start < s.end ? s.start : s.end;
    s = place_trim(text, s);
    while (s.start > 0 && s.start < len && inside_character(text[s.start]))
        s.start--;
    while (s.end < len && inside_character(text[s.end]))
        s.end++;
    return place_trim(text, (struct span){ back(text, len, s.start), forth(text, len, s.end) });
}

uint64_t place_sentence(const char *text, uint64_t len, uint64_t at, uint64_t *next)
{
    uint64_t p = at;

    /* Lines of a log, say, end none: far away a line will do.  So they follow each other without a gap. */
    do
        p++;
    while (p < len && (inside_character(text[p]) || is_space(text[p])
                       || !((p - at > FAR && text[p - 1] == '\n') || begins(text, len, p))));
    *next = p < len ? p : len;
    return place_trim(text, (struct span){ at, *next }).end;
}

/* ---- pages and lines ----------------------------------------------------------------- */
/* Counts on from an earlier place in the same text: passages are in its order. */
struct counter {
    const char *text;
    uint64_t    at, page, line;
    bool        pages;
};

static void count(struct counter *c, uint64_t to)
{
    for (; c->at < to; c->at++) {
        if (c->text[c->at] == '\f') {
            c->page++;
            c->line = 1;
        } else if (c->text[c->at] == '\n') {
            c->line++;
        }
    }
}

static struct place next_place(struct counter *c, const char *text, uint64_t len, struct span s)
{
    struct place p;

    s = place_trim(text, s);
    if (text != c->text || s.start < c->at)
        *c = (struct counter){ text, 0, 1, 1, memchr(text, '\f', (size_t)len) };
    count(c, s.start);
    p.page = c->pages ? c->page : 0;
    p.line = c->line;
    count(c, s.end);
    p.page_end = c->pages ? c->page : 0;
    p.line_end = c->line;
    return p;
}

struct place place_of(const char *text, uint64_t len, struct span s)
{
    struct counter c = { .text = NULL };

    return next_place(&c, text, len, s);
}

struct place *place_kept(const gkv_document *d, const gkv_kept *kept, size_t n)
{
    struct place  *p = grow(NULL, n, sizeof *p);
    struct counter c = { .text = NULL };

    for (size_t i = 0; i < n; i++) {
        size_t      len;
        const char *text = gkv_document_text(d, kept[i].file, &len);

        p[i] = next_place(&c, text, len, (struct span){ kept[i].start, kept[i].end });
    }
    return p;
}

/* ---- passages ------------------------------------------------------------------------ */
static bool is_better(const gkv_kept *a, const gkv_kept *b)
{
    return a->score > b->score || (!(a->score < b->score) && a < b);
}

static int by_score(const void *a, const void *b)
{
    const struct passage *x = a, *y = b;

    return is_better(x->best, y->best) ? -1 : is_better(y->best, x->best);
}

static size_t merge(const gkv_document *d, const gkv_kept *kept, size_t n, struct passage *out)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        struct passage *last = m ? &out[m - 1] : NULL;
        size_t          len;
        const char     *text = gkv_document_text(d, kept[i].file, &len);
        struct span     s = place_sentences(text, len, (struct span){ kept[i].start, kept[i].end });

        if (s.end == s.start)                   /* nothing but white space                */
            continue;
        if (last && last->best->file == kept[i].file && s.start < last->span.end) {
            last->span.start = s.start < last->span.start ? s.start : last->span.start;
            last->span.end = s.end > last->span.end ? s.end : last->span.end;
            last->best = is_better(last->best, &kept[i]) ? last->best : &kept[i];
        } else {
            out[m++] = (struct passage){ .best = &kept[i], .span = s };
        }
    }
    return m;
}

struct passage *place_passages(const gkv_document *d, const gkv_kept *kept, size_t n, size_t *m)
{
    struct passage *p = grow(NULL, n, sizeof *p);
    struct counter  c = { .text = NULL };

    *m = merge(d, kept, n, p);
    for (size_t i = 0; i < *m; i++) {
        size_t      len;
        const char *text = gkv_document_text(d, p[i].best->file, &len);

        p[i].text = text + p[i].span.start;
        p[i].place = next_place(&c, text, len, p[i].span);
    }
    qsort(p, *m, sizeof *p, by_score);
    return p;
}

static int by_kept(const void *a, const void *b)
{
    const gkv_kept *x = *(const gkv_kept *const *)a, *y = *(const gkv_kept *const *)b;

    return is_better(x, y) ? -1 : is_better(y, x);
}

size_t *place_ranks(const gkv_kept *kept, size_t n)
{
    const gkv_kept **order = grow(NULL, n, sizeof *order);
    size_t          *rank = grow(NULL, n, sizeof *rank);

    for (size_t i = 0; i < n; i++)
        order[i] = &kept[i];
    qsort(order, n, sizeof *order, by_kept);
    for (size_t i = 0; i < n; i++)
        rank[order[i] - kept] = i + 1;
    free(order);
    return rank;
}

char *place_cite(const char *name, const char *part, const struct place *p)
{
    const char *unit = !part || !strcmp(part, "page") ? "p." : part;

    if (p->page != p->page_end)
        return format("%s %s %" PRIu64 ", line %" PRIu64 " - %s %" PRIu64 ", line %" PRIu64, name, unit, p->page, p->line,
                      unit, p->page_end, p->line_end);
    if (p->page && p->line != p->line_end)
        return format("%s %s %" PRIu64 ", lines %" PRIu64 "-%" PRIu64, name, unit, p->page, p->line, p->line_end);
    if (p->page)
        return format("%s %s %" PRIu64 ", line %" PRIu64, name, unit, p->page, p->line);
    if (p->line != p->line_end)
        return format("%s, lines %" PRIu64 "-%" PRIu64, name, p->line, p->line_end);
    return format("%s, line %" PRIu64, name, p->line);
}
