/* SPDX-License-Identifier: BSD-2-Clause
 * context.h - a run of a method: from the prompt to a cache that decoding starts from. */
#ifndef GKV__CONTEXT_H
#define GKV__CONTEXT_H

#include "src/engine/pass.h"
#include "src/first/task.h"

struct gkv__context {
    /* Given: */
    const struct gkv__task  *t;
    struct gkv__exec        *e;
    const uint32_t          *id;        /* [t->n]                                            */
    struct gkv__early       *early;     /* of earlier questions (schedule.h), or NULL; the first ... */
    size_t                   n_fixed;   /* ... n_fixed tokens are the same for all of them   */
    /* Called, unless NULL, with what each head of each layer holds in the end: tokens at[n]. */
    void                   (*holds)(void *arg, uint32_t il, uint32_t ih, const uint32_t *at, size_t n);
    void                    *holds_arg;
    /* Results: */
    struct gkv__cache        cache;     /* with room for the answer; closed by the caller    */
    struct gkv__hook         hook;      /* closed by the caller                              */
    float                   *x;         /* [n_embd] the last token's row after all layers    */
    uint64_t                 next;      /* position of the first token of the answer         */
    uint64_t                 span;      /* of the pass that decoding continues (pass.h)      */
    bool                     restart;   /* no cache: `kept` has to go through a second pass  */
    uint32_t                *kept;      /* [n] ascending: tokens kept, or kept by most heads */
    size_t                   n_kept;
    float                   *score;     /* [n] scores that decided                           */
    double                   spared;    /* seconds that a first pass took less than alone: first/reading.h */
    int32_t                  chosen;    /* layer that selected; -1: none                     */
};

#endif
