/* SPDX-License-Identifier: BSD-2-Clause
 * output.h - files that the program writes: all of them are opened here, by one rule
 *
 * An output is a new regular file.  An existing file is refused, because it may be somebody's work, unless the user
 * insists; only the caller's own files of lines can be continued.  A zeroed struct is a closed output.  Functions
 * return 0, or an exit status after saying why. */
#ifndef GEMKV_CLI_OUTPUT_H
#define GEMKV_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct io;

struct output {
    const char    *path;
    struct io     *io;          /* where it is said what goes wrong                       */
    FILE          *f;           /* write to this                                          */
    char          *aside;       /* temporary name until it is kept; NULL: none            */
    bool           force;       /* what is there is replaced when this is whole           */
    struct output *next;
};

/* output_new: call it before the work, so that a path where nothing can be written is refused early.  Nothing
 * appears at path until output_keep, which does not replace what others have put there since.  force (--force):
 * output_keep replaces a regular file, at once; until then the old one stays. */
int  output_new(struct output *o, struct io *io, const char *path, bool force);
int  output_keep(struct output *o);
/* Gives up an output without output_keep: nothing is left behind. */
void output_drop(struct output *o);
/* For signal handlers: removes the unfinished outputs that have a temporary name. */
void output_remove_all(void);

/* Opens a file that lines are added to; creates it if needed, and locks it against another gemkv. */
int  output_continue(struct output *o, struct io *io, const char *path);
/* The same.  *text is its content, *n bytes and a NUL, for free().  A file that does not begin with `begins` is
 * refused with the message `other`. */
int  output_resume(struct output *o, struct io *io, const char *path, const char *begins,
                   const char *other, char **text, size_t *n);
/* Adds the whole line or nothing. */
int  output_line(struct output *o, const char *line, size_t n);
int  output_cut(struct output *o, size_t n);            /* truncates to n bytes */
int  output_sync(struct output *o);                     /* waits until it is on the disk */

/* Makes all folders above path, for this user alone.  0, or -1 with errno. */
int  output_folders(const char *path);

#endif
