/* SPDX-License-Identifier: BSD-2-Clause
 * bench/peak.c - see peak.h.  Compiled with the flags of AVX2; AVX-512 by target attribute. */
#include "config.h"
#include <string.h>
#include "bench/peak.h"
#include "simd/simd.h"

#define PEAK(name, bytes, ...)                                                              \
    typedef float name##_v __attribute__((vector_size(bytes)));                             \
    __VA_ARGS__ static double name(long n)                                                  \
    {                                                                                       \
        name##_v s[12], x = (name##_v){ 0 } + 0.999f, y = (name##_v){ 0 } + 0.001f;         \
                                                                                            \
        for (int i = 0; i < 12; i++)                                                        \
            s[i] = (name##_v){ 0 } + (float)i;                                              \
        for (long r = 0; r < n; r++) {                                                      \
            _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) s[i] = s[i] * x + y;      \
            __asm__ volatile("" : "+v"(s[0]), "+v"(s[6]));  /* do not fold the loop */      \
        }                                                                                   \
        for (int i = 1; i < 12; i++)                                                        \
            s[0] += s[i];                                                                   \
        return s[0][0] == 12345 ? 0 : (double)n * 12 * 2 * (bytes / 4);                     \
    }

#if defined(__x86_64__)
PEAK(peak256, 32)
PEAK(peak512, 64, __attribute__((target("avx512f"))))
#else
PEAK(peak128, 16)
#endif

double bench_peak(long n)
{
#if defined(__x86_64__)
    return strcmp(gkv__simd()->level, "avx512") ? peak256(n) : peak512(n);
#else
    return peak128(n);
#endif
}
