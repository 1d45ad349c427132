/* SPDX-License-Identifier: BSD-2-Clause
 * confine.h - shuts a command in with what its options name, before it reads any of it */
#ifndef GEMKV_CLI_CONFINE_H
#define GEMKV_CLI_CONFINE_H

#include <stdbool.h>
#include "src/cli/options.h"

/* For commands whose files are all named by their options.  `model` is its path.  Nothing happens where a device may be
 * used, as its driver opens what it likes, and for several processes, whose library has connections. */
void confine(const struct options *o, const char *model);
/* The documents are read: no program is needed any more. */
void confine_read(const struct options *o);

#endif
