/* SPDX-License-Identifier: BSD-2-Clause
 * unicode.c - see unicode.h */
#include "config.h"
#include <string.h>
#include "src/base/unicode.h"
#include "src/base/unicode-data.h"

enum gkv__uc_kind gkv__uc_kind(uint32_t cp)
{
    if (cp >= UC_END)
        return GKV__UC_REST;
    return uc_rows[uc_index[cp / 128] * 64 + cp % 128 / 2] >> cp % 2 * 4 & 15;
}

unsigned gkv__uc_class(uint32_t cp)
{
    static const uint8_t class[] = {
        [GKV__UC_UPPER] = GKV__UC_LETTER, [GKV__UC_LOWER] = GKV__UC_LETTER,
        [GKV__UC_CASELESS] = GKV__UC_LETTER, [GKV__UC_DIGIT] = GKV__UC_NUMBER,
        [GKV__UC_BLANK] = GKV__UC_SPACE, [GKV__UC_PUNCT] = GKV__UC_OTHER,
    };

    return class[gkv__uc_kind(cp)];
}

/* Length of the sequence at p; 0 if it is malformed or incomplete.  *cut: only incomplete, the bytes
 * that are left could begin a sequence. */
static size_t sequence(const unsigned char *p, size_t left, int *cut)
{
    unsigned char lo = 0x80, hi = 0xbf;         /* of the second byte */
    size_t        n;

    *cut = 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    switch (p[0]) {
    case 0xe0: lo = 0xa0; break;                /* below: overlong        */
    case 0xed: hi = 0x9f; break;                /* above: surrogates      */
    case 0xf0: lo = 0x90; break;                /* below: overlong        */
    case 0xf4: hi = 0x8f; break;                /* above: U+10FFFF        */
    }
    for (size_t i = 1; i < n; i++) {
        if (i == left) {
            *cut = 1;
            return 0;
        }
        if (p[i] < lo || p[i] > hi)
            return 0;
        lo = 0x80;
        hi = 0xbf;
    }
    return n;
}

size_t gkv__utf8_next(const unsigned char *p, const unsigned char *end, uint32_t *cp,
                      int *bad)
{
    int    cut;
    size_t n = sequence(p, (size_t)(end - p), &cut);

    if (bad)
        *bad = n == 0;
    if (n == 0) {
        *cp = 0xfffd;
        return 1;
    }
    *cp = n == 1 ? p[0] : p[0] & 0x7fu >> n;
    for (size_t i = 1; i < n; i++)
        *cp = *cp << 6 | (p[i] & 0x3f);
    return n;
}

size_t gkv__utf8_check(const char *text, size_t len, int *cut)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t               i = 0, n;
    int                  short_of = 0;

    while (i < len) {
        uint64_t eight;

        if (len - i >= sizeof eight) {          /* most text is ASCII in long runs */
            memcpy(&eight, p + i, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                i += sizeof eight;
                continue;
            }
        }
        n = sequence(p + i, len - i, &short_of);
        if (n == 0)
            break;
        i += n;
    }
    if (cut)
        *cut = i < len && short_of;
    return i;
}

size_t gkv__utf8_put(char *o, uint32_t cp)
{
    if (cp < 0x80) {
        o[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        o[0] = (char)(0xc0 | cp >> 6);
        o[1] = (char)(0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000) {
        o[0] = (char)(0xe0 | cp >> 12);
        o[1] = (char)(0x80 | (cp >> 6 & 63));
        o[2] = (char)(0x80 | (cp & 63));
        return 3;
    }
    o[0] = (char)(0xf0 | cp >> 18);
    o[1] = (char)(0x80 | (cp >> 12 & 63));
    o[2] = (char)(0x80 | (cp >> 6 & 63));
    o[3] = (char)(0x80 | (cp & 63));
    return 4;
}
