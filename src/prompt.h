/* SPDX-License-Identifier: BSD-2-Clause
 * prompt.h - a document and a question as the tokens of one prompt; and from kept tokens back to
 * passages of the document. */
#ifndef GKV__PROMPT_H
#define GKV__PROMPT_H

#include "src/document.h"
#include "src/select/words.h"

struct gkv__prompt {
    const gkv_document *d;
    uint64_t            len;            /* bytes of the whole text                           */
    uint32_t           *id;             /* [n] */
    size_t              n;
    size_t              n_fixed;        /* the first are the document's, for any question */
    struct gkv__tokens  rest;           /* the others, with lengths in bytes                 */
    double              seconds;        /* spent on making `rest`                            */
};

/* What comes after the documents. */
struct gkv__asked {
    const gkv_turn *turn;               /* n_turns earlier questions and answers, in UTF-8   */
    size_t          n_turns;
    const char     *question;           /* len bytes                                         */
    size_t          len;
    const char     *begin;              /* text that the answer begins with, or NULL         */
    bool            think;              /* before the answer, where the template can         */
};

/* *p is zero, d finished. */
gkv_status gkv__prompt_make(struct gkv__prompt *p, const gkv_document *d, const struct gkv__asked *asked,
                            gkv_error *err);
void       gkv__prompt_close(struct gkv__prompt *p);

/* Bytes of text of token i.              */
static inline uint32_t gkv__prompt_len(const struct gkv__prompt *p, size_t i)
{
    return i < p->n_fixed ? p->d->tokens.len[i] : p->rest.len[i - p->n_fixed];
}

/* Words of the documents' text and of the question; free by gkv__prompt_words_close. */
gkv_status gkv__prompt_words(const struct gkv__prompt *p, const char *question, size_t len,
                             struct gkv__words *out, gkv_error *err);
void       gkv__prompt_words_close(struct gkv__words *w);

/* Tokens after the documents: the question with its template.  A token that straddles the
 * boundary belongs to them. */
size_t gkv__prompt_tail(const struct gkv__prompt *p);

/* Tokens *from .. *to - 1 overlap bytes start .. end of a file. */
void gkv__prompt_find(const struct gkv__prompt *p, size_t file, uint64_t start, uint64_t end, size_t *from,
                      size_t *to);

/* Passages: runs of adjacent tokens among kept[n_kept] (ascending), limited to the file they lie in,
 * widened to whole characters; apart: a passage for each token; *out is malloc'ed.  score[n tokens] or
 * NULL.  *n_doc_tokens: how many tokens overlap a file, kept or not. */
gkv_status gkv__prompt_passages(const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                                const float *score, bool apart, gkv_kept **out, size_t *n,
                                uint64_t *n_doc_tokens, gkv_error *err);

#endif
