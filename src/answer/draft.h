/* SPDX-License-Identifier: BSD-2-Clause
 * draft.h - tokens that an answer may go on with, guessed from text: where the last tokens stood before, in the prompt or in
 * the answer, the next ones are those that followed (Saxena 2023, prompt lookup decoding; Leviathan et al. 2023).
 *
 * Right guesses cost less than tokens one by one, wrong ones cost more.  How many are tried follows from how often
 * they were right, and from what steps took.  That never changes the answer, only its time. */
#ifndef GKV__DRAFT_H
#define GKV__DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GKV__DRAFT_MOST = 4, GKV__DRAFT_KINDS = 3 };

struct gkv__draft {
    uint32_t most;              /* guesses at a time; 0: none                                */
    bool     always;            /* whatever they cost: for tests                             */
    /* Of now: */
    uint32_t id[GKV__DRAFT_MOST];
    size_t   n, used;           /* guesses; how many of them were right                      */
    unsigned kind;              /* by how many tokens agree before them                      */
    /* Of the answer: */
    uint64_t drafted, accepted;
    double   spent, gained;     /* seconds of all steps; of what guesses have saved          */
    /* Of this session: */
    double   one, more;         /* seconds of a step of one row, and of a further row; 0: not known */
    double   tried[GKV__DRAFT_KINDS], right[GKV__DRAFT_KINDS];
};

/* Puts what followed the longest earlier occurrence of the end of id[n] into out[most], of equal ones the last; the
 * text may overlap its end.  Returns how many tokens agree, at most GKV__DRAFT_LONGEST; less than 2: no guess is made. */
enum { GKV__DRAFT_LONGEST = 8 };
size_t gkv__draft_find(const uint32_t *id, size_t n, uint32_t *out, size_t most);

void   gkv__draft_begin(struct gkv__draft *d);          /* an answer */
/* Sets d->id and d->n, at most `room`, from the text id[n]. */
void   gkv__draft_guess(struct gkv__draft *d, const uint32_t *id, size_t n, size_t room);
/* A step with d->n guesses took so long. */
void   gkv__draft_took(struct gkv__draft *d, double seconds);
/* The token after the right ones is known.  True: the next guess is right, too. */
bool   gkv__draft_is_next(struct gkv__draft *d, uint32_t id);

#endif
