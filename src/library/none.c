/* SPDX-License-Identifier: BSD-2-Clause
 * none.c - libraries in a build without SQLite: none */
#include "config.h"
#include "src/base/status.h"
#if !HAVE_SQLITE

static gkv_status none(gkv_error *err)
{
    return gkv__fail(err, GKV_UNSUPPORTED, "libraries of documents need SQLite, which this gemkv was built without; "
                     "install libsqlite3-dev and build it again with ./configure --with-sqlite");
}

gkv_status gkv_library_open(gkv_library **out, const char *path, unsigned flags, gkv_error *err)
{
    (void)path;
    (void)flags;
    *out = NULL;
    return none(err);
}

void gkv_library_close(gkv_library *l)
{
    (void)l;
}

gkv_status gkv_library_fits(gkv_library *l, const gkv_model *model, int32_t layer, gkv_error *err)
{
    (void)l;
    (void)model;
    (void)layer;
    return none(err);
}

gkv_status gkv_library_put(gkv_library *l, const gkv_source *source, gkv_document *d, const gkv_options *opt,
                           gkv_error *err)
{
    (void)opt;
    (void)l;
    (void)source;
    (void)d;
    return none(err);
}

gkv_status gkv_library_note(gkv_library *l, const gkv_source *source, gkv_error *err)
{
    (void)l;
    (void)source;
    return none(err);
}

gkv_status gkv_library_remove(gkv_library *l, const char *name, gkv_error *err)
{
    (void)l;
    (void)name;
    return none(err);
}

gkv_status gkv_library_find(gkv_library *l, const char *question, const char *glob, size_t top, size_t *n,
                            gkv_error *err)
{
    (void)l;
    (void)question;
    (void)glob;
    (void)top;
    *n = 0;
    return none(err);
}

void gkv_library_entry_size(const gkv_library *l, size_t i, gkv_library_entry_info *out, size_t size)
{
    const gkv_library_entry_info nothing = { .id = 0 };

    (void)l;
    (void)i;
    gkv__give(out, size, &nothing, sizeof nothing);
}

gkv_status gkv_library_get_size(gkv_library *l, const char *name, gkv_library_entry_info *out, size_t size,
                                gkv_error *err)
{
    (void)name;
    gkv_library_entry_size(l, 0, out, size);
    return none(err);
}

gkv_status gkv_library_load(gkv_library *l, const char *name, gkv_model *model, const gkv_options *opt,
                            gkv_document **out, gkv_error *err)
{
    (void)l;
    (void)name;
    (void)model;
    (void)opt;
    *out = NULL;
    return none(err);
}

gkv_status gkv_library_verify(gkv_library *l, const char *name, gkv_error *err)
{
    (void)l;
    (void)name;
    return none(err);
}

gkv_status gkv_library_verify_quick(gkv_library *l, const char *name, gkv_error *err)
{
    (void)l;
    (void)name;
    return none(err);
}

gkv_status gkv_library_prune(gkv_library *l, uint64_t *segments, uint64_t *entries, gkv_error *err)
{
    (void)l;
    *segments = *entries = 0;
    return none(err);
}

#endif
