/* SPDX-License-Identifier: BSD-2-Clause
 * cores.c - see cores.h */
#include "config.h"
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/base/cores.h"

enum { MOST = 1024, PATH = 4096 };

/* The first line of a file, without its end.  False: there is no such file, or the line is longer. */
static bool first_line(char *line, size_t size, const char *format, ...)
{
    char path[PATH];
    va_list args;
    size_t end;
    FILE *f;
    int n;

    va_start(args, format);
    n = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    f = n > 0 && n < PATH ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    line = fgets(line, (int)size, f);
    fclose(f);
    if (!line)
        return false;
    end = strcspn(line, "\n");
    if (!line[end] && end + 1 == size)
        return false;
    line[end] = 0;
    return true;
}

/* A number that is the first in a file, or other. */
static long number_in(const char *root, size_t cpu, const char *name, long other)
{
    char line[256], *end;
    long n;

    if (!first_line(line, sizeof line, "%s/sys/devices/system/cpu/cpu%zu/%s", root, cpu, name))
        return other;
    n = strtol(line, &end, 10);
    return end == line || n < 0 ? other : n;
}

/* ---- kinds of cores --------------------------------------------------------------------- */

/* Sets in[c] for a list as "0-7,16".  False: there is no such list. */
static bool read_list(bool *in, size_t n, const char *root, const char *name)
{
    char line[PATH], *at = line;

    if (!first_line(line, sizeof line, "%s%s", root, name))
        return false;
    for (char *end; ; at = end + 1) {
        unsigned long from = strtoul(at, &end, 10), to = from;

        if (end == at)
            break;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (; from <= to && from < n; from++)
            in[from] = true;
        if (*end != ',')
            break;
    }
    return true;
}

/* Intel names its fast cores.  Arm gives each a capacity, of which the fast ones have at least half of the most. */
static void find_fast(bool *fast, const char *root, const bool *may, size_t n)
{
    long most = 0;

    if (read_list(fast, n, root, "/sys/devices/cpu_core/cpus"))
        return;
    for (size_t c = 0; c < n; c++) {
        const long capacity = may[c] ? number_in(root, c, "cpu_capacity", 0) : 0;

        most = capacity > most ? capacity : most;
    }
    for (size_t c = 0; c < n; c++)
        fast[c] = may[c] && 2 * number_in(root, c, "cpu_capacity", most) >= most;
}

/* ---- control groups --------------------------------------------------------------------- */

static unsigned least(unsigned a, unsigned b)
{
    return !a || (b && b < a) ? b : a;
}

/* Processors' worth of time, rounded up; 0: no limit. */
static unsigned quota_of(long long quota, long long period)
{
    const long long n = quota > 0 && period > 0 ? (quota - 1) / period + 1 : 0;

    return n < MOST ? (unsigned)n : 0;
}

static unsigned quota_2(const char *folder)
{
    long long quota, period;
    char line[128];

    return first_line(line, sizeof line, "%s/cpu.max", folder) && sscanf(line, "%lld %lld", &quota, &period) == 2
               ? quota_of(quota, period) : 0;
}

static unsigned quota_1(const char *folder)
{
    char quota[64], period[64];

    return first_line(quota, sizeof quota, "%s/cpu.cfs_quota_us", folder) &&
           first_line(period, sizeof period, "%s/cpu.cfs_period_us", folder)
               ? quota_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10)) : 0;
}

/* The least of a group and of all groups around it.  In a container the group's own path may not be visible; what
 * is mounted is the container's group then. */
static unsigned quota_upwards(const char *root, const char *mount, const char *group, unsigned (*quota)(const char *folder))
{
    char folder[PATH];
    unsigned n = 0;
    char *group_at;

    const int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
    if (top < 0 || (size_t)top + strlen(group) >= sizeof folder)
        return 0;
    group_at = folder + top;
    strcpy(group_at, group);
    for (;;) {
        char *slash = strrchr(group_at, '/');

        n = least(n, quota(folder));
        if (!slash)
            return n;
        *slash = 0;
    }
}

static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, "cpu", 3) && (!at[3] || at[3] == ','))
            return true;
    }
    return false;
}

/* A line of /proc/self/cgroup is "number:controllers:group"; version 2 has number 0 and no controllers. */
static unsigned find_quota(const char *root)
{
    char line[PATH], path[PATH], mount[PATH];
    unsigned n = 0;
    FILE *f;
    const int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);

    f = length > 0 && length < PATH ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!group)
            continue;
        *controllers++ = *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (!*controllers) {
            n = least(n, quota_upwards(root, "", group, quota_2));
        } else if (has_cpu(controllers)) {
            snprintf(mount, sizeof mount, "/%s", controllers);
            n = least(n, quota_upwards(root, mount, group, quota_1));
            n = least(n, quota_upwards(root, "/cpu", group, quota_1));
        }
    }
    if (f)
        fclose(f);
    return n;
}

/* ---- all together ----------------------------------------------------------------------- */

struct gkv__cores gkv__cores_of(const char *root, const bool *may, size_t n)
{
    bool fast[MOST] = { false }, seen[MOST] = { false };
    struct gkv__cores x = { 0 };

    n = n < MOST ? n : MOST;
    find_fast(fast, root, may, n);
    for (size_t c = 0; c < n; c++) {
        size_t core;

        if (!may[c])
            continue;
        core = (size_t)number_in(root, c, "topology/thread_siblings_list", (long)c);
        core = core < n ? core : c;             /* a core is known by its first hardware thread */
        x.processors++;
        x.cores += !seen[core];
        x.fast += !seen[core] && fast[c];
        seen[core] = true;
    }
    x.fast = x.fast ? x.fast : x.cores;         /* confined to the slow ones */
    x.quota = find_quota(root);
    x.threads = x.quota && x.quota < x.fast ? x.quota : x.fast;
    x.threads = x.threads ? x.threads : 1;
    return x;
}

struct gkv__cores gkv__cores(void)
{
    bool may[MOST] = { false };
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    bool known = false;
#ifdef CPU_SETSIZE
    cpu_set_t set;

    known = !sched_getaffinity(0, sizeof set, &set);
    for (size_t c = 0; known && c < MOST && c < CPU_SETSIZE; c++)
        may[c] = CPU_ISSET(c, &set);
#endif
    for (long c = 0; !known && c < n && c < MOST; c++)
        may[c] = true;
    return gkv__cores_of("", may, MOST);
}

unsigned gkv__cores_share(unsigned processes)
{
    const struct gkv__cores x = gkv__cores();
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned long cores = all > 0 ? (unsigned long)all * x.cores / x.processors : x.cores;
    const unsigned long part = cores / (processes ? processes : 1);

    return part >= x.threads ? x.threads : part ? (unsigned)part : 1;
}

const char *gkv__cores_describe(size_t i)
{
    static _Thread_local char line[64];
    const struct gkv__cores x = gkv__cores();
    const char *const name[] = { "default", "processors", "cores", "fast cores", "quota" };
    const unsigned value[] = { x.threads, x.processors, x.cores, x.fast, x.quota };

    if (i >= sizeof value / sizeof *value)
        return NULL;
    snprintf(line, sizeof line, value[i] ? "%s: %u" : "%s: none", name[i], value[i]);
    return line;
}
