/* SPDX-License-Identifier: BSD-2-Clause
 * unit-sandbox.c - what gemkv may not do once it has begun: open what it was not given, connect, look into other
 * processes, and later start programs; also in threads that start then.  What it was given, it may use. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if HAVE_LINUX_LANDLOCK_H
#include <linux/landlock.h>
#endif
#if HAVE_LINUX_SECCOMP_H
#include <linux/seccomp.h>
#endif
#include "src/cli/sandbox.h"
#include "tests/tap.h"

/* In the build folder, as temporary folders may be used. */
static char dir[64] = "tests/sandbox-XXXXXX";
static char *secret, *given, *folder, *out;

static char *in_dir(const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static void put(const char *path)
{
    FILE *f = fopen(path, "w");

    if (f) {
        fputs("text\n", f);
        fclose(f);
    }
}

/* ---- attempts: 0, or an errno --------------------------------------------------------------- */
static int opens(const char *path, int how)
{
    const int fd = open(path, how | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno : 0;
}

static int read_secret(void) { return opens(secret, O_RDONLY); }
static int write_secret(void) { return opens(secret, O_WRONLY); }
static int cut_secret(void) { return truncate(secret, 0) ? errno : 0; }
static int remove_secret(void) { return unlink(secret) ? errno : 0; }
static int list_dir(void) { return opens(dir, O_RDONLY | O_DIRECTORY); }
static int new_file(void) { char *p = in_dir("new"); int r = opens(p, O_WRONLY | O_CREAT); free(p); return r; }
static int read_given(void) { return opens(given, O_RDONLY); }
static int write_given(void) { return opens(given, O_WRONLY); }
static int read_in_folder(void) { char *p = in_dir("folder/text"); int r = opens(p, O_RDONLY); free(p); return r; }
static int write_folder(void) { char *p = in_dir("folder/text"); int r = opens(p, O_WRONLY); free(p); return r; }
static int new_out(void) { char *p = in_dir("out/new"); int r = opens(p, O_WRONLY | O_CREAT); free(p); return r; }
static int null_device(void) { return opens("/dev/null", O_RDWR); }
static int memory(void) { return opens("/proc/self/status", O_RDONLY); }
static int temporary(void) { FILE *f = tmpfile(); int r = f ? 0 : errno; if (f) fclose(f); return r; }

static int makes_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return fd < 0 ? errno : 0;
}

static int makes_connection(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

/* Whether it may: nobody need be there. */
static int connects(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return fd < 0 || (connect(fd, (struct sockaddr *)&to, sizeof to) && (errno == EACCES || errno == EPERM)) ? errno : 0;
}

/* Of a process that there is: this one's parent. */
static int looks_into(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return opens(path, O_RDONLY);
}

#ifdef SYS_process_vm_readv
static int reads_process(void)
{
    return syscall(SYS_process_vm_readv, getppid(), NULL, 0L, NULL, 0L, 0L) < 0 ? errno : 0;
}
#endif

/* A pipe is no terminal, so that nothing is typed when it is not refused: ENOTTY. */
static int types(void)
{
    char c = 'x';
    int  p[2];

    return pipe(p) || ioctl(p[0], TIOCSTI, &c) ? errno : 0;
}

static int ends_other(void)
{
    return kill(getppid(), 0) ? errno : 0;
}

static int starts(void)
{
    int   status = 0;
    pid_t pid = fork();

    if (!pid) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(errno);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

typedef int attempt(void);

static void *in_thread(void *arg)
{
    static int got;
    attempt   *const *f = arg;

    got = (*f)();
    return &got;
}

/* What it comes to in a process that has begun, or in a thread that it starts then. */
enum { LATER = 1, THREAD = 2, NETWORK = 4, FREE = 8, HEARD = 16 };

static int try_it(attempt *f, unsigned how)
{
    int   status = 0;
    void *got;
    pid_t pid = fork();

    if (!pid) {
        struct sandbox *s;
        pthread_t       t;

        setenv("GEMKV_SANDBOX", how & FREE ? "off" : "", 1);
        s = sandbox_new(how & NETWORK);
        sandbox_read(s, given);
        sandbox_read(s, folder);
        sandbox_read(s, "/nowhere");
        sandbox_read(s, NULL);
        sandbox_change(s, out);
        sandbox_begin(s);
        if (how & LATER)
            sandbox_no_programs();
        if (how & HEARD)
            sandbox_no_sockets();
        if (!(how & THREAD))
            _exit(f());
        if (pthread_create(&t, NULL, in_thread, &f) || pthread_join(t, &got))
            _exit(255);
        _exit(*(int *)got);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static long landlock(void)
{
#if HAVE_LINUX_LANDLOCK_H
    return syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
#else
    return -1;
#endif
}

/* Whether all may be read where this was built, such as below /tmp. */
static bool is_allowed(const char *path)
{
    static const char *const known[] = { "/tmp/", "/var/tmp/", "/usr/", "/opt/", "/etc/", NULL };
    const char *tmp = getenv("TMPDIR");
    char       *real = realpath(path, NULL);
    bool        is = !real || (tmp && !strncmp(real, tmp, strlen(tmp)));

    for (size_t i = 0; real && known[i]; i++)
        is |= !strncmp(real, known[i], strlen(known[i]));
    free(real);
    return is;
}

/* Whether this system filters calls, on an architecture that sandbox-calls.c knows. */
static bool filters(void)
{
#if (defined __x86_64__ || defined __aarch64__ || defined __i386__) && defined SECCOMP_GET_ACTION_AVAIL
    const uint32_t action = SECCOMP_RET_ERRNO;

    return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
#else
    return false;
#endif
}

int main(void)
{
    static const struct { const char *what; attempt *f; unsigned how; int want; long landlock; bool calls; } rows[] = {
        { "a file that was not given: read", read_secret, 0, EACCES, 1, false },
        { "... in a thread", read_secret, THREAD, EACCES, 1, false },
        { "... with a network", read_secret, NETWORK, EACCES, 1, false },
        { "... written", write_secret, 0, EACCES, 1, false },
        { "... cut", cut_secret, 0, EACCES, 3, false },
        { "... removed", remove_secret, 0, EACCES, 1, false },
        { "a folder that was not given: listed", list_dir, 0, EACCES, 1, false },
        { "... a file made in it", new_file, 0, EACCES, 1, false },
        { "a file that was given: written", write_given, 0, EACCES, 1, false },
        { "a folder that was given: written", write_folder, 0, EACCES, 1, false },
        { "a signal to another process", ends_other, 0, EPERM, 6, false },
        { "another process's memory", looks_into, 0, EACCES, 1, false },
        { "a socket", makes_socket, 0, EPERM, 0, true },
        { "... of the network", makes_connection, 0, EPERM, 0, true },
        { "... in a thread", makes_connection, THREAD, EPERM, 0, true },
#ifdef SYS_process_vm_readv
        { "another process read", reads_process, 0, EPERM, 0, true },
#endif
        { "typing into a terminal", types, 0, EPERM, 0, true },
        { "a program, later", starts, LATER, EPERM, 0, true },
        { "... in a thread", starts, LATER | THREAD, EPERM, 0, true },
        { "a socket, once it listens", makes_socket, NETWORK | HEARD, EPERM, 0, true },
        { "... in a thread", makes_connection, NETWORK | HEARD | THREAD, EPERM, 0, true }
    }, may[] = {
        { "a file that was given", read_given, 0, 0, 0, false },
        { "a folder that was given", read_in_folder, 0, 0, 0, false },
        { "a file made where that was allowed", new_out, 0, 0, 0, false },
        { "the null device", null_device, 0, 0, 0, false },
        { "its own memory", memory, 0, 0, 0, false },
        { "a temporary file", temporary, 0, 0, 0, false },
        { "a program", starts, 0, 0, 0, false },
        { "a socket where the network is needed", makes_connection, NETWORK, 0, 0, false },
        { "... and a connection", connects, NETWORK, 0, 0, false },
        { "a program, once it listens", starts, NETWORK | HEARD, 0, 0, false },
        { "without the sandbox: any file", read_secret, FREE, 0, 0, false },
        { "... any socket", makes_socket, FREE, 0, 0, false }
    };
    long       version = landlock();
    const bool calls = filters();
    char      *command;
    int        got;

    if (mkdir("tests", 0700) && errno != EEXIST)
        return 99;
    if (!mkdtemp(dir))
        return 99;
    if (is_allowed(dir)) {
        printf("# %s: temporary files may be here, and so may others\n", dir);
        version = 0;
    }
    secret = in_dir("secret");
    given = in_dir("given");
    folder = in_dir("folder");
    out = in_dir("out");
    mkdir(folder, 0700);
    mkdir(out, 0700);
    put(secret);
    put(given);
    command = in_dir("folder/text");
    put(command);
    free(command);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].landlock > version || (rows[i].calls && !calls)) {
            skip("not with this kernel", "%s", rows[i].what);
            continue;
        }
        got = try_it(rows[i].f, rows[i].how);
        ok(got == rows[i].want, "%s: refused (%d)", rows[i].what, got);
    }
    put(secret);
    for (size_t i = 0; i < sizeof may / sizeof *may; i++) {
        got = try_it(may[i].f, may[i].how);
        ok(got == 0, "%s (%d)", may[i].what, got);
    }
    command = NULL;
    got = asprintf(&command, "rm -rf %s", dir) < 0 ? 99 : system(command);
    free(command);
    free(secret);
    free(given);
    free(folder);
    free(out);
    return got ? 99 : done();
}
