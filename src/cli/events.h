/* SPDX-License-Identifier: BSD-2-Clause
 * events.h - server-sent events: the data of each, from bytes that are cut anywhere; { .data.p = NULL } is the start */
#ifndef GEMKV_CLI_EVENTS_H
#define GEMKV_CLI_EVENTS_H

#include <stdbool.h>
#include "src/cli/text.h"

enum { EVENT_MOST = 1 << 20 };  /* bytes of one                                           */

struct events {
    struct text line, data;
    bool        some, ended;    /* data has a line; it was the caller's                   */
    bool        after_cr;       /* a newline would be part of that line's end             */
    bool        too_long;       /* there is nothing more to be read of it                 */
};

/* Takes bytes from (*p)[*n] up to the end of an event: true, and its text is e->data, with a NUL, until the next call.
 * False: all were taken. */
bool events_next(struct events *e, const char **p, size_t *n);
void events_free(struct events *e);

#endif
