/* SPDX-License-Identifier: BSD-2-Clause
 * output.c - see output.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

static int cannot(const char *path)
{
    return fail(EXIT_FAILED, "%s: cannot write: %s", path, strerror(errno));
}

static int irregular(const char *path)
{
    return fail(EXIT_FAILED, "%s: not a regular file; give the name of a new one", path);
}

void output_drop(struct output *o)
{
    if (o->f)
        fclose(o->f);
    o->f = NULL;
}

int output_resume(struct output *o, const char *path, const char *begins, const char *other,
                  char **text, size_t *n)
{
    struct text t = { NULL, 0, 0 };
    struct stat st;
    char        piece[65536];
    ssize_t     k = 0;
    int         fd, code = 0;

    *o = (struct output){ .path = path };
    *text = NULL;
    /* A FIFO does not block, and a terminal does not become ours. */
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0)
        return cannot(path);
    o->f = fdopen(fd, "a+");
    if (!o->f)
        die(EXIT_FAILED, "out of memory");
    if (fstat(fd, &st))
        return cannot(path);
    if (!S_ISREG(st.st_mode))
        return irregular(path);
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return fail(EXIT_FAILED, "%s: another gemkv writes to it; give another name", path);
    text_add(&t, "", 0);
    while (!code && (k = read(fd, piece, sizeof piece)) > 0) {
        text_add(&t, piece, (size_t)k);
        /* A large file of something else is not read to its end. */
        if (strncmp(t.p, begins, t.n < strlen(begins) ? t.n : strlen(begins)))
            code = fail(EXIT_FAILED, "%s:1: %s", path, other);
    }
    if (k < 0)
        code = cannot(path);
    if (code) {
        text_free(&t);
        return code;
    }
    *text = t.p;
    *n = t.n;
    return 0;
}

int output_line(struct output *o, const char *line, size_t n)
{
    const int   fd = fileno(o->f);
    const off_t before = lseek(fd, 0, SEEK_END);

    for (size_t at = 0; at < n; ) {
        ssize_t k = write(fd, line + at, n - at);

        if (k > 0) {
            at += (size_t)k;
        } else if (k == 0 || errno != EINTR) {
            const int code = cannot(o->path);

            if (before < 0 || ftruncate(fd, before))
                warn("%s: the beginning of a line is left at its end", o->path);
            return code;
        }
    }
    return 0;
}

int output_cut(struct output *o, size_t n)
{
    return ftruncate(fileno(o->f), (off_t)n) ? cannot(o->path) : 0;
}
