/* SPDX-License-Identifier: BSD-2-Clause
 * folder.h - the files of a library: the lock of the one who writes, and segments.
 *
 *     LIBRARY/lock                            held by the writer; its process is written in it
 *     LIBRARY/catalogue.sqlite                (catalogue.h)
 *     LIBRARY/segments/HASH-ID.gkv            of gkv_document_save
 *
 * Names of segments are made here, of two numbers, and no name is taken from a file. */
#ifndef GKV__FOLDER_H
#define GKV__FOLDER_H

#include <stdbool.h>
#include <sys/types.h>
#include "src/base/status.h"

struct gkv__folder {
    char  *path;                        /* as SQLite and the system take it for no option    */
    int    lock;                        /* -1: it is read only                               */
    mode_t mode;                        /* of files that others may read too                 */
};

struct gkv__segment { uint64_t hash, id; };

enum { GKV__PATH = 4096 };

/* f is closed also after an error.  create: make the folder if there is nothing of that name, or an empty
 * one.  GKV_IO when another process writes. */
gkv_status gkv__folder_open(struct gkv__folder *f, const char *path, bool write, bool create, gkv_error *err);
void       gkv__folder_close(struct gkv__folder *f);
gkv_status gkv__folder_catalogue(const struct gkv__folder *f, char out[GKV__PATH], gkv_error *err);

gkv_status gkv__segment_path(const struct gkv__folder *f, struct gkv__segment s, char out[GKV__PATH],
                             gkv_error *err);
/* Its size and a sum of its bytes. */
gkv_status gkv__segment_sum(const char *path, uint64_t *bytes, uint64_t *sum, gkv_error *err);
/* What was written has its name also when the power fails; others may read it as they may the library. */
gkv_status gkv__segment_settle(const struct gkv__folder *f, const char *path, gkv_error *err);
/* Remove the segments that `named` does not know, and what was being written; *n are gone. */
gkv_status gkv__segment_sweep(const struct gkv__folder *f,
                              gkv_status (*named)(void *arg, struct gkv__segment s, bool *is, gkv_error *err),
                              void *arg, uint64_t *n, gkv_error *err);

#endif
