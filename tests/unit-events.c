/* SPDX-License-Identifier: BSD-2-Clause
 * unit-events.c - server-sent events, whatever the borders of the pieces that they come in */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/events.h"
#include "tests/rng.h"
#include "tests/tap.h"

/* All events of the text in pieces of 1 to `most` bytes, with '|' behind each. */
static char *read_in_pieces(const char *text, size_t len, size_t most)
{
    struct events e = { .some = false };
    struct text out = { NULL, 0, 0 };

    text_puts(&out, "");
    for (size_t at = 0, n; at < len; at += n) {
        char *piece;
        const char *p;
        size_t left;

        n = 1 + rng() % most;
        n = n < len - at ? n : len - at;
        p = piece = malloc(n);                  /* so that a sanitizer sees what is read beyond it */
        memcpy(piece, text + at, n);
        for (left = n; events_next(&e, &p, &left); )
            text_printf(&out, "%s|", e.data.p);
        if (left)
            ok(false, "all of a piece is taken");
        free(piece);
    }
    events_free(&e);
    return out.p;
}

static void same(const char *text, const char *want)
{
    size_t wrong = 0;

    for (size_t most = 1; most < 40; most += 3) {
        char *got = read_in_pieces(text, strlen(text), most);

        wrong += strcmp(got, want) != 0;
        if (strcmp(got, want))
            printf("# got %s\n", got);
        free(got);
    }
    ok(!wrong, "%s", want);
}

int main(void)
{
    static char long_line[3 << 20] = "data: ";
    struct events e = { .some = false };
    const char *p = long_line;
    size_t n = sizeof long_line;
    bool any = false;

    same("data: one\n\ndata: two\n\n", "one|two|");
    same("data: one\r\n\r\ndata: two\r\n\r\n", "one|two|");
    same("data: one\r\rdata: two\r\r", "one|two|");
    same("data: one\r\ndata: and\r\n\r\n", "one\nand|");
    same("data:one\ndata: and\ndata:  two\n\n", "one\nand\n two|");
    same(": comment\n\nevent: x\nid: 1\nretry: 3\n\ndata: one\nevent: y\n\n", "one|");
    same("data\n\ndata:\n\ndatas: x\n\ndat: x\n\n", "||");
    same("\n\n\r\n\r\ndata: \xe9\x95\xbf\xe6\xb1\x9f \xf0\x9f\x91\xa9\n\n", "\xe9\x95\xbf\xe6\xb1\x9f \xf0\x9f\x91\xa9|");
    same("data: one\n\ndata: never ended\n", "one|");
    memset(long_line + 6, 'x', sizeof long_line - 6);
    any = events_next(&e, &p, &n);
    ok(!any && e.too_long && e.line.n <= EVENT_MOST + 1, "a line that is too long is not kept");
    ok(!events_next(&e, &p, &n), "... and nothing is read after it");
    events_free(&e);
    return done();
}
