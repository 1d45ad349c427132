/* SPDX-License-Identifier: BSD-2-Clause
 * think.h - where a thought ends and the answer begins, from the text of the tokens as they come.
 *
 * A thought that the prompt has begun goes on until its end mark.  Where the prompt has begun none, the first text may be
 * the mark of one: then it was no part of the answer.  The marks may lie across tokens. */
#ifndef GKV__THINK_H
#define GKV__THINK_H

#include "src/template/template.h"

enum {
    GKV__THINK_MOST = 2048,     /* tokens of a thought, where no number is given             */
    GKV__THINK_SPACE = 16,      /* bytes of white space in front of a thought that the model begins */
    GKV__THINK_OPEN = GKV__THINK_SPACE + GKV__MARKS_BYTES,      /* tokens of that and its mark, which are not more than bytes */
    GKV__THINK_ROWS = GKV__THINK_OPEN + GKV__MARKS_BYTES,       /* room for these and for the end mark */
};

struct gkv__think {
    const struct gkv__marks *marks;     /* or NULL: all is answer                            */
    enum { GKV__ANSWER, GKV__MAYBE, GKV__THOUGHT } state;
    size_t                   at;        /* so many bytes of the next mark are there          */
    size_t                   spaces;
    bool                     line;      /* a newline came last                               */
};

/* begun: the prompt has begun a thought. */
void   gkv__think_begin(struct gkv__think *t, const struct gkv__marks *marks, bool begun);
/* The text of the next token.  How many of its bytes, at its end, are the answer's, or may be while the state is
 * GKV__MAYBE.  When the state becomes GKV__THOUGHT, earlier ones were not. */
size_t gkv__think_feed(struct gkv__think *t, const char *text, size_t n);

#endif
