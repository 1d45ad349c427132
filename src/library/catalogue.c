/* SPDX-License-Identifier: BSD-2-Clause
 * catalogue.c - see catalogue.h
 *
 * A rollback journal, so that a library can be read where nothing can be written.  Each commit is in the
 * folder when it returns (synchronous=EXTRA): what is removed after it is not needed again. */
#include "config.h"
#if HAVE_SQLITE
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/library/catalogue.h"
#include "src/library/passage.h"

enum {
    FORMAT = 2,                         /* PRAGMA user_version                               */
    MAGIC = 0x676b764c,                 /* PRAGMA application_id: "gkvL"                     */
    WAIT = 10000,                       /* ms for another process to finish its transaction  */
    LONGEST = 64 << 20,                 /* bytes of a row that are believed                  */
    PASSAGE_BITS = 24
};

static const uint64_t max_id = UINT64_C(1) << 38;

/* Of format 1, which had no `part`, and of today. */
#define ENTRY \
    "CREATE TABLE entry(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, path TEXT, " \
    "grade TEXT NOT NULL, model_name TEXT NOT NULL, source_bytes INTEGER NOT NULL, source_modified INTEGER " \
    "NOT NULL, bytes INTEGER NOT NULL, hash INTEGER NOT NULL, tokens INTEGER NOT NULL, pages INTEGER NOT NULL, " \
    "model INTEGER NOT NULL, template INTEGER NOT NULL, layer INTEGER NOT NULL, segment_bytes INTEGER NOT NULL, " \
    "segment_sum INTEGER NOT NULL, stored INTEGER NOT NULL, added INTEGER NOT NULL"
static const char make_entry_1[] = ENTRY ") STRICT", make_entry[] = ENTRY ", part TEXT) STRICT";
static const char make_passage[] =
    "CREATE VIRTUAL TABLE passage USING fts5(text, first UNINDEXED, last UNINDEXED, "
    "tokenize = 'porter unicode61 remove_diacritics 2')";

/* ---- errors ----------------------------------------------------------------------------- */

static gkv_status damaged(const struct gkv__catalogue *c, const char *what, gkv_error *err)
{
    return gkv__fail(err, GKV_FORMAT, "%s: the catalogue is damaged: %s; index the documents again into a new "
                     "library", c->path, what);
}

static gkv_status failed(const struct gkv__catalogue *c, gkv_error *err)
{
    switch (sqlite3_extended_errcode(c->db)) {
    case SQLITE_READONLY_DIRECTORY:
        return gkv__fail(err, GKV_IO, "%s: its folder cannot be written", c->path);
    case SQLITE_READONLY_ROLLBACK: case SQLITE_READONLY_RECOVERY: case SQLITE_READONLY_CANTINIT:
        return gkv__fail(err, GKV_IO, "%s: a writer was stopped in the middle; open the library once where it "
                         "can be written", c->path);
    }
    switch (sqlite3_errcode(c->db)) {
    case SQLITE_NOMEM:
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", c->path);
    case SQLITE_BUSY: case SQLITE_LOCKED:
        return gkv__fail(err, GKV_IO, "%s: another process holds it for longer than %d seconds", c->path,
                         WAIT / 1000);
    case SQLITE_FULL: case SQLITE_IOERR: case SQLITE_CANTOPEN: case SQLITE_READONLY: case SQLITE_PERM:
    case SQLITE_INTERRUPT: case SQLITE_AUTH: case SQLITE_NOLFS: case SQLITE_PROTOCOL:
        return gkv__fail(err, GKV_IO, "%s: %s", c->path, sqlite3_errmsg(c->db));
    }
    return damaged(c, sqlite3_errmsg(c->db), err);
}

/* ---- statements ------------------------------------------------------------------------- */

static gkv_status prepare(const struct gkv__catalogue *c, const char *sql, sqlite3_stmt **s, gkv_error *err)
{
    return sqlite3_prepare_v2(c->db, sql, -1, s, NULL) == SQLITE_OK ? GKV_OK : failed(c, err);
}

/* *row: there is one; otherwise the statement has ended. */
static gkv_status step(const struct gkv__catalogue *c, sqlite3_stmt *s, bool *row, gkv_error *err)
{
    const int code = sqlite3_step(s);

    *row = code == SQLITE_ROW;
    return *row || code == SQLITE_DONE ? GKV_OK : failed(c, err);
}

/* A statement without results, with up to three numbers. */
static gkv_status run(const struct gkv__catalogue *c, const char *sql, const int64_t *bind, int n, gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, sql, &s, err);
    bool row = true;

    for (int i = 0; i < n && status == GKV_OK; i++)
        sqlite3_bind_int64(s, i + 1, bind[i]);
    while (status == GKV_OK && row)
        status = step(c, s, &row, err);
    sqlite3_finalize(s);
    return status;
}

static gkv_status number(const struct gkv__catalogue *c, const char *sql, int64_t *out, gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, sql, &s, err);
    bool row = false;

    *out = 0;
    if (status == GKV_OK)
        status = step(c, s, &row, err);
    if (status == GKV_OK && row)
        *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return status;
}

/* ---- opening ---------------------------------------------------------------------------- */

static gkv_status make_tables(const struct gkv__catalogue *c, gkv_error *err)
{
    gkv_status status;
    char version[80];

    snprintf(version, sizeof version, "PRAGMA application_id = %d; PRAGMA user_version = %d", MAGIC, FORMAT);
    if (sqlite3_exec(c->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) ||
        sqlite3_exec(c->db, make_entry, NULL, NULL, NULL) ||
        sqlite3_exec(c->db, make_passage, NULL, NULL, NULL) ||
        sqlite3_exec(c->db, version, NULL, NULL, NULL) ||
        sqlite3_exec(c->db, "COMMIT", NULL, NULL, NULL)) {
        status = failed(c, err);
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
        return status;
    }
    return GKV_OK;
}

/* The tables are as we make them: nothing in them is computed, and nothing is a view. */
static gkv_status check_table(const struct gkv__catalogue *c, const char *name, const char *made, gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql = ?2",
                                &s, err);
    bool row = false;

    if (status == GKV_OK) {
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, made, -1, SQLITE_STATIC);
        status = step(c, s, &row, err);
    }
    sqlite3_finalize(s);
    return status != GKV_OK || row ? status : damaged(c, "it has other tables than it should", err);
}

/* Of format 1 to today's. */
static gkv_status upgrade(const struct gkv__catalogue *c, gkv_error *err)
{
    char sql[96];
    gkv_status status;

    snprintf(sql, sizeof sql, "ALTER TABLE entry ADD COLUMN part TEXT; PRAGMA user_version = %d", FORMAT);
    if (sqlite3_exec(c->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) || sqlite3_exec(c->db, sql, NULL, NULL, NULL) ||
        sqlite3_exec(c->db, "COMMIT", NULL, NULL, NULL)) {
        status = failed(c, err);
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
        return status;
    }
    return GKV_OK;
}

static gkv_status check_format(struct gkv__catalogue *c, bool write, bool create, gkv_error *err)
{
    int64_t magic, version, tables;

    GKV__TRY(number(c, "PRAGMA application_id", &magic, err));
    GKV__TRY(number(c, "PRAGMA user_version", &version, err));
    GKV__TRY(number(c, "SELECT count(*) FROM sqlite_schema", &tables, err));
    c->parts = version != 1;
    if (!magic && !version && !tables)
        return create ? make_tables(c, err)
                      : gkv__fail(err, GKV_IO, "%s: no library yet: nothing was put into it", c->path);
    if (magic != MAGIC || version < 1)
        return gkv__fail(err, GKV_FORMAT, "%s: not a catalogue of gemkv", c->path);
    if (version > FORMAT)
        return gkv__fail(err, GKV_FORMAT, "%s: a library of format %" PRId64 "; this gemkv knows format %d: use a "
                         "newer one, or index the documents again into a new library", c->path, version, FORMAT);
    if (!c->parts) {
        GKV__TRY(check_table(c, "entry", make_entry_1, err));
        if (write)
            GKV__TRY(upgrade(c, err));
        c->parts = write;
    }
    GKV__TRY(check_table(c, "entry", c->parts ? make_entry : make_entry_1, err));
    return check_table(c, "passage", make_passage, err);
}

static gkv_status set_up(const struct gkv__catalogue *c, bool write, gkv_error *err)
{
    sqlite3_busy_timeout(c->db, WAIT);
    sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, LONGEST);
    sqlite3_limit(c->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    GKV__TRY(run(c, "PRAGMA cell_size_check = 1", NULL, 0, err));
    GKV__TRY(run(c, "PRAGMA temp_store = memory", NULL, 0, err));
    if (!write)
        return run(c, "PRAGMA query_only = 1", NULL, 0, err);
    GKV__TRY(run(c, "PRAGMA journal_mode = delete", NULL, 0, err));
    return run(c, "PRAGMA synchronous = extra", NULL, 0, err);
}

gkv_status gkv__catalogue_open(struct gkv__catalogue *c, const char *path, bool write, bool create,
                               gkv_error *err)
{
    /* A reader may have to undo what a killed writer began; where it cannot write SQLite only reads. */
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    gkv_status status;

    c->path = path;
    if (sqlite3_open_v2(path, &c->db, flags, NULL) != SQLITE_OK)
        status = c->db ? failed(c, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    else if (write && sqlite3_db_readonly(c->db, "main") == 1)
        status = gkv__fail(err, GKV_IO, "%s: it cannot be written", path);
    else
        status = set_up(c, write, err);
    if (status == GKV_OK)
        status = check_format(c, write, create, err);
    if (status != GKV_OK)
        gkv__catalogue_close(c);
    return status;
}

void gkv__catalogue_close(struct gkv__catalogue *c)
{
    sqlite3_close(c->db);
    c->db = NULL;
}

/* The words against the passages.  FTS5 has this check as a statement that writes nothing and wants to be
 * allowed to, so it is left out where nobody may, or where somebody writes. */
static gkv_status check_words(const struct gkv__catalogue *c, gkv_error *err)
{
    gkv_error why = { GKV_OK, "" };
    gkv_status status;
    int64_t only;

    GKV__TRY(number(c, "PRAGMA query_only", &only, err));
    GKV__TRY(run(c, "PRAGMA query_only = 0", NULL, 0, err));
    sqlite3_busy_timeout(c->db, 0);
    status = run(c, "INSERT INTO passage(passage) VALUES('integrity-check')", NULL, 0, &why);
    sqlite3_busy_timeout(c->db, WAIT);
    GKV__TRY(run(c, only ? "PRAGMA query_only = 1" : "PRAGMA query_only = 0", NULL, 0, err));
    if (status == GKV_OK || status == GKV_IO)
        return GKV_OK;
    return gkv__fail(err, status, "%s", why.text);
}

gkv_status gkv__catalogue_check(const struct gkv__catalogue *c, gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "PRAGMA integrity_check(1)", &s, err);
    const char *said = NULL;
    bool row = false;

    if (status == GKV_OK)
        status = step(c, s, &row, err);
    if (status == GKV_OK && row)
        said = (const char *)sqlite3_column_text(s, 0);
    if (said && strcmp(said, "ok")) {
        const char *line = strrchr(said, '\n');     /* the first is a heading, if there are several */

        status = damaged(c, line && line[1] ? line + 1 : said, err);
    }
    sqlite3_finalize(s);
    return status == GKV_OK ? check_words(c, err) : status;
}

/* ---- reading ---------------------------------------------------------------------------- */

#define COLUMNS "id, name, path, grade, model_name, source_bytes, source_modified, bytes, hash, tokens, pages, " \
                "model, template, layer, segment_bytes, segment_sum, stored, added, part"
/* As a reader finds them, who cannot upgrade. */
#define COLUMNS_1 "id, name, path, grade, model_name, source_bytes, source_modified, bytes, hash, tokens, pages, " \
                  "model, template, layer, segment_bytes, segment_sum, stored, added, NULL"

enum {
    ID, NAME, PATH, GRADE, MODEL_NAME, N_TEXTS = MODEL_NAME, SOURCE_BYTES, SOURCE_MODIFIED, BYTES, HASH, TOKENS,
    PAGES, MODEL, TEMPLATE, LAYER, SEGMENT_BYTES, SEGMENT_SUM, STORED, ADDED, N_NUMBERS, PART = N_NUMBERS
};

/* The texts as one block of strings; false when one is not a string. */
static bool take_texts(sqlite3_stmt *s, struct gkv__record *r)
{
    const struct { int column; bool null; const char **to; } row[] = {
        { NAME, false, &r->e.source.name }, { PATH, true, &r->e.source.path }, { GRADE, false, &r->e.source.grade },
        { MODEL_NAME, false, &r->e.model_name }, { PART, true, &r->e.source.part },
    };
    enum { N = sizeof row / sizeof *row };
    size_t room = 0, len[N];
    char *at;

    for (int i = 0; i < N; i++) {
        const char *text = (const char *)sqlite3_column_text(s, row[i].column);

        if (!text && !(row[i].null && sqlite3_column_type(s, row[i].column) == SQLITE_NULL))
            return false;
        len[i] = text ? strlen(text) : 0;
        if (len[i] != (size_t)sqlite3_column_bytes(s, row[i].column) || (!len[i] && row[i].column == NAME))
            return false;
        room += len[i] + 1;
    }
    at = r->text = malloc(room);
    if (!at)
        return false;
    for (int i = 0; i < N; i++) {
        const char *text = (const char *)sqlite3_column_text(s, row[i].column);

        *row[i].to = text ? at : NULL;
        memcpy(at, text ? text : "", len[i] + 1);
        at += len[i] + 1;
    }
    return true;
}

static const char *take(sqlite3_stmt *s, struct gkv__record *r)
{
    static const int sizes[] = { SOURCE_BYTES, BYTES, TOKENS, PAGES, SEGMENT_BYTES, STORED, ADDED };
    int64_t v[N_NUMBERS];

    for (int i = 0; i < N_NUMBERS; i++) {
        v[i] = sqlite3_column_int64(s, i);
        if ((i < NAME || i > MODEL_NAME) && sqlite3_column_type(s, i) != SQLITE_INTEGER)
            return "a number is none";
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (v[sizes[i]] < 0)
            return "a size is negative";
    if (v[ID] < 1 || (uint64_t)v[ID] >= max_id)
        return "an id is out of range";
    if (v[LAYER] < -1 || v[LAYER] > INT32_MAX)
        return "there is no such layer";
    if (!take_texts(s, r))
        return "a name is none";
    r->e.id = (uint64_t)v[ID];
    r->e.source.bytes = (uint64_t)v[SOURCE_BYTES];
    r->e.source.modified = v[SOURCE_MODIFIED];
    r->e.source.layer = (int32_t)v[LAYER];
    r->e.bytes = (uint64_t)v[BYTES];
    r->e.hash = (uint64_t)v[HASH];
    r->e.tokens = (uint64_t)v[TOKENS];
    r->e.pages = (uint64_t)v[PAGES];
    r->e.model = (uint64_t)v[MODEL];
    r->e.segment_bytes = (uint64_t)v[SEGMENT_BYTES];
    r->e.stored_bytes = (uint64_t)v[STORED];
    r->e.added = v[ADDED];
    r->tmpl = (uint64_t)v[TEMPLATE];
    r->sum = (uint64_t)v[SEGMENT_SUM];
    return NULL;
}

static gkv_status add_row(const struct gkv__catalogue *c, sqlite3_stmt *s, struct gkv__records *rows, gkv_error *err)
{
    const char *wrong;

    /* Powers of two. */
    if (!(rows->n & (rows->n - 1))) {
        struct gkv__record *grown = realloc(rows->v, (rows->n ? 2 * rows->n : 1) * sizeof *grown);

        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        rows->v = grown;
    }
    rows->v[rows->n] = (struct gkv__record){ .text = NULL };
    wrong = take(s, &rows->v[rows->n++]);
    return wrong ? damaged(c, wrong, err) : GKV_OK;
}

gkv_status gkv__catalogue_rows(const struct gkv__catalogue *c, const char *name, struct gkv__records *rows,
                               gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    static const char *const sql[2][2] = {
        { "SELECT " COLUMNS_1 " FROM entry ORDER BY id", "SELECT " COLUMNS_1 " FROM entry WHERE name = ?1" },
        { "SELECT " COLUMNS " FROM entry ORDER BY id", "SELECT " COLUMNS " FROM entry WHERE name = ?1" },
    };
    gkv_status status = prepare(c, sql[c->parts][name != NULL], &s, err);
    bool row = true;

    *rows = (struct gkv__records){ NULL, 0 };
    if (status == GKV_OK && name)
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    while (status == GKV_OK && (status = step(c, s, &row, err)) == GKV_OK && row)
        status = add_row(c, s, rows, err);
    sqlite3_finalize(s);
    if (status != GKV_OK)
        gkv__records_free(rows);
    return status;
}

void gkv__records_free(struct gkv__records *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        free(rows->v[i].text);
    free(rows->v);
    *rows = (struct gkv__records){ NULL, 0 };
}

gkv_status gkv__catalogue_has(const struct gkv__catalogue *c, uint64_t id, uint64_t hash, bool *has,
                              gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "SELECT 1 FROM entry WHERE id = ?1 AND hash = ?2", &s, err);

    *has = false;
    if (status == GKV_OK) {
        sqlite3_bind_int64(s, 1, (int64_t)id);
        sqlite3_bind_int64(s, 2, (int64_t)hash);
        status = step(c, s, has, err);
    }
    sqlite3_finalize(s);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

gkv_status gkv__catalogue_next(const struct gkv__catalogue *c, uint64_t *id, gkv_error *err)
{
    int64_t last;

    GKV__TRY(number(c, "SELECT seq FROM sqlite_sequence WHERE name = 'entry'", &last, err));
    *id = (uint64_t)last + 1;
    return last >= 0 && *id < max_id ? GKV_OK : damaged(c, "there is no next id", err);
}

static gkv_status begin(const struct gkv__catalogue *c, gkv_error *err)
{
    return run(c, "BEGIN IMMEDIATE", NULL, 0, err);
}

/* After status, of what came since begin. */
static gkv_status end(const struct gkv__catalogue *c, gkv_status status, gkv_error *err)
{
    if (status == GKV_OK)
        status = run(c, "COMMIT", NULL, 0, err);
    if (status != GKV_OK)
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static gkv_status delete_entry(const struct gkv__catalogue *c, uint64_t id, gkv_error *err)
{
    const int64_t first = (int64_t)(id << PASSAGE_BITS), range[] = { first, first + (1 << PASSAGE_BITS) - 1 };

    GKV__TRY(run(c, "DELETE FROM passage WHERE rowid BETWEEN ?1 AND ?2", range, 2, err));
    return run(c, "DELETE FROM entry WHERE id = ?1", &(int64_t){ (int64_t)id }, 1, err);
}

static gkv_status delete_named(const struct gkv__catalogue *c, const char *name, gkv_error *err)
{
    struct gkv__records old;
    gkv_status status;

    GKV__TRY(gkv__catalogue_rows(c, name, &old, err));
    status = old.n ? delete_entry(c, old.v->e.id, err) : GKV_OK;
    gkv__records_free(&old);
    return status;
}

static gkv_status insert_entry(const struct gkv__catalogue *c, const struct gkv__record *r, gkv_error *err)
{
    const char *const text[] = { r->e.source.name, r->e.source.path, r->e.source.grade, r->e.model_name };
    const int64_t v[] = {
        (int64_t)r->e.source.bytes, r->e.source.modified, (int64_t)r->e.bytes, (int64_t)r->e.hash,
        (int64_t)r->e.tokens, (int64_t)r->e.pages, (int64_t)r->e.model, (int64_t)r->tmpl, r->e.source.layer,
        (int64_t)r->e.segment_bytes, (int64_t)r->sum, (int64_t)r->e.stored_bytes, r->e.added
    };
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "INSERT INTO entry(" COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                                "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)", &s, err);
    bool row;

    if (status == GKV_OK) {
        sqlite3_bind_int64(s, ID + 1, (int64_t)r->e.id);
        for (int i = 0; i < N_TEXTS; i++)
            sqlite3_bind_text(s, NAME + 1 + i, text[i], -1, SQLITE_STATIC);
        for (int i = SOURCE_BYTES; i < N_NUMBERS; i++)
            sqlite3_bind_int64(s, i + 1, v[i - SOURCE_BYTES]);
        sqlite3_bind_text(s, PART + 1, r->e.source.part, -1, SQLITE_STATIC);
        status = step(c, s, &row, err);
    }
    sqlite3_finalize(s);
    return status;
}

static gkv_status insert_passages(const struct gkv__catalogue *c, uint64_t id, const char *text, size_t len,
                                  gkv_error *err)
{
    /* No more than there are numbers for. */
    const size_t want = (size_t)gkv__max(GKV__PASSAGE, (uint64_t)len >> (PASSAGE_BITS - 2));
    int64_t passage = (int64_t)(id << PASSAGE_BITS);
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "INSERT INTO passage(rowid, text, first, last) VALUES(?1, ?2, ?3, ?4)", &s,
                                err);

    for (size_t at = 0, to; at < len && status == GKV_OK; at = to) {
        bool row;

        to = gkv__passage_end(text, len, at, want);
        sqlite3_bind_int64(s, 1, passage++);
        sqlite3_bind_text64(s, 2, text + at, to - at, SQLITE_STATIC, SQLITE_UTF8);
        sqlite3_bind_int64(s, 3, (int64_t)at);
        sqlite3_bind_int64(s, 4, (int64_t)to);
        status = step(c, s, &row, err);
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return status;
}

gkv_status gkv__catalogue_put(const struct gkv__catalogue *c, const struct gkv__record *row, const char *text,
                              size_t len, bool *there, gkv_error *err)
{
    gkv_status status = begin(c, err);

    *there = false;
    if (status != GKV_OK)
        return status;
    status = delete_named(c, row->e.source.name, err);
    if (status == GKV_OK)
        status = insert_entry(c, row, err);
    if (status == GKV_OK)
        status = insert_passages(c, row->e.id, text, len, err);
    status = end(c, status, err);
    *there = status == GKV_OK;
    /* A commit that failed may still have happened: then its segment must stay. */
    if (status != GKV_OK && gkv__catalogue_has(c, row->e.id, row->e.hash, there, NULL) != GKV_OK)
        *there = true;
    return status;
}

gkv_status gkv__catalogue_note(const struct gkv__catalogue *c, const gkv_source *from, int64_t now,
                                  gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "UPDATE entry SET path = ?2, source_bytes = ?3, source_modified = ?4, "
                                "added = ?5 WHERE name = ?1", &s, err);
    bool row;

    if (status == GKV_OK) {
        sqlite3_bind_text(s, 1, from->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, from->path, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 3, (int64_t)from->bytes);
        sqlite3_bind_int64(s, 4, from->modified);
        sqlite3_bind_int64(s, 5, now);
        status = step(c, s, &row, err);
    }
    sqlite3_finalize(s);
    return status;
}

gkv_status gkv__catalogue_remove(const struct gkv__catalogue *c, uint64_t id, gkv_error *err)
{
    GKV__TRY(begin(c, err));
    return end(c, delete_entry(c, id, err), err);
}

/* ---- searching -------------------------------------------------------------------------- */

gkv_status gkv__catalogue_search(const struct gkv__catalogue *c, const char *match,
                                 bool (*found)(void *arg, uint64_t id, int64_t passage, double score), void *arg,
                                 gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "SELECT rowid, rank FROM passage WHERE passage MATCH ?1 ORDER BY rank, rowid",
                                &s, err);
    bool row = true, more = true;

    if (status == GKV_OK)
        sqlite3_bind_text(s, 1, match, -1, SQLITE_STATIC);
    while (status == GKV_OK && more && (status = step(c, s, &row, err)) == GKV_OK && row) {
        const int64_t passage = sqlite3_column_int64(s, 0);

        more = passage < 0 || found(arg, (uint64_t)passage >> PASSAGE_BITS, passage, -sqlite3_column_double(s, 1));
    }
    sqlite3_finalize(s);
    return status;
}

gkv_status gkv__catalogue_passage(const struct gkv__catalogue *c, int64_t passage, uint64_t len, uint64_t *start,
                                  uint64_t *end, gkv_error *err)
{
    sqlite3_stmt *s = NULL;
    gkv_status status = prepare(c, "SELECT first, last FROM passage WHERE rowid = ?1", &s, err);
    bool row = false;
    int64_t first = -1, last = -1;

    *start = *end = 0;
    if (status == GKV_OK) {
        sqlite3_bind_int64(s, 1, passage);
        status = step(c, s, &row, err);
    }
    if (status == GKV_OK && row && sqlite3_column_type(s, 0) == SQLITE_INTEGER &&
        sqlite3_column_type(s, 1) == SQLITE_INTEGER) {
        first = sqlite3_column_int64(s, 0);
        last = sqlite3_column_int64(s, 1);
    }
    sqlite3_finalize(s);
    if (status != GKV_OK)
        return status;
    if (first < 0 || last < first || (uint64_t)last > len)
        return damaged(c, "a passage lies nowhere", err);
    *start = (uint64_t)first;
    *end = (uint64_t)last;
    return GKV_OK;
}

#endif
