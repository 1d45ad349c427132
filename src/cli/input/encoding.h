/* SPDX-License-Identifier: BSD-2-Clause
 * encoding.h - which encoding a text has, from its first bytes */
#ifndef GEMKV_CLI_INPUT_ENCODING_H
#define GEMKV_CLI_INPUT_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

struct encoding {
    const char *name;           /* for iconv_open(3); NULL: UTF-8, or nobody knows        */
    size_t      mark;           /* bytes of a byte order mark to skip                     */
    bool        guessed;
    char        room[64];
};

/* all: there are no more bytes. */
void encoding_of(struct encoding *e, const char *p, size_t n, bool all);

#endif
