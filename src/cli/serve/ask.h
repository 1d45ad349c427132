/* SPDX-License-Identifier: BSD-2-Clause
 * ask.h - questions on their way through the server: a queue, and who answers next
 *
 * One question is answered at a time, with all processors, but a long reading steps aside for quick questions.
 *
 *     ask_start(w, a); while (ask_wait(a, 1, &piece, &now)) ...; ask_end(a); */
#ifndef GEMKV_CLI_SERVE_ASK_H
#define GEMKV_CLI_SERVE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/place.h"
#include "src/cli/text.h"

struct run;
struct folder;
struct asks;

struct ask_limits {
    size_t   waiting;                           /* questions that may wait                */
    double   seconds;                           /* of a question, once it has begun; 0: no limit */
    uint64_t bytes;                             /* of all indexes, on the disk            */
    uint64_t requests;                          /* of memory, left to what is received    */
};

/* r has the models and options.  Its library, if it has one, belongs to the asks from then on: a question without a
 * document is asked of it. */
struct asks *asks_open(struct run *r, const struct folder *f, const struct ask_limits *most);
void asks_close(struct asks *w);                /* after all ask_end                      */
void asks_drain(struct asks *w);                /* what still waits ends unanswered       */
void asks_tick(struct asks *w);                 /* now and then: ends what takes too long */
size_t asks_waiting(struct asks *w);            /* and those that are being answered      */

/* ---- what is asked --------------------------------------------------------------------- */
struct source {
    char       *name;                           /* for people                             */
    char       *id;                             /* of the store, or NULL                  */
    char       *path;                           /* of its text; NULL: the text is here    */
    struct text text;
    uint64_t    bytes;                          /* of the text, when it was asked         */
    char       *part;                           /* as place_cite has it, or NULL          */
};

struct ask_passage {
    size_t       source;
    struct place place;
    struct span  span;                          /* bytes of the source                    */
    float        score;
    char        *text;
};

struct ask_claim {                              /* a sentence of the answer that a passage supports */
    char        *sentence;
    size_t       passage, end;                  /* end: in characters of the answer       */
};

enum ask_state { ASK_WAITS, ASK_READS, ASK_ANSWERS, ASK_ENDED };

/* How far it is. */
struct ask_now {
    enum ask_state state;
    size_t         ahead;                       /* questions before it                    */
    double         fraction, seconds;           /* of the reading; since it was asked     */
    uint64_t       tokens;                      /* to be read, 0: not known yet           */
};

struct ask {
    /* The asker's, before ask_start: */
    struct source *source;
    size_t         n_sources;
    char          *question, *system;           /* system may be NULL                     */
    bool           no_document;                 /* the source is a part of the question: it is no evidence */
    gkv_turn      *turn;                        /* strings for free()                     */
    size_t         n_turns;
    gkv_options    opt;                         /* from ask_new, changed as the request says */
    struct words   stop;
    gkv_grammar   *grammar;
    unsigned       sent;                        /* ANSWER_TOP_P and so on: to who answers elsewhere */
    char          *format;                      /* ... and this, as its response_format   */
    /* The result, after ASK_ENDED: */
    gkv_status     status;                      /* GKV_END: answered                      */
    gkv_error      err;
    gkv_stats      stats;                       /* its texts are gone, but for those below */
    bool           elsewhere;                   /* it was the other server that failed    */
    char          *finish, *thought, *warning, *method, *schedule;
    struct text    answer;
    struct ask_passage *passage;
    size_t         n_passages;
    struct ask_claim *claim;
    size_t         n_claims;
    bool           indexed;                     /* read before, or for the next question too */
    uint64_t       read;                        /* tokens that were read for it           */
    double         seconds;                     /* from when it was its turn to its end */
    /* While it is read: */
    uint64_t       bytes, bytes_done, bytes_now;        /* of the sources: all, read, being read */
    struct ask_private *own;
};

struct ask *ask_new(struct asks *w);
/* False: too many wait. */
bool ask_start(struct asks *w, struct ask *a);
/* Waits for news, at most for these seconds: what the answer has gained goes to *piece, and *now is set.  False: it has
 * ended, and all of the answer was given. */
bool ask_wait(struct ask *a, double seconds, struct text *piece, struct ask_now *now);
/* Frees it.  One that has not ended is cancelled first. */
void ask_end(struct ask *a);

#endif
