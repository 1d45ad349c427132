/* SPDX-License-Identifier: BSD-2-Clause
 * unicode.h - UTF-8 and the character classes that pre-tokenizers ask for. */
#ifndef GKV__UNICODE_H
#define GKV__UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* General categories, and White_Space, of the Unicode version in unicode-data.h.  In order: all
 * others; Lu and Lt; Ll; Lm and Lo; M*; N*; white space; P*. */
enum gkv__uc_kind {
    GKV__UC_REST, GKV__UC_UPPER, GKV__UC_LOWER, GKV__UC_CASELESS, GKV__UC_MARK,
    GKV__UC_DIGIT, GKV__UC_BLANK, GKV__UC_PUNCT
};
enum gkv__uc_kind gkv__uc_kind(uint32_t cp);

/* Coarser classes: L*, N*, white space. */
enum { GKV__UC_OTHER = 0, GKV__UC_LETTER = 1, GKV__UC_NUMBER = 2, GKV__UC_SPACE = 4 };
unsigned gkv__uc_class(uint32_t cp);

/* Decode one code point at p < end; returns its length in bytes.  A byte that does not begin
 * a well-formed sequence (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF) gives
 * *cp = 0xFFFD and length 1 with *bad set; it is cleared otherwise (bad may be NULL). */
size_t gkv__utf8_next(const unsigned char *p, const unsigned char *end, uint32_t *cp, int *bad);

/* Offset of the first byte that is not part of well-formed UTF-8, or len.  *cut (may be NULL)
 * is set when the text is good so far but ends inside a sequence: then the offset is where
 * that sequence begins. */
size_t gkv__utf8_check(const char *text, size_t len, int *cut);
/* Writes the one to four bytes of cp, which is at most 0x10ffff; returns their number. */
size_t gkv__utf8_put(char *o, uint32_t cp);

#endif
