/* SPDX-License-Identifier: BSD-2-Clause
 * answerer.h - the model of --answer-url, which answers elsewhere from the text that was kept here */
#ifndef GEMKV_CLI_ANSWERER_H
#define GEMKV_CLI_ANSWERER_H

#include <gemkv.h>
#include "src/cli/json.h"
#include "src/cli/options.h"
#include "src/cli/progress.h"

struct run;
struct answerer;

/* Looks at the options of --answer-url, and sets those of the model that reads.  *a is NULL without that option.
 * 0, or an exit status after saying what is wrong. */
int  answerer_open(struct answerer **a, struct options *o);
void answerer_close(struct answerer *a);
/* A question begins: its time is counted from now, that of the first from answerer_open. */
void answerer_begin(struct answerer *a);
/* Sends the text that the session has chosen, and the question. */
void answerer_ask(struct answerer *a, const struct run *r);
/* As gkv_next. */
gkv_status answerer_next(struct answerer *a, struct run *r, const char **text, size_t *len, gkv_error *err);
/* Of the last question, where it is not the session that knows. */
void answerer_stats(const struct answerer *a, gkv_stats *s);
/* Whether its text is there, but not to its end: something broke. */
bool answerer_is_cut(const struct answerer *a);
const char *answerer_model(const struct answerer *a);
/* Members of the objects that tell how it was. */
void answerer_json(struct json *j, const struct answerer *a);
void answerer_tokens(struct json *j, const struct answerer *a);

#endif
