/* SPDX-License-Identifier: BSD-2-Clause
 * api.h - what the server answers to: OpenAI's chat completions, files and models, and its own page */
#ifndef GEMKV_CLI_SERVE_API_H
#define GEMKV_CLI_SERVE_API_H

#include "src/cli/serve/ask.h"
#include "src/cli/serve/store.h"
#include "src/cli/serve/web.h"

struct api {                            /* web_arg                                        */
    struct asks  *asks;
    struct store *store;
    struct web   *web;
    const struct folder *folder;
    const char   *model;                /* its name for clients                           */
    const char   *library;              /* which is asked without a document, or NULL     */
    bool          elsewhere;            /* the answers come from another server           */
    int64_t       started;
};

/* chat.c */
void chat_completions(struct web_call *c);
/* responses.c */
void responses(struct web_call *c);
/* form.c */
void form_answer(struct web_call *c);
/* files.c */
void files_add(struct web_call *c);
void files_list(struct web_call *c);
void files_get(struct web_call *c);
void files_remove(struct web_call *c);

/* Waits until it is answered.  False: nobody waits any more, or it was answered otherwise: with a refusal. */
bool api_wait(struct web_call *c, struct ask *a);
/* What its failure is called in HTTP. */
unsigned api_status(const struct ask *a);

#endif
