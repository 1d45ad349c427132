/* SPDX-License-Identifier: BSD-2-Clause
 * status.h - errors as values; arithmetic on numbers that a file gave us. */
#ifndef GKV__STATUS_H
#define GKV__STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gemkv.h"

/* Fill *err (unless NULL) and return status.  Control characters in the text become '?', so
 * that a hostile file name or tensor name cannot drive a terminal. */
gkv_status gkv__fail(gkv_error *err, gkv_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define GKV__TRY(expr)                              \
    do {                                            \
        gkv_status try_status = (expr);             \
        if (try_status != GKV_OK)                   \
            return try_status;                      \
    } while (0)

static inline uint64_t gkv__largest(uint64_t a, uint64_t b)
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

#endif
