/* SPDX-License-Identifier: BSD-2-Clause
 * encoding.h - which encoding a text has, from its first bytes, and from it to UTF-8 */
#ifndef GEMKV_CLI_INPUT_ENCODING_H
#define GEMKV_CLI_INPUT_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/text.h"

struct encoding {
    const char *name;           /* for iconv_open(3); NULL: UTF-8, or nobody knows        */
    size_t      mark;           /* bytes of a byte order mark to skip                     */
    bool        guessed;
    bool        unknown;        /* it is not UTF-8, and there is no name                  */
    char        room[64];
};

/* all: there are no more bytes. */
void encoding_of(struct encoding *e, const char *p, size_t n, bool all);

/* Appends `in` as UTF-8, with U+FFFD for a byte that is no character.  False: iconv does not know the encoding. */
bool encoding_convert(const char *name, const struct text *in, struct text *out);

#endif
