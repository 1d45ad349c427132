/* SPDX-License-Identifier: BSD-2-Clause
 * size.h - arithmetic on sizes that come from a file, and on predicted memory. */
#ifndef GKV__SIZE_H
#define GKV__SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t gkv__min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t gkv__max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* *out = a op b; false when the result does not fit. */
static inline bool gkv__mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool gkv__add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* Sum and product that saturate: a prediction beyond all memory needs no exact number. */
static inline uint64_t gkv__plus(uint64_t a, uint64_t b)
{
    uint64_t c;

    return gkv__add(a, b, &c) ? c : UINT64_MAX;
}

static inline uint64_t gkv__times(uint64_t a, uint64_t b)
{
    uint64_t c;

    return gkv__mul(a, b, &c) ? c : UINT64_MAX;
}

#endif
