/* SPDX-License-Identifier: BSD-2-Clause
 * session.h - the session, shared by session.c and probe.c. */
#ifndef GKV__SESSION_H
#define GKV__SESSION_H

#include <stdatomic.h>
#include "src/answer/decode.h"
#include "src/answer/think.h"
#include "src/hand-over.h"
#include "src/plan.h"
#include "src/prompt.h"

struct gkv_session {
    gkv_model             *model;       /* reads: the document's                             */
    gkv_model             *writer;      /* answers; mostly the same                          */
    bool                   by_text;     /* what is kept goes from one to the other as text   */
    gkv_options            opt;
    const gkv_document    *document;
    gkv_document          *own;         /* the same, or NULL: document is shared             */
    char                   parameters[256];
    struct gkv__early      early;       /* kept of a first pass, for the next question */
    struct gkv__prefix     prefix;      /* kept of a pass through all layers, for the next question */
    gkv_turn              *turn;        /* of the conversation so far; its strings are ours  */
    size_t                 n_turns;
    struct gkv__asked      asked;       /* during a question                                 */
    bool                   only;        /* of that: what is kept, without an answer          */
    bool                   read;        /* by_text: there was a first pass                   */
    atomic_bool            cancel;
    /* State of the last question: */
    struct gkv__prompt     prompt;
    struct gkv__plan       plan;
    struct gkv__exec       exec;
    struct gkv__words      words;       /* while a method looks at them                      */
    struct gkv__context    run;
    gkv_kept              *span;
    size_t                 n_spans;
    struct gkv__hand       hand;        /* by_text: of passages, to the model that answers   */
    struct gkv__plan       answer;      /* ... and its plan                                  */
    bool                   whole;       /* ... all of the text is handed over                */
    /* The reader guesses what the other writes: */
    double                 afford;      /* of the time of the answer's prompt, for the reader's */
    gkv_options            guess_opt;
    struct gkv__hand       guess;       /* its prompt, of the same passages                  */
    struct gkv__plan       guess_plan;
    struct gkv__exec       guess_exec;
    struct gkv__drafter    drafter;
    struct gkv__decode     decode;
    bool                   answering;   /* more of the answer may come                       */
    struct gkv__think      think;       /* where a thought ends and the answer begins        */
    uint64_t               thought_most;        /* tokens of it                              */
    char                  *thought;     /* its text, or NULL                                 */
    size_t                 thought_len, thought_cap;
    char                  *piece;       /* text to come, of which piece_given bytes were given */
    size_t                 piece_room, piece_len, piece_given;
    char                   warning[256];
    double                 t_open, t_ask;
    gkv_stats              stats;
};

/* Bytes of text that one token may have: more than in any known vocabulary. */
enum { GKV__PIECE = 512 };

/* What the caller gets when work on a question has ended with this status: whether an answer may follow is noted. */
gkv_status gkv__session_end(gkv_session *s, gkv_status status);
/* The template of the prompt that the answer is written from. */
const struct gkv__template *gkv__session_template(const gkv_session *s);

/* probe.c: gkv_probe after s->prompt is made.  */
gkv_status gkv__probe(gkv_session *s, uint64_t start, uint64_t end, uint32_t tsp, gkv_layer_probe *layer,
                      gkv_error *err);

#endif
