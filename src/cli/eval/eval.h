/* SPDX-License-Identifier: BSD-2-Clause
 * eval.h - tasks of gemkv eval: one file eval-TASK.c, one const struct, one line in cmd-eval.c
 *
 * But for perplexity, which has questions for the model alone, a task makes rows, a context, a
 * question and its answers each, and eval-run.c asks every method for every row, keeps what
 * came out in --out, and shows it (eval-show.c, plot.c). */
#ifndef GEMKV_CLI_EVAL_H
#define GEMKV_CLI_EVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/methods.h"
#include "src/cli/eval/score.h"
#include "src/cli/output.h"

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
    const struct cmd *cmd;
    const char  *task;                  /* word of the command                            */
    char        *path;                  /* of the model                                   */
    const char  *model_arg, *cpu, *out_path, *plot_path, *rows_path;
    bool         json, csv, quiet, tty;
    const char  *metric;                /* --metric, or NULL                              */
    gkv_options  opt;
    bool         max_tokens_given;
    bool         rounded;               /* sum up by powers of two of the lengths         */
    enum metric  shown[4];              /* in the table, beside the score                 */
    size_t       n_shown;
    struct methods methods;
    uint64_t     seed;
    gkv_model   *model;                 /* opened anew for each answer: use at once       */
    uint64_t     fingerprint;
    /* Filled by eval_run: what is known of each row, and [n_row][methods.n] results. */
    struct row    *row;
    struct result *result;
    size_t         n_row;
    int            code;                /* of what went wrong with single rows            */
    struct output  out, plot;
    /* For the progress, in tokens of this run, about: */
    double         work_done, work_now, work_all, sum;
    size_t         n_asked;
};

/* Option rows of all tasks that ask, and the ids that they use. */
enum {
    EVAL_CHUNK = 100, EVAL_CONTEXT, EVAL_CPU, EVAL_CSV, EVAL_DEVICE, EVAL_GEMM, EVAL_GPU_MEMORY,
    EVAL_JSON, EVAL_KEEP, EVAL_KEEP_FIRST, EVAL_KEEP_LAST, EVAL_KV_TYPE, EVAL_LAYER, EVAL_MAX_TOKENS, EVAL_MEMORY,
    EVAL_METHOD, EVAL_METRIC, EVAL_MODEL, EVAL_OUT, EVAL_PLOT, EVAL_QUIET, EVAL_ROWS,
    EVAL_SCHEDULE, EVAL_SEED, EVAL_TEMPLATE, EVAL_THREADS, EVAL_TTY
};
#define OPT_EVAL \
    { EVAL_MODEL, 'm', "model", "FILE", "$GEMKV_MODEL, else the bundled model", "GGUF model" }, \
    { EVAL_METHOD, 0, "methods", "all|NAME[:PARAM=VALUE,...][,NAME...]", "gemfilter", \
      "methods that are asked for the same rows" }, \
    { EVAL_METHOD, 0, "method", "NAME[:PARAM=VALUE,...]", NULL, \
      "one more method; may be given several times" }, \
    { EVAL_KEEP, 'k', "keep", "N|P%", "1024", "tokens to keep, or percent of the prompt" }, \
    { EVAL_LAYER, 0, "layer", "N", "the model's", "filter layer, counted from 0" }, \
    { EVAL_KEEP_FIRST, 0, "keep-first", "N", "4", "first tokens kept whatever their score" }, \
    { EVAL_KEEP_LAST, 0, "keep-last", "N|prompt", "prompt", \
      "last tokens kept whatever their score; prompt: the question with its template" }, \
    { EVAL_SCHEDULE, 0, "schedule", "NAME[:PARAM=VALUE,...]", "auto", \
      "order of the first pass; see gemkv ask --help" }, \
    { EVAL_CHUNK, 0, "chunk", "N", "1024", "tokens computed at a time" }, \
    { EVAL_MEMORY, 0, "memory", "SIZE", "80 % of what is available", \
      "refuse what would need more memory, such as 512M or 1.5G" }, \
    { EVAL_CONTEXT, 'c', "context", "N", "no limit", "refuse longer prompts, in tokens" }, \
    { EVAL_MAX_TOKENS, 'n', "max-tokens", "N", "the task's", "longest answer" }, \
    { EVAL_TEMPLATE, 0, "template", "NAME", "the model's", "chat template" }, \
    { EVAL_THREADS, 't', "threads", "N", "one per physical core", "threads" }, \
    { EVAL_DEVICE, 0, "device", "auto|cpu|cuda[:N]", "auto: a CUDA device if there is one, else cpu", \
      "where the second pass and the answer are computed" }, \
    { EVAL_GPU_MEMORY, 0, "gpu-memory", "SIZE", "what is free there", "memory of the device to use" }, \
    { EVAL_CPU, 0, "cpu", "LEVEL", "$GEMKV_CPU, else the best", \
      "cap the instruction sets used" }, \
    { EVAL_GEMM, 0, "gemm", "own|exact|openblas|onednn", "own", "who multiplies matrices" }, \
    { EVAL_KV_TYPE, 0, "kv-type", "f32|f16|bf16|q8_0", "f16", \
      "type of cached keys and values" }, \
    { EVAL_SEED, 0, "seed", "N", "0", "start of the random numbers that rows are made with" }, \
    { EVAL_METRIC, 0, "metric", "em|f1|contains|rouge-1|rouge-l|all|part", "the task's", \
      "what the score is" }, \
    { EVAL_OUT, 0, "out", "FILE", NULL, \
      "append each answer to this JSONL file; what it has is not asked again" }, \
    { EVAL_PLOT, 0, "plot", "FILE", NULL, "write the scores to this new file as an SVG picture" }, \
    { EVAL_ROWS, 0, "rows", "FILE", NULL, \
      "write the rows to this new JSONL file, as eval qa reads them, and ask nothing" }, \
    { EVAL_CSV, 0, "csv", NULL, NULL, "write a line per row and method, as CSV" }, \
    { EVAL_JSON, 0, "json", NULL, NULL, "write JSON to standard output" }, \
    { EVAL_QUIET, 'q', "quiet", NULL, NULL, "only the result, and errors" }, \
    { EVAL_TTY, 0, "tty", NULL, NULL, NULL }, \
    OPT_COMMON

/* Makes row i.  0, or an exit status after saying why it is left out. */
typedef int eval_make(struct eval *e, void *arg, size_t i, struct row *row);

/* Defaults; options one by one; the model, and nothing left to go wrong with the options. */
void eval_init(struct eval *e, const struct cmd *cmd);
void eval_option(struct eval *e, const struct args *a, int id);
int  eval_open(struct eval *e, int argc);
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

/* eval-show.c: tokens and seconds of an answer, into the JSON object that is open. */
void json_cost(const struct result *r);
/* All of it to standard output, in the form that was asked for. */
void show_results(const struct eval *e);
/* Into e->plot, which is open. */
int  show_plot(struct eval *e);

#endif
