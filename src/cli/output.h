/* SPDX-License-Identifier: BSD-2-Clause
 * output.h - files that the program writes: all of them are opened here, by one rule
 *
 * An output is a new regular file.  What exists is somebody's work, and is refused; only lines that
 * are gone on with are added to a file, of the caller's own making.  A zeroed struct is a closed
 * one.  Functions return 0, or an exit status after saying why. */
#ifndef GEMKV_CLI_OUTPUT_H
#define GEMKV_CLI_OUTPUT_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
    const char    *path;
    FILE          *f;           /* to write to                                            */
    char          *aside;       /* the file's name until it is kept; NULL: it has none    */
    struct output *next;
};

/* Before the work, so that a place where nothing can be written is known then.  Nothing is to be
 * seen at path until output_keep, which replaces nothing that came there in between. */
int  output_new(struct output *o, const char *path);
int  output_keep(struct output *o);
/* Without output_keep: nothing is left behind. */
void output_drop(struct output *o);

/* A file that lines are added to, made when there is none, and locked against another gemkv: *text
 * is what it has, *n bytes and a NUL, for free().  other: what to say of a file that begins with
 * something else. */
int  output_resume(struct output *o, const char *path, const char *begins, const char *other,
                   char **text, size_t *n);
/* All of a line or nothing. */
int  output_line(struct output *o, const char *line, size_t n);
int  output_cut(struct output *o, size_t n);            /* to its first n bytes           */

#endif
