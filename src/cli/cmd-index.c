/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-index.c - read documents once, into a library that ask and select read */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/input.h"
#include "src/cli/json.h"
#include "src/cli/library.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

struct file {
    const char  *name;
    struct facts facts;
    bool         same;                  /* the library has it, and it has not changed     */
};

struct index {
    struct options  o;                  /* first                                          */
    const char     *grade;
    bool            again, remove, list, verify, prune;

    const char     *path;               /* of the library                                 */
    gkv_library    *library;
    gkv_model      *model;
    int32_t         layer;
    struct progress progress;
    struct json     json;
    struct file    *file;
    size_t          n_files, n_do, n_done;
    uint64_t        bytes, bytes_done, bytes_now;   /* of files that are read: the measure of time */
    uint64_t        tokens_done;
    size_t          n_indexed, n_same, n_failed;
    bool            stop;               /* the other files would fail as this one did     */
    bool            lost;               /* the library cannot be read or written, as was said */
    double          began;              /* when the first file was read; 0: not yet, negative: time is told */
};

static const struct opt own[] = {
    { 0, 0, "grade", "exact|q8|q4|compact", "compact, or what the document had",
      "what is kept of a document: exact answers, or fewer bytes", opt_choice, offsetof(struct index, grade), 0, 0 },
    { 0, 0, "again", NULL, NULL, "index also what has not changed",
      opt_flag, offsetof(struct index, again), 0, 0 },
    { 0, 0, "list", NULL, NULL, "print what the library has",
      opt_flag, offsetof(struct index, list), 0, 0 },
    { 0, 0, "remove", NULL, NULL, "remove the documents of these names",
      opt_flag, offsetof(struct index, remove), 0, 0 },
    { 0, 0, "verify", NULL, NULL, "read all of the library, and name what is damaged",
      opt_flag, offsetof(struct index, verify), 0, 0 },
    { 0, 0, "prune", NULL, NULL, "remove documents whose files are gone, and what nothing needs",
      opt_flag, offsetof(struct index, prune), 0, 0 },
    { .name = NULL }
};

/* ---- what is said -------------------------------------------------------------------- */
static void entry_json(struct json *j, const gkv_library_entry_info *e)
{
    char id[20];

    snprintf(id, sizeof id, "%016" PRIx64, e->hash);
    json_named_string(j, "hash", id);
    json_named_uint(j, "bytes", e->bytes);
    json_named_uint(j, "tokens", e->tokens);
    json_named_uint(j, "pages", e->pages);
    json_named_uint(j, "segment_bytes", e->segment_bytes);
    json_named_uint(j, "stored_bytes", e->stored_bytes);
    json_named_string(j, "grade", e->source.grade);
    json_named_layer(j, "layer", e->source.layer);
    json_named_string(j, "model", e->model_name);
    json_named_uint(j, "added", (uint64_t)e->added / 1000000000);
}

/* What became of a document; with --json, with what the library knows of it. */
static void state(struct index *x, const char *name, const char *what, const char *why)
{
    gkv_library_entry_info e;

    json_open(&x->json, '{');
    json_named_string(&x->json, "document", name);
    json_named_string(&x->json, "state", what);
    if (why)
        json_named_string(&x->json, "why", why);
    if (!gkv_library_get(x->library, name, &e, NULL))
        entry_json(&x->json, &e);
    json_close(&x->json);
}

static int library_total(struct index *x, size_t *n, uint64_t *tokens, uint64_t *bytes)
{
    gkv_error  err = { 0 };
    gkv_status status = gkv_library_find(x->library, NULL, NULL, 0, n, &err);

    *tokens = *bytes = 0;
    x->lost = status;
    if (status)
        return library_failed(x->o.io, status, &err);
    for (size_t i = 0; i < *n; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(x->library, i, &e);
        *tokens += e.tokens;
        *bytes += e.stored_bytes;
    }
    return 0;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static int say_total(struct index *x)
{
    size_t   n;
    uint64_t tokens, bytes;
    int      code = library_total(x, &n, &tokens, &bytes);
    char    *size = view_bytes(bytes);

    if (!code)
        say(x->o.io, "%s: %zu document%s, %" PRIu64 " tokens, %s", x->path, n, plural(n), tokens, size);
    free(size);
    return code;
}

/* ---- reading a document -------------------------------------------------------------- */
struct reading {
    struct index *x;
    const char   *name;
    gkv_document *d;
};

static int fed(const struct reading *r, gkv_status status, const gkv_error *err)
{
    if (!status)
        return 0;
    return status == GKV_DOCUMENT ? fail_library(r->x->o.io, status, err, r->name)
                                  : run_failed(r->x->o.io, &r->x->progress, status, err);
}

static int feed(void *arg, const char *text, size_t len)
{
    struct reading *r = arg;
    gkv_error       err = { 0 };

    return fed(r, gkv_document_feed(r->d, text, len, &err), &err);
}

static int read_document(struct index *x, const struct file *f, gkv_document **d, const char **part)
{
    struct reading r = { x, input_name(f->name), NULL };
    struct input_how how = { .ocr = x->o.ocr };
    gkv_error      err = { 0 };
    gkv_status     status = gkv_document_open(d, x->model, &x->o.gkv, &err);
    int            code;

    if (status)
        return run_failed(x->o.io, &x->progress, status, &err);
    r.d = *d;
    code = input_document(x->o.io, f->name, &how, feed, &r);
    *part = how.part;
    return code ? code : fed(&r, gkv_document_end_file(*d, &err), &err);
}

/* ---- what has to be done ------------------------------------------------------------- */
/* A file that was written in the second when it was read may have changed after that. */
static const int64_t sure = 2000000000;         /* ns                                     */

static bool looks_same(const struct index *x, const struct file *f, const gkv_library_entry_info *e)
{
    return f->facts.path && e->source.path && !strcmp(f->facts.path, e->source.path)
           && f->facts.bytes == e->source.bytes && f->facts.modified == e->source.modified
           && f->facts.modified + sure < e->added && !x->again
           && (!x->grade || !strcmp(x->grade, e->source.grade));
}

/* Its segment is not known to be damaged.  A whole segment is older than its entry; what is newer
 * somebody has written to. */
static bool looks_whole(struct index *x, const char *name)
{
    return gkv_library_verify_quick(x->library, name, NULL) == GKV_OK;
}

static void look(struct index *x, struct file *f, const char *name)
{
    gkv_library_entry_info e;

    *f = (struct file){ .name = name, .facts = library_facts(name) };
    f->same = !gkv_library_get(x->library, name, &e, NULL) && looks_same(x, f, &e) && looks_whole(x, name);
    if (f->same)
        return;
    x->n_do++;
    x->bytes += f->facts.bytes;
}

/* What it will take: how much there is to read, and as what it will be stored, as far as the library shows. */
static int foresee(struct index *x)
{
    uint64_t tokens, bytes, text = 0;
    size_t   n;
    int      code = library_total(x, &n, &tokens, &bytes);
    char    *size = view_bytes(x->bytes), *stored;

    for (size_t i = 0; !code && i < n; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(x->library, i, &e);
        text += e.source.bytes;
    }
    stored = view_bytes(text ? (uint64_t)((double)bytes / (double)text * (double)x->bytes) : 0);
    if (!code && x->n_do)
        say(x->o.io, "%s: reading %zu of %zu file%s, %s%s%s%s", x->path, x->n_do, x->n_files, plural(x->n_files), size,
            text ? "; about " : "", text ? stored : "", text ? " in the library" : "");
    free(size);
    free(stored);
    return code;
}

/* ---- indexing ------------------------------------------------------------------------ */
/* Speed shows after two seconds; where there is no terminal with a line of progress, this is all that is told. */
static void tell_time(struct index *x, double share)
{
    const double took = progress_clock() - x->began;

    if (x->began <= 0 || took < 2 || share <= 0)
        return;
    x->began = -1;
    if (took / share >= 90 && !run_draws(&x->o))
        say(x->o.io, "about %.0f minutes for all of it", took / share / 60);
}

static void within(void *arg, const gkv_progress *g)
{
    struct index *x = arg;
    const double  all = (double)(x->bytes ? x->bytes : 1);
    const double  done = (double)x->bytes_done + g->fraction * (double)x->bytes_now;
    /* Tokens of the files that are still to come are not known: as many per byte as so far. */
    const double  tokens = (double)(x->tokens_done + g->tokens) * all
                           / (double)(x->bytes_done + x->bytes_now ? x->bytes_done + x->bytes_now : 1);

    if (progress_cancelled() && !x->stop) {
        x->stop = true;
        progress_erase(&x->progress);
        say(x->o.io, "ending after this document; a second signal ends at once, and the library stays as it is");
    }
    tell_time(x, x->bytes ? done / all : g->fraction);
    progress_note(&x->progress, "%zu/%zu", x->n_done + 1, x->n_do);
    progress_show(&x->progress, "index", x->bytes ? done / all : g->fraction, (uint64_t)tokens);
}

static gkv_source source_of(const struct index *x, const struct file *f, const char *grade)
{
    return (gkv_source){ .name = f->name, .path = f->facts.path, .bytes = f->facts.bytes,
                         .modified = f->facts.modified, .layer = x->layer, .grade = grade };
}

static int unchanged(struct index *x, const struct file *f, bool note)
{
    const gkv_source s = source_of(x, f, NULL);
    gkv_error        err = { 0 };
    gkv_status       status = note ? gkv_library_note(x->library, &s, &err) : GKV_OK;

    x->n_same++;
    state(x, f->name, "unchanged", NULL);
    return status ? library_failed(x->o.io, status, &err) : 0;
}

/* The document's grade in the library, unless another is asked for. */
static int store(struct index *x, const struct file *f, gkv_document *d, const char *part,
                 const gkv_library_entry_info *old)
{
    char       *grade = format("%s", x->grade ? x->grade : old ? old->source.grade : "compact");
    gkv_source  s = source_of(x, f, grade);
    gkv_error   err = { 0 };
    double      began = progress_clock();
    gkv_status  status;
    int         code = 0;

    s.part = part;
    status = gkv_library_put(x->library, &s, d, &x->o.gkv, &err);
    progress_erase(&x->progress);
    if (status == GKV_DOCUMENT || status == GKV_LIMIT)
        code = fail_library(x->o.io, status, &err, input_name(f->name));
    else if (status)
        code = library_failed(x->o.io, status, &err);
    x->stop = x->stop || (status && status != GKV_DOCUMENT && status != GKV_LIMIT);
    if (!code) {
        gkv_library_entry_info now;
        char                  *size;

        gkv_library_get(x->library, f->name, &now, NULL);
        size = view_bytes(now.stored_bytes);
        say(x->o.io, "%s: %" PRIu64 " tokens, %" PRIu64 " page%s, %s as %s, in %.1f s", input_name(f->name), now.tokens,
            now.pages, plural(now.pages), size, now.source.grade, progress_clock() - began);
        free(size);
        x->n_indexed++;
        x->tokens_done += now.tokens;
        state(x, f->name, old ? "replaced" : "indexed", NULL);
    }
    free(grade);
    return code;
}

static int index_one(struct index *x, const struct file *f)
{
    gkv_library_entry_info e;
    gkv_document          *d = NULL;
    const char            *part = NULL;
    const bool             known = !gkv_library_get(x->library, f->name, &e, NULL);
    int                    code;

    if (f->same)
        return unchanged(x, f, false);
    x->bytes_now = f->facts.bytes;
    code = read_document(x, f, &d, &part);
    if (!code && known && e.hash == gkv_document_hash(d) && !x->again && (!x->grade || !strcmp(x->grade, e.source.grade))
        && looks_whole(x, f->name))
        code = unchanged(x, f, true);
    else if (!code)
        code = store(x, f, d, part, known ? &e : NULL);
    gkv_document_close(d);
    x->bytes_done += x->bytes_now;
    x->bytes_now = 0;
    x->n_done++;
    return code;
}

static int add(struct index *x)
{
    int first, code;

    x->n_files = x->o.file.n;
    x->file = grow(NULL, x->n_files, sizeof *x->file);
    for (size_t i = 0; i < x->n_files; i++)
        look(x, &x->file[i], x->o.file.v[i]);
    first = foresee(x);
    x->stop = x->lost;
    x->began = progress_clock();
    for (size_t i = 0; i < x->n_files && !x->stop && !progress_cancelled(); i++) {
        code = index_one(x, &x->file[i]);
        first = first ? first : code;
        if (code) {
            x->n_failed++;
            state(x, x->file[i].name, "failed", NULL);
        }
    }
    for (size_t i = 0; i < x->n_files; i++)
        free(x->file[i].facts.path);
    free(x->file);
    if (progress_cancelled() && !first)
        first = fail(x->o.io, EXIT_FAILED, "cancelled after %zu of %zu files; the library has what was read",
                     x->n_done, x->n_do);
    say(x->o.io, "indexed %zu, unchanged %zu, failed %zu", x->n_indexed, x->n_same, x->n_failed);
    return first;
}

static int open_to_add(struct index *x)
{
    gkv_error  err = { 0 };
    char      *path = NULL;
    gkv_status status;
    int        code;

    for (int i = 1; i < x->o.n_operand; i++)
        words_add(&x->o.file, x->o.operand[i]);
    code = options_find(&x->o, &x->o.file);
    if (x->o.reader) {          /* documents are for the model that reads them */
        x->o.model = x->o.reader;
        x->o.gkv = run_reader_options(&x->o.gkv);
    }
    if (!code)
        code = run_begin(&x->o, &path);
    if (code)
        return code;
    confine(&x->o, path);
    status = calibrated_open(x->o.io, &x->model, path, &err);
    free(path);
    if (status)
        return run_failed(x->o.io, &x->progress, status, &err);
    x->layer = library_layer(x->model, &x->o.gkv);
    status = gkv_library_open(&x->library, x->path, GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
    if (!status)
        status = gkv_library_fits(x->library, x->model, x->layer, &err);
    x->lost = status;
    if (status)
        return library_failed(x->o.io, status, &err);
    x->o.gkv.layer = x->layer;
    x->o.gkv.progress = within;
    x->o.gkv.progress_arg = x;
    progress_start(&x->progress, x->o.io, run_draws(&x->o));
    return 0;
}

/* ---- the other things ---------------------------------------------------------------- */
static int remove_named(struct index *x)
{
    int first = 0;

    for (int i = 1; i < x->o.n_operand; i++) {
        gkv_error  err = { 0 };
        gkv_status status = gkv_library_remove(x->library, x->o.operand[i], &err);

        state(x, x->o.operand[i], status ? "failed" : "removed", status ? err.text : NULL);
        if (status && !first)
            first = library_failed(x->o.io, status, &err);
        else if (status)
            library_failed(x->o.io, status, &err);
    }
    return first;
}

static int for_all(struct index *x, int (*f)(struct index *x, const gkv_library_entry_info *e))
{
    gkv_error  err = { 0 };
    size_t     n;
    gkv_status status = gkv_library_find(x->library, NULL, NULL, 0, &n, &err);
    int        first = status ? library_failed(x->o.io, status, &err) : 0;

    for (size_t i = 0; i < n && !progress_cancelled(); i++) {
        gkv_library_entry_info e;
        int                    code;

        gkv_library_entry(x->library, i, &e);
        code = f(x, &e);
        first = first ? first : code;
        x->n_done++;
    }
    return first;
}

static int list_one(struct index *x, const gkv_library_entry_info *e)
{
    char      *size = view_bytes(e->stored_bytes), *line;
    char       when[24] = "";
    time_t     added = (time_t)(e->added / 1000000000);
    struct tm  tm;

    state(x, e->source.name, "listed", NULL);
    if (gmtime_r(&added, &tm))
        strftime(when, sizeof when, "%Y-%m-%d", &tm);
    line = format("%10" PRIu64 " %6" PRIu64 " %10s %-8s %s  ", e->tokens, e->pages, size, e->source.grade, when);
    if (!x->o.json) {
        out_text(x->o.io, line, strlen(line));
        out_text(x->o.io, e->source.name, strlen(e->source.name));
        out_char(x->o.io, '\n');
    }
    free(line);
    free(size);
    return 0;
}

static int list(struct index *x)
{
    if (!x->o.json && !x->o.quiet)
        out_printf(x->o.io, "%10s %6s %10s %-8s %-10s  %s\n", "tokens", "pages", "size", "grade", "added", "name");
    return for_all(x, list_one);
}

static int verify_one(struct index *x, const gkv_library_entry_info *e)
{
    gkv_error  err = { 0 };
    gkv_status status = gkv_library_verify(x->library, e->source.name, &err);

    if (status == GKV_END)                      /* removed meanwhile */
        return 0;
    state(x, e->source.name, status ? "damaged" : "whole", status ? err.text : NULL);
    progress_show(&x->progress, "verify", (double)(x->bytes_done += e->stored_bytes) / (double)x->bytes, 0);
    return status ? library_failed(x->o.io, status, &err) : 0;
}

static int verify(struct index *x)
{
    gkv_error  err = { 0 };
    gkv_status status = gkv_library_verify(x->library, NULL, &err);
    uint64_t   tokens;
    size_t     n;
    int        first = status ? library_failed(x->o.io, status, &err) : library_total(x, &n, &tokens, &x->bytes), code;

    x->bytes += !x->bytes;
    progress_start(&x->progress, x->o.io, run_draws(&x->o));
    code = for_all(x, verify_one);
    progress_erase(&x->progress);
    return first ? first : code;
}

static int prune_one(struct index *x, const gkv_library_entry_info *e)
{
    const char  *path = e->source.path;
    struct facts now = path ? library_facts(path) : (struct facts){ NULL, 0, 0 };
    const bool   gone = path && !now.path && library_is_gone(path);
    gkv_error    err = { 0 };
    gkv_status   status;

    free(now.path);
    if (!gone)
        return 0;
    say(x->o.io, "%s: removed, as %s is gone", e->source.name, path);
    state(x, e->source.name, "removed", "its file is gone");
    status = gkv_library_remove(x->library, e->source.name, &err);
    return status ? library_failed(x->o.io, status, &err) : 0;
}

static int prune(struct index *x)
{
    uint64_t   segments, entries;
    gkv_error  err = { 0 };
    int        code = for_all(x, prune_one);
    gkv_status status = gkv_library_prune(x->library, &segments, &entries, &err);

    if (status)
        return code ? code : library_failed(x->o.io, status, &err);
    if (entries)
        say(x->o.io, "removed %" PRIu64 " document%s whose segment is not there", entries, plural(entries));
    if (segments)
        say(x->o.io, "removed %" PRIu64 " segment%s that nothing needs", segments, plural(segments));
    return code;
}

/* ---- the command --------------------------------------------------------------------- */
static int check(const struct index *x)
{
    const int modes = x->remove + x->list + x->verify + x->prune;

    if (x->o.n_operand == 0)
        return usage(x->o.io, x->o.cmd, "no library given: the folder that documents are put into");
    if (modes > 1)
        return usage(x->o.io, x->o.cmd, "one of --list, --remove, --verify and --prune at a time");
    if (x->remove && x->o.n_operand == 1)
        return usage(x->o.io, x->o.cmd, "--remove: no name given; --list shows those there are");
    if (!modes && x->o.n_operand == 1)
        return usage(x->o.io, x->o.cmd, "no file given; %s is the library", x->o.operand[0]);
    if (modes && !x->remove && x->o.n_operand > 1)
        return usage(x->o.io, x->o.cmd, "--list, --verify and --prune take a library and nothing else");
    return 0;
}

static int work(struct index *x)
{
    gkv_error  err = { 0 };
    gkv_status status;

    if (!x->remove && !x->list && !x->verify && !x->prune) {
        int code = open_to_add(x);

        return code ? code : add(x);
    }
    confine(&x->o, NULL);
    status = gkv_library_open(&x->library, x->path, x->remove || x->prune ? GKV_LIBRARY_WRITE : 0, &err);
    if (status)
        return library_failed(x->o.io, status, &err);
    return x->remove ? remove_named(x) : x->list ? list(x) : x->verify ? verify(x) : prune(x);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct index x = { .n_files = 0 };
    int          total = 0, code = options_parse(&x.o, self, io, argc, argv);

    if (!code)
        code = check(&x);
    if (code) {
        options_free(&x.o);
        return code;
    }
    x.path = x.o.operand[0];
    json_open(&x.json, '{');
    json_named_string(&x.json, "library", x.path);
    json_named_open(&x.json, "documents", '[');
    code = work(&x);
    json_close(&x.json);
    json_close(&x.json);
    if (x.library && !x.list && !x.lost)
        total = say_total(&x);
    if (x.o.json && x.library)
        json_print(io, &x.json);
    total = total ? total : out_flush(io);
    progress_end(&x.progress);
    text_free(&x.json.text);
    gkv_library_close(x.library);
    gkv_model_close(x.model);
    options_free(&x.o);
    return code ? code : total;
}

const struct cmd cmd_index = {
    .name = "index", .summary = "Read documents once, into a library that can be asked often",
    .synopsis = "[options] LIBRARY FILE...",
    .needs = NEEDS_PROGRAMS | NEEDS_OPERAND, .takes = FOR_INDEX, .own = own, .run = run
};
