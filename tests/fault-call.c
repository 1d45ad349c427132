/* SPDX-License-Identifier: BSD-2-Clause
 * fault-call.c - runs a program whose system calls fail: tests/fault-call CALLS N HOW COMMAND... (tests/faults.sh)
 *
 *     CALLS   a group below; what goes to standard error is never counted, nor is what threads wake each other by (an
 *             eventfd), which has no disk to be full
 *     N       the Nth of them fails, counted from 1; N+: all from it on, of EINTR 3, as calls that a signal interrupts
 *             are repeated; 0: none
 *     HOW     an error's name, or "short": half of it is written
 *
 * $FAULT_COUNT gets how many there were.  Exit status: that of the program, 128 and more if a signal ended it, and
 * 77 where the kernel cannot do this.
 *
 * The kernel asks us about each such call (SECCOMP_RET_USER_NOTIF), so those of libraries and of stdio are among them,
 * which a function in front of write() would not see. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#if defined __linux__ && defined SYS_pidfd_getfd && defined SYS_seccomp && __has_include(<linux/filter.h>)
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, MOST = 8 };

static const struct { const char *name; long calls[MOST]; } groups[] = {
    { "write", { SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, -1 } },
    { "sync", { SYS_fsync, SYS_fdatasync, -1 } },
    { "size", { SYS_ftruncate, SYS_fallocate, -1 } },
    { "name", {
#ifdef SYS_rename
        SYS_rename, SYS_link,
#endif
        SYS_renameat2, SYS_linkat, -1 } },
    { "open", {
#ifdef SYS_open
        SYS_open,
#endif
        SYS_openat, -1 } },
    { "read", { SYS_read, SYS_pread64, -1 } },
    { "close", { SYS_close, -1 } },
    { "thread", { SYS_clone,
#ifdef SYS_clone3
        SYS_clone3,
#endif
        -1 } }
};

static const struct { const char *name; int number; } errors[] = {
    { "ENOSPC", ENOSPC }, { "EIO", EIO }, { "EINTR", EINTR }, { "EMFILE", EMFILE }, { "EAGAIN", EAGAIN }
};

static int wrong(const char *what)
{
    fprintf(stderr, "fault-call: %s\n", what);
    return SKIP;
}

/* ---- the program ------------------------------------------------------------------------- */
static int filter(const long *calls)
{
    struct sock_filter x[2 * MOST + 2];
    struct sock_fprog  all = { .filter = x };

    x[all.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; calls[i] >= 0; i++) {
        x[all.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        x[all.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    x[all.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &all);
}

union fds { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; };

static void send_fd(int to, int fd)
{
    char          c = 0;
    struct iovec  v = { &c, 1 };
    union fds     x = { .h = { .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

    if (fd >= 0) {
        memcpy(CMSG_DATA(&x.h), &fd, sizeof fd);
        m.msg_control = &x;
        m.msg_controllen = sizeof x;
    }
    sendmsg(to, &m, 0);
}

static int receive_fd(int from)
{
    char          c;
    struct iovec  v = { &c, 1 };
    union fds     x;
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &x, .msg_controllen = sizeof x };
    int           fd = -1;

    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static void become(const long *calls, int tell, char **argv)
{
    const int fd = filter(calls);

    send_fd(tell, fd);
    if (fd >= 0)
        execvp(argv[0], argv);
    _exit(SKIP);
}

/* ---- its calls --------------------------------------------------------------------------- */
static pid_t process_of(unsigned thread)
{
    char  line[256];
    int   n = 0;
    FILE *f;

    snprintf(line, sizeof line, "/proc/%u/status", thread);
    f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "Tgid: %d", &n) != 1)
        continue;
    if (f)
        fclose(f);
    return n;
}

static bool wakes(const struct seccomp_notif *q)
{
    char path[64], to[32] = "";

    snprintf(path, sizeof path, "/proc/%u/fd/%d", q->pid, (int)q->data.args[0]);
    return readlink(path, to, sizeof to - 1) > 0 && !strcmp(to, "anon_inode:[eventfd]");
}

/* Writes the first half of it in its place; 0: there is no half. */
static long write_half(const struct seccomp_notif *q)
{
    const size_t n = (size_t)q->data.args[2] / 2;
    struct iovec here = { malloc(n ? n : 1), n }, there = { (void *)(uintptr_t)q->data.args[1], n };
    int          process, fd = -1;
    ssize_t      r = 0;

    if ((q->data.nr == SYS_write || q->data.nr == SYS_pwrite64) && n && here.iov_base
        && process_vm_readv((pid_t)q->pid, &here, 1, &there, 1, 0) == (ssize_t)n) {
        process = (int)syscall(SYS_pidfd_open, process_of(q->pid), 0);
        fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)q->data.args[0], 0);
        if (fd >= 0)
            r = q->data.nr == SYS_write ? write(fd, here.iov_base, n)
                                        : pwrite(fd, here.iov_base, n, (off_t)q->data.args[3]);
        close(fd);
        close(process);
    }
    free(here.iov_base);
    return r > 0 ? r : 0;
}

/* A descriptor is closed although close() fails.  Something else has its place then. */
static void close_there(int listener, const struct seccomp_notif *q)
{
    const int                  nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct seccomp_notif_addfd a = { .id = q->id, .flags = SECCOMP_ADDFD_FLAG_SETFD, .srcfd = (uint32_t)nothing,
                                     .newfd = (uint32_t)q->data.args[0], .newfd_flags = O_CLOEXEC };

    ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a);
    close(nothing);
}

/* Answers until the program has ended; how many calls there were. */
static unsigned long answer(int listener, unsigned long from, unsigned long to, int error)
{
    unsigned long              n = 0;
    struct seccomp_notif       q;
    struct seccomp_notif_resp  a;
    struct pollfd              p = { .fd = listener, .events = POLLIN };

    while (poll(&p, 1, -1) >= 0 && !(p.revents & POLLHUP)) {
        memset(&q, 0, sizeof q);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q)) {
            if (errno == EINTR || errno == ENOENT)
                continue;
            break;
        }
        a = (struct seccomp_notif_resp){ .id = q.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        if (q.data.args[0] != STDERR_FILENO && !wakes(&q) && ++n >= from && n <= to) {
            if (q.data.nr == SYS_close)
                close_there(listener, &q);
            a.error = -error;
            a.val = error ? 0 : write_half(&q);
            if (a.error || a.val)
                a.flags = 0;
        }
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char   *count = getenv("FAULT_COUNT");
    const long   *calls = NULL;
    unsigned long from, to, n;
    int           error = -1, status, p[2], listener;
    char         *end;
    pid_t         pid;
    FILE         *f;

    if (argc < 5)
        return wrong("CALLS N HOW COMMAND...");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].name, argv[1]))
            calls = groups[i].calls;
    from = strtoul(argv[2], &end, 10);
    to = !from ? 0 : *end == '+' ? ~0UL : from;
    if (from && *end == '+' && !strcmp(argv[3], "EINTR"))
        to = from + 2;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(errors[i].name, argv[3]))
            error = errors[i].number;
    if (!strcmp(argv[3], "short"))
        error = 0;
    if (!calls || error < 0)
        return wrong("unknown group or error");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p))
        return wrong("no sockets");
    pid = fork();
    if (pid == 0)
        become(calls, p[1], argv + 4);
    listener = receive_fd(p[0]);
    if (pid < 0 || listener < 0)
        return wrong("the kernel does not ask about system calls");
    n = answer(listener, from, to, error);
    if (waitpid(pid, &status, 0) != pid)
        return wrong("lost it");
    f = count ? fopen(count, "w") : NULL;
    if (f) {
        fprintf(f, "%lu\n", n);
        fclose(f);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
#else
int main(void)
{
    puts("fault-call: not on this system");
    return 77;
}
#endif
