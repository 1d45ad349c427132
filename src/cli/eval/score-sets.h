/* SPDX-License-Identifier: BSD-2-Clause
 * score-sets.h - measures as the scripts of SQuAD 2.0, Lost in the Middle, LongBench, InfiniteBench and L-Eval
 * compute them, with what is odd in them: scores that are compared with published ones must be theirs.
 * Each data set has a file, score-longbench.c and so on. */
#ifndef GEMKV_CLI_SCORE_SETS_H
#define GEMKV_CLI_SCORE_SETS_H

#include "src/cli/eval/normal.h"
#include "src/cli/eval/score.h"

typedef double score_each(const char *answer, const char *ref);
typedef double score_whole(const char *answer, const struct refs *refs, const struct refs *classes);

/* F-measure of ROUGE's words. */
double rouge_overlap(const char *answer, const char *ref, bool stemmed);

score_whole squad_em, squad_f1;
score_each  lost_subspan;
score_each  longbench_f1, longbench_rouge_l, longbench_count, longbench_retrieval, longbench_code, longbench_2;
score_whole longbench_class;
score_each  infinite_kv, infinite_f1_zh, infinite_rouge_lsum;
score_whole infinite_digits, infinite_code_run, infinite_code_debug, infinite_name, infinite_choice, infinite_find,
            infinite_calc;
score_each  leval_em, leval_choice, leval_choices, leval_math, leval_code, leval_judge, leval_rouge_1, leval_rouge_2;

#endif
