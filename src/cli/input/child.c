/* SPDX-License-Identifier: BSD-2-Clause
 * child.c - see child.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/cli/input/child.h"
#include "src/cli/sandbox.h"
#include "src/cli/memory.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

static const uint64_t GiB = UINT64_C(1) << 30;

static unsigned seconds(void)
{
    const char *s = getenv("GEMKV_CONVERTER_SECONDS");
    char       *end = NULL;
    long        n = s ? strtol(s, &end, 10) : 0;

    return s && end > s && !*end && n > 0 && n < 1000000 ? (unsigned)n : CHILD_SECONDS;
}

/* ---- in the new process: only what is safe there --------------------------------------- */
static void limit(int what, uint64_t most)
{
    struct rlimit r;

    if (!getrlimit(what, &r) && (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > most)) {
        r.rlim_cur = (rlim_t)most;
        if (r.rlim_max == RLIM_INFINITY || r.rlim_max > most)
            r.rlim_max = (rlim_t)most;
        setrlimit(what, &r);
    }
}

static void put(const char *path, const char *text)
{
    int     fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : write(fd, text, strlen(text));

    (void)n;                    /* the process is then nobody, which is as good */
    if (fd >= 0)
        close(fd);
}

/* Where a kernel allows it, a network without interfaces, and no rights but those on the user's files. */
static void leave_network(void)
{
#ifdef CLONE_NEWUSER
    char map[64];
    const unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
        return;
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1\n", gid, gid);
    put("/proc/self/gid_map", map);
#endif
}

static void close_others(void)
{
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, CHILD_FILE + 1, ~0U, 0))
        return;
#endif
    for (int fd = CHILD_FILE + 1, most = (int)sysconf(_SC_OPEN_MAX); fd < most && fd < 65536; fd++)
        close(fd);
}

/* What exit() would do is ours to do, not the child's. */
static void leave(void)
{
    _exit(1);
}

_Noreturn static void become(const char *const *argv, child_reader *reader, int file, int out, int err,
                             const char *dir, pid_t parent)
{
    sigset_t none;
    int      code;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_DFL);
    /* Up first: one of them may be where another belongs. */
    file = fcntl(file, F_DUPFD, 16);
    out = fcntl(out, F_DUPFD, 16);
    err = fcntl(err, F_DUPFD, 16);
    if (file < 0 || out < 0 || err < 0 || dup2(file, STDIN_FILENO) < 0 || dup2(file, CHILD_FILE) < 0
        || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(1);
    close_others();
    if (chdir(dir))
        _exit(1);
    leave_network();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, seconds());
    limit(RLIMIT_FSIZE, CHILD_OUTPUT_GIB * GiB);
    limit(RLIMIT_AS, CHILD_MEMORY_GIB * GiB + (reader ? memory_mapped() : 0));
    sandbox_enter(reader ? NULL : dir, CHILD_FILE, STDERR_FILENO);
    if (!reader) {
        setenv("TMPDIR", dir, 1);
        setenv("HOME", dir, 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("OMP_THREAD_LIMIT", "1", 1);
        execvp(argv[0], (char *const *)argv);
        _exit(errno == ENOENT ? CHILD_NO_PROGRAM : 126);
    }
    {
        FILE *to = fdopen(STDOUT_FILENO, "w"), *say_to = fdopen(STDERR_FILENO, "w");

        if (!to || !say_to || atexit(leave))
            _exit(1);
        code = reader(CHILD_FILE, to, say_to);
        if (fflush(to) || ferror(to))
            code = 1;
        fflush(say_to);
        _exit(code);
    }
}

int child_text(int fd, struct text *t, FILE *err)
{
    if (text_read(t, fd))
        return 0;
    fprintf(err, "it cannot be read: %s\n", strerror(errno));
    return 1;
}

/* ---- here -------------------------------------------------------------------------------- */
static char *own_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char       *dir = format("%s/gemkv-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");

    if (!mkdtemp(dir)) {
        free(dir);
        return NULL;
    }
    return dir;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

static void forget(struct child *c)
{
    if (c->err)
        fclose(c->err);
    if (c->dir && rmdir(c->dir))        /* mostly empty; then it takes no descriptor, which there may be none of */
        nftw(c->dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    free(c->dir);
    *c = (struct child){ .out = -1 };
}

int child_start(struct child *c, const char *const *argv, child_reader *reader, int file)
{
    const pid_t parent = getpid();
    int         p[2] = { -1, -1 }, r = 0;

    *c = (struct child){ .out = -1, .err = tmpfile(), .dir = own_folder() };
    if (!c->err || !c->dir || pipe2(p, O_CLOEXEC)) {
        r = errno ? errno : EIO;
        forget(c);
        return r;
    }
    fflush(NULL);               /* nothing of ours may be written twice */
    c->pid = fork();
    if (c->pid == 0)
        become(argv, reader, file, p[1], fileno(c->err), c->dir, parent);
    r = c->pid < 0 ? errno : 0;
    close(p[1]);
    if (r) {
        close(p[0]);
        forget(c);
        return r;
    }
    setpgid(c->pid, c->pid);    /* whoever is first */
    c->out = p[0];
    return 0;
}

ssize_t child_read(struct child *c, char *buf, size_t n, const char **why)
{
    const double began = progress_clock();      /* what we take for the text is not its time */

    *why = NULL;
    for (;;) {
        struct pollfd p = { .fd = c->out, .events = POLLIN };
        ssize_t       got;

        if (progress_cancelled())
            return -1;
        if (poll(&p, 1, 200) > 0) {
            got = read(c->out, buf, n);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                *why = strerror(errno);
            c->bytes += got > 0 ? (uint64_t)got : 0;
            if (c->bytes > CHILD_OUTPUT_GIB * GiB) {
                *why = "it has more than 1 GiB of text";
                return -1;
            }
            return got;
        }
        if (progress_clock() - began > seconds()) {
            *why = "it took too long; $GEMKV_CONVERTER_SECONDS is the limit";
            return -1;
        }
    }
}

/* The first line of its messages that says something. */
static void first_line(FILE *f, char *why, size_t n)
{
    *why = 0;
    rewind(f);
    while (!*why && fgets(why, (int)n, f))
        why[strcspn(why, "\r\n")] = 0;
}

int child_end(struct child *c, char *why, size_t n)
{
    siginfo_t ended;
    int       status = 0;

    *why = 0;
    if (!c->pid)
        return 0;
    close(c->out);              /* it has nobody to write to any more */
    for (int i = 0; i < 100 && !progress_cancelled(); i++) {
        ended.si_pid = 0;
        if (!waitid(P_PID, (id_t)c->pid, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid)
            break;
        poll(NULL, 0, 10);
    }
    kill(-c->pid, SIGKILL);     /* and what it started; not reaped yet, so the number is its own */
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    first_line(c->err, why, n);
    forget(c);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 1;
}
