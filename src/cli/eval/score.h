/* SPDX-License-Identifier: BSD-2-Clause
 * score.h - how right an answer is, from 0 to 1 */
#ifndef GEMKV_CLI_SCORE_H
#define GEMKV_CLI_SCORE_H

#include <stddef.h>

/* All but the match ones are the best over the references.
 * em, f1       SQuAD's: equality and overlap of words after lower case, without punctuation
 *              and articles
 * contains     a reference occurs in the answer, as whole words after the same
 * rouge-1/-l   F-measure of words, stemmed (-1) or as they are (-l)
 * all          RULER's: the part of the references that occur in the answer, ignoring case
 * part         RULER's for its questions: 1 when any does */
enum metric { EM, F1, CONTAINS, ROUGE_1, ROUGE_L, ALL, PART, N_METRICS };

extern const char *const metric_name[N_METRICS + 1];    /* NULL last */

struct refs {
    char **ref;
    size_t n;
};

void score_answer(const char *answer, const struct refs *refs, double score[N_METRICS]);

#endif
