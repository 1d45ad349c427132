/* SPDX-License-Identifier: BSD-2-Clause
 * store.h - files that clients have uploaded: their text, in the server's folder, until they are deleted or the folder ends
 *
 * Any thread.  A file is read in the thread that adds it, by the same readers and converters as gemkv ask -f. */
#ifndef GEMKV_CLI_SERVE_STORE_H
#define GEMKV_CLI_SERVE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/serve/folder.h"

struct stored {
    char        id[32];                 /* "file-0123456789abcdef"                        */
    char       *name;                   /* where it came from, without folders            */
    char       *path;                   /* of its text, in UTF-8                          */
    char       *remark;                 /* what a person should know of how it was read, or NULL */
    char       *part;                   /* what its form feeds end, as struct input_how has it, or NULL */
    uint64_t    bytes;                  /* of the file                                    */
    int64_t     created;                /* seconds since 1970                             */
};

struct store;
/* All of its files lie in the folder, and have at most `most` bytes together.  Those that are there already are known; of what
 * cannot be read now there is a warning, and it stays for the next server. */
struct store *store_open(const struct folder *f, uint64_t most, struct io *io);
void store_close(struct store *s);              /* removes them, unless the folder lasts  */

/* Reads the file and keeps its text; passing: only until this server ends.  0, or an exit status of the readers, and
 * *why, for free(). */
int  store_add(struct store *s, const char *file, const char *name, bool passing, struct stored *out, char **why);
/* False: there is none of that id. */
bool store_get(struct store *s, const char *id, struct stored *out);
bool store_remove(struct store *s, const char *id);
/* All of them, the oldest first: an array of *n for free(), its members for stored_free. */
struct stored *store_list(struct store *s, size_t *n);
void stored_free(struct stored *s);

/* "WHAT-" and 16 random digits: nobody can guess it. */
void store_new_id(char id[32], const char *what);

#endif
