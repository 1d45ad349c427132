/* SPDX-License-Identifier: BSD-2-Clause
 * report-document.c - see report-document.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/report-document.h"
#include "src/cli/say.h"

enum {
    BLOCK = 6144,                       /* a block of text has at least so many bytes     */
    WIDEST = 120                        /* longer lines were not wrapped by hand          */
};

bool report_is_space(char c)
{
    return c && strchr(" \t\r\n\f", c);
}

bool report_is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!report_is_space(s[i]))
            return false;
    return true;
}

static uint64_t count(const char *s, size_t n, char c)
{
    uint64_t found = 0;

    for (const char *end = s + n; n && (s = memchr(s, c, n)); n = (size_t)(end - s)) {
        found++;
        s++;
    }
    return found;
}

/* The line at s: its length without its end. */
static size_t line_length(const char *s, size_t n)
{
    const char *end = memchr(s, '\n', n);

    return end ? (size_t)(end - s) : n;
}

/* Whether something stands behind a gap: a cell of a table. */
static bool has_gap(const char *s, size_t n)
{
    size_t spaces = 0, at = 0;

    while (at < n && (s[at] == ' ' || s[at] == '\t'))
        at++;
    for (; at < n; at++) {
        if (s[at] != ' ' && s[at] != '\t' && s[at] != '\r' && spaces >= 3)
            return true;
        spaces = s[at] == ' ' ? spaces + 1 : s[at] == '\t' ? 3 : 0;
    }
    return false;
}

bool report_is_soft(const struct document *d, size_t at)
{
    size_t begin = at, word = at + 1;

    if (!d->width)
        return false;
    while (begin > 0 && at - begin <= WIDEST && d->text[begin - 1] != '\n' && d->text[begin - 1] != '\f')
        begin--;
    while (word < d->len && !report_is_space(d->text[word]))
        word++;
    return word > at + 1 && at > begin && at - begin <= d->width && word - begin > d->width;
}

/* The width at which lines were wrapped: many are a little shorter, and few a little longer.  0: they were not.  The
 * test is that most lines go on with a small letter where a word did not fit; lines of a list do not. */
static size_t wrapped_at(struct document *d, const size_t *of_width, size_t lines)
{
    size_t best = 0, breaks = 0, small = 0;
    long   most = (long)(lines / 5);

    for (size_t w = 45; w < WIDEST; w++) {
        long near = 0;

        for (size_t i = w - 12; i <= w; i++)
            near += (long)of_width[i];
        for (size_t i = w + 1; i <= w + 12 && i <= WIDEST; i++)
            near -= 3 * (long)of_width[i];
        if (near > most) {
            most = near;
            best = w;
        }
    }
    d->width = best;
    for (size_t at = 0; best && at + 1 < d->len; at++) {
        at += line_length(d->text + at, d->len - at);
        if (at + 1 < d->len && report_is_soft(d, at)) {
            breaks++;
            small += d->text[at + 1] >= 'a' && d->text[at + 1] <= 'z';
        }
    }
    return small > breaks / 2 ? best : 0;
}

/* How the text wants to be set: in columns, if one line of ten has a gap; else, lines that were wrapped by hand are
 * joined, because the page has a width of its own. */
void report_look(struct document *d)
{
    size_t lines = 0, gaps = 0, of_width[WIDEST + 1] = { 0 }, n;

    d->paged = memchr(d->text, '\f', d->len);
    /* A form feed at the end ends the last page and begins none. */
    d->pages = count(d->text, d->len, '\f') + (d->len && d->text[d->len - 1] != '\f');
    d->lines = count(d->text, d->len, '\n') + (d->len && d->text[d->len - 1] != '\n');
    for (size_t at = 0; at < d->len; at += n + 1) {
        n = line_length(d->text + at, d->len - at);
        if (report_is_blank(d->text + at, n))
            continue;
        lines++;
        gaps += has_gap(d->text + at, n);
        of_width[n < WIDEST ? n : WIDEST]++;
    }
    d->columns = gaps > lines / 10;
    d->width = d->columns ? 0 : wrapped_at(d, of_width, lines);
}

bool report_is_edge(const struct document *d, uint64_t at)
{
    return at == 0 || at == d->len || report_is_space(d->text[at - 1]) || report_is_space(d->text[at]);
}

bool report_continues(const struct document *d, uint64_t at)
{
    return at < d->len && ((unsigned char)d->text[at] & 0xc0) == 0x80;
}

/* ---- the text, marked --------------------------------------------------------------------------- */
size_t report_block_end(const struct document *d, size_t at)
{
    const char *s = d->text + at, *page = d->paged ? memchr(s, '\f', d->len - at) : NULL;
    const size_t end = page ? (size_t)(page - d->text) : d->len;

    for (size_t i = at + BLOCK; i < end; i++)
        if (d->text[i - 1] == '\n' && (d->text[i] == '\n' || i > at + 3 * BLOCK))
            return i;
    return end;
}
