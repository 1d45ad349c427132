/* SPDX-License-Identifier: BSD-2-Clause
 * place.h - where in its document a passage stands, for people: page, lines, and the whole sentences around it
 *
 * Pages end with a form feed, as pdftotext(1) writes them, and a text without one has no pages.  Lines end with a
 * newline.  Both count from 1, lines anew on each page. */
#ifndef GEMKV_CLI_PLACE_H
#define GEMKV_CLI_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemkv.h>

/* Of the first and the last byte that is not white space. */
struct place {
    uint64_t page, page_end;            /* 0: the text has no pages                       */
    uint64_t line, line_end;
};

/* Bytes of a text, from start up to end. */
struct span {
    uint64_t start, end;
};

/* What is shown: whole sentences, and the best of the kept passages in them. */
struct passage {
    const gkv_kept *best;
    const char     *text;               /* span.end - span.start bytes                    */
    struct span     span;
    struct place    place;
};

/* s without white space at its ends; empty, at its start, if there is nothing else. */
struct span place_trim(const char *text, struct span s);

/* s widened to whole sentences, without white space at the ends.  A line of a table, of a list or of a heading is a
 * sentence, and so are the last words before an empty line and a page's end.  Where none begins or ends within some
 * hundred bytes, it is widened to a line, else to a word, else to a character. */
struct span place_sentences(const char *text, uint64_t len, struct span s);

/* The end of the sentence that begins at byte `at`, without white space: for going through a text.  *next: where the
 * one after it begins, or len. */
uint64_t place_sentence(const char *text, uint64_t len, uint64_t at, uint64_t *next);

struct place place_of(const char *text, uint64_t len, struct span s);

/* Of each of the n kept passages of d, which are in its order; for free(). */
struct place *place_kept(const gkv_document *d, const gkv_kept *kept, size_t n);

/* Of each, from 1: how many have a better score, or the same and come before it; for free(). */
size_t *place_ranks(const gkv_kept *kept, size_t n);

/* The n kept passages of d as sentences, those that overlap as one, the best first: an array of *m for free().  Of
 * equal scores the first in the document is the better one. */
struct passage *place_passages(const gkv_document *d, const gkv_kept *kept, size_t n, size_t *m);

/* "report.pdf p. 12, lines 3-9", "notes.txt, line 7", "report.pdf p. 2, line 50 - p. 3, line 1"; where part, which
 * may be NULL, is no page: "talk.pptx slide 2, line 1".  For free(). */
char *place_cite(const char *name, const char *part, const struct place *p);

#endif
