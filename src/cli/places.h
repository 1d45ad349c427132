/* SPDX-License-Identifier: BSD-2-Clause
 * places.h - where programs keep models on this machine
 *
 * These folders belong to other programs and may hold anything: loops of links, folders that cannot be read, millions of
 * files.  What cannot be read is left out, and the search has bounds. */
#ifndef GEMKV_CLI_PLACES_H
#define GEMKV_CLI_PLACES_H

#include <stdbool.h>
#include <stddef.h>

struct found {
    char       *path;           /* of the file                                            */
    char       *name;           /* what -m takes: the path, or Ollama's name of it        */
    const char *place;          /* whose it is: "Ollama"                                  */
    unsigned long long device, inode;
};

struct models {
    struct found *v;            /* each file once, in the order of the places, then by name */
    size_t        n;
    bool          all;          /* false: there were more files than are looked at        */
};

void places_search(struct models *m);
void places_free(struct models *m);

/* The file of one of Ollama's models, such as "llama3.2:3b"; for free(), or NULL. */
char *places_ollama(const char *name);

/* Reads at most `most` bytes of a regular file, and adds a NUL; for free(), or NULL with errno. */
char *places_read(const char *path, size_t most, size_t *n);

#endif
