/* SPDX-License-Identifier: BSD-2-Clause
 * bench/peak.c - see peak.h.  Compiled with the flags of AVX2; AVX-512 by target attribute. */
#include "config.h"
#include <string.h>
#include "bench/peak.h"
#include "simd/simd.h"

/* The empty asm keeps the compiler from folding the rounds into one. */
#define PEAK(name, bytes, ...)                                                              \
    typedef float name##_v __attribute__((vector_size(bytes)));                             \
    __VA_ARGS__ static double name(long n)                                                  \
    {                                                                                       \
        name##_v x = (name##_v){ 0 } + 0.999f, y = (name##_v){ 0 } + 0.001f;                \
        name##_v a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y, i = y, j = y;      \
                                                                                            \
        for (long r = 0; r < n; r++) {                                                      \
            a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y;      \
            f = f * x + y, g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y;      \
            __asm__ volatile("" : "+" REG(a), "+" REG(b), "+" REG(c), "+" REG(d), "+" REG(e), \
                             "+" REG(f), "+" REG(g), "+" REG(h), "+" REG(i), "+" REG(j));   \
        }                                                                                   \
        a += b + c + d + e + f + g + h + i + j;                                             \
        return a[0] == 12345 ? 0 : (double)n * 10 * 2 * (bytes / 4);                        \
    }

#if defined(__x86_64__)
#define REG(v) "x"(v)
#else
#define REG(v) "w"(v)
#endif

#if defined(__x86_64__)
PEAK(peak256, 32)
PEAK(peak512, 64, __attribute__((target("avx512f"))))
#else
PEAK(peak128, 16)
#endif

double bench_peak(long n)
{
#if defined(__x86_64__)
    return strncmp(gkv__simd()->level, "avx512", 6) ? peak256(n) : peak512(n);
#else
    return peak128(n);
#endif
}

double bench_read(const void *p, size_t n)
{
    typedef uint64_t v __attribute__((vector_size(32)));
    const v *q = p;
    v a = { 0 }, b = a, c = a, d = a;

    for (size_t i = 0; i + 4 <= n / sizeof *q; i += 4)
        a += q[i], b += q[i + 1], c += q[i + 2], d += q[i + 3];
    a += b + c + d;
    return (double)(a[0] + a[1] + a[2] + a[3]);
}
