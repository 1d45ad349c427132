/* SPDX-License-Identifier: BSD-2-Clause
 * lex.c - see lex.h */
#include "config.h"
#include <string.h>
#include "src/base/unicode.h"
#include "src/template/lex.h"

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

/* Decodes what follows a backslash at p, as Python does.  The result is never longer than the source. */
static const char *unescape(struct gkv__jparser *s, const char *p, const char *end, char *o, size_t *n)
{
    static const char from[] = "nrtbfav\\'\"", to[] = "\n\r\t\b\f\a\v\\'\"";
    const char       *at = *p ? strchr(from, *p) : NULL;
    const size_t      digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    uint32_t          cp = 0;

    if (*p == '\n')                             /* continues the line */
        return p + 1;
    if (at) {
        o[(*n)++] = to[at - from];
        return p + 1;
    }
    if (*p >= '0' && *p <= '7') {
        for (size_t i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
            cp = cp * 8 + (uint32_t)(*p++ - '0');
        *n += gkv__utf8_put(o + *n, cp);
        return p;
    }
    if (!digits) {                              /* no escape: keeps both characters */
        o[(*n)++] = '\\';
        return p;
    }
    p++;
    for (size_t i = 0; i < digits; i++, p++) {
        static const char hex[] = "0123456789abcdef";
        const char       *d = p < end && *p ? strchr(hex, *p >= 'A' && *p <= 'F' ? *p + 32 : *p)
                                            : NULL;

        if (!d) {
            gkv__j_fail(s->r, GKV_UNSUPPORTED, "a broken escape in a string");
            return end;
        }
        cp = cp << 4 | (uint32_t)(d - hex);
    }
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000)) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "an escape that is no character");
        return end;
    }
    *n += gkv__utf8_put(o + *n, cp);
    return p;
}

static void string(struct gkv__jparser *s)
{
    const char  quote = *s->p++, *begin = s->p, *p = begin;
    size_t      n = 0;
    char       *o;

    while (p < s->end && *p != quote)
        p += *p == '\\' && s->end - p > 1 ? 2 : 1;
    if (p >= s->end) {
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "a string without an end");
        return;
    }
    o = gkv__j_alloc(s->r, (size_t)(p - begin) + 1, 1);
    if (!o)
        return;
    for (const char *q = begin; q < p; ) {
        s->line += *q == '\n';
        if (*q == '\\')
            q = unescape(s, q + 1, p, o, &n);
        else
            o[n++] = *q++;
    }
    s->p = p + 1;
    s->kind = GKV__JT_STRING;
    s->text = (struct gkv__jstr){ o, NULL, n };
}

static bool at_close(const struct gkv__jparser *s, size_t *n)
{
    const bool dash = s->p < s->end && (*s->p == '-' || *s->p == '+');

    *n = dash + 2;
    return s->end - s->p >= (ptrdiff_t)*n && memcmp(s->p + dash, s->close, 2) == 0;
}

void gkv__j_leave_tag(struct gkv__jparser *s, size_t n, bool is_block)
{
    const char sign = n == 3 ? *s->p : 0;

    s->p += n;
    s->strip = sign == '-';
    s->at_line_start = is_block && sign == 0 && s->p < s->end && *s->p == '\n';
    if (s->at_line_start) {
        s->p++;
        s->line++;
    }
}

void gkv__j_advance(struct gkv__jparser *s)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "//", "**" };
    const char              *begin;
    size_t                   n;

    while (s->p < s->end && strchr(" \t\n\v\f\r", *s->p) && *s->p)
        s->line += *s->p++ == '\n';
    s->r->line = s->line;
    begin = s->p;
    s->kind = GKV__JT_END;
    s->text = (struct gkv__jstr){ begin, NULL, 0 };
    if (!gkv__j_charge(s->r, 0) || s->p == s->end)
        return;
    if (!s->brackets && at_close(s, &n)) {
        s->kind = GKV__JT_CLOSE;
        s->text.n = n;
        return;
    }
    if (*s->p == '"' || *s->p == '\'') {
        string(s);
        return;
    }
    if (is_name(*s->p, true)) {
        s->kind = GKV__JT_NAME;
        while (s->p < s->end && is_name(*s->p, false))
            s->p++;
    } else if (*s->p >= '0' && *s->p <= '9') {
        s->kind = GKV__JT_INTEGER;
        while (s->p < s->end && ((*s->p >= '0' && *s->p <= '9') || *s->p == '_'))
            s->p++;
        if (s->end - s->p > 1 && *s->p == '.' && s->p[1] >= '0' && s->p[1] <= '9') {
            s->kind = GKV__JT_FLOAT;
            for (s->p++; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
                ;
        }
    } else {
        s->kind = GKV__JT_SIGN;
        s->p++;
        s->brackets += *begin == '(' || *begin == '[' || *begin == '{';
        s->brackets -= s->brackets && (*begin == ')' || *begin == ']' || *begin == '}');
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
            if (s->end - begin > 1 && memcmp(begin, signs[i], 2) == 0)
                s->p = begin + 2;
    }
    s->text.n = (size_t)(s->p - begin);
}

void gkv__j_wrong(struct gkv__jparser *s, const char *expected)
{
    const int n = (int)(s->text.n < 32 ? s->text.n : 32);

    s->r->line = s->line;
    if (s->kind == GKV__JT_END)
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "it ends where %s should be", expected);
    else
        gkv__j_fail(s->r, GKV_UNSUPPORTED, "\"%.*s\" where %s should be", n, s->text.p, expected);
    gkv__j_advance(s);
}

bool gkv__j_sees(const struct gkv__jparser *s, enum gkv__jtoken kind, const char *text)
{
    return s->kind == kind && gkv__j_named(s->text, text);
}

static bool take(struct gkv__jparser *s, enum gkv__jtoken kind, const char *text)
{
    if (!gkv__j_sees(s, kind, text))
        return false;
    gkv__j_advance(s);
    return true;
}

bool gkv__j_sign(struct gkv__jparser *s, const char *text)
{
    return take(s, GKV__JT_SIGN, text);
}

bool gkv__j_word(struct gkv__jparser *s, const char *text)
{
    return take(s, GKV__JT_NAME, text);
}

void gkv__j_want(struct gkv__jparser *s, const char *text)
{
    if (!gkv__j_sign(s, text))
        gkv__j_wrong(s, text);
}

struct gkv__jstr gkv__j_name(struct gkv__jparser *s)
{
    struct gkv__jstr text = s->text;

    if (s->kind != GKV__JT_NAME)
        gkv__j_wrong(s, "a name");
    else
        gkv__j_advance(s);
    return text;
}
