/* SPDX-License-Identifier: BSD-2-Clause
 * find.h - the files that names, patterns and folders stand for */
#ifndef GEMKV_CLI_INPUT_FIND_H
#define GEMKV_CLI_INPUT_FIND_H

#include <stdbool.h>
#include "src/cli/args.h"

/* Which files are found in folders. */
struct find_how {
    bool recursive;             /* folders are allowed                                    */
    bool ocr;                   /* pictures are read                                      */
};

/* Replaces the names in w: a pattern that is no file's name by the files that match, a folder by the files below it,
 * sorted.  own gets the new strings, which find_free frees.  0, or an exit status after saying why. */
int  find_files(struct io *io, const struct find_how *how, struct words *w, struct words *own);
void find_free(struct words *own);

#endif
