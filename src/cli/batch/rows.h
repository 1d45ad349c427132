/* SPDX-License-Identifier: BSD-2-Clause
 * rows.h - the rows of gemkv batch: where each begins in its file, its id and its document, so that a file of any size
 * is asked row by row */
#ifndef GEMKV_CLI_BATCH_ROWS_H
#define GEMKV_CLI_BATCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "src/cli/args.h"
#include "src/cli/json-parse.h"

enum row_state {
    ROW_TO_DO,
    ROW_FAILED,                         /* its error is written                           */
    ROW_ANSWERED
};

struct entry {
    off_t    start;                     /* of its line                                    */
    size_t   n, line;                   /* bytes; number of the line, from 1              */
    size_t   twin;                      /* the line that had the same id first; 0: none   */
    char    *id;                        /* as JSON                                        */
    uint64_t number;                    /* of all that is in it                           */
    size_t   group, next;               /* next: of its group, or SIZE_MAX                */
    unsigned tries;                     /* that failed in this run                        */
    enum row_state state;
};

/* Rows of one document, which is read once. */
struct group {
    uint64_t document, weight;          /* weight: about its work                         */
    size_t   first, last, n;            /* rows                                           */
    size_t   shard;
};

struct rows {
    struct io    *io;
    const char   *path;
    FILE         *f;
    struct entry *entry;
    struct group *group;
    size_t       *slot;                 /* of ids, by their hash                          */
    size_t        n, n_groups, n_slots;
};

/* Reads them all once.  path "-" is standard input.  0, or an exit status after saying why. */
int  rows_open(struct rows *r, struct io *io, const char *path);
/* Says which of n shards has each group: from the rows alone, so that each process says the same. */
void rows_deal(struct rows *r, size_t n);
/* The groups, heaviest first: n_groups numbers, for free(). */
size_t *rows_order(const struct rows *r);
void rows_close(struct rows *r);
/* The row with this id, as JSON, or NULL. */
struct entry *rows_find(const struct rows *r, const char *id);

/* A row that was read.  `why`: what is wrong with it, or NULL. */
struct row {
    struct value *v;
    const char   *text;                 /* the document: n_text bytes, or NULL ...        */
    size_t        n_text;
    struct words  file;                 /* ... and files                                  */
    struct words  question;
    bool          several;              /* "questions"                                    */
    char         *why;
    char         *line;                 /* what the strings point into                    */
};

/* 0, or an exit status after saying that the file cannot be read. */
int  row_read(const struct rows *r, const struct entry *e, struct row *row);
void row_done(struct row *row);
bool row_same_document(const struct row *a, const struct row *b);

/* The id of a row or of an answer as JSON, for free(); NULL: it has none, or *bad. */
char *row_id(const struct value *v, bool *bad);
/* A number as text: whole ones with all their digits.  For free(). */
char *row_number(double d);

#endif
