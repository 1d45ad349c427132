/* SPDX-License-Identifier: BSD-2-Clause
 * drafter.h - another model guesses what the one that answers writes next (Leviathan et al. 2023).  It has a prompt of its
 * own, and follows the answer.
 *
 * Where their vocabularies differ, text goes from one to the other, and the guess is what the other tokenizer makes of
 * it.  A wrong guess costs time only. */
#ifndef GKV__DRAFTER_H
#define GKV__DRAFTER_H

#include "src/engine/pass.h"

struct gkv__drafter {
    /* Given: */
    struct gkv__exec        *e;
    const gkv_model         *m;         /* guesses                                           */
    const struct gkv__vocab *to;        /* of the model that answers                         */
    bool                     same;      /* both have one vocabulary                          */
    const struct gkv__quant *kv;        /* type of the cache                                 */
    const uint32_t          *prompt;
    size_t                   n_prompt, n_room;  /* n_room: tokens after the prompt, at most  */
    /* Insides: */
    struct gkv__cache        cache;
    struct gkv__pass         p;
    uint32_t                *id;        /* prompt, answer, guesses                           */
    size_t                   n, n_run;  /* tokens without the guesses; how many are in the cache */
    size_t                   n_heard;   /* tokens of the answer, as its model has them       */
    size_t                   n_sure;    /* of id, those that no further text changes, ...    */
    char                    *tail;      /* ... and the answer's text after them              */
    size_t                   n_tail, cap;
    float                   *x, *logits;
};

/* Room in tokens for an answer of n, in the other's tokens, and for guesses. */
size_t     gkv__drafter_room(uint64_t n);
/* Its prompt goes through the model, unless it has. */
gkv_status gkv__drafter_begin(struct gkv__drafter *d, gkv_error *err);
/* Guesses, at most `most`, of what comes after the n tokens of the answer id[n], n > 0, into out; each is at least as likely as
 * `least`, in the eyes of this model.  *made: how many. */
gkv_status gkv__drafter_guess(struct gkv__drafter *d, const uint32_t *id, size_t n, double least, uint32_t *out, size_t most,
                              size_t *made, gkv_error *err);
/* The same by a layer of the model that answers (engine/mtp.h), behind all its rows and the token after them; p: the pass
 * of the model.  logits: room for one row. */
size_t     gkv__mtp_guess(struct gkv__mtp *t, const struct gkv__pass *p, double least, uint32_t *out, size_t most,
                          float *logits);
/* What was given stays, but is to be given again. */
void       gkv__drafter_close(struct gkv__drafter *d);

#endif
