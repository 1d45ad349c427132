/* SPDX-License-Identifier: BSD-2-Clause
 * eval.h - tasks of gemkv eval: one file TASK.c, one const struct, one line in cmd-eval.c
 *
 * But for perplexity, which has questions for the model alone, a task makes rows, a context, a
 * question and its answers each, and run.c asks every method for every row, keeps what
 * came out in --out, and shows it (show.c, plot.c). */
#ifndef GEMKV_CLI_EVAL_H
#define GEMKV_CLI_EVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/eval/score.h"
#include "src/cli/json.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/progress.h"

extern const struct cmd eval_niah, eval_ruler, eval_kv, eval_qa, eval_perplexity;

/* Strings and their list belong to the row; NULL where there is none. */
struct row {
    char        *id, *context, *question, *begin;       /* begin: of the answer           */
    char        *where;                 /* "FILE:LINE" that it came from, or NULL         */
    struct refs  answers;
    const char  *group;                 /* what rows are summed up by beside their length */
    uint64_t     length;                /* tokens; 0: as many as the prompt turns out to have */
    double       depth;                 /* percent, or -1                                 */
    uint32_t     max_tokens;            /* of the answer; 0: as the options say           */
    enum metric  metric;                /* that is the score                              */
};

struct result {
    bool     done, kept;                /* kept: it was in --out already                  */
    double   score[N_METRICS];
    double   ttft, decode;              /* seconds: without loading the model             */
    uint64_t n_prompt, n_kept, n_answer, peak;
};

struct eval {
    struct options o;                   /* first                                          */
    const char  *task;                  /* word of the command                            */
    char        *path;                  /* of the model                                   */
    bool         rounded;               /* sum up by powers of two of the lengths         */
    enum metric  shown[4];              /* in the table, beside the score                 */
    size_t       n_shown;
    gkv_model   *model;                 /* opened anew for each answer: use at once       */
    gkv_document *document;             /* with its index, of --grade                     */
    uint64_t     fingerprint;
    /* Filled by eval_run: what is known of each row, and [n_row][o.methods.n] results. */
    struct row    *row;
    struct result *result;
    size_t         n_row;
    int            code;                /* of what went wrong with single rows            */
    struct output  out, plot;
    struct progress progress;
    /* For the progress, in tokens of this run, about: */
    double         work_done, work_now, work_all, sum;
    size_t         n_asked;
};

/* Makes row i.  0, or an exit status after saying why it is left out. */
typedef int eval_make(struct eval *e, void *arg, size_t i, struct row *row);

/* Sets *e, zeroed, and the task's struct that it begins, from the command line. */
void eval_parse(struct eval *e, const struct cmd *cmd, int argc, char **argv);
/* The model; then there is nothing left to go wrong with the options. */
int  eval_open(struct eval *e);
/* The longest answer to a row whose task has `tokens` for it, or 0. */
uint32_t eval_max_tokens(const struct eval *e, uint32_t tokens);
/* Ask all methods for n rows, of about weight(arg, i) tokens, and show the results: an exit
 * status. */
int  eval_run(struct eval *e, size_t n, eval_make *make,
              double (*weight)(const void *arg, size_t i), void *arg);
void eval_close(struct eval *e);

/* Tokens of the prompt that the row would be.  0, or an exit status after saying why not. */
int  eval_count(struct eval *e, const struct row *row, uint64_t *n);
/* The row that build makes of the most units, up to max, whose prompt has at most `length`
 * tokens: build is called with more and fewer units, in no order.  An exit status when not
 * even `least` fit. */
typedef void eval_build(void *arg, size_t units, struct row *row);
int  eval_fit(struct eval *e, uint64_t length, size_t least, size_t max, eval_build *build,
              void *arg, struct row *row);

void row_free(struct row *r);           /* its strings; the numbers stay                  */
void row_answer(struct row *r, char *answer);           /* one more, taken over           */

/* show.c: tokens and seconds of an answer, into the JSON object that is open. */
void json_cost(struct json *j, const struct result *r);
/* All of it to standard output, in the form that was asked for. */
void show_results(const struct eval *e);
/* Into e->plot, which is open. */
int  show_plot(struct eval *e);

#endif
