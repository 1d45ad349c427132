/* SPDX-License-Identifier: BSD-2-Clause
 * report-document.h - a document as a report shows it: its pages and lines, and how it wants to be set */
#ifndef GEMKV_CLI_REPORT_DOCUMENT_H
#define GEMKV_CLI_REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct document {
    char       *name;
    char       *part;                   /* what a form feed ends: "page", "slide" ...     */
    const char *text;
    size_t      len;
    char       *copy;                   /* the text, where the session may close it       */
    bool        paged, columns, marked;
    size_t      width;                  /* where its lines were wrapped, or 0             */
    uint64_t    pages, lines;
};

bool   report_is_space(char c);
bool   report_is_blank(const char *s, size_t n);

/* Finds out what is not name, part, text, len or copy. */
void   report_look(struct document *d);
/* Whether the line ends at text[at] only because the next word did not fit into d->width. */
bool   report_is_soft(const struct document *d, size_t at);
/* Whether a word begins or ends at `at`. */
bool   report_is_edge(const struct document *d, uint64_t at);
/* Whether text[at] is in a character that began before it. */
bool   report_continues(const struct document *d, uint64_t at);
/* The end of the block that begins at `at`: that of its page, or a line's, if possible before a blank one. */
size_t report_block_end(const struct document *d, size_t at);

#endif
