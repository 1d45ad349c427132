/* SPDX-License-Identifier: BSD-2-Clause
 * cpu.c - what this processor has, of what there are kernels for. */
#include "config.h"
#include <stdbool.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif
#include "simd/simd.h"
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP           /* Linux's numbers, which old headers lack */
#define HWCAP_ASIMDDP (1ul << 20)
#endif
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM   (1ul << 13)
#endif
#endif

#if defined(__x86_64__)
/* clang 14's __builtin_cpu_supports does not know "f16c".   */
static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}

/* Nor "avxvnni".   */
static bool has_avxvnni(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

/* Tiles are 8 KB of registers.  Linux saves them only for a process that has asked for that; asking once covers
 * all later threads. */
static bool has_amx(void)
{
#ifdef __linux__
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 25 & 1 && d >> 24 & 1 && d >> 22 & 1 &&
           !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
#else
    return false;
#endif
}
#endif

unsigned gkv__cpu_detect(void)
{
    unsigned f = 0;

#if defined(__x86_64__)
    /* The compiler's run-time library also checks that the operating system saves the registers. */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2") && has_f16c())
        f |= GKV__CPU_AVX2;
    if (f && has_avxvnni())
        f |= GKV__CPU_AVXVNNI;
    if (f && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        f |= GKV__CPU_AVX512;
    if (f & GKV__CPU_AVX512 && __builtin_cpu_supports("avx512bf16"))
        f |= GKV__CPU_AVX512BF16;
    if (f & GKV__CPU_AVX512BF16 && has_amx())
        f |= GKV__CPU_AMX;
#elif defined(__aarch64__)
    f |= GKV__CPU_NEON;
#ifdef __linux__
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
        f |= GKV__CPU_DOTPROD;
    if (f & GKV__CPU_DOTPROD && getauxval(AT_HWCAP2) & HWCAP2_I8MM)
        f |= GKV__CPU_I8MM;
#endif
#endif
    return f;
}
