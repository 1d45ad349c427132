/* SPDX-License-Identifier: BSD-2-Clause
 * guarded.h - numbers for the tests of kernels, in memory beside an unreadable page, so that a read beyond an end
 * crashes */
#ifndef TESTS_GUARDED_H
#define TESTS_GUARDED_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "simd/simd.h"
#include "tests/table-scale.h"

static const double EPS = FLT_EPSILON / 2;

/* xorshift32, in [-1, 1) */
static inline double uniform(void)
{
    static uint32_t state = 12345;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (double)state / 2147483648.0 - 1;
}

enum { N_GUARDED = 32 };
static struct { char *map; size_t len; } guarded[N_GUARDED];
static int n_guarded;

/* Allocates bytes that end at an unreadable page, or begin after one. */
static inline void *guard(size_t bytes, int before)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (bytes + page - 1) / page * page;
    char *p = mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || (len && mprotect(p + page, len, PROT_READ | PROT_WRITE)) ||
        n_guarded == N_GUARDED)
        exit(1);
    guarded[n_guarded].map = p;
    guarded[n_guarded++].len = len + 2 * page;
    return before ? p + page : p + page + len - bytes;
}

/* Frees what was allocated after the first n. */
static inline void release_but(int n)
{
    while (n_guarded > n) {
        n_guarded--;
        munmap(guarded[n_guarded].map, guarded[n_guarded].len);
    }
}

static inline void release(void)
{
    release_but(0);
}

static inline float *floats(size_t n, int before)
{
    float *p = guard(n * sizeof *p, before);

    for (size_t i = 0; i < n; i++)
        p[i] = (float)uniform();
    return p;
}

/* Offsets in a block of its f16 scale, and of its minimum or scale of minima. */
static const struct { size_t d, m; } scales_at[GKV__N_TYPES] = {
#define AT(TYPE, name, ggml, block, bytes, bits, range, off, min, ...)                      \
    [GKV__TYPE_##TYPE] = { offsetof(struct gkv__block_##name, d),                           \
                           offsetof(struct gkv__block_##name, d) + 2 * min },
    GKV__INTEGER_TYPES(AT)
};

/* Random blocks of a type: random bits with reasonable scales of either sign, sometimes zero
 * or subnormal. */
static inline uint8_t *blocks(const struct gkv__quant *q, size_t n, int before)
{
    size_t bytes = n / q->block * q->bytes;
    uint8_t *p = guard(bytes, before);

    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)((uniform() + 1) * 128);
    for (size_t i = 0; i < n / q->block; i++) {
        static const double unit[8] = { 0, 0x1p-20, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125 };
        uint8_t *b = p + i * q->bytes;
        double range = unit[(int)((uniform() + 1) * 4)];
        uint16_t d = gkv__f32_to_f16((float)(uniform() * range));
        uint16_t m = gkv__f32_to_f16((float)(uniform() * range));
        float f = (float)uniform();
        uint32_t u;

        memcpy(&u, &f, sizeof u);
        switch (q->type) {
        case GKV__TYPE_F32: memcpy(b, &f, sizeof f); break;
        case GKV__TYPE_F16: d = gkv__f32_to_f16(f); memcpy(b, &d, sizeof d); break;
        case GKV__TYPE_BF16: d = (uint16_t)(u >> 16); memcpy(b, &d, sizeof d); break;
        case GKV__TYPE_MXFP4: b[0] = (uint8_t)(range > 0 ? 124 + (int)(uniform() * 4) : 0); break;
        default:
            if (!q->from_f32) {
                table_scale(q, b, d);
                break;
            }
            memcpy(b + scales_at[q->type].m, &m, sizeof m);
            memcpy(b + scales_at[q->type].d, &d, sizeof d);
        }
    }
    return p;
}

#endif
