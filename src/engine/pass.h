/* SPDX-License-Identifier: BSD-2-Clause
 * pass.h - arguments that all layers of one pass share. */
#ifndef GKV__PASS_H
#define GKV__PASS_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"

struct gkv__pass;
struct gkv__sparse;                     /* sparse.h */
struct gkv__mtp;                        /* mtp.h */

/* For a method that still changes the cache while the answer is written. */
struct gkv__hook {
    uint64_t window;            /* a row attends to so many of the last slots; 0: to all     */
    /* Called after n rows, in slots slot .., have attended in layer il: e->q has their rotated queries,
     * e->att the outputs of attention, `sums` the maxima and sums of its softmax; view is the one in
     * effect. */
    void   (*attended)(struct gkv__hook *h, const struct gkv__pass *p, uint32_t il, size_t n,
                       uint64_t slot, const struct gkv__view *view);
    float   *sums;              /* [rows][n_head][2]                                         */
    void    *state;             /* the method's: gkv__pages of that many bytes               */
    uint64_t bytes;
};

struct gkv__pass {
    struct gkv__exec  *e;
    const gkv_model   *m;
    uint64_t           span;    /* positions of the pass, with its answer: chooses between the
                                   tables of RoPE angles (rope.h)                            */
    struct gkv__cache *c;       /* keys and values; may be NULL where no layer attends       */
    float             *sums;    /* [chunk][n_head][2] or NULL: attention stores here the maximum
                                   and the sum of each row's softmax, in base 2              */
    bool               alone;   /* a few rows, each of which attends as if it were the only one: the
                                   same bytes as in steps of one row                         */
    struct gkv__rewind *rewind; /* alone: keeps what is needed to take rows back, or NULL (state.h) */
    struct gkv__hook  *hook;    /* or NULL                                                   */
    struct gkv__mtp   *mtp;     /* gets the rows that gkv__forward computes, or NULL         */
    struct gkv__sparse *sparse; /* or NULL: attention is dense; else there are no sums and no hook */
};

/* Zeroed state of so many bytes in h; GKV_NOMEM. */
gkv_status gkv__hook_open(struct gkv__hook *h, uint64_t bytes, gkv_error *err);
void       gkv__hook_close(struct gkv__hook *h);

#endif
