/* SPDX-License-Identifier: BSD-2-Clause
 * snap.c - see snap.h.  A document is any text: searches for the beginning of a sentence look at some hundred bytes
 * only, so that a megabyte without one costs nothing. */
#include "config.h"
#include <string.h>
#include <gemkv.h>
#include "src/base/snap.h"
#include "src/base/unicode.h"

enum {
    FAR = 600,                  /* bytes: more than nearly all sentences have                */
    WORD = 32                   /* longest word that could be an abbreviation                */
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

#define BAD UINT32_MAX          /* of a byte that belongs to no character */

/* The character at p, its length in bytes. */
static size_t character(const char *p, size_t len, uint32_t *cp)
{
    const unsigned char *u = (const unsigned char *)p;
    int bad;
    const size_t n = gkv__utf8_next(u, u + len, cp, &bad);

    if (bad)
        *cp = BAD;
    return n;
}

/* The character before byte `at`, which is not 0; returns where it begins. */
static size_t before(const char *text, size_t at, uint32_t *cp)
{
    size_t from = at - 1;

    while (from > 0 && at - from < 4 && inside_character(text[from]))
        from--;
    if (from + character(text + from, at - from, cp) == at)
        return from;
    *cp = BAD;
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
static bool is_abbreviation(const char *text, size_t dot, char next)
{
    static const char always[] = "mr mrs ms dr prof st sr jr vs hon rev gen col capt lt sgt messrs mme mlle cf al approx "
                                 "vgl bzw ca ggf sog inkl str dipl";
    static const char digit[] = "no nos vol p pp fig figs eq sec art ch ed jan feb mar apr jun jul aug sep sept oct nov "
                                "dec nr bd abs abb tab s ref";
    size_t from = dot;

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
static bool is_item(const char *text, size_t stop, size_t at)
{
    size_t digits = at;

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
static bool is_cells(const char *text, size_t stop, size_t at)
{
    unsigned commas = 0;

    for (size_t i = at; i < stop && text[i] != '\n' && text[i] != '\f'; i++) {
        const size_t left = stop - i;

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
static bool is_row(const char *text, size_t len, size_t at)
{
    const size_t stop = len - at < FAR ? len : at + FAR;

    while (at < stop && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return is_item(text, stop, at) || is_cells(text, stop, at);
}

/* Does a sentence begin with the character at byte `at`, which is not white space? */
static bool begins(const char *text, size_t len, size_t at)
{
    size_t p = at, line = at;
    unsigned newlines = 0;
    uint32_t cp, next;

    if (at == 0)
        return true;
    if (!is_space(text[at - 1])) {              /* scripts without spaces                 */
        character(text + at, len - at, &next);
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
        size_t last = p;

        while (last > 0 && p - last < FAR && text[last - 1] != '\n' && text[last - 1] != '\f')
            last--;
        if (is_row(text, len, line) || is_row(text, len, last))
            return true;
    }
    character(text + at, len - at, &next);
    for (p = before(text, p, &cp); p > 0 && at - p < FAR && closes(cp); )
        p = before(text, p, &cp);
    if (ends_wide(cp))
        return true;
    return ends(cp) && !is_lower(next) && !(cp == '.' && is_abbreviation(text, p, text[at]));
}

/* ---- rounding ------------------------------------------------------------------------ */
struct gkv__range gkv__trim(const char *text, struct gkv__range s)
{
    while (s.end > s.start && is_space(text[s.end - 1]))
        s.end--;
    while (s.start < s.end && is_space(text[s.start]))
        s.start++;
    return s;
}

/* The last place up to `at` where a sentence begins; else a line, a word, `at` itself. */
static size_t back(const char *text, size_t len, size_t at)
{
    const size_t least = at > FAR ? at - FAR : 0;
    size_t       line = SIZE_MAX, word = SIZE_MAX;

    for (size_t p = at;; p--) {
        if (p < len && !inside_character(text[p]) && !is_space(text[p])) {
            if (begins(text, len, p))
                return p;
            if (p > 0 && is_space(text[p - 1])) {
                size_t q = p;

                while (q > least && is_space(text[q - 1]) && text[q - 1] != '\n')
                    q--;
                if (line == SIZE_MAX && q > 0 && text[q - 1] == '\n')
                    line = p;
                word = word == SIZE_MAX ? p : word;
            }
        }
        if (p == least)
            return line != SIZE_MAX ? line : word != SIZE_MAX ? word : at;
    }
}

/* The first place from `at` on where a sentence begins, or the text ends; else a line's or a word's end, `at` itself. */
static size_t forth(const char *text, size_t len, size_t at)
{
    size_t line = SIZE_MAX, word = SIZE_MAX;

    for (size_t p = at; p < len && p - at < FAR; p++) {
        if (!inside_character(text[p]) && !is_space(text[p]) && begins(text, len, p))
            return p;
        if (line == SIZE_MAX && text[p] == '\n')
            line = p;
        if (word == SIZE_MAX && is_space(text[p]))
            word = p;
    }
    if (len - at < FAR)
        return len;
    return line != SIZE_MAX ? line : word != SIZE_MAX ? word : at;
}

struct gkv__range gkv__characters(const char *text, size_t len, struct gkv__range s)
{
    s.end = s.end < len ? s.end : len;
    s.start = s.start < s.end ? s.start : s.end;
    while (s.start > 0 && s.start < len && inside_character(text[s.start]))
        s.start--;
    while (s.end < len && inside_character(text[s.end]))
        s.end++;
    return s;
}

struct gkv__range gkv__sentences(const char *text, size_t len, struct gkv__range s)
{
    s = gkv__trim(text, gkv__characters(text, len, s));
    return gkv__trim(text, (struct gkv__range){ back(text, len, s.start), forth(text, len, s.end) });
}

/* ---- words ------------------------------------------------------------------------------ */

enum { LONG = 64 };             /* bytes: a longer word is cut between two characters        */

/* Scripts that write words without spaces between them: each letter stands alone. */
static bool is_packed(uint32_t c)
{
    static const struct { uint32_t first, last; } row[] = {
        { 0xe00, 0xeff }, { 0x1000, 0x109f }, { 0x1780, 0x17ff }, { 0x2e80, 0xa4cf }, { 0xf900, 0xfaff },
        { 0xff66, 0xff9d }, { 0x20000, 0x3ffff },
    };
    size_t i = 0;

    while (i < sizeof row / sizeof *row && !(c >= row[i].first && c <= row[i].last))
        i++;
    return i < sizeof row / sizeof *row;
}

/* Accents, variation selectors, the joiner of emoji, skin tones: part of the character before. */
static bool is_added(uint32_t c)
{
    return gkv__uc_kind(c) == GKV__UC_MARK || c == 0x200d || (c >= 0x1f3fb && c <= 0x1f3ff);
}

static bool is_flag(uint32_t c)                 /* half of one */
{
    return c >= 0x1f1e6 && c <= 0x1f1ff;
}

static bool is_number(uint32_t c)
{
    return gkv__uc_class(c) == GKV__UC_NUMBER;
}

static bool in_word(uint32_t c)
{
    return !is_packed(c) && (gkv__uc_class(c) & (GKV__UC_LETTER | GKV__UC_NUMBER) || gkv__uc_kind(c) == GKV__UC_MARK ||
                             c == '_' || c == '\'' || c == 0x2019 || c == 0x200c);
}

/* Are a and b, in this order, part of the same word? */
static bool together(uint32_t a, uint32_t b)
{
    if (a == BAD || b == BAD)
        return a == b;
    return is_added(b) || a == 0x200d || (in_word(a) && in_word(b)) || (is_flag(a) && is_flag(b)) ||
           (is_number(a) && (b == '.' || b == ',')) || ((a == '.' || a == ',') && is_number(b));
}

struct gkv__range gkv__words_around(const char *text, size_t len, struct gkv__range s)
{
    struct gkv__range out;
    uint32_t cp, other;

    s = gkv__trim(text, gkv__characters(text, len, s));
    out = s;
    if (s.start == s.end)
        return s;
    character(text + s.start, len - s.start, &cp);
    while (out.start > 0 && s.start - out.start < LONG) {
        const size_t p = before(text, out.start, &other);

        if (!together(other, cp))
            break;
        out.start = p;
        cp = other;
    }
    before(text, s.end, &cp);
    while (out.end < len && out.end - s.end < LONG) {
        const size_t n = character(text + out.end, len - out.end, &other);

        if (!together(cp, other))
            break;
        out.end += n;
        cp = other;
    }
    /* A point that no digit follows is none of the number's. */
    while (out.end > s.end && (text[out.end - 1] == '.' || text[out.end - 1] == ','))
        out.end--;
    while (out.start < s.start && (text[out.start] == '.' || text[out.start] == ','))
        out.start++;
    return out;
}

/* ---- to the caller's choice ------------------------------------------------------------- */

static const char *const names[] = {
    [GKV__SNAP_NONE] = "none", [GKV__SNAP_WORD] = "word", [GKV__SNAP_SENTENCE] = "sentence",
};

const char *gkv__snap_name(enum gkv__snap how)
{
    return names[how];
}

bool gkv__snap_named(const char *name, enum gkv__snap *how)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) {
            *how = (enum gkv__snap)i;
            return true;
        }
    return false;
}

struct gkv__range gkv__snap(const char *text, size_t len, enum gkv__snap how, struct gkv__range s)
{
    if (how == GKV__SNAP_WORD)
        return gkv__words_around(text, len, s);
    if (how == GKV__SNAP_SENTENCE)
        return gkv__sentences(text, len, s);
    return gkv__characters(text, len, s);
}

/* ---- API -------------------------------------------------------------------------------- */

void gkv_sentences(const char *text, uint64_t len, uint64_t *start, uint64_t *end)
{
    const struct gkv__range s = gkv__sentences(text, (size_t)len, (struct gkv__range){
        (size_t)(*start < len ? *start : len), (size_t)(*end < len ? *end : len) });

    *start = s.start;
    *end = s.end;
}

uint64_t gkv_sentence(const char *text, uint64_t len, uint64_t at, uint64_t *next)
{
    uint64_t p = at;

    /* Lines of a log, say, end none: far away a line will do.  So they follow each other without a gap. */
    do
        p++;
    while (p < len && (inside_character(text[p]) || is_space(text[p])
                       || !((p - at > FAR && text[p - 1] == '\n') || begins(text, (size_t)len, (size_t)p))));
    *next = p < len ? p : len;
    return gkv__trim(text, (struct gkv__range){ (size_t)at, (size_t)*next }).end;
}
