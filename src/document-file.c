/* SPDX-License-Identifier: BSD-2-Clause
 * document-file.c - a document as a file: its text, its tokens and where its files lie in the text, so
 * that another process need not feed and tokenize it again.
 *
 *     head   file[n_files]   id[n_tokens]   len[n_tokens]   text[len]   and perhaps an index (first/index.h)
 *
 * in the byte order of the machine, which is little-endian wherever models can be opened.  Everything in
 * a file is checked before it is used: sizes against the size of the file, tokens against the
 * vocabulary and the text, text for UTF-8, and all of it against a checksum. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/unicode.h"
#include "src/document.h"

static const char magic[8] = "gkvdoc3";

struct head {
    char     magic[8];
    uint64_t sum;               /* checksum of all that follows                              */
    uint64_t model, tmpl;       /* fingerprints; tokens depend on both                       */
    uint64_t n_files, n_tokens, len, tokenized;
    uint64_t index;             /* where in the file; 0: there is none                       */
};

static uint64_t sum_of(uint64_t h, const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)              /* FNV-1a */
        h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

struct part { const void *p; uint64_t n; };

enum { N_PARTS = 4 };

/* The parts of the file after the head. */
static void parts_of(const gkv_document *d, struct part part[N_PARTS])
{
    part[0] = (struct part){ d->file, d->n_files * sizeof *d->file };
    part[1] = (struct part){ d->tokens.id, d->tokens.n * sizeof *d->tokens.id };
    part[2] = (struct part){ d->tokens.len, d->tokens.n * sizeof *d->tokens.len };
    part[3] = (struct part){ d->text, d->len };
}

/* Checksum of the head from its member `model` on, and of all parts. */
static uint64_t sum_all(const struct head *h, const struct part part[N_PARTS])
{
    uint64_t sum = sum_of(UINT64_C(0xcbf29ce484222325), &h->model, sizeof *h - offsetof(struct head, model));

    for (size_t i = 0; i < N_PARTS; i++)
        sum = sum_of(sum, part[i].p, (size_t)part[i].n);
    return sum;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Bytes of it without the index. */
static uint64_t size_of(const struct head *h)
{
    const uint64_t tokens = gkv__times(h->n_tokens, GKV__TOKEN_BYTES);
    const uint64_t files = gkv__times(h->n_files, sizeof(struct gkv__file));

    return gkv__plus(gkv__plus(sizeof *h, files), gkv__plus(tokens, h->len));
}

static uint64_t aligned(uint64_t bytes)
{
    return gkv__plus(bytes, GKV__INDEX_ALIGN - 1) / GKV__INDEX_ALIGN * GKV__INDEX_ALIGN;
}

static bool write_document(int fd, const gkv_document *d, struct gkv__index_work *w)
{
    struct head h = {
        .model = gkv_model_fingerprint(d->model), .tmpl = gkv__document_template(d), .n_files = d->n_files,
        .n_tokens = d->tokens.n, .len = d->len, .tokenized = d->tokenized,
    };
    struct part part[N_PARTS];
    uint64_t at = sizeof h;
    bool good;

    h.index = w ? aligned(size_of(&h)) : 0;
    memcpy(h.magic, magic, sizeof magic);
    parts_of(d, part);
    h.sum = sum_all(&h, part);
    good = gkv__write_at(fd, &h, sizeof h, 0);
    for (size_t i = 0; i < N_PARTS && good; at += part[i++].n)
        good = gkv__write_at(fd, part[i].p, part[i].n, at);
    return good && (!w || gkv__index_write(w, fd, h.index, NULL) == GKV_OK) && !fsync(fd);
}

/* Written aside, synced, renamed: whenever it is killed, path is what it was or the whole document. */
gkv_status gkv__document_write(const gkv_document *d, struct gkv__index_work *w, const char *path, gkv_error *err)
{
    char aside[4096];
    int fd, why;
    bool good;

    if ((size_t)snprintf(aside, sizeof aside, "%s.XXXXXX", path) >= sizeof aside)
        return gkv__fail(err, GKV_IO, "%s: the name is too long", path);
    fd = mkstemp(aside);
    if (fd < 0)
        return gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
    good = write_document(fd, d, w);
    why = errno;
    if (close(fd) && good) {
        good = false;
        why = errno;
    }
    if (good && rename(aside, path)) {
        good = false;
        why = errno;
    }
    if (good)
        return GKV_OK;
    unlink(aside);
    return gkv__fail(err, GKV_IO, "%s: %s", path, strerror(why));
}

/* Only text and tokens: an index is in the file that it was written to. */
gkv_status gkv_document_save(gkv_document *d, const char *path, gkv_error *err)
{
    GKV__TRY(gkv__document_finish(d, err));
    return gkv__document_write(d, NULL, path, err);
}

/* ---- reading ---------------------------------------------------------------------------- */

static gkv_status damaged(const char *path, const char *what, gkv_error *err)
{
    return gkv__fail(err, GKV_FORMAT, "%s: %s; make it again from the text", path, what);
}

static gkv_status read_all(int fd, void *p, uint64_t n, const char *path, gkv_error *err)
{
    char *at = p;

    while (n) {
        const ssize_t done = read(fd, at, (size_t)gkv__min(n, 1 << 30));

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
        if (!done)
            return damaged(path, "the file ends too early", err);
        at += done;
        n -= (uint64_t)done;
    }
    return GKV_OK;
}

static gkv_status check_head(const gkv_document *d, const struct head *h, uint64_t size, const char *path,
                             gkv_error *err)
{
    const uint64_t all = size_of(h);

    if (memcmp(h->magic, magic, sizeof magic))
        return damaged(path, "not a document of this version of gemkv", err);
    if ((h->index ? h->index != aligned(all) || h->index >= size : all != size) || !h->n_files ||
        h->tokenized > h->len)
        return damaged(path, "its sizes do not fit", err);
    if (h->model != gkv_model_fingerprint(d->model))
        return damaged(path, "its tokens are another model's", err);
    if (h->tmpl != gkv__document_template(d))
        return damaged(path, "its tokens are those of another chat template or system prompt, or differ in thinking", err);
    if (d->limit && gkv__plus(d->resident, all) > d->limit)
        return gkv__fail(err, GKV_LIMIT, "%s: %s of memory are needed, the limit is %s; raise --memory", path,
                         gkv__needed(gkv__plus(d->resident, all)).text, gkv__limit(d->limit).text);
    return GKV_OK;
}

/* Errors that remain possible when all sizes in the head are right; NULL: none. */
static const char *what_is_wrong(const gkv_document *d)
{
    const char *nul = memchr(d->text, 0, d->len);
    uint64_t sum = 0, at = 0;

    for (size_t i = 0; i < d->tokens.n; i++) {
        if (d->tokens.id[i] >= gkv__vocab_size(d->vocab))
            return "a token is not in the vocabulary";
        sum += d->tokens.len[i];
    }
    if (sum != d->tokenized)
        return "its tokens are not those of its text";
    for (size_t i = 0; i < d->n_files; i++) {
        if (d->file[i].start < at || d->file[i].end < d->file[i].start || d->file[i].end > d->len)
            return "its files do not lie in its text";
        at = d->file[i].end;
    }
    if (nul || gkv__utf8_check(d->text, d->len, NULL) < d->len)
        return "its text is not UTF-8";
    return NULL;
}

/* The index keeps the file open. */
static gkv_status read_index(gkv_document *d, int fd, uint64_t at, uint64_t size, const char *path, gkv_error *err)
{
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    gkv_error why = { 0 };
    gkv_status status;

    if (own < 0)
        return gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
    status = gkv__index_open(&d->index, d->model, own, at, size, d->tokens.n, &why);
    if (status == GKV_FORMAT)
        return damaged(path, why.text, err);
    return status == GKV_OK ? gkv__document_has_index(d, err) : gkv__fail(err, status, "%s: %s", path, why.text);
}

static gkv_status read_document(gkv_document *d, int fd, const char *path, gkv_error *err)
{
    struct stat st;
    struct head h;
    struct part part[N_PARTS];
    const char *wrong;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return damaged(path, "not a regular file", err);
    GKV__TRY(read_all(fd, &h, sizeof h, path, err));
    GKV__TRY(check_head(d, &h, (uint64_t)st.st_size, path, err));
    d->tokens.n = 0;
    GKV__TRY(gkv__tokens_reserve(&d->tokens, (size_t)h.n_tokens, err));
    free(d->text);
    d->cap = d->len = (size_t)h.len;
    d->text = malloc(d->len + 1);
    d->file = malloc((size_t)h.n_files * sizeof *d->file);
    if (!d->text || !d->file)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->n_files = (size_t)h.n_files;
    d->tokens.n = (size_t)h.n_tokens;
    d->tokenized = (size_t)h.tokenized;
    d->checked = d->len;
    d->finished = true;
    parts_of(d, part);
    for (size_t i = 0; i < N_PARTS; i++)
        GKV__TRY(read_all(fd, (void *)part[i].p, part[i].n, path, err));
    if (sum_all(&h, part) != h.sum)
        return damaged(path, "the file is damaged", err);
    wrong = what_is_wrong(d);
    if (wrong)
        return damaged(path, wrong, err);
    return h.index ? read_index(d, fd, h.index, (uint64_t)st.st_size, path, err) : GKV_OK;
}

gkv_status gkv_document_load(gkv_document **out, gkv_model *model, const gkv_options *opt, const char *path,
                             gkv_error *err)
{
    gkv_document *d = NULL;
    gkv_status status = gkv_document_open(&d, model, opt, err);
    int fd = -1;

    *out = NULL;
    if (status != GKV_OK)
        return status;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    status = fd < 0 ? gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno))
                    : read_document(d, fd, path, err);
    if (fd >= 0)
        close(fd);
    if (status != GKV_OK) {
        gkv_document_close(d);
        return status;
    }
    *out = d;
    return GKV_OK;
}
