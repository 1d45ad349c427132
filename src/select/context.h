/* SPDX-License-Identifier: BSD-2-Clause
 * context.h - a prompt on its way to a cache from which an answer can be written. */
#ifndef GKV__CONTEXT_H
#define GKV__CONTEXT_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"

struct gkv__context {
    /* Given: */
    const gkv_model         *m;
    const double            *param;     /* of the method                                     */
    int32_t                  layer;     /* that the user asked for; -1: none                 */
    const struct gkv__quant *kv;        /* type of the cache                                 */
    uint64_t                 n;         /* tokens of the prompt ...                          */
    size_t                   n_tail;    /* ... the last of them, the question; at least 1    */
    uint64_t                 k;         /* budget, keep_first + keep_last <= k               */
    size_t                   keep_first, keep_last;
    uint64_t                 n_new;     /* tokens of the answer, at most                     */
    struct gkv__exec        *e;         /* NULL: bytes are asked for                         */
    const uint32_t          *id;        /* [n]                                               */
    /* Told, unless NULL, what each head of each layer holds in the end: tokens at[n]. */
    void                   (*holds)(void *arg, uint32_t il, uint32_t ih, const uint32_t *at, size_t n);
    void                    *holds_arg;
    /* Results: */
    struct gkv__cache        cache;     /* with room for the answer; closed by the caller    */
    float                   *x;         /* [n_embd] the last token's row after all layers    */
    uint64_t                 next;      /* position of the first token of the answer         */
    bool                     restart;   /* no cache: a second pass has to see `kept`         */
    uint32_t                *kept;      /* [n] ascending: tokens that were kept, or most of all */
    size_t                   n_kept;
    float                   *score;     /* [n] why                                           */
    int32_t                  chosen;    /* layer that decided, -1: none                      */
};

#endif
