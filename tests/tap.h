/* SPDX-License-Identifier: BSD-2-Clause
 * tap.h - the Test Anything Protocol: ok(condition, "what"), then return done(). */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>

static int tap_n, tap_bad;

#define ok(c, ...)                                                                          \
    do {                                                                                    \
        int ok_ = !!(c);                                                                    \
        tap_bad += !ok_;                                                                    \
        printf("%sok %d - ", ok_ ? "" : "not ", ++tap_n);                                   \
        printf(__VA_ARGS__);                                                                \
        putchar('\n');                                                                      \
        fflush(stdout);                                                                     \
    } while (0)

#define skip(why, ...)                                                                      \
    do {                                                                                    \
        printf("ok %d - ", ++tap_n);                                                        \
        printf(__VA_ARGS__);                                                                \
        printf(" # SKIP %s\n", why);                                                        \
    } while (0)

#define skip_all(why) (printf("1..0 # SKIP %s\n", why), tap_n + tap_bad)      /* 0: nothing ran */

/* On such hosts the reader refuses every model (src/gguf/gguf.c), so tests that need one are skipped. */
enum { BIG_ENDIAN_HOST = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ };

#define done() (printf("1..%d\n", tap_n), tap_bad != 0)

#endif
