/* SPDX-License-Identifier: BSD-2-Clause
 * bench.h - what methods cost on one document */
#ifndef GEMKV_CLI_BENCH_H
#define GEMKV_CLI_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/methods.h"

struct bench_document {
    const char    *file, *question;
    char          *path;                /* of the model                                   */
    struct methods methods;             /* empty: all                                     */
    gkv_options    opt;
    uint64_t       repetitions, n_gen;  /* tokens written                                 */
    bool           json, draw;          /* draw: progress                                 */
};

/* Runs the methods in turn, as often as it says, and prints medians and their ratios to the first
 * method, which is full unless the list begins otherwise.  An exit status. */
int bench_document(struct bench_document *d, const struct cmd *cmd);

#endif
