/* SPDX-License-Identifier: BSD-2-Clause
 * line.h - lines that a person types, edited and remembered where a library for that is there; or lines of a
 * pipe or file, without a prompt */
#ifndef GEMKV_CLI_LINE_H
#define GEMKV_CLI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include "src/cli/say.h"

struct line {
    bool       typed;                           /* on a terminal                          */
    struct io *io;
    char      *text, *past;                     /* the last line; the file of earlier lines, or NULL; for free() */
    size_t     room;
};

/* Before the first line.  History: remember lines, in $XDG_STATE_HOME/gemkv/history.  A library that edits lines
 * has one state, so there is one struct line at a time in a process. */
void line_open(struct line *l, struct io *io, bool history);
void line_close(struct line *l);

/* The file of earlier lines, for free().  Its folder is made; NULL if it cannot be, or nothing remembers lines here. */
char *line_past(void);

enum line_got { LINE_READ, LINE_END, LINE_SIGNAL, LINE_FAILED };

/* The next line of standard input, without its end, in *text until the next call.  LINE_SIGNAL: one came
 * (progress.h), and what was typed so far is forgotten.  LINE_FAILED: errno says why it cannot be read. */
enum line_got line_read(struct line *l, const char *prompt, char **text);

#endif
