/* SPDX-License-Identifier: BSD-2-Clause
 * report-write.c - the page of a report
 *
 * The page is one file without scripts, and it loads nothing: links go to places in it, the passage one has gone to
 * is :target.  The higher the score of a passage among those of its question, the stronger are its colour and
 * the line under it, in five steps; the line is for paper and for eyes that see colours as one.  The text is in
 * blocks of a few kilobytes, which a browser lays out when they come into view. */
#include "config.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/html.h"
#include "src/cli/place.h"
#include "src/cli/report-page.h"
#include "src/cli/report-parts.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"
#include "src/cli/view.h"

enum {
    BEST = 12,                          /* passages in the list that are always shown     */
    EXCERPT = 400, AROUND = 120,        /* bytes of a passage in the list; of them before its best token */
    STRIP = 1000, STRIP_HEIGHT = 40,
    MAX_TICKS = 120                     /* pages that a strip shows                       */
};

/* What holes of the page's templates are about. */
struct page {
    const struct report   *r;
    const struct asked    *q;
    const struct document *d;
    const struct mark     *k;
};

char *report_grouped(uint64_t n)
{
    char   digits[24], *out = grow(NULL, 40, 1), *p = out;
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n);

    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *p++ = ',';
        *p++ = digits[i];
    }
    *p = 0;
    return out;
}

/* ---- pieces of the page ------------------------------------------------------------------- */
static void fill(FILE *f, const char *template, const struct page *p);

static void put(FILE *f, const char *s)
{
    html_text(f, s, strlen(s));
}

static void put_line(FILE *f, const char *s)
{
    html_line(f, s, strlen(s));
}

static void put_plain(FILE *f, const char *s)
{
    html_plain(f, s, strlen(s));
}

static void put_number(FILE *f, uint64_t n)
{
    char *s = report_grouped(n);

    fputs(s, f);
    free(s);
}

#define HOLE(name) static void name(FILE *f, const void *arg)
#define PAGE const struct page *p = arg

HOLE(version) { (void)arg; put_plain(f, gkv_version()); }
HOLE(style) { (void)arg; fputs(report_style, f); }
HOLE(question) { PAGE; put(f, p->q->question); }
HOLE(question_number) { PAGE; fprintf(f, "%zu", (size_t)(p->q - p->r->asked) + 1); }
HOLE(name) { PAGE; put_line(f, p->d->name); }
HOLE(name_plain) { PAGE; put_plain(f, p->d->name); }
HOLE(document_number) { PAGE; fprintf(f, "%zu", (size_t)(p->d - p->r->doc) + 1); }
HOLE(set) { PAGE; fputs(p->d->columns ? "columns" : "prose", f); }
HOLE(level_) { PAGE; fprintf(f, "%d", p->k->level); }
HOLE(score) { PAGE; fprintf(f, "%.3g", (double)p->k->score); }
HOLE(of) { PAGE; put_number(f, p->q->n); }
HOLE(id) { PAGE; fprintf(f, "%zu-%zu", p->k->asked + 1, p->k->rank + 1); }

HOLE(title)
{
    PAGE;

    put_plain(f, p->r->asked[0].question);
    if (p->r->n_asked > 1)
        fprintf(f, " and %zu more", p->r->n_asked - 1);
}

/* "3", or of several questions "2.3". */
HOLE(number)
{
    PAGE;

    if (p->r->n_asked > 1)
        fprintf(f, "%zu.", p->k->asked + 1);
    fprintf(f, "%zu", p->k->rank + 1);
}

HOLE(where)
{
    PAGE;

    char *where = place_cite("", p->r->doc[p->k->doc].part, &p->k->place);

    put_plain(f, where + strspn(where, ", "));
    free(where);
}

HOLE(where_document)
{
    PAGE;

    if (p->q->n_doc > 1) {
        fputs("<bdi>", f);
        put_line(f, p->r->doc[p->k->doc].name);
        fputs("</bdi>, ", f);
    }
}

HOLE(neighbours)
{
    PAGE;
    struct page other = *p;
    const size_t rank = p->k->rank;

    if (rank > 0) {
        other.k = &p->q->k[rank - 1];
        fill(f, report_previous, &other);
    }
    if (rank + 1 < p->q->n) {
        other.k = &p->q->k[rank + 1];
        fill(f, report_next, &other);
    }
}

HOLE(answer)
{
    PAGE;
    const char *s = p->q->answer.n ? p->q->answer.p : "";
    size_t      n = p->q->answer.n;

    while (n && strchr(" \t\r\n", s[n - 1]))
        n--;
    html_text(f, s, n);
    if (p->q->cut)
        fputs("\xe2\x80\xa6", f);
}

HOLE(answer_note)
{
    PAGE;

    if (p->q->cut)
        fputs("<p class=\"note\">The answer is cut: it reached the limit of <code>-n</code>.</p>\n", f);
    else if (report_is_blank(p->q->answer.n ? p->q->answer.p : "", p->q->answer.n))
        fputs("<p class=\"note\">The model wrote nothing.</p>\n", f);
}

HOLE(figures_)
{
    PAGE;

    for (size_t i = 0; i < p->q->n_figure; i++) {
        fprintf(f, "<li><small>%s</small> ", p->q->figure[i].name);
        put_line(f, p->q->figure[i].value);
        fputs("</li>\n", f);
    }
}

/* ---- the strip: where in a document the passages lie ---------------------------------------- */
HOLE(ticks)
{
    PAGE;
    const struct document *d = p->d;

    if (!d->paged || d->pages > MAX_TICKS)
        return;
    fputs("<path class=\"tick\" d=\"", f);
    for (size_t i = 0; i + 1 < d->len; i++)
        if (d->text[i] == '\f')
            fprintf(f, "M%.1f 0v%d", STRIP * (double)i / (double)d->len, STRIP_HEIGHT);
    fputs("\"/>", f);
}

HOLE(bar)
{
    PAGE;
    const double len = (double)p->d->len, width = STRIP * (double)(p->k->end - p->k->start) / len;
    const double w = width > 3 ? width : 3, at = STRIP * (double)p->k->start / len;
    const int    height = STRIP_HEIGHT * (p->k->level + 1) / (REPORT_LEVELS + 1);

    fprintf(f, "x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"", at + w > STRIP ? STRIP - w : at,
            STRIP_HEIGHT - height, w, height);
}

/* The best last, over the others. */
HOLE(bars)
{
    PAGE;
    struct page one = *p;

    for (size_t i = p->q->n; i-- > 0; ) {
        one.k = &p->q->k[i];
        if (&p->r->doc[one.k->doc] == p->d)
            fill(f, report_bar, &one);
    }
}

static size_t n_passages(const struct asked *q, size_t doc)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        n += q->k[i].doc == doc;
    return n;
}

HOLE(passages)
{
    PAGE;
    const size_t n = n_passages(p->q, (size_t)(p->d - p->r->doc));

    put_number(f, n);
    fputs(n == 1 ? " passage" : " passages", f);
}

HOLE(unit) { PAGE; fputs(p->d->paged ? p->d->part : "line", f); }
HOLE(last_unit) { PAGE; put_number(f, p->d->paged ? p->d->pages : p->d->lines); }

HOLE(strips)
{
    PAGE;
    struct page one = *p;
    size_t      none = 0;

    for (size_t i = 0; i < p->q->n_doc; i++) {
        one.d = &p->r->doc[p->q->doc[i]];
        if (n_passages(p->q, p->q->doc[i]))
            fill(f, report_strip, &one);
        else
            none++;
    }
    if (none) {
        fputs("<p class=\"note\">Nothing was kept of ", f);
        for (size_t i = 0; i < p->q->n_doc; i++)
            if (!n_passages(p->q, p->q->doc[i])) {
                one.d = &p->r->doc[p->q->doc[i]];
                fill(f, report_none, &one);
                fputs(--none ? ", " : ".</p>\n", f);
            }
    }
}

/* ---- the list, best first --------------------------------------------------------------------- */
/* The part of a long passage around its best token. */
static struct span words_around(const struct document *d, const struct mark *k)
{
    uint64_t from = k->best > k->start + AROUND ? k->best - AROUND : k->start;
    uint64_t to = k->end - from > EXCERPT ? from + EXCERPT : k->end, at = to;

    while (from > k->start && from < k->best && !report_is_edge(d, from))
        from++;
    while (at < k->end && at > from + EXCERPT / 2 && !report_is_edge(d, at))
        at--;
    to = at == k->end || report_is_edge(d, at) ? at : to;
    while (report_continues(d, from))
        from++;
    while (to > from && report_continues(d, to))
        to--;
    return (struct span){ from, to };
}

/* The sentences of the passage, as everywhere, or what there is room for. */
HOLE(excerpt)
{
    PAGE;
    const struct document *d = &p->r->doc[p->k->doc];
    const struct mark *k = p->k;
    const struct span shown = k->end - k->start > EXCERPT ? words_around(d, k) : (struct span){ k->start, k->end };
    const struct kept *kept = p->q->kept + k->kept, *const kept_end = p->q->kept + p->q->n_kept;
    bool begun = false, space = false, bold = false;

    fputs(shown.start > k->start ? "\xe2\x80\xa6" : "", f);
    for (size_t at = (size_t)shown.start, n; at < shown.end; at += n) {
        const bool white = report_is_space(d->text[at]);
        uint32_t   cp;
        bool       is_kept;

        n = 1;
        while (kept < kept_end && kept->doc == k->doc && kept->span.end <= at)
            kept++;
        is_kept = kept < kept_end && kept->doc == k->doc && kept->span.start <= at;
        if (bold && !is_kept)
            fputs("</b>", f);
        bold = bold && is_kept;
        if (white) {
            space = begun;
            continue;
        }
        fputs(space ? " " : "", f);
        begun = true;
        space = false;
        fputs(is_kept && !bold ? "<b>" : "", f);
        bold = is_kept;
        n = utf8_next(d->text + at, (size_t)shown.end - at, &cp);
        html_text(f, d->text + at, n);
    }
    fputs(bold ? "</b>" : "", f);
    fputs(shown.end < k->end ? "\xe2\x80\xa6" : "", f);
}

/* For eyes and on paper: how many of five. */
HOLE(dots)
{
    PAGE;

    for (int i = 1; i <= REPORT_LEVELS; i++)
        fputs(i <= p->k->level ? "\xe2\x97\x8f" : "\xe2\x97\x8b", f);
}

HOLE(items)
{
    PAGE;
    struct page one = *p;

    fputs("<ol>\n", f);
    for (size_t i = 0; i < p->q->n; i++) {
        if (i == BEST) {
            fprintf(f, "</ol>\n<details><summary>%zu more</summary>\n<ol start=\"%zu\">\n", p->q->n - i, i + 1);
        }
        one.k = &p->q->k[i];
        fill(f, report_item, &one);
    }
    fputs(p->q->n > BEST ? "</ol>\n</details>\n" : "</ol>\n", f);
}

static int by_start(const void *a, const void *b)
{
    const struct mark *x = *(const struct mark *const *)a, *y = *(const struct mark *const *)b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->asked > y->asked) - (x->asked < y->asked);
}

/* A newline that was only put in to wrap a line is a space here: the page has a width of its own. */
static void write_text(FILE *f, const struct document *d, size_t at, size_t end)
{
    while (at < end) {
        const char *line = memchr(d->text + at, '\n', end - at);
        size_t      stop = line ? (size_t)(line - d->text) : end;

        while (line && stop < end && !report_is_soft(d, stop)) {
            line = memchr(d->text + stop + 1, '\n', end - stop - 1);
            stop = line ? (size_t)(line - d->text) : end;
        }
        /* html_text cannot see that a line end goes on behind stop */
        html_text(f, d->text + at, stop - at - (stop > at && stop < d->len && d->text[stop - 1] == '\r'
                                                && d->text[stop] == '\n'));
        if (stop < end)
            fputc(' ', f);
        at = stop + 1;
    }
}

struct marks {
    const struct mark **all;         /* [n] by where they start; next: the first that is still to come */
    const struct mark **on;          /* [n_on] that we are in                          */
    size_t                 n, next, n_on;
};

/* The anchors of passages that begin at or before `at`. */
static void begin_marks(FILE *f, const struct page *p, struct marks *m, size_t at)
{
    struct page one = *p;

    for (; m->next < m->n && m->all[m->next]->start <= at; m->next++) {
        one.k = m->on[m->n_on++] = m->all[m->next];
        one.q = &p->r->asked[one.k->asked];
        fill(f, report_anchor, &one);
    }
}

static void write_block(FILE *f, const struct page *p, struct marks *m, size_t at, size_t end)
{
    struct page one = *p;

    while (at < end) {
        size_t stop = end, left = 0;
        int    strongest = 0;

        begin_marks(f, p, m, at);
        for (size_t i = 0; i < m->n_on; i++)
            if (m->on[i]->end > at) {
                m->on[left++] = m->on[i];
                stop = m->on[i]->end < stop ? (size_t)m->on[i]->end : stop;
                if (m->on[i]->level > strongest) {
                    strongest = m->on[i]->level;
                    one.k = m->on[i];
                }
            }
        m->n_on = left;
        if (m->next < m->n && m->all[m->next]->start < stop)
            stop = (size_t)m->all[m->next]->start;
        if (strongest)
            fill(f, report_mark, &one);
        write_text(f, p->d, at, stop);
        fputs(strongest ? "</mark>" : "", f);
        at = stop;
    }
}

HOLE(text)
{
    PAGE;
    const struct document *d = p->d;
    struct marks m = { NULL, NULL, 0, 0, 0 };
    uint64_t     page = 1;
    bool         begins = d->paged;

    for (size_t i = 0; i < p->r->n_asked; i++)
        m.n += p->r->asked[i].n;
    m.all = grow(NULL, m.n, sizeof *m.all);
    m.on = grow(NULL, m.n, sizeof *m.on);
    m.n = 0;
    for (size_t i = 0; i < p->r->n_asked; i++)
        for (size_t j = 0; j < p->r->asked[i].n; j++)
            if (&p->r->doc[p->r->asked[i].k[j].doc] == d)
                m.all[m.n++] = &p->r->asked[i].k[j];
    qsort(m.all, m.n, sizeof *m.all, by_start);
    for (size_t at = 0, end; at < d->len; at = end) {
        end = report_block_end(d, at);
        if (begins)
            fprintf(f, "\n<h3 id=\"d%zu-p%" PRIu64 "\">%c%s %" PRIu64 "</h3>\n", (size_t)(d - p->r->doc) + 1, page,
                    toupper((unsigned char)*d->part), d->part + 1, page);
        if (begins && report_is_blank(d->text + at, end - at) && (end == d->len || d->text[end] == '\f'))
            fprintf(f, "<p class=\"note\">There is no text on this %s.</p>\n", d->part);
        fputs("<div class=\"t\" dir=\"auto\">", f);
        write_block(f, p, &m, at, end);
        fputs("</div>", f);
        begins = end < d->len && d->text[end] == '\f';
        page += begins;
        end += begins;
    }
    begin_marks(f, p, &m, d->len);      /* of the form feed at the end, which no block has */
    fputs("\n", f);
    free(m.all);
    free(m.on);
}

HOLE(size)
{
    PAGE;
    char *s = view_bytes(p->d->len);

    if (p->d->paged) {
        put_number(f, p->d->pages);
        fprintf(f, " %s%s, ", p->d->part, p->d->pages == 1 ? "" : "s");
    }
    fputs(s, f);
    free(s);
}

/* ---- the whole ------------------------------------------------------------------------------------ */
HOLE(contents)
{
    PAGE;
    struct page one = *p;

    if (p->r->n_asked == 1)
        return;
    fputs("<nav class=\"contents\" aria-label=\"Questions\">\n<ol>\n", f);
    for (size_t i = 0; i < p->r->n_asked; i++) {
        one.q = &p->r->asked[i];
        fill(f, report_content, &one);
    }
    fputs("</ol>\n</nav>\n", f);
}

HOLE(questions)
{
    PAGE;
    struct page one = *p;

    for (size_t i = 0; i < p->r->n_asked; i++) {
        one.q = &p->r->asked[i];
        fill(f, report_question, &one);
        if (one.q->answered)
            fill(f, report_answer, &one);
        fill(f, report_question_end, &one);
    }
}

HOLE(lists)
{
    PAGE;
    struct page one = *p;

    for (size_t i = 0; i < p->r->n_asked; i++) {
        one.q = &p->r->asked[i];
        if (p->r->n_asked > 1)
            fill(f, report_list_head, &one);
        items(f, &one);
    }
}

HOLE(documents)
{
    PAGE;
    struct page one = *p;

    for (size_t i = 0; i < p->r->n_doc; i++) {
        one.d = &p->r->doc[i];
        fill(f, one.d->marked ? report_document : report_unmarked, &one);
    }
}

static const struct html_hole holes[] = {
    { "answer", answer }, { "answer note", answer_note }, { "bar", bar }, { "bars", bars }, { "contents", contents },
    { "document number", document_number }, { "documents", documents }, { "dots", dots }, { "excerpt", excerpt },
    { "figures", figures_ }, { "id", id }, { "last unit", last_unit }, { "level", level_ },
    { "lists", lists }, { "name", name }, { "name, plain", name_plain }, { "neighbours", neighbours },
    { "number", number }, { "of", of }, { "passages", passages }, { "question", question },
    { "question number", question_number }, { "questions", questions }, { "score", score }, { "set", set },
    { "size", size }, { "strips", strips }, { "style", style }, { "text", text }, { "ticks", ticks },
    { "title", title }, { "unit", unit }, { "version", version }, { "where", where },
    { "where document", where_document }, { NULL, NULL }
};

static void fill(FILE *f, const char *template, const struct page *p)
{
    html_fill(f, template, holes, p);
}

int report_write(struct run *r)
{
    const struct page p = { .r = r->report };

    if (!r->report)
        return 0;
    fill(r->output.f, report_page, &p);
    return output_keep(&r->output);
}
