/* SPDX-License-Identifier: BSD-2-Clause
 * text.h - a string that grows; { NULL, 0, 0 } is an empty one */
#ifndef GEMKV_CLI_TEXT_H
#define GEMKV_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/say.h"

struct text {
    char  *p;                   /* n bytes and a NUL, once something was added            */
    size_t n, room;
};

void text_add(struct text *t, const char *s, size_t n);
void text_puts(struct text *t, const char *s);
/* Appends what can be read from fd up to its end.  False: that is not all, and errno says why. */
bool text_read(struct text *t, int fd);
void text_printf(struct text *t, const char *fmt, ...) SAY_FORMAT(2, 3);
/* Replaces what is not UTF-8, and NUL bytes; t->p is not NULL afterwards. */
void text_clean(struct text *t);
void text_free(struct text *t);                 /* t is empty afterwards */

#endif
