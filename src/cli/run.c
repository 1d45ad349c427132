/* SPDX-License-Identifier: BSD-2-Clause
 * run.c - see run.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/calibrated.h"
#include "src/cli/evidence.h"
#include "src/cli/confine.h"
#include "src/cli/grammar.h"
#include "src/cli/input.h"
#include "src/cli/model-name.h"
#include "src/cli/processes.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

#define BLANKS " \t\r\n\v\f"

static void help_row(struct io *io, const char *name, const char *summary, const gkv_param *p)
{
    out_printf(io, "  %-24s", name);
    args_wrap(io, summary, 26);
    for (; p && p->name; p++) {
        int used = (int)(strlen(p->name) + strlen(p->value)) + 5;

        out_printf(io, "    %s=%s%*s", p->name, p->value, used < 26 ? 26 - used : 1, "");
        args_wrap(io, p->help, 26);
    }
}

void run_more_help(struct io *io)
{
    size_t              n, n_schedules;
    const gkv_method   *m = gkv_methods(&n);
    const gkv_schedule *s = gkv_schedules(&n_schedules);
    const char         *t;

    out_printf(io, "\nMethods for --method:\n");
    for (size_t i = 0; i < n; i++)
        help_row(io, m[i].name, m[i].summary, m[i].params);
    out_printf(io, "\nSchedules for --schedule:\n");
    for (size_t i = 0; i < n_schedules; i++)
        help_row(io, s[i].name, s[i].summary, s[i].params);
    out_printf(io, "\nTemplates for --template:\n");
    for (size_t i = 0; (t = gkv_template_describe(i)); i++) {
        char *name = format("%.*s", (int)strcspn(t, ":"), t);

        help_row(io, name, t + strcspn(t, " ") + 1, NULL);
        free(name);
    }
}

int run_check_documents(const struct run *r)
{
    if (r->o.library && r->o.file.n)
        return usage(r->o.io, r->o.cmd, "documents of a library, or files: give -L or -f");
    if (!r->o.library && (r->o.among || r->o.top))
        return usage(r->o.io, r->o.cmd, "--among and --top choose documents of a library; give one with -L");
    return 0;
}

static int check(struct run *r)
{
    const struct cmd *cmd = r->o.cmd;
    int               code;

    if (r->o.questions ? r->o.n_operand : r->o.n_operand > 1)
        return usage(r->o.io, cmd, "one question only, in quotes; documents are given with -f");
    if (!r->o.questions && r->o.n_operand == 0)
        return usage(r->o.io, cmd, "no question given; write it last, in quotes");
    if (r->o.questions && !strcmp(r->o.questions, "-") && !r->o.library && !r->o.file.n)
        return usage(r->o.io, cmd, "the questions are on standard input; give a document with -f FILE");
    r->often = r->o.questions;
    r->question = r->often ? NULL : *r->o.operand;
    if (r->question && !r->question[strspn(r->question, BLANKS)])
        return usage(r->o.io, cmd, "the question is empty");
    if ((code = run_check_documents(r)))
        return code;
    if (r->o.library || r->o.file.n)
        return 0;
    if (isatty(STDIN_FILENO))
        return usage(r->o.io, cmd, "no document; give one with -f FILE, or on standard input");
    words_add(&r->o.file, "-");
    return 0;
}

/* ---- model --------------------------------------------------------------------------- */
/* A file next to the program: in "../share" of a moved prefix, or of a build tree with shared libraries, where
 * the program is .libs/gemkv; or in "share" of a build tree without them. */
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

static int model_path(const struct options *o, char **path)
{
    const char *env = getenv("GEMKV_MODEL");

    if (o->model || (env && *env))
        return model_name(o->io, o->model ? o->model : env, path);
    *path = run_data_path(RUN_BUNDLED);
    if (*path)
        return 0;
    return usage(o->io, o->cmd, "no bundled model found; give a GGUF file with -m or in $GEMKV_MODEL");
}

/* The reader's name is looked at, too, so that a wrong one is said before anything is opened. */
int run_model_path(const struct options *o, char **path)
{
    int   code = model_path(o, path);
    char *reader;

    if (!code && o->gkv.draft_reader && !o->reader) {
        free(*path);
        *path = NULL;
        return usage(o->io, o->cmd, "option '--draft reader': which model reads? give it with --reader");
    }
    if (code || !o->reader)
        return code;
    code = model_name(o->io, o->reader, &reader);
    free(reader);
    if (code) {
        free(*path);
        *path = NULL;
    }
    return code;
}

int run_cap_cpu(struct io *io, const char *level)
{
    gkv_error  err = { 0 };
    gkv_status status;

    if (!level)
        level = getenv("GEMKV_CPU");            /* checked here: the library cannot report it */
    if (!level || !*level)
        return 0;
    status = gkv_cpu_cap(level, &err);
    return status ? fail_library(io, status, &err, NULL) : 0;
}

int run_begin(const struct options *o, char **path)
{
    int code = run_cap_cpu(o->io, o->cpu);

    return code ? code : run_model_path(o, path);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat s, t;

    return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

gkv_status run_open_reader(const struct options *o, const char *model, gkv_model **reader, gkv_error *err)
{
    char      *path;
    gkv_status status = GKV_OK;

    gkv_model_close(*reader);
    *reader = NULL;
    if (!o->reader)
        return GKV_OK;
    if (model_name(o->io, o->reader, &path)) {          /* which has said why */
        snprintf(err->text, sizeof err->text, "the model of --reader is gone");
        return err->status = GKV_IO;
    }
    if (!is_same_file(path, model))
        status = calibrated_open(o->io, reader, path, err);
    free(path);
    return status;
}

gkv_options run_reader_options(const gkv_options *o)
{
    gkv_options opt = *o;

    opt.chat_template = opt.system = NULL;
    opt.think = 0;
    return opt;
}

gkv_model *run_reader(const struct run *r)
{
    return r->reader ? r->reader : r->model;
}

gkv_status run_session_of(struct run *r, gkv_error *err)
{
    return gkv_session_for(&r->session, r->model, r->shelf.document, &r->o.gkv, err);
}

bool run_draws(const struct options *o)
{
    return !o->quiet && (o->tty || isatty(fileno(o->io->err)));
}

/* ---- documents and question ---------------------------------------------------------- */
int run_failed(struct io *io, const struct progress *p, gkv_status status, const gkv_error *err)
{
    char *where = status == GKV_CANCELLED ? progress_where(p) : NULL;
    int   code = where ? fail(io, EXIT_FAILED, "cancelled, %s", where) : fail_library(io, status, err, NULL);

    free(where);
    return code;
}

struct feeding {
    const struct run *run;
    const char  *name;
    bool         some;          /* text has come                                          */
};

static int fed(const struct feeding *f, gkv_status status, const gkv_error *err)
{
    if (!status)
        return 0;
    if (status == GKV_DOCUMENT)
        return fail_library(f->run->o.io, status, err, f->name);
    return run_failed(f->run->o.io, &f->run->progress, status, err);
}

static int feed(void *arg, const char *text, size_t len)
{
    struct feeding *f = arg;
    gkv_error       err = { 0 };

    f->some = true;
    return fed(f, f->run->shelf.document ? gkv_document_feed(f->run->shelf.document, text, len, &err)
                                         : gkv_feed(f->run->session, text, len, &err), &err);
}

/* What is in memory already, as the only document. */
static int feed_text(struct run *r)
{
    struct feeding f = { r, r->o.file.v[0], true };

    r->part = grow(r->part, 1, sizeof *r->part);
    r->part[0] = NULL;
    return feed(&f, r->text, r->n_text);
}

/* With -r, a file without text is left out: most were not asked for by name. */
static void leave_out(struct words *w, size_t i)
{
    memmove(w->v + i, w->v + i + 1, (--w->n - i) * sizeof *w->v);
}

static int feed_all(struct run *r)
{
    gkv_error err = { 0 };
    int       code = 0;

    if (r->text)
        return feed_text(r);
    r->part = grow(r->part, r->o.file.n, sizeof *r->part);
    for (size_t i = 0; i < r->o.file.n && !code;) {
        struct feeding   f = { r, input_name(r->o.file.v[i]), false };
        struct input_how how = { .ocr = r->o.ocr };

        code = input_document(r->o.io, r->o.file.v[i], &how, feed, &f);
        r->part[i] = how.part;
        if (code == EXIT_DOCUMENT && !f.some && r->o.recursive && r->o.file.n > 1) {
            warn(r->o.io, "%s: left out", f.name);
            leave_out(&r->o.file, i);
            code = 0;
            continue;
        }
        if (!code)
            code = fed(&f, r->shelf.document ? gkv_document_end_file(r->shelf.document, &err)
                                             : gkv_feed_end(r->session, &err), &err);
        i++;
    }
    return code;
}

int run_read_document(struct run *r)
{
    gkv_options opt = r->o.gkv;
    gkv_error   err = { 0 };
    gkv_status  status;

    if (r->reader)
        opt = run_reader_options(&opt);
    status = gkv_document_open(&r->shelf.document, run_reader(r), &opt, &err);
    return status ? run_failed(r->o.io, &r->progress, status, &err) : feed_all(r);
}

static int read_often(struct run *r)
{
    gkv_error  err = { 0 };
    gkv_status status;
    int        code = r->shelf.document ? 0 : run_read_document(r);

    if (code)
        return code;
    status = run_session_of(r, &err);
    return status ? run_failed(r->o.io, &r->progress, status, &err) : 0;
}

static int read_documents(struct run *r)
{
    gkv_error  err = { 0 };
    gkv_status status;

    if (r->o.library)
        return library_session(r);
    if (r->often)                           /* what does not depend on one stays for the next */
        return read_often(r);
    status = gkv_session_open(&r->session, r->model, &r->o.gkv, &err);
    if (status)
        return run_failed(r->o.io, &r->progress, status, &err);
    progress_watch(&r->progress, r->session);
    return feed_all(r);
}

/* Once: it is the same for later questions, nearly. */
static void note(void *arg, const char *line)
{
    struct run *r = arg;

    if (!r->noted) {
        progress_erase(&r->progress);
        say(r->o.io, "%s", line);
    }
    r->noted = true;
}

void run_stats(const struct run *r, gkv_stats *s)
{
    gkv_session_stats(r->session, s);
    if (r->answerer)
        answerer_stats(r->answerer, s);
}

/* Of two questions, a warning may differ in how many tokens the prompt has. */
static bool same_but_numbers(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || !*a)
            return *a == *b;
    }
}

void run_warn(struct run *r)
{
    gkv_stats s;

    run_stats(r, &s);
    if (!s.warning || same_but_numbers(s.warning, r->warned))
        return;
    snprintf(r->warned, sizeof r->warned, "%s", s.warning);
    warn(r->o.io, "%s", s.warning);
}

static int open_questions(struct run *r)
{
    const char *path = r->o.questions;

    if (!path)
        return 0;
    r->questions = strcmp(path, "-") ? fopen(path, "r") : stdin;
    return r->questions ? 0 : fail(r->o.io, EXIT_DOCUMENT, "%s: %s", path, strerror(errno));
}

/* The next line that is not blank, without its end.  False: there is none, or *code says that it cannot be read. */
static bool next_question(struct run *r, int *code)
{
    ssize_t n;

    do {
        if (isatty(fileno(r->questions)))
            fputs("? ", r->o.io->err);
        n = getline(&r->line, &r->room, r->questions);
        while (n > 0 && strchr(BLANKS, r->line[n - 1]))
            r->line[--n] = 0;
    } while (n == 0);
    r->question = r->line;
    if (n < 0 && !feof(r->questions) && !progress_cancelled())
        *code = fail(r->o.io, EXIT_FAILED, "%s: cannot read: %s", input_name(r->o.questions), strerror(errno));
    return n > 0;
}

int run_open(struct run *r, const struct cmd *cmd, struct io *io, int argc, char **argv,
             int (*check_options)(struct run *r))
{
    gkv_options *o = &r->o.gkv;
    gkv_error    err = { 0 };
    gkv_status   status;
    char        *path = NULL;
    int          code = options_parse(&r->o, cmd, io, argc, argv);

    if (!code)
        code = check_options(r);
    if (!code)
        code = answerer_open(&r->answerer, &r->o);
    if (!code)
        code = options_find(&r->o, &r->o.file);
    if (!code)
        code = grammar_open(&r->o, &r->grammar);
    o->grammar = r->grammar;
    if (!code)
        code = run_begin(&r->o, &path);
    if (!code)
        code = open_questions(r);
    if (!code && r->o.report)
        code = output_new(&r->output, r->o.io, r->o.report, r->o.force);
    if (code) {
        free(path);
        return code;
    }
    confine(&r->o, path);
    r->confined = true;
    status = calibrated_open(r->o.io, &r->model, path, &err);
    if (!status)
        status = run_open_reader(&r->o, path, &r->reader, &err);
    free(path);
    o->reader = r->reader;
    if (status)
        return run_failed(r->o.io, &r->progress, status, &err);

    progress_start(&r->progress, r->o.io, !r->o.json && run_draws(&r->o));
    r->progress.two = r->reader;
    o->progress = progress_update;
    o->progress_arg = &r->progress;
    o->note = r->o.json ? NULL : note;
    o->note_arg = r;
    return 0;
}

int run_read(struct run *r)
{
    return r->session ? library_again(r) : read_documents(r);
}

int run_one(struct run *r, run_ask *ask)
{
    gkv_error  err = { 0 };
    gkv_status status = GKV_OK;

    answerer_begin(r->answerer);
    progress_watch(&r->progress, r->session);
    if (r->turn)
        status = gkv_session_turns(r->session, r->turn, r->n_turns, &err);
    if (!status)
        status = (r->answerer ? gkv_select : ask)(r->session, r->question, strlen(r->question), &err);
    progress_erase(&r->progress);
    if (status)
        return run_failed(r->o.io, &r->progress, status, &err);
    run_warn(r);
    return r->o.lines ? evidence_events(r) : 0;
}

#define NOT_FOUND "not found in the document"

/* Methods without scores give 0 to all they keep. */
static bool has_scores(const gkv_kept *kept, size_t n)
{
    size_t i = 0;

    while (i < n && !(kept[i].score < 0 || kept[i].score > 0))
        i++;
    return i < n;
}

/* No passage has --min-score, which is said. */
static bool found_nothing(const struct run *r)
{
    size_t          n;
    const gkv_kept *kept = gkv_session_kept(r->session, &n);
    float           best = -INFINITY;
    gkv_stats       s;

    if (!options_given(&r->o, "min-score"))
        return false;
    run_stats(r, &s);
    if (s.tokens_kept >= s.tokens_prompt) {
        warn(r->o.io, "all of the text was kept, so it has no scores, and --min-score means nothing; a smaller --keep chooses");
        return false;
    }
    if (n && !has_scores(kept, n)) {
        warn(r->o.io, "method %s gives no scores, --min-score means nothing with it; see gemkv-methods(7)", s.method);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        best = kept[i].score > best ? kept[i].score : best;
    if (best >= r->o.min_score)
        return false;
    if (!r->o.json)
        say(r->o.io, "nothing in the document stands out for this question: the best score is %.4g, less than %.4g",
            (double)best, (double)r->o.min_score);
    return true;
}

static bool cut(const struct run *r)
{
    gkv_stats s;

    run_stats(r, &s);
    return !strcmp(s.finish, "length");
}

int run_cut(const struct run *r)
{
    const uint64_t early = answerer_short(r->answerer, r->o.gkv.max_tokens);
    gkv_stats s;

    run_stats(r, &s);
    if (s.incomplete && !s.stop)
        return fail(r->o.io, EXIT_FAILED, "the answer was cut at %u tokens: it is not all that the grammar asks for; "
                    "-n N for more", r->o.gkv.max_tokens);
    if (r->o.json || !cut(r))                   /* JSON has it as "finish" */
        return 0;
    if (early)
        say(r->o.io, "the other program cut the answer at %" PRIu64 " tokens, where it might have %u: its context is full, or "
            "it allows no more; --keep N sends less", early, r->o.gkv.max_tokens);
    else
        say(r->o.io, "the answer was cut at %u tokens; -n N for more", r->o.gkv.max_tokens);
    return 0;
}

/* Numbers with a name of their own there. */
static unsigned numbers_given(const struct options *o)
{
    static const struct { const char *option; unsigned bit; } number[] = {
        { "top-p", ANSWER_TOP_P }, { "presence-penalty", ANSWER_PRESENCE }, { "frequency-penalty", ANSWER_FREQUENCY },
        { "seed", ANSWER_SEED }
    };
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (options_given(o, number[i].option))
            bits |= number[i].bit;
    return bits;
}

static struct answer_task task_elsewhere(struct run *r)
{
    return (struct answer_task){ .session = r->session, .system = answerer_system(r->answerer), .question = r->question,
                                 .turn = r->turn, .n_turns = r->turn ? r->n_turns : 0, .opt = &r->o.gkv,
                                 .sent = numbers_given(&r->o), .io = r->o.io, .progress = &r->progress };
}

static gkv_status next(struct run *r, const char **text, size_t *len, gkv_error *err)
{
    struct answer_task t;

    if (!r->answerer)
        return gkv_next(r->session, text, len, err);
    t = task_elsewhere(r);
    return answerer_next(r->answerer, &t, text, len, err);
}

/* The session has done its part, so that a signal is not for it. */
static void ask_elsewhere(struct run *r)
{
    const struct answer_task t = task_elsewhere(r);

    progress_watch(&r->progress, NULL);
    answerer_ask(r->answerer, &t);
    if (r->progress.draw) {
        char *line = format("waiting for %.100s", answerer_model(r->answerer));

        say_fleeting(r->o.io, line);
        free(line);
    }
}

int run_answer(struct run *r, struct text *answer, gkv_status *status, gkv_error *err)
{
    const char *text;
    size_t      len;
    char        last = '\n';
    int         code = 0;

    *status = GKV_END;
    r->nothing = found_nothing(r);
    if (r->nothing) {                           /* no answer is better than an invention  */
        text_puts(answer, NOT_FOUND);
        if (!r->o.json)
            out_printf(r->o.io, NOT_FOUND "\n");
        return 0;
    }
    if (r->answerer)
        ask_elsewhere(r);
    while (!code && (*status = next(r, &text, &len, err)) == GKV_OK) {
        text_add(answer, text, len);
        if (r->o.lines && len)
            code = evidence_token(r, text, len);
        if (!r->o.json && !r->o.cite && len) {
            out_text(r->o.io, text, len);
            code = out_flush(r->o.io);
            last = text[len - 1];
        }
    }
    if (!code && !r->o.json && !r->o.cite && *status == GKV_END && !r->grammar && isatty(fileno(r->o.io->out)) &&
        cut(r)) {
        out_printf(r->o.io, "\xe2\x80\xa6");
        last = 0;
    }
    if (!code && r->o.cite && !r->o.json)
        evidence_print_cited(r, answer->p ? answer->p : "", answer->n);
    else if (!code && !r->o.json && last != '\n')
        out_char(r->o.io, '\n');
    return code;
}

int run_take(struct run *r, struct text *answer)
{
    gkv_error  err = { 0 };
    gkv_status status;
    gkv_stats  s;
    int        code = run_answer(r, answer, &status, &err);

    if (code)                                   /* nobody reads it: no need to decode the rest */
        return code;
    if (status != GKV_CANCELLED)
        return status == GKV_END ? 0 : run_failed(r->o.io, &r->progress, status, &err);
    run_stats(r, &s);
    return fail(r->o.io, EXIT_FAILED, "cancelled after %" PRIu64 " tokens of the answer", s.tokens_answer);
}

void run_leave(struct run *r)
{
    progress_watch(&r->progress, NULL);
    gkv_session_close(r->session);
    r->session = NULL;
}

void run_close(struct run *r)
{
    output_drop(&r->output);
    report_free(r->report);
    progress_end(&r->progress);
    answerer_close(r->answerer);
    gkv_session_close(r->session);
    gkv_grammar_close(r->grammar);
    free(r->part);
    library_close(&r->shelf);
    gkv_model_close(r->model);
    gkv_model_close(r->reader);
    options_free(&r->o);
    if (r->questions && r->questions != stdin)
        fclose(r->questions);
    free(r->line);
}

static int ask_one(struct run *r, run_ask *ask, int (*show)(struct run *r))
{
    int code = run_read(r);

    if (!code && r->confined)
        confine_read(&r->o);
    if (!code) {
        r->confined = false;
        code = run_one(r, ask);
    }
    return code ? code : show(r);
}

int run_questions(const struct cmd *cmd, struct io *io, int argc, char **argv, run_ask *ask,
                  int (*show)(struct run *r))
{
    struct run r = { .question = NULL };
    int        code = run_open(&r, cmd, io, argc, argv, check), written;

    code = processes_ready(io->processes, io, code, NULL);
    r.o.gkv.group = processes_group(io->processes);
    if (!code && ask == gkv_select && (!r.o.gkv.device || !strcmp(r.o.gkv.device, "auto")))
        r.o.gkv.device = "cpu";                 /* a device would have nothing to do      */
    if (!code && !r.questions)
        code = ask_one(&r, ask, show);
    while (!code && r.questions && next_question(&r, &code)) {
        if (!r.o.json) {
            out_printf(io, "? ");
            out_text(io, r.question, strlen(r.question));
            out_char(io, '\n');
            code = out_flush(io);
        }
        if (!code)
            code = ask_one(&r, ask, show);
    }
    written = report_write(&r);             /* what was answered before a failure, too */
    run_close(&r);
    return code ? code : written;
}

struct passage *run_passages(const struct run *r, size_t *n)
{
    size_t          n_kept;
    const gkv_kept *kept = gkv_session_kept(r->session, &n_kept);

    return place_passages(gkv_session_document(r->session), kept, n_kept, n);
}

const char *run_part(const struct run *r, uint32_t file)
{
    return r->o.library ? r->shelf.unit[file] : r->part ? r->part[file] : NULL;
}

char *run_place(const struct run *r, uint32_t file, const struct place *p)
{
    return place_cite(input_name(r->o.file.v[file]), run_part(r, file), p);
}
