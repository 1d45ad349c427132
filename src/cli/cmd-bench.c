/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-bench.c - how many tokens per second a model reads and writes here; with a document, what
 * methods cost (bench-methods.c) */
#include "config.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/bench.h"
#include "src/cli/json.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

enum {
    CHUNK = 1, CPU, FILE_, GEMM, JSON, KEEP, KV_TYPE, LAYER, MEMORY, METHODS, MODEL, N_DEPTH,
    N_GEN, N_PROMPT, QUIET, REPETITIONS, SCHEDULE, THREADS, TTY,
    MAX_TESTS = 16, WARM = 512
};

static const struct opt opts[] = {
    { MODEL, 'm', "model", "FILE", "$GEMKV_MODEL, else the bundled model", "GGUF model" },
    { N_PROMPT, 'p', "n-prompt", "N[,N]...", "512,2048",
      "read N tokens into an empty context; 0: do not" },
    { N_GEN, 'n', "n-gen", "N", "64", "write N tokens, one at a time; 0: do not" },
    { N_DEPTH, 'd', "n-depth", "N[,N]...", "0", "write them after N tokens" },
    { REPETITIONS, 'r', "repetitions", "N", "5, with --file 1", "how often to measure each" },
    { FILE_, 'f', "file", "FILE", NULL,
      "measure methods on this document instead; - is standard input" },
    { METHODS, 0, "methods", "all|NAME[:PARAM=VALUE,...][,NAME...]", "all",
      "these methods; see gemkv ask --help" },
    { KEEP, 'k', "keep", "N|P%", "1024", "tokens they keep, or percent of the prompt" },
    { LAYER, 0, "layer", "N", "the model's", "filter layer, counted from 0" },
    { SCHEDULE, 0, "schedule", "NAME[:PARAM=VALUE,...]", "auto",
      "order of the first pass; see gemkv ask --help" },
    { CHUNK, 0, "chunk", "N", "1024", "tokens computed at a time" },
    { MEMORY, 0, "memory", "SIZE", "80 % of what is available",
      "refuse what would need more memory, such as 512M or 1.5G" },
    { THREADS, 't', "threads", "N", "one per physical core", "threads" },
    { CPU, 0, "cpu", "LEVEL", "$GEMKV_CPU, else the best",
      "cap the instruction sets used" },
    { GEMM, 0, "gemm", "own|exact|openblas|onednn", "own", "who multiplies matrices" },
    { KV_TYPE, 0, "kv-type", "f32|f16|bf16|q8_0", "f16", "type of cached keys and values" },
    { JSON, 0, "json", NULL, NULL, "write one JSON array to standard output" },
    { QUIET, 'q', "quiet", NULL, NULL, "only the result, and errors" },
    { TTY, 0, "tty", NULL, NULL, NULL },
    OPT_COMMON
};

struct test {
    char     name[48];
    uint64_t n_prompt, n_gen, depth;            /* n_gen 0: reading, n_prompt 0: writing  */
    double   median, min, max;                  /* tokens per second                      */
    double   bytes;                             /* read for each token written            */
};

struct bench {
    const char   *model_arg, *cpu, *file, *question;
    struct methods methods;
    char         *path;
    bool          json, quiet, tty;
    bool          lengths, selects;             /* given: -p or -d; what selects tokens   */
    uint64_t      prompt[MAX_TESTS], depth[MAX_TESTS], n_gen, repetitions;  /* 0: default */
    size_t        n_prompt, n_depth;
    gkv_options   opt;
    gkv_model    *model;
    gkv_eval     *eval;
    gkv_eval_info info;
    struct test   test[2 * MAX_TESTS];
    size_t        n_test;
    uint32_t     *id;                           /* as many as the longest test takes      */
    double       *rate;                         /* of each repetition                     */
    const char   *stage;                        /* for the progress                       */
    uint64_t      stage_tokens, part, n_parts;
};

static void parse(struct bench *b, const struct cmd *cmd, int argc, char **argv)
{
    struct args  a = { cmd, argc, argv, NULL, NULL };
    gkv_options *o = &b->opt;

    for (int id; (id = args_next(&a));)
        switch (id) {
        case CHUNK:       o->chunk = (uint32_t)args_uint(&a, 16, 65536); break;
        case CPU:         b->cpu = a.value; break;
        case FILE_:       b->file = a.value; break;
        case GEMM:        o->gemm = args_choice(&a); break;
        case JSON:        b->json = true; break;
        case KEEP:        run_parse_keep(&a, o); b->selects = true; break;
        case LAYER:       o->layer = (int32_t)args_uint(&a, 0, INT32_MAX); b->selects = true; break;
        case METHODS:     methods_add(&b->methods, a.value); b->selects = true; break;
        case SCHEDULE:    o->schedule = a.value; b->selects = true; break;
        case KV_TYPE:     o->kv_type = args_choice(&a); break;
        case MEMORY:      o->memory_limit = args_size(&a); break;
        case MODEL:       b->model_arg = a.value; break;
        case N_DEPTH:
            b->n_depth = args_uints(&a, 0, INT32_MAX, b->depth, MAX_TESTS);
            b->lengths = true;
            break;
        case N_GEN:       b->n_gen = args_uint(&a, 0, INT32_MAX); break;
        case N_PROMPT:
            b->n_prompt = args_uints(&a, 0, INT32_MAX, b->prompt, MAX_TESTS);
            b->lengths = true;
            break;
        case QUIET:       b->quiet = true; break;
        case REPETITIONS: b->repetitions = args_uint(&a, 1, 1000); break;
        case THREADS:     o->threads = (uint32_t)args_uint(&a, 1, 4096); break;
        case TTY:         b->tty = true; break;
        }
    if (!b->file) {
        if (optind < argc || b->selects)
            usage(cmd, "methods, their options and a question need a document; give one with -f FILE");
        b->repetitions = b->repetitions ? b->repetitions : 5;
        return;
    }
    if (b->lengths)
        usage(cmd, "-p and -d have no meaning for a document; leave them or -f out");
    if (optind + 1 < argc)
        usage(cmd, "one question only, in quotes");
    b->question = optind < argc ? argv[optind] : "What is this text about?";
    b->repetitions = b->repetitions ? b->repetitions : 1;
}

static void list_tests(struct bench *b, const struct cmd *cmd)
{
    struct test *t = b->test;

    for (size_t i = 0; i < b->n_prompt; i++)
        if (b->prompt[i]) {
            t->n_prompt = b->prompt[i];
            snprintf(t->name, sizeof t->name, "pp%" PRIu64, t->n_prompt);
            t++;
        }
    for (size_t i = 0; i < b->n_depth && b->n_gen; i++, t++) {
        t->n_gen = b->n_gen;
        t->depth = b->depth[i];
        snprintf(t->name, sizeof t->name, t->depth ? "tg%" PRIu64 " @ d%" PRIu64
                 : "tg%" PRIu64, t->n_gen, t->depth);
    }
    b->n_test = (size_t)(t - b->test);
    if (!b->n_test)
        usage(cmd, "nothing to measure; give -p or -n a number above 0");
}

/* ---- measuring ----------------------------------------------------------------------- */
static void show(const struct bench *b, double fraction)
{
    progress_show(b->stage, ((double)b->part + fraction)
                  / (double)b->n_parts, b->stage_tokens);
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

/* Greedy steps from token id on: what ends an answer does not end them. */
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

/* The context before, once; at most WARM tokens, so that weights and code are there; the
 * repetitions. */
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
    out_text(s, strlen(s));
    free(s);
    out_printf("%-20s %12s   %-23s %10s\n", "test", "tokens/s", "       min - max", "GB/s");
}

static void print_test(const struct test *t)
{
    char max[16], gb[32] = "";

    snprintf(max, sizeof max, "%.2f", t->max);
    if (t->n_gen)
        snprintf(gb, sizeof gb, "%*.2f", 21 - (int)strlen(max), t->bytes * t->median / 1e9);
    out_printf("%-20s %12.2f   %10.2f - %s%s\n", t->name, t->median, t->min, max, gb);
    out_flush();
}

static void json_test(const struct bench *b, const struct test *t)
{
    json_open('{');
    json_named_string("model", b->path);
    json_named_string("test", t->name);
    json_key("tokens_per_second");
    json_open('{');
    json_named_real("median", t->median);
    json_named_real("min", t->min);
    json_named_real("max", t->max);
    json_close();
    if (t->n_gen) {
        json_named_real("bytes_per_token", t->bytes);
        json_named_real("gb_per_second", t->bytes * t->median / 1e9);
    }
    json_named_uint("repetitions", b->repetitions);
    json_named_uint("n_prompt", t->n_prompt);
    json_named_uint("n_gen", t->n_gen);
    json_named_uint("depth", t->depth);
    json_named_uint("threads", b->info.threads);
    json_named_string("cpu", b->info.cpu);
    json_named_string("gemm", b->info.gemm);
    json_named_string("kv_type", b->info.kv_type);
    json_named_uint("chunk", b->info.chunk);
    json_key("memory");
    json_open('{');
    json_named_uint("predicted", b->info.memory_predicted);
    json_named_uint("peak", b->info.memory_peak);
    json_close();
    json_close();
}

static void report(struct bench *b)
{
    char *peak, *predicted;

    gkv_eval_describe(b->eval, &b->info);       /* the peak, now that it is over          */
    if (b->json) {
        json_open('[');
        for (size_t i = 0; i < b->n_test; i++)
            json_test(b, &b->test[i]);
        json_close();
        return;
    }
    peak = view_bytes(b->info.memory_peak);
    predicted = view_bytes(b->info.memory_predicted);
    say("memory %s, predicted %s", peak, predicted);
    free(peak);
    free(predicted);
}

/* ---- the command --------------------------------------------------------------------- */
/* splitmix64: the same ids each time, so that every run does the same work. */
static void make_ids(struct bench *b, uint64_t n)
{
    gkv_model_info m;
    uint64_t       state = 1;

    gkv_model_describe(b->model, &m);
    b->id = grow(NULL, n, sizeof *b->id);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t z = state += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        b->id[i] = (uint32_t)((z ^ z >> 31) % m.n_vocab);
    }
}

static gkv_status open_eval(struct bench *b, gkv_error *err)
{
    uint64_t n = 1;
    gkv_status status;

    for (size_t i = 0; i < b->n_test; i++) {
        uint64_t k = b->test[i].n_prompt + b->test[i].depth + b->test[i].n_gen;

        n = k > n ? k : n;
    }
    b->opt.progress = within;
    b->opt.progress_arg = b;
    status = gkv_eval_open(&b->eval, b->model, &b->opt, n, err);
    if (status)
        return status;
    gkv_eval_describe(b->eval, &b->info);
    make_ids(b, n);
    b->rate = grow(NULL, b->repetitions, sizeof *b->rate);
    progress_watch_eval(b->eval);
    return GKV_OK;
}

static int run_document(struct bench *b, const struct cmd *self)
{
    struct bench_document d = {
        .file = b->file, .question = b->question, .methods = b->methods, .opt = b->opt,
        .repetitions = b->repetitions, .n_gen = b->n_gen, .json = b->json,
        .draw = !b->quiet && !b->json && (b->tty || isatty(STDERR_FILENO)),
    };
    int code;

    d.path = run_model_path(self, b->model_arg);
    code = bench_document(&d, self);
    free(d.path);
    methods_free(&d.methods);
    return code;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct bench b = { .prompt = { 512, 2048 }, .n_prompt = 2, .n_depth = 1, .n_gen = 64 };
    gkv_error    err = { 0 };
    gkv_status   status;
    int          code = 0;

    gkv_options_init(&b.opt);
    parse(&b, self, argc, argv);
    if (!b.file)
        list_tests(&b, self);
    if (b.quiet)
        say_quiet();
    run_cap_cpu(b.cpu);
    if (b.file)
        return run_document(&b, self);
    b.path = run_model_path(self, b.model_arg);
    status = gkv_model_open(&b.model, b.path, 0, &err);
    if (!status) {
        progress_start(!b.quiet && !b.json && (b.tty || isatty(STDERR_FILENO)));
        status = open_eval(&b, &err);
    }
    if (!status && !b.json)
        print_head(&b);
    for (size_t i = 0; i < b.n_test && !status; i++) {
        status = measure(&b, &b.test[i], &err);
        progress_erase();
        if (!status && !b.json)
            print_test(&b.test[i]);
    }
    if (status)
        code = run_failed(status, &err);
    else
        report(&b);
    out_flush();
    progress_watch_eval(NULL);
    gkv_eval_close(b.eval);
    gkv_model_close(b.model);
    free(b.id);
    free(b.rate);
    free(b.path);
    return code;
}

const struct cmd cmd_bench = {
    "bench", "Measure how many tokens per second a model reads and writes",
    "[options] [-f FILE [QUESTION]]",
    opts, run, NULL, NULL
};
