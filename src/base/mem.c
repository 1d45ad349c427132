/* SPDX-License-Identifier: BSD-2-Clause
 * mem.c - see mem.h */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "src/base/mem.h"

void *gkv__pages(uint64_t n, uint64_t size)
{
    uint64_t bytes;
    void *p;

    if (__builtin_mul_overflow(n, size, &bytes) || !bytes || bytes > SIZE_MAX / 2)
        return NULL;
    p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    /* A large buffer is used in full, so huge pages cost no memory and save TLB misses. */
    if (bytes >= (8u << 20))
        madvise(p, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void gkv__pages_free(void *p, uint64_t n, uint64_t size)
{
    if (p)
        munmap(p, (size_t)(n * size));
}

/* The number after `name` in a file of "name: 123 kB" lines, in bytes; 0 when absent. */
static uint64_t proc_field(const char *path, const char *name)
{
    char line[256];
    unsigned long long kb = 0;
    size_t n = strlen(name);
    FILE *f = fopen(path, "re");

    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, n) && sscanf(line + n, ": %llu", &kb) == 1)
            break;
    fclose(f);
    return (uint64_t)kb << 10;
}

uint64_t gkv__mem_resident(void)
{
    return proc_field("/proc/self/status", "VmRSS");
}

uint64_t gkv__mem_peak(void)
{
    struct rusage u;
    uint64_t peak = proc_field("/proc/self/status", "VmHWM");

    if (!peak && !getrusage(RUSAGE_SELF, &u))
        peak = (uint64_t)u.ru_maxrss << 10;
    return peak;
}

static uint64_t read_number(const char *path)
{
    unsigned long long v = 0;
    FILE *f = fopen(path, "re");

    if (!f)
        return 0;
    if (fscanf(f, "%llu", &v) != 1)     /* "max": no limit */
        v = 0;
    fclose(f);
    return v;
}

uint64_t gkv__mem_available(void)
{
    uint64_t free = proc_field("/proc/meminfo", "MemAvailable");
    uint64_t max = read_number("/sys/fs/cgroup/memory.max");
    uint64_t used = read_number("/sys/fs/cgroup/memory.current");

    if (max && max > used && max - used < free)
        free = max - used;
    return free;
}

double gkv__seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
