/* SPDX-License-Identifier: BSD-2-Clause
 * utf8.h - walk through text that may not be what it claims to be */
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

/* True for what moves a terminal's cursor or changes its state instead of printing. */
bool utf8_is_control(uint32_t cp);

/* Terminal columns of cp: 0, 1 or 2.  A short table instead of wcwidth, which knows nothing
 * beyond ASCII in the C locale, where cron and containers run. */
int utf8_width(uint32_t cp);

#endif
