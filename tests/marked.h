/* SPDX-License-Identifier: BSD-2-Clause
 * marked.h - a text in which [ ] mark a range. */
#ifndef MARKED_H
#define MARKED_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Copies marked without its brackets into text[], sets *start and *end to where they were, and returns the
 * length. */
static size_t unmark(const char *marked, char *text, size_t *start, size_t *end)
{
    size_t n = 0;

    for (const char *p = marked; *p; p++) {
        if (*p == '[')
            *start = n;
        else if (*p == ']')
            *end = n;
        else
            text[n++] = *p;
    }
    return n;
}

/* One check: text[n] with start .. end in brackets is want. */
static void is_marked(const char *text, size_t n, size_t start, size_t end, const char *want)
{
    char got[4096];

    snprintf(got, sizeof got, "%.*s[%.*s]%.*s", (int)start, text, (int)(end - start), text + start,
             (int)(n - end), text + end);
    ok(!strcmp(got, want), "%.60s", want);
    if (strcmp(got, want))
        printf("# got %s\n", got);
}

#endif
