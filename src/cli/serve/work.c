/* SPDX-License-Identifier: BSD-2-Clause
 * work.c - see work.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/cite.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/indexes.h"
#include "src/cli/serve/work.h"

enum {
    SHORT = 4 << 10,                    /* bytes of text that are read again sooner than an index is looked up */
    QUICK = 32 << 10,                   /* bytes of text that are read in a moment        */
    FEED = 1 << 20
};

struct work {
    struct io            *io;
    const struct options *o;
    gkv_model            *model, *reader;       /* reader: who reads                      */
    struct indexes       *indexes;
    struct answerer      *answerer;     /* who answers elsewhere, or NULL                 */
    struct run            library;      /* whose shelf is the library, if there is one    */
    pthread_mutex_t       reading;      /* of the library, which has one reader at a time */
};

/* ---- reading ------------------------------------------------------------------------- */
/* Tokens of what is still to come are not known: as many per byte as so far.  An empty text has no index. */
static void indexing(void *arg, const gkv_progress *g)
{
    struct ask    *a = arg;
    const double   all = (double)a->bytes, now = (double)a->bytes_now;

    ask_tell(a, ((double)a->bytes_done + g->fraction * now) / all, (uint64_t)((double)g->tokens * all / now));
}

static void asking(void *arg, const gkv_progress *g)
{
    struct ask *a = arg;

    if (!a->indexed)
        ask_tell(a, progress_share(g), g->tokens);
}

static gkv_status cancelled(gkv_error *err)
{
    snprintf(err->text, sizeof err->text, "cancelled");
    return err->status = GKV_CANCELLED;
}

static gkv_status feed(struct ask *a, gkv_document *d, const struct source *s, gkv_error *err)
{
    gkv_status status = GKV_OK;

    for (size_t at = 0, n; at < s->text.n && !status; at += n) {
        n = s->text.n - at < FEED ? s->text.n - at : FEED;
        status = ask_gone(a) ? cancelled(err) : gkv_document_feed(d, s->text.p + at, n, err);
    }
    return status ? status : gkv_document_end_file(d, err);
}

static gkv_status load_text(struct source *s, gkv_error *err)
{
    int fd;

    if (!s->path || s->text.p)
        return GKV_OK;
    fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        snprintf(err->text, sizeof err->text, "%.100s: it was deleted meanwhile", s->name);
        return err->status = GKV_DOCUMENT;
    }
    if (fd < 0 || !text_read(&s->text, fd)) {
        snprintf(err->text, sizeof err->text, "%.100s: its text cannot be read: %s", s->name, strerror(errno));
        err->status = GKV_IO;
        text_free(&s->text);
    }
    if (fd >= 0)
        close(fd);
    return s->text.p ? GKV_OK : GKV_IO;
}

/* Of the documents, chat template, system prompt and thinking are for the model that answers. */
static gkv_options document_options(const struct work *w, const struct ask *a)
{
    return w->reader == w->model ? a->opt : run_reader_options(&a->opt);
}

static uint64_t key_of(const struct work *w, const struct ask *a, const struct source *s)
{
    const gkv_options opt = document_options(w, a);

    return indexes_key(s->text.p, s->text.n, &opt, w->o->grade);
}

static gkv_status make_index(struct work *w, struct ask *a, const struct source *s, uint64_t key, gkv_error *err)
{
    gkv_options   opt = document_options(w, a);
    gkv_document *d = NULL;
    gkv_status    status = gkv_document_open(&d, w->reader, &opt, err);

    opt.progress = indexing;
    opt.progress_arg = a;
    if (!status)
        status = feed(a, d, s, err);
    if (!status)
        status = ask_watch(a, NULL, d) ? indexes_make(w->indexes, key, d, &opt, w->o->grade, err) : cancelled(err);
    ask_watch(a, NULL, NULL);
    if (!status)
        a->read += gkv_document_tokens(d);
    gkv_document_close(d);
    return status;
}

static gkv_status indexed_part(struct work *w, struct ask *a, const struct source *s, gkv_document **out, gkv_error *err)
{
    const uint64_t    key = key_of(w, a, s);
    const gkv_options opt = document_options(w, a);
    gkv_status        status = indexes_load(w->indexes, key, w->reader, &opt, s->text.p, s->text.n, out, err);

    a->bytes_now = s->text.n;
    if (!status && !*out) {
        status = make_index(w, a, s, key, err);
        if (!status)
            status = indexes_load(w->indexes, key, w->reader, &opt, s->text.p, s->text.n, out, err);
        if (!status && !*out) {
            snprintf(err->text, sizeof err->text, "%.100s: its index was lost; is the disk full?", s->name);
            status = err->status = GKV_IO;
        }
    }
    a->bytes_done += s->text.n;
    return status;
}

static gkv_status indexed(struct work *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    gkv_document **part = grow(NULL, a->n_sources, sizeof(gkv_document *));
    size_t         n = 0;
    gkv_status     status = GKV_OK;

    a->bytes_done = 0;
    while (n < a->n_sources && !status)
        if (!(status = indexed_part(w, a, &a->source[n], &part[n], err)))
            n++;
    if (!status && n == 1)
        *out = part[0];
    else if (!status)
        status = gkv_document_join(out, part, n, err);
    for (size_t i = 0; i < n && status; i++)
        gkv_document_close(part[i]);
    free(part);
    return status;
}

static gkv_status plain(struct work *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    const gkv_options opt = document_options(w, a);
    gkv_status        status = gkv_document_open(out, w->reader, &opt, err);

    for (size_t i = 0; i < a->n_sources && !status; i++)
        status = feed(a, *out, &a->source[i], err);
    return status;
}

/* An index serves methods of two passes, in the order that it stands for. */
static bool can_index(const struct ask *a)
{
    size_t            n;
    const gkv_method *m = gkv_methods(&n);
    const char       *name = a->opt.method ? a->opt.method : "gemfilter", *schedule = a->opt.schedule;
    const size_t      len = strcspn(name, ":");

    if ((schedule && strcmp(schedule, "auto")) || a->opt.attention)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strlen(m[i].name) == len && !strncmp(m[i].name, name, len))
            return m[i].two_passes;
    return false;
}

/* Their texts, from the folder where they are there. */
static gkv_status load_texts(struct ask *a, gkv_error *err)
{
    gkv_status status = GKV_OK;

    a->bytes = 0;
    for (size_t i = 0; i < a->n_sources && !status; i++) {
        status = load_text(&a->source[i], err);
        a->source[i].bytes = a->source[i].text.n;
        a->bytes += a->source[i].bytes;
    }
    return status;
}

static gkv_status read_sources(struct work *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    gkv_status status = load_texts(a, err);

    if (status)
        return status;
    if (a->bytes > SHORT && can_index(a)) {
        status = indexed(w, a, out, err);
        a->indexed = status == GKV_OK;
        if (status != GKV_UNSUPPORTED)          /* heads that no grade can hold have none */
            return status;
    }
    return plain(w, a, out, err);
}

/* ---- answering ----------------------------------------------------------------------- */
static char *keep_text(const char *s)
{
    return s && *s ? format("%s", s) : NULL;
}

static void keep_result(struct ask *a, gkv_session *s)
{
    size_t              n_kept = 0, n = 0;
    const gkv_kept     *kept = gkv_session_kept(s, &n_kept);
    struct passage     *p = place_passages(gkv_session_document(s), kept, n_kept, &n);
    struct cited        c;

    gkv_session_stats(s, &a->stats);
    a->finish = keep_text(a->stats.finish);
    a->thought = keep_text(a->stats.thought);
    a->warning = keep_text(a->stats.warning);
    a->method = keep_text(a->stats.method);
    a->schedule = keep_text(a->stats.schedule);
    if (a->no_document) {
        free(p);
        return;
    }
    a->passage = grow(NULL, n, sizeof *a->passage);
    for (size_t i = 0; i < n; i++)
        a->passage[i] = (struct ask_passage){
            .source = p[i].best->file, .place = p[i].place, .span = p[i].span, .score = p[i].best->score,
            .text = format("%.*s", (int)(p[i].span.end - p[i].span.start), p[i].text)
        };
    a->n_passages = n;

    c = cite_answer(a->answer.p, a->answer.n, a->question, p, n);
    a->claim = grow(NULL, c.n, sizeof *a->claim);
    for (size_t i = 0; i < c.n; i++) {
        const struct span sentence = c.claim[i].sentence;

        if (c.claim[i].passage)
            a->claim[a->n_claims++] = (struct ask_claim){
                .sentence = format("%.*s", (int)(sentence.end - sentence.start), c.answer.p + sentence.start),
                .passage = (size_t)(c.claim[i].passage - p), .end = (size_t)sentence.end
            };
    }
    cite_free(&c);
    free(p);
}

static bool is_gone(void *arg)
{
    return ask_gone(arg);
}

/* The session has chosen: its text goes to who answers elsewhere. */
static gkv_status answer_elsewhere(struct work *w, struct ask *a, gkv_session *s, gkv_error *err)
{
    struct answerer         *answerer = answerer_copy(w->answerer);
    const struct answer_task t = { .session = s, .system = a->system ? a->system : answerer_system(answerer),
                                   .question = a->question, .turn = a->turn, .n_turns = a->n_turns, .opt = &a->opt,
                                   .sent = a->sent, .format = a->format, .io = w->io, .cancelled = is_gone, .arg = a };
    const char *text;
    size_t      n;
    gkv_status  status;

    answerer_ask(answerer, &t);
    while (!(status = answerer_next(answerer, &t, &text, &n, err)))
        ask_give(a, text, n);
    if (status == GKV_END) {
        keep_result(a, s);
        answerer_stats(answerer, &a->stats);
        free(a->finish);
        a->finish = keep_text(a->stats.finish);
    } else if (status == GKV_IO) {
        a->elsewhere = true;
    }
    answerer_close(answerer);
    return status;
}

static gkv_status converse(struct work *w, struct ask *a, gkv_session *s, gkv_error *err)
{
    const char *text;
    size_t      n;
    gkv_status  status = ask_watch(a, s, NULL) ? GKV_OK : cancelled(err);

    text_add(&a->answer, "", 0);
    if (!status && a->n_turns)
        status = gkv_session_turns(s, a->turn, a->n_turns, err);
    if (!status)
        status = (w->answerer ? gkv_select : gkv_ask)(s, a->question, strlen(a->question), err);
    if (!status && w->answerer)
        status = answer_elsewhere(w, a, s, err);
    while (!status && !(status = gkv_next(s, &text, &n, err)))
        ask_give(a, text, n);
    ask_watch(a, NULL, NULL);
    if (status == GKV_END) {
        if (!w->answerer)
            keep_result(a, s);
        if (!a->indexed)
            a->read = a->stats.tokens_prompt;
    }
    return status;
}

static gkv_status ask_texts(struct work *w, struct ask *a, gkv_error *err)
{
    gkv_document *d = NULL;
    gkv_session  *s = NULL;
    gkv_status    status = read_sources(w, a, &d, err);

    if (!status)
        status = gkv_session_for(&s, w->model, d, &a->opt, err);
    if (!status)
        status = converse(w, a, s, err);
    gkv_session_close(s);
    gkv_document_close(d);
    return status;
}

/* ---- a library ----------------------------------------------------------------------- */
/* Its documents were read without this system prompt, so that is said with the question. */
static void say_system(const struct work *w, struct ask *a)
{
    char *both;

    if (!a->system || w->answerer)
        return;
    both = format("%s\n\n%s", a->system, a->question);
    free(a->question);
    free(a->system);
    a->question = both;
    a->opt.system = a->system = NULL;
}

static void forget_sources(struct ask *a)
{
    for (size_t i = 0; i < a->n_sources; i++) {
        free(a->source[i].name);
        free(a->source[i].part);
    }
    a->n_sources = 0;
}

static void name_sources(struct ask *a, const struct run *r)
{
    a->n_sources = r->shelf.n;
    a->source = grow(a->source, a->n_sources, sizeof *a->source);
    for (size_t i = 0; i < a->n_sources; i++) {
        size_t n = 0;

        gkv_document_text(r->shelf.document, i, &n);
        a->source[i] = (struct source){ .name = format("%s", r->shelf.name[i]), .bytes = n,
                                        .part = r->shelf.unit[i] ? format("%s", r->shelf.unit[i]) : NULL };
    }
}

/* The first line of what library.c has said: an error, or a warning.  For free(). */
static char *first_line(const char *said)
{
    static const char *const before[] = { "gemkv: ", "warning: " };

    for (size_t i = 0; i < 2; i++)
        said += strncmp(said, before[i], strlen(before[i])) ? 0 : strlen(before[i]);
    return format("%.*s", (int)strcspn(said, "\n"), said);
}

static gkv_status failed(int code, const char *said, gkv_error *err)
{
    char *line = first_line(said);

    snprintf(err->text, sizeof err->text, "%s", line);
    free(line);
    return err->status = code == EXIT_TOO_BIG ? GKV_LIMIT : code == EXIT_DOCUMENT ? GKV_DOCUMENT : GKV_IO;
}

static gkv_status ask_library(struct work *w, struct ask *a, gkv_error *err)
{
    struct run *r = &w->library;
    char       *said = NULL, *words;
    size_t      n;
    struct io   io = { .out = w->io->out, .err = open_memstream(&said, &n) };
    gkv_status  status = GKV_OK;
    int         code;

    if (!io.err)
        out_of_memory();
    words = format("%s%s%s", a->n_turns ? a->turn[a->n_turns - 1].question : "", a->n_turns ? " " : "", a->question);
    say_system(w, a);
    pthread_mutex_lock(&w->reading);
    r->o.gkv = a->opt;
    r->o.io = &io;
    r->question = a->question;
    r->words = words;
    code = library_session(r);
    close_text(io.err, &said);
    if (code)
        status = failed(code, said, err);
    if (!status) {
        a->indexed = true;
        name_sources(a, r);
        status = converse(w, a, r->session, err);
    }
    if (status == GKV_END && !a->warning && *said)
        a->warning = first_line(said);
    if (status != GKV_END)                      /* it may be asked once more              */
        forget_sources(a);
    gkv_session_close(r->session);              /* the next question has options of its own */
    r->session = NULL;
    pthread_mutex_unlock(&w->reading);
    free(words);
    free(said);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------- */
/* The options of the question. */
static void prepare(struct work *w, struct ask *a)
{
    a->opt.reader = w->reader == w->model ? NULL : w->reader;
    a->opt.system = w->answerer ? NULL : a->system;
    a->opt.stop = a->stop.v;
    a->opt.n_stop = a->stop.n;
    a->opt.grammar = a->grammar;
    a->opt.note = NULL;
    a->opt.progress = asking;
    a->opt.progress_arg = a;
}

void work_on(struct work *w, struct ask *a)
{
    prepare(w, a);
    a->bytes_done = 0;
    a->read = 0;
    ask_tell(a, 0, 0);
    a->status = (a->n_sources ? ask_texts : ask_library)(w, a, &a->err);
}

bool work_is_quick(struct work *w, struct ask *a)
{
    gkv_error err = { 0 };
    bool      quick = true;

    prepare(w, a);                              /* an index is of one system prompt       */
    if (load_texts(a, &err))
        return true;                            /* it will be refused                     */
    if (a->bytes > QUICK)
        for (size_t i = 0; i < a->n_sources && quick; i++)
            quick = can_index(a) && indexes_has(w->indexes, key_of(w, a, &a->source[i]));
    for (size_t i = 0; i < a->n_sources; i++)
        if (a->source[i].path)
            text_free(&a->source[i].text);      /* it waits on the disk                   */
    return quick;
}

struct work *work_open(struct run *r, const struct folder *f, uint64_t most)
{
    struct work *w = grow(NULL, 1, sizeof *w);

    *w = (struct work){ .io = r->o.io, .o = &r->o, .model = r->model, .reader = run_reader(r), .indexes = indexes_open(f, most),
                        .answerer = r->answerer };
    w->library = (struct run){ .o = { .library = r->o.library, .among = r->o.among, .top = r->o.top, .cmd = r->o.cmd },
                               .model = r->model, .reader = r->reader, .shelf.library = r->shelf.library, .mute = true };
    r->shelf.library = NULL;
    pthread_mutex_init(&w->reading, NULL);
    return w;
}

void work_close(struct work *w)
{
    if (!w)
        return;
    indexes_close(w->indexes);
    library_close(&w->library.shelf);
    free(w->library.o.file.v);
    pthread_mutex_destroy(&w->reading);
    free(w);
}
