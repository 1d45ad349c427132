/* SPDX-License-Identifier: BSD-2-Clause
 * events.c - see events.h */
#include "config.h"
#include <string.h>
#include "src/cli/events.h"

/* "data: TEXT"; comments and other fields mean nothing to us. */
static void take_line(struct events *e)
{
    const char *p = e->line.p;

    if (strncmp(p, "data", 4) || (p[4] && p[4] != ':'))
        return;
    p += p[4] ? 5 : 4;
    p += *p == ' ';
    if (e->some)
        text_add(&e->data, "\n", 1);
    text_add(&e->data, p, e->line.n - (size_t)(p - e->line.p));
    e->some = true;
}

/* At the end of a line.  True: an empty one ends an event. */
static bool end_line(struct events *e)
{
    const bool event = !e->line.n && e->some;

    if (e->line.n)
        take_line(e);
    e->line.n = 0;
    e->ended = event;
    return event;
}

bool events_next(struct events *e, const char **p, size_t *n)
{
    if (e->ended) {
        e->data.n = 0;
        e->ended = e->some = false;
    }
    while (*n && !e->too_long) {
        const char c = *(*p)++;
        const bool second = e->after_cr && c == '\n';

        --*n;
        e->after_cr = c == '\r';
        if (second)
            continue;
        if (c != '\r' && c != '\n')
            text_add(&e->line, &c, 1);
        else if (end_line(e))
            return true;
        e->too_long = e->line.n + e->data.n > EVENT_MOST;
    }
    return false;
}

void events_free(struct events *e)
{
    text_free(&e->line);
    text_free(&e->data);
    *e = (struct events){ .some = false };
}
