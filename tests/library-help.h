/* SPDX-License-Identifier: BSD-2-Clause
 * library-help.h - libraries in a folder of their own, for the tests of them: documents are put in, asked for and
 * counted. */
#ifndef TESTS_LIBRARY_HELP_H
#define TESTS_LIBRARY_HELP_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if HAVE_SQLITE
#include <sqlite3.h>
#endif
#include "gemkv.h"

static gkv_error err;
static gkv_model *model;
static gkv_options opt;
static char scratch[] = "/tmp/unit-library-XXXXXX";

static inline const char *at(const char *name)
{
    static char path[4][512];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof *path, "%s/%s", scratch, name);
    return p;
}

static const char cats[] = "The cat sat on the mat. Its name was Kestrel.\n\nIt slept.\fOn page two it woke.";
static const char dogs[] = "The dog barked at the moon, and the moon said nothing.";
static const char birds[] = "Les g\303\251nies chantent. A kestrel is a bird; kestrels hunt, and a kestrel flies.";

static inline gkv_document *document(const char *text, size_t len)
{
    gkv_document *d = NULL;

    if (gkv_document_open(&d, model, &opt, &err) || gkv_document_feed(d, text, len, &err))
        printf("# %s\n", err.text);
    return d;
}

static inline gkv_status put(gkv_library *l, const char *name, const char *text)
{
    const gkv_source s = { .name = name, .path = "/somewhere", .bytes = strlen(text), .modified = 5, .layer = 6 };
    gkv_document *d = document(text, strlen(text));
    gkv_status status = gkv_library_put(l, &s, d, NULL, &err);

    gkv_document_close(d);
    return status;
}

#if HAVE_SQLITE
static inline int64_t sql_number(const char *name, const char *what)
{
    sqlite3 *db;
    sqlite3_stmt *q = NULL;
    char path[512];
    int64_t n = -1;

    snprintf(path, sizeof path, "%s/catalogue.sqlite", at(name));
    if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, what, -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}
#endif

static inline gkv_library *library(const char *name, unsigned flags)
{
    gkv_library *l = NULL;

    err.text[0] = 0;
    if (gkv_library_open(&l, at(name), flags, &err))
        printf("# %s\n", err.text);
    return l;
}

static inline gkv_library *fresh(const char *name)
{
    return library(name, GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE);
}

/* The document of that name has this text. */
static inline int is(gkv_library *l, const char *name, const char *text)
{
    gkv_document *d = NULL;
    gkv_status status = gkv_library_load(l, name, model, &opt, &d, &err);
    size_t len = 0;
    const char *has = status ? NULL : gkv_document_text(d, 0, &len);
    const int same = has && len == strlen(text) && !memcmp(has, text, len);

    if (status)
        printf("# %s\n", err.text);
    gkv_document_close(d);
    return same;
}

static inline size_t count(const char *name)
{
    DIR *dir = opendir(at(name));
    size_t n = 0;

    for (const struct dirent *e; dir && (e = readdir(dir)); )
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static inline size_t entries(gkv_library *l)
{
    size_t n = 0;

    if (gkv_library_find(l, NULL, NULL, 0, &n, &err))
        printf("# %s\n", err.text);
    return n;
}

/* The model whose documents they are, and the folder. */
static inline void help_begin(void)
{
    char path[512];

    snprintf(path, sizeof path, "%s/data/gemkv-mini-q8_0.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (!mkdtemp(scratch) || gkv_model_open(&model, path, GKV_MODEL_VOCAB_ONLY, &err) != GKV_OK) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    gkv_options_init(&opt);
}

static inline void help_end(void)
{
    char command[512];

    gkv_model_close(model);
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    if (system(command))
        printf("# %s is left\n", scratch);
}

#endif
