/* SPDX-License-Identifier: BSD-2-Clause
 * merge.h - the answers of several shards as one file, in the order of the rows, and what is wrong with them */
#ifndef GEMKV_CLI_BATCH_MERGE_H
#define GEMKV_CLI_BATCH_MERGE_H

#include "src/cli/batch/rows.h"
#include "src/cli/options.h"

/* Writes the file out from n files in.  An exit status. */
int merge_answers(const struct options *o, struct rows *rows, const char *out, const char *const *in, size_t n);

#endif
