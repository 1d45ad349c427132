/* SPDX-License-Identifier: BSD-2-Clause
 * eval.h - tasks of gemkv eval: one file TASK.c, one const struct, one line here and in cmd-eval.c each
 *
 * Perplexity measures the model alone.  Every other task makes rows, each a context, a question and its
 * answers; rows.c asks the question of every row with every method, keeps the answers in --out, and shows
 * the results (show.c, plot.c). */
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
#include "src/cli/run.h"

extern const struct cmd eval_niah, eval_ruler, eval_kv, eval_qa, eval_perplexity;

/* The row owns its strings and lists; NULL: none. */
struct row {
    char        *id, *context, *question, *begin;       /* begin: start of the answer     */
    char        *document;              /* with -L: only this one is asked                */
    char        *where;                 /* "FILE:LINE" of its source, or NULL             */
    struct refs  answers;
    struct refs  classes;               /* all that the task has, if it is one of classes */
    const char  *group;                 /* rows are averaged by group and length          */
    uint64_t     length;                /* tokens; 0: set to the prompt's when known */
    double       depth;                 /* percent, or -1                                 */
    uint32_t     max_tokens;            /* of the answer; 0: as in the options            */
    enum metric  metric;                /* its value is the row's score                   */
};

struct result {
    bool     done, kept;                /* kept: read from --out                          */
    bool     no_room;                   /* done, and wrong: see struct eval               */
    double   score[N_METRICS];
    double   ttft, decode;              /* seconds; ttft without loading the model        */
    uint64_t n_prompt, n_kept, n_answer, peak;
};

/* A way of asking: eval compares methods, pair compares layers and budgets of two models. */
struct way {
    char        *name;                  /* in tables and --out                            */
    gkv_options  opt;                   /* reader: set when it is asked                   */
    bool         alone;                 /* without the reader                             */
};

struct eval {
    struct options o;                   /* must be first                                  */
    const char  *task;                  /* name on the command line                       */
    char        *path;                  /* of the model                                   */
    bool         rounded;               /* average by powers of two of lengths            */
    enum metric  shown[4];              /* in the table, beside the score                 */
    size_t       n_shown;
    gkv_model   *model;                 /* opened anew for each answer: use at once       */
    gkv_model    *reader;               /* the same, of --reader; or NULL                 */
    gkv_document *document;             /* with its index, of --grade                     */
    struct run   *of_library;           /* of -L: the row's documents                     */
    uint64_t     library;               /* a number of all that is in it                  */
    uint64_t     fingerprint;
    struct way  *way;                   /* n_way of them                                  */
    size_t       n_way;
    gkv_reading *reading;               /* that ways share, or NULL                       */
    bool         strict;                /* no room in the budget is a wrong answer, not a row that is left out */
    int        (*show)(const struct eval *e);   /* prints the results; NULL: show_results  */
    /* Set by eval_run: the rows (without their contexts) and [n_row][n_way] results. */
    struct row    *row;
    struct result *result;
    size_t         n_row;
    int            code;                /* exit status of rows that failed */
    struct output  out, plot;
    struct progress progress;
    /* For progress, in estimated tokens: */
    double         work_done, work_now, work_all, sum;
    size_t         n_asked;
};

/* Makes row i.  0, or an exit status after saying why the row is left out. */
typedef int eval_make(struct eval *e, void *arg, size_t i, struct row *row);

/* Sets *e, which is zeroed and begins the task's struct, from the command line.  0, or an exit status as that of
 * options_parse. */
int  eval_parse(struct eval *e, const struct cmd *cmd, struct io *io, int argc, char **argv);
/* Opens the model; afterwards all options are known to be valid. */
int  eval_open(struct eval *e);
/* The longest answer to a row whose task allows `tokens`, or 0 for no limit of its own. */
uint32_t eval_max_tokens(const struct eval *e, uint32_t tokens);
/* Adds a way, which has the options but for what the caller sets in what is returned; takes ownership of name. */
struct way *eval_way(struct eval *e, char *name);
/* Asks about n rows, of about weight(arg, i) tokens each, in all ways, or by all methods if none was added, and shows
 * the results.  Returns an exit status. */
int  eval_run(struct eval *e, size_t n, eval_make *make,
              double (*weight)(const void *arg, size_t i), void *arg);
void eval_close(struct eval *e);

/* Counts the tokens of the row's prompt.  0, or an exit status after saying why not. */
int  eval_count(struct eval *e, const struct row *row, uint64_t *n);
/* Makes the row with the most units, at most max, whose prompt has at most `length` tokens, by calling
 * build with several numbers of units, in no particular order.  An exit status when not even `least`
 * units fit. */
typedef void eval_build(void *arg, size_t units, struct row *row);
int  eval_fit(struct eval *e, uint64_t length, size_t least, size_t max, eval_build *build,
              void *arg, struct row *row);

void row_free(struct row *r);           /* frees strings; the numbers stay                */
void row_answer(struct row *r, char *answer);           /* adds one, takes ownership      */
void refs_add(struct refs *r, char *text);              /* the same                       */

/* Whether that row was answered that way, and how. */
const struct result *eval_at(const struct eval *e, size_t row, size_t way);

/* show.c: adds tokens and seconds of an answer to the JSON object that is open. */
void json_cost(struct json *j, const struct result *r);
/* Prints all results, as a table, JSON or CSV. */
int  show_results(const struct eval *e);
/* Writes the plot to e->plot, which is open. */
int  show_plot(struct eval *e);

#endif
