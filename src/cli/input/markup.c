/* SPDX-License-Identifier: BSD-2-Clause
 * markup.c - see markup.h
 *
 * libxml2 parses and calls us for each element; no tree is made.  Only the five predefined entities of XML are known,
 * so none is expanded, and nothing is loaded. */
#include "config.h"
#include "src/cli/input/markup.h"
#include "src/cli/input/readers.h"
#if HAVE_LIBXML2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>
#include <libxml/parser.h>
#include "src/cli/input/encoding.h"

/* ---- text ------------------------------------------------------------------------------ */
static char last(const struct markup *m)
{
    return m->out->n ? m->out->p[m->out->n - 1] : '\n';
}

static bool at_start(const struct markup *m)
{
    return last(m) == '\n' || last(m) == '\f';
}

void markup_line(struct markup *m)
{
    while (m->out->n && last(m) == ' ')
        m->out->n--;
    if (!at_start(m))
        text_puts(m->out, "\n");
}

void markup_page(struct markup *m)
{
    if (m->cell)                /* a page never ends within a row */
        return;
    markup_line(m);
    text_puts(m->out, "\f");
}

/* Between two blocks: a line, but within a cell a space. */
static void part(struct markup *m)
{
    if (!m->cell)
        markup_line(m);
    else if (!at_start(m) && last(m) != ' ')
        text_puts(m->out, " ");
}

void markup_put(struct markup *m, const char *s, size_t n)
{
    if (!m->collapse || m->keep) {
        text_add(m->out, s, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
            if (!at_start(m) && last(m) != ' ')
                text_add(m->out, " ", 1);
        } else {
            text_add(m->out, s + i, 1);
        }
}

/* ---- elements -------------------------------------------------------------------------- */
static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

const char *markup_att(const char **att, const char *name)
{
    for (; att && att[0]; att += 2)
        if (!strcmp(att[0], name) || !strcmp(local(att[0]), name))
            return att[1];
    return NULL;
}

static enum does does(const struct markup *m, const char *name)
{
    for (const struct element *e = m->table; e->name; e++)
        if (!strcmp(e->name, name))
            return e->does;
    return 0;
}

static void open_item(struct markup *m)
{
    const int at = m->n_lists < MARKUP_DEPTH ? m->n_lists - 1 : MARKUP_DEPTH - 1;

    markup_line(m);
    for (int i = 0; i < at; i++)
        text_puts(m->out, "  ");
    if (at >= 0 && m->item[at] >= 0)
        text_printf(m->out, "%ld. ", ++m->item[at]);
    else
        text_puts(m->out, "- ");
}

void markup_list(struct markup *m, bool ordered)
{
    if (m->n_lists < MARKUP_DEPTH)
        m->item[m->n_lists] = ordered ? 0 : -1;
    m->n_lists++;
    markup_line(m);
}

static void open_ordered(struct markup *m, const char **att)
{
    const char *start = markup_att(att, "start");
    long        n = start ? strtol(start, NULL, 10) : 1;

    markup_list(m, true);
    if (m->n_lists <= MARKUP_DEPTH && n > 0 && n < 1000000)
        m->item[m->n_lists - 1] = n - 1;
}

static void open_cell(struct markup *m)
{
    const int at = m->n_rows - 1;

    if (at >= 0 && at < MARKUP_DEPTH && m->cells[at]++)
        text_puts(m->out, last(m) == ' ' ? "| " : " | ");
    m->cell++;
}

static void opened(void *arg, const xmlChar *qualified, const xmlChar **atts)
{
    struct markup *m = arg;
    const char    *name = local((const char *)qualified), *n;
    const char   **att = (const char **)atts;
    const enum does what = does(m, name);

    if (m->skip) {
        m->skip += what == DOES_SKIP;
        return;
    }
    if (m->open && m->open(m, name, att))
        return;
    switch (what) {
    case DOES_BLOCK: part(m); break;
    case DOES_HEADING: markup_line(m); break;
    case DOES_BREAK: if (m->cell) part(m); else text_puts(m->out, "\n"); break;
    case DOES_TAB: text_puts(m->out, m->cell ? " " : "\t"); break;
    case DOES_SPACES:
        n = markup_att(att, "c");
        for (long i = n ? strtol(n, NULL, 10) : 1; i > 0 && i <= 1000; i--)
            text_puts(m->out, " ");
        break;
    case DOES_HYPHEN: text_puts(m->out, "-"); break;
    case DOES_SKIP: m->skip++; break;
    case DOES_ROW:
        markup_line(m);
        if (m->n_rows < MARKUP_DEPTH)
            m->cells[m->n_rows] = 0;
        m->n_rows++;
        break;
    case DOES_CELL: open_cell(m); break;
    case DOES_TEXT: m->text++; break;
    case DOES_PAGE: markup_page(m); break;
    case DOES_LIST: markup_list(m, false); break;
    case DOES_ORDERED: open_ordered(m, att); break;
    case DOES_ITEM: open_item(m); break;
    case DOES_NOTE: text_puts(m->out, " ["); m->cell++; break;
    case DOES_UP: text_puts(m->out, "^"); break;
    case DOES_KEEP: part(m); m->keep++; break;
    }
}

static void closed(void *arg, const xmlChar *qualified)
{
    struct markup  *m = arg;
    const char     *name = local((const char *)qualified);
    const enum does what = does(m, name);

    if (m->skip) {
        m->skip -= what == DOES_SKIP;
        return;
    }
    switch (what) {
    case DOES_BLOCK: part(m); break;
    case DOES_HEADING: case DOES_ITEM: markup_line(m); break;
    case DOES_ROW: m->n_rows--; markup_line(m); break;
    case DOES_CELL: m->cell--; break;
    case DOES_TEXT: m->text--; break;
    case DOES_LIST: case DOES_ORDERED: m->n_lists--; markup_line(m); break;
    case DOES_NOTE: m->cell--; text_puts(m->out, "]"); break;
    case DOES_KEEP: m->keep--; part(m); break;
    default: break;
    }
    if (m->close)
        m->close(m, name);
}

static void characters(void *arg, const xmlChar *s, int n)
{
    struct markup *m = arg;

    if (!m->skip && (!m->only_text || m->text > 0) && n > 0)
        markup_put(m, (const char *)s, (size_t)n);
}

static xmlEntityPtr entity(void *arg, const xmlChar *name)
{
    (void)arg;
    return xmlGetPredefinedEntity(name);
}

static void silent(void *arg, const char *fmt, ...)
{
    (void)arg;
    (void)fmt;
}

static xmlSAXHandler handler(void)
{
    return (xmlSAXHandler){ .startElement = opened, .endElement = closed, .characters = characters,
                            .ignorableWhitespace = characters, .cdataBlock = characters, .getEntity = entity,
                            .warning = silent, .error = silent, .fatalError = silent };
}

/* In pieces: libxml2 refuses more than 10 MB at once. */
static bool parse(xmlSAXHandler *sax, void *arg, const char *xml, size_t n)
{
    static const size_t PIECE = 64 << 10;
    xmlParserCtxtPtr x = xmlCreatePushParserCtxt(sax, arg, NULL, 0, NULL);
    bool             good;

    if (!x)
        return false;
    xmlCtxtUseOptions(x, XML_PARSE_NONET);
    for (; n; ) {
        const size_t k = n < PIECE ? n : PIECE;

        xmlParseChunk(x, xml, (int)k, 0);
        xml += k;
        n -= k;
    }
    xmlParseChunk(x, xml, 0, 1);
    good = x->wellFormed;
    xmlFreeDoc(x->myDoc);               /* what it makes of entities that are declared, all the same */
    xmlFreeParserCtxt(x);
    return good;
}

bool markup_xml(struct markup *m, const char *xml, size_t n)
{
    xmlSAXHandler sax = handler();

    return parse(&sax, m, xml, n);
}

void markup_html(struct markup *m, const char *html, size_t n, const char *encoding)
{
    xmlSAXHandler     sax = handler();
    htmlParserCtxtPtr x = n <= INT_MAX ? htmlCreatePushParserCtxt(&sax, m, NULL, 0, NULL, XML_CHAR_ENCODING_NONE) : NULL;
    xmlCharEncodingHandlerPtr from = x && encoding ? xmlFindCharEncodingHandler(encoding) : NULL;

    if (!x)
        return;
    if (from)                   /* by name: xmlCharEncoding has numbers for a few only */
        xmlSwitchToEncoding(x, from);
    htmlCtxtUseOptions(x, HTML_PARSE_NONET | HTML_PARSE_RECOVER);
    htmlParseChunk(x, html, (int)n, 0);
    htmlParseChunk(x, html, 0, 1);
    htmlFreeParserCtxt(x);
}

/* ---- each element ---------------------------------------------------------------------- */
struct each {
    void (*f)(void *arg, const char *name, const char **att);
    void  *arg;
};

static void each(void *arg, const xmlChar *name, const xmlChar **att)
{
    const struct each *e = arg;

    e->f(e->arg, local((const char *)name), (const char **)att);
}

void markup_each(const char *xml, size_t n, void (*f)(void *arg, const char *name, const char **att), void *arg)
{
    xmlSAXHandler    sax = { .startElement = each, .getEntity = entity, .warning = silent, .error = silent,
                             .fatalError = silent };
    struct each      e = { f, arg };

    parse(&sax, &e, xml, n);
}

/* ---- HTML ------------------------------------------------------------------------------ */
static const struct element html_elements[] = {
    { "title", DOES_SKIP },     /* text_of_html begins behind this where the title is text */
    { "p", DOES_BLOCK }, { "div", DOES_BLOCK }, { "section", DOES_BLOCK }, { "article", DOES_BLOCK },
    { "header", DOES_BLOCK }, { "footer", DOES_BLOCK }, { "main", DOES_BLOCK }, { "nav", DOES_BLOCK },
    { "aside", DOES_BLOCK }, { "figure", DOES_BLOCK }, { "figcaption", DOES_BLOCK }, { "blockquote", DOES_BLOCK },
    { "address", DOES_BLOCK }, { "form", DOES_BLOCK }, { "fieldset", DOES_BLOCK }, { "legend", DOES_BLOCK },
    { "details", DOES_BLOCK }, { "summary", DOES_BLOCK }, { "caption", DOES_HEADING }, { "title", DOES_HEADING },
    { "table", DOES_BLOCK }, { "option", DOES_BLOCK }, { "center", DOES_BLOCK }, { "hr", DOES_BLOCK },
    { "h1", DOES_HEADING }, { "h2", DOES_HEADING }, { "h3", DOES_HEADING }, { "h4", DOES_HEADING },
    { "h5", DOES_HEADING }, { "h6", DOES_HEADING }, { "dt", DOES_HEADING }, { "dd", DOES_HEADING },
    { "br", DOES_BREAK }, { "script", DOES_SKIP }, { "style", DOES_SKIP }, { "template", DOES_SKIP },
    { "noscript", DOES_SKIP }, { "svg", DOES_SKIP }, { "tr", DOES_ROW }, { "td", DOES_CELL }, { "th", DOES_CELL },
    { "ul", DOES_LIST }, { "ol", DOES_ORDERED }, { "li", DOES_ITEM }, { "pre", DOES_KEEP }, { "sup", DOES_UP },
    { NULL, 0 }
};

/* Whether the text names its own encoding, as <meta charset=...> does. */
static bool is_declared(const char *html, size_t n)
{
    static const char word[] = "charset";
    const size_t      k = sizeof word - 1;

    n = n < 4096 ? n : 4096;
    for (size_t i = 0; i + k <= n; i++)
        if (!strncasecmp(html + i, word, k))
            return true;
    return false;
}

/* The encoding, NULL if libxml2 shall take what the text says of itself: the mark's, or UTF-8 if the text is that, or
 * what it says, or what it looks like, or what pages of old browsers are without a word about it. */
static const char *encoding_of_html(const struct encoding *e, const char *html, size_t n)
{
    if ((e->guessed || e->unknown) && is_declared(html, n))
        return NULL;
    return e->name ? e->name : e->unknown ? "WINDOWS-1252" : "UTF-8";
}

void text_of_html(const char *html, size_t n, bool title, struct text *out)
{
    struct markup   m = { .table = html_elements + title, .collapse = true, .out = out };
    struct encoding e;

    encoding_of(&e, html, n, true);
    markup_html(&m, html + e.mark, n - e.mark, encoding_of_html(&e, html, n));
    markup_line(&m);
}

int read_html(int fd, FILE *out, FILE *err)
{
    struct text html = { NULL, 0, 0 }, t = { NULL, 0, 0 };
    const int   code = child_text(fd, &html, err);

    if (!code)
        text_of_html(html.p, html.n, true, &t);
    fwrite(t.p ? t.p : "", 1, t.n, out);
    text_free(&html);
    text_free(&t);
    return code;
}
#endif
