/* SPDX-License-Identifier: BSD-2-Clause
 * library.c - see library.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "src/cli/library.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

enum {
    TOP = 16,                           /* documents that are asked about                 */
    MOST = 4000000                      /* ... and tokens                                 */
};

int library_failed(struct io *io, gkv_status status, const gkv_error *err)
{
    if (status == GKV_FORMAT || status == GKV_INVALID || status == GKV_DOCUMENT || status == GKV_END)
        return fail(io, EXIT_DOCUMENT, "%s", err->text);
    if (status == GKV_UNSUPPORTED)
        return fail(io, EXIT_FAILED, "%s", err->text);
    return fail_library(io, status, err, NULL);
}

struct facts library_facts(const char *path)
{
    struct facts f = { NULL, 0, 0 };
    struct stat  st;

    if (!strcmp(path, "-") || stat(path, &st) || !S_ISREG(st.st_mode))
        return f;
    f.path = realpath(path, NULL);
    f.bytes = (uint64_t)st.st_size;
    f.modified = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return f;
}

bool library_is_gone(const char *path)
{
    struct stat st;

    return stat(path, &st) && (errno == ENOENT || errno == ENOTDIR);
}

int32_t library_layer(const gkv_model *model, const gkv_options *o)
{
    gkv_model_info info;

    gkv_model_describe(model, &info);
    return o->layer >= 0 ? o->layer : (int32_t)info.filter_layer;
}

/* ---- which documents ----------------------------------------------------------------- */
/* All, or those that --among names: how many, and their tokens. */
static int count(struct run *r, size_t *n)
{
    struct shelf *s = &r->shelf;
    gkv_error     err = { 0 };
    gkv_status    status = gkv_library_find(s->library, NULL, r->o.among, 0, n, &err);

    if (status)
        return library_failed(r->o.io, status, &err);
    s->n_all = *n;
    s->tokens_all = 0;
    for (size_t i = 0; i < *n; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(s->library, i, &e);
        s->tokens_all += e.tokens;
    }
    if (!*n && r->o.among)
        return fail(r->o.io, EXIT_DOCUMENT, "%s: no document's name is like '%s'; see gemkv index --list %s",
                    r->o.library, r->o.among, r->o.library);
    return *n ? 0 : fail(r->o.io, EXIT_DOCUMENT, "%s: there are no documents in it; see gemkv index", r->o.library);
}

/* The best ones by their words, or, if none has a word of the question, the first ones. */
static int rank(struct run *r, size_t top, size_t *n)
{
    struct shelf *s = &r->shelf;
    gkv_error     err = { 0 };
    gkv_status    status = gkv_library_find(s->library, r->words ? r->words : r->question, r->o.among, top, n, &err);

    s->ranked = true;
    if (!status && !*n) {
        warn(r->o.io, "%s: no document has a word of the question; the first ones are asked", r->o.library);
        status = gkv_library_find(s->library, NULL, r->o.among, top, n, &err);
    }
    return status ? library_failed(r->o.io, status, &err) : 0;
}

struct choice {
    char    *name;
    uint64_t id;
};

static int by_id(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* As many as there is room for, in the library's order: that does not depend on the question. */
static int choose(struct run *r, struct choice **chosen, size_t *n)
{
    struct shelf *s = &r->shelf;
    const size_t  top = r->o.top ? r->o.top : TOP;
    uint64_t      tokens = 0;
    size_t        found;
    int           code = count(r, &found);

    *n = 0;
    s->ranked = false;
    if (!code && (found > top || s->tokens_all > MOST))
        code = rank(r, top, &found);
    if (code)
        return code;
    *chosen = grow(NULL, found, sizeof **chosen);
    for (size_t i = 0; i < found; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(s->library, i, &e);
        tokens += e.tokens;
        if (*n && tokens > MOST)
            break;
        (*chosen)[(*n)++] = (struct choice){ format("%s", e.source.name), e.id };
    }
    qsort(*chosen, *n, sizeof **chosen, by_id);
    return 0;
}

/* ---- loading ------------------------------------------------------------------------- */
/* why NULL: its file is another by now. */
static void remark(struct shelf *s, const char *name, const char *why)
{
    s->remark = grow(s->remark, s->n_remarks + 1, sizeof *s->remark);
    s->remark[s->n_remarks++] = (struct remark){ format("%s", name), why ? format("%s", why) : NULL };
}

/* Says if the file is not what was indexed. */
static void check_file(struct run *r, const char *name)
{
    gkv_library_entry_info e;
    struct facts           now;

    if (gkv_library_get(r->shelf.library, name, &e, NULL) || !e.source.path)
        return;
    now = library_facts(e.source.path);
    if (now.path && (now.bytes != e.source.bytes || now.modified != e.source.modified)) {
        warn(r->o.io, "%s: the file has changed since it was indexed, the answer is about what it was; see gemkv index",
             name);
        remark(&r->shelf, name, NULL);
    } else if (!now.path && library_is_gone(e.source.path)) {
        warn(r->o.io, "%s: the file is gone, the answer is about what it was", name);
        remark(&r->shelf, name, NULL);
    }
    free(now.path);
}

static int load_one(struct run *r, const char *name)
{
    struct shelf *s = &r->shelf;
    gkv_library_entry_info e;
    gkv_options   opt = r->o.gkv;
    gkv_error     err = { 0 };
    gkv_status    status;

    if (r->reader)
        opt = run_reader_options(&opt);
    status = gkv_library_load(s->library, name, run_reader(r), &opt, &s->part[s->n], &err);

    if (status == GKV_NOMEM || status == GKV_LIMIT)
        return run_failed(r->o.io, &r->progress, status, &err);
    if (status) {
        warn(r->o.io, "%s: left out: %s", name, err.text);
        remark(s, name, err.text);
        return 0;
    }
    check_file(r, name);
    s->unit[s->n] = !gkv_library_get(s->library, name, &e, NULL) && e.source.part ? format("%s", e.source.part) : NULL;
    s->name[s->n++] = format("%s", name);
    return progress_cancelled() ? fail(r->o.io, EXIT_FAILED, "cancelled while loading documents") : 0;
}

static int load(struct run *r, const struct choice *chosen, size_t n)
{
    struct shelf *s = &r->shelf;
    int           code = 0;

    if (s->ranked && !r->mute)
        say(r->o.io, "%s: asking %zu of %" PRIu64 " documents, chosen by the words of the question (BM25)", r->o.library, n,
            s->n_all);
    s->part = grow(NULL, n, sizeof *s->part);
    s->name = grow(NULL, n, sizeof *s->name);
    s->unit = grow(NULL, n, sizeof *s->unit);
    s->chosen = grow(NULL, n, sizeof *s->chosen);
    s->n_chosen = n;
    for (size_t i = 0; i < n; i++) {
        s->chosen[i] = chosen[i].id;
        if (!code)
            code = load_one(r, chosen[i].name);
    }
    if (!code && !s->n)
        code = fail(r->o.io, EXIT_DOCUMENT, "%s: none of its documents can be read", r->o.library);
    return code;
}

static int join(struct run *r)
{
    struct shelf *s = &r->shelf;
    gkv_error     err = { 0 };
    gkv_status    status = gkv_document_join(&s->document, s->part, s->n, &err);

    if (status)
        return run_failed(r->o.io, &r->progress, status, &err);
    free(s->part);
    s->part = NULL;
    for (size_t i = 0; i < s->n; i++)
        words_add(&r->o.file, s->name[i]);
    status = run_session_of(r, &err);
    return status ? run_failed(r->o.io, &r->progress, status, &err) : 0;
}

/* Everything but the library itself. */
static void clear(struct shelf *s)
{
    if (s->part)
        for (size_t i = 0; i < s->n; i++)
            gkv_document_close(s->part[i]);
    for (size_t i = 0; i < s->n; i++) {
        free(s->name[i]);
        free(s->unit[i]);
    }
    for (size_t i = 0; i < s->n_remarks; i++) {
        free(s->remark[i].name);
        free(s->remark[i].why);
    }
    gkv_document_close(s->document);
    free(s->part);
    free(s->name);
    free(s->unit);
    free(s->chosen);
    free(s->remark);
    *s = (struct shelf){ .library = s->library, .n_all = s->n_all, .tokens_all = s->tokens_all, .ranked = s->ranked };
}

static bool is_loaded(const struct run *r, const struct choice *chosen, size_t n)
{
    const struct shelf *s = &r->shelf;
    size_t              i = 0;

    while (r->session && n == s->n_chosen && i < n && chosen[i].id == s->chosen[i])
        i++;
    return r->session && n == s->n_chosen && i == n;
}

int library_open(struct run *r)
{
    gkv_error  err = { 0 };
    gkv_status status = gkv_library_open(&r->shelf.library, r->o.library, 0, &err);

    if (!status)
        status = gkv_library_fits(r->shelf.library, run_reader(r), library_layer(run_reader(r), &r->o.gkv), &err);
    return status ? library_failed(r->o.io, status, &err) : 0;
}

int library_session(struct run *r)
{
    struct choice *chosen = NULL;
    size_t         n = 0;
    int            code = r->shelf.library ? 0 : library_open(r);

    if (!code)
        code = choose(r, &chosen, &n);
    if (!code && !is_loaded(r, chosen, n)) {
        progress_watch(&r->progress, NULL);
        gkv_session_close(r->session);
        r->session = NULL;
        clear(&r->shelf);
        r->o.file.n = 0;
        code = load(r, chosen, n);
        if (!code)
            code = join(r);
    }
    for (size_t i = 0; i < n; i++)
        free(chosen[i].name);
    free(chosen);
    return code;
}

int library_again(struct run *r)
{
    return r->o.library ? library_session(r) : 0;
}

void library_close(struct shelf *s)
{
    clear(s);
    gkv_library_close(s->library);
    s->library = NULL;
}

/* ---- JSON ---------------------------------------------------------------------------- */
void library_json(struct json *j, const struct run *r)
{
    const struct shelf *s = &r->shelf;

    json_named_open(j, "library", '{');
    json_named_string(j, "path", r->o.library);
    json_named_uint(j, "documents", s->n_all);
    json_named_uint(j, "tokens", s->tokens_all);
    json_named_string(j, "chosen_by", s->ranked ? "bm25" : "all");
    json_named_open(j, "asked", '[');
    for (size_t i = 0; i < s->n; i++)
        json_string(j, s->name[i]);
    json_close(j);
    json_named_open(j, "changed", '[');
    for (size_t i = 0; i < s->n_remarks; i++)
        if (!s->remark[i].why)
            json_string(j, s->remark[i].name);
    json_close(j);
    json_named_open(j, "left_out", '[');
    for (size_t i = 0; i < s->n_remarks; i++)
        if (s->remark[i].why) {
            json_open(j, '{');
            json_named_string(j, "document", s->remark[i].name);
            json_named_string(j, "why", s->remark[i].why);
            json_close(j);
        }
    json_close(j);
    json_close(j);
}
