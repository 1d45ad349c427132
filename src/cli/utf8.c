/* SPDX-License-Identifier: BSD-2-Clause
 * utf8.c - see utf8.h */
#include "config.h"
#include "src/cli/utf8.h"

size_t utf8_next(const char *s, size_t len, uint32_t *cp)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint32_t c = u[0];
    size_t   n = c < 0x80       ? 1
               : c >> 5 == 0x06 ? 2
               : c >> 4 == 0x0e ? 3
               : c >> 3 == 0x1e ? 4 : 0;

    *cp = UTF8_BAD;
    if (n == 0 || n > len)
        return 1;
    if (n > 1)
        c &= 0x7fu >> n;
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (u[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 1;
    *cp = c;
    return n;
}

char *utf8_put(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        *out++ = (char)cp;
        return out;
    }
    if (cp < 0x800) {
        *out++ = (char)(0xc0 | cp >> 6);
    } else {
        if (cp < 0x10000) {
            *out++ = (char)(0xe0 | cp >> 12);
        } else {
            *out++ = (char)(0xf0 | cp >> 18);
            *out++ = (char)(0x80 | (cp >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (cp >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (cp & 0x3f));
    return out;
}

bool utf8_is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0)
        || (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);   /* bidi    */
}

int utf8_width(uint32_t cp)
{
    static const struct { uint32_t first, last; int width; } range[] = {
        { 0x0300, 0x036f, 0 }, { 0x1100, 0x115f, 2 }, { 0x200b, 0x200f, 0 },
        { 0x20d0, 0x20ff, 0 }, { 0x2e80, 0xa4cf, 2 }, { 0xac00, 0xd7a3, 2 },
        { 0xf900, 0xfaff, 2 }, { 0xfe00, 0xfe0f, 0 }, { 0xfe30, 0xfe6f, 2 },
        { 0xff00, 0xff60, 2 }, { 0xffe0, 0xffe6, 2 }, { 0x1f300, 0x1faff, 2 },
        { 0x20000, 0x3fffd, 2 }
    };

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (cp >= range[i].first && cp <= range[i].last)
            return range[i].width;
    return 1;
}
