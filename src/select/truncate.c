/* SPDX-License-Identifier: BSD-2-Clause
 * truncate.c - keeps the head and the tail, FINCH's baseline (Corallo and Papotti 2024): half of the
 * budget for each, an odd token to the tail, no token twice. */
#include "config.h"
#include "src/select/select.h"

extern const struct gkv__select gkv__select_truncate;

static size_t pick(const struct gkv__task *t, float *score, float *spare, uint32_t *out)
{
    /* The forced end (the question) is kept in any case; head and tail are those of the document. */
    size_t rest = (size_t)t->k - t->keep_last, end = (size_t)t->n - t->keep_last;
    size_t head = rest / 2, tail = rest - head, at = 0;

    (void)score;
    (void)spare;
    if (head < t->keep_first) {
        head = t->keep_first;
        tail = rest - head;
    }
    for (size_t i = 0; i < head; i++)
        out[at++] = (uint32_t)i;
    for (size_t i = end - tail; i < t->n; i++)
        out[at++] = (uint32_t)i;
    return at;
}

static const struct gkv__param params[] = { { .name = NULL } };

const struct gkv__select gkv__select_truncate = {
    .name = "truncate",
    .summary = "the beginning and the end of the document",
    .params = params,
    .kind = GKV__PICKS,
    .pick = pick,
};
