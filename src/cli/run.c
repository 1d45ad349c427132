/* SPDX-License-Identifier: BSD-2-Clause
 * run.c - see run.h */
#include "config.h"
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/input.h"
#include "src/cli/json.h"
#include "src/cli/progress.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

#define BUNDLED "gemkv-mini-q8_0.gguf"

enum {
    CHUNK = 1, CONTEXT, CPU, DEVICE, FILE_, GEMM, GPU_MEMORY, JSON, KEEP, KEEP_FIRST, KEEP_LAST, KV_TYPE,
    LAYER, MAX_TOKENS, MEMORY, METHOD, MIN_P, MODEL, QUIET, RAW, REPORT, SCHEDULE, SEED,
    SYSTEM, TEMPERATURE, TEMPLATE, THREADS, TOP_P, TTY, VERBOSE
};

const struct opt run_opts[] = {
    { MODEL, 'm', "model", "FILE", "$GEMKV_MODEL, else the bundled model", "GGUF model" },
    { FILE_, 'f', "file", "FILE", "standard input, unless it is a terminal",
      "document; may be given several times, - is standard input" },
    { METHOD, 0, "method", "NAME[:PARAM=VALUE,...]", "gemfilter",
      "selection method, see below" },
    { KEEP, 'k', "keep", "N|P%", "1024", "tokens to keep, or percent of the prompt" },
    { LAYER, 0, "layer", "N", "the model's", "filter layer, counted from 0" },
    { KEEP_FIRST, 0, "keep-first", "N", "4", "first tokens kept whatever their score" },
    { KEEP_LAST, 0, "keep-last", "N|prompt", "prompt",
      "last tokens kept whatever their score; prompt: the question with its template" },
    { SCHEDULE, 0, "schedule", "NAME[:PARAM=VALUE,...]",
      "auto: the fastest exact one that fits in the memory, else stream",
      "order of the first pass, see below" },
    { CHUNK, 0, "chunk", "N", "1024", "tokens computed at a time" },
    { MEMORY, 0, "memory", "SIZE", "80 % of what is available",
      "refuse what would need more memory, such as 512M or 1.5G" },
    { CONTEXT, 'c', "context", "N", "no limit", "refuse longer prompts, in tokens" },
    { MAX_TOKENS, 'n', "max-tokens", "N", "256", "longest answer" },
    { TEMPERATURE, 0, "temperature", "T", "0, always the likeliest token",
      "randomness of the answer" },
    { TOP_P, 0, "top-p", "P", "1", "sample from the likeliest tokens that make up P" },
    { MIN_P, 0, "min-p", "P", "0",
      "sample from tokens at least P times as likely as the best" },
    { SEED, 0, "seed", "N", "0", "start of the random numbers" },
    { RAW, 0, "raw", NULL, NULL,
      "no chat template: the prompt is the documents and the question, byte for byte" },
    { SYSTEM, 0, "system", "TEXT", NULL, "system prompt, if the model's template takes one" },
    { TEMPLATE, 0, "template", "NAME", "the model's", "chat template" },
    { THREADS, 't', "threads", "N", "one per physical core", "threads" },
    { DEVICE, 0, "device", "auto|cpu|cuda[:N]", "auto: a CUDA device if there is one, else cpu",
      "where the second pass and the answer are computed" },
    { GPU_MEMORY, 0, "gpu-memory", "SIZE", "what is free there", "memory of the device to use" },
    { CPU, 0, "cpu", "LEVEL", "$GEMKV_CPU, else the best",
      "cap the instruction sets used" },
    { GEMM, 0, "gemm", "own|exact|openblas|onednn", "own", "who multiplies matrices" },
    { KV_TYPE, 0, "kv-type", "f32|f16|bf16|q8_0", "f16", "type of cached keys and values" },
    { REPORT, 0, "report", "FILE", "none",
      "write the documents with the kept passages marked to this new HTML file" },
    { JSON, 0, "json", NULL, NULL, "write one JSON object to standard output" },
    { QUIET, 'q', "quiet", NULL, NULL, "only the result, and errors" },
    { VERBOSE, 'v', "verbose", NULL, NULL, "show every kept passage" },
    { TTY, 0, "tty", NULL, NULL, NULL },
    OPT_COMMON
};

static void help_row(const char *name, const char *summary, const gkv_param *p)
{
    out_printf("  %-24s", name);
    args_wrap(summary, 26);
    for (; p && p->name; p++) {
        int used = (int)(strlen(p->name) + strlen(p->value)) + 5;

        out_printf("    %s=%s%*s", p->name, p->value, used < 26 ? 26 - used : 1, "");
        args_wrap(p->help, 26);
    }
}

void run_more_help(void)
{
    size_t              n, n_schedules;
    const gkv_method   *m = gkv_methods(&n);
    const gkv_schedule *s = gkv_schedules(&n_schedules);
    const char         *t;

    out_printf("\nMethods for --method:\n");
    for (size_t i = 0; i < n; i++)
        help_row(m[i].name, m[i].summary, m[i].params);
    out_printf("\nSchedules for --schedule:\n");
    for (size_t i = 0; i < n_schedules; i++)
        help_row(s[i].name, s[i].summary, s[i].params);
    out_printf("\nTemplates for --template:\n");
    for (size_t i = 0; (t = gkv_template_describe(i)); i++) {
        char *name = format("%.*s", (int)strcspn(t, ":"), t);

        help_row(name, t + strcspn(t, " ") + 1, NULL);
        free(name);
    }
}

/* ---- options ------------------------------------------------------------------------- */
void run_parse_keep(const struct args *a, gkv_options *opt)
{
    uint64_t    n;
    double      percent;
    const char *end = parse_uint(a->value, 1, UINT32_MAX - 1, &n);

    opt->keep_percent = 0;
    if (end && !*end) {
        opt->keep = (uint32_t)n;
        return;
    }
    end = parse_real(a->value, 0, 100, &percent);
    if (!end || strcmp(end, "%") || percent <= 0)
        args_bad(a, "a number of tokens from 1 on, or a percentage like 5%");
    opt->keep_percent = (float)percent;
}

static void add_file(struct run *r, const struct cmd *cmd, const char *path)
{
    for (size_t i = 0; i < r->n_file; i++)
        if (!strcmp(path, "-") && !strcmp(r->file[i], "-"))
            usage(cmd, "standard input can be read only once, '-f -' is given twice");
    r->file = grow(r->file, r->n_file + 1, sizeof *r->file);
    r->file[r->n_file++] = path;
}

static void parse(struct run *r, const struct cmd *cmd, int argc, char **argv)
{
    struct args  a = { cmd, argc, argv, NULL, NULL };
    gkv_options *o = &r->opt;

    for (int id; (id = args_next(&a));)
        switch (id) {
        case CHUNK:       o->chunk = (uint32_t)args_uint(&a, 16, 65536); break;
        case CONTEXT:     o->max_context = args_uint(&a, 1, UINT32_MAX); break;
        case CPU:         r->cpu = a.value; break;
        case DEVICE:      o->device = a.value; break;
        case FILE_:       add_file(r, cmd, a.value); break;
        case JSON:        r->json = true; break;
        case KEEP:        run_parse_keep(&a, o); break;
        case KEEP_FIRST:  o->keep_first = (uint32_t)args_uint(&a, 0, UINT32_MAX - 1); break;
        case KEEP_LAST:
            o->keep_last = strcmp(a.value, "prompt")
                         ? (uint32_t)args_uint(&a, 0, UINT32_MAX - 1) : GKV_KEEP_PROMPT;
            break;
        case GPU_MEMORY:  o->gpu_memory = args_size(&a); break;
        case GEMM:        o->gemm = args_choice(&a); break;
        case KV_TYPE:     o->kv_type = args_choice(&a); break;
        case LAYER:       o->layer = (int32_t)args_uint(&a, 0, INT32_MAX); break;
        case MAX_TOKENS:  o->max_tokens = (uint32_t)args_uint(&a, 1, INT32_MAX); break;
        case MEMORY:      o->memory_limit = args_size(&a); break;
        case METHOD:      o->method = a.value; break;
        case MIN_P:       o->min_p = (float)args_real(&a, 0, 1); break;
        case MODEL:       r->model_path = a.value; break;
        case QUIET:       r->quiet = true; break;
        case RAW:         o->raw = 1; break;
        case REPORT:      r->report_path = a.value; break;
        case SCHEDULE:    o->schedule = a.value; break;
        case SEED:        o->seed = args_uint(&a, 0, UINT64_MAX); break;
        case TEMPERATURE: o->temperature = (float)args_real(&a, 0, 100); break;
        case SYSTEM:      o->system = a.value; break;
        case TEMPLATE:    o->chat_template = a.value; break;
        case THREADS:     o->threads = (uint32_t)args_uint(&a, 1, 4096); break;
        case TOP_P:       o->top_p = (float)args_real(&a, 0, 1); break;
        case TTY:         r->tty = true; break;
        case VERBOSE:     r->verbose = true; break;
        }
    if (optind == argc)
        usage(cmd, "no question given");
    if (optind + 1 < argc)
        usage(cmd, "one question only, in quotes; documents are given with -f");
    r->question = argv[optind];
    if (r->n_file == 0) {
        if (isatty(STDIN_FILENO))
            usage(cmd, "no document; give one with -f FILE, or on standard input");
        add_file(r, cmd, "-");
    }
}

/* ---- model --------------------------------------------------------------------------- */
/* Next to the program: "../share" of a moved prefix, or of a build tree, where the program is
 * .libs/gemkv; "share" of a build tree without shared libraries. */
static char *beside_program(const char *share, const char *name)
{
    char    exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    exe[n > 0 ? n : 0] = 0;
    if (strrchr(exe, '/'))
        *strrchr(exe, '/') = 0;
    return format("%s/%s/gemkv/%s", exe, share, name);
}

char *run_data_path(const char *name)
{
    char *path[] = { format(PKGDATADIR "/%s", name), beside_program("../share", name),
                     beside_program("share", name) };
    char *found = NULL;

    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (!found && !access(path[i], R_OK))
            found = path[i];
        else
            free(path[i]);
    return found;
}

char *run_model_path(const struct cmd *cmd, const char *arg)
{
    const char *env = getenv("GEMKV_MODEL");
    char       *path;

    if (arg)
        return format("%s", arg);
    if (env && *env)
        return format("%s", env);
    path = run_data_path(BUNDLED);
    if (!path)
        usage(cmd, "no bundled model found; give a GGUF file with -m or in $GEMKV_MODEL");
    return path;
}

void run_cap_cpu(const char *level)
{
    gkv_error  err = { 0 };
    gkv_status status;

    if (!level)
        level = getenv("GEMKV_CPU");            /* which the library cannot refuse        */
    if (!level || !*level)
        return;
    status = gkv_cpu_cap(level, &err);
    if (status)
        exit(fail_library(status, &err, NULL));
}

/* ---- documents and question ---------------------------------------------------------- */
int run_failed(gkv_status status, const gkv_error *err)
{
    if (status == GKV_CANCELLED && *progress_where())
        return fail(EXIT_FAILED, "cancelled, %s", progress_where());
    return fail_library(status, err, NULL);
}

struct feeding {
    gkv_session *session;
    const char  *name;
    uint64_t     bytes;
};

static int fed(const struct feeding *f, gkv_status status, const gkv_error *err)
{
    if (!status)
        return 0;
    if (status == GKV_DOCUMENT)
        return fail_library(status, err, f->name);
    return run_failed(status, err);
}

static int feed(void *arg, const char *text, size_t len)
{
    struct feeding *f = arg;
    gkv_error       err = { 0 };

    f->bytes += len;
    return fed(f, gkv_feed(f->session, text, len, &err), &err);
}

static int feed_all(const struct run *r)
{
    gkv_error err = { 0 };
    int       code = 0;

    for (size_t i = 0; i < r->n_file && !code; i++) {
        struct feeding f = { r->session, input_name(r->file[i]), 0 };

        code = input_read(r->file[i], feed, &f);
        /* The library would not count it, and number the files after it differently. */
        if (!code && f.bytes == 0)
            code = fail(EXIT_DOCUMENT, "%s: there is no text in it", f.name);
        if (!code)
            code = fed(&f, gkv_feed_end(r->session, &err), &err);
    }
    return code;
}

static void note(void *arg, const char *line)
{
    (void)arg;
    progress_erase();
    say("%s", line);
}

void run_warn(struct run *r)
{
    gkv_stats s;

    gkv_session_stats(r->session, &s);
    if (!s.warning || !strcmp(s.warning, r->warned))
        return;
    snprintf(r->warned, sizeof r->warned, "%s", s.warning);
    warn("%s", s.warning);
}

int run_open(struct run *r, const struct cmd *cmd, int argc, char **argv, run_ask *ask)
{
    gkv_error  err = { 0 };
    gkv_status status;
    char      *path;
    int        code;

    *r = (struct run){ 0 };
    gkv_options_init(&r->opt);
    parse(r, cmd, argc, argv);
    if (r->quiet)
        say_quiet();
    run_cap_cpu(r->cpu);
    code = r->report_path ? output_new(&r->report, r->report_path) : 0;
    if (code)
        return code;
    path = run_model_path(cmd, r->model_path);
    status = calibrated_open(&r->model, path, &err);
    free(path);
    if (status)
        return run_failed(status, &err);

    progress_start(!r->quiet && !r->json && (r->tty || isatty(STDERR_FILENO)));
    r->opt.progress = progress_update;
    r->opt.note = r->json ? NULL : note;
    if (ask == gkv_select && (!r->opt.device || !strcmp(r->opt.device, "auto")))
        r->opt.device = "cpu";                  /* a device would have nothing to do      */
    status = gkv_session_open(&r->session, r->model, &r->opt, &err);
    if (status)
        return run_failed(status, &err);
    progress_watch(r->session);
    code = feed_all(r);
    if (code)
        return code;
    status = ask(r->session, r->question, strlen(r->question), &err);
    progress_erase();
    if (status)
        return run_failed(status, &err);
    run_warn(r);
    return 0;
}

void run_close(struct run *r)
{
    output_drop(&r->report);
    progress_erase();
    progress_watch(NULL);
    gkv_session_close(r->session);
    gkv_model_close(r->model);
    free(r->file);
}

/* ---- JSON ---------------------------------------------------------------------------- */
/* "key=value,..." as an object. */
static void json_parameters(const char *p)
{
    json_key("parameters");
    json_open('{');
    while (*p) {
        size_t key = strcspn(p, "="), value = strcspn(p + key + 1, ",");
        char  *k = format("%.*s", (int)key, p), *v = format("%.*s", (int)value, p + key + 1), *end;
        double number = strtod(v, &end);

        json_key(k);
        if (*end)
            json_string(v);
        else
            json_real(number);
        free(k);
        free(v);
        p += key + 1 + value;
        p += *p == ',';
    }
    json_close();
}

static void json_device(const gkv_stats *s)
{
    json_named_string("device_model", s->device_model);
    json_named_uint("device_layers", s->device_layers);
    json_named_uint("device_memory", s->device_memory);
    json_key("upload");
    json_open('{');
    json_named_real("seconds", s->upload);
    json_named_real("waited", s->upload_waited);
    json_close();
}

void run_json(const struct run *r, const char *answer, size_t len)
{
    gkv_stats       s;
    size_t          n;
    const gkv_kept *kept = gkv_session_kept(r->session, &n);

    gkv_session_stats(r->session, &s);
    json_open('{');
    if (answer) {
        json_key("answer");
        json_text(answer, len);
        json_named_string("finish", s.finish);
    }
    json_named_string("method", s.method);
    json_parameters(s.parameters);
    json_key("layer");
    if (s.layer < 0)
        json_null();
    else
        json_uint((uint64_t)s.layer);
    json_named_string("schedule", s.schedule);
    if (s.schedule_reason)
        json_named_string("schedule_reason", s.schedule_reason);
    json_named_string("device", s.device);
    if (s.device_model)
        json_device(&s);
    json_named_string("cpu", s.cpu);
    if (s.warning)
        json_named_string("warning", s.warning);

    json_key("tokens");
    json_open('{');
    json_named_uint("document", s.tokens_document);
    json_named_uint("prompt", s.tokens_prompt);
    json_named_uint("kept", s.tokens_kept);
    json_named_uint("answer", s.tokens_answer);
    json_close();

    json_key("seconds");
    json_open('{');
    json_named_real("load", s.load);
    json_named_real("tokenize", s.tokenize);
    json_named_real("first", s.first);
    json_named_real("second", s.second);
    json_named_real("ttft", s.ttft);
    json_named_real("decode", s.decode);
    json_named_real("total", s.total);
    json_close();

    json_key("memory");
    json_open('{');
    json_named_uint("predicted", s.memory_predicted);
    json_named_uint("peak", s.memory_peak);
    json_named_uint("kv", s.memory_kv);
    json_close();

    json_key("kept");
    json_open('[');
    for (size_t i = 0; i < n; i++) {
        json_open('{');
        json_named_uint("file", kept[i].file);
        json_named_uint("start", kept[i].start);
        json_named_uint("end", kept[i].end);
        json_key("score");
        json_score(kept[i].score);
        json_close();
    }
    json_close();
    json_close();
    out_flush();
}
