/* SPDX-License-Identifier: BSD-2-Clause
 * refuse.h - system calls that fail: what is tried in a process of its own, where each such call returns an error */
#ifndef TESTS_REFUSE_H
#define TESTS_REFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif

enum { NOT_REFUSED = 77, MOST_CALLS = 4, NO_CALL = -1 };

/* 0: f returned true, in a process where these calls, at most MOST_CALLS, then NO_CALL, return `error`.  NOT_REFUSED: this
 * system cannot do that. */
static int refusing(const int *calls, int error, bool (*f)(void))
{
    const pid_t pid = fork();
    int status = 0;

    if (!pid) {
#if defined __linux__ && defined SECCOMP_RET_ERRNO
        struct sock_filter x[2 * MOST_CALLS + 2];
        struct sock_fprog all = { .filter = x };

        x[all.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < MOST_CALLS && calls[i] != NO_CALL; i++) {
            x[all.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
            x[all.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
        }
        x[all.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
            _exit(!f());
#else
        (void)calls;
        (void)error;
        (void)f;
#endif
        _exit(NOT_REFUSED);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Those of one kind have several names. */
#ifdef SYS_open
#define CALLS_OPEN { SYS_open, SYS_openat, NO_CALL }
#else
#define CALLS_OPEN { SYS_openat, NO_CALL }
#endif
#ifdef SYS_rename
#define CALLS_RENAME { SYS_rename, SYS_renameat, SYS_renameat2, NO_CALL }
#else
#define CALLS_RENAME { SYS_renameat2, NO_CALL }
#endif
#ifdef SYS_chmod
#define CALLS_CHMOD { SYS_chmod, SYS_fchmodat, NO_CALL }
#else
#define CALLS_CHMOD { SYS_fchmodat, NO_CALL }
#endif
#ifdef SYS_mkdir
#define CALLS_MKDIR { SYS_mkdir, SYS_mkdirat, NO_CALL }
#else
#define CALLS_MKDIR { SYS_mkdirat, NO_CALL }
#endif
#ifdef SYS_newfstatat
#define CALLS_STAT { SYS_newfstatat, SYS_statx, NO_CALL }
#else
#define CALLS_STAT { SYS_statx, NO_CALL }
#endif

#endif
