/* SPDX-License-Identifier: BSD-2-Clause
 * bench-methods.c - see bench.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/bench.h"
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/input.h"
#include "src/cli/json.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

enum quantity { TTFT, TOKEN, PEAK, KV, N_QUANTITIES };

struct cost {
    double   *v[N_QUANTITIES];          /* [n]: in seconds, seconds per token, bytes, bytes */
    uint64_t  n, n_prompt, n_kept, n_answer, predicted;
    int32_t   layer;
    char      parameters[256], schedule[64];
};

struct bench {
    const struct bench_document *d;
    char        *text;
    size_t       len;
    gkv_model   *model, *reader;
    struct cost *cost;                  /* of each method                                 */
    char         cpu[32];
    struct progress progress;
    uint64_t     done, n_runs;
};

static void within(void *arg, const gkv_progress *p)
{
    struct bench *b = arg;

    progress_show(&b->progress, "methods", ((double)b->done + progress_share(p))
                  / (double)b->n_runs, p->tokens);
}

/* ---- one run --------------------------------------------------------------------------- */
static gkv_status answer(struct bench *b, gkv_session *s, gkv_error *err)
{
    gkv_status  status = gkv_feed(s, b->text, b->len, err);
    const char *piece;
    size_t      len;

    if (!status)
        status = gkv_ask(s, b->d->question, strlen(b->d->question), err);
    while (!status)
        status = gkv_next(s, &piece, &len, err);
    return status == GKV_END ? GKV_OK : status;
}

/* The first token of an answer takes no decoding step: its logits come from the second pass. */
static void take(struct bench *b, gkv_session *s, struct cost *c)
{
    gkv_stats st;

    gkv_session_stats(s, &st);
    c->v[TTFT][c->n] = st.ttft - st.load;
    c->v[TOKEN][c->n] = st.tokens_answer > 1 ? st.decode / (double)(st.tokens_answer - 1) : 0;
    c->v[PEAK][c->n] = (double)st.memory_peak;
    c->v[KV][c->n] = (double)st.memory_kv;
    c->n++;
    c->n_prompt = st.tokens_prompt;
    c->n_kept = st.tokens_kept;
    c->n_answer = st.tokens_answer;
    c->predicted = st.memory_predicted;
    c->layer = st.layer;
    snprintf(c->parameters, sizeof c->parameters, "%s", st.parameters ? st.parameters : "");
    snprintf(c->schedule, sizeof c->schedule, "%s", st.schedule ? st.schedule : "");
    snprintf(b->cpu, sizeof b->cpu, "%s", st.cpu);
}

static gkv_status once(struct bench *b, size_t method, gkv_error *err)
{
    gkv_options  opt = b->d->o->gkv;
    gkv_session *s = NULL;
    gkv_status   status = methods_fresh(b->d->o->io, &b->model, b->d->path, err);

    if (!status)
        status = run_open_reader(b->d->o, b->d->path, &b->reader, err);
    opt.reader = b->reader;
    opt.method = b->d->o->methods.spec[method];
    opt.max_tokens = (uint32_t)b->d->n_gen;
    opt.ignore_end = 1;
    opt.device = "cpu";
    opt.progress = within;
    opt.progress_arg = b;
    if (!status)
        status = gkv_session_open(&s, b->model, &opt, err);
    progress_watch(&b->progress, s);
    if (!status)
        status = answer(b, s, err);
    if (!status)
        take(b, s, &b->cost[method]);
    progress_watch(&b->progress, NULL);
    gkv_session_close(s);
    b->done++;
    return status;
}

/* ---- results --------------------------------------------------------------------------- */
static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(const struct cost *c, enum quantity q)
{
    return (c->v[q][c->n / 2] + c->v[q][(c->n - 1) / 2]) / 2;
}

/* The ratio to the first method; 0 when there is nothing to compare with. */
static double ratio(const struct bench *b, const struct cost *c, enum quantity q)
{
    const double of = b->cost[0].n ? median(&b->cost[0], q) : 0;

    return of > 0 ? median(c, q) / of : 0;
}

static const struct cost *any(const struct bench *b)
{
    const struct cost *c = b->cost;

    while (!c->n)
        c++;
    return c;
}

static void print_head(const struct bench *b)
{
    const struct bench_document *d = b->d;
    gkv_model_info m;
    char          *s;

    gkv_model_describe(b->model, &m);
    s = format("%s (%s), %s; %" PRIu64 " tokens read, %" PRIu64 " written, ratios to %s, median of %"
               PRIu64 "\n\n", m.name && *m.name ? m.name : d->path, m.types, b->cpu,
               any(b)->n_prompt, any(b)->n_answer, d->o->methods.spec[0], d->repetitions);
    out_text(b->d->o->io, s, strlen(s));
    free(s);
    out_printf(b->d->o->io, "%-20s %7s %16s %16s %17s %17s\n", "method", "kept", "first token", "each token",
               "peak", "KV cache");
}

static void print_ratio(const struct bench *b, const struct cost *c, enum quantity q)
{
    char *bytes;

    switch (q) {
    case TTFT:  out_printf(b->d->o->io, " %8.2f s", median(c, q)); break;
    case TOKEN: out_printf(b->d->o->io, " %7.2f ms", 1e3 * median(c, q)); break;
    default:
        bytes = view_bytes((uint64_t)median(c, q));
        out_printf(b->d->o->io, " %10s", bytes);
        free(bytes);
    }
    if (ratio(b, c, q) > 0)
        out_printf(b->d->o->io, " %5.*fx", ratio(b, c, q) < 0.0995 ? 3 : 2, ratio(b, c, q));
    else
        out_printf(b->d->o->io, " %6s", "");
}

static void print_method(const struct bench *b, size_t i)
{
    const struct cost *c = &b->cost[i];

    if (!c->n)
        return;
    out_printf(b->d->o->io, "%-20s %7" PRIu64, b->d->o->methods.spec[i], c->n_kept);
    for (enum quantity q = 0; q < N_QUANTITIES; q++)
        print_ratio(b, c, q);
    out_printf(b->d->o->io, "\n");
}

static void json_quantity(struct json *j, const struct bench *b, const struct cost *c,
                          const char *key, enum quantity q)
{
    json_named_open(j, key, '{');
    json_named_real(j, "median", median(c, q));
    json_named_real(j, "min", c->v[q][0]);
    json_named_real(j, "max", c->v[q][c->n - 1]);
    json_named_real(j, "ratio", ratio(b, c, q));
    json_close(j);
}

static void json_method(struct json *j, const struct bench *b, size_t i)
{
    const struct bench_document *d = b->d;
    const struct cost           *c = &b->cost[i];

    if (!c->n)
        return;
    json_open(j, '{');
    json_named_string(j, "model", d->path);
    json_named_string(j, "method", d->o->methods.spec[i]);
    json_named_string(j, "parameters", c->parameters);
    json_named_string(j, "schedule", *c->schedule ? c->schedule : NULL);
    json_named_layer(j, "layer", c->layer);
    json_named_string(j, "cpu", b->cpu);
    json_named_uint(j, "repetitions", c->n);
    json_named_open(j, "tokens", '{');
    json_named_uint(j, "prompt", c->n_prompt);
    json_named_uint(j, "kept", c->n_kept);
    json_named_uint(j, "answer", c->n_answer);
    json_close(j);
    json_named_open(j, "seconds", '{');
    json_quantity(j, b, c, "ttft", TTFT);
    json_quantity(j, b, c, "token", TOKEN);
    json_close(j);
    json_named_open(j, "memory", '{');
    json_named_uint(j, "predicted", c->predicted);
    json_quantity(j, b, c, "peak", PEAK);
    json_quantity(j, b, c, "kv", KV);
    json_close(j);
    json_close(j);
}

static void show(const struct bench *b)
{
    struct json j = { .depth = 0 };

    for (size_t i = 0; i < b->d->o->methods.n; i++)
        for (int q = 0; q < N_QUANTITIES && b->cost[i].n; q++)
            qsort(b->cost[i].v[q], b->cost[i].n, sizeof(double), ascending);
    if (b->d->o->json)
        json_open(&j, '[');
    else
        print_head(b);
    for (size_t i = 0; i < b->d->o->methods.n; i++)
        if (b->d->o->json)
            json_method(&j, b, i);
        else
            print_method(b, i);
    if (b->d->o->json) {
        json_close(&j);
        json_print(b->d->o->io, &j);
    }
}

/* ---- all of them ----------------------------------------------------------------------- */
static bool any_done(const struct bench *b)
{
    for (size_t i = 0; i < b->d->o->methods.n; i++)
        if (b->cost[i].n)
            return true;
    return false;
}

/* A method that cannot be run, for lack of memory for instance, is left out after saying why.  When
 * cancelled, the results so far are printed for people, but not as JSON. */
static int run_all(struct bench *b)
{
    const struct bench_document *d = b->d;
    int code = 0;

    b->n_runs = d->repetitions * d->o->methods.n;
    for (uint64_t r = 0; r < d->repetitions; r++)
        for (size_t i = 0; i < d->o->methods.n; i++) {
            gkv_error  err = { 0 };
            gkv_status status = r && !b->cost[i].n ? GKV_OK : once(b, i, &err);

            progress_erase(&b->progress);
            if (status == GKV_CANCELLED && any_done(b) && !d->o->json)
                show(b);
            if (status == GKV_CANCELLED || (status && !b->model))
                return run_failed(b->d->o->io, &b->progress, status, &err);
            if (!status)
                continue;
            warn(b->d->o->io, "%s: %s; left out", d->o->methods.spec[i],
                 err.text[0] ? err.text : gkv_status_name(status));
            code = status == GKV_LIMIT ? EXIT_TOO_BIG : status == GKV_DOCUMENT ? EXIT_DOCUMENT
                 : status == GKV_INVALID ? EXIT_USAGE : EXIT_FAILED;
        }
    if (any_done(b))
        show(b);
    return code;
}

static int open_all(struct bench *b)
{
    gkv_error  err = { 0 };
    gkv_status status = calibrated_open(b->d->o->io, &b->model, b->d->path, &err);

    int        code = status ? run_failed(b->d->o->io, &b->progress, status, &err)
                             : methods_check(b->d->o, b->model);

    if (!code)
        code = input_slurp(b->d->o->io, b->d->o->text, &b->text, &b->len);
    if (!code)                  /* else it might say a second time that memory is gone     */
        confine_read(b->d->o);
    return code;
}

int bench_document(const struct bench_document *d)
{
    struct bench b = { .d = d };
    int          code;

    if (!d->n_gen)
        return usage(d->o->io, d->o->cmd, "a method is measured with an answer of at least 1 token");
    b.cost = grow(NULL, d->o->methods.n, sizeof *b.cost);
    memset(b.cost, 0, d->o->methods.n * sizeof *b.cost);
    for (size_t i = 0; i < d->o->methods.n; i++)
        for (int q = 0; q < N_QUANTITIES; q++)
            b.cost[i].v[q] = grow(NULL, d->repetitions, sizeof(double));
    progress_start(&b.progress, d->o->io, !d->o->json && run_draws(d->o));
    code = open_all(&b);
    if (!code)
        code = run_all(&b);
    progress_end(&b.progress);
    for (size_t i = 0; i < d->o->methods.n; i++)
        for (int q = 0; q < N_QUANTITIES; q++)
            free(b.cost[i].v[q]);
    free(b.cost);
    free(b.text);
    gkv_model_close(b.model);
    gkv_model_close(b.reader);
    return code;
}
