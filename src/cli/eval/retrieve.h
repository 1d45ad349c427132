/* SPDX-License-Identifier: BSD-2-Clause
 * retrieve.h - method retrieve:passage=N,cmd=COMMAND of gemkv eval: another program, such as one with a model of
 * embeddings, scores the passages of a row; the best that fit into the budget are asked with method full */
#ifndef GEMKV_CLI_RETRIEVE_H
#define GEMKV_CLI_RETRIEVE_H

#include "src/cli/eval/eval.h"

/* Whether this is the method's name, perhaps with parameters. */
bool retrieve_is(const char *spec);
/* What is wrong with the parameters, or NULL. */
const char *retrieve_check(const char *spec);

/* Sets *text, for free(), to the passages in their order, *n to the tokens of the whole row's prompt, and *seconds to
 * what it took.  A status other than GKV_OK: *err says why the row cannot be asked. */
gkv_status retrieve_text(struct eval *e, const char *spec, const struct row *row, char **text, uint64_t *n,
                         double *seconds, gkv_error *err);

#endif
