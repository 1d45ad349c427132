/* SPDX-License-Identifier: BSD-2-Clause
 * simd.c - chooses the kernels that this process uses. */
#include "config.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simd/simd.h"

static const struct {
    const char *name;
    unsigned    bit;
    void      (*fill)(struct gkv__simd *);
} levels[] = {
    { "ref", 0, gkv__simd_ref },
#if HAVE_ISA_AVX2
    { "avx2", GKV__CPU_AVX2, gkv__simd_avx2 },
#endif
#if HAVE_ISA_AVXVNNI
    { "avxvnni", GKV__CPU_AVXVNNI, gkv__simd_avxvnni },
#endif
#if HAVE_ISA_AVX512
    { "avx512", GKV__CPU_AVX512, gkv__simd_avx512 },
#endif
#if HAVE_ISA_AVX512BF16
    { "avx512bf16", GKV__CPU_AVX512BF16, gkv__simd_avx512bf16 },
#endif
#if HAVE_ISA_AMX
    { "amx", GKV__CPU_AMX, gkv__simd_amx },
#endif
#if HAVE_ISA_NEON
    { "neon", GKV__CPU_NEON, gkv__simd_neon },
#endif
#if HAVE_ISA_DOTPROD
    { "dotprod", GKV__CPU_DOTPROD, gkv__simd_dotprod },
#endif
#if HAVE_ISA_I8MM
    { "i8mm", GKV__CPU_I8MM, gkv__simd_i8mm },
#endif
};

enum { N_LEVELS = sizeof levels / sizeof *levels };

/* Levels that are used only if they are named, because this CPU is faster without them.  Bfloat16: one core of
 * Emerald Rapids has 112 GFLOP/s with vdpbf16ps and 223 with FMA in f32; Zen 5 has 536 and 267. */
static unsigned slow(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_is("amd"))
        return GKV__CPU_AVX512BF16;
#endif
    return 0;
}

void gkv__simd_init(struct gkv__simd *k, unsigned cpu)
{
    memset(k, 0, sizeof *k);
    for (size_t i = 0; i < N_LEVELS; i++)
        if ((levels[i].bit & cpu) == levels[i].bit) {
            levels[i].fill(k);
            k->level = levels[i].name;
        }
}

const char *gkv__simd_level(size_t i, unsigned *mask)
{
    if (i >= N_LEVELS)
        return NULL;
    *mask = 0;
    for (size_t j = 0; j <= i; j++)
        *mask |= levels[j].bit;
    if (*mask & GKV__CPU_AVX512)        /* Zen 4 has no AVX-VNNI; with AVX-512, nothing is left of that level */
        *mask &= ~(unsigned)GKV__CPU_AVXVNNI;
    return levels[i].name;
}

/* Guarded by once; cap is written only before the first use (see simd.h). */
static pthread_once_t   once = PTHREAD_ONCE_INIT;
static const char      *cap;
static bool             bad;
static struct gkv__simd table;

/* Lines of gemkv info --cpu: fixed slots, then products with each tensor type; in parentheses those of many rows, if
 * they are in another form. */
#define SLOT(name, field) { name, offsetof(struct gkv__simd, field) }
static const struct { const char *name; size_t at; } slots[] = {
    SLOT("gemm", gemm), SLOT("attend", attend.run),
    SLOT("attend few", attend_few[GKV__TYPE_F16]), SLOT("rmsnorm", rmsnorm), SLOT("swiglu", swiglu),
    SLOT("geglu", geglu), SLOT("softmax", softmax_add), SLOT("softcap", softcap),
    SLOT("state", state.step),
};
enum { N_SLOTS = sizeof slots / sizeof *slots, N_LINES = N_SLOTS + GKV__N_TYPES };
static char lines[N_LINES][48];

static int find_level(const char *name, unsigned *mask)
{
    const char *s;

    for (size_t i = 0; (s = gkv__simd_level(i, mask)); i++)
        if (!strcmp(s, name))
            return 0;
    return -1;
}

/* The lowest level that has the function in use; `at` is its offset in the table. */
static const char *level_of(size_t at)
{
    struct gkv__simd k;
    const char *level;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        gkv__simd_init(&k, mask);
        if (!memcmp((char *)&k + at, (char *)&table + at, sizeof(gkv__gemm_fn *)))
            break;
    }
    return level;
}

static void describe(void)
{
    for (size_t s = 0; s < N_SLOTS; s++)
        snprintf(lines[s], sizeof lines[s], "%s: %s", slots[s].name, level_of(slots[s].at));
    for (size_t t = 0; t < GKV__N_TYPES; t++) {
        const char *form = table.product[t].form;
        size_t at = form ? offsetof(struct gkv__simd, product[t].gemm) : offsetof(struct gkv__simd, dot[t]);

        const char *many = table.many[t].form;
        int n = snprintf(lines[N_SLOTS + t], sizeof *lines, "%s: %s, %s", gkv__quant_of((enum gkv__type)t)->name,
                         form ? form : "f32", level_of(at));

        if (many && form && strcmp(many, form))
            snprintf(lines[N_SLOTS + t] + n, sizeof *lines - (size_t)n, " (many rows: %s, %s)", many,
                     level_of(offsetof(struct gkv__simd, many[t].gemm)));
    }
}

static void choose(void)
{
    unsigned mask = ~0u, named = 0;
    const char *want = cap ? cap : getenv("GEMKV_CPU");

    if (want && *want) {
        bad = find_level(want, &mask) < 0;
        for (size_t i = 0; i < N_LEVELS; i++)
            named |= strcmp(want, levels[i].name) ? 0 : levels[i].bit;
    }
    gkv__simd_init(&table, gkv__cpu_detect() & mask & ~(slow() & ~named));
    describe();
}

const struct gkv__simd *gkv__simd(void)
{
    pthread_once(&once, choose);
    return bad ? NULL : &table;
}

int gkv__simd_cap(const char *level)
{
    unsigned mask;

    for (size_t i = 0; i < N_LEVELS; i++)
        if (!strcmp(level, levels[i].name) && !find_level(level, &mask)) {
            cap = levels[i].name;
            return 0;
        }
    return -1;
}

const char *gkv__simd_describe(size_t i)
{
    return gkv__simd() && i < N_LINES ? lines[i] : NULL;
}
