/* SPDX-License-Identifier: BSD-2-Clause
 * prompt.h - the text that the model will see, as tokens; and the way back, from tokens to
 * passages of the documents.
 *
 *     open | document \n\n document ... | ask question close        (src/template/template.h)
 *
 * The text is held once.  Long ones become tokens while they arrive, in pieces that are cut
 * where that changes nothing. */
#ifndef GKV__PROMPT_H
#define GKV__PROMPT_H

#include "src/template/template.h"
#include "src/token/token.h"

struct gkv__document { uint64_t start, end; };  /* bytes of the prompt's text */

struct gkv__prompt {
    const struct gkv__vocab    *vocab;
    const struct gkv__template *tmpl;
    size_t                      piece;          /* bytes worth tokenizing before the end     */

    char                       *text;
    size_t                      len, cap;
    size_t                      checked;        /* known to be whole UTF-8 characters        */
    size_t                      tokenized, next;/* next: untokenized bytes to try again at   */
    struct gkv__document       *doc;
    size_t                      n_docs;
    bool                        doc_open;
    struct gkv__tokens          tokens;         /* of text[0 .. tokenized); BOS first        */
    double                      seconds;        /* spent making them                         */
};

/* *p is zero.  tmpl may be gkv__template_raw: then special tokens are parsed everywhere. */
gkv_status gkv__prompt_open(struct gkv__prompt *p, const struct gkv__vocab *v,
                            const struct gkv__template *tmpl, size_t piece, gkv_error *err);
void       gkv__prompt_close(struct gkv__prompt *p);

/* More of the document that is open, or the beginning of another; GKV_DOCUMENT when it is
 * not text. */
gkv_status gkv__prompt_feed(struct gkv__prompt *p, const char *text, size_t len, gkv_error *err);
gkv_status gkv__prompt_feed_end(struct gkv__prompt *p, gkv_error *err);

/* The question, and what the answer begins with or NULL: afterwards all of the text is tokens. */
gkv_status gkv__prompt_ask(struct gkv__prompt *p, const char *question, size_t len,
                           const char *begin, gkv_error *err);

/* Tokens after the documents: the question with its template.  A token that straddles the
 * boundary belongs to them. */
size_t gkv__prompt_tail(const struct gkv__prompt *p);

/* Runs of neighbouring tokens among kept[n_kept] (ascending), cut to the documents they lie in,
 * widened to whole characters: *out is malloc'ed.  score[n tokens] or NULL.  *n_doc_tokens: how
 * many tokens have a part in a document, kept or not. */
gkv_status gkv__prompt_passages(const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                                const float *score, gkv_kept **out, size_t *n,
                                uint64_t *n_doc_tokens, gkv_error *err);

#endif
