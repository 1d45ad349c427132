/* SPDX-License-Identifier: BSD-2-Clause
 * args-help.h - the words of a command line, and what comes of it. */
#ifndef TESTS_ARGS_HELP_H
#define TESTS_ARGS_HELP_H

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 80 };

/* What runs a command line gives. */
struct result {
    int   code;
    char *out, *err;
};

static inline char *argv_of(char *line, int *argc, char **argv)
{
    *argc = 0;
    for (char *p = strtok(line, " "); p && *argc < MAX_WORDS; p = strtok(NULL, " "))
        argv[(*argc)++] = strcmp(p, "''") ? p : p + 2;
    argv[*argc] = NULL;
    return line;
}

static inline void result_free(struct result *r)
{
    free(r->out);
    free(r->err);
}

#endif
