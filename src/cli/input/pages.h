/* SPDX-License-Identifier: BSD-2-Clause
 * pages.h - which pages of a document have no text, and what they are if they are read as pictures */
#ifndef GEMKV_CLI_INPUT_PAGES_H
#define GEMKV_CLI_INPUT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/input.h"
#include "src/cli/text.h"

struct pages {
    struct io  *io;
    const char *name;
    bool        ocr;
    input_sink *sink;           /* gets the text ...                                      */
    void       *arg;

    int         fd;             /* the PDF; -1: form feeds end no pages of pictures       */
    struct text held;           /* ... from its first character on: blank so far          */
    char        part[4];        /* n_part bytes of a blank character that a piece ends in */
    size_t      n_part;
    bool        some;           /* there was text                                         */
    bool        here;           /* ... on this page                                       */
    uint64_t    page, n_blank;  /* that have ended; of those, without text                */
    uint64_t    first;          /* of the pages without text that end now; 0: none        */
    struct text list;           /* "3-9, 12"                                              */
};

void pages_watch(struct pages *p, int fd);
/* 0 or an exit status. */
int  pages_feed(struct pages *p, const char *text, size_t len);
/* The end of the document, or why it was not reached: returns that, or refuses a document without text. */
int  pages_end(struct pages *p, int code);

#endif
