/* SPDX-License-Identifier: BSD-2-Clause
 * folder.c - see folder.h */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/say.h"
#include "src/cli/serve/folder.h"

static const struct folder *volatile fleeting;  /* the one that ends with the process, while it is there */

/* For exit(), as when no memory is left.  So nothing is allocated here, and other threads may still write. */
static void remove_fleeting(void)
{
    const struct folder *f = fleeting;
    struct dirent       *e;

    for (int turn = 0; f && turn < 100; turn++) {
        rewinddir(f->dir);
        while ((e = readdir(f->dir)))
            unlinkat(dirfd(f->dir), e->d_name, 0);
        if (!rmdir(f->path) || errno != ENOTEMPTY)
            return;
    }
}

static int open_new(struct folder *f, struct io *io)
{
    const char *tmp = getenv("TMPDIR");
    int         why;

    if (atexit(remove_fleeting))
        out_of_memory();
    tmp = tmp && *tmp ? tmp : "/tmp";
    f->path = format("%s/gemkv-serve-XXXXXX", tmp);
    if (mkdtemp(f->path)) {
        f->dir = opendir(f->path);
        if (f->dir) {
            fleeting = f;
            return 0;
        }
        why = errno;
        rmdir(f->path);
        errno = why;
    }
    free(f->path);
    f->path = NULL;
    return fail(io, EXIT_FAILED, "%s: no folder can be made there: %s", tmp, strerror(errno));
}

#define LOCK "gemkv-serve.lock"

/* What a server that was killed had only begun. */
static void tidy(const struct folder *f)
{
    static const char *const begun[] = { "upload-", "inline-" };

    for (size_t k = 0; k < sizeof begun / sizeof *begun; k++) {
        size_t n;
        char **name = folder_list(f, begun[k], &n);

        for (size_t i = 0; i < n; i++) {
            char *path = folder_file(f, name[i]);

            unlink(path);
            free(path);
            free(name[i]);
        }
        free(name);
    }
}

/* Files in it will be removed, so it has to be a server's: new, empty, or one where a server has been.  An exit status
 * after saying that it is not. */
static int check_ours(const struct folder *f, struct io *io)
{
    size_t n;
    char **name = folder_list(f, "", &n);
    bool   ours = !n;

    if (!name)
        return fail(io, EXIT_FAILED, "%s: nothing can be kept there: %s", f->path, strerror(errno));
    for (size_t i = 0; i < n; free(name[i++]))
        ours |= !strcmp(name[i], LOCK);
    free(name);
    return ours ? 0 : fail(io, EXIT_FAILED, "%s: has files of others; give a new folder to --folder", f->path);
}

int folder_open(struct folder *f, struct io *io, const char *path)
{
    char *lock;
    int   code;

    *f = (struct folder){ .lasts = path != NULL, .lock = -1 };
    if (!path)
        return open_new(f, io);
    if (mkdir(path, 0700) && errno != EEXIST)
        return fail(io, EXIT_FAILED, "%s: the folder cannot be made: %s", path, strerror(errno));
    f->path = format("%s", path);
    code = check_ours(f, io);
    if (code)
        return code;
    lock = folder_file(f, LOCK);
    f->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(lock);
    if (f->lock < 0)
        return fail(io, EXIT_FAILED, "%s: nothing can be kept there: %s", path, strerror(errno));
    if (flock(f->lock, LOCK_EX | LOCK_NB))
        return fail(io, EXIT_FAILED, "%s: another server keeps its files there", path);
    tidy(f);
    return 0;
}

void folder_close(struct folder *f)
{
    if (f->path && !f->lasts)
        rmdir(f->path);
    if (f->dir) {
        fleeting = NULL;
        closedir(f->dir);
        f->dir = NULL;
    }
    if (f->path && f->lock >= 0)
        close(f->lock);
    free(f->path);
    f->path = NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **folder_list(const struct folder *f, const char *begin, size_t *n)
{
    char         **list;
    DIR           *d = opendir(f->path);
    struct dirent *e;
    int            error;

    *n = 0;
    if (!d)
        return NULL;
    list = grow(NULL, 1, sizeof *list);
    while (errno = 0, (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !strncmp(e->d_name, begin, strlen(begin))) {
            list = grow(list, *n + 1, sizeof *list);
            list[(*n)++] = format("%s", e->d_name);
        }
    error = errno;
    closedir(d);
    if (error) {
        while (*n)
            free(list[--*n]);
        free(list);
        errno = error;
        return NULL;
    }
    qsort(list, *n, sizeof *list, by_name);
    return list;
}

char *folder_file(const struct folder *f, const char *name)
{
    return format("%s/%s", f->path, name);
}
