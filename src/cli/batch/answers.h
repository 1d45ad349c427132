/* SPDX-License-Identifier: BSD-2-Clause
 * answers.h - the lines that gemkv batch writes, one for each row that was done */
#ifndef GEMKV_CLI_BATCH_ANSWERS_H
#define GEMKV_CLI_BATCH_ANSWERS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "src/cli/batch/rows.h"
#include "src/cli/json.h"

/* One that was found. */
struct answer {
    char       *id;                     /* as JSON                                        */
    size_t      line;                   /* of the row                                     */
    const char *run, *row;              /* numbers of what it depends on                  */
    bool        failed, twin;           /* it has an error; of a row whose id another has */
    uint64_t    said;                   /* a number of the answer itself                  */
    off_t       start;                  /* in the file: n bytes without the newline       */
    size_t      n;
};

/* How a file of them ends. */
struct tail {
    off_t whole;                        /* bytes of whole lines                           */
    bool  cut;                          /* something else follows: the beginning of one   */
    bool  open;                         /* the last line lacks only its newline           */
    size_t line;                        /* number of that line                            */
};

typedef int answers_take(void *arg, const struct answer *a);

/* Calls take for each line of f.  0, or an exit status: take's, or after saying that a line is no answer. */
int  answers_each(struct io *io, const char *path, FILE *f, answers_take *take, void *arg, struct tail *tail);

/* The row that was answered: by its id, or by its line if another row has that id; or NULL. */
struct entry *answers_row(const struct rows *r, const struct answer *a);

/* Begins the object of a row's line. */
void answers_begin(struct json *j, const struct entry *e, uint64_t run);

#endif
