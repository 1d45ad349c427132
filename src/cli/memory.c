/* SPDX-License-Identifier: BSD-2-Clause
 * memory.c - see memory.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "src/cli/memory.h"

struct pages { uint64_t mapped, resident; };

static struct pages pages(void)
{
    struct pages p = { 0, 0 };
    FILE        *f = fopen("/proc/self/statm", "re");

    if (f) {
        if (fscanf(f, "%" SCNu64 " %" SCNu64, &p.mapped, &p.resident) != 2)
            p = (struct pages){ 0, 0 };
        fclose(f);
    }
    return p;
}

uint64_t memory_mapped(void)
{
    return pages().mapped * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_resident(void)
{
    return pages().resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
