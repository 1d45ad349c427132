/* SPDX-License-Identifier: BSD-2-Clause
 * html.c - see html.h */
#include "config.h"
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "src/cli/html.h"
#include "src/cli/utf8.h"

/* Characters that act unseen, besides utf8_is_control: marks of direction, line and paragraph separators, annotations,
 * tags (text for machines alone), and code points that HTML forbids. */
static bool acts_unseen(uint32_t cp)
{
    static const struct { uint32_t first, last; } range[] = {
        { 0x061c, 0x061c }, { 0x200e, 0x200f }, { 0x2028, 0x2029 }, { 0x206a, 0x206f }, { 0xfdd0, 0xfdef },
        { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f }
    };

    if (utf8_is_control(cp) || (cp & 0xfffe) == 0xfffe)
        return true;
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (cp >= range[i].first && cp <= range[i].last)
            return true;
    return false;
}

static void show(FILE *f, uint32_t cp, bool element)
{
    fprintf(f, element ? "<span class=\"c\">U+%04" PRIX32 "</span>" : "[U+%04" PRIX32 "]", cp);
}

/* lines: line ends and tabs are kept; they are shown by number otherwise. */
static void escape(FILE *f, const char *s, size_t n, bool element, bool lines)
{
    uint32_t cp;

    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == UTF8_BAD)
            fputs("\xef\xbf\xbd", f);
        else if (cp == '&')
            fputs("&amp;", f);
        else if (cp == '<')
            fputs("&lt;", f);
        else if (cp == '>')
            fputs("&gt;", f);
        else if (cp == '"')
            fputs("&quot;", f);
        else if (cp == '\r' && lines)           /* as browsers read it */
            fputs(i + 1 < n && s[i + 1] == '\n' ? "" : "\n", f);
        else if ((cp == '\n' || cp == '\t') && lines)
            fputc((int)cp, f);
        else if (acts_unseen(cp))
            show(f, cp, element);
        else
            fwrite(s + i, 1, k, f);
    }
}

void html_text(FILE *f, const char *s, size_t n)
{
    escape(f, s, n, true, true);
}

void html_line(FILE *f, const char *s, size_t n)
{
    escape(f, s, n, true, false);
}

void html_plain(FILE *f, const char *s, size_t n)
{
    escape(f, s, n, false, false);
}

void html_fill(FILE *f, const char *with_holes, const struct html_hole *hole, const void *arg)
{
    const char *at = with_holes, *open;

    for (; (open = strstr(at, "[[")); at = strstr(open, "]]") + 2) {
        const struct html_hole *h = hole;

        fwrite(at, 1, (size_t)(open - at), f);
        while (h->name && (strncmp(open + 2, h->name, strlen(h->name))
                           || strncmp(open + 2 + strlen(h->name), "]]", 2)))
            h++;
        assert(h->name);
        h->write(f, arg);
    }
    fputs(at, f);
}
