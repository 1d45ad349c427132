/* SPDX-License-Identifier: BSD-2-Clause
 * draft.h - tokens that an answer may go on with, guessed from text: where the last tokens stood before, in the prompt or in
 * the answer, the next ones are those that followed (Saxena 2023, prompt lookup decoding; Leviathan et al. 2023).  Or
 * another model makes them (drafter.h), which takes time.
 *
 * Right guesses cost less than tokens one by one, wrong ones cost more.  Where they come from, and how many are tried,
 * follows from how often they were right, and from what steps took.  That never changes the answer, only its time. */
#ifndef GKV__DRAFT_H
#define GKV__DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GKV__DRAFT_MOST = 4, GKV__DRAFT_MODEL = 3, GKV__DRAFT_KINDS };

struct gkv__draft {
    uint32_t most;              /* guesses at a time; 0: none                                */
    bool     always;            /* whatever they cost: for tests                             */
    double   share;             /* of a step's time, what a guess of the other model should take; 0: there is none */
    /* Of now: */
    uint32_t id[GKV__DRAFT_MOST];
    size_t   n, used;           /* guesses; how many of them were right                      */
    unsigned kind;              /* by how many tokens agree before them; or GKV__DRAFT_MODEL */
    double   making;            /* seconds that the other model took                         */
    /* Of the answer: */
    uint64_t drafted, accepted;
    uint64_t by_model, right_by_model;  /* of these, guesses of the other model              */
    size_t   seen;              /* length of the text that it has seen                       */
    double   spent, gained;     /* seconds of all steps; of what guesses have saved          */
    /* Of this session: */
    double   one, more, make;   /* seconds of a step of one row, of a further row, and of a guess of the other model;
                                   0: not known                                              */
    double   tried[GKV__DRAFT_KINDS], right[GKV__DRAFT_KINDS];
};

/* Puts what followed the longest earlier occurrence of the end of id[n] into out[most], of equal ones the last; the
 * text may overlap its end.  Returns how many tokens agree, at most GKV__DRAFT_LONGEST; less than 2: no guess is made. */
enum { GKV__DRAFT_LONGEST = 8 };
size_t gkv__draft_find(const uint32_t *id, size_t n, uint32_t *out, size_t most);

void   gkv__draft_begin(struct gkv__draft *d, size_t n);        /* an answer, after a prompt of n tokens */
/* Sets d->id and d->n, at most `room`, from the text id[n].  If d->kind is GKV__DRAFT_MODEL then, the other model is to make
 * these d->n guesses, and gkv__draft_made is told how many it made, and how long it took. */
void   gkv__draft_guess(struct gkv__draft *d, const uint32_t *id, size_t n, size_t room);
double gkv__draft_least(const struct gkv__draft *d);    /* a guess that is less likely is not worth its row */
void   gkv__draft_made(struct gkv__draft *d, size_t n, size_t made, double seconds);
/* A step with d->n guesses took so long, with the making of them. */
void   gkv__draft_took(struct gkv__draft *d, double seconds);
/* ... and then it took so long to take wrong ones back. */
void   gkv__draft_lost(struct gkv__draft *d, double seconds);
/* Further steps are computed elsewhere, where they take another time, and guesses that were not checked yet are none. */
void   gkv__draft_elsewhere(struct gkv__draft *d);
/* The token after the right ones is known.  True: the next guess is right, too. */
bool   gkv__draft_is_next(struct gkv__draft *d, uint32_t id);

#endif
