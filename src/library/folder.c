/* SPDX-License-Identifier: BSD-2-Clause
 * folder.c - see folder.h */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/base/sum.h"
#include "src/library/folder.h"

static gkv_status path_in(const struct gkv__folder *f, char out[GKV__PATH], gkv_error *err, const char *name)
{
    const int n = snprintf(out, GKV__PATH, "%s/%s", f->path, name);

    return n > 0 && n < GKV__PATH ? GKV_OK : gkv__fail(err, GKV_IO, "%s: the name is too long", f->path);
}

static gkv_status failed(const char *path, gkv_error *err)
{
    return gkv__fail(err, errno == ENOMEM ? GKV_NOMEM : GKV_IO, "%s: %s", path, strerror(errno));
}

/* ---- opening ---------------------------------------------------------------------------- */

/* Nothing but what a writer leaves who was stopped before the catalogue was there. */
static gkv_status check_empty(const char *path, gkv_error *err)
{
    static const char *const ours[] = { ".", "..", "lock", "segments", "catalogue.sqlite",
                                        "catalogue.sqlite-journal" };
    DIR *dir = opendir(path);
    const struct dirent *e;
    bool other = false;

    if (!dir)
        return failed(path, err);
    while (!other && (e = readdir(dir))) {
        size_t i = 0;

        while (i < sizeof ours / sizeof *ours && strcmp(e->d_name, ours[i]))
            i++;
        other = i == sizeof ours / sizeof *ours;
    }
    closedir(dir);
    return other ? gkv__fail(err, GKV_INVALID, "%s: a folder of something else; a library is a folder of its "
                             "own, so give the name of a new one", path) : GKV_OK;
}

static gkv_status check_catalogue(const struct gkv__folder *f, gkv_error *err)
{
    char path[GKV__PATH];
    struct stat st;

    GKV__TRY(gkv__folder_catalogue(f, path, err));
    if (stat(path, &st) && (errno == ENOENT || errno == ENOTDIR))
        return gkv__fail(err, GKV_IO, "%s: no library: it has no catalogue; gemkv index makes one", f->path);
    if (stat(path, &st))
        return failed(path, err);
    return S_ISREG(st.st_mode) ? GKV_OK : gkv__fail(err, GKV_FORMAT, "%s: not a regular file", path);
}

static gkv_status make_folder(const struct gkv__folder *f, gkv_error *err)
{
    char path[GKV__PATH];
    struct stat st;

    GKV__TRY(gkv__folder_catalogue(f, path, err));
    if (!stat(path, &st) && st.st_size > 0)
        return check_catalogue(f, err);
    if (mkdir(f->path, 0777) && errno != EEXIST)
        return failed(f->path, err);
    if (!stat(f->path, &st) && !S_ISDIR(st.st_mode))
        return gkv__fail(err, GKV_INVALID, "%s: not a folder; a library is one, so give the name of a new one",
                         f->path);
    GKV__TRY(check_empty(f->path, err));
    GKV__TRY(path_in(f, path, err, "segments"));
    return mkdir(path, 0777) && errno != EEXIST ? failed(path, err) : GKV_OK;
}

static gkv_status held(const struct gkv__folder *f, gkv_error *err)
{
    char who[24] = "";
    const ssize_t n = pread(f->lock, who, sizeof who - 1, 0);

    who[n > 0 ? n : 0] = 0;
    who[strspn(who, "0123456789")] = 0;
    return gkv__fail(err, GKV_IO, "%s: %s%s writes to it; wait until that has finished, or end it", f->path,
                     *who ? "process " : "another process", who);
}

static gkv_status lock(struct gkv__folder *f, gkv_error *err)
{
    char path[GKV__PATH], who[24];
    struct stat st;

    GKV__TRY(path_in(f, path, err, "lock"));
    f->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (f->lock < 0 || fstat(f->lock, &st))
        return failed(path, err);
    if (!S_ISREG(st.st_mode))
        return gkv__fail(err, GKV_FORMAT, "%s: not a regular file", path);
    f->mode = st.st_mode & 0666;
    if (flock(f->lock, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? held(f, err) : failed(path, err);
    snprintf(who, sizeof who, "%ld\n", (long)getpid());
    /* Only for the message: a full disk is not a reason to give up. */
    if (ftruncate(f->lock, 0) || pwrite(f->lock, who, strlen(who), 0) < 0)
        errno = 0;
    return GKV_OK;
}

gkv_status gkv__folder_open(struct gkv__folder *f, const char *path, bool write, bool create, gkv_error *err)
{
    const size_t size = strlen(path) + 3;
    gkv_status status = GKV_OK;

    *f = (struct gkv__folder){ .path = malloc(size), .lock = -1 };
    if (!f->path)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    if (!*path)
        status = gkv__fail(err, GKV_INVALID, "a library without a name");
    /* SQLite has other plans with names that begin with "file:" or ":". */
    snprintf(f->path, size, "%s%s", *path == ':' || !strncmp(path, "file:", 5) ? "./" : "", path);
    if (status == GKV_OK)
        status = create ? make_folder(f, err) : check_catalogue(f, err);
    if (status == GKV_OK && write)
        status = lock(f, err);
    if (status != GKV_OK)
        gkv__folder_close(f);
    return status;
}

void gkv__folder_close(struct gkv__folder *f)
{
    if (f->lock >= 0)
        close(f->lock);
    free(f->path);
    *f = (struct gkv__folder){ .lock = -1 };
}

gkv_status gkv__folder_catalogue(const struct gkv__folder *f, char out[GKV__PATH], gkv_error *err)
{
    return path_in(f, out, err, "catalogue.sqlite");
}

/* ---- segments --------------------------------------------------------------------------- */

gkv_status gkv__segment_path(const struct gkv__folder *f, struct gkv__segment s, char out[GKV__PATH],
                             gkv_error *err)
{
    char name[64];

    snprintf(name, sizeof name, "segments/%016" PRIx64 "-%" PRIu64 ".gkv", s.hash, s.id);
    return path_in(f, out, err, name);
}

gkv_status gkv__segment_sum(const char *path, uint64_t *bytes, uint64_t *sum, gkv_error *err)
{
    enum { PIECE = 1 << 20 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *piece = malloc(PIECE);
    size_t have = 0;
    ssize_t n = -1;
    gkv_status status;

    *bytes = 0;
    *sum = GKV__SUM_START;
    while (fd >= 0 && piece && ((n = read(fd, piece + have, PIECE - have)) > 0 || (n < 0 && errno == EINTR))) {
        have += n > 0 ? (size_t)n : 0;
        if (have < PIECE)               /* pieces of a sum do not depend on how it is read */
            continue;
        *sum = gkv__sum(*sum, piece, have);
        *bytes += have;
        have = 0;
    }
    if (n == 0) {
        *sum = gkv__sum(*sum, piece, have);
        *bytes += have;
    }
    status = n < 0 ? failed(path, err) : GKV_OK;
    free(piece);
    if (fd >= 0)
        close(fd);
    return status;
}

gkv_status gkv__segment_settle(const struct gkv__folder *f, const char *path, gkv_error *err)
{
    char folder[GKV__PATH];
    int fd;
    bool good;

    GKV__TRY(path_in(f, folder, err, "segments"));
    if (chmod(path, f->mode))
        return failed(path, err);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed(folder, err);
    good = !fsync(fd) || errno == EINVAL;       /* some file systems do not know it for folders */
    close(fd);
    return good ? GKV_OK : failed(folder, err);
}

/* "HASH-ID.gkv", or that and what mkstemp puts behind it.  Other files are not ours to remove. */
static bool parse(const char *name, struct gkv__segment *s, bool *aside)
{
    char again[64];
    size_t n;

    if (strlen(name) >= sizeof again || sscanf(name, "%16" SCNx64 "-%19" SCNu64, &s->hash, &s->id) != 2)
        return false;
    n = (size_t)snprintf(again, sizeof again, "%016" PRIx64 "-%" PRIu64 ".gkv", s->hash, s->id);
    *aside = name[strnlen(name, n)] == '.' && strlen(name) == n + 7;
    return !strncmp(name, again, n) && (!name[n] || *aside);
}

gkv_status gkv__segment_sweep(const struct gkv__folder *f,
                              gkv_status (*named)(void *arg, struct gkv__segment s, bool *is, gkv_error *err),
                              void *arg, uint64_t *n, gkv_error *err)
{
    char path[GKV__PATH];
    gkv_status status = GKV_OK;
    const struct dirent *e;
    DIR *dir;

    *n = 0;
    GKV__TRY(path_in(f, path, err, "segments"));
    dir = opendir(path);
    if (!dir)
        return failed(path, err);
    while (status == GKV_OK && (e = readdir(dir))) {
        struct gkv__segment s;
        bool aside = false, is = false;

        if (!parse(e->d_name, &s, &aside))
            continue;
        if (!aside)
            status = named(arg, s, &is, err);
        if (status == GKV_OK && !is && !unlinkat(dirfd(dir), e->d_name, 0))
            ++*n;
    }
    closedir(dir);
    return status;
}
