/* SPDX-License-Identifier: BSD-2-Clause
 * answerer.h - the model of --answer-url, which answers elsewhere from the text that was kept here */
#ifndef GEMKV_CLI_ANSWERER_H
#define GEMKV_CLI_ANSWERER_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/json.h"
#include "src/cli/options.h"
#include "src/cli/progress.h"

struct answerer;

/* Numbers of gkv_options that are sent if they were given: a server has defaults of its own. */
enum { ANSWER_TOP_P = 1, ANSWER_PRESENCE = 2, ANSWER_FREQUENCY = 4, ANSWER_SEED = 8 };

struct answer_task {
    const gkv_session *session;         /* which has chosen the text                      */
    const char        *system, *question;       /* system may be NULL                     */
    const gkv_turn    *turn;            /* the conversation before                        */
    size_t             n_turns;
    const gkv_options *opt;             /* of it: max_tokens, temperature, stop, and what is in `sent` */
    unsigned           sent;
    const char        *format;          /* JSON for "response_format", or NULL            */
    struct io         *io;
    struct progress   *progress;        /* on the terminal, or NULL                       */
    bool             (*cancelled)(void *arg);   /* NULL: a signal is what cancels         */
    void              *arg;
};

/* Looks at the options of --answer-url, and sets those of the model that reads.  *a is NULL without that option.
 * 0, or an exit status after saying what is wrong. */
int  answerer_open(struct answerer **a, struct options *o);
/* Another one for the same model, which asks at the same time. */
struct answerer *answerer_copy(const struct answerer *a);
void answerer_close(struct answerer *a);
/* A question begins: its time is counted from now, that of the first from answerer_open. */
void answerer_begin(struct answerer *a);
/* Sends the text that the session has chosen, and the question. */
void answerer_ask(struct answerer *a, const struct answer_task *t);
/* As gkv_next. */
gkv_status answerer_next(struct answerer *a, const struct answer_task *t, const char **text, size_t *len, gkv_error *err);
const char *answerer_system(const struct answerer *a);  /* of --system, or NULL            */
/* Of the last question, where it is not the session that knows. */
void answerer_stats(const struct answerer *a, gkv_stats *s);
/* Whether its text is there, but not to its end: something broke. */
bool answerer_is_cut(const struct answerer *a);
/* How many tokens its text has if it was cut at its length before the `asked` that it might have; or 0. */
uint64_t answerer_short(const struct answerer *a, uint64_t asked);
const char *answerer_model(const struct answerer *a);
/* Members of the objects that tell how it was. */
void answerer_json(struct json *j, const struct answerer *a);
void answerer_tokens(struct json *j, const struct answerer *a);

#endif
