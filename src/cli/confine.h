/* SPDX-License-Identifier: BSD-2-Clause
 * confine.h - shuts a command in with what its options name, before it reads any of it */
#ifndef GEMKV_CLI_CONFINE_H
#define GEMKV_CLI_CONFINE_H

#include <stdbool.h>
#include "src/cli/options.h"

/* What the command needs beside the files of its options is in its struct cmd.  `model` is its path, or NULL.  Nothing
 * happens where a device may be used, as its driver opens what it likes, for several processes, whose library has
 * connections, and where eval has another program choose. */
void confine(const struct options *o, const char *model);
/* The documents are read: no program is needed any more. */
void confine_read(const struct options *o);
/* It listens: no other socket is needed. */
void confine_listens(const struct options *o);

#endif
