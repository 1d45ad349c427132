/* SPDX-License-Identifier: BSD-2-Clause
 * catalogue.c - the catalogue of a library, a SQLite database of anybody's */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include <gemkv.h>
#include "tests/fuzz/fuzz.h"

static char *folder;

static void leave(void)
{
    fuzz_remove(folder);
}

static void prepare(void)
{
    char path[4200];

    folder = fuzz_folder();
    atexit(leave);
    snprintf(path, sizeof path, "%s/segments", folder);
    must(!mkdir(path, 0700));
}

/* Entries have names, and nothing of them is outside of the library. */
static void look(gkv_library *l)
{
    gkv_library_entry_info e;
    gkv_error              err;
    size_t                 n = 0;

    for (unsigned i = 0; i < 3; i++) {
        if (gkv_library_find(l, i ? "who sat on the mat" : NULL, i > 1 ? "*a*" : NULL, i, &n, &err) != GKV_OK)
            continue;
        for (size_t k = 0; k < n; k++) {
            gkv_library_entry(l, k, &e);
            must(e.source.name && *e.source.name && e.model_name && e.start <= e.end && e.end <= e.bytes);
            gkv_library_get(l, e.source.name, &e, &err);
            gkv_library_verify_quick(l, e.source.name, &err);
        }
    }
    gkv_library_verify(l, NULL, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gkv_library *l = NULL;
    gkv_error    err = { 0 };
    uint64_t     segments, entries;
    char         path[4200];
    FILE        *f;

    if (!folder)
        prepare();
    snprintf(path, sizeof path, "%s/catalogue.sqlite", folder);
    remove(path);
    f = fopen(path, "wb");
    must(f && (!size || fwrite(data, size, 1, f) == 1) && !fclose(f));
    for (unsigned write = 0; write < 2; write++) {
        if (gkv_library_open(&l, folder, write ? GKV_LIBRARY_WRITE : 0, &err) != GKV_OK) {
            must(!l && *err.text && !strchr(err.text, '\n'));
            continue;
        }
        look(l);
        if (write) {
            gkv_library_remove(l, "b.txt", &err);
            gkv_library_prune(l, &segments, &entries, &err);
        }
        gkv_library_close(l);
    }
    return 0;
}
