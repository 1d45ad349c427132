/* SPDX-License-Identifier: BSD-2-Clause
 * fault-alloc.c - allocations that fail, in a program that is started with this as $LD_PRELOAD (tests/faults.sh)
 *
 *     FAULT_ALLOC=N       the Nth fails, counted from 1; 0: none
 *     FAULT_ALLOC=N+      all from the Nth on do, as on a machine that has no more memory
 *     FAULT_COUNT=FILE    gets how many there were, and how many were not freed, if the program ends by exit() or by a
 *                      signal of its own */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n), *__libc_calloc(size_t n, size_t size), *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n), __libc_free(void *p);

static atomic_ulong allocations;
static atomic_long  kept;                       /* blocks that are not freed              */
static atomic_bool  counts;
static pid_t        self;                       /* not one that it has started            */
static unsigned long from = 1, to;              /* those that fail                        */

/* What libraries allocate before main() is not counted. */
__attribute__((constructor)) static void begin(void)
{
    const char *s = getenv("FAULT_ALLOC");
    char       *end;

    unsetenv("LD_PRELOAD");                     /* programs that this one starts have all they ask for */
    if (!s)
        return;
    from = strtoul(s, &end, 10);
    to = *end == '+' ? ~0UL : from;
    if (!from)
        from = 1, to = 0;
    self = getpid();
    atomic_store(&counts, true);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAULT_COUNT");
    const long  left = atomic_load(&kept);
    FILE       *f;

    atomic_store(&counts, false);
    f = path && self == getpid() ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu %ld\n", atomic_load(&allocations), left);
        fclose(f);
    }
}

static bool fails(void)
{
    unsigned long n;

    if (!atomic_load(&counts))
        return false;
    n = atomic_fetch_add(&allocations, 1) + 1;
    if (n < from || n > to)
        return false;
    errno = ENOMEM;
    return true;
}

#pragma GCC visibility push(default)            /* the program must find these            */
static void *keep(void *p)
{
    if (p)
        atomic_fetch_add(&kept, 1);
    return p;
}

int raise(int signal)
{
    report();
    return (int)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

void *malloc(size_t n) { return fails() ? NULL : keep(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : keep(__libc_calloc(n, size)); }
void *memalign(size_t align, size_t n) { return fails() ? NULL : keep(__libc_memalign(align, n)); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }

void *realloc(void *p, size_t n)
{
    void *got = fails() ? NULL : __libc_realloc(p, n);

    return p ? got : keep(got);
}

void free(void *p)
{
    if (p)
        atomic_fetch_sub(&kept, 1);
    __libc_free(p);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    void *got = memalign(align, n);

    if (!got)
        return ENOMEM;
    *p = got;
    return 0;
}

/* Memory of its own and of files: what is mapped is not there either. */
static void *map(void *p, size_t n, int prot, int flags, int fd, long at)
{
    if (fails())
        return MAP_FAILED;
#ifdef SYS_mmap
    return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, at);
#else
    return (void *)syscall(SYS_mmap2, p, n, prot, flags, fd, at / 4096);
#endif
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    return map(p, n, prot, flags, fd, (long)at);
}

void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t at)
{
    return map(p, n, prot, flags, fd, (long)at);
}
#pragma GCC visibility pop
#else
/* Without glibc there is no malloc of another name behind ours. */
typedef int nothing;
#endif
