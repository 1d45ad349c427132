/* SPDX-License-Identifier: BSD-2-Clause
 * hand-over.h - from the tokens that a reader kept to the prompt of another model, as text.
 *
 *     tokens kept -> pieces (words, sentences) with scores -> the best that fit -> a document of the answerer, a prompt
 *
 * Two models need not share a tokenizer, so nothing but text goes over. */
#ifndef GKV__HAND_OVER_H
#define GKV__HAND_OVER_H

#include "src/prompt.h"

struct gkv__hand {
    /* Given: */
    gkv_model               *to;        /* whose prompt is made                              */
    const gkv_options       *opt;       /* of its document: template, system prompt          */
    enum gkv__snap           snap;      /* wanted                                            */
    uint64_t                 budget;    /* tokens of the prompt; UINT64_MAX: no limit        */
    /* Made: */
    enum gkv__snap           used;      /* words, where a sentence has no room               */
    gkv_kept                *piece;     /* n of them, in the document's order                */
    size_t                  *rank;      /* [n] of each, the best is 0                        */
    size_t                   n, n_fit;  /* the best n_fit of them are handed over            */
    gkv_document            *d;         /* their text                                        */
    struct gkv__prompt       prompt;    /* ... and the question                              */
    double                   seconds;
};

/* Pieces of p around kept[n_kept], whose scores are score[n tokens] or NULL, and of these the best ones, so many that
 * the prompt has at most h->budget tokens; of equal scores the first in the document is the better.  GKV_INVALID: there
 * is no room for one, not even in words.  Afterwards gkv__hand_spans says which; on failure, too, gkv__hand_close frees all. */
gkv_status gkv__hand_over(struct gkv__hand *h, const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                          const float *score, const struct gkv__asked *asked, gkv_error *err);
/* What was handed over, as passages of p's document; *out is malloc'ed. */
gkv_status gkv__hand_spans(const struct gkv__hand *h, const struct gkv__prompt *p, gkv_kept **out, size_t *n,
                           gkv_error *err);
/* All of p's document is handed over, whatever the budget: *n tokens, with the question. */
gkv_status gkv__hand_whole(struct gkv__hand *h, const struct gkv__prompt *p, const struct gkv__asked *asked, uint64_t *n,
                           gkv_error *err);
void       gkv__hand_close(struct gkv__hand *h);        /* what was given stays */

#endif
