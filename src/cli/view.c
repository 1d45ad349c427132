/* SPDX-License-Identifier: BSD-2-Clause
 * view.c - see view.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/answerer.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"
#include "src/cli/view.h"

enum { BEST = 5, PLACES = 3, LINES = 3, WORD = 40 };   /* WORD: what is longer may be cut within */

static size_t skip_space(const char *s, size_t len, size_t at)
{
    while (at < len && (s[at] == ' ' || s[at] == '\n' || s[at] == '\t' || s[at] == '\r'))
        at++;
    return at;
}

/* The end of the word that `at` is in, if it is near and before `most`; else `at`. */
static size_t word_begin(const char *s, size_t len, size_t at, size_t most)
{
    size_t end = at - 1;

    while (end < most && end < at + WORD && skip_space(s, len, end) == end)
        end++;
    return end < most && end < at + WORD ? end : at;
}

/* Prints the passage around its best token, in at most three lines of `width` columns.  Lines break at
 * white space, other white space becomes one space, and an ellipsis replaces what does not fit.
 * Characters of width 0 (combining accents) can fill the buffer before they fill the columns. */
static void excerpt(struct io *io, const struct passage *k, size_t width)
{
    const char *s = k->text, *dots = "\xe2\x80\xa6";
    size_t      len = (size_t)(k->span.end - k->span.start), best = 0;
    size_t      room = LINES * width - 8, size = room * 4 + 16, at = 0, column = 0, lines = 0;
    char       *line = grow(NULL, size, 1), *p = line;
    uint32_t    cp;

    if (k->best->best > k->span.start)          /* its white space may not be shown        */
        best = (size_t)(k->best->best - k->span.start) < len ? (size_t)(k->best->best - k->span.start) : len;
    if (len > room) {                           /* a third before the best, the rest after */
        at = best > room / 3 ? best - room / 3 : 0;
        at = len - at < room ? len - room : at;
        while (at < len && ((unsigned char)s[at] & 0xc0) == 0x80)
            at++;
        at = at ? word_begin(s, len, at, best) : 0;
    }
    p += sprintf(p, "%s", at ? dots : "");
    for (at = skip_space(s, len, at); at < len && room > 0; at = skip_space(s, len, at)) {
        size_t word = at, columns = 0, left = size - (size_t)(p - line);

        /* 6 bytes: a space, a character, the NUL */
        while (word < len && columns < room && word - at + 6 <= left
               && skip_space(s, len, word) == word) {
            word += utf8_next(s + word, len - word, &cp);
            columns += (size_t)utf8_width(cp);
        }
        if (word == at || (word < len && word - at < WORD && skip_space(s, len, word) == word))
            break;
        if (column && column + 1 + columns > width) {
            if (++lines == LINES)
                break;
            say(io, "      %s", line);
            p = line;
            column = 0;
        }
        if (column) {
            *p++ = ' ';
            column++;
        }
        memcpy(p, s + at, word - at);
        p += word - at;
        *p = 0;
        column += columns;
        room = room > columns + 1 ? room - columns - 1 : 0;
        at = word;
    }
    say(io, "      %s%s", line, at < len ? dots : "");
    free(line);
}

void view_summary(const struct run *r)
{
    size_t    n;
    gkv_stats s;

    free(run_passages(r, &n));
    run_stats(r, &s);
    if (r->o.verbose)
        say(r->o.io, "method %s, schedule %s, on %s (%s), chat template %s", s.method, s.schedule,
            s.device, s.cpu, s.chat_template ? s.chat_template : "none");
    if (s.reader) {
        say(r->o.io, "%s reads %" PRIu64 " tokens, and hands over %zu passage%s of whole %ss: %" PRIu64 " tokens to answer from",
            *s.reader ? s.reader : r->o.reader, s.tokens_prompt, n, n == 1 ? "" : "s",
            strcmp(s.snap, "none") ? s.snap : "character", s.tokens_kept);
        return;
    }
    say(r->o.io, "kept %" PRIu64 " of %" PRIu64 " tokens in %zu passage%s", s.tokens_kept,
        s.tokens_prompt, n, n == 1 ? "" : "s");
}

void view_places(const struct run *r)
{
    size_t          n;
    struct passage *p = run_passages(r, &n);
    struct text     line = { NULL, 0, 0 };

    for (size_t i = 0; i < n && i < PLACES; i++) {
        char *where = run_place(r, p[i].best->file, &p[i].place);

        text_printf(&line, "%s%s", i ? "; " : "", where);
        free(where);
    }
    if (n)
        say(r->o.io, "[%s%s]", line.p, n > PLACES ? "; ..." : "");
    text_free(&line);
    free(p);
}

void view_kept(const struct run *r)
{
    size_t          n, shown, width = say_columns(r->o.io) - 8;
    struct passage *p = run_passages(r, &n);

    view_summary(r);
    shown = r->o.verbose || n < BEST ? n : BEST;
    for (size_t i = 0; i < shown; i++) {
        char *where = run_place(r, p[i].best->file, &p[i].place);

        say(r->o.io, "  %s, score %.3g", where, (double)p[i].best->score);
        excerpt(r->o.io, &p[i], width);
        free(where);
    }
    if (shown < n)
        say(r->o.io, "  and %zu more; -v shows all", n - shown);
    free(p);
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

    run_stats(r, &s);
    if (s.first > 0)
        snprintf(first, sizeof first, "first pass %.2f s (%.0f tokens/s)%s", s.first,
                 (double)s.tokens_prompt / s.first, s.second > 0 ? ", " : "");
    if (s.processes > 1)
        say(r->o.io, "the first pass was shared by %u processes; this one waited %.2f s for the others", s.processes, s.waited);
    if (r->answerer)
        say(r->o.io, "%s%s has begun to answer after %.2f s, first token after %.2f s", first, answerer_model(r->answerer),
            s.second, s.ttft);
    else if (s.second > 0)
        say(r->o.io, "%ssecond pass %.2f s, first token after %.2f s", first, s.second, s.ttft);
    else if (s.first > 0)
        say(r->o.io, "%s", first);

    if (s.reader && r->o.verbose) {
        char *reads = view_bytes(s.predicted_reader), *answers = view_bytes(s.predicted_answerer);

        say(r->o.io, "memory predicted: %s to read, %s to answer; text handed over in %.2f s", reads, answers, s.hand_over);
        free(reads);
        free(answers);
    }
    if (s.device_model) {
        char *used = view_bytes(s.device_memory);

        say(r->o.io, "%s (%s): %s used, upload %.2f s, %.2f of them after the first pass", s.device, s.device_model,
            used, s.upload, s.upload_waited);
        free(used);
    } else if (r->o.verbose && s.device_reason) {
        say(r->o.io, "on the CPU: %s", s.device_reason);
    }
    if (s.tokens_thought)
        say(r->o.io, "%" PRIu64 " tokens of thinking before the answer", s.tokens_thought);
    else if (r->o.verbose && s.can_think && !r->answerer)
        say(r->o.io, "the model could think before it answers, and was told not to; --think on lets it");
    if (r->o.verbose && s.drafted)
        say(r->o.io, "%" PRIu64 " tokens of the answer guessed, %" PRIu64 " of them right; by %s %" PRIu64 ", %" PRIu64
            " right", s.drafted, s.accepted, r->o.gkv.draft_mtp ? "the model's own layer" : "the reader",
            s.drafted_reader + s.drafted_mtp, s.accepted_reader + s.accepted_mtp);
    if (r->o.verbose && s.memory_packed) {
        char *packed = view_bytes(s.memory_packed);

        say(r->o.io, "%s of weights packed", packed);
        free(packed);
    }
    peak = view_bytes(s.memory_peak);
    predicted = view_bytes(s.memory_predicted);
    if (s.decode > 0 && s.tokens_answer > 1)   /* the first token is the second pass's */
        snprintf(rate, sizeof rate, " at %.1f tokens/s",
                 (double)(s.tokens_thought + s.tokens_answer) / s.decode);
    if (s.tokens_answer)
        say(r->o.io, "answer %" PRIu64 " tokens%s, memory %s, predicted %s", s.tokens_answer, rate,
            peak, predicted);
    else
        say(r->o.io, "memory %s, predicted %s", peak, predicted);
    free(peak);
    free(predicted);
}
