/* SPDX-License-Identifier: BSD-2-Clause
 * grammar.h - --grammar and --json-schema */
#ifndef GEMKV_CLI_GRAMMAR_H
#define GEMKV_CLI_GRAMMAR_H

#include "src/cli/options.h"

/* *out is what the options ask for, NULL if nothing; gkv_grammar_close it.  0, or an exit status after saying why not. */
int grammar_open(const struct options *o, gkv_grammar **out);

#endif
