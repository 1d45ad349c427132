/* SPDX-License-Identifier: BSD-2-Clause
 * ruler-qa.h - questions, and the paragraphs that answer them, from files of two data sets */
#ifndef GEMKV_CLI_RULER_QA_H
#define GEMKV_CLI_RULER_QA_H

#include <stddef.h>
#include <stdint.h>

struct qa_question {
    char     *text, **answer;
    uint32_t *gold;             /* paragraphs that answer it */
    size_t    n_answer, n_gold;
};

struct io;

struct qa_set {
    char              **paragraph;
    struct qa_question *question;
    size_t              n_paragraph, n_question;
};

/* SQuAD (1.1, or 2.0 without its unanswerable questions); HotpotQA (distractor setting).  0, or an
 * exit status after saying why. */
int  qa_squad(struct qa_set *q, struct io *io, const char *path);
int  qa_hotpot(struct qa_set *q, struct io *io, const char *path);
void qa_free(struct qa_set *q);

#endif
