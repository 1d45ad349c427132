/* SPDX-License-Identifier: BSD-2-Clause
 * completion.h - scripts with which shells complete the command line, made from the rows of options */
#ifndef GEMKV_CLI_COMPLETION_H
#define GEMKV_CLI_COMPLETION_H

#include <stddef.h>
#include "src/cli/cmd.h"

/* Prints the script for "bash", "zsh" or "fish".  Returns an exit status. */
int completion(struct io *io, const char *shell, const struct cmd *const *command, size_t n);

#endif
