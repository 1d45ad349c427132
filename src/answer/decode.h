/* SPDX-License-Identifier: BSD-2-Clause
 * decode.h - from what a method kept to the answer, token by token: prefill of the kept tokens, unless
 * the method left a cache, then decoding.  Both run on a device if there is one; if it fails, on the
 * CPU from the beginning. */
#ifndef GKV__DECODE_H
#define GKV__DECODE_H

#include "src/answer/device.h"
#include "src/answer/draft.h"
#include "src/answer/drafter.h"
#include "src/answer/grammar.h"
#include "src/answer/sample.h"
#include "src/engine/mtp.h"
#include "src/engine/state.h"
#include "src/select/select.h"

/* What went through the whole model, kept for the next prompt that begins with the same tokens.  Zeroed: nothing. */
struct gkv__prefix {
    struct gkv__cache        cache;     /* while no answer uses it                           */
    struct gkv__cache        mtp;       /* the same of the layer that guesses, if it does    */
    uint32_t                *id;        /* [n] the tokens, of whole chunks                   */
    size_t                   n;
    float                   *states;    /* of layers with a state, after these n tokens; or NULL */
    uint64_t                 n_states;  /* floats of them                                    */
    uint64_t                 touched;   /* slots that have been written                      */
    uint32_t                 chunk;     /* rows that went through together: others round otherwise */
    const struct gkv__rope  *rope;      /* long prompts may use another table                */
};
enum { GKV__PREFIX_MORE = 128 };        /* slots for a longer next prompt: questions differ by less */
uint64_t gkv__prefix_size(const struct gkv__prefix *p);      /* resident bytes */
void     gkv__prefix_close(struct gkv__prefix *p);

struct gkv__decode {
    /* Given: */
    struct gkv__exec        *e;
    const gkv_model         *m;
    const struct gkv__quant *kv;        /* type of the cache                                 */
    uint64_t                 n_new;     /* tokens of thought and answer, at most: there is room for them */
    uint64_t                 n_most;    /* tokens of the answer, at most                     */
    size_t                   n_fixed;   /* kept tokens that the next prompt may begin with, too */
    struct gkv__sampler      sampler;
    const gkv_grammar       *grammar;   /* of answers, or NULL                               */
    uint64_t                 grammar_memory;    /* bytes that an answer's state in it may take */
    struct gkv__device      *device;    /* or NULL; closed here                              */
    struct gkv__draft        draft;     /* draft.most is given, and .share                   */
    struct gkv__drafter     *drafter;   /* the other model that guesses, or NULL             */
    bool                     with_mtp;  /* the model's own layer guesses (engine/mtp.h), where it can */
    struct gkv__prefix      *prefix;    /* of earlier prompts, and for the next; or NULL     */
    char                     device_why[256];   /* why the device is not used, or ""         */
    char                     warning[256];      /* why the device was given up, or ""        */
    /* Insides: */
    struct gkv__cache        cache;
    struct gkv__rewind       rewind;    /* of the last step with guesses                     */
    struct gkv__mtp          mtp;
    float                   *mtp_logits;
    bool                     on_device; /* the device has what comes before the first token  */
    struct gkv__hook         hook;
    struct gkv__pass         p;
    uint32_t                *id;        /* [n_kept + n_new] kept tokens, then those of a thought, then the answer */
    size_t                   n_kept;
    uint64_t                 n_done;    /* how many of id went through the model             */
    uint64_t                 n_reused;  /* ... for an earlier prompt                         */
    uint64_t                 n_thought, n_answer;
    bool                     thinking;  /* the next token is one of a thought: the grammar does not see it */
    uint64_t                 next;      /* position of the first token after the kept ones   */
    float                   *x, *all;           /* [rows][n_embd], [rows][n_vocab]; rows: of a step */
    float                   *logits;            /* [n_vocab] of all: after the last token    */
    uint32_t                 best;      /* instead of logits, if a device can choose it; of each row: */
    uint32_t                 best_of[1 + GKV__DRAFT_MOST];
    struct gkv__candidate   *candidates;
    struct gkv__match       *match;     /* of the grammar, and the answer; or NULL           */
    bool                     hurried;   /* a token was refused since it left no room to end  */
};

/* Begin an answer from what gkv__run left in c.  Its cache is taken over; if it has none, the kept tokens
 * go through the whole model, reported as `stage`.  Afterwards the first token can be sampled. */
gkv_status gkv__decode_begin(struct gkv__decode *d, struct gkv__context *c, gkv_stage stage, gkv_error *err);
/* The next token into *id; GKV_END after n_most tokens, or when the grammar allows no more.  It has to be appended, unless
 * it ends the answer. */
gkv_status gkv__decode_next(struct gkv__decode *d, uint32_t *id, gkv_error *err);
/* Add the token to the answer, or to the thought. */
void       gkv__decode_append(struct gkv__decode *d, uint32_t id);
/* What seemed to be the answer is a thought. */
void       gkv__decode_rethink(struct gkv__decode *d);
/* These tokens come next in the thought, and it ends: the answer begins. */
gkv_status gkv__decode_answer(struct gkv__decode *d, const uint32_t *id, size_t n, gkv_error *err);
/* The token before the next one of thought or answer; GKV__NO_TOKEN: it is the first. */
uint32_t   gkv__decode_last(const struct gkv__decode *d);
/* Whether nothing can follow the answer by the grammar; and whether the answer ends inside a text of it. */
bool       gkv__decode_complete(const struct gkv__decode *d);
bool       gkv__decode_incomplete(const struct gkv__decode *d);
/* Forget the answer; the device and what was given stay for the next one. */
void       gkv__decode_end(struct gkv__decode *d);
void       gkv__decode_close(struct gkv__decode *d);

/* Rows of a step that guesses `draft` tokens at a time. */
size_t     gkv__decode_rows(uint32_t draft);
/* Bytes of the keys and values that the answer is written from. */
uint64_t   gkv__decode_kv(const struct gkv__decode *d);

/* Give up the device.  why: one line, or NULL. */
void       gkv__decode_on_cpu(struct gkv__decode *d, const char *why);

#endif
