/* SPDX-License-Identifier: BSD-2-Clause
 * utf8.h - goes through text that may not be valid UTF-8 */
#ifndef GEMKV_CLI_UTF8_H
#define GEMKV_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD UINT32_MAX     /* the code point of a byte that belongs to no character  */

/* Length in bytes of the character at s (1 for a bad byte); len must not be 0. */
size_t utf8_next(const char *s, size_t len, uint32_t *cp);

/* Writes the one to four bytes of cp, at most 0x10ffff; returns where they end. */
char *utf8_put(char *out, uint32_t cp);

/* True for characters that move a terminal's cursor or change its state. */
bool utf8_is_control(uint32_t cp);

/* Terminal columns of cp: 0, 1 or 2.  Uses a short table, because wcwidth only knows ASCII in the C
 * locale, which cron and containers use. */
int utf8_width(uint32_t cp);

#endif
