/* SPDX-License-Identifier: BSD-2-Clause
 * encoding.c - see encoding.h */
#include "config.h"
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#if HAVE_UCHARDET
#include <uchardet/uchardet.h>
#endif
#include "src/cli/input/encoding.h"
#include "src/cli/utf8.h"

/* UTF-8, but for a last character that is cut. */
static bool is_utf8(const char *p, size_t n, bool all)
{
    uint32_t c;

    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(p + i, n - i, &c);
        if (c == UTF8_BAD)
            return !all && n - i < 4;
    }
    return true;
}

/* Characters of the order that looks like ASCII: its high byte is zero, and none is a control character.  Half of them
 * must be, or it is something else. */
static bool is_utf16(const char *p, size_t n, size_t high)
{
    size_t ascii = 0;

    for (size_t i = 0; i + 1 < n; i += 2) {
        const unsigned char h = (unsigned char)p[i + high], l = (unsigned char)p[i + 1 - high];

        if (!h && (l < ' ' ? !strchr("\t\n\r\f", l) || !l : l == 127))
            return false;
        ascii += !h;
    }
    return ascii >= 2 && ascii >= n / 4;
}

static const char *utf16_without_mark(const char *p, size_t n, bool all)
{
    if (all && n % 2)
        return NULL;
    return is_utf16(p, n, 1) ? "UTF-16LE" : is_utf16(p, n, 0) ? "UTF-16BE" : NULL;
}

#if HAVE_UCHARDET
static void detect(struct encoding *e, const char *p, size_t n)
{
    uchardet_t u = uchardet_new();

    if (!u)
        return;
    if (!uchardet_handle_data(u, p, n)) {
        uchardet_data_end(u);
        snprintf(e->room, sizeof e->room, "%s", uchardet_get_charset(u));
    }
    uchardet_delete(u);
    if (!strcasecmp(e->room, "ISO-8859-1"))             /* what calls itself that has more characters */
        strcpy(e->room, "WINDOWS-1252");
    if (*e->room && strcasecmp(e->room, "ASCII") && strcasecmp(e->room, "UTF-8")) {
        e->name = e->room;
        e->guessed = true;
    }
}
#endif

void encoding_of(struct encoding *e, const char *p, size_t n, bool all)
{
    static const struct { const char *name, *mark; size_t n; } marks[] = {
        { NULL, "\xef\xbb\xbf", 3 },
        { "UTF-32LE", "\xff\xfe\0\0", 4 },      /* before UTF-16LE, which begins like it  */
        { "UTF-32BE", "\0\0\xfe\xff", 4 },
        { "UTF-16LE", "\xff\xfe", 2 },
        { "UTF-16BE", "\xfe\xff", 2 }
    };

    *e = (struct encoding){ .name = NULL };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n >= marks[i].n && !memcmp(p, marks[i].mark, marks[i].n)) {
            e->name = marks[i].name;
            e->mark = marks[i].n;
            return;
        }
    if (memchr(p, 0, n)) {
        e->name = utf16_without_mark(p, n, all);
        e->guessed = e->name;
        return;
    }
    if (is_utf8(p, n, all))
        return;
#if HAVE_UCHARDET
    detect(e, p, n);
#endif
    e->unknown = !e->name;
}

bool encoding_convert(const char *name, const struct text *in, struct text *out)
{
    char   *p = in->p, buf[4096];
    size_t  left = in->n;
    iconv_t cd = iconv_open("UTF-8", name);

    if (cd == (iconv_t)-1)
        return false;
    while (left) {
        char  *to = buf;
        size_t room = sizeof buf, before = left;

        if (iconv(cd, &p, &left, &to, &room) == (size_t)-1 && left == before && to == buf) {
            text_puts(out, "\xef\xbf\xbd");
            p++;
            left--;
        }
        text_add(out, buf, (size_t)(to - buf));
    }
    iconv_close(cd);
    return true;
}
