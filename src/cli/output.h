/* SPDX-License-Identifier: BSD-2-Clause
 * output.h - files that the program writes
 *
 * They are regular files.  What exists is somebody's work; lines are added only to a file of the
 * caller's own making.  A zeroed struct is a closed one.  Functions return 0, or an exit status after saying why. */
#ifndef GEMKV_CLI_OUTPUT_H
#define GEMKV_CLI_OUTPUT_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
    const char *path;
    FILE       *f;
};

/* A file that lines are added to, made when there is none, and locked against another gemkv: *text
 * is what it has, *n bytes and a NUL, for free().  other: what to say of a file that begins with
 * something else. */
int  output_resume(struct output *o, const char *path, const char *begins, const char *other,
                   char **text, size_t *n);
/* All of a line or nothing. */
int  output_line(struct output *o, const char *line, size_t n);
int  output_cut(struct output *o, size_t n);            /* to its first n bytes           */
void output_drop(struct output *o);

#endif
