/* SPDX-License-Identifier: BSD-2-Clause
 * score.h - how right an answer is, as a score from 0 to 1
 *
 * A measure is a name here, a row of the table in score.c and, if the script of a data set defines it, a
 * function in the file of that data set, such as score-squad.c. */
#ifndef GEMKV_CLI_SCORE_H
#define GEMKV_CLI_SCORE_H

#include <stddef.h>

/* Except for all and part, the score is the best over the references.
 * em, f1       SQuAD's: equality and overlap of words, in lower case, without punctuation and
 *              articles
 * contains     a reference occurs in the answer, as whole words in the same form
 * rouge-1/-l   F-measure of words, stemmed (-1) or unstemmed (-l)
 * all          RULER's: the share of the references that occur in the answer, ignoring case
 * part         RULER's for question answering: 1 when any reference occurs
 * Those after N_COMMON are computed only for rows that ask for them. */
enum metric {
    EM, F1, CONTAINS, ROUGE_1, ROUGE_L, ALL, PART, N_COMMON,
    SQUAD_EM = N_COMMON, SQUAD_F1, SUBSPAN, LONGBENCH_F1, LONGBENCH_F1_LINE, LONGBENCH_ROUGE_L, LONGBENCH_ROUGE_L_LINE,
    LONGBENCH_CLASS, LONGBENCH_COUNT, LONGBENCH_RETRIEVAL, LONGBENCH_CODE, LONGBENCH_2, INFINITE_KV, INFINITE_DIGITS,
    INFINITE_CODE_RUN, INFINITE_CODE_DEBUG, INFINITE_NAME, INFINITE_CHOICE, INFINITE_FIND, INFINITE_CALC, INFINITE_F1_ZH,
    INFINITE_ROUGE_LSUM, LEVAL_EM, LEVAL_CHOICE, LEVAL_CHOICES, LEVAL_MATH, LEVAL_CODE, LEVAL_JUDGE, LEVAL_ROUGE_1,
    LEVAL_ROUGE_2, N_METRICS
};

extern const char *const metric_name[N_METRICS + 1];    /* NULL last */

enum metric metric_of(const char *name);                /* N_METRICS: there is none of that name */

struct refs {
    char **ref;
    size_t n;
};

/* Sets the common scores, and the one that is the row's own; others are 0.  classes: all that the task has. */
void score_answer(enum metric own, const char *answer, const struct refs *refs, const struct refs *classes,
                  double score[N_METRICS]);

#endif
