/* SPDX-License-Identifier: BSD-2-Clause
 * markup.h - text out of HTML and XML, by a table of what elements do */
#ifndef GEMKV_CLI_INPUT_MARKUP_H
#define GEMKV_CLI_INPUT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/text.h"

enum does {
    DOES_BLOCK = 1,             /* begins and ends a line                                 */
    DOES_HEADING,               /* ... also within a cell of a table                      */
    DOES_BREAK,                 /* ends a line                                            */
    DOES_TAB,
    DOES_SPACES,                /* as many as its attribute "c" says, or 1                */
    DOES_HYPHEN,
    DOES_SKIP,                  /* nothing in it is text                                  */
    DOES_ROW, DOES_CELL,        /* of a table: a line, its cells between bars             */
    DOES_TEXT,                  /* in XML where only these elements have text             */
    DOES_PAGE,                  /* ends a page                                            */
    DOES_LIST, DOES_ORDERED, DOES_ITEM,
    DOES_NOTE,                  /* is put into brackets                                   */
    DOES_UP,                    /* superscript: 10^6                                      */
    DOES_KEEP                   /* white space in it is text                              */
};

enum { MARKUP_DEPTH = 32 };

struct element { const char *name; enum does does; };   /* NULL name last; names without a prefix */

struct markup {
    const struct element *table;
    bool         only_text;     /* there are DOES_TEXT elements                           */
    bool         collapse;      /* white space is one space                               */
    /* For what a format has of its own; returns false: do as the table says.  NULL: nothing. */
    bool       (*open)(struct markup *m, const char *name, const char **att);
    void       (*close)(struct markup *m, const char *name);
    void        *arg;
    struct text *out;

    int          skip, text, keep, cell;        /* elements of these kinds that are open  */
    int          n_rows, n_lists;
    unsigned     cells[MARKUP_DEPTH];           /* of each row that is open               */
    long         item[MARKUP_DEPTH];            /* number of the last item of each list, -1: bullets */
};

/* Appends the text of xml[n].  False: it is damaged, and not all of its text is there.  HTML never is. */
bool markup_xml(struct markup *m, const char *xml, size_t n);
void markup_html(struct markup *m, const char *html, size_t n, const char *encoding);

/* For m->open: text, and the end of a line, where there is no element for them. */
void markup_put(struct markup *m, const char *s, size_t n);
void markup_line(struct markup *m);
void markup_page(struct markup *m);
void markup_list(struct markup *m, bool ordered);

/* The attribute of that name, which may have a prefix; NULL: none. */
const char *markup_att(const char **att, const char *name);

/* Calls f for each element. */
void markup_each(const char *xml, size_t n, void (*f)(void *arg, const char *name, const char **att), void *arg);

#endif
