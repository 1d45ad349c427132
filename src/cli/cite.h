/* SPDX-License-Identifier: BSD-2-Clause
 * cite.h - which words of the kept passages each sentence of an answer rests on
 *
 * Nobody asks the model: its sentences are compared with the passages word by word, so a citation holds whatever the
 * model is.  A sentence is supported by one or two sentences that follow each other in a passage, if these
 *   - have all its numbers and negations, and no negation if it has none,
 *   - have two thirds of its words, small words like "the" not counted,
 *   - have at least three words of it in a row, or as many as those that count, if it has fewer,
 *   - and have a word of it that the question has not: an answer may not only repeat that.
 * If it stands in the passage word by word, that is enough.  Of several the one with the longest run of words is cited,
 * then the one with most of its words, with most of the question's, the best passage. */
#ifndef GEMKV_CLI_CITE_H
#define GEMKV_CLI_CITE_H

#include <stddef.h>
#include "src/cli/place.h"
#include "src/cli/text.h"

struct claim {
    struct span           sentence;     /* bytes of the answer                            */
    const struct passage *passage;      /* NULL: nothing supports it                      */
    struct span           support;      /* bytes of that document                         */
    size_t                number;       /* from 1, the same for the same support          */
};

struct cited {
    struct text   answer;               /* without marks of the model, like "[3]"         */
    struct claim *claim;                /* n of them, in its order                        */
    size_t        n, n_numbers;
};

/* Of the n passages, the best first.  A mark [i] that the model has put behind a sentence chooses passage i, counted
 * from 1, if that supports it; otherwise it is dropped.  For cite_free. */
struct cited cite_answer(const char *answer, size_t len, const char *question, const struct passage *p, size_t n);
void cite_free(struct cited *c);

#endif
