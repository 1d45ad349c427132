/* SPDX-License-Identifier: BSD-2-Clause
 * think.c - see think.h */
#include "config.h"
#include <string.h>
#include "src/answer/think.h"

void gkv__think_begin(struct gkv__think *t, const struct gkv__marks *marks, bool begun)
{
    *t = (struct gkv__think){ .marks = marks, .state = !marks ? GKV__ANSWER : begun ? GKV__THOUGHT : GKV__MAYBE };
}

/* How much of the mark is there after one more byte, when `at` bytes of it were (Knuth, Morris and Pratt 1977). */
static size_t advance(const char *mark, size_t at, char c)
{
    while (at && mark[at] != c) {
        const size_t had = at--;

        while (at && memcmp(mark, mark + had - at, at))
            at--;
    }
    return at + (mark[at] == c);
}

static void maybe(struct gkv__think *t, char c)
{
    if (!t->at && (c == ' ' || c == '\n') && t->spaces++ < GKV__THINK_SPACE)
        return;
    if (c != t->marks->open[t->at++])
        t->state = GKV__ANSWER;
    else if (!t->marks->open[t->at]) {
        t->state = GKV__THOUGHT;
        t->at = 0;
    }
}

size_t gkv__think_feed(struct gkv__think *t, const char *text, size_t n)
{
    const bool thought = t->state == GKV__THOUGHT;

    for (size_t i = 0; i < n && t->state != GKV__ANSWER; i++) {
        t->line = text[i] == '\n';
        if (t->state == GKV__MAYBE) {
            maybe(t, text[i]);
            continue;
        }
        t->at = advance(t->marks->end, t->at, text[i]);
        if (t->marks->end[t->at])
            continue;
        t->state = GKV__ANSWER;
        return n - i - 1;
    }
    return thought || t->state == GKV__THOUGHT ? 0 : n;
}
