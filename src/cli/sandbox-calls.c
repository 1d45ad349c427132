/* SPDX-License-Identifier: BSD-2-Clause
 * sandbox-calls.c - see sandbox.h.  System calls are refused by a list of those that nobody here needs and that have
 * been ways out of a process, or into the kernel.  A list of all that are needed would be shorter for an attacker, and
 * wrong with the next C library or driver. */
#include "config.h"
#include "src/cli/sandbox.h"
#if HAVE_LINUX_SECCOMP_H
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined __powerpc64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH AUDIT_ARCH_PPC64LE
#elif defined __i386__
#define ARCH AUDIT_ARCH_I386
#endif
#endif

#if defined ARCH && defined __NR_seccomp && defined SECCOMP_FILTER_FLAG_TSYNC
enum { X32 = 0x40000000 };                      /* the other numbers of x86-64             */

static const int never[] = {
    /* other processes */
#ifndef __SANITIZE_ADDRESS__
    __NR_ptrace,                                /* it looks for leaks by that              */
#endif
    __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp,
#ifdef __NR_pidfd_getfd
    __NR_pidfd_getfd,
#endif
#ifdef __NR_process_madvise
    __NR_process_madvise,
#endif
    /* what is mounted where */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_setns,
#ifdef __NR_open_tree
    __NR_open_tree, __NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick,
#endif
#ifdef __NR_mount_setattr
    __NR_mount_setattr,
#endif
    __NR_name_to_handle_at, __NR_open_by_handle_at, __NR_fanotify_init, __NR_quotactl, __NR_acct,
    __NR_swapon, __NR_swapoff,
    /* parts of the kernel with a history */
    __NR_bpf, __NR_perf_event_open, __NR_add_key, __NR_request_key, __NR_keyctl,
#ifdef __NR_userfaultfd
    __NR_userfaultfd,
#endif
#ifdef __NR_io_uring_setup
    __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register,
#endif
    /* the machine */
    __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load, __NR_reboot, __NR_settimeofday,
    __NR_clock_settime, __NR_clock_adjtime, __NR_adjtimex, __NR_sethostname, __NR_setdomainname, __NR_syslog
};

static const int network_calls[] = {
    __NR_socket,
#ifdef __NR_socketcall
    __NR_socketcall,
#endif
};

static const int program_calls[] = { __NR_execve, __NR_execveat };

enum { MOST = 128 };

struct program {
    struct sock_filter x[MOST];
    unsigned short     n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (p->n < MOST)
        p->x[p->n] = (struct sock_filter){ .code = code, .jt = yes, .jf = no, .k = k };
    p->n++;
}

static void load(struct program *p, size_t at)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

/* What was loaded is k: refused. */
static void refuse(struct program *p, uint32_t k)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* Numbers are those of one architecture, so calls of another one, which the processor may have, are refused. */
static void begin(struct program *p)
{
    p->n = 0;
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    load(p, offsetof(struct seccomp_data, nr));
#if defined __x86_64__
    add(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
#endif
}

static void refuse_all(struct program *p, const int *call, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuse(p, (uint32_t)call[i]);
}

/* For all threads. */
static void end(struct program *p)
{
    struct sock_fprog all;

    add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    if (p->n > MOST || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return;
    all = (struct sock_fprog){ .len = p->n, .filter = p->x };
    syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all);
}

void sandbox_calls(bool network)
{
    struct program p;

    begin(&p);
    refuse_all(&p, never, sizeof never / sizeof *never);
    if (!network)
        refuse_all(&p, network_calls, sizeof network_calls / sizeof *network_calls);
    /* What is typed into a terminal by one of its programs is as if its user had typed it. */
    add(&p, BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 5);
    load(&p, offsetof(struct seccomp_data, args[1]));   /* the low half: little endian        */
    refuse(&p, TIOCSTI);
    refuse(&p, TIOCLINUX);
    end(&p);
}

void sandbox_no_programs(void)
{
    struct program p;

    begin(&p);
    refuse_all(&p, program_calls, sizeof program_calls / sizeof *program_calls);
    end(&p);
}

void sandbox_no_sockets(void)
{
    struct program p;

    begin(&p);
    refuse_all(&p, network_calls, sizeof network_calls / sizeof *network_calls);
    end(&p);
}
#else
void sandbox_calls(bool network)
{
    (void)network;
}

void sandbox_no_programs(void)
{
}

void sandbox_no_sockets(void)
{
}
#endif
