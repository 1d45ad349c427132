/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-bench.c - tokens per second of prefill and decode here; with a document, what
 * methods cost (bench-methods.c) */
#include "config.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemkv.h>
#include "src/cli/bench.h"
#include "src/cli/confine.h"
#include "src/cli/json.h"
#include "src/cli/material.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

enum { MAX_TESTS = 2 * MAX_NUMBERS, WARM = 512 };

struct test {
    char     name[48];
    uint64_t n_prompt, n_gen, depth;            /* n_gen 0: prefill; n_prompt 0: decode   */
    double   median, min, max;                  /* tokens per second                      */
    double   bytes;                             /* read per decoded token                 */
};

struct bench {
    struct options o;                           /* must be first                          */
    struct numbers prompt, depth;
    uint64_t      n_gen, repetitions;           /* 0: default                             */
    char         *path;
    gkv_model    *model;
    gkv_eval     *eval;
    gkv_eval_info info;
    struct test   test[MAX_TESTS];
    size_t        n_test;
    uint32_t     *id;                           /* as many as the longest test needs      */
    double       *rate;                         /* one per repetition                     */
    struct progress progress;
    const char   *stage;                        /* for the progress                       */
    uint64_t      stage_tokens, part, n_parts;
};

static const struct opt own[] = {
    { 0, 'p', "n-prompt", "N[,N]...", NULL, "prefill N tokens in an empty context; 0: do not",
      opt_numbers, offsetof(struct bench, prompt), 0, INT32_MAX },
    { 0, 'n', "n-gen", "N", NULL, "decode N tokens, one at a time; 0: do not",
      opt_u64, offsetof(struct bench, n_gen), 0, INT32_MAX },
    { 0, 'd', "n-depth", "N[,N]...", NULL, "decode them after N tokens",
      opt_numbers, offsetof(struct bench, depth), 0, INT32_MAX },
    { 0, 'r', "repetitions", "N", "5, with --file 1", "how often to measure each",
      opt_u64, offsetof(struct bench, repetitions), 1, 1000 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "n-prompt", "512,2048" }, { "n-gen", "64" }, { "n-depth", "0" }, { "methods", "all" },
    { NULL, NULL }
};

static bool any_given(const struct options *o, const char *const *name)
{
    while (*name && !options_given(o, *name))
        name++;
    return *name;
}

static int check(struct bench *b)
{
    static const char *const lengths[] = { "n-prompt", "n-depth", NULL };
    static const char *const selects[] = {
        "attention", "keep", "layer", "methods", "reader", "schedule", "snap", NULL
    };
    const struct cmd *cmd = b->o.cmd;

    if (!b->repetitions)
        b->repetitions = b->o.text ? 1 : 5;
    if (!b->o.text && (b->o.n_operand || any_given(&b->o, selects)))
        return usage(b->o.io, cmd, "methods, their options and a question need a document; give one with -f FILE");
    if (b->o.text && any_given(&b->o, lengths))
        return usage(b->o.io, cmd, "-p and -d have no meaning for a document; leave them or -f out");
    if (b->o.n_operand > 1)
        return usage(b->o.io, cmd, "one question only, in quotes");
    return 0;
}

static int list_tests(struct bench *b)
{
    struct test *t = b->test;

    for (size_t i = 0; i < b->prompt.n; i++)
        if (b->prompt.v[i]) {
            t->n_prompt = b->prompt.v[i];
            snprintf(t->name, sizeof t->name, "pp%" PRIu64, t->n_prompt);
            t++;
        }
    for (size_t i = 0; i < b->depth.n && b->n_gen; i++, t++) {
        t->n_gen = b->n_gen;
        t->depth = b->depth.v[i];
        snprintf(t->name, sizeof t->name, t->depth ? "tg%" PRIu64 " @ d%" PRIu64
                 : "tg%" PRIu64, t->n_gen, t->depth);
    }
    b->n_test = (size_t)(t - b->test);
    return b->n_test ? 0 : usage(b->o.io, b->o.cmd, "nothing to measure; give -p or -n a number above 0");
}

/* ---- measuring ----------------------------------------------------------------------- */
static void show(struct bench *b, double fraction)
{
    progress_show(&b->progress, b->stage, ((double)b->part + fraction) / (double)b->n_parts,
                  b->stage_tokens);
}

static void within(void *arg, const gkv_progress *p)
{
    show(arg, p->fraction);
}

static void begin(struct bench *b, const char *stage, uint64_t tokens, uint64_t n_parts)
{
    b->stage = stage;
    b->stage_tokens = tokens * n_parts;
    b->part = 0;
    b->n_parts = n_parts;
}

/* n greedy decoding steps from token id on; they do not stop at tokens that end an answer. */
static gkv_status generate(struct bench *b, uint32_t id, uint64_t n, gkv_error *err)
{
    gkv_status status = GKV_OK;

    for (uint64_t i = 0; i < n && !status; i++) {
        status = gkv_eval_tokens(b->eval, &id, 1, NULL, err);
        if (!status)
            status = gkv_eval_next(b->eval, &id, err);
        show(b, (double)i / (double)n);
    }
    return status;
}

static gkv_status once(struct bench *b, const struct test *t, uint32_t first, double *rate,
                       gkv_error *err)
{
    gkv_status status = gkv_eval_truncate(b->eval, t->depth, err);
    double     start = progress_clock();

    if (!status)
        status = t->n_gen ? generate(b, first, t->n_gen, err)
                          : gkv_eval_tokens(b->eval, b->id, t->n_prompt, NULL, err);
    *rate = (double)(t->n_gen + t->n_prompt) / (progress_clock() - start);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Fills the context once; warms up with at most WARM tokens, so that weights and code are in memory; then
 * measures the repetitions. */
static gkv_status measure(struct bench *b, struct test *t, gkv_error *err)
{
    const size_t n = b->repetitions;
    struct test  warm = *t;
    uint32_t     first = b->id[0];
    gkv_status   status = gkv_eval_truncate(b->eval, 0, err);

    if (!status && t->depth) {
        begin(b, "context", t->depth, 1);
        status = gkv_eval_tokens(b->eval, b->id, t->depth, NULL, err);
        if (!status)
            status = gkv_eval_next(b->eval, &first, err);
    }
    warm.n_prompt = warm.n_prompt < WARM ? warm.n_prompt : WARM;
    warm.n_gen = warm.n_gen < WARM ? warm.n_gen : WARM;
    begin(b, "warm-up", warm.n_gen + warm.n_prompt, 1);
    if (!status)
        status = once(b, &warm, first, &b->rate[0], err);
    begin(b, t->name, t->n_gen + t->n_prompt, n);
    for (size_t i = 0; i < n && !status; i++, b->part++)
        status = once(b, t, first, &b->rate[i], err);
    if (status)
        return status;
    qsort(b->rate, n, sizeof *b->rate, ascending);
    t->min = b->rate[0];
    t->max = b->rate[n - 1];
    t->median = (b->rate[n / 2] + b->rate[(n - 1) / 2]) / 2;
    if (t->n_gen)
        t->bytes = (double)b->info.bytes_weights + (double)b->info.bytes_position
                 * ((double)t->depth + (double)(t->n_gen + 1) / 2);
    return GKV_OK;
}

/* ---- results ------------------------------------------------------------------------- */
static void print_head(const struct bench *b)
{
    gkv_model_info m;
    char          *s;

    gkv_model_describe(b->model, &m);
    s = format("%s (%s), %s, gemm %s, KV %s, %u thread%s, median of %" PRIu64 "\n\n",
               m.name && *m.name ? m.name : b->path, m.types, b->info.cpu, b->info.gemm,
               b->info.kv_type, b->info.threads, b->info.threads > 1 ? "s" : "",
               b->repetitions);
    out_text(b->o.io, s, strlen(s));
    free(s);
    out_printf(b->o.io, "%-20s %12s   %-23s %10s\n", "test", "tokens/s", "       min - max", "GB/s");
}

static int print_test(struct io *io, const struct test *t)
{
    char max[16], gb[32] = "";

    snprintf(max, sizeof max, "%.2f", t->max);
    if (t->n_gen)
        snprintf(gb, sizeof gb, "%*.2f", 21 - (int)strlen(max), t->bytes * t->median / 1e9);
    out_printf(io, "%-20s %12.2f   %10.2f - %s%s\n", t->name, t->median, t->min, max, gb);
    return out_flush(io);
}

static void json_test(struct json *j, const struct bench *b, const struct test *t)
{
    json_open(j, '{');
    json_named_string(j, "model", b->path);
    json_named_string(j, "test", t->name);
    json_named_open(j, "tokens_per_second", '{');
    json_named_real(j, "median", t->median);
    json_named_real(j, "min", t->min);
    json_named_real(j, "max", t->max);
    json_close(j);
    if (t->n_gen) {
        json_named_real(j, "bytes_per_token", t->bytes);
        json_named_real(j, "gb_per_second", t->bytes * t->median / 1e9);
    }
    json_named_uint(j, "repetitions", b->repetitions);
    json_named_uint(j, "n_prompt", t->n_prompt);
    json_named_uint(j, "n_gen", t->n_gen);
    json_named_uint(j, "depth", t->depth);
    json_named_uint(j, "threads", b->info.threads);
    json_named_string(j, "cpu", b->info.cpu);
    json_named_string(j, "gemm", b->info.gemm);
    json_named_string(j, "kv_type", b->info.kv_type);
    json_named_uint(j, "chunk", b->info.chunk);
    json_named_open(j, "memory", '{');
    json_named_uint(j, "predicted", b->info.memory_predicted);
    json_named_uint(j, "peak", b->info.memory_peak);
    json_close(j);
    json_close(j);
}

static void report(struct bench *b)
{
    struct json j = { .depth = 0 };
    char       *peak, *predicted;

    gkv_eval_describe(b->eval, &b->info);       /* for the final peak */
    if (b->o.json) {
        json_open(&j, '[');
        for (size_t i = 0; i < b->n_test; i++)
            json_test(&j, b, &b->test[i]);
        json_close(&j);
        json_print(b->o.io, &j);
        return;
    }
    peak = view_bytes(b->info.memory_peak);
    predicted = view_bytes(b->info.memory_predicted);
    say(b->o.io, "memory %s, predicted %s", peak, predicted);
    free(peak);
    free(predicted);
}

/* ---- the command --------------------------------------------------------------------- */
/* The same ids each time, so that every run does the same work. */
static void make_ids(struct bench *b, uint64_t n)
{
    gkv_model_info m;
    struct rng     r = { .state = 1 };

    gkv_model_describe(b->model, &m);
    b->id = grow(NULL, n, sizeof *b->id);
    for (uint64_t i = 0; i < n; i++)
        b->id[i] = (uint32_t)(rng_next(&r) % m.n_vocab);
}

static gkv_status open_eval(struct bench *b, gkv_error *err)
{
    uint64_t n = 1;
    gkv_status status;

    for (size_t i = 0; i < b->n_test; i++) {
        uint64_t k = b->test[i].n_prompt + b->test[i].depth + b->test[i].n_gen;

        n = k > n ? k : n;
    }
    b->o.gkv.progress = within;
    b->o.gkv.progress_arg = b;
    status = gkv_eval_open(&b->eval, b->model, &b->o.gkv, n, err);
    if (status)
        return status;
    gkv_eval_describe(b->eval, &b->info);
    make_ids(b, n);
    b->rate = grow(NULL, b->repetitions, sizeof *b->rate);
    progress_watch_eval(&b->progress, b->eval);
    return GKV_OK;
}

static int run_document(const struct bench *b)
{
    return bench_document(&(struct bench_document){
        .o = &b->o, .question = b->o.n_operand ? *b->o.operand : "What is this text about?",
        .path = b->path, .repetitions = b->repetitions, .n_gen = b->n_gen,
    });
}

static int run_tests(struct bench *b)
{
    gkv_error  err = { 0 };
    gkv_status status = gkv_model_open(&b->model, b->path, 0, &err);
    int        code = 0;

    if (!status) {
        progress_start(&b->progress, b->o.io, !b->o.json && run_draws(&b->o));
        status = open_eval(b, &err);
    }
    if (!status && !b->o.json)
        print_head(b);
    for (size_t i = 0; i < b->n_test && !status && !code; i++) {
        status = measure(b, &b->test[i], &err);
        progress_erase(&b->progress);
        if (!status && !b->o.json)
            code = print_test(b->o.io, &b->test[i]);
    }
    if (code)
        return code;
    if (status)
        return run_failed(b->o.io, &b->progress, status, &err);
    report(b);
    return 0;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct bench b = { .n_test = 0 };
    int          code = options_parse(&b.o, self, io, argc, argv);

    if (!code)
        code = check(&b);
    if (!code && !b.o.text)
        code = list_tests(&b);
    if (!code)
        code = run_begin(&b.o, &b.path);
    if (!code) {
        confine(&b.o, b.path);
        code = b.o.text ? run_document(&b) : run_tests(&b);
    }
    progress_end(&b.progress);
    gkv_eval_close(b.eval);
    gkv_model_close(b.model);
    options_free(&b.o);
    free(b.id);
    free(b.rate);
    free(b.path);
    return code;
}

const struct cmd cmd_bench = {
    .name = "bench", .summary = "Measure tokens per second of prefill and decode",
    .synopsis = "[options] [-f FILE [QUESTION]]", .takes = FOR_BENCH, .own = own,
    .defaults = defaults, .needs = NEEDS_PROGRAMS, .run = run
};
