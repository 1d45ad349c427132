/* SPDX-License-Identifier: BSD-2-Clause
 * place.c - see place.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/place.h"
#include "src/cli/say.h"

/* ---- rounding ------------------------------------------------------------------------ */
static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

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

struct span place_sentences(const char *text, uint64_t len, struct span s)
{
    gkv_sentences(text, len, &s.start, &s.end);
    return s;
}

uint64_t place_sentence(const char *text, uint64_t len, uint64_t at, uint64_t *next)
{
    return gkv_sentence(text, len, at, next);
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
