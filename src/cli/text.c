/* SPDX-License-Identifier: BSD-2-Clause
 * text.c - see text.h */
#include "config.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/text.h"
#include "src/cli/utf8.h"

void text_add(struct text *t, const char *s, size_t n)
{
    if (t->room - t->n <= n) {
        t->room = 2 * (t->n + n) + 64;
        t->p = grow(t->p, t->room, 1);
    }
    if (n)
        memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = 0;
}

void text_puts(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

bool text_read(struct text *t, int fd)
{
    char    buf[1 << 16];
    ssize_t n;

    text_add(t, "", 0);
    while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        text_add(t, buf, n > 0 ? (size_t)n : 0);
    return !n;
}

void text_printf(struct text *t, const char *fmt, ...)
{
    va_list ap;
    char   *s;

    va_start(ap, fmt);
    s = vformat(fmt, ap);
    va_end(ap);
    text_puts(t, s);
    free(s);
}

void text_clean(struct text *t)
{
    struct text out = { NULL, 0, 0 };
    uint32_t    c;

    text_add(&out, "", 0);
    for (size_t i = 0, k; i < t->n; i += k) {
        k = utf8_next(t->p + i, t->n - i, &c);
        if (c && c != UTF8_BAD)
            text_add(&out, t->p + i, k);
        else
            text_puts(&out, "\xef\xbf\xbd");
    }
    text_free(t);
    *t = out;
}

void text_free(struct text *t)
{
    free(t->p);
    *t = (struct text){ NULL, 0, 0 };
}
