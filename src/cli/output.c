/* SPDX-License-Identifier: BSD-2-Clause
 * output.c - see output.h.  A new file has no name until it is complete, so nothing is left however
 * the program ends.  Where the file system cannot do that, the file has a temporary name, and
 * signal handlers remove it. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

static int cannot(const struct output *o)
{
    return fail(o->io, EXIT_FAILED, "%s: cannot write: %s", o->path, strerror(errno));
}

static int exists(const struct output *o)
{
    return fail(o->io, EXIT_FAILED, "%s: exists already; give another name, or --force to replace it", o->path);
}

static int irregular(const struct output *o)
{
    return fail(o->io, EXIT_FAILED, "%s: not a regular file; give the name of a new one", o->path);
}

static int dangling(const struct output *o)
{
    return fail(o->io, EXIT_FAILED, "%s: a link to a file that does not exist; give another name", o->path);
}

static int locked(const struct output *o)
{
    return fail(o->io, EXIT_FAILED, "%s: another gemkv writes to it; give another name", o->path);
}

/* ---- temporary names -------------------------------------------------------------------- */
static struct output *volatile unfinished;      /* list of outputs that have one */

void output_remove_all(void)
{
    for (const struct output *o = unfinished; o; o = o->next)
        unlink(o->aside);
}

static void on_signal(int sig)
{
    output_remove_all();
    raise(sig);                                 /* its action is the default again */
}

static void watch_signals(void)
{
    static const int sigs[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };
    static bool      done;
    struct sigaction act, old;

    if (done)
        return;
    done = true;
    atexit(output_remove_all);
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    act.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++)
        if (!sigaction(sigs[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(sigs[i], &act, NULL);
}

/* Gives o a temporary name beside `path`, which `make` makes a file of: a file descriptor or 0, or -1 with errno. */
static int name_aside(struct output *o, const char *path, int (*make)(const struct output *o))
{
    int fd = -1;

    watch_signals();
    o->next = unfinished;
    for (int i = 0; i < 100 && fd < 0; i++) {
        free(o->aside);
        o->aside = format("%s.%ld-%d", path, (long)getpid(), i);
        fd = make(o);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        free(o->aside);
        o->aside = NULL;
        return -1;
    }
    unfinished = o;
    return fd;
}

static int create_aside(const struct output *o)
{
    return open(o->aside, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
}

static void forget(struct output *o)
{
    struct output *volatile *p = &unfinished;

    while (*p && *p != o)
        p = (struct output *volatile *)&(*p)->next;
    if (*p)
        *p = o->next;
    free(o->aside);
    o->aside = NULL;
}

/* Two steps, because not every file system can rename without replacing: first a new empty file takes the
 * name, which fails if something is there; then the rename replaces our own file. */
static int rename_aside(struct output *o)
{
    int fd = open(o->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600), why;

    if (fd < 0)
        return -1;
    close(fd);
    if (!rename(o->aside, o->path))
        return 0;
    why = errno;
    unlink(o->path);
    errno = why;
    return -1;
}

/* ---- without a name --------------------------------------------------------------------- */
static int open_nameless(const char *path)
{
    int fd = -1;
#ifdef O_TMPFILE
    const char *slash = strrchr(path, '/');
    char       *folder = slash ? format("%.*s", (int)(slash + 1 - path), path) : format(".");

    if (!access("/proc/self/fd", X_OK))         /* needed later to give it a name */
        fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
#else
    (void)path;
#endif
    return fd;
}

static int link_to(const struct output *o, const char *path)
{
    char proc[40];

    snprintf(proc, sizeof proc, "/proc/self/fd/%d", fileno(o->f));
    return linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int link_aside(const struct output *o)
{
    return link_to(o, o->aside);
}

/* ---- new files, and files that are replaced ---------------------------------------------- */
#define NO_MODE ((mode_t)-1)

/* Whether what is at the path can be replaced, if anything is; 0: it can.  Checked again at the end, because what
 * somebody has put there since may be a device. */
static int check_replaced(const struct output *o, mode_t *mode)
{
    struct stat st;
    int         fd, code = 0;

    if (stat(o->path, &st))
        return errno != ENOENT ? cannot(o) : lstat(o->path, &st) ? 0 : dangling(o);
    if (!S_ISREG(st.st_mode))
        return irregular(o);
    *mode = st.st_mode & 0777;
    fd = open(o->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    /* The same lock as for files of lines: their lines would be lost, also if this run writes them. */
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        code = locked(o);
    if (fd >= 0)
        close(fd);
    return code;
}

/* The old file stays until the new one is whole and on the disk; the new one has its permissions.  Behind a link it
 * is the file that is replaced, not the link. */
static int replace(struct output *o)
{
    mode_t mode = NO_MODE;
    int    code = check_replaced(o, &mode);
    char  *path = code ? NULL : realpath(o->path, NULL);

    if (code)
        return code;
    if (!path && errno != ENOENT)
        return cannot(o);
    if (!o->aside && name_aside(o, path ? path : o->path, link_aside)) {
        free(path);
        return cannot(o);
    }
    if ((mode != NO_MODE && fchmod(fileno(o->f), mode)) || fsync(fileno(o->f))
        || rename(o->aside, path ? path : o->path))
        code = cannot(o);
    else
        forget(o);
    free(path);
    return code;
}

int output_new(struct output *o, struct io *io, const char *path, bool force)
{
    struct stat st;
    mode_t      mode;
    char       *real = NULL;
    int         fd, code;

    *o = (struct output){ .path = path, .io = io, .force = force };
    if (force && (code = check_replaced(o, &mode)))
        return code;
    if (!lstat(path, &st)) {                    /* a dangling link exists too */
        if (!force)
            return stat(path, &st) ? dangling(o) : S_ISREG(st.st_mode) ? exists(o) : irregular(o);
        real = realpath(path, NULL);
        if (!real)
            return cannot(o);
    } else if (errno != ENOENT || !*path) {
        return cannot(o);
    }
    fd = open_nameless(real ? real : path);
    if (fd < 0)
        fd = name_aside(o, real ? real : path, create_aside);
    free(real);
    if (fd < 0)
        return cannot(o);
    o->f = fdopen(fd, "w");
    if (!o->f)
        out_of_memory();
    return 0;
}

int output_keep(struct output *o)
{
    bool bad = ferror(o->f);
    int  code = 0;

    if (fflush(o->f) || bad)
        code = cannot(o);
    else if (o->force)
        code = replace(o);
    else if (o->aside ? rename_aside(o) : link_to(o, o->path))
        code = errno == EEXIST ? exists(o) : cannot(o);
    output_drop(o);
    return code;
}

void output_drop(struct output *o)
{
    if (o->f)
        fclose(o->f);
    o->f = NULL;
    if (!o->aside)
        return;
    unlink(o->aside);
    forget(o);
}

/* ---- files that a later run continues --------------------------------------------------- */
int output_continue(struct output *o, struct io *io, const char *path)
{
    struct stat st;
    int         fd;

    *o = (struct output){ .path = path, .io = io };
    /* A FIFO must not block, and a terminal must not become our controlling terminal. */
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0)
        return cannot(o);
    o->f = fdopen(fd, "a+");
    if (!o->f)
        out_of_memory();
    if (fstat(fd, &st))
        return cannot(o);
    if (!S_ISREG(st.st_mode))
        return irregular(o);
    return flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? locked(o) : 0;
}

int output_resume(struct output *o, struct io *io, const char *path, const char *begins,
                  const char *other, char **text, size_t *n)
{
    struct text t = { NULL, 0, 0 };
    char        piece[65536];
    ssize_t     k = 0;
    int         code = output_continue(o, io, path);

    *text = NULL;
    if (code)
        return code;
    text_add(&t, "", 0);
    while (!code && (k = read(fileno(o->f), piece, sizeof piece)) > 0) {
        text_add(&t, piece, (size_t)k);
        /* If the file is something else, stop reading: it may be large. */
        if (strncmp(t.p, begins, t.n < strlen(begins) ? t.n : strlen(begins)))
            code = fail(o->io, EXIT_FAILED, "%s:1: %s", path, other);
    }
    if (k < 0)
        code = cannot(o);
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
            const int code = cannot(o);

            if (before < 0 || ftruncate(fd, before))
                warn(o->io, "%s: the beginning of a line is left at its end", o->path);
            return code;
        }
    }
    return 0;
}

int output_cut(struct output *o, size_t n)
{
    return ftruncate(fileno(o->f), (off_t)n) ? cannot(o) : 0;
}

int output_sync(struct output *o)
{
    return fdatasync(fileno(o->f)) && errno != EINVAL ? cannot(o) : 0;
}

int output_folders(const char *path)
{
    char *copy = format("%s", path);
    bool  failed = false;

    for (char *p = copy + 1; (p = strchr(p, '/')) && !failed; p++) {
        *p = 0;
        failed = mkdir(copy, 0700) && errno != EEXIST;
        *p = '/';
    }
    free(copy);
    return failed ? -1 : 0;
}
