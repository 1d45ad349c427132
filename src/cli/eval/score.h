/* SPDX-License-Identifier: BSD-2-Clause
 * score.h - how right an answer is, as a score from 0 to 1 */
#ifndef GEMKV_CLI_SCORE_H
#define GEMKV_CLI_SCORE_H

#include <stddef.h>

/* Except for all and part, the score is the best over the references.
 * em, f1       SQuAD's: equality and overlap of words, in lower case, without punctuation and
 *              articles
 * contains     a reference occurs in the answer, as whole words in the same form
 * rouge-1/-l   F-measure of words, stemmed (-1) or unstemmed (-l)
 * all          RULER's: the share of the references that occur in the answer, ignoring case
 * part         RULER's for question answering: 1 when any reference occurs */
enum metric { EM, F1, CONTAINS, ROUGE_1, ROUGE_L, ALL, PART, N_METRICS };

extern const char *const metric_name[N_METRICS + 1];    /* NULL last */

struct refs {
    char **ref;
    size_t n;
};

void score_answer(const char *answer, const struct refs *refs, double score[N_METRICS]);

#endif
