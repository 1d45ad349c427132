/* SPDX-License-Identifier: BSD-2-Clause
 * view.c - see view.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"
#include "src/cli/view.h"

enum { BEST = 5 };

/* Best first; among equals, in document order: kept passages lie in one array. */
static int by_score(const void *a, const void *b)
{
    const gkv_kept *x = *(const gkv_kept *const *)a, *y = *(const gkv_kept *const *)b;

    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x > y) - (x < y);
}

/* Text as one line of at most width columns: white space becomes one space, an ellipsis
 * stands for what does not fit.  The caller frees it. */
static char *shorten(const char *s, size_t len, size_t width)
{
    char    *line = grow(NULL, width * 4 + 8, 1);       /* a character has up to 4 bytes  */
    size_t   n = 0, cut = 0, column = 0, k;
    bool     space = false;
    uint32_t cp;

    for (size_t i = 0; i < len; i += k) {
        size_t w;

        k = utf8_next(s + i, len - i, &cp);
        if (cp == ' ' || cp == '\n' || cp == '\t' || cp == '\r' || cp == 0xa0) {
            space = n > 0;
            continue;
        }
        w = (size_t)utf8_width(cp) + space;
        if (column + w > width) {
            strcpy(line + cut, "\xe2\x80\xa6");
            return line;
        }
        if (w == 0)                             /* combining: bytes without columns       */
            continue;
        if (space)
            line[n++] = ' ';
        space = false;
        if (cp == UTF8_BAD)
            line[n++] = '?';
        else
            memcpy(line + n, s + i, k), n += k;
        column += w;
        if (column < width)
            cut = n;                            /* here the ellipsis would still fit      */
    }
    line[n] = 0;
    return line;
}

static char *location(const struct run *r, const gkv_kept *k)
{
    return format("%s:%" PRIu64 "-%" PRIu64, input_name(r->file[k->file]), k->start,
                  k->end);
}

void view_summary(const struct run *r)
{
    size_t    n;
    gkv_stats s;

    gkv_session_kept(r->session, &n);
    gkv_session_stats(r->session, &s);
    if (r->verbose)
        say("method %s, schedule %s, on %s (%s), chat template %s", s.method, s.schedule,
            s.device, s.cpu, s.chat_template ? s.chat_template : "none");
    say("kept %" PRIu64 " of %" PRIu64 " tokens in %zu passage%s", s.tokens_kept,
        s.tokens_prompt, n, n == 1 ? "" : "s");
}

void view_kept(const struct run *r)
{
    size_t           n, shown, columns = say_columns(), widest = 0;
    const gkv_kept  *kept = gkv_session_kept(r->session, &n);
    const gkv_kept **best = grow(NULL, n, sizeof *best);

    view_summary(r);
    for (size_t i = 0; i < n; i++)
        best[i] = &kept[i];
    qsort(best, n, sizeof *best, by_score);
    shown = r->verbose || n < BEST ? n : BEST;
    for (size_t i = 0; i < shown; i++) {
        char  *where = location(r, best[i]);
        size_t w = strlen(where);

        widest = w > widest ? w : widest;
        free(where);
    }
    if (widest > columns / 2)                   /* a long name breaks the column only     */
        widest = columns / 2;
    for (size_t i = 0; i < shown; i++) {
        const gkv_kept *k = best[i];
        char  *where = location(r, k), score[32], *text;
        size_t used, width;

        snprintf(score, sizeof score, "%.3g", (double)k->score);
        used = 2 + (strlen(where) > widest ? strlen(where) : widest) + 2 + 8 + 2 + 2;
        width = used + 20 < columns ? columns - 1 - used : 20;
        text = shorten(k->text, (size_t)(k->end - k->start), width);
        say("  %-*s  %8s  \xe2\x80\x9c%s\xe2\x80\x9d", (int)widest, where, score, text);
        free(text);
        free(where);
    }
    if (shown < n)
        say("  and %zu more; -v shows all", n - shown);
    free(best);
}

char *view_bytes(uint64_t n)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double d = (double)n;
    size_t i = 0;

    while (d >= 1023.5 && i + 1 < sizeof unit / sizeof *unit) {
        d /= 1024;
        i++;
    }
    return format(i == 0 || d >= 99.95 ? "%.0f %s" : "%.1f %s", d, unit[i]);
}

void view_cost(const struct run *r)
{
    gkv_stats s;
    char      first[96] = "", rate[48] = "", *peak, *predicted;

    gkv_session_stats(r->session, &s);
    if (s.first > 0)
        snprintf(first, sizeof first, "first pass %.2f s (%.0f tokens/s)%s", s.first,
                 (double)s.tokens_prompt / s.first, s.second > 0 ? ", " : "");
    if (s.second > 0)
        say("%ssecond pass %.2f s, first token after %.2f s", first, s.second, s.ttft);
    else if (s.first > 0)
        say("%s", first);

    peak = view_bytes(s.memory_peak);
    predicted = view_bytes(s.memory_predicted);
    if (s.decode > 0)
        snprintf(rate, sizeof rate, " at %.1f tokens/s",
                 (double)s.tokens_answer / s.decode);
    if (s.tokens_answer)
        say("answer %" PRIu64 " tokens%s, memory %s, predicted %s", s.tokens_answer, rate,
            peak, predicted);
    else
        say("memory %s, predicted %s", peak, predicted);
    free(peak);
    free(predicted);
}
