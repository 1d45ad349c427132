/* SPDX-License-Identifier: BSD-2-Clause
 * context.h - a prompt on its way to a cache from which an answer can be written. */
#ifndef GKV__CONTEXT_H
#define GKV__CONTEXT_H

#include "src/engine/pass.h"
#include "src/first/task.h"

struct gkv__context {
    /* Given: */
    const struct gkv__task  *t;
    struct gkv__exec        *e;
    const uint32_t          *id;        /* [t->n]                                            */
    struct gkv__early       *early;     /* of the questions before (schedule.h), or NULL; the first */
    size_t                   n_fixed;   /* n_fixed tokens are the same in all of them        */
    /* Told, unless NULL, what each head of each layer holds in the end: tokens at[n]. */
    void                   (*holds)(void *arg, uint32_t il, uint32_t ih, const uint32_t *at, size_t n);
    void                    *holds_arg;
    /* Results: */
    struct gkv__cache        cache;     /* with room for the answer; closed by the caller    */
    struct gkv__hook         hook;      /* likewise                                          */
    float                   *x;         /* [n_embd] the last token's row after all layers    */
    uint64_t                 next;      /* position of the first token of the answer         */
    uint64_t                 span;      /* of the pass that the answer goes on with (pass.h) */
    bool                     restart;   /* no cache: a second pass has to see `kept`         */
    uint32_t                *kept;      /* [n] ascending: tokens that were kept, or most of all */
    size_t                   n_kept;
    float                   *score;     /* [n] why                                           */
    int32_t                  chosen;    /* layer that decided, -1: none                      */
};

#endif
