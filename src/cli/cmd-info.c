/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-info.c - describes a model, the memory that prompts would need, and this machine */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemkv.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/json.h"
#include "src/cli/material.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

struct info {
    struct options o;                   /* must be first */
    char        *path;
    bool         cpu, devices, memory, speed;
    struct numbers length;
    gkv_model   *model;
    gkv_model  *reader;         /* of --reader, or NULL */
    double       seconds;               /* of --speed                                     */
    int          code;                  /* exit status of a prediction that failed        */
};

static const struct opt own[] = {
    { 0, 0, "cpu", NULL, NULL, "kernels chosen for this processor; needs no model",
      opt_flag, offsetof(struct info, cpu), 0, 0 },
    { 0, 0, "devices", NULL, NULL, "what --device can choose from; needs no model",
      opt_flag, offsetof(struct info, devices), 0, 0 },
    { 0, 0, "memory", NULL, NULL, "memory that each method and schedule needs, with --keep and --kv-type",
      opt_flag, offsetof(struct info, memory), 0, 0 },
    { 0, 0, "speed", NULL, NULL, "how long reading 100 pages takes; measures for a few seconds",
      opt_flag, offsetof(struct info, speed), 0, 0 },
    { 0, 'c', "context", "N[,N]...", NULL, "prompt lengths for --memory, in tokens",
      opt_numbers, offsetof(struct info, length), 1, UINT32_MAX },
    { .name = NULL }
};

static const struct opt_default defaults[] = { { "context", "8192,32768,131072" }, { NULL, NULL } };

static int check(struct info *in)
{
    if (in->speed && in->memory)
        return usage(in->o.io, in->o.cmd, "--speed or --memory, not both");
    if (in->o.n_operand > 1 || (in->o.n_operand && in->o.model))
        return usage(in->o.io, in->o.cmd, "one model only");
    if (in->o.n_operand)
        in->o.model = *in->o.operand;
    return 0;
}

/* ---- text output --------------------------------------------------------------------- */
static void row(struct io *io, const char *name, char *value)
{
    out_printf(io, "%-14s", name);
    out_text(io, value, strlen(value));
    out_char(io, '\n');
    free(value);
}

static const char *ordinal_suffix(uint32_t n)
{
    static const char *const suffix[] = { "th", "st", "nd", "rd" };

    return n % 10 <= 3 && n / 10 % 10 != 1 ? suffix[n % 10] : "th";
}

static char *count(uint64_t n)
{
    return n < 1000000 ? format("%" PRIu64, n)
         : n < 1000000000 ? format("%.1f million", (double)n / 1e6)
         : format("%.2f billion", (double)n / 1e9);
}

static const char *or_none(const char *s)
{
    return s && *s ? s : "none";
}

static void print_layer(struct io *io, const char *name, uint32_t layer, uint32_t n, const char *source)
{
    row(io, name, format("layer %u (the %u%s of %u), %s%s", layer, layer + 1,
                         ordinal_suffix(layer + 1), n, strcmp(source, "file") ? "" : "from the ",
                         source));
}

static char *template_of(const gkv_model_info *m)
{
    if (m->chat_template_own)
        return format("the model's own%s%s", strcmp(m->chat_template, "own") ? ", of family " : "",
                      strcmp(m->chat_template, "own") ? m->chat_template : "");
    if (!m->chat_template_problem)
        return format("none");
    return format("%s instead of the model's own: %s",
                  m->chat_template ? m->chat_template : "plain", m->chat_template_problem);
}

static void print_model(const struct info *in)
{
    struct io     *io = in->o.io;
    gkv_model_info m;
    char          *size;

    gkv_model_describe(in->model, &m);
    size = view_bytes(m.file_bytes);
    row(io, "file", format("%s", in->path));
    row(io, "name", format("%s", or_none(m.name)));
    row(io, "family", format("%s", or_none(m.architecture)));
    row(io, "size", format("%s (%" PRIu64 " bytes)", size, m.file_bytes));
    row(io, "parameters", count(m.parameters));
    row(io, "types", format("%s", or_none(m.types)));
    for (const gkv_type_group *g = m.type_groups; g->group; g++)
        row(io, "", format("%s: %s", g->group, g->types));
    row(io, "layers", format("%u, width %u, feed-forward %u", m.n_layer, m.n_embd, m.n_ff));
    if (m.mtp)
        row(io, "mtp", m.mtp_problem ? format("%u behind these, not used: %s", m.mtp, m.mtp_problem)
                                     : format("1 behind these predicts a further token: --draft mtp guesses with it"));
    row(io, "heads", format("%u, sharing %u of keys and values, width %u", m.n_head,
                            m.n_head_kv, m.head_dim));
    if (m.attending)
        row(io, "can filter", format("layers %s, no others", m.attending));
    row(io, "context", format("%u tokens", m.context));
    row(io, "rope", format("base %g, scaling %s", (double)m.rope_base, or_none(m.rope)));
    if (m.pre && *m.pre)
        row(io, "tokenizer", format("%s (%s), %u tokens", m.tokenizer, m.pre, m.n_vocab));
    else
        row(io, "tokenizer", format("%s, %u tokens", or_none(m.tokenizer), m.n_vocab));
    row(io, "template", template_of(&m));
    print_layer(io, "filter layer", m.filter_layer, m.n_layer, m.filter_layer_source);
    print_layer(io, "tsp layer", m.tsp_layer, m.n_layer, m.tsp_layer_source);
    free(size);
}

static void print_cpu(struct io *io)
{
    const char *s;

    row(io, "cpu", format("%s", gkv_cpu()));
    for (size_t i = 0; (s = gkv_cpu_describe(i)); i++)
        out_printf(io, "  %s\n", s);
    row(io, "threads", format("chosen with --threads"));
    for (size_t i = 0; (s = gkv_threads_describe(i)); i++)
        out_printf(io, "  %s\n", s);
    row(io, "products", format("chosen with --gemm"));
    for (size_t i = 0; (s = gkv_gemm_describe(i)); i++)
        out_printf(io, "  %s\n", s);
}

static void print_devices(struct io *io)
{
    const char *s;

    row(io, "devices", format("chosen with --device"));
    out_printf(io, "  cpu: this processor\n");
    for (size_t i = 0; (s = gkv_device_describe(i)); i++)
        out_printf(io, "  %s\n", s);
}

/* ---- memory -------------------------------------------------------------------------- */
/* Bytes that are predicted.  0: that cannot be done; why is said once, and in->code is the exit status. */
struct needed { uint64_t all, first, second; };

static struct needed needed(struct info *in, const char *method, const char *schedule, uint64_t n)
{
    gkv_options   opt = in->o.gkv;
    gkv_error     err = { 0 };
    gkv_status    status;
    struct needed b = { 0, 0, 0 };

    opt.method = method;
    opt.schedule = schedule;
    status = gkv_memory_needed_each(in->model, &opt, n, &b.first, &b.second, &err);
    if (status && !in->code)
        in->code = fail_library(in->o.io, status, &err, NULL);
    b.all = b.first > b.second ? b.first : b.second;
    return status ? (struct needed){ 0, 0, 0 } : b;
}

/* Width of the column of methods, and that of schedules. */
static int method_width(void)
{
    size_t            n, widest = strlen("tokens");
    const gkv_method *m = gkv_methods(&n);

    for (size_t i = 0; i < n; i++)
        widest = strlen(m[i].name) > widest ? strlen(m[i].name) : widest;
    return (int)widest;
}

static int schedule_width(void)
{
    size_t              n, widest = 0;
    const gkv_schedule *s = gkv_schedules(&n);

    for (size_t i = 0; i < n; i++)
        widest = strlen(s[i].name) > widest ? strlen(s[i].name) : widest;
    return (int)widest;
}

/* Not every method can hand over what it keeps as text, or lets a layer of the model guess, nor has every schedule sparse
 * attention. */
static bool can(struct info *in, const char *method, const char *schedule)
{
    gkv_options opt = in->o.gkv;
    uint64_t    bytes;

    opt.method = method;
    opt.schedule = schedule;
    return !(opt.reader || opt.snap || opt.attention || opt.draft_mtp) ||
           gkv_memory_needed(in->model, &opt, in->length.v[0], &bytes, NULL) != GKV_INVALID;
}

/* Calls line for each method, and for each schedule if the method has a first pass. */
static void each_way(struct json *j, struct info *in,
                     void (*line)(struct json *j, struct info *in, const char *method,
                                  const char *schedule))
{
    size_t              n, n_schedules;
    const gkv_method   *m = gkv_methods(&n);
    const gkv_schedule *s = gkv_schedules(&n_schedules);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < (m[i].two_passes ? n_schedules : 1); k++)
            if (can(in, m[i].name, m[i].two_passes ? s[k].name : NULL))
                line(j, in, m[i].name, m[i].two_passes ? s[k].name : NULL);
}

static void print_needed(struct json *j, struct info *in, const char *method, const char *schedule)
{
    struct needed *b = grow(NULL, in->length.n, sizeof *b);
    bool           two = false;

    (void)j;
    for (size_t i = 0; i < in->length.n; i++) {
        b[i] = needed(in, method, schedule, in->length.v[i]);
        two = two || b[i].second;
    }
    for (int line = 0; line < (two ? 3 : 1); line++) {
        out_printf(in->o.io, "%-*s %-*s", method_width(), line == 0 ? method : line == 1 ? "  to read" : "  to answer",
                   schedule_width(), schedule && !line ? schedule : "");
        for (size_t i = 0; i < in->length.n; i++) {
            char *s = view_bytes(line == 0 ? b[i].all : line == 1 ? b[i].first : b[i].second);

            out_printf(in->o.io, " %10s", s);
            free(s);
        }
        out_char(in->o.io, '\n');
    }
    free(b);
}

/* ---- does it fit --------------------------------------------------------------------- */

enum { N_PROMPTS = 3 };

static const uint64_t prompts[N_PROMPTS] = { 8192, 32768, 131072 };

struct fit {
    const char *schedule;               /* the first that fits, else the smallest */
    uint64_t    bytes;
    bool        fits;
};

/* What --schedule auto can choose: an exact schedule if one fits, else any other. */
static struct fit fit_of(struct info *in, uint64_t n)
{
    const uint64_t      limit = gkv_memory_default();
    struct fit          best = { NULL, UINT64_MAX, false };
    size_t              n_schedules;
    const gkv_schedule *s = gkv_schedules(&n_schedules);

    for (int exact = 1; exact >= 0 && !best.fits; exact--)
        for (size_t i = 0; i < n_schedules; i++) {
            uint64_t bytes = UINT64_MAX;

            if (s[i].exact == exact && can(in, NULL, s[i].name))
                bytes = needed(in, NULL, s[i].name, n).all;

            if (bytes < best.bytes)
                best = (struct fit){ s[i].name, bytes, !limit || bytes <= limit };
        }
    return best;
}

static void print_fits(struct info *in)
{
    struct io *io = in->o.io;
    char      *limit = view_bytes(gkv_memory_default());

    for (size_t i = 0; i < N_PROMPTS; i++) {
        struct fit f = fit_of(in, prompts[i]);
        char      *bytes = view_bytes(f.bytes);

        row(io, i ? "" : "memory", format("%" PRIu64 " tokens: %s, %s (schedule %s)", prompts[i], bytes,
                                          f.fits ? "fits" : "too much", f.schedule));
        free(bytes);
    }
    row(io, "", format("of %s that can be used now; more with --memory", limit));
    free(limit);
}

static void print_memory(struct info *in)
{
    out_printf(in->o.io, "%-*s %-*s", method_width(), "tokens", schedule_width(), "");
    for (size_t j = 0; j < in->length.n; j++)
        out_printf(in->o.io, " %10" PRIu64, in->length.v[j]);
    out_char(in->o.io, '\n');
    each_way(NULL, in, print_needed);
}

/* ---- what does not work -------------------------------------------------------------- */
/* Whether the model cannot be asked with this method. */
static bool refused(struct info *in, const char *method, gkv_error *why)
{
    gkv_options opt = in->o.gkv;
    gkv_error   err = { 0 };
    uint64_t    bytes;

    opt.method = method;
    if (gkv_memory_needed(in->model, &opt, prompts[0], &bytes, &err) == GKV_OK)
        return false;
    if (!why->status)
        *why = err;
    return true;
}

static void print_refused(struct info *in)
{
    size_t            n;
    const gkv_method *m = gkv_methods(&n);
    struct text       names = { NULL, 0, 0 };
    gkv_error         why = { 0 };

    for (size_t i = 0; i < n; i++)
        if (refused(in, m[i].name, &why))
            text_printf(&names, "%s%s", names.n ? ", " : "", m[i].name);
    row(in->o.io, "methods", names.n ? format("all but %s:", names.p) : format("all"));
    if (names.n)
        row(in->o.io, "", format("%s", why.text));
    text_free(&names);
}

/* ---- how long ------------------------------------------------------------------------ */
/* The first pass over 100 pages begins, and after some seconds the share that it has done says how long all of it
 * takes.  That is bounded, whatever the model is; and the file's pages that the first part waits for do not count. */
#define PAGES   "100 pages"
#define MEASURE 3.0                     /* seconds                                        */
enum { PAGES_TOKENS = 65536 };

struct watch {
    gkv_session *session;
    double       began, from;           /* time and share of the work when the first part was done */
    double       seconds, share;        /* since then                                     */
};

static void watch(void *arg, const gkv_progress *p)
{
    struct watch *w = arg;

    if (p->stage != GKV_STAGE_FIRST_PASS || p->fraction <= 0)
        return;
    if (!(w->from > 0)) {
        w->began = progress_clock();
        w->from = p->fraction;
        return;
    }
    w->seconds = progress_clock() - w->began;
    w->share = p->fraction - w->from;
    if (w->seconds > MEASURE)
        gkv_cancel(w->session);
}

/* A text of so many tokens, a few more or less. */
static gkv_status feed(gkv_session *s, const gkv_model *m, uint64_t tokens, gkv_error *err)
{
    const size_t len = strlen(stock_sentences);
    uint32_t    *id = NULL;
    size_t       n = 0;
    gkv_status   status = gkv_tokenize(m, stock_sentences, len, 0, &id, &n, err);

    free(id);
    n = n ? n : 1;
    for (uint64_t i = 0; !status && i * n < tokens; i++)
        if (!(status = gkv_feed(s, stock_sentences, len, err)))
            status = gkv_feed(s, " ", 1, err);
    return status;
}

/* Predictions count what the process has, so they come before this. */
static void measure(struct info *in)
{
    static const char question[] = "What is green?";
    struct watch w = { .session = NULL };
    gkv_options  opt = in->o.gkv;
    gkv_error    err = { 0 };
    gkv_stats    stats;
    gkv_status   status;

    opt.schedule = "stream";
    opt.attention = NULL;
    opt.progress = watch;
    opt.progress_arg = &w;
    status = gkv_session_open(&w.session, in->model, &opt, &err);
    if (!status)
        status = feed(w.session, in->model, PAGES_TOKENS, &err);
    if (!status)
        status = gkv_ask(w.session, question, strlen(question), &err);
    if (!status || status == GKV_CANCELLED) {
        gkv_session_stats(w.session, &stats);
        in->seconds = w.share > 0 ? w.seconds / w.share : stats.first;
    }
    gkv_session_close(w.session);
    if (status && status != GKV_CANCELLED)
        in->code = fail_library(in->o.io, status, &err, NULL);
}

static void print_speed(struct info *in)
{
    if (!in->speed) {
        row(in->o.io, "speed", format("--speed measures how long " PAGES " take"));
        return;
    }
    if (!in->code)
        in->code = out_flush(in->o.io);
    if (!in->code)
        measure(in);
    if (!in->code)
        row(in->o.io, "speed", format(PAGES " (%d tokens) are read in about %.0f %s, by schedule stream", PAGES_TOKENS,
                                      in->seconds < 100 ? ceil(in->seconds) : in->seconds / 60,
                                      in->seconds < 100 ? "s" : "minutes"));
}

/* ---- JSON ---------------------------------------------------------------------------- */
static void json_model(struct json *j, struct info *in)
{
    gkv_model_info m;

    gkv_model_describe(in->model, &m);
    json_named_string(j, "file", in->path);
    json_named_string(j, "name", m.name);
    json_named_string(j, "architecture", m.architecture);
    json_named_uint(j, "bytes", m.file_bytes);
    json_named_uint(j, "parameters", m.parameters);
    json_named_string(j, "types", m.types);
    json_named_open(j, "type_groups", '{');
    for (const gkv_type_group *g = m.type_groups; g->group; g++)
        json_named_string(j, g->group, g->types);
    json_close(j);
    json_named_uint(j, "layers", m.n_layer);
    json_named_uint(j, "mtp", m.mtp);
    json_named_string(j, "mtp_problem", m.mtp_problem);
    json_named_uint(j, "embedding", m.n_embd);
    json_named_uint(j, "heads", m.n_head);
    json_named_uint(j, "heads_kv", m.n_head_kv);
    json_named_uint(j, "head_dim", m.head_dim);
    json_named_uint(j, "feed_forward", m.n_ff);
    json_named_string(j, "attending", m.attending);
    json_named_uint(j, "vocabulary", m.n_vocab);
    json_named_uint(j, "context", m.context);
    json_named_string(j, "rope", m.rope);
    json_key(j, "rope_base");
    json_score(j, m.rope_base);
    json_named_string(j, "tokenizer", m.tokenizer);
    json_named_string(j, "pre", m.pre);
    json_named_string(j, "template", m.chat_template);
    json_named_string(j, "template_source", m.chat_template_own ? "file"
                                    : m.chat_template   ? "family" : NULL);
    json_named_string(j, "template_problem", m.chat_template_problem);
    json_named_uint(j, "filter_layer", m.filter_layer);
    json_named_string(j, "filter_layer_source", m.filter_layer_source);
    json_named_uint(j, "tsp_layer", m.tsp_layer);
    json_named_string(j, "tsp_layer_source", m.tsp_layer_source);
}

static void json_fits(struct json *j, struct info *in)
{
    json_named_open(j, "fits", '[');
    for (size_t i = 0; i < N_PROMPTS; i++) {
        struct fit f = fit_of(in, prompts[i]);

        json_open(j, '{');
        json_named_uint(j, "tokens", prompts[i]);
        json_named_string(j, "schedule", f.schedule);
        json_named_uint(j, "bytes", f.bytes);
        json_named_uint(j, "available", gkv_memory_default());
        json_key(j, "fits");
        json_bool(j, f.fits);
        json_close(j);
    }
    json_close(j);
}

static void json_refused(struct json *j, struct info *in)
{
    size_t            n;
    const gkv_method *m = gkv_methods(&n);
    gkv_error         why = { 0 };

    json_named_open(j, "refused_methods", '[');
    for (size_t i = 0; i < n; i++)
        if (refused(in, m[i].name, &why))
            json_string(j, m[i].name);
    json_close(j);
    json_named_string(j, "refused_because", why.status ? why.text : NULL);
}

static void json_needed(struct json *j, struct info *in, const char *method, const char *schedule)
{
    for (size_t i = 0; i < in->length.n; i++) {
        const struct needed b = needed(in, method, schedule, in->length.v[i]);

        json_open(j, '{');
        json_named_string(j, "method", method);
        if (schedule)
            json_named_string(j, "schedule", schedule);
        json_named_uint(j, "tokens", in->length.v[i]);
        json_named_uint(j, "bytes", b.all);
        if (b.second) {
            json_named_uint(j, "reader", b.first);
            json_named_uint(j, "answerer", b.second);
        }
        json_close(j);
    }
}

static void json_memory(struct json *j, struct info *in)
{
    json_named_open(j, "memory", '[');
    each_way(j, in, json_needed);
    json_close(j);
}

/* Writes lines "name: text" as an object. */
static void json_lines(struct json *j, const char *key, const char *(*line)(size_t i))
{
    const char *s, *colon;

    json_named_open(j, key, '{');
    for (size_t i = 0; (s = line(i)); i++) {
        char *name;

        colon = strstr(s, ": ");
        if (!colon)
            continue;
        name = format("%.*s", (int)(colon - s), s);
        json_named_string(j, name, colon + 2);
        free(name);
    }
    json_close(j);
}

static void json_cpu(struct json *j)
{
    json_named_string(j, "cpu", gkv_cpu());
    json_lines(j, "kernels", gkv_cpu_describe);
    json_lines(j, "threads", gkv_threads_describe);
    json_lines(j, "gemm", gkv_gemm_describe);
}

static void write_json(struct info *in)
{
    struct json j = { .depth = 0 };

    json_open(&j, '{');
    if (in->model)
        json_model(&j, in);
    if (in->model && !in->memory) {
        json_fits(&j, in);
        json_refused(&j, in);
    }
    if (in->speed && !in->code)
        measure(in);
    if (in->speed)
        json_named_real(&j, "seconds_100_pages", in->seconds);
    if (in->memory)
        json_memory(&j, in);
    if (in->cpu)
        json_cpu(&j);
    if (in->devices)
        json_lines(&j, "devices", gkv_device_describe);
    json_close(&j);
    if (!in->code)
        json_print(in->o.io, &j);
    text_free(&j.text);
}

static void print(struct info *in)
{
    if (in->memory) {
        print_memory(in);
    } else if (in->model) {
        print_model(in);
        print_refused(in);
        print_fits(in);
        print_speed(in);
    }
    if (in->cpu)
        print_cpu(in->o.io);
    if (in->devices)
        print_devices(in->o.io);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct info in = { .path = NULL };
    gkv_error   err = { 0 };
    gkv_status  status;

    in.code = options_parse(&in.o, self, io, argc, argv);
    if (!in.code)
        in.code = check(&in);
    if (!in.code)
        in.code = run_cap_cpu(io, NULL);
    if (!in.code && (!(in.cpu || in.devices) || in.memory || in.speed || in.o.model))
        in.code = run_model_path(&in.o, &in.path);
    if (in.path && !in.devices) {
        confine(&in.o, in.path);
    }
    if (in.path) {
        status = calibrated_open(io, &in.model, in.path, &err);
        if (!status)
            status = run_open_reader(&in.o, in.path, &in.reader, &err);
        in.o.gkv.reader = in.reader;
        if (status)
            in.code = fail_library(io, status, &err, NULL);
        else                                    /* a failure is said before anything is printed */
            needed(&in, NULL, NULL, in.length.v[0]);
    }
    if (!in.code)
        (in.o.json ? write_json : print)(&in);
    gkv_model_close(in.model);
    gkv_model_close(in.reader);
    options_free(&in.o);
    free(in.path);
    return in.code;
}

const struct cmd cmd_info = {
    .name = "info", .summary = "Describe a model, the memory it needs, or this processor",
    .synopsis = "[options] [MODEL]", .takes = FOR_INFO, .own = own, .defaults = defaults, .run = run
};
