/* SPDX-License-Identifier: BSD-2-Clause
 * format.h - what a file is, seen from its bytes, and what turns it into text */
#ifndef GEMKV_CLI_INPUT_FORMAT_H
#define GEMKV_CLI_INPUT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/input/child.h"

struct sniff {
    const char *name;           /* of the file: only between kinds of text                */
    const char *head, *tail;    /* its first bytes, and its last, where they can be read  */
    size_t      n_head, n_tail;
    bool        document;       /* not data for the program, such as rows of JSON          */
};

enum { SNIFF_BYTES = 64 << 10, FORMAT_WAYS = 3 };

/* One way to the text: a program and its Debian package, or a function of ours. */
struct way {
    const char   *argv[CHILD_ARGS];
    const char   *package;
    child_reader *reader;
};

enum format_kind {
    FORMAT_TEXT,                /* a way gives text                                       */
    FORMAT_PAGES,               /* ... with a form feed after each page                   */
    FORMAT_PACKED,              /* a way gives a file of another format                   */
    FORMAT_IMAGE,               /* a way gives text, if --ocr is given                    */
    FORMAT_OR_TEXT,             /* text that can be read as it is, if there is no way     */
    FORMAT_NEVER                /* no text                                                */
};

struct format {
    const char *what;
    bool      (*is)(const struct sniff *s, const char *arg);
    const char *arg;
    enum format_kind kind;
    const char *advice;         /* of FORMAT_NEVER, or if no program of a way is there    */
    const char *part;           /* what a form feed ends: "page"                          */
    struct way  way[FORMAT_WAYS];
};

/* NULL: plain text, or nothing known. */
const struct format *format_of(const struct sniff *s);

#define FORMAT_FILE "/dev/fd/3"

#endif
