/* SPDX-License-Identifier: BSD-2-Clause
 * session-answer.c - the answer to the question of a session, piece by piece: thoughts are left out, and stop strings end
 * it.  The tokens come from answer/decode.c. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/base/mem.h"
#include "src/base/unicode.h"
#include "src/session.h"

/* ---- stop strings ----------------------------------------------------------------------- */

/* Looks for stop strings in s->piece.  The first one ends the answer, and the text ends before it.  Otherwise the
 * result is how much of the text can be no part of one, whatever follows. */
static size_t look_for_stop(gkv_session *s)
{
    for (size_t at = 0; at < s->piece_len; at++) {
        const size_t left = s->piece_len - at;

        for (size_t i = 0; i < s->opt.n_stop; i++) {
            const char *stop = s->opt.stop[i];
            const size_t n = strlen(stop);

            if (n > left || memcmp(s->piece + at, stop, n))
                continue;
            s->stats.stop = stop;
            s->stats.finish = "stop";
            return s->piece_len = at;
        }
    }
    for (size_t at = 0; at < s->piece_len; at++)
        for (size_t i = 0; i < s->opt.n_stop; i++)
            if (!strncmp(s->opt.stop[i], s->piece + at, s->piece_len - at))
                return at;
    return s->piece_len;
}

/* ---- thoughts --------------------------------------------------------------------------- */

/* Ends the thought with the marks that the template has there, as far as the model has not written them. */
static gkv_status begin_answer(gkv_session *s, bool whole, gkv_error *err)
{
    const struct gkv__template *t = gkv__session_template(s);
    const char *before = whole && !s->think.line ? t->marks->before : "", *end = whole ? t->marks->end : "";
    const char *begin = s->opt.think && s->opt.begin ? s->opt.begin : "";
    const size_t room = GKV__MARKS_BYTES + strlen(begin) + 1;
    struct gkv__tokens made = { 0 };
    char *text = malloc(room);
    gkv_status status;
    int n;

    if (!text)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    n = snprintf(text, room, "%s%s%s%s", before, end, t->after, begin);
    s->think.state = GKV__ANSWER;
    s->stats.tokens_thought = s->decode.n_thought;
    status = gkv__tokenize_after(s->writer->vocab, gkv__decode_last(&s->decode), text, (size_t)n, NULL, 0, &made, err);
    if (status == GKV_OK && made.n > s->decode.n_new - s->decode.n_most - s->decode.n_thought)
        status = gkv__fail(err, GKV_UNSUPPORTED, "think: the end of a thought has %zu tokens, too many", made.n);
    if (status == GKV_OK)
        status = gkv__decode_answer(&s->decode, made.id, made.n, err);
    gkv__tokens_free(&made);
    free(text);
    return status;
}

/* Appends to the text of the thought.  A NUL would end it. */
static gkv_status note_thought(gkv_session *s, const char *text, size_t n, gkv_error *err)
{
    if (s->thought_len + n >= s->thought_cap) {
        const size_t cap = 2 * (s->thought_len + n) + 256;
        char *grown = realloc(s->thought, cap);

        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        s->thought = grown;
        s->thought_cap = cap;
    }
    for (size_t i = 0; i < n; i++)
        if (text[i])
            s->thought[s->thought_len++] = text[i];
    s->thought[s->thought_len] = 0;
    return GKV_OK;
}

/* Decodes one more token of a thought; or ends it, since that has all its tokens, or ends.  Where the token with the end
 * mark has more text, that is the answer's. */
static gkv_status think(gkv_session *s, gkv_error *err)
{
    const struct gkv__vocab *v = s->writer->vocab;
    struct gkv__decode *d = &s->decode;
    const char *end = s->think.marks->end;
    char text[GKV__PIECE];
    uint32_t id;
    size_t n, rest;

    if (d->n_thought >= s->thought_most)
        return begin_answer(s, true, err);
    if (!d->n_thought)
        gkv__stage(d->e, GKV_STAGE_THINKING, s->thought_most, (double)s->thought_most);
    GKV__TRY(gkv__decode_next(d, &id, err));
    n = gkv__min(gkv__token_text_after(v, gkv__decode_last(d), id, true, text, sizeof text), sizeof text);
    if (gkv__vocab_is_end(v, id) && !s->opt.ignore_end && (n != strlen(end) || memcmp(text, end, n)))
        return begin_answer(s, true, err);
    rest = gkv__think_feed(&s->think, text, n);
    gkv__decode_append(d, id);
    gkv__progress(d->e, 1);
    GKV__TRY(note_thought(s, text, n - rest, err));
    if (s->think.state == GKV__THOUGHT)
        return GKV_OK;
    s->thought_len -= gkv__min(strlen(end), s->thought_len);
    s->thought[s->thought_len] = 0;
    if (!rest)
        return begin_answer(s, false, err);
    s->stats.tokens_thought = d->n_thought;
    memcpy(s->piece, text + n - rest, rest);
    s->piece_len = rest;
    return gkv__decode_answer(d, NULL, 0, err);
}

/* Whether the answer may still turn out to be a thought, which the model has begun; or that it is one. */
static bool is_thought(gkv_session *s, const char *text, size_t n)
{
    const bool maybe = s->think.state == GKV__MAYBE;
    const size_t rest = gkv__think_feed(&s->think, text, n);

    if (maybe && s->decode.n_answer > GKV__THINK_OPEN)          /* of no bytes */
        s->think.state = GKV__ANSWER;
    if (!maybe || (s->think.state != GKV__THOUGHT && rest == n))
        return s->think.state == GKV__MAYBE;
    gkv__decode_rethink(&s->decode);
    s->piece_len = 0;
    return true;
}

/* ---- pieces ----------------------------------------------------------------------------- */

/* Decodes one more token: appends its text to s->piece, of which *sure bytes are the answer's, or ends the answer. */
static gkv_status step(gkv_session *s, size_t *sure, gkv_error *err)
{
    const struct gkv__vocab *v = s->writer->vocab;
    struct gkv__decode *d = &s->decode;
    const uint32_t before = gkv__decode_last(d);
    char marked[GKV__PIECE];
    size_t n;
    uint32_t id;
    gkv_status status;

    *sure = s->piece_len;
    if (d->thinking)
        return think(s, err);
    status = gkv__decode_next(d, &id, err);
    if (status != GKV_OK) {
        s->stats.finish = status != GKV_END ? NULL : gkv__decode_complete(d) && !d->hurried ? "stop" : "length";
        return status;
    }
    if (gkv__vocab_is_end(v, id) && !s->opt.ignore_end) {
        s->stats.finish = d->hurried ? "length" : "stop";
        return GKV_END;
    }
    s->piece_len += gkv__token_text_after(v, before, id, false, s->piece + s->piece_len,
                                          s->piece_room - s->piece_len);
    gkv__decode_append(d, id);
    /* only longer than GKV__PIECE if longer than any known vocabulary's tokens */
    s->piece_len = gkv__min(s->piece_len, s->piece_room);
    n = s->think.state == GKV__MAYBE ? gkv__token_text_after(v, before, id, true, marked, sizeof marked) : 0;
    *sure = is_thought(s, marked, gkv__min(n, sizeof marked)) ? 0 : look_for_stop(s);
    return s->stats.stop ? GKV_END : GKV_OK;
}

gkv_status gkv_next(gkv_session *s, const char **text, size_t *len, gkv_error *err)
{
    const double start = gkv__seconds();
    gkv_status status = GKV_OK;
    size_t whole = 0;

    *text = s->piece;
    *len = 0;
    if (!s->answering)
        return s->stats.finish ? GKV_END
             : gkv__fail(err, GKV_INVALID, "gkv_next without an answered gkv_ask");
    /* Drop the text given last time, then decode until there is a whole character. */
    s->piece_len -= s->piece_given;
    memmove(s->piece, s->piece + s->piece_given, s->piece_len);
    s->piece_given = 0;
    while (status == GKV_OK && !whole) {
        size_t sure;
        int cut = 0;

        status = step(s, &sure, err);
        whole = gkv__utf8_check(s->piece, sure, &cut);
        if (whole < sure && !cut)               /* not UTF-8: the caller has to mask it */
            whole = sure;
    }
    s->stats.decode += gkv__seconds() - start;
    s->answering = status == GKV_OK;
    if (status == GKV_END) {
        whole = s->piece_len;                   /* may end with an unfinished character */
        if (whole)
            status = GKV_OK;
    } else if (status != GKV_OK) {
        return gkv__session_end(s, status);
    }
    s->piece_given = whole;
    *len = whole;
    return status;
}
