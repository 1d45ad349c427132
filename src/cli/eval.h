/* SPDX-License-Identifier: BSD-2-Clause
 * eval.h - tasks of gemkv eval: one file eval-TASK.c, one const struct, one line in cmd-eval.c */
#ifndef GEMKV_CLI_EVAL_H
#define GEMKV_CLI_EVAL_H

#include "src/cli/cmd.h"

extern const struct cmd eval_perplexity;

#endif
