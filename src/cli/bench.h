/* SPDX-License-Identifier: BSD-2-Clause
 * bench.h - what methods cost on one document */
#ifndef GEMKV_CLI_BENCH_H
#define GEMKV_CLI_BENCH_H

#include <stdint.h>
#include "src/cli/options.h"

struct bench_document {
    const struct options *o;
    const char    *question, *path;     /* path: of the model                             */
    uint64_t       repetitions, n_gen;  /* tokens written                                 */
};

/* Runs the methods in turn, as often as it says, and prints medians and their ratios to the first
 * method, which is full unless the list begins otherwise.  An exit status. */
int bench_document(const struct bench_document *d);

#endif
