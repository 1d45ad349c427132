/* SPDX-License-Identifier: BSD-2-Clause
 * run.h - what ask and select share: from the options to a session that has prefilled its documents
 * and its question */
#ifndef GEMKV_CLI_RUN_H
#define GEMKV_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <gemkv.h>
#include "src/cli/json.h"
#include "src/cli/library.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/place.h"
#include "src/cli/progress.h"
#include "src/cli/text.h"

struct run {
    struct options o;                           /* must be first */
    const char   *question;
    const char   *words;                        /* that choose documents; NULL: the question's */
    const char   *text;                         /* n_text bytes: the only document, which o.file names; NULL: files */
    size_t        n_text;
    const gkv_turn *turn;                       /* n_turns of the conversation so far     */
    size_t        n_turns;
    bool          often;                        /* more than one question may come        */
    bool          confined;                     /* its documents are not read yet         */
    bool          mute;                         /* do not say which documents are asked   */
    struct output output;                       /* of --report                            */
    struct report *report;                      /* what it will say                       */
    gkv_grammar  *grammar;                      /* of gkv.grammar                         */
    gkv_model    *model;
    gkv_model    *reader;                       /* or NULL: the same                      */
    gkv_session  *session;
    const char  **part;                         /* of each file: what a form feed ends, or NULL; NULL: with -L */
    FILE         *questions;                    /* of --questions, or NULL                */
    char         *line;                         /* ... where question is the last one     */
    size_t        room;
    struct answerer *answerer;                  /* of --answer-url, or NULL: the model answers here */
    struct shelf  shelf;
    struct progress progress;
    char          warned[256];                  /* the last warning of the library        */
    bool          nothing;                      /* no passage had --min-score             */
    bool          noted;                        /* the schedule has been said             */
};

typedef gkv_status run_ask(gkv_session *s, const char *question, size_t len,
                           gkv_error *err);

void run_more_help(struct io *io);              /* the methods and their parameters       */

/* Reads the documents, asks by ask (gkv_ask or gkv_select), and has each result shown: the question of the
 * command line, or the lines of --questions one after the other.  Returns an exit status, as show does. */
int  run_questions(const struct cmd *cmd, struct io *io, int argc, char **argv, run_ask *ask,
                   int (*show)(struct run *r));

/* Runs a command by `first`.  Started several times by mpirun, all but the first process help that one; a command calls
 * processes_ready before its first question. */
typedef int run_command(const struct cmd *cmd, struct io *io, int argc, char **argv);
int  run_together(const struct cmd *cmd, struct io *io, int argc, char **argv, run_command *first);

/* The steps of that, for commands that ask in their own way.  Open: from the command line to a model; a message
 * has been printed where that fails.  Read: a session of the documents, or of those of a library that the
 * question's words choose, if it is not there yet.  Ask: one question. */
int  run_open(struct run *r, const struct cmd *cmd, struct io *io, int argc, char **argv, int (*check)(struct run *r));
int  run_read(struct run *r);
/* Only the documents: run_read then makes sessions of them, each after run_leave. */
int  run_read_document(struct run *r);
void run_leave(struct run *r);
int  run_one(struct run *r, run_ask *ask);
void run_close(struct run *r);
/* The model that documents are made for. */
gkv_model *run_reader(const struct run *r);
/* *o as the reader's documents have it: chat template, system prompt and thinking are for the model that answers. */
gkv_options run_reader_options(const gkv_options *o);
/* A session of r->shelf.document. */
gkv_status run_session_of(struct run *r, gkv_error *err);
/* 0, or an exit status after saying that -L, -f, --among and --top do not go together. */
int  run_check_documents(const struct run *r);
/* Decodes the answer into *text, and prints it as it is made, unless for JSON.  *status is how it ended.  Not 0: it
 * cannot be printed, which has been said, and is not decoded to its end. */
int  run_answer(struct run *r, struct text *text, gkv_status *status, gkv_error *err);

/* The same, and says how it ended unless it is whole.  0 or an exit status. */
int  run_take(struct run *r, struct text *text);

/* Says that the answer was cut, if it was.  An exit status if it is not what --grammar asks for. */
int  run_cut(const struct run *r);

/* Of the last question; the answer's figures are of whoever made it. */
void run_stats(const struct run *r, gkv_stats *s);

/* Prints the library's warning, unless it was printed already. */
void run_warn(struct run *r);

/* What was kept for the last question, as place_passages: the best first, for free(). */
struct passage *run_passages(const struct run *r, size_t *n);
/* What a form feed of the file ends, such as "slide"; NULL: a page. */
const char *run_part(const struct run *r, uint32_t file);
/* Names the document: "report.pdf p. 12, lines 3-9"; for free(). */
char *run_place(const struct run *r, uint32_t file, const struct place *p);

/* Prints why the library failed, or how far the work was when it was cancelled. */
int  run_failed(struct io *io, const struct progress *p, gkv_status status, const gkv_error *err);

/* Writes the documented JSON object; answer NULL: without "answer" and "finish". */
void run_json(struct json *j, const struct run *r, const char *answer, size_t len);
/* Its members, but for the question. */
void run_json_members(struct json *j, const struct run *r, const char *answer, size_t len);

/* ---- for other commands too ---------------------------------------------------------- */
/* These return 0, or an exit status after saying why not. */
/* Applies --cpu.  *path: of the model, for free(). */
int   run_begin(const struct options *o, char **path);
/* The model of --reader, into *reader, which is NULL or closed first, for gkv_options.reader.  NULL without that option,
 * and where it names the file of the model itself. */
gkv_status run_open_reader(const struct options *o, const char *model, gkv_model **reader, gkv_error *err);
/* --model, or $GEMKV_MODEL, or the bundled model, for free(). */
#define RUN_BUNDLED "gemkv-mini-q8_0.gguf"
int   run_model_path(const struct options *o, char **path);
/* Applies the level of --cpu or, if level is NULL, of $GEMKV_CPU. */
int   run_cap_cpu(struct io *io, const char *level);


/* A bundled file, for free(), or NULL. */
char *run_data_path(const char *name);
/* Whether to draw progress on the terminal. */
bool  run_draws(const struct options *o);

#endif
