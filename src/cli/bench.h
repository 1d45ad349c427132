/* SPDX-License-Identifier: BSD-2-Clause
 * bench.h - what methods cost on one document */
#ifndef GEMKV_CLI_BENCH_H
#define GEMKV_CLI_BENCH_H

#include <stdint.h>
#include "src/cli/options.h"

struct bench_document {
    const struct options *o;
    const char    *question, *path;     /* path: of the model                             */
    uint64_t       repetitions, n_gen;  /* n_gen: tokens to decode                        */
};

/* Runs all methods, each as often as `repetitions` says, and prints medians and their ratios to the first
 * method, which is full unless the user's list begins otherwise.  Returns an exit status. */
int bench_document(const struct bench_document *d);

#endif
