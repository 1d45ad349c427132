/* SPDX-License-Identifier: BSD-2-Clause
 * levels.h - the same tests for each level that this processor has */
#ifndef TESTS_LEVELS_H
#define TESTS_LEVELS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "simd/simd.h"
#include "tests/tap.h"

/* Whether $KERNELS_LEVEL has this word, or is not there: for build-aux/mutants.py and tests/emulated/. */
static bool wanted(const char *level)
{
    const char *const only = getenv("KERNELS_LEVEL");
    const size_t n = strlen(level);

    for (const char *p = only; p && (p = strstr(p, level)); p += n)
        if ((p == only || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return !only;
}

static void test_levels(void (*test)(const struct gkv__simd *))
{
    const unsigned cpu = gkv__cpu_detect();
    struct gkv__simd k;
    const char *level;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if (!wanted(level))
            continue;
        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "all kernels: %s", level);
            continue;
        }
        gkv__simd_init(&k, mask);
        test(&k);
    }
}

#if HAVE_ISA_AVX2
/* A table that begins as AVX2's, with the kernels of `fill` in vectors of 16 lanes, which many processors lack. */
static inline void test_wide(void (*fill)(struct gkv__simd *), void (*test)(const struct gkv__simd *))
{
    struct gkv__simd k;

    if (!(gkv__cpu_detect() & GKV__CPU_AVX2) || getenv("KERNELS_LEVEL"))
        return;
    gkv__simd_init(&k, GKV__CPU_AVX2);
    fill(&k);
    test(&k);
}
#endif

#endif
