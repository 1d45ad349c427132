/* SPDX-License-Identifier: BSD-2-Clause
 * perplexity.c - how well a model predicts a text, as llama-perplexity measures it
 *
 * The tokens of the text, after BOS if the model has one, are divided into windows that do not
 * overlap; a rest at the end is not used.  Each window is prefilled by itself, with BOS in place of
 * its first token.  Only its second half counts, without its first token.  The perplexity is the
 * exponential of the mean of the negative log-probabilities of these tokens; its error is the
 * standard error of that mean, times the perplexity. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/confine.h"
#include "src/cli/eval/eval.h"
#include "src/cli/input.h"
#include "src/cli/json.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

struct sum {
    uint64_t n;
    double   nll, nll2;                         /* sums of -log p and of its square       */
};

struct perplexity {
    struct options o;                           /* must be first                          */
    char        *path;
    uint64_t     context;                       /* tokens of a window                     */
    gkv_model   *model;
    gkv_eval    *eval;
    struct progress progress;
    uint32_t    *id;                            /* [n_id]                                 */
    size_t       n_id, n_window, window;
    bool         bos;                           /* windows begin with BOS, which is *id   */
    size_t       part;                          /* tokens of this window that are done    */
    double      *score;                         /* perplexity of each window              */
    float       *logprob;
    struct sum   sum;
};

static const struct opt own[] = {
    { 0, 'c', "context", "N", NULL, "tokens in a window",
      opt_u64, offsetof(struct perplexity, context), 8, INT32_MAX },
    { .name = NULL }
};

static const struct opt_default defaults[] = { { "context", "512" }, { NULL, NULL } };

static int check(struct perplexity *p)
{
    if (p->o.n_operand)
        return usage(p->o.io, p->o.cmd, "no operands; the text is given with -f");
    if (!p->o.text && isatty(STDIN_FILENO))
        return usage(p->o.io, p->o.cmd, "no text; give it with -f FILE, or on standard input");
    if (!p->o.text)
        p->o.text = "-";
    return 0;
}

/* ---- text ---------------------------------------------------------------------------- */
/* Tokens of the text as plain text, after BOS: tokenizing an empty text with special tokens gives just
 * BOS, or nothing. */
static int read_text(struct perplexity *p)
{
    char      *text = NULL;
    size_t     len, n_first = 0, n = 0;
    uint32_t  *first = NULL, *rest = NULL;
    gkv_error  err = { 0 };
    gkv_status status;
    int        code = input_slurp(p->o.io, p->o.text, &text, &len);

    confine_read(&p->o);
    if (!code) {
        status = gkv_tokenize(p->model, "", 0, GKV_TOKENS_SPECIAL, &first, &n_first, &err);
        if (!status)
            status = gkv_tokenize(p->model, text, len, 0, &rest, &n, &err);
        if (status)
            code = fail_library(p->o.io, status, &err, NULL);
    }
    free(text);
    if (!code) {
        p->n_id = n_first + n;
        p->bos = n_first > 0;
        p->n_window = p->n_id / p->context;
        p->id = grow(first, p->n_id, sizeof *first);
        first = NULL;
        if (n)
            memcpy(p->id + n_first, rest, n * sizeof *rest);
        if (!p->n_window)
            code = fail(p->o.io, EXIT_DOCUMENT, "%s: %zu tokens are less than one window of %" PRIu64 "; give "
                        "a longer text, or a smaller --context", input_name(p->o.text), p->n_id,
                        p->context);
    }
    free(first);
    free(rest);
    return code;
}

/* ---- measuring ----------------------------------------------------------------------- */
static void within(void *arg, const gkv_progress *g)
{
    struct perplexity *p = arg;
    const double done = (double)p->window * (double)p->context + (double)p->part
                      + g->fraction * (double)g->tokens;
    const uint64_t all = (uint64_t)p->n_window * p->context;

    progress_show(&p->progress, "perplexity", done / (double)all, all);
}

static void add(struct sum *s, const float *logprob, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = -(double)logprob[i];

        s->nll += v;
        s->nll2 += v * v;
    }
    s->n += n;
}

static double perplexity(const struct sum *s)
{
    return exp(s->nll / (double)s->n);
}

static double error(const struct sum *s)
{
    const double mean = s->nll / (double)s->n, var = s->nll2 / (double)s->n - mean * mean;

    return var > 0 ? sqrt(var / (double)(s->n - 1)) * exp(mean) : 0;
}

/* Prefills the first part of a window, then scores the part that counts. */
static gkv_status read_window(struct perplexity *p, gkv_error *err)
{
    const size_t first = p->context / 2 + 1, rest = p->context - first;
    uint32_t    *id = p->id + p->window * p->context, begins = *id;
    struct sum   s = { 0, 0, 0 };
    gkv_status   status = gkv_eval_truncate(p->eval, 0, err);

    if (p->bos)
        *id = *p->id;
    p->part = 0;
    if (!status)
        status = gkv_eval_tokens(p->eval, id, first, NULL, err);
    p->part = first;
    if (!status)
        status = gkv_eval_tokens(p->eval, id + first, rest, p->logprob, err);
    *id = begins;
    if (status)
        return status;
    add(&s, p->logprob, rest);
    add(&p->sum, p->logprob, rest);
    p->score[p->window] = perplexity(&s);
    progress_note(&p->progress, "%.4f so far", perplexity(&p->sum));
    return GKV_OK;
}

static gkv_status read_windows(struct perplexity *p, gkv_error *err)
{
    gkv_status status;

    /* A chunk need not be larger than half a window, which is what one call gets. */
    if (!p->o.gkv.chunk || p->o.gkv.chunk > p->context / 2 + 1) {
        size_t most = p->o.gkv.chunk ? p->o.gkv.chunk : 1024, half = p->context / 2 + 1;

        p->o.gkv.chunk = (uint32_t)(half < 16 ? 16 : half < most ? half : most);
    }
    p->o.gkv.progress = within;
    p->o.gkv.progress_arg = p;
    p->score = grow(NULL, p->n_window, sizeof *p->score);
    p->logprob = grow(NULL, p->context, sizeof *p->logprob);
    status = gkv_eval_open(&p->eval, p->model, &p->o.gkv, p->context, err);
    if (status)
        return status;
    progress_watch_eval(&p->progress, p->eval);
    for (p->window = 0; p->window < p->n_window && !status; p->window++)
        status = read_window(p, err);
    progress_erase(&p->progress);
    return status;
}

/* ---- results ------------------------------------------------------------------------- */
static void write_json(const struct perplexity *p)
{
    gkv_eval_info info;
    struct json   j = { .depth = 0 };

    gkv_eval_describe(p->eval, &info);
    json_open(&j, '{');
    json_named_string(&j, "task", "perplexity");
    json_named_string(&j, "method", "full");
    json_named_string(&j, "model", p->path);
    json_named_string(&j, "cpu", info.cpu);
    json_named_string(&j, "gemm", info.gemm);
    json_named_string(&j, "kv_type", info.kv_type);
    json_named_open(&j, "rows", '[');
    for (size_t i = 0; i < p->n_window; i++) {
        json_open(&j, '{');
        json_named_uint(&j, "length", p->context);
        json_named_real(&j, "score", p->score[i]);
        json_close(&j);
    }
    json_close(&j);
    json_named_real(&j, "mean", perplexity(&p->sum));
    json_named_real(&j, "error", error(&p->sum));
    json_named_open(&j, "tokens", '{');
    json_named_uint(&j, "document", p->n_id - p->bos);
    json_named_uint(&j, "scored", p->sum.n);
    json_close(&j);
    json_named_open(&j, "memory", '{');
    json_named_uint(&j, "predicted", info.memory_predicted);
    json_named_uint(&j, "peak", info.memory_peak);
    json_close(&j);
    json_close(&j);
    json_print(p->o.io, &j);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct perplexity p = { .path = NULL };
    gkv_error         err = { 0 };
    gkv_status        status;
    int               code = options_parse(&p.o, self, io, argc, argv);

    if (!code)
        code = check(&p);
    if (!code)
        code = run_begin(&p.o, &p.path);
    if (code)
        goto out;
    confine(&p.o, p.path);
    status = gkv_model_open(&p.model, p.path, 0, &err);
    if (status) {
        code = run_failed(io, &p.progress, status, &err);
        goto out;
    }
    progress_start(&p.progress, io, !p.o.json && run_draws(&p.o));
    code = read_text(&p);
    if (code)
        goto out;
    status = read_windows(&p, &err);
    if (status)
        code = run_failed(io, &p.progress, status, &err);
    else if (p.o.json)
        write_json(&p);
    else
        out_printf(io, "perplexity %.4f +/- %.4f (%" PRIu64 " tokens in %zu windows of %" PRIu64 ")\n",
                   perplexity(&p.sum), error(&p.sum), p.sum.n, p.n_window, p.context);
out:
    progress_end(&p.progress);
    gkv_eval_close(p.eval);
    gkv_model_close(p.model);
    options_free(&p.o);
    free(p.id);
    free(p.score);
    free(p.logprob);
    free(p.path);
    return code;
}

const struct cmd eval_perplexity = {
    .name = "eval perplexity", .summary = "How well the model predicts a text",
    .synopsis = "[options] [-f FILE]", .takes = FOR_PERPLEXITY, .own = own, .defaults = defaults,
    .needs = NEEDS_PROGRAMS, .run = run
};
