/* SPDX-License-Identifier: BSD-2-Clause
 * passage.c - see passage.h */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/unicode.h"
#include "src/library/passage.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

/* How well a passage may end in front of byte `at`, 0 < at < len: 0 is inside a character. */
static int quality(const char *text, size_t at)
{
    const char before = text[at - 1];

    if (((unsigned char)text[at] & 0xc0) == 0x80)
        return 0;
    if (before == '\f' || (before == '\n' && at > 1 && text[at - 2] == '\n' && text[at] != '\n'))
        return 4;
    if (at > 1 && is_blank(before) && !is_blank(text[at]) && strchr(".!?", text[at - 2]))
        return 3;
    return is_blank(before) && !is_blank(text[at]) ? 2 : 1;
}

size_t gkv__passage_end(const char *text, size_t len, size_t at, size_t want)
{
    const size_t first = at + want - want / 2, last = at + want;
    size_t best = 0;
    int best_quality = 0;

    if (len - at <= want + want / 4)
        return len;
    /* Of equals the last: passages are long rather than many. */
    for (size_t i = last; i >= first && i > at; i--) {
        const int q = quality(text, i);

        if (q > best_quality) {
            best_quality = q;
            best = i;
        }
    }
    return best > at ? best : len;
}

enum { MAX_WORDS = 256 };

char *gkv__passage_words(const char *question)
{
    const size_t len = strlen(question);
    const unsigned char *p = (const unsigned char *)question, *end = p + len;
    /* A word of one byte, with what is around it, is seven. */
    char *out = malloc(7 * len + 1), *o = out;
    bool inside = false;
    size_t n = 0;

    if (!out)
        return NULL;
    while (p < end) {
        uint32_t cp;
        int bad;
        const size_t k = gkv__utf8_next(p, end, &cp, &bad);
        const bool part = !bad && ((gkv__uc_class(cp) & (GKV__UC_LETTER | GKV__UC_NUMBER)) ||
                                   (inside && gkv__uc_kind(cp) == GKV__UC_MARK));

        if (part && !inside) {
            if (n++ == MAX_WORDS)
                break;
            if (o > out)
                o = (char *)memcpy(o, " OR ", 4) + 4;
            *o++ = '"';
        }
        if (!part && inside)
            *o++ = '"';
        if (part) {
            memcpy(o, p, k);
            o += k;
        }
        inside = part;
        p += k;
    }
    if (inside)
        *o++ = '"';
    *o = 0;
    return out;
}
