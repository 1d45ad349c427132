/* SPDX-License-Identifier: BSD-2-Clause
 * folder.h - where the server keeps texts and indexes: a folder of its own below TMPDIR, which ends with it, or the one of
 * --folder, which lasts and has one server at a time */
#ifndef GEMKV_CLI_SERVE_FOLDER_H
#define GEMKV_CLI_SERVE_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

struct io;

struct folder {                         /* zeroed before                                  */
    char *path;
    bool  lasts;
    int   lock;                         /* descriptor                                     */
    DIR  *dir;                          /* of one that does not last: open, to be emptied without memory */
};

/* path NULL: a new one.  0, or an exit status after saying why not. */
int  folder_open(struct folder *f, struct io *io, const char *path);
/* Removes it, if it does not last and is empty. */
void folder_close(struct folder *f);
/* The names of its files that begin so, in order: an array of *n for free(), as are its members.
 * NULL, and *n is 0: it cannot be listed, as errno says. */
char **folder_list(const struct folder *f, const char *begin, size_t *n);
char  *folder_file(const struct folder *f, const char *name);  /* its path, for free()      */

#endif
