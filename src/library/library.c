/* SPDX-License-Identifier: BSD-2-Clause
 * library.c - documents in a folder: a segment is there, whole, before the catalogue names it, and goes after
 * the catalogue has forgotten it.  Whatever is killed in between leaves a segment that nobody names, which
 * the next writer removes. */
#include "config.h"
#if HAVE_SQLITE
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/base/sum.h"
#include "src/document.h"
#include "src/library/catalogue.h"
#include "src/library/folder.h"
#include "src/library/passage.h"

struct gkv_library {
    struct gkv__folder    folder;
    struct gkv__catalogue catalogue;
    char                  path[GKV__PATH];      /* of the catalogue                          */
    struct gkv__records      found, got;           /* of gkv_library_find, of gkv_library_get   */
};

/* ---- opening ---------------------------------------------------------------------------- */

static gkv_status named(void *arg, struct gkv__segment s, bool *is, gkv_error *err)
{
    const gkv_library *l = arg;

    return gkv__catalogue_has(&l->catalogue, s.id, s.hash, is, err);
}

gkv_status gkv_library_open(gkv_library **out, const char *path, unsigned flags, gkv_error *err)
{
    const bool write = flags & (GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE), create = flags & GKV_LIBRARY_CREATE;
    gkv_library *l = calloc(1, sizeof *l);
    gkv_status status;
    uint64_t n;

    *out = NULL;
    if (!l)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__folder_open(&l->folder, path, write, create, err);
    if (status == GKV_OK)
        status = gkv__folder_catalogue(&l->folder, l->path, err);
    if (status == GKV_OK)
        status = gkv__catalogue_open(&l->catalogue, l->path, write, create, err);
    if (status == GKV_OK && write)
        status = gkv__segment_sweep(&l->folder, named, l, &n, err);
    if (status != GKV_OK) {
        gkv_library_close(l);
        return status;
    }
    *out = l;
    return GKV_OK;
}

void gkv_library_close(gkv_library *l)
{
    if (!l)
        return;
    gkv__records_free(&l->found);
    gkv__records_free(&l->got);
    gkv__catalogue_close(&l->catalogue);
    gkv__folder_close(&l->folder);
    free(l);
}

static gkv_status writes(const gkv_library *l, gkv_error *err)
{
    return l->folder.lock >= 0 ? GKV_OK
                               : gkv__fail(err, GKV_INVALID, "%s: opened for reading only", l->folder.path);
}

/* ---- which documents -------------------------------------------------------------------- */

static gkv_status other_model(const gkv_library *l, const gkv_library_entry_info *e, const gkv_model *model,
                              gkv_error *err)
{
    gkv_model_info info;

    gkv_model_describe(model, &info);
    return gkv__fail(err, GKV_INVALID, "%s: its documents were indexed with another model, \"%.100s\" (%016" PRIx64
                     "); this is \"%.100s\" (%016" PRIx64 "): give that one with -m, or make another library",
                     l->folder.path, e->model_name, e->model, info.name, gkv_model_fingerprint(model));
}

/* Of the row's model, template (unless NULL) and layer are all others. */
static gkv_status check_fits(gkv_library *l, const gkv_model *model, const uint64_t *tmpl, int32_t layer,
                             const char *except, gkv_error *err)
{
    const uint64_t print = gkv_model_fingerprint(model);
    struct gkv__records rows;
    gkv_status status;

    GKV__TRY(gkv__catalogue_rows(&l->catalogue, NULL, &rows, err));
    status = GKV_OK;
    for (size_t i = 0; i < rows.n && status == GKV_OK; i++) {
        const struct gkv__record *r = &rows.v[i];

        if (except && !strcmp(r->e.source.name, except))
            continue;
        if (r->e.model != print)
            status = other_model(l, &r->e, model, err);
        else if (r->e.source.layer != layer)
            status = gkv__fail(err, GKV_INVALID, "%s: its documents were indexed for layer %" PRId32 ", not %" PRId32
                               ": say --layer %" PRId32 ", or make another library", l->folder.path,
                               r->e.source.layer, layer, r->e.source.layer);
        else if (tmpl && r->tmpl != *tmpl)
            status = gkv__fail(err, GKV_INVALID, "%s: its documents were indexed with another chat template or "
                               "system prompt, or differ in thinking: give the same, or make another library", l->folder.path);
    }
    gkv__records_free(&rows);
    return status;
}

gkv_status gkv_library_fits(gkv_library *l, const gkv_model *model, int32_t layer, gkv_error *err)
{
    return check_fits(l, model, NULL, layer, NULL, err);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return ns_of(t);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void remove_segment(const gkv_library *l, const gkv_library_entry_info *e)
{
    char path[GKV__PATH];

    /* What stays behind, nobody names. */
    if (gkv__segment_path(&l->folder, (struct gkv__segment){ e->hash, e->id }, path, NULL) == GKV_OK)
        unlink(path);
}

static gkv_status check_source(const gkv_source *s, const gkv_document *d, gkv_error *err)
{
    if (!s->name || !*s->name)
        return gkv__fail(err, GKV_INVALID, "a document without a name");
    if (s->layer < -1 || s->bytes > INT64_MAX)
        return gkv__fail(err, GKV_INVALID, "%s: no such layer or size", s->name);
    if (d->n_files != 1)
        return gkv__fail(err, GKV_INVALID, "%s: %zu files; a library has documents of one", s->name, d->n_files);
    return GKV_OK;
}

static void describe(struct gkv__record *r, const gkv_source *s, const gkv_document *d, uint64_t id)
{
    gkv_model_info info;
    size_t len;

    gkv_model_describe(d->model, &info);
    gkv_document_text(d, 0, &len);
    *r = (struct gkv__record){
        .e = {
            .source = *s, .id = id, .bytes = len, .hash = gkv_document_hash(d), .tokens = d->tokens.n,
            .pages = gkv_document_page(d, 0, len ? len - 1 : 0), .model = gkv_model_fingerprint(d->model),
            .model_name = info.name ? info.name : "",
        },
        .tmpl = gkv__document_template(d),
    };
    if (!r->e.source.grade)
        r->e.source.grade = "compact";
}

static gkv_status write_document(gkv_document *d, const gkv_options *opt, const gkv_source *source,
                                 const char *path, gkv_error *err)
{
    gkv_options o;

    if (!opt)
        return gkv_document_save(d, path, err);
    GKV__TRY(gkv__options(&o, opt, err));
    o.layer = source->layer;
    return gkv_document_index(d, &o, source->grade, path, err);
}

/* The segment is there when this returns, also after the power failed. */
static gkv_status write_segment(const gkv_library *l, gkv_document *d, const gkv_options *opt, struct gkv__record *r,
                                char path[GKV__PATH], gkv_error *err)
{
    struct stat st;
    gkv_status status;

    GKV__TRY(gkv__segment_path(&l->folder, (struct gkv__segment){ r->e.hash, r->e.id }, path, err));
    GKV__TRY(write_document(d, opt, &r->e.source, path, err));
    status = gkv__segment_settle(&l->folder, path, err);
    if (status == GKV_OK)
        status = gkv__segment_sum(path, &r->e.segment_bytes, &r->sum, err);
    r->e.stored_bytes = r->e.segment_bytes;
    if (!stat(path, &st))
        r->e.stored_bytes = gkv__min(r->e.segment_bytes, 512 * (uint64_t)st.st_blocks);
    r->e.added = now();
    if (status != GKV_OK)
        unlink(path);
    return status;
}

gkv_status gkv_library_put(gkv_library *l, const gkv_source *source, gkv_document *d, const gkv_options *opt,
                           gkv_error *err)
{
    struct gkv__record row;
    struct gkv__records old;
    char path[GKV__PATH];
    const char *text;
    uint64_t id;
    size_t len;
    bool there;
    gkv_status status;

    GKV__TRY(writes(l, err));
    GKV__TRY(gkv__document_finish(d, err));
    GKV__TRY(check_source(source, d, err));
    GKV__TRY(gkv__catalogue_next(&l->catalogue, &id, err));
    describe(&row, source, d, id);
    GKV__TRY(check_fits(l, d->model, &row.tmpl, source->layer, source->name, err));
    GKV__TRY(gkv__catalogue_rows(&l->catalogue, source->name, &old, err));
    status = write_segment(l, d, opt, &row, path, err);
    if (status == GKV_OK) {
        text = gkv_document_text(d, 0, &len);
        status = gkv__catalogue_put(&l->catalogue, &row, text, len, &there, err);
        if (!there)
            unlink(path);
    }
    if (status == GKV_OK && old.n)
        remove_segment(l, &old.v->e);
    gkv__records_free(&old);
    return status;
}

/* *rows: the one of that name; the caller frees it unless there was an error. */
static gkv_status row_named(gkv_library *l, const char *name, struct gkv__records *rows, gkv_error *err)
{
    GKV__TRY(gkv__catalogue_rows(&l->catalogue, name, rows, err));
    return rows->n ? GKV_OK : gkv__fail(err, GKV_END, "%s: no document of that name in %s", name, l->folder.path);
}

gkv_status gkv_library_note(gkv_library *l, const gkv_source *source, gkv_error *err)
{
    GKV__TRY(writes(l, err));
    return gkv__catalogue_note(&l->catalogue, source, now(), err);
}

static gkv_status remove_row(gkv_library *l, const struct gkv__record *r, gkv_error *err)
{
    GKV__TRY(gkv__catalogue_remove(&l->catalogue, r->e.id, err));
    remove_segment(l, &r->e);
    return GKV_OK;
}

gkv_status gkv_library_remove(gkv_library *l, const char *name, gkv_error *err)
{
    struct gkv__records rows;
    gkv_status status;

    GKV__TRY(writes(l, err));
    GKV__TRY(row_named(l, name, &rows, err));
    status = remove_row(l, rows.v, err);
    gkv__records_free(&rows);
    return status;
}

static bool segment_is_there(const gkv_library *l, const gkv_library_entry_info *e)
{
    char path[GKV__PATH];
    struct stat st;

    /* What cannot be seen for another reason than that is not gone. */
    return gkv__segment_path(&l->folder, (struct gkv__segment){ e->hash, e->id }, path, NULL) != GKV_OK ||
           !stat(path, &st) || errno != ENOENT;
}

gkv_status gkv_library_prune(gkv_library *l, uint64_t *segments, uint64_t *entries, gkv_error *err)
{
    struct gkv__records rows;
    gkv_status status = GKV_OK;

    *segments = *entries = 0;
    GKV__TRY(writes(l, err));
    GKV__TRY(gkv__catalogue_rows(&l->catalogue, NULL, &rows, err));
    for (size_t i = 0; i < rows.n && status == GKV_OK; i++)
        if (!segment_is_there(l, &rows.v[i].e)) {
            status = remove_row(l, &rows.v[i], err);
            *entries += status == GKV_OK;
        }
    gkv__records_free(&rows);
    return status == GKV_OK ? gkv__segment_sweep(&l->folder, named, l, segments, err) : status;
}

/* ---- finding ---------------------------------------------------------------------------- */

/* Keep rows[0 .. n), free the others. */
static void cut(struct gkv__records *rows, size_t n)
{
    while (rows->n > n)
        free(rows->v[--rows->n].text);
}

static void keep_matching(struct gkv__records *rows, const char *glob)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (!fnmatch(glob, rows->v[i].e.source.name, 0)) {
            const struct gkv__record kept = rows->v[i];

            rows->v[i] = rows->v[n];
            rows->v[n++] = kept;
        }
    cut(rows, n);
}

struct ranking {
    struct gkv__records *rows;             /* by id                                             */
    struct hit { size_t row; int64_t passage; } *hit;
    size_t            n, top;
};

static int by_id(const void *key, const void *row)
{
    const uint64_t id = *(const uint64_t *)key, other = ((const struct gkv__record *)row)->e.id;

    return (id > other) - (id < other);
}

/* The first passage of a document is its best. */
static bool take_hit(void *arg, uint64_t id, int64_t passage, double score)
{
    struct ranking *k = arg;
    struct gkv__record *r = bsearch(&id, k->rows->v, k->rows->n, sizeof *r, by_id);

    if (!r || r->e.end)
        return true;
    r->e.score = score;
    r->e.end = 1;                       /* taken; the right number comes later               */
    k->hit[k->n++] = (struct hit){ (size_t)(r - k->rows->v), passage };
    return k->n < k->top;
}

static gkv_status rank(gkv_library *l, struct gkv__records *rows, const char *question, size_t top, gkv_error *err)
{
    struct ranking k = { rows, calloc(rows->n + 1, sizeof(struct hit)), 0, top ? top : SIZE_MAX };
    struct gkv__records ranked = { calloc(rows->n + 1, sizeof(struct gkv__record)), 0 };
    char *match = gkv__passage_words(question);
    gkv_status status = GKV_OK;

    if (!match || !k.hit || !ranked.v)
        status = gkv__fail(err, GKV_NOMEM, "out of memory");
    else if (*match && rows->n)
        status = gkv__catalogue_search(&l->catalogue, match, take_hit, &k, err);
    for (size_t i = 0; i < k.n && status == GKV_OK; i++) {
        struct gkv__record *r = &rows->v[k.hit[i].row];

        status = gkv__catalogue_passage(&l->catalogue, k.hit[i].passage, r->e.bytes, &r->e.start, &r->e.end,
                                        err);
        ranked.v[ranked.n++] = *r;
        r->text = NULL;                 /* it moved */
    }
    free(match);
    free(k.hit);
    gkv__records_free(rows);
    *rows = ranked;
    return status;
}

gkv_status gkv_library_find(gkv_library *l, const char *question, const char *glob, size_t top, size_t *n,
                            gkv_error *err)
{
    gkv_status status;

    *n = 0;
    gkv__records_free(&l->found);
    GKV__TRY(gkv__catalogue_rows(&l->catalogue, NULL, &l->found, err));
    if (glob)
        keep_matching(&l->found, glob);
    /* keep_matching has exchanged rows, but those in front are still by id. */
    status = question ? rank(l, &l->found, question, top, err) : GKV_OK;
    if (status != GKV_OK)
        gkv__records_free(&l->found);
    else if (top)
        cut(&l->found, l->found.n < top ? l->found.n : top);
    *n = l->found.n;
    return status;
}

static void give(const struct gkv__records *rows, size_t i, gkv_library_entry_info *out, size_t size)
{
    const gkv_library_entry_info nothing = { .id = 0 };

    gkv__give(out, size, i < rows->n ? &rows->v[i].e : &nothing, sizeof nothing);
}

void gkv_library_entry_size(const gkv_library *l, size_t i, gkv_library_entry_info *out, size_t size)
{
    give(&l->found, i, out, size);
}

gkv_status gkv_library_get_size(gkv_library *l, const char *name, gkv_library_entry_info *out, size_t size,
                                gkv_error *err)
{
    gkv_status status;

    gkv__records_free(&l->got);
    status = row_named(l, name, &l->got, err);
    give(&l->got, 0, out, size);
    return status;
}

/* ---- segments --------------------------------------------------------------------------- */

static gkv_status damaged(const struct gkv__record *r, const char *what, gkv_error *err)
{
    return gkv__fail(err, GKV_FORMAT, "%s: its segment %s; index it again", r->e.source.name, what);
}

static gkv_status check_size(const struct gkv__record *r, const char *path, int64_t *modified, gkv_error *err)
{
    struct stat st;

    *modified = 0;
    if (!stat(path, &st))
        *modified = ns_of(st.st_mtim);
    else
        return errno == ENOENT ? damaged(r, "is not there", err)
                               : gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != r->e.segment_bytes)
        return damaged(r, "is damaged: it has another size than it was given", err);
    return GKV_OK;
}

static gkv_status load(const gkv_library *l, const struct gkv__record *r, gkv_model *model, const gkv_options *opt,
                       gkv_document **out, gkv_error *err)
{
    char path[GKV__PATH];
    int64_t modified;

    GKV__TRY(gkv__segment_path(&l->folder, (struct gkv__segment){ r->e.hash, r->e.id }, path, err));
    GKV__TRY(check_size(r, path, &modified, err));
    GKV__TRY(gkv_document_load(out, model, opt, path, err));
    if (gkv_document_hash(*out) == r->e.hash && (*out)->n_files == 1)
        return GKV_OK;
    gkv_document_close(*out);
    *out = NULL;
    return damaged(r, "is of another text", err);
}

/* A segment is whole before its entry is made: what is newer has been changed. */
static gkv_status verify(const gkv_library *l, const struct gkv__record *r, bool quick, gkv_error *err)
{
    char path[GKV__PATH];
    uint64_t bytes, sum;
    int64_t modified;

    GKV__TRY(gkv__segment_path(&l->folder, (struct gkv__segment){ r->e.hash, r->e.id }, path, err));
    GKV__TRY(check_size(r, path, &modified, err));
    if (quick && modified <= r->e.added)
        return GKV_OK;
    GKV__TRY(gkv__segment_sum(path, &bytes, &sum, err));
    return bytes == r->e.segment_bytes && sum == r->sum ? GKV_OK
                                                        : damaged(r, "is damaged: its bytes have changed", err);
}

/* Between the catalogue and the segment a writer may have put another in its place: then look again. */
enum { TRIES = 5 };

static bool moved(gkv_library *l, const struct gkv__record *r)
{
    struct gkv__records rows;
    bool other;

    if (segment_is_there(l, &r->e) || gkv__catalogue_rows(&l->catalogue, r->e.source.name, &rows, NULL) != GKV_OK)
        return false;
    other = !rows.n || rows.v->e.id != r->e.id;
    gkv__records_free(&rows);
    return other;
}

/* out NULL: verify it. */
static gkv_status open_named(gkv_library *l, const char *name, gkv_model *model, const gkv_options *opt,
                             gkv_document **out, bool quick, gkv_error *err)
{
    gkv_status status = GKV_OK;
    bool again = true;

    for (int i = 0; i < TRIES && again; i++) {
        struct gkv__records rows;

        GKV__TRY(row_named(l, name, &rows, err));
        status = out ? load(l, rows.v, model, opt, out, err) : verify(l, rows.v, quick, err);
        again = status != GKV_OK && moved(l, rows.v);
        gkv__records_free(&rows);
    }
    return status;
}

gkv_status gkv_library_load(gkv_library *l, const char *name, gkv_model *model, const gkv_options *opt,
                            gkv_document **out, gkv_error *err)
{
    *out = NULL;
    return open_named(l, name, model, opt, out, false, err);
}

gkv_status gkv_library_verify(gkv_library *l, const char *name, gkv_error *err)
{
    return name ? open_named(l, name, NULL, NULL, NULL, false, err) : gkv__catalogue_check(&l->catalogue, err);
}

gkv_status gkv_library_verify_quick(gkv_library *l, const char *name, gkv_error *err)
{
    return open_named(l, name, NULL, NULL, NULL, true, err);
}

#endif
