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

#define GKV__TRY(expr)                              \
    do {                                            \
        gkv_status try_status = (expr);             \
        if (try_status != GKV_OK)                   \
            return try_status;                      \
    } while (0)

#endif
