/* SPDX-License-Identifier: BSD-2-Clause
 * work.h - what the server does for one question: it reads the documents, or takes their indexes, and answers */
#ifndef GEMKV_CLI_SERVE_WORK_H
#define GEMKV_CLI_SERVE_WORK_H

#include "src/cli/serve/ask.h"
#include "src/cli/serve/folder.h"

struct work;
/* r has the models and options.  Its library, if it has one, belongs to the work from then on: a question without a
 * document is asked of it. */
struct work *work_open(struct run *r, const struct folder *f, uint64_t most);
void work_close(struct work *w);

/* Answers it.  Several threads may do so at a time. */
void work_on(struct work *w, struct ask *a);
/* Whether little has to be read for it: its texts are short, or known. */
bool work_is_quick(struct work *w, struct ask *a);

/* ---- of ask.c, for the thread that works: ------------------------------------------------ */
/* How far the reading is.  A long one stops here while a quick question is answered. */
void ask_tell(struct ask *a, double fraction, uint64_t tokens);
/* A piece of the answer. */
void ask_give(struct ask *a, const char *text, size_t n);
/* What is to be cancelled from now on, if its asker leaves; both NULL: nothing.  False: he has left. */
bool ask_watch(struct ask *a, gkv_session *s, gkv_document *d);
bool ask_gone(struct ask *a);

#endif
