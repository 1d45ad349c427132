/* SPDX-License-Identifier: BSD-2-Clause
 * unit-child.c - what the process that reads a document may not do: open the user's files, write elsewhere, connect.
 * (tests/cli/document-limits.sh tests its limits and how it ends.) */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if HAVE_LINUX_LANDLOCK_H
#include <linux/landlock.h>
#endif
#include "src/cli/input/child.h"
#include "src/cli/text.h"
#include "tests/tap.h"

static char dir[] = "/tmp/gemkv-child-XXXXXX", *secret, *outside, *program, *beside, *library;

static long landlock(void)
{
#if HAVE_LINUX_LANDLOCK_H
    return syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
#else
    return -1;
#endif
}

static bool has_namespaces(void)
{
    int   status = 1;
    pid_t pid = fork();

    if (!pid)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0);
    return waitpid(pid, &status, 0) == pid && !status;
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

/* The name of a file in a new folder. */
static char *file_in(const char *folder, const char *text)
{
    char *path = format("%s/%s", dir, folder), *name = format("%s/file", path);

    mkdir(path, 0700);
    put(name, text, 0600);
    free(path);
    return name;
}

static char *get(const char *path)
{
    static char buf[64];
    FILE       *f = fopen(path, "r");

    buf[f ? fread(buf, 1, sizeof buf - 1, f) : 0] = 0;
    if (f)
        fclose(f);
    return buf;
}

static bool opens(const char *path, int how)
{
    return open(path, how, 0600) >= 0;
}

/* An errno, or 0. */
static int connects(int type)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return connect(socket(AF_INET, type, 0), (const struct sockaddr *)&to, sizeof to) ? errno : 0;
}

/* Each word is something that worked. */
static int probe(int fd, FILE *out, FILE *err)
{
    char c = 0;

    (void)err;
    fprintf(out, "%s%s%s%s%s%s%s", read(fd, &c, 1) == 1 && c == 'i' ? "read " : "",
            iconv_open("UTF-8", "WINDOWS-1252") != (iconv_t)-1 ? "iconv " : "",
            opens(secret, O_RDONLY) ? "secret " : "", opens("/etc/passwd", O_RDONLY) ? "etc " : "",
            opens("new", O_WRONLY | O_CREAT) ? "new " : "", opens("/dev/null", O_WRONLY) ? "null " : "",
            truncate(secret, 1) ? "" : "truncate ");
    return 0;
}

static int probe_network(int fd, FILE *out, FILE *err)
{
    (void)fd;
    (void)err;
    fprintf(out, "%d %d", connects(SOCK_DGRAM), connects(SOCK_STREAM));
    return 0;
}

/* What it has of ours, and its limits. */
static int probe_process(int fd, FILE *out, FILE *err)
{
    struct sigaction a, b;
    struct rlimit    core, size;
    struct stat      st;
    sigset_t         blocked;
    char             here[4096] = "";
    int              left = 0;

    (void)err;
    sigaction(SIGPIPE, NULL, &a);
    sigaction(SIGTERM, NULL, &b);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_FSIZE, &size);
    for (int i = 4; i < 64; i++)
        left += fcntl(i, F_GETFD) >= 0;
    fprintf(out, "%s%s%s%s%s%s%s%d left", fd == CHILD_FILE && !fstat(0, &st) ? "file " : "", getpgrp() == getpid() ? "group " : "",
            a.sa_handler == SIG_DFL && b.sa_handler == SIG_DFL ? "signals " : "", sigismember(&blocked, SIGUSR1) ? "" : "open ",
            core.rlim_cur ? "" : "no core ", size.rlim_cur == (rlim_t)CHILD_OUTPUT_GIB << 30 ? "size " : "",
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && getcwd(here, sizeof here) && strstr(here, "/gemkv-") ? "own " : "", left);
    return 7;
}

/* A converter ends when we are killed, who can then end nothing. */
static void orphan(void)
{
    const char *const argv[] = { "sleep", "100", NULL };
    struct child c;
    pid_t        ours, its = 0;
    int          p[2], status = 0, n = 0;
    FILE        *f = tmpfile();

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);          /* so that it becomes ours then */
    if (!f || pipe(p))
        return;
    ours = fork();
    if (!ours) {
        if (child_start(&c, argv, NULL, fileno(f)) || write(p[1], &c.pid, sizeof c.pid) != sizeof c.pid)
            _exit(1);
        pause();
        _exit(0);
    }
    close(p[1]);
    if (read(p[0], &its, sizeof its) == sizeof its) {
        poll(NULL, 0, 100);
        kill(ours, SIGKILL);
        waitpid(ours, NULL, 0);
        while (n++ < 200 && waitpid(its, &status, WNOHANG) == 0)
            poll(NULL, 0, 20);
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a converter ends with the one who started it");
        if (n > 200)
            kill(its, SIGKILL);
    }
    close(p[0]);
    fclose(f);
}

/* What it wrote; its exit status is *code, and its first message is in why. */
static char *said(const char *const *argv, child_reader *reader, int *code, char why[200])
{
    static char  buf[1000];
    struct child c;
    const char  *stopped;
    FILE        *f = tmpfile();
    size_t       n = 0;

    fputs("input\n", f);
    rewind(f);
    if (!f || fflush(f) || child_start(&c, argv, reader, fileno(f)))
        return NULL;
    for (ssize_t k; n < sizeof buf - 1 && (k = child_read(&c, buf + n, sizeof buf - 1 - n, &stopped)) > 0; n += (size_t)k)
        ;
    buf[n] = 0;
    *code = child_end(&c, why, 200);
    fclose(f);
    return buf;
}

static void files(void)
{
    const char *const argv[] = { "convert", secret, outside, program, beside, library, NULL };
    const char *const hidden[] = { program, NULL };
    char        why[200], *s;
    int         code;

    s = said(NULL, probe, &code, why);
    ok(s && !code && !strcmp(s, "read iconv "), "a reader of ours opens no file: %s", s ? s : why);
    s = said(argv, NULL, &code, why);
    ok(s && !code && !strcmp(s, "input\nown\nnull\netc\nbeside\nlibrary\n"), "what a program may do");
    ok(!strcmp(why, "message"), "its messages: %s", why);
    ok(!strcmp(get(secret), "secret") && access(outside, F_OK), "nothing was changed");
    s = said(hidden, NULL, &code, why);
    ok(s && !*s && code == 126, "a program elsewhere is not started: %d", code);
}

int main(void)
{
    const long version = landlock();
    char       why[200], *s;
    int        code, udp = -1, tcp = -1;

    if (!mkdtemp(dir))
        return 99;
    secret = format("%s/secret", dir);
    outside = format("%s/outside", dir);
    program = format("%s/program", dir);
    s = format("%s/bin", dir);
    mkdir(s, 0700);
    free(s);
    beside = file_in("lib", "beside\n");
    library = file_in("libraries", "library\n");
    put(secret, "secret", 0600);
    put(program, "#!/bin/sh\necho ran\n", 0700);
    s = format("%s/bin/convert", dir);
    put(s, "#!/bin/sh\n"
        "head -n 1 /dev/fd/3\n"
        "mkdir a && echo own >a/b && mv a/b c && cat c\n"
        "(echo >/dev/null) && echo null\n"
        "(: </etc/passwd) && echo etc\n"
        "cat \"$4\" \"$5\"\n"
        "echo message >/dev/stderr\n"
        "exec 2>/dev/null\n"
        "(: <\"$1\") && echo secret\n"
        "(: >\"$1\") && echo written\n"
        "(: >\"$2\") && echo outside\n"
        "rm \"$1\" && echo removed\n"
        "mv c \"$2\" && echo moved\n"
        "\"$3\" && echo started\n"
        "exit 0\n", 0700);
    free(s);
    s = format("/nowhere:..:%s/bin:%s", dir, getenv("PATH"));
    setenv("PATH", s, 1);
    free(s);
    s = format("%s/libraries:%s", dir, getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "");
    setenv("LD_LIBRARY_PATH", s, 1);
    free(s);

    if (version > 2)
        files();
    else
        skip("this kernel has no Landlock, or an old one", "files");
    s = said(NULL, probe_network, &code, why);
    ok(s && !code && sscanf(s, "%d %d", &udp, &tcp) == 2, "connections are tried");
    if (has_namespaces())
        ok(udp == ENETUNREACH, "there is no network: %d", udp);
    else
        skip("this system has no namespaces of users", "there is no network");
    if (version >= 4)
        ok(tcp == EACCES, "TCP is refused: %d", tcp);
    else
        skip("this kernel has no Landlock, or an old one", "TCP is refused");

    {
        struct rlimit core;
        sigset_t      some;

        if (!getrlimit(RLIMIT_CORE, &core)) {
            core.rlim_cur = core.rlim_max;
            setrlimit(RLIMIT_CORE, &core);
        }
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        sigemptyset(&some);
        sigaddset(&some, SIGUSR1);
        sigprocmask(SIG_BLOCK, &some, NULL);
        dup2(open("/", O_RDONLY), 40);          /* not closed by exec */
        s = said(NULL, probe_process, &code, why);
        ok(s && code == 7 && !strcmp(s, "file group signals open no core size own 0 left"), "a process of its own: %s", s);
        close(40);
        signal(SIGTERM, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &some, NULL);
    }
    setenv("TMPDIR", dir, 1);                   /* what it leaves goes with this folder */
    if (getenv("MKMODEL"))
        skip("an emulator does not pass it on", "a converter ends with the one who started it");
    else
        orphan();
    s = format("rm -rf %s", dir);
    code = system(s);
    free(s);
    free(secret);
    free(outside);
    free(program);
    free(beside);
    free(library);
    return code ? 99 : done();
}
