/* SPDX-License-Identifier: BSD-2-Clause
 * level.h - for tests that compare tokens or small numbers: the fastest level whose attention is in f32.  In bf16
 * other tokens may be selected, or written. */
#ifndef TESTS_LEVEL_H
#define TESTS_LEVEL_H

#include <stdlib.h>
#include "simd/simd.h"

static void set_level(void)
{
    const char *level;
    struct gkv__simd simd;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if ((mask & gkv__cpu_detect()) != mask)         /* even filling its table needs the processor */
            continue;
        gkv__simd_init(&simd, mask);
        if (!simd.attend.pairs)
            setenv("GEMKV_CPU", level, 1);
    }
}

#endif
