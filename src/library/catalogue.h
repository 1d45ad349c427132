/* SPDX-License-Identifier: BSD-2-Clause
 * catalogue.h - what a library has, in SQLite: an entry for each document, and the words of its passages.
 *
 *     entry(id, name, ...)                     one row per document
 *     passage(text, first, last)               FTS5; rowid = id << 24 | number of the passage
 *
 * What the file says is checked before it is believed: it may be anybody's. */
#ifndef GKV__CATALOGUE_H
#define GKV__CATALOGUE_H

#include <stdbool.h>
#include "src/base/status.h"

struct sqlite3;

struct gkv__catalogue {
    struct sqlite3 *db;
    const char     *path;               /* for messages; the caller's                        */
    bool            parts;              /* it has the column: it is of format 2              */
};

struct gkv__record {
    gkv_library_entry_info e;           /* its text is in ...                                */
    char                  *text;        /* ... this, for free()                              */
    uint64_t               tmpl, sum;   /* of the chat template, of the segment's file       */
};

struct gkv__records { struct gkv__record *v; size_t n; };

/* c is closed also after an error. */
gkv_status gkv__catalogue_open(struct gkv__catalogue *c, const char *path, bool write, bool create,
                               gkv_error *err);
void       gkv__catalogue_close(struct gkv__catalogue *c);
gkv_status gkv__catalogue_check(const struct gkv__catalogue *c, gkv_error *err);

/* All rows by id, or, unless name is NULL, that of this name if there is one.  rows is empty after an error. */
gkv_status gkv__catalogue_rows(const struct gkv__catalogue *c, const char *name, struct gkv__records *rows,
                               gkv_error *err);
void       gkv__records_free(struct gkv__records *rows);
gkv_status gkv__catalogue_has(const struct gkv__catalogue *c, uint64_t id, uint64_t hash, bool *has,
                              gkv_error *err);

/* The id of the next entry. */
gkv_status gkv__catalogue_next(const struct gkv__catalogue *c, uint64_t *id, gkv_error *err);
/* In one transaction: what has the row's name goes, and the row and the passages of its text come.  *there,
 * after an error too: the row is in the catalogue, as far as can be known. */
gkv_status gkv__catalogue_put(const struct gkv__catalogue *c, const struct gkv__record *row, const char *text,
                              size_t len, bool *there, gkv_error *err);
gkv_status gkv__catalogue_note(const struct gkv__catalogue *c, const gkv_source *s, int64_t now, gkv_error *err);
gkv_status gkv__catalogue_remove(const struct gkv__catalogue *c, uint64_t id, gkv_error *err);

/* The passages that match an expression of FTS5, best first, until take says false. */
gkv_status gkv__catalogue_search(const struct gkv__catalogue *c, const char *match,
                                 bool (*take)(void *arg, uint64_t id, int64_t passage, double score), void *arg,
                                 gkv_error *err);
/* Where a passage lies in its text of len bytes. */
gkv_status gkv__catalogue_passage(const struct gkv__catalogue *c, int64_t passage, uint64_t len, uint64_t *start,
                                  uint64_t *end, gkv_error *err);

#endif
