/* SPDX-License-Identifier: BSD-2-Clause
 * status.h - errors as values. */
#ifndef GKV__STATUS_H
#define GKV__STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gemkv.h"
#include "src/base/size.h"

/* Fill *err (unless NULL) and return status.  Control characters in the text become '?', so
 * that a hostile file name or tensor name cannot drive a terminal. */
gkv_status gkv__fail(gkv_error *err, gkv_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A struct of the caller's, who knows `size` bytes of it, gets what this version has of it. */
void gkv__give(void *out, size_t size, const void *from, size_t known);
/* Options of a caller who may know less of them than this version does, or more: *to has all that it
 * knows.  GKV_INVALID: gkv_options_init has not set them up. */
gkv_status gkv__options(gkv_options *to, const gkv_options *from, gkv_error *err);

#define GKV__TRY(expr)                              \
    do {                                            \
        gkv_status try_status = (expr);             \
        if (try_status != GKV_OK)                   \
            return try_status;                      \
    } while (0)

#endif
