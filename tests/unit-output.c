/* SPDX-License-Identifier: BSD-2-Clause
 * unit-output.c - output files where the file system has no files without a name: they are removed however
 * the program ends, and nothing is replaced.  (tests/cli/outputs.sh tests the usual file systems.) */
#include "config.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#undef O_TMPFILE
#include "src/cli/output.c"
#include "tests/tap.h"

static char dir[] = "/tmp/gemkv-output-XXXXXX", path[64], other[64], third[64];
static struct io io;

/* The number of files in dir. */
static int files(void)
{
    DIR *d = opendir(dir);
    int  n = 0;

    for (struct dirent *e; (e = readdir(d)); )
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static bool holds(const char *name, const char *text)
{
    char  buf[64] = "";
    FILE *f = fopen(name, "r");

    if (!f)
        return false;
    if (!fgets(buf, sizeof buf, f))
        buf[0] = 0;
    fclose(f);
    return !strcmp(buf, text);
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    fputs(text, f);
    fclose(f);
}

/* Runs a process that has two outputs open and ends by a signal, or, if sig is 0, by exit. */
static int ended_by(int sig)
{
    int   status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (!pid) {
        static struct output a, b, dropped;

        if (output_new(&a, &io, path, false) || output_new(&b, &io, other, false) || output_new(&dropped, &io, third, false) || files() != 3)
            _exit(99);
        output_drop(&dropped);
        fputs("x", a.f);
        fflush(a.f);
        if (sig)
            raise(sig);
        exit(7);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void test_ends(void)
{
    static const struct { int sig; const char *name; } row[] = {
        { SIGHUP, "SIGHUP" }, { SIGINT, "SIGINT" }, { SIGQUIT, "SIGQUIT" }, { SIGPIPE, "SIGPIPE" },
        { SIGTERM, "SIGTERM" }, { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
    };
    int status;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        signal(row[i].sig, SIG_DFL);            /* nohup and shells may have it ignored */
        status = ended_by(row[i].sig);
        ok(WIFSIGNALED(status) && WTERMSIG(status) == row[i].sig && files() == 0, "%s: nothing is left",
           row[i].name);
    }
    status = ended_by(0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 7 && files() == 0, "exit: nothing is left");
    signal(SIGHUP, SIG_IGN);
    status = ended_by(SIGHUP);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 7 && files() == 0, "a signal ignored stays ignored");
    signal(SIGHUP, SIG_DFL);
}

static void test_keep(void)
{
    struct output a, b;
    struct stat   st;

    umask(027);
    ok(!output_new(&a, &io, path, false) && access(path, F_OK), "nothing is to be seen before it is complete");
    ok(!output_new(&b, &io, other, false) && files() == 2, "another");
    fputs("text", a.f);
    ok(!output_keep(&a) && holds(path, "text") && files() == 2, "it is there when it is kept");
    ok(!stat(path, &st) && (st.st_mode & 0777) == 0640, "with the usual mode");
    ok(!a.f && !a.aside, "and closed");
    put(other, "mine");
    fputs("text", b.f);
    ok(output_keep(&b) == EXIT_FAILED && holds(other, "mine") && files() == 2,
       "what came there in between is not replaced");
    ok(!unfinished, "nothing is left to remove");
    ok(output_new(&a, &io, path, false) == EXIT_FAILED && holds(path, "text"), "what exists is refused");
    output_drop(&a);
    ok(holds(path, "text"), "and not removed by closing what was not opened");
    unlink(path);
    unlink(other);
    ok(!output_new(&a, &io, path, false) && !output_new(&b, &io, other, false), "two more");
    output_drop(&b);
    ok(files() == 1, "one is dropped");
    output_drop(&a);
    output_drop(&a);
    ok(files() == 0 && !unfinished, "and the other");
}

/* A temporary name left by another process with the same number is neither an obstacle nor removed. */
static void test_names(void)
{
    struct output a;
    char          left[128];

    snprintf(left, sizeof left, "%s.%ld-0", path, (long)getpid());
    put(left, "mine");
    ok(!output_new(&a, &io, path, false) && files() == 2, "another name");
    output_drop(&a);
    ok(files() == 1 && holds(left, "mine"), "and the one that was there stays");
    unlink(left);
}

int main(void)
{
    io = (struct io){ .out = stdout, .err = stderr };
    if (!mkdtemp(dir))
        return 99;
    snprintf(path, sizeof path, "%s/one", dir);
    snprintf(other, sizeof other, "%s/two", dir);
    snprintf(third, sizeof third, "%s/three", dir);
    test_ends();
    test_keep();
    test_names();
    ok(!rmdir(dir), "nothing else");
    return done();
}
