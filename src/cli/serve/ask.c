/* SPDX-License-Identifier: BSD-2-Clause
 * ask.c - see ask.h */
#include "config.h"
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/cite.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/ask.h"

enum {
    WAITING = 64,                       /* questions that may wait                        */
    SHORT = 4 << 10,                   /* bytes of text that are read again sooner than an index is looked up */
    FEED = 1 << 20
};

/* The index of a text, for any question about it. */
struct segment {
    uint64_t    key;                    /* of text, system prompt and thinking            */
    char       *path;
    uint64_t    bytes, used;            /* on the disk; when, as a counter                */
};

struct asks {
    struct io            *io;
    const struct options *o;
    gkv_model            *model, *reader;       /* reader: who reads                      */
    char                 *folder;
    uint64_t              most;         /* bytes of all segments                          */
    pthread_t             thread;
    pthread_mutex_t       lock;         /* of all below, and of each ask's state          */
    pthread_cond_t        work;
    struct ask          **queue;        /* the first is being answered if `busy`          */
    size_t                n_queue;
    bool                  busy, ending;
    /* The thread's: */
    struct segment       *segment;
    size_t                n_segments;
    uint64_t              clock, number;
    struct run            library;      /* whose shelf is the library, if there is one    */
};

struct ask_private {
    struct asks    *asks;
    pthread_cond_t  changed;
    struct ask_now  now;
    double          began;
    struct text     fresh;              /* of the answer, not yet given to the asker      */
    bool            ended;              /* the thread has let it go                       */
    atomic_bool     gone;               /* nobody waits                                   */
    gkv_session    *session;            /* to be cancelled, as these ...                  */
    gkv_document   *document;
    uint64_t        bytes, bytes_done, bytes_now;       /* of the sources: all, read, being read */
};

/* ---- the asker's side ---------------------------------------------------------------- */
struct ask *ask_new(struct asks *w)
{
    struct ask        *a = grow(NULL, 1, sizeof *a);
    pthread_condattr_t attr;

    *a = (struct ask){ .opt = w->o->gkv, .own = grow(NULL, 1, sizeof *a->own) };
    *a->own = (struct ask_private){ .asks = w, .began = progress_clock() };
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->own->changed, &attr);
    pthread_condattr_destroy(&attr);
    return a;
}

bool ask_start(struct asks *w, struct ask *a)
{
    bool taken;

    pthread_mutex_lock(&w->lock);
    taken = w->n_queue < WAITING && !w->ending;
    if (taken) {
        w->queue = grow(w->queue, w->n_queue + 1, sizeof(struct ask *));
        a->own->now.ahead = w->n_queue;
        w->queue[w->n_queue++] = a;
        pthread_cond_signal(&w->work);
    } else {
        a->own->ended = true;
        a->own->now.state = ASK_ENDED;
    }
    pthread_mutex_unlock(&w->lock);
    return taken;
}

bool ask_wait(struct ask *a, double seconds, struct text *piece, struct ask_now *now)
{
    struct ask_private *p = a->own;
    struct ask_now      before = *now;
    struct timespec     until;
    bool                more;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->asks->lock);
    while (!p->fresh.n && !p->ended && p->now.state == before.state && p->now.ahead == before.ahead)
        if (pthread_cond_timedwait(&p->changed, &p->asks->lock, &until))
            break;
    text_add(piece, p->fresh.p, p->fresh.n);
    p->fresh.n = 0;
    *now = p->now;
    now->seconds = progress_clock() - p->began;
    more = !p->ended;
    pthread_mutex_unlock(&p->asks->lock);
    return more;
}

/* Under the lock. */
static void cancel(struct ask_private *p)
{
    atomic_store(&p->gone, true);
    if (p->session)
        gkv_cancel(p->session);
    if (p->document)
        gkv_document_cancel(p->document);
}

static void leave_queue(struct asks *w, const struct ask *a)
{
    size_t i = 0;

    while (i < w->n_queue && w->queue[i] != a)
        i++;
    if (i == w->n_queue)
        return;
    memmove(w->queue + i, w->queue + i + 1, (--w->n_queue - i) * sizeof *w->queue);
    for (; i < w->n_queue; i++) {
        w->queue[i]->own->now.ahead = i;
        pthread_cond_broadcast(&w->queue[i]->own->changed);
    }
}

void ask_end(struct ask *a)
{
    struct ask_private *p = a->own;
    struct asks        *w = p->asks;

    pthread_mutex_lock(&w->lock);
    if (!p->ended && w->busy && w->queue[0] == a) {
        cancel(p);
        while (!p->ended)
            pthread_cond_wait(&p->changed, &w->lock);
    } else {
        leave_queue(w, a);
    }
    pthread_mutex_unlock(&w->lock);

    for (size_t i = 0; i < a->n_sources; i++) {
        free(a->source[i].name);
        free(a->source[i].id);
        free(a->source[i].path);
        free(a->source[i].part);
        text_free(&a->source[i].text);
    }
    for (size_t i = 0; i < a->n_turns; i++) {
        free((char *)(uintptr_t)a->turn[i].question);
        free((char *)(uintptr_t)a->turn[i].answer);
    }
    for (size_t i = 0; i < a->stop.n; i++)
        free((char *)(uintptr_t)a->stop.v[i]);
    for (size_t i = 0; i < a->n_passages; i++)
        free(a->passage[i].text);
    for (size_t i = 0; i < a->n_claims; i++)
        free(a->claim[i].sentence);
    free(a->source);
    free(a->turn);
    free(a->stop.v);
    free(a->passage);
    free(a->claim);
    free(a->question);
    free(a->system);
    free(a->finish);
    free(a->thought);
    free(a->warning);
    free(a->method);
    free(a->schedule);
    gkv_grammar_close(a->grammar);
    text_free(&a->answer);
    text_free(&p->fresh);
    pthread_cond_destroy(&p->changed);
    free(p);
    free(a);
}

/* ---- the thread: reading ------------------------------------------------------------- */
static void tell(struct ask *a, enum ask_state state, double fraction, uint64_t tokens)
{
    struct ask_private *p = a->own;

    pthread_mutex_lock(&p->asks->lock);
    p->now.state = state;
    p->now.fraction = fraction;
    p->now.tokens = tokens;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->asks->lock);
}

/* Tokens of what is still to come are not known: as many per byte as so far. */
static void indexing(void *arg, const gkv_progress *g)
{
    struct ask         *a = arg;
    struct ask_private *p = a->own;
    const double        all = p->bytes ? (double)p->bytes : 1, now = (double)p->bytes_now;

    tell(a, ASK_READS, ((double)p->bytes_done + g->fraction * now) / all,
         now > 0 ? (uint64_t)((double)g->tokens * all / now) : g->tokens);
}

static void asking(void *arg, const gkv_progress *g)
{
    struct ask *a = arg;

    if (!a->indexed)
        tell(a, ASK_READS, progress_share(g), g->tokens);
}

static gkv_status cancelled(gkv_error *err)
{
    snprintf(err->text, sizeof err->text, "cancelled");
    return err->status = GKV_CANCELLED;
}

/* What is to be cancelled from now on, if anything.  False: it was, before. */
static bool watch(struct ask *a, gkv_session *s, gkv_document *d)
{
    struct ask_private *p = a->own;
    bool                gone;

    pthread_mutex_lock(&p->asks->lock);
    p->session = s;
    p->document = d;
    gone = atomic_load(&p->gone);
    pthread_mutex_unlock(&p->asks->lock);
    return !gone;
}

static gkv_status feed(struct ask *a, gkv_document *d, const struct source *s, gkv_error *err)
{
    gkv_status status = GKV_OK;

    for (size_t at = 0, n; at < s->text.n && !status; at += n) {
        n = s->text.n - at < FEED ? s->text.n - at : FEED;
        status = atomic_load(&a->own->gone) ? cancelled(err) : gkv_document_feed(d, s->text.p + at, n, err);
    }
    return status ? status : gkv_document_end_file(d, err);
}

static gkv_status load_text(struct source *s, gkv_error *err)
{
    int fd;

    if (!s->path || s->text.p)
        return GKV_OK;
    fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(err->text, sizeof err->text, "%.100s: it was deleted meanwhile", s->name);
        return err->status = GKV_DOCUMENT;
    }
    text_read(&s->text, fd);
    close(fd);
    return GKV_OK;
}

/* FNV-1a; equal numbers are not trusted, the texts are compared. */
static uint64_t hash(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t key_of(const struct ask *a, const struct source *s)
{
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), s->text.p, s->text.n);

    h = hash(h, a->system ? a->system : "", a->system ? strlen(a->system) + 1 : 0);
    return hash(h, &a->opt.think, sizeof a->opt.think);
}

static void drop_segment(struct asks *w, size_t i)
{
    unlink(w->segment[i].path);
    free(w->segment[i].path);
    memmove(w->segment + i, w->segment + i + 1, (--w->n_segments - i) * sizeof *w->segment);
}

static uint64_t segments_bytes(const struct asks *w)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->n_segments; i++)
        sum += w->segment[i].bytes;
    return sum;
}

/* The least recently used go, but not the one just made. */
static void make_room(struct asks *w)
{
    while (w->n_segments > 1 && segments_bytes(w) > w->most) {
        size_t oldest = 0;

        for (size_t i = 1; i + 1 < w->n_segments; i++)
            if (w->segment[i].used < w->segment[oldest].used)
                oldest = i;
        drop_segment(w, oldest);
    }
}

static bool has_text(const gkv_document *d, const struct source *s)
{
    size_t      n;
    const char *text = gkv_document_text(d, 0, &n);

    return text && n == s->text.n && !memcmp(text, s->text.p, n);
}

/* Of the documents, chat template, system prompt and thinking are for the model that answers. */
static gkv_options document_options(const struct asks *w, const struct ask *a)
{
    return w->reader == w->model ? a->opt : run_reader_options(&a->opt);
}

static gkv_document *known(struct asks *w, struct ask *a, const struct source *s, uint64_t key)
{
    const gkv_options opt = document_options(w, a);

    for (size_t i = 0; i < w->n_segments; i++) {
        gkv_document *d = NULL;

        if (w->segment[i].key != key)
            continue;
        if (!gkv_document_load(&d, w->reader, &opt, w->segment[i].path, NULL) && has_text(d, s)) {
            w->segment[i].used = ++w->clock;
            return d;
        }
        gkv_document_close(d);
        drop_segment(w, i);
        break;
    }
    return NULL;
}

static gkv_status make_segment(struct asks *w, struct ask *a, const struct source *s, uint64_t key, gkv_error *err)
{
    gkv_options     opt = document_options(w, a);
    gkv_document   *d = NULL;
    char           *path = format("%s/index-%" PRIu64, w->folder, ++w->number);
    struct stat     st;
    gkv_status      status = gkv_document_open(&d, w->reader, &opt, err);

    opt.progress = indexing;
    opt.progress_arg = a;
    if (!status)
        status = feed(a, d, s, err);
    if (!status)
        status = watch(a, NULL, d) ? gkv_document_index(d, &opt, w->o->grade, path, err) : cancelled(err);
    watch(a, NULL, NULL);
    if (!status)
        a->read += gkv_document_tokens(d);
    gkv_document_close(d);
    if (status) {
        free(path);
        return status;
    }
    w->segment = grow(w->segment, w->n_segments + 1, sizeof *w->segment);
    w->segment[w->n_segments++] = (struct segment){ .key = key, .path = path, .used = ++w->clock,
                                                    .bytes = stat(path, &st) ? 0 : (uint64_t)st.st_blocks * 512 };
    make_room(w);
    return GKV_OK;
}

static gkv_status indexed_part(struct asks *w, struct ask *a, const struct source *s, gkv_document **out, gkv_error *err)
{
    const uint64_t    key = key_of(a, s);
    const gkv_options opt = document_options(w, a);
    gkv_status        status;

    a->own->bytes_now = s->text.n;
    *out = known(w, a, s, key);
    if (!*out) {
        status = make_segment(w, a, s, key, err);
        if (status)
            return status;
        status = gkv_document_load(out, w->reader, &opt, w->segment[w->n_segments - 1].path, err);
        if (status)
            return status;
    }
    a->own->bytes_done += s->text.n;
    return GKV_OK;
}

static gkv_status indexed(struct asks *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    gkv_document **part = grow(NULL, a->n_sources, sizeof(gkv_document *));
    size_t         n = 0;
    gkv_status     status = GKV_OK;

    a->own->bytes_done = 0;
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

static gkv_status plain(struct asks *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    const gkv_options opt = document_options(w, a);
    gkv_status        status = gkv_document_open(out, w->reader, &opt, err);

    for (size_t i = 0; i < a->n_sources && !status; i++)
        status = feed(a, *out, &a->source[i], err);
    return status;
}

/* An index serves methods of two passes, in the order that it stands for. */
static bool can_index(const struct asks *w, const struct ask *a)
{
    size_t            n;
    const gkv_method *m = gkv_methods(&n);
    const char       *name = a->opt.method ? a->opt.method : "gemfilter", *schedule = a->opt.schedule;
    const size_t      len = strcspn(name, ":");

    (void)w;
    if (schedule && strcmp(schedule, "auto"))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strlen(m[i].name) == len && !strncmp(m[i].name, name, len))
            return m[i].two_passes;
    return false;
}

static gkv_status read_sources(struct asks *w, struct ask *a, gkv_document **out, gkv_error *err)
{
    gkv_status status = GKV_OK;

    a->own->bytes = 0;
    for (size_t i = 0; i < a->n_sources && !status; i++) {
        status = load_text(&a->source[i], err);
        a->source[i].bytes = a->source[i].text.n;
        a->own->bytes += a->source[i].bytes;
    }
    if (status)
        return status;
    if (a->own->bytes > SHORT && can_index(w, a)) {
        status = indexed(w, a, out, err);
        a->indexed = status == GKV_OK;
        if (status != GKV_UNSUPPORTED)          /* layers with a state have no index yet  */
            return status;
    }
    return plain(w, a, out, err);
}

/* ---- the thread: answering ----------------------------------------------------------- */
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

static void give(struct ask *a, const char *text, size_t n)
{
    struct ask_private *p = a->own;

    text_add(&a->answer, text, n);
    pthread_mutex_lock(&p->asks->lock);
    p->now.state = ASK_ANSWERS;
    text_add(&p->fresh, text, n);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->asks->lock);
}

static gkv_status converse(struct ask *a, gkv_session *s, gkv_error *err)
{
    const char *text;
    size_t      n;
    gkv_status  status = watch(a, s, NULL) ? GKV_OK : cancelled(err);

    text_add(&a->answer, "", 0);
    if (!status && a->n_turns)
        status = gkv_session_turns(s, a->turn, a->n_turns, err);
    if (!status)
        status = gkv_ask(s, a->question, strlen(a->question), err);
    while (!status && !(status = gkv_next(s, &text, &n, err)))
        give(a, text, n);
    watch(a, NULL, NULL);
    if (status == GKV_END) {
        keep_result(a, s);
        if (!a->indexed)
            a->read = a->stats.tokens_prompt;
    }
    return status;
}

static gkv_status ask_texts(struct asks *w, struct ask *a, gkv_error *err)
{
    gkv_document *d = NULL;
    gkv_session  *s = NULL;
    gkv_status    status = read_sources(w, a, &d, err);

    if (!status)
        status = gkv_session_for(&s, w->model, d, &a->opt, err);
    if (!status)
        status = converse(a, s, err);
    gkv_session_close(s);
    gkv_document_close(d);
    return status;
}

/* ---- the thread: a library ----------------------------------------------------------- */
/* Its documents were read without this system prompt, so that is said with the question. */
static void say_system(struct ask *a)
{
    char *both;

    if (!a->system)
        return;
    both = format("%s\n\n%s", a->system, a->question);
    free(a->question);
    a->question = both;
    a->opt.system = NULL;
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

static gkv_status ask_library(struct asks *w, struct ask *a, gkv_error *err)
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
    say_system(a);
    r->o.gkv = a->opt;
    r->o.io = &io;
    r->question = a->question;
    r->words = words;
    code = library_session(r);
    fclose(io.err);
    if (code)
        status = failed(code, said, err);
    if (!status) {
        a->indexed = true;
        name_sources(a, r);
        status = converse(a, r->session, err);
    }
    if (status == GKV_END && !a->warning && *said)
        a->warning = first_line(said);
    watch(a, NULL, NULL);
    gkv_session_close(r->session);              /* the next question has options of its own */
    r->session = NULL;
    free(words);
    free(said);
    return status;
}

static void work_on(struct asks *w, struct ask *a)
{
    a->opt.reader = w->reader == w->model ? NULL : w->reader;
    a->opt.system = a->system;
    a->opt.stop = a->stop.v;
    a->opt.n_stop = a->stop.n;
    a->opt.grammar = a->grammar;
    a->opt.note = NULL;
    a->opt.progress = asking;
    a->opt.progress_arg = a;
    tell(a, ASK_READS, 0, 0);
    a->status = (a->n_sources ? ask_texts : ask_library)(w, a, &a->err);
}

/* ---- the thread ---------------------------------------------------------------------- */
static void let_go(struct ask *a)
{
    a->own->ended = true;
    a->own->now.state = ASK_ENDED;
    pthread_cond_broadcast(&a->own->changed);
}

static void *thread(void *arg)
{
    struct asks *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct ask *a;

        while (!w->n_queue && !w->ending)
            pthread_cond_wait(&w->work, &w->lock);
        if (!w->n_queue)
            break;
        a = w->queue[0];
        w->busy = true;
        pthread_mutex_unlock(&w->lock);
        work_on(w, a);
        pthread_mutex_lock(&w->lock);
        w->busy = false;
        leave_queue(w, a);
        let_go(a);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct asks *asks_open(struct run *r, const char *folder, uint64_t most)
{
    struct asks *w = grow(NULL, 1, sizeof *w);

    *w = (struct asks){ .io = r->o.io, .o = &r->o, .model = r->model, .reader = run_reader(r), .folder = format("%s", folder),
                        .most = most };
    w->library = (struct run){ .o = { .library = r->o.library, .among = r->o.among, .top = r->o.top, .cmd = r->o.cmd },
                               .model = r->model, .reader = r->reader, .shelf.library = r->shelf.library, .mute = true };
    r->shelf.library = NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    if (pthread_create(&w->thread, NULL, thread, w))
        out_of_memory();
    return w;
}

size_t asks_waiting(struct asks *w)
{
    size_t n;

    pthread_mutex_lock(&w->lock);
    n = w->n_queue;
    pthread_mutex_unlock(&w->lock);
    return n;
}

void asks_drain(struct asks *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    while (w->n_queue > w->busy) {
        struct ask *a = w->queue[w->n_queue - 1];

        a->status = cancelled(&a->err);
        leave_queue(w, a);
        let_go(a);
    }
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void asks_close(struct asks *w)
{
    if (!w)
        return;
    asks_drain(w);
    pthread_join(w->thread, NULL);
    while (w->n_segments)
        drop_segment(w, 0);
    library_close(&w->library.shelf);
    free(w->library.o.file.v);
    free(w->segment);
    free(w->queue);
    free(w->folder);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
