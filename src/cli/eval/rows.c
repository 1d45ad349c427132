/* SPDX-License-Identifier: BSD-2-Clause
 * rows.c - asks about every row in every way: see eval.h
 *
 * --out has one object per answer.  Its "run" is a hash of everything that the answer depends
 * on, so an answer to something else is never reused. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/eval/eval.h"
#include "src/cli/eval/retrieve.h"
#include "src/cli/json.h"
#include "src/cli/json-parse.h"
#include "src/cli/mix.h"
#include "src/cli/processes.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

/* ---- options ------------------------------------------------------------------------- */
int eval_parse(struct eval *e, const struct cmd *cmd, struct io *io, int argc, char **argv)
{
    int code;

    e->task = strchr(cmd->name, ' ') + 1;
    code = options_parse(&e->o, cmd, io, argc, argv);
    if (!code && e->o.metric && metric_of(e->o.metric) == N_METRICS)
        return usage(io, cmd, "option '--metric': no measure '%s'; gemkv-eval(1) has them all", e->o.metric);
    return code;
}

uint32_t eval_max_tokens(const struct eval *e, uint32_t tokens)
{
    return tokens && !options_given(&e->o, "max-tokens") ? tokens : e->o.gkv.max_tokens;
}

static void within(void *arg, const gkv_progress *g)
{
    struct eval *e = arg;

    progress_show(&e->progress, e->task, (e->work_done + e->work_now * progress_share(g))
                  / e->work_all, (uint64_t)e->work_all);
}

int eval_open(struct eval *e)
{
    struct options *o = &e->o;
    gkv_error       err = { 0 };
    gkv_status      status;
    int             code;

    if (o->n_operand)
        return usage(o->io, o->cmd, "no operands; options say what is measured");
    if (o->json && o->csv)
        return usage(o->io, o->cmd, "--json and --csv: one of them");
    if (o->library && o->grade)
        return usage(o->io, o->cmd, "--grade indexes documents of the rows; with -L they are indexed");
    if (!o->library && (o->among || o->top))
        return usage(o->io, o->cmd, "--among and --top choose documents of a library; give one with -L");
    if (!o->methods.n)
        methods_add(&o->methods, "gemfilter");
    code = run_begin(o, &e->path);
    if (code)
        return code;
    confine(o, e->path);
    status = calibrated_open(o->io, &e->model, e->path, &err);
    if (status)
        return run_failed(o->io, &e->progress, status, &err);
    status = run_open_reader(o, e->path, &e->reader, &err);
    o->gkv.reader = e->reader;
    if (status)
        return run_failed(o->io, &e->progress, status, &err);
    e->fingerprint = gkv_model_fingerprint(e->model);
    code = methods_check(o, e->model);
    if (code)
        return code;
    code = processes_ready(o->io->processes, o->io, 0, NULL);
    if (code)
        return code;
    o->gkv.group = processes_group(o->io->processes);
    progress_start(&e->progress, o->io, run_draws(o));
    o->gkv.progress = within;
    o->gkv.progress_arg = e;
    return 0;
}

void eval_close(struct eval *e)
{
    progress_end(&e->progress);
    for (size_t i = 0; i < e->n_row; i++)
        row_free(&e->row[i]);
    output_drop(&e->out);
    output_drop(&e->plot);
    options_free(&e->o);
    for (size_t i = 0; i < e->n_way; i++)
        free(e->way[i].name);
    free(e->way);
    free(e->of_library);
    free(e->row);
    free(e->result);
    gkv_model_close(e->model);
    gkv_model_close(e->reader);
    gkv_reading_close(e->reading);
    free(e->path);
}

/* ---- ways ---------------------------------------------------------------------------- */
struct way *eval_way(struct eval *e, char *name)
{
    struct way *w;

    e->way = grow(e->way, e->n_way + 1, sizeof *e->way);
    w = &e->way[e->n_way++];
    *w = (struct way){ .name = name, .opt = e->o.gkv };
    return w;
}

const struct result *eval_at(const struct eval *e, size_t row, size_t way)
{
    return &e->result[row * e->n_way + way];
}

/* ---- rows ---------------------------------------------------------------------------- */
static void refs_free(struct refs *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->ref[i]);
    free(r->ref);
    *r = (struct refs){ NULL, 0 };
}

void row_free(struct row *r)
{
    refs_free(&r->answers);
    refs_free(&r->classes);
    free(r->id);
    free(r->context);
    free(r->question);
    free(r->begin);
    free(r->document);
    free(r->where);
    r->id = r->context = r->question = r->begin = r->document = r->where = NULL;
}

void refs_add(struct refs *r, char *text)
{
    r->ref = grow(r->ref, r->n + 1, sizeof *r->ref);
    r->ref[r->n++] = text;
}

void row_answer(struct row *r, char *answer)
{
    refs_add(&r->answers, answer);
}

/* ---- one question -------------------------------------------------------------------- */
typedef gkv_status ask_fn(gkv_session *s, const char *question, size_t len, gkv_error *err);

/* The row's document in e->document, made into an index in a file that is gone when this is over. */
static gkv_status index_row(struct eval *e, const gkv_options *opt, const struct row *row, gkv_error *err)
{
    const char   *dir = getenv("TMPDIR");
    char         *path = format("%s/gemkv-XXXXXX", dir && *dir ? dir : "/var/tmp");
    int           fd = mkstemp(path);
    gkv_model    *reader = e->reader ? e->reader : e->model;
    gkv_document *d = NULL;
    gkv_options   o = *opt;
    gkv_status    status;

    if (e->reader)
        o = run_reader_options(&o);
    if (fd < 0) {
        status = GKV_IO;
        snprintf(err->text, sizeof err->text, "%s: %s", path, strerror(errno));
    } else {
        status = gkv_document_open(&d, reader, &o, err);
        if (!status)
            status = gkv_document_feed(d, row->context, strlen(row->context), err);
        if (!status)
            status = gkv_document_index(d, &o, e->o.grade, path, err);
        if (!status)
            status = gkv_document_load(&e->document, reader, &o, path, err);
        gkv_document_close(d);
        unlink(path);
        close(fd);
    }
    free(path);
    return status;
}

/* A pattern that only this name matches. */
static char *pattern_of(const char *name)
{
    struct text t = { NULL, 0, 0 };

    for (; *name; name++)
        text_printf(&t, strchr("*?[]\\", *name) ? "\\%c" : "%c", *name);
    return t.p;
}

/* The documents that ask -L would ask.  The library says itself why it cannot. */
static gkv_status open_shelf(gkv_session **s, struct eval *e, const gkv_options *opt, const struct row *row,
                             gkv_error *err)
{
    struct run *r = e->of_library;
    char       *only = row->document ? pattern_of(row->document) : NULL;
    int         code;

    *r = (struct run){ .o = e->o, .question = row->question, .model = e->model, .reader = e->reader, .mute = true };
    r->o.gkv = *opt;
    r->o.file = (struct words){ NULL, 0 };
    r->o.among = only ? only : r->o.among;
    code = library_session(r);
    free(only);
    *s = r->session;
    if (code)
        snprintf(err->text, sizeof err->text, "its documents cannot be asked");
    return code ? GKV_INVALID : GKV_OK;
}

static gkv_status open_row(gkv_session **s, struct eval *e, const gkv_options *opt,
                           const struct row *row, ask_fn *ask, gkv_error *err)
{
    const bool shelf = e->o.library, indexed = shelf || (e->o.grade && ask == gkv_ask);
    gkv_status status = indexed && !shelf ? index_row(e, opt, row, err) : GKV_OK;

    if (shelf)
        status = open_shelf(s, e, opt, row, err);
    else if (!status)
        status = indexed ? gkv_session_for(s, e->model, e->document, opt, err) : gkv_session_open(s, e->model, opt, err);
    if (status)
        return status;
    progress_watch(&e->progress, *s);
    if (!indexed)
        status = gkv_feed(*s, row->context, strlen(row->context), err);
    if (!status)
        status = ask(*s, row->question, strlen(row->question), err);
    return status;
}

static void close_row(gkv_session *s, struct eval *e)
{
    progress_watch(&e->progress, NULL);
    gkv_session_close(s);
    gkv_document_close(e->document);
    e->document = NULL;
    if (e->of_library) {
        library_close(&e->of_library->shelf);
        free(e->of_library->o.file.v);
        *e->of_library = (struct run){ .question = NULL };
    }
}

static int row_failed(struct eval *e, const struct row *row, const char *method,
                      gkv_status status, const gkv_error *err)
{
    progress_erase(&e->progress);
    if (status == GKV_CANCELLED)
        return EXIT_FAILED;
    warn(e->o.io, "%s%s%s%s%s: %s; left out", row->where ? row->where : "", row->where ? ": " : "",
         row->id, method ? ", " : "", method ? method : "",
         err->text[0] ? err->text : gkv_status_name(status));
    return status == GKV_LIMIT ? EXIT_TOO_BIG : EXIT_FAILED;
}

int eval_count(struct eval *e, const struct row *row, uint64_t *n)
{
    gkv_session *s = NULL;
    gkv_options  opt = e->o.gkv;
    gkv_error    err = { 0 };
    gkv_stats    stats;
    gkv_status   status;

    opt.method = "truncate";                    /* needs no computation */
    opt.reader = NULL;                          /* lengths are in tokens of the model     */
    opt.snap = NULL;
    opt.schedule = NULL;
    opt.keep_percent = 100;
    opt.begin = row->begin;
    opt.max_context = 0;
    opt.progress = NULL;
    status = open_row(&s, e, &opt, row, gkv_select, &err);
    if (!status) {
        gkv_session_stats(s, &stats);
        *n = stats.tokens_prompt;
    }
    close_row(s, e);
    return status ? row_failed(e, row, NULL, status, &err) : 0;
}

static void rebuild(eval_build *build, void *arg, size_t units, struct row *row)
{
    free(row->context);
    row->context = NULL;
    build(arg, units, row);
}

/* Searches between a number of units that fits and one that does not, by the known tokens per unit; every
 * third time at the middle, in case these mislead. */
int eval_fit(struct eval *e, uint64_t length, size_t least, size_t max, eval_build *build,
             void *arg, struct row *row)
{
    size_t   low = least, high = max + 1, units = least, built;
    uint64_t n = 0, n_low = 0, n_high = 0;
    int      code;

    for (int round = 0;; round++) {
        rebuild(build, arg, units, row);
        built = units;
        code = eval_count(e, row, &n);
        if (code)
            return code;
        if (n > length && units == least) {
            warn(e->o.io, "%s: %" PRIu64 " tokens are not enough, the shortest prompt has %" PRIu64
                 "; left out", row->id, length, n);
            return EXIT_FAILED;
        }
        if (n <= length) {
            low = units;
            n_low = n;
        } else {
            high = units;
            n_high = n;
        }
        if (high - low < 2)
            break;
        if (n_high && round % 3 == 2)
            units = low + (high - low) / 2;
        else if (n_high)
            units = low + (size_t)((double)(high - low) * (double)(length - n_low)
                                   / (double)(n_high - n_low));
        else if (low == least)
            units = low + (high - low < 64 ? high - low : 64) / 2;
        else                                    /* slightly more than should fit */
            units = low + 2 + (size_t)((double)(low - least + 1) * 1.02
                                       * (double)(length - n_low) / (double)n_low);
        units = units <= low ? low + 1 : units >= high ? high - 1 : units;
    }
    if (built != low)
        rebuild(build, arg, low, row);
    row->length = length;
    return 0;
}

/* Answers a row in one way: sets the text, and *r except the scores. */
static gkv_status answer_row(struct eval *e, const struct row *row, const struct way *way,
                             struct result *r, struct text *answer, gkv_error *err)
{
    struct row   asked = *row;          /* with another program's passages: retrieve.h    */
    gkv_session *s = NULL;
    gkv_options  opt = way->opt;
    char        *chosen = NULL;
    uint64_t     whole = 0;
    double       seconds = 0;
    gkv_stats    stats;
    gkv_status   status = methods_fresh(e->o.io, &e->model, e->path, err);
    const char  *piece;
    size_t       len;

    if (!status)
        status = run_open_reader(&e->o, e->path, &e->reader, err);
    opt.reader = way->alone ? NULL : e->reader;
    opt.begin = row->begin;
    opt.max_tokens = eval_max_tokens(e, row->max_tokens);
    if (!status && opt.method && retrieve_is(opt.method)) {
        status = retrieve_text(e, opt.method, row, &chosen, &whole, &seconds, err);
        opt.method = "full";
        asked.context = chosen;
    }
    if (!status)
        status = open_row(&s, e, &opt, &asked, gkv_ask, err);
    while (!status) {
        status = gkv_next(s, &piece, &len, err);
        if (!status)
            text_add(answer, piece, len);
    }
    text_clean(answer);                 /* scored is what --out has */
    if (status == GKV_END) {
        gkv_session_stats(s, &stats);
        *r = (struct result){ .ttft = stats.ttft - stats.load + seconds, .decode = stats.decode,
                              .n_prompt = whole ? whole : stats.tokens_prompt, .n_kept = stats.tokens_kept,
                              .n_answer = stats.tokens_answer, .peak = stats.memory_peak };
        status = GKV_OK;
    }
    close_row(s, e);
    free(chosen);
    return status;
}

/* ---- --out --------------------------------------------------------------------------- */
/* A number of what is in the library: answers depend on it. */
static int look_at_library(struct eval *e)
{
    struct run r = { .o = e->o, .model = e->model, .reader = e->reader };
    gkv_error  err = { 0 };
    size_t     n = 0;
    int        code = library_open(&r);

    if (!code && gkv_library_find(r.shelf.library, NULL, e->o.among, 0, &n, &err))
        code = fail(e->o.io, EXIT_DOCUMENT, "%s", err.text);
    e->library = mix_uint(MIX_START, e->o.top);
    for (size_t i = 0; i < n; i++) {
        gkv_library_entry_info entry;

        gkv_library_entry(r.shelf.library, i, &entry);
        e->library = mix_string(mix_string(mix_uint(e->library, entry.hash), entry.source.grade), entry.source.name);
    }
    library_close(&r.shelf);
    return code;
}

/* Hash of everything that an answer to the row depends on, except the method. */
static uint64_t run_number(const struct eval *e, const struct row *row, const struct way *way)
{
    const gkv_options *o = &way->opt;
    const gkv_model   *reader = way->alone ? NULL : e->reader;
    gkv_model_info     m;
    uint64_t           h = mix_uint(MIX_START, e->fingerprint);

    gkv_model_describe(e->model, &m);
    if (reader)
        gkv_model_describe(reader, &m);
    h = mix_uint(h, o->layer < 0 ? m.filter_layer : (uint64_t)o->layer);
    h = mix_uint(h, o->layer < 0 ? m.tsp_layer : (uint64_t)o->layer);
    h = mix_uint(h, o->keep_percent > 0 ? (uint64_t)((double)o->keep_percent * 1e6) : o->keep);
    h = mix_uint(h, o->keep_percent > 0);
    h = mix_uint(h, o->keep_first);
    h = mix_uint(h, o->keep_last);
    h = mix_uint(h, eval_max_tokens(e, row->max_tokens));
    h = mix_string(h, o->schedule);
    if (o->attention)                   /* numbers of earlier versions stay valid         */
        h = mix_string(h, o->attention);
    if (e->o.grade)
        h = mix_string(h, e->o.grade);
    if (e->o.library)
        h = mix_string(mix_uint(h, e->library), row->document);
    if (reader)
        h = mix_uint(h, gkv_model_fingerprint(reader));
    if (o->snap)
        h = mix_string(h, o->snap);
    h = mix_string(h, o->kv_type);
    h = mix_string(h, o->gemm);
    h = mix_string(h, o->device);
    h = mix_string(h, o->chat_template);
    h = mix_string(h, row->context);
    h = mix_string(h, row->question);
    return mix_string(h, row->begin);
}

static void write_refs(struct json *j, const char *name, const struct refs *refs)
{
    json_named_open(j, name, '[');
    for (size_t i = 0; i < refs->n; i++)
        json_string(j, refs->ref[i]);
    json_close(j);
}

static void write_answers(struct json *j, const struct row *row)
{
    write_refs(j, "answers", &row->answers);
    if (row->classes.n)
        write_refs(j, "classes", &row->classes);
}

static int write_out(struct eval *e, const struct row *row, const struct way *way,
                     const struct result *r, const char *answer, uint64_t run)
{
    struct json j = { .depth = 0 };
    char        hex[20];
    int         code;

    snprintf(hex, sizeof hex, "%016" PRIx64, run);
    json_open(&j, '{');
    json_named_string(&j, "id", row->id);
    json_named_string(&j, "method", way->name);
    json_named_string(&j, "answer", answer);
    write_answers(&j, row);
    json_named_string(&j, "metric", metric_name[row->metric]);
    json_named_real(&j, "score", r->score[row->metric]);
    if (row->group)
        json_named_string(&j, "task", row->group);
    json_named_uint(&j, "length", row->length ? row->length : r->n_prompt);
    if (row->depth >= 0)
        json_named_real(&j, "depth", row->depth);
    json_cost(&j, r);
    json_named_open(&j, "memory", '{');
    json_named_uint(&j, "peak", r->peak);
    json_close(&j);
    json_named_string(&j, "run", hex);
    json_close(&j);
    code = output_line(&e->out, j.text.p, j.text.n);
    text_free(&j.text);
    return code;
}

/* A line found in --out, one per answer; its strings point into the text of the file. */
struct found {
    const char   *id, *method, *run;
    const char   *answer;
    struct value *v;
};

struct kept {
    char         *text;
    struct found *line;
    size_t        n;
};

static int by_id_method(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int                 c = strcmp(x->id, y->id);

    return c ? c : strcmp(x->method, y->method);
}

static void kept_free(struct kept *k)
{
    for (size_t i = 0; i < k->n; i++)
        parse_free(k->line[i].v);
    free(k->line);
    free(k->text);
}

/* Every line of write_out begins with BEGINS; NOT_OURS is the error for other lines. */
#define BEGINS   "{\"id\": "
#define NOT_OURS "not an answer that gemkv eval wrote; give another --out"

/* Parses one line, whose newline has become a NUL.  0; 1: JSON, but not an answer; -1: not JSON. */
static int find_line(char *line, size_t len, struct found *f)
{
    const char *why;
    size_t      at;

    f->v = parse_json(line, len, &why, &at);
    if (!f->v)
        return -1;
    f->id = parse_string(f->v, "id");
    f->method = parse_string(f->v, "method");
    f->run = parse_string(f->v, "run");
    f->answer = parse_string(f->v, "answer");
    if (f->id && f->method && f->run && f->answer)
        return 0;
    parse_free(f->v);
    return 1;
}

static void keep_line(struct kept *k, const struct found *f)
{
    k->line = grow(k->line, k->n + 1, sizeof *k->line);
    k->line[k->n++] = *f;
}

static int not_ours(const struct eval *e, size_t line)
{
    return fail(e->o.io, EXIT_FAILED, "%s:%zu: " NOT_OURS, e->o.out, line);
}

/* Whether p[n] may be the beginning of a line of write_out.  A few bytes are not enough to tell: then it is
 * taken for one only after other lines of ours. */
static bool begins_line(const char *p, size_t n, bool behind_ours)
{
    const char *end = p + n;

    for (const char *form = BEGINS "$, \"method\": $, \"answer\": $, \"answers\": ["; *form; form++) {
        const bool is_string = *form == '$';

        if (p < end && *p++ != (is_string ? '"' : *form))
            return false;
        while (is_string && p < end && *p != '"')
            p += *p == '\\' && end - p > 1 ? 2 : 1;
        if (p >= end)
            return behind_ours;
        p += is_string;
    }
    return true;
}

/* Handles the len bytes after the last newline, which a killed run may have left.  The beginning of an
 * answer is removed, a whole answer gets its newline, and anything else is left as it is and refused. */
static int read_last(struct eval *e, struct kept *k, char *last, size_t len, size_t number)
{
    const bool   begins = begins_line(last, len, k->n > 0);     /* before it is unescaped */
    struct found f;

    switch (find_line(last, len, &f)) {
    case 0:
        keep_line(k, &f);
        return output_line(&e->out, "\n", 1);
    case 1:
        return not_ours(e, number);
    }
    if (!begins)
        return not_ours(e, number);
    say(e->o.io, "%s:%zu: the line has no end; it is dropped, and asked again", e->o.out, number);
    return output_cut(&e->out, (size_t)(last - k->text));
}

/* Reads the answers that earlier runs left in --out. */
static int read_out(struct eval *e, struct kept *k)
{
    size_t n, number = 0;
    int    code = output_resume(&e->out, e->o.io, e->o.out, BEGINS, NOT_OURS, &k->text, &n);

    if (code)
        return code;
    for (char *line = k->text, *end; (size_t)(line - k->text) < n; line = end + 1) {
        const size_t left = n - (size_t)(line - k->text);
        struct found f;

        number++;
        end = memchr(line, '\n', left);
        if (!end) {
            code = read_last(e, k, line, left, number);
            break;
        }
        *end = 0;
        if (find_line(line, (size_t)(end - line), &f))
            return not_ours(e, number);
        keep_line(k, &f);
    }
    if (k->n)
        qsort(k->line, k->n, sizeof *k->line, by_id_method);
    return code;
}

static const struct found *find(const struct kept *k, const char *id, const char *method)
{
    const struct found key = { .id = id, .method = method };

    return k->n ? bsearch(&key, k->line, k->n, sizeof key, by_id_method) : NULL;
}

/* Sets *r to the result in line f; -1 when it is the answer to something else. */
static int take(const struct found *f, const struct row *row, uint64_t run, struct result *r)
{
    const struct value *tokens = parse_member(f->v, "tokens");
    const struct value *seconds = parse_member(f->v, "seconds");
    char hex[20];

    snprintf(hex, sizeof hex, "%016" PRIx64, run);
    if (strcmp(hex, f->run))
        return -1;
    *r = (struct result){
        .done = true, .kept = true,
        .ttft = parse_number(seconds, "ttft", 0), .decode = parse_number(seconds, "decode", 0),
        .n_prompt = (uint64_t)parse_number(tokens, "prompt", 0),
        .n_kept = (uint64_t)parse_number(tokens, "kept", 0),
        .n_answer = (uint64_t)parse_number(tokens, "answer", 0),
        .peak = (uint64_t)parse_number(parse_member(f->v, "memory"), "peak", 0),
    };
    score_answer(row->metric, f->answer, &row->answers, &row->classes, r->score);
    return 0;
}

/* ---- all of them --------------------------------------------------------------------- */
static void note(struct eval *e, size_t i)
{
    if (e->n_asked)
        progress_note(&e->progress, "%zu of %zu, %.1f %%", i + 1, e->n_row, 100 * e->sum / (double)e->n_asked);
    else
        progress_note(&e->progress, "%zu of %zu", i + 1, e->n_row);
}

/* Asks in all ways, one after the other.  Returns non-zero only when the whole evaluation must stop. */
static int ask_row(struct eval *e, const struct kept *k, struct row *row, struct result *r,
                   double weight)
{
    for (size_t j = 0; j < e->n_way; j++, r++) {
        const struct way   *way = &e->way[j];
        const uint64_t      run = run_number(e, row, way);
        const struct found *f = find(k, row->id, way->name);
        struct text         answer = { NULL, 0, 0 };
        gkv_error           err = { 0 };
        gkv_status          status;
        int                 code = 0;

        if (f && take(f, row, run, r))
            return fail(e->o.io, EXIT_USAGE, "%s: its answer to %s by %s was made with other options, "
                        "or another model or text; give another --out", e->o.out, row->id,
                        way->name);
        if (f) {
            e->work_all -= weight;
            continue;
        }
        e->work_now = weight;
        status = answer_row(e, row, way, r, &answer, &err);
        if (status == GKV_INVALID && e->strict) {
            r->done = r->no_room = true;
            e->n_asked++;
        } else if (status) {
            code = row_failed(e, row, way->name, status, &err);
            e->code = code;
            code = progress_cancelled() || !e->model ? code : 0;
        } else {
            r->done = true;
            score_answer(row->metric, answer.p, &row->answers, &row->classes, r->score);
            e->sum += r->score[row->metric];
            e->n_asked++;
            if (e->out.f)
                code = write_out(e, row, way, r, answer.p, run);
        }
        e->work_done += weight;
        text_free(&answer);
        if (code)
            return code;
    }
    return 0;
}

static int ask_all(struct eval *e, const struct kept *k, eval_make *make,
                   double (*weight)(const void *arg, size_t i), void *arg)
{
    for (size_t i = 0; i < e->n_row; i++)
        e->work_all += weight(arg, i) * (double)e->n_way;
    for (size_t i = 0; i < e->n_row; i++) {
        struct row    *row = &e->row[i];
        struct result *r = &e->result[i * e->n_way];
        int            code;

        *row = (struct row){ .depth = -1 };
        note(e, i);
        code = make(e, arg, i, row);
        row->metric = e->o.metric ? metric_of(e->o.metric) : row->metric;
        if (code) {
            e->code = code;
            e->work_done += weight(arg, i) * (double)e->n_way;
        } else {
            code = ask_row(e, k, row, r, weight(arg, i));
            if (code)
                return code;
        }
        if (progress_cancelled())
            return EXIT_FAILED;
        if (!row->length)
            row->length = r->n_prompt;
        free(row->context);                     /* large, and not needed again */
        row->context = NULL;
    }
    return 0;
}

/* ---- --rows -------------------------------------------------------------------------- */
static int write_row(FILE *f, const struct row *row)
{
    struct json j = { .depth = 0 };
    bool        written;

    json_open(&j, '{');
    json_named_string(&j, "id", row->id);
    if (row->group)
        json_named_string(&j, "task", row->group);
    if (row->context)
        json_named_string(&j, "context", row->context);
    if (row->document)
        json_named_string(&j, "document", row->document);
    json_named_string(&j, "question", row->question);
    if (row->begin)
        json_named_string(&j, "begin", row->begin);
    write_answers(&j, row);
    if (row->length)
        json_named_uint(&j, "length", row->length);
    if (row->depth >= 0)
        json_named_real(&j, "depth", row->depth);
    json_named_string(&j, "metric", metric_name[row->metric]);
    json_named_uint(&j, "max_tokens", row->max_tokens);
    json_close(&j);
    written = fwrite(j.text.p, 1, j.text.n, f) == j.text.n;
    text_free(&j.text);
    return written ? 0 : -1;
}

static int write_rows(struct eval *e, eval_make *make, void *arg)
{
    struct output o;
    int           failed = 0, code = output_new(&o, e->o.io, e->o.rows, e->o.force);

    if (code)
        return code;
    for (size_t i = 0; i < e->n_row && !failed && !progress_cancelled(); i++) {
        struct row *row = &e->row[i];

        *row = (struct row){ .depth = -1 };
        code = make(e, arg, i, row);
        row->metric = e->o.metric ? metric_of(e->o.metric) : row->metric;
        if (code)
            e->code = code;
        else
            failed = write_row(o.f, row);
        free(row->context);
        row->context = NULL;
    }
    if (progress_cancelled()) {
        output_drop(&o);
        return fail(e->o.io, EXIT_FAILED, "cancelled while writing %s", e->o.rows);
    }
    code = output_keep(&o);                     /* reports write errors */
    return code ? code : e->code;
}

/* ---- all of them, and what came out --------------------------------------------------- */
static size_t n_done(const struct eval *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_row * e->n_way; i++)
        n += e->result[i].done;
    return n;
}

/* One for each method; those with the same first pass share it. */
static void add_ways(struct eval *e)
{
    if (e->o.methods.n > 1)
        (void)gkv_reading_open(&e->reading, NULL, 0, NULL);     /* without it, each reads    */
    for (size_t i = 0; i < e->o.methods.n; i++) {
        struct way *w = eval_way(e, format("%s", e->o.methods.spec[i]));

        w->opt.method = e->o.methods.spec[i];
        w->opt.reading = e->reading;
    }
}

int eval_run(struct eval *e, size_t n, eval_make *make,
             double (*weight)(const void *arg, size_t i), void *arg)
{
    struct kept k = { NULL, NULL, 0 };
    int         code = e->o.out && !e->o.rows ? read_out(e, &k) : 0;

    if (!code && e->o.library && !e->o.rows) {
        e->of_library = grow(NULL, 1, sizeof *e->of_library);
        *e->of_library = (struct run){ .question = NULL };
        code = look_at_library(e);
    }
    e->show = e->show ? e->show : show_results;
    if (!e->n_way)
        add_ways(e);
    e->n_row = n;
    e->row = grow(NULL, n, sizeof *e->row);
    e->result = grow(NULL, n * e->n_way, sizeof *e->result);
    memset(e->row, 0, n * sizeof *e->row);
    memset(e->result, 0, n * e->n_way * sizeof *e->result);
    if (e->o.rows)
        return write_rows(e, make, arg);
    if (!code && e->o.plot)
        code = output_new(&e->plot, e->o.io, e->o.plot, e->o.force);
    if (!code)
        code = ask_all(e, &k, make, weight, arg);
    kept_free(&k);
    progress_erase(&e->progress);
    if (progress_cancelled()) {
        /* People get the partial results; JSON and CSV are never partial. */
        if (!e->o.json && !e->o.csv && n_done(e))
            e->show(e);
        return fail(e->o.io, EXIT_FAILED, "cancelled, %zu of %zu answers%s", n_done(e), n * e->n_way,
                    e->o.out ? "; the same command goes on from there" : "");
    }
    if (code)
        return code;
    if (!n_done(e))
        return e->code ? e->code : fail(e->o.io, EXIT_DOCUMENT, "there are no rows");
    code = e->show(e);
    if (!code && e->o.plot)
        code = show_plot(e);
    return code ? code : e->code;
}
