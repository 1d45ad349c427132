/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-batch.c - answers many questions about many documents: rows in, a line for each row out
 *
 * Rows of one document are a group, which is read once.  A row that cannot be answered has a line with its error,
 * and the others go on.  What the output has is not done again, so a run that was stopped or killed goes on where it
 * was. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/batch/answers.h"
#include "src/cli/batch/merge.h"
#include "src/cli/batch/rows.h"
#include "src/cli/batch/shard.h"
#include "src/cli/grammar.h"
#include "src/cli/input.h"
#include "src/cli/input/find.h"
#include "src/cli/mix.h"
#include "src/cli/processes.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

#define NO_LIMIT UINT64_MAX

/* What a row asks for beside the command line, and what was made of it; its strings are its own. */
struct settings {
    char         *key;                  /* all of it as text: equal ones share a session  */
    struct words  own;                  /* strings                                        */
    struct words  stop;
    gkv_grammar  *grammar;
    struct options o;
};

struct batch {
    struct run      r;                  /* must be first; its options are those of the row */
    struct options  o;                  /* of the command line                            */
    const char     *in, *shard_word, *merge;
    uint64_t        max_errors, retry;
    struct shard    shard;
    char           *out_name;
    bool            merging;
    struct rows     rows;
    struct output   out;
    double          synced;             /* when                                           */
    uint64_t        run;                /* a number of model and options                  */
    size_t          at;                 /* the next group                                 */
    gkv_group       alone;              /* of ranks of MPI, which share their machine, and no text */
    size_t         *order;              /* of groups that ranks of MPI are handed as they come; NULL: each has a part */
    struct row      open;               /* the row whose document is open                 */
    struct words    file, found;        /* ... its files, and their names that are ours   */
    struct settings set;                /* of the session that is open; key NULL: none    */
    char           *refused;            /* why it cannot be read, or NULL ...             */
    int             refused_code;
    unsigned        pass;               /* 0, and more with --retry                       */
    size_t          n_mine, n_before, n_failed_before, n_answered, n_failed, n_again, n_strange;
    double          work_all, work_done, work_now;     /* of rows, as their weights           */
};

static const struct opt own[] = {
    { 0, 0, "in", "FILE", "standard input",
      "the rows: JSON lines with \"text\", \"file\" or \"files\", and \"question\"",
      opt_text, offsetof(struct batch, in), 0, 0 },
    { 0, 0, "shard", "I/N|/N", "what Slurm, Kubernetes or MPI say, else all",
      "do part I of N only, counted from 1; /N: I is what they say",
      opt_text, offsetof(struct batch, shard_word), 0, 0 },
    { 0, 0, "max-errors", "N", "no limit", "end when more rows than this have failed",
      opt_u64, offsetof(struct batch, max_errors), 0, UINT32_MAX },
    { 0, 0, "retry", "N", "0", "ask rows that failed again, up to N times, those of earlier runs too",
      opt_u64, offsetof(struct batch, retry), 0, 1000 },
    { 0, 0, "merge", "FILE", NULL,
      "join the outputs that are named last into this new file, in the order of --in, and check them",
      opt_text, offsetof(struct batch, merge), 0, 0 },
    { .name = NULL }
};

/* ---- what was said ------------------------------------------------------------------- */
/* Messages while a row is worked on: the error becomes its line, others are passed on with its name. */
struct hearing {
    struct io io;
    char     *said;
    size_t    n;
};

static void hear(struct batch *b, struct hearing *h)
{
    *h = (struct hearing){ .io = { .out = b->o.io->out } };
    h->io.err = open_memstream(&h->said, &h->n);
    if (!h->io.err)
        out_of_memory();
    b->r.o.io = &h->io;
}

static void pass_on(struct batch *b, const struct entry *e, const char *line, size_t n)
{
    progress_erase(&b->r.progress);
    say(b->o.io, "%s:%zu: %.*s", input_name(b->in), e->line, (int)n, line);
}

/* Ends it: the last error that was said, for free(), or NULL. */
static char *heard(struct batch *b, struct hearing *h, const struct entry *e)
{
    static const char ours[] = "gemkv: ", more[] = "; see 'gemkv batch --help'", command[] = "batch: ";
    char  *error = NULL, *end;

    b->r.o.io = b->o.io;
    close_text(h->io.err, &h->said);
    for (const char *line = h->said; *line; line += strcspn(line, "\n") + 1) {
        const size_t n = strcspn(line, "\n");

        if (strncmp(line, ours, strlen(ours))) {
            pass_on(b, e, line, n);
        } else if (!strncmp(line + strlen(ours), "warning: ", 9)) {
            pass_on(b, e, line + strlen(ours), n - strlen(ours));
        } else {
            line += strlen(ours);
            free(error);
            error = format("%.*s", (int)(n - strlen(ours)), line);
        }
    }
    if (error && (end = strstr(error, more)))
        *end = 0;
    if (error && !strncmp(error, command, strlen(command)))
        memmove(error, error + strlen(command), strlen(error + strlen(command)) + 1);
    free(h->said);
    return error;
}

/* ---- options of rows ----------------------------------------------------------------- */
/* Members of a row that are options, with '_' for '-'. */
static const char *const row_option[] = {
    "method", "keep", "layer", "keep-first", "keep-last", "schedule", "attention", "max-tokens", "draft", "snap",
    "temperature", "top-p", "min-p", "top-k", "repeat-penalty", "presence-penalty", "frequency-penalty", "repeat-last-n",
    "seed", "stop", "grammar", "json-schema", "min-score"
};

enum { N_ROW_OPTIONS = sizeof row_option / sizeof *row_option };

static const char *option_of(const char *member)
{
    for (size_t i = 0; i < N_ROW_OPTIONS; i++) {
        const char *a = row_option[i], *m = member;

        while (*a && (*a == *m || (*a == '-' && *m == '_')))
            a++, m++;
        if (!*a && !*m)
            return row_option[i];
    }
    return NULL;
}

static char *value_text(const struct value *v)
{
    struct text t = { NULL, 0, 0 };

    if (v->type == PARSE_NUMBER)
        return row_number(v->number);
    if (v->type == PARSE_STRING)
        return format("%s", v->text);
    parse_print(v, &t);
    return t.p;
}

static int set_one(struct settings *s, const char *name, const struct value *v, struct text *key)
{
    char *text = value_text(v);
    int   code;

    words_add(&s->own, text);
    text_printf(key, "%s=%s\n", name, text);
    if (strcmp(name, "stop"))
        return options_set(&s->o, name, text);
    s->o.stop = s->stop;                        /* instead of those of the command line   */
    code = options_set(&s->o, name, text);
    s->stop = s->o.stop;
    return code;
}

static void settings_free(struct settings *s)
{
    for (size_t i = 0; i < s->own.n; i++)
        free((char *)s->own.v[i]);
    free(s->own.v);
    free(s->stop.v);
    free(s->key);
    gkv_grammar_close(s->grammar);
    *s = (struct settings){ .key = NULL };
}

/* Of the row, over those of the command line. */
static int settings_of(struct batch *b, const struct row *row, struct settings *s)
{
    struct text key = { NULL, 0, 0 };
    int         code = 0;

    *s = (struct settings){ .o = b->o };
    s->o.io = b->r.o.io;
    text_puts(&key, "");
    for (const struct value *v = row->v->first; v && !code; v = v->next) {
        const char *name = option_of(v->key);

        if (!name || v->type == PARSE_NULL)
            continue;
        if (!strcmp(name, "grammar"))
            s->o.schema = NULL;
        if (!strcmp(name, "json-schema"))
            s->o.grammar = NULL;
        if (strcmp(name, "stop") || v->type != PARSE_ARRAY) {
            code = set_one(s, name, v, &key);
            continue;
        }
        for (const struct value *i = v->first; i && !code; i = i->next)
            code = set_one(s, name, i, &key);
    }
    s->key = key.p;
    if (s->stop.n) {
        s->o.gkv.stop = s->stop.v;
        s->o.gkv.n_stop = s->stop.n;
    }
    if (!code && (s->o.grammar != b->o.grammar || s->o.schema != b->o.schema)) {
        code = grammar_open(&s->o, &s->grammar);
        s->o.gkv.grammar = s->grammar;
    }
    return code;
}

/* ---- a number of model and options --------------------------------------------------- */
static uint64_t mix_real(uint64_t h, double d)
{
    char s[40];

    snprintf(s, sizeof s, "%.9g", d);
    return mix_string(h, s);
}

/* All that answers depend on, but for the row. */
static uint64_t run_number(const struct batch *b)
{
    const struct options *o = &b->o;
    const gkv_options    *g = &o->gkv;
    const char *const     text[] = {
        g->method, g->schedule, g->device, g->chat_template, g->kv_type, g->gemm, g->system, g->snap, o->grammar,
        o->schema, o->answer_url, o->answer_model
    };
    const uint64_t        whole[] = {
        g->keep, g->keep_first, g->keep_last, g->max_tokens, (uint64_t)g->raw, g->seed, g->top_k, g->repeat_last_n,
        (uint64_t)g->think, o->ocr, o->recursive, o->cite, options_given(o, "min-score")
    };
    const double          real[] = {
        (double)g->keep_percent, (double)g->temperature, (double)g->top_p, (double)g->min_p, (double)g->repeat_penalty,
        (double)g->presence_penalty, (double)g->frequency_penalty, (double)o->min_score
    };
    gkv_model_info        m;
    uint64_t              h = mix_uint(MIX_START, gkv_model_fingerprint(b->r.model));

    gkv_model_describe(run_reader(&b->r), &m);
    h = mix_uint(h, gkv_model_fingerprint(run_reader(&b->r)));
    if (g->attention)                   /* numbers of earlier versions stay valid         */
        h = mix_string(h, g->attention);
    h = mix_uint(h, g->layer < 0 ? m.filter_layer : (uint64_t)g->layer);
    h = mix_uint(h, g->layer < 0 ? m.tsp_layer : (uint64_t)g->layer);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        h = mix_string(h, text[i]);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        h = mix_uint(h, whole[i]);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        h = mix_real(h, real[i]);
    for (size_t i = 0; i < g->n_stop; i++)
        h = mix_string(h, g->stop[i]);
    return h;
}

/* ---- the output ---------------------------------------------------------------------- */
static int put(struct batch *b, struct json *j)
{
    const double now = progress_clock();
    int          code = 0;

    json_close(j);
    progress_erase(&b->r.progress);
    if (b->out.f) {
        code = output_line(&b->out, j->text.p, j->text.n);
        /* Each line is written at once, so that a process that is killed loses none; a machine that breaks down may
         * lose those of the last second, which are then asked again. */
        if (!code && now - b->synced > 1) {
            code = output_sync(&b->out);
            b->synced = now;
        }
        text_free(&j->text);
    } else {
        json_print(b->o.io, j);
        code = out_flush(b->o.io);
    }
    return code;
}

static int found(void *arg, const struct answer *a)
{
    struct batch *b = arg;
    struct entry *e = answers_row(&b->rows, a);
    char          run[20], row[20];
    bool          same;

    if (!e) {
        b->n_strange++;
        return 0;
    }
    snprintf(run, sizeof run, "%016" PRIx64, b->run);
    snprintf(row, sizeof row, "%016" PRIx64, e->number);
    same = !strcmp(row, a->row) && !strcmp(run, a->run);
    if (a->failed) {                            /* a row that was corrected is asked      */
        if (same && e->state == ROW_TO_DO)
            e->state = ROW_FAILED;
        return 0;
    }
    if (!same)
        return fail(b->o.io, EXIT_USAGE, "%s: its answer to %s, line %zu, was made with other options, or another "
                    "model or row; give another --out", b->out_name, e->id, e->line);
    e->state = ROW_ANSWERED;
    return 0;
}

static int resume(struct batch *b)
{
    struct tail tail = { .cut = false };
    int         code = output_continue(&b->out, b->o.io, b->out_name);

    if (!code)
        code = answers_each(b->o.io, b->out_name, b->out.f, found, b, &tail);
    if (!code && tail.cut) {
        say(b->o.io, "%s:%zu: the line has no end; it is dropped, and its row asked again", b->out_name, tail.line);
        code = output_cut(&b->out, (size_t)tail.whole);
    }
    if (!code && b->n_strange)
        warn(b->o.io, "%s: %zu lines have ids that no row has", b->out_name, b->n_strange);
    return !code && tail.open ? output_line(&b->out, "\n", 1) : code;
}

/* What other ranks have done in an earlier run: any rank may get any group. */
static int resume_others(struct batch *b)
{
    int code = 0;

    for (size_t i = 0; i < b->shard.n && !code; i++) {
        const struct shard s = { i, b->shard.n, NULL };
        char       *name = shard_name(&s, b->r.o.out);
        FILE       *f = i != b->shard.i ? fopen(name, "rb") : NULL;
        struct tail tail;

        if (f) {
            code = answers_each(b->o.io, name, f, found, b, &tail);
            fclose(f);
        }
        free(name);
    }
    return code;
}

/* ---- a document ---------------------------------------------------------------------- */
static void leave_session(struct batch *b)
{
    run_leave(&b->r);
    settings_free(&b->set);
}

static void leave_document(struct batch *b)
{
    leave_session(b);
    library_close(&b->r.shelf);
    row_done(&b->open);
    free(b->file.v);
    find_free(&b->found);
    free(b->refused);
    b->refused = NULL;
    b->refused_code = 0;
    b->file = b->found = (struct words){ NULL, 0 };
}

static void use(struct batch *b, const struct options *o)
{
    struct io *io = b->r.o.io;

    b->r.o = *o;
    b->r.o.io = io;
    b->r.o.file = b->file;
    b->r.o.found = b->found;
}

/* Takes the row as the one whose document is open.  It is read here if it is asked more than once; else while it is
 * asked, and nothing of it is kept for a next question. */
static int open_document(struct batch *b, struct row *row, bool often)
{
    int code = 0;

    leave_document(b);
    b->open = *row;
    *row = (struct row){ .v = NULL };
    if (b->open.text)
        words_add(&b->file, "text");
    for (size_t i = 0; i < b->open.file.n; i++)
        words_add(&b->file, b->open.file.v[i]);
    use(b, &b->o);
    b->r.text = b->open.text;
    b->r.n_text = b->open.n_text;
    b->r.often = often;
    if (!b->r.text)
        code = options_find(&b->r.o, &b->r.o.file);
    if (!code && often)
        code = run_read_document(&b->r);
    b->file = b->r.o.file;
    b->found = b->r.o.found;
    b->refused_code = code;
    return code;
}

static int open_session(struct batch *b, struct settings *s)
{
    leave_session(b);
    b->set = *s;
    *s = (struct settings){ .key = NULL };
    use(b, &b->set.o);
    return run_read(&b->r);
}

/* ---- a row --------------------------------------------------------------------------- */
static int ask(struct batch *b, const char *question, struct text *answer)
{
    int code;

    b->r.question = question;
    code = run_one(&b->r, gkv_ask);
    if (!code)
        code = run_take(&b->r, answer);
    return code ? code : run_cut(&b->r);
}

static int ask_all(struct batch *b, const struct row *row, struct json *j)
{
    int code = 0;

    if (row->several)
        json_named_open(j, "answers", '[');
    for (size_t i = 0; i < row->question.n && !code; i++) {
        struct text answer = { NULL, 0, 0 };

        code = ask(b, row->question.v[i], &answer);
        if (!code) {
            if (row->several)
                json_open(j, '{');
            json_named_string(j, "question", row->question.v[i]);
            run_json_members(j, &b->r, answer.p ? answer.p : "", answer.n);
            if (row->several)
                json_close(j);
        }
        text_free(&answer);
    }
    if (row->several)
        json_close(j);
    return code;
}

/* Asks the row's questions into j; the row may become that of the open document.  An exit status; why was said. */
static int answer_row(struct batch *b, const struct group *g, struct row *row, struct json *j)
{
    struct settings s;
    bool            same = b->open.v && row_same_document(row, &b->open);
    int             code = settings_of(b, row, &s);

    if (!code && same && b->refused)            /* it is not read again to say the same   */
        code = fail(b->r.o.io, b->refused_code, "%s", b->refused);
    if (!code && !same)
        code = open_document(b, row, g->n > 1 || row->question.n > 1);
    if (!code && (!b->r.session || strcmp(s.key, b->set.key)))
        code = open_session(b, &s);
    if (!code)
        code = ask_all(b, row->v ? row : &b->open, j);
    settings_free(&s);
    if (code)
        leave_session(b);
    return code;
}

/* Files that come back, and memory that others leave, may let a row be answered that could not be. */
static bool may_pass(int status)
{
    return status == EXIT_FAILED || status == EXIT_TOO_BIG;
}

static int put_error(struct batch *b, struct entry *e, int status, const char *error)
{
    struct json j = { .depth = 0 };

    progress_erase(&b->r.progress);
    warn(b->o.io, "%s:%zu: %s", input_name(b->in), e->line, error);
    answers_begin(&j, e, b->run);
    if (e->twin)
        json_named_uint(&j, "twin_of_line", e->twin);
    json_named_string(&j, "error", error);
    json_named_uint(&j, "status", (uint64_t)status);
    e->state = ROW_FAILED;
    b->n_failed++;
    return put(b, &j);
}

/* Answers the row and writes its line.  Non-zero: all must end. */
static int do_row(struct batch *b, const struct group *g, struct entry *e)
{
    struct json    j = { .depth = 0 };
    struct hearing h;
    struct row     row;
    char          *error = NULL;
    int            status = EXIT_USAGE, code = row_read(&b->rows, e, &row);

    if (code)
        return code;
    answers_begin(&j, e, b->run);
    if (!row.why) {
        hear(b, &h);
        status = answer_row(b, g, &row, &j);
        error = heard(b, &h, e);
        if (b->refused_code && !b->refused)
            b->refused = format("%s", error ? error : "");
    }
    if (progress_cancelled()) {
        code = EXIT_FAILED;
    } else if (!status) {
        e->state = ROW_ANSWERED;
        b->n_answered++;
        code = put(b, &j);
    } else if (may_pass(status) && b->pass < b->retry) {
        b->n_again++;
    } else {
        code = put_error(b, e, status, row.why ? row.why : error && *error ? error : "it failed");
    }
    text_free(&j.text);
    free(error);
    row_done(&row);
    return code;
}

/* ---- all of them --------------------------------------------------------------------- */
static bool is_to_do(const struct batch *b, const struct group *g)
{
    for (size_t i = g->first; i != SIZE_MAX; i = b->rows.entry[i].next)
        if (b->rows.entry[i].state == ROW_TO_DO)
            return true;
    return false;
}

/* The groups that this rank has got have its number. */
static const struct group *handed(struct batch *b)
{
    int64_t i;

    while ((i = processes_next(b->o.io->processes)) >= 0 && (size_t)i < b->rows.n_groups) {
        struct group *g = &b->rows.group[b->order[i]];

        g->shard = b->shard.i;
        if (is_to_do(b, g))
            return g;
    }
    return NULL;
}

/* The next group of rows that this process does; NULL: there is none. */
static const struct group *next_group(struct batch *b)
{
    if (b->order && !b->pass)
        return handed(b);
    while (b->at < b->rows.n_groups) {
        const struct group *g = &b->rows.group[b->at++];

        if (g->shard == b->shard.i && is_to_do(b, g))
            return g;
    }
    return NULL;
}

static double row_work(const struct group *g)
{
    return (double)g->weight / (double)g->n;
}

static void note(struct batch *b)
{
    if (b->n_failed)
        progress_note(&b->r.progress, "%zu of %zu, %zu failed", b->n_answered + b->n_failed, b->n_mine, b->n_failed);
    else
        progress_note(&b->r.progress, "%zu of %zu", b->n_answered, b->n_mine);
    progress_show(&b->r.progress, "batch", b->work_done / b->work_all, 0);
}

static void within(void *arg, const gkv_progress *g)
{
    struct batch *b = arg;

    progress_show(&b->r.progress, "batch", (b->work_done + b->work_now * progress_share(g)) / b->work_all, 0);
}

static int too_many(const struct batch *b)
{
    if (b->n_failed <= b->max_errors)
        return 0;
    return fail(b->o.io, EXIT_FAILED, "%zu failed, more than --max-errors %" PRIu64 " allows", b->n_failed,
                b->max_errors);
}

static int do_group(struct batch *b, const struct group *g)
{
    int code = 0;

    b->work_now = row_work(g);
    for (size_t i = g->first; i != SIZE_MAX && !code; i = b->rows.entry[i].next) {
        struct entry *e = &b->rows.entry[i];

        if (e->state != ROW_TO_DO)
            continue;
        note(b);
        code = too_many(b);
        if (!code)
            code = do_row(b, g, e);
        if (e->state != ROW_TO_DO)
            b->work_done += b->work_now;
    }
    leave_document(b);
    return code;
}

/* Counts what there is, and what is left. */
static void count(struct batch *b)
{
    for (size_t i = 0; i < b->rows.n_groups; i++) {
        const struct group *g = &b->rows.group[i];

        for (size_t k = b->order || g->shard == b->shard.i ? g->first : SIZE_MAX; k != SIZE_MAX; k = b->rows.entry[k].next) {
            struct entry *e = &b->rows.entry[k];

            if (e->state == ROW_FAILED && b->retry && !e->twin)
                e->state = ROW_TO_DO;
            b->n_mine++;
            b->n_failed += e->state == ROW_FAILED;
            b->n_answered += e->state == ROW_ANSWERED;
            b->work_all += e->state == ROW_TO_DO ? row_work(g) / (b->order ? (double)b->shard.n : 1) : 0;
        }
        b->rows.group[i].shard = b->order ? SIZE_MAX : g->shard;        /* nobody's yet */
    }
    b->n_before = b->n_failed + b->n_answered;
    b->n_failed_before = b->n_failed;
    if (b->shard.n > 1 && !b->order)
        say(b->o.io, "part %zu of %zu%s%s: %zu of %zu rows", b->shard.i + 1, b->shard.n, b->shard.from ? ", by " : "",
            b->shard.from ? b->shard.from : "", b->n_mine, b->rows.n);
}

static int do_all(struct batch *b)
{
    const struct group *g;
    int                 code = 0;

    for (b->pass = 0; !code && b->pass <= b->retry; b->pass++) {
        b->n_again = 0;
        for (b->at = 0; !code && (g = next_group(b)); )
            code = do_group(b, g);
        if (!b->n_again)
            break;
    }
    if (b->out.f && output_sync(&b->out))
        code = EXIT_FAILED;
    return code;
}

/* ---- the command --------------------------------------------------------------------- */
/* Options that no row could be asked with are refused before the first. */
static int check_options(struct batch *b)
{
    gkv_error  err = { 0 };
    uint64_t   bytes;
    gkv_status status = gkv_memory_needed(b->r.model, &b->o.gkv, 1024, &bytes, &err);

    return status ? fail_library(b->o.io, status, &err, NULL) : 0;
}

/* Groups are handed out to ranks of MPI as they come, where each has a file of its own for its answers.  Without a plugin for
 * that library each rank has the part of its number. */
static void connect(struct batch *b)
{
    const bool ranks = b->shard.from && b->shard.n > 1 &&
                       (!strcmp(b->shard.from, "OMPI_COMM_WORLD_RANK") || !strcmp(b->shard.from, "PMI_RANK"));

    if (ranks && b->out_name && strcmp(b->out_name, b->r.o.out) != 0)
        processes_open(&b->o.io->processes, NULL);
    if (b->o.io->processes) {
        b->alone = (gkv_group){ .size = 1, .local = processes_group(b->o.io->processes)->local };
        b->r.o.gkv.group = &b->alone;
    }
}

static int check(struct run *r)
{
    struct batch     *b = (struct batch *)r;    /* which it begins                        */
    const struct cmd *cmd = r->o.cmd;
    int               code;

    r->o.json = true;                           /* nothing of an answer is printed        */
    b->o.io = r->o.io;
    if (!b->in && !b->merge && isatty(STDIN_FILENO))
        return usage(r->o.io, cmd, "no rows; give a file of them with --in, or on standard input");
    if (b->merge) {
        if (!b->in || !r->o.n_operand || r->o.out)
            return usage(r->o.io, cmd, "to join outputs: --merge FILE --in ROWS OUTPUT...");
        b->merging = true;
        return EXIT_SHOWN;                      /* no model is needed                     */
    }
    if (r->o.n_operand)
        return usage(r->o.io, cmd, "'%s': no operands without --merge; rows are given with --in", *r->o.operand);
    b->in = b->in ? b->in : "-";
    code = shard_find(&b->shard, cmd, r->o.io, b->shard_word);
    if (!code && r->o.out && strcmp(r->o.out, "-"))
        b->out_name = shard_name(&b->shard, r->o.out);
    if (!code)                          /* before anything that one rank alone may fail at */
        connect(b);
    return code;
}

static int merge(struct batch *b)
{
    int code = rows_open(&b->rows, b->r.o.io, b->in);

    return code ? code : merge_answers(&b->r.o, &b->rows, b->merge, b->r.o.operand, (size_t)b->r.o.n_operand);
}

/* Rows that all ranks have done in this run come to those that were done before; the first rank says how many. */
static int sum(struct batch *b, int code)
{
    const size_t failed = b->n_failed_before, answered = b->n_before - failed;
    uint64_t     n[] = { b->n_failed - failed, b->n_answered - answered };

    if (!b->order || code)
        return code;
    if (!processes_add(b->o.io->processes, n, sizeof n / sizeof *n))
        return EXIT_FAILED;
    b->n_failed = failed + n[0];
    b->n_answered = answered + n[1];
    return 0;
}

static int prepare(struct batch *b)
{
    int code;

    b->o = b->r.o;
    b->o.gkv.progress = within;
    b->o.gkv.progress_arg = b;
    b->r.progress.draw = run_draws(&b->o);
    code = check_options(b);
    if (!code)
        code = rows_open(&b->rows, b->o.io, b->in);
    if (code)
        return code;
    rows_deal(&b->rows, b->shard.n);
    b->run = run_number(b);
    if (b->out_name)
        code = resume(b);
    if (b->o.io->processes) {
        b->order = rows_order(&b->rows);
        code = code ? code : resume_others(b);
        /* Nobody writes before all have read. */
        code = processes_meet(b->o.io->processes, b->o.io, code, NULL);
    }
    b->synced = progress_clock();
    if (!code)
        count(b);
    return code;
}

static int report(const struct batch *b, int code)
{
    const size_t      done = b->n_answered + b->n_failed;
    const char *const on = b->out.f ? "; the same command goes on from there" : "";

    if (progress_cancelled())
        return fail(b->o.io, EXIT_FAILED, "cancelled, %zu of %zu rows%s", done, b->n_mine, on);
    if (processes_helps(b->o.io->processes) && !code)
        return 0;
    if (code) {
        say(b->o.io, "%zu of %zu rows were done%s", done, b->n_mine, on);
        return code;
    }
    if (b->n_before)
        say(b->o.io, "%zu rows: %zu answered, %zu failed; %zu of them before", b->n_mine, b->n_answered, b->n_failed,
            b->n_before);
    else
        say(b->o.io, "%zu rows: %zu answered, %zu failed", b->n_mine, b->n_answered, b->n_failed);
    return b->n_failed ? EXIT_ROWS : 0;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct batch b = { .max_errors = NO_LIMIT };
    int          code = run_open(&b.r, self, io, argc, argv, check);

    if (b.merging) {
        code = merge(&b);
    } else if (!code) {
        code = prepare(&b);
        if (!code)
            code = report(&b, sum(&b, do_all(&b)));
        leave_document(&b);
        b.r.o = b.o;
    }
    progress_erase(&b.r.progress);
    output_drop(&b.out);
    rows_close(&b.rows);
    free(b.out_name);
    free(b.order);
    run_close(&b.r);
    processes_close(io->processes, io, code);
    return code;
}

const struct cmd cmd_batch = {
    .name = "batch", .summary = "Answer many questions about many documents, from a file of them",
    .synopsis = "[options] --in ROWS --out ANSWERS | --merge FILE --in ROWS ANSWERS...",
    .needs = NEEDS_PROGRAMS | NEEDS_ANY_FILE,
    .takes = FOR_BATCH | FOR_ELSEWHERE, .own = own, .run = run, .more_help = run_more_help
};
