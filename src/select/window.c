/* SPDX-License-Identifier: BSD-2-Clause
 * window.c - keeps the document's last tokens, what a sliding window leaves, or its first ones: a baseline. */
#include "config.h"
#include "src/select/select.h"

extern const struct gkv__select gkv__select_window;

enum { END };
enum { LAST, FIRST };

static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    const size_t n = (size_t)t->n - t->keep_last, rest = (size_t)t->k - t->keep_last;
    const size_t head = (int)t->param[END] == FIRST ? rest : t->keep_first;
    size_t at = 0;

    (void)score;
    (void)spare;
    for (size_t i = 0; i < head; i++)
        out[at++] = (uint32_t)i;
    for (size_t i = n - (rest - head); i < t->n; i++)
        out[at++] = (uint32_t)i;
    return at;
}

static const struct gkv__param params[] = {
    [END] = { "end", "last", "tokens of which end of the document", .words = "last first" },
    { .name = NULL },
};

const struct gkv__select gkv__select_window = {
    .name = "window",
    .summary = "the end of the document, or its beginning",
    .params = params,
    .kind = GKV__PICKS,
    .pick = pick,
};
