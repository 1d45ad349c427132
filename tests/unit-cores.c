/* SPDX-License-Identifier: BSD-2-Clause
 * unit-cores.c - how many threads are used: of folders that look like /sys and /proc of some machines. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/base/cores.h"
#include "tests/tap.h"

enum { MOST = 32 };

static char root[4096];

/* Writes a file below root, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[8192];
    FILE *f;

    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(path, 0777);
    }
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
}

static void put_cpu(unsigned c, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", c, name);
    put(path, text);
}

/* Another machine: nothing is in it. */
static void machine(void)
{
    static char first[4000];
    static unsigned n;

    if (!*first) {
        const char *tmp = getenv("TMPDIR");

        snprintf(first, sizeof first, "%s/unit-cores-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(first)) {
            printf("Bail out! no folder %s\n", first);
            exit(1);
        }
    }
    snprintf(root, sizeof root, "%s/%u", first, n++);
    mkdir(root, 0777);
}

static void clean(void)
{
    char command[8192];

    *strrchr(root, '/') = 0;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command))
        printf("# %s is left\n", root);
}

static struct gkv__cores of(unsigned from, unsigned to)
{
    bool may[MOST] = { false };

    for (; from < to; from++)
        may[from] = true;
    return gkv__cores_of(root, may, MOST);
}

static void is(unsigned from, unsigned to, unsigned threads, unsigned cores, unsigned fast, unsigned quota, const char *what)
{
    const struct gkv__cores x = of(from, to);

    ok(x.threads == threads && x.processors == to - from && x.cores == cores && x.fast == fast && x.quota == quota,
       "%s: %u threads (%u processors, %u cores, %u fast, quota %u)", what, x.threads, x.processors, x.cores, x.fast, x.quota);
}

static void siblings(unsigned c, unsigned a, unsigned b)
{
    char list[32];

    snprintf(list, sizeof list, "%u,%u\n", a, b);
    put_cpu(c, "topology/thread_siblings_list", list);
}

int main(void)
{
    machine();
    is(0, 0, 1, 0, 0, 0, "nothing is known");
    is(0, 3, 3, 3, 3, 0, "processors of which nothing is known");

    machine();
    for (unsigned c = 0; c < 8; c++)
        siblings(c, c % 4, c % 4 + 4);
    is(0, 8, 4, 4, 4, 0, "two hardware threads a core");
    is(4, 8, 4, 4, 4, 0, "the second ones only");
    is(3, 5, 2, 2, 2, 0, "one of each of two cores");
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    is(0, 8, 4, 4, 4, 0, "version 2, no quota");
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    is(0, 8, 3, 4, 4, 3, "version 2, the quota of the group around it, rounded up");
    put("/sys/fs/cgroup/a/b/cpu.max", "1000 100000\n");
    is(0, 8, 1, 4, 4, 1, "version 2, a hundredth of a processor");
    put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    is(0, 8, 2, 4, 4, 2, "version 2, exactly two");
    put("/sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
    put("/sys/fs/cgroup/a/cpu.max", "900000 100000\n");
    is(0, 8, 4, 4, 4, 9, "version 2, more than there are cores");
    put("/proc/self/cgroup", "0::/elsewhere/c\n");
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    is(0, 8, 1, 4, 4, 1, "version 2, a path that a container does not see");

    machine();
    put("/proc/self/cgroup", "9:name=systemd:/x\n5:cpuset:/\n4:cpuacct,cpu:/docker/1\n0::/\n");
    put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_period_us", "100000\n");
    is(0, 6, 2, 6, 6, 2, "version 1");
    put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    is(0, 6, 6, 6, 6, 0, "version 1, no quota");
    put("/proc/self/cgroup", "5:cpuset:/\n4:cpu:/hidden\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    is(0, 6, 4, 6, 6, 4, "version 1, a path that a container does not see");

    machine();                                  /* four fast cores of two threads each, four slow ones */
    put("/sys/devices/cpu_core/cpus", "0-7\n");
    put("/sys/devices/cpu_atom/cpus", "8-11\n");
    for (unsigned c = 0; c < 8; c++)
        siblings(c, c / 2 * 2, c / 2 * 2 + 1);
    is(0, 12, 4, 8, 4, 0, "fast and slow cores of Intel");
    is(8, 12, 4, 4, 4, 0, "the slow ones only");
    is(6, 10, 1, 3, 1, 0, "one fast core and two slow ones");

    machine();
    for (unsigned c = 0; c < 8; c++)
        put_cpu(c, "cpu_capacity", c < 4 ? "250\n" : c < 7 ? "760\n" : "1024\n");
    is(0, 8, 4, 8, 4, 0, "cores of Arm in three kinds");
    is(0, 4, 4, 4, 4, 0, "the slow ones only");

    ok(gkv__cores().threads >= 1 && gkv__cores().threads <= gkv__cores().processors, "this machine: %s",
       gkv__cores_describe(0));
    ok(gkv__cores_describe(4) && !gkv__cores_describe(5), "five lines");
    clean();
    return done();
}
