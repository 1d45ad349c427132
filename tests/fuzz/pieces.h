/* SPDX-License-Identifier: BSD-2-Clause
 * pieces.h - a text that is tokenized in pieces against the same as a whole */
#ifndef TESTS_FUZZ_PIECES_H
#define TESTS_FUZZ_PIECES_H

#include <string.h>
#include "src/token/token.h"
#include "tests/fuzz/fuzz.h"

static inline void add_tokens(const struct gkv__vocab *v, const char *text, size_t len, struct gkv__tokens *t)
{
    const struct gkv__range all = { 0, len };
    gkv_error               err = { 0 };
    const size_t            before = t->n;
    size_t                  sum = 0;
    char                    buf[64];

    must(gkv__tokenize(v, text, len, &all, 1, t, &err) == GKV_OK);
    for (size_t i = before; i < t->n; i++) {
        must(t->id[i] < gkv__vocab_size(v));
        sum += t->len[i];
        gkv__token_text_after(v, i ? t->id[i - 1] : GKV__NO_TOKEN, t->id[i], true, buf, sizeof buf);
    }
    must(sum == len);
}

/* Each piece ends at the last safe place of about `piece` bytes, or of more where there is none. */
static inline void compare_pieces(const struct gkv__vocab *v, const char *text, size_t len, size_t piece)
{
    struct gkv__tokens whole = { .limit = 0 }, parts = { .limit = 0 };
    size_t             at = 0, cut;

    add_tokens(v, text, len, &whole);
    for (size_t to = piece; to < len; to += piece) {
        cut = gkv__token_safe_cut(v, text + at, to - at);
        must(cut <= to - at);
        add_tokens(v, text + at, cut, &parts);
        at += cut;
    }
    add_tokens(v, text + at, len - at, &parts);
    must(parts.n == whole.n && (!whole.n || (!memcmp(parts.id, whole.id, whole.n * sizeof *whole.id) &&
                                            !memcmp(parts.len, whole.len, whole.n * sizeof *whole.len))));
    gkv__tokens_free(&whole);
    gkv__tokens_free(&parts);
}

#endif
