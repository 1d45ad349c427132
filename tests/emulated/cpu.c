/* SPDX-License-Identifier: BSD-2-Clause
 * cpu.c - a processor that has AVX-VNNI and AMX, too: kernels for it are tested wherever the rest of their instructions
 * is there.  The same source as simd/x86/ is compiled with C in the place of what is missing (tiles.h, vnni.h). */
#include "config.h"
#include <stdlib.h>
#define gkv__cpu_detect present
#include "simd/cpu.c"
#undef gkv__cpu_detect

unsigned gkv__cpu_detect(void);

/* Named here, so that the linker takes these and not the library's. */
__attribute__((used)) static const struct { unsigned needs, bit; void (*fill)(struct gkv__simd *); } emulated[] = {
#if HAVE_ISA_AVXVNNI
    { GKV__CPU_AVX2, GKV__CPU_AVXVNNI, gkv__simd_avxvnni },
#endif
#if HAVE_ISA_AMX
    { GKV__CPU_AVX512BF16, GKV__CPU_AMX, gkv__simd_amx },
#endif
    { 0, 0, NULL }
};

unsigned gkv__cpu_detect(void)
{
    unsigned f = present();

    for (size_t i = 0; emulated[i].fill; i++)
        f |= f & emulated[i].needs ? emulated[i].bit : 0;
    return f;
}

/* Other levels have a test of their own. */
__attribute__((constructor)) static void only_these(void)
{
    setenv("KERNELS_LEVEL", "avxvnni amx", 0);
}
