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
#if defined __clang_analyzer__ || defined GKV__ANALYZED
/* An analyzer sees one file at a time, and would follow paths on which this returns GKV_OK. */
#define gkv__fail(err, status, ...) ((gkv__fail)(err, status, __VA_ARGS__), status)
#endif

/* no WHAT "word", which of the words in the list may be meant, and the list: words with a space before each. */
gkv_status gkv__fail_unknown(gkv_error *err, const char *what, const char *word, size_t len, const char *list);

/* A size for a person: "1.5 GiB".  What is needed is rounded up and a limit down, so that a limit that reads as large
 * as what is needed is enough. */
struct gkv__size { char text[16]; };
struct gkv__size gkv__needed(uint64_t bytes);
struct gkv__size gkv__limit(uint64_t bytes);

/* Copies a struct that this version knows `known` bytes of to a caller whose struct has `size` bytes. */
void gkv__give(void *out, size_t size, const void *from, size_t known);
/* *to: options of a caller whose gkv_options may be shorter or longer than this version's; fields that
 * the caller does not have get their defaults.  GKV_INVALID: not set up by gkv_options_init. */
gkv_status gkv__options(gkv_options *to, const gkv_options *from, gkv_error *err);

#define GKV__TRY(expr)                              \
    do {                                            \
        gkv_status try_status = (expr);             \
        if (try_status != GKV_OK)                   \
            return try_status;                      \
    } while (0)

#endif
