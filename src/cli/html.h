/* SPDX-License-Identifier: BSD-2-Clause
 * html.h - writes text of anybody into a web page
 *
 * What it cannot do there: end an element or an attribute, hide, or change the order in which other text is read.
 * Bytes that are not UTF-8 become U+FFFD, and characters that one cannot see but that act (control characters,
 * those that set the direction of writing, tags) are shown by number. */
#ifndef GEMKV_CLI_HTML_H
#define GEMKV_CLI_HTML_H

#include <stddef.h>
#include <stdio.h>

/* As the content of an element, where such numbers are elements of the class "c".  n bytes. */
void html_text(FILE *f, const char *s, size_t n);
/* The same for what should be one line, such as a name. */
void html_line(FILE *f, const char *s, size_t n);
/* As the content of a title, or of an attribute in double quotes. */
void html_plain(FILE *f, const char *s, size_t n);

/* A page is a text with holes: "[[name]]" is replaced by what the function of that name writes.  The last row has the
 * name NULL.  A name that no row has is a mistake of the program. */
struct html_hole {
    const char *name;
    void      (*write)(FILE *f, const void *arg);
};
void html_fill(FILE *f, const char *with_holes, const struct html_hole *hole, const void *arg);

#endif
