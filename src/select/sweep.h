/* SPDX-License-Identifier: BSD-2-Clause
 * sweep.h - one pass over the whole prompt, layer by layer.  After each layer the method's `watch`
 * says what the layer's cache keeps, per KV head, and which tokens go on to the next layer.
 *
 * The residual stream of all tokens is in memory, but the full keys and values of one layer only; so
 * memory grows with depth only by what is kept. */
#ifndef GKV__SWEEP_H
#define GKV__SWEEP_H

#include "src/select/context.h"

struct gkv__sweep {
    struct gkv__context *c;
    uint32_t             il;            /* the layer just computed                           */
    size_t               n;             /* tokens in it ...                                  */
    uint32_t            *at;            /* [n] ... their positions, ascending                */
    float               *received;      /* [n_head][stride] attention sums of watched rows     */
    float               *sums;          /* [chunk][n_head][2] softmax of watched rows (pass.h) */
    size_t               stride;
    float               *score, *spare; /* [n] scratch; if raw, score has raw scores         */
    void                *state;         /* the method's own                                  */
    /* Set by the method; 0 before:               */
    uint32_t            *keep;          /* [heads][stride] ascending indices of the n tokens */
    size_t               n_keep;        /* of each head; 0: all                              */
    uint32_t            *go;            /* [n_go] ascending: tokens that go on               */
    size_t               n_go;          /* 0: all                                            */
    bool                 stop;          /* no more layers: c->kept is known                  */
    /* Insides: */
    struct gkv__cache    work;
    struct gkv__pass     p;             /* whose cache is work                               */
    float               *x, *weight, *q;
    uint32_t            *votes;
};

struct gkv__watch {
    /* Heads of the resulting cache, a multiple of n_head_kv; NULL: n_head_kv. */
    uint32_t (*heads)(const struct gkv__task *t);
    /* How many of the last of n tokens are watched in layer il, which fills `received`; NULL: none. */
    size_t   (*rows)(const struct gkv__task *t, uint32_t il, size_t n);
    /* Weight of the i-th watched row; NULL: 1. */
    float    (*weight)(const struct gkv__task *t, size_t i, size_t rows);
    /* Whether layer il fills `score` with raw scores: q . k of the last row, as in schedule.h. */
    bool     (*raw)(const struct gkv__task *t, uint32_t il);
    gkv_status (*check)(const struct gkv__task *t, gkv_error *err);     /* NULL: all is well */
    gkv_status (*begin)(struct gkv__sweep *s, gkv_error *err);  /* NULL: nothing to do       */
    gkv_status (*layer)(struct gkv__sweep *s, gkv_error *err);  /* after each layer          */
    void       (*end)(struct gkv__sweep *s);    /* after the last; NULL: nothing to do       */
    /* Most entries that layer il keeps in the end; most entries while layers after it are not computed
     * yet (NULL: the same); bytes of state. */
    uint64_t (*room)(const struct gkv__task *t, uint32_t il);
    uint64_t (*before)(const struct gkv__task *t, uint32_t il);
    uint64_t (*state_bytes)(const struct gkv__task *t);
    uint64_t (*hook_bytes)(const struct gkv__task *t);       /* of the hook's state       */
};

gkv_status gkv__sweep(struct gkv__context *c, const struct gkv__watch *w, gkv_error *err);
uint64_t   gkv__sweep_bytes(const struct gkv__task *t, const struct gkv__watch *w, uint32_t chunk);

/* Layer il < s->il, which kept everything, now keeps only keep[n], the same tokens in all heads. */
gkv_status gkv__sweep_cut(struct gkv__sweep *s, uint32_t il, const uint32_t *keep, size_t n,
                          gkv_error *err);

/* ---- what SnapKV, FastKV and ASL share: the scores of an observation window ---------------- */

/* Whether budget has room for the window and all that is always kept, and the prompt for the window. */
gkv_status gkv__window_fits(const struct gkv__task *t, size_t window, uint64_t budget,
                            gkv_error *err);
/* Pools what keys received from each query head; called once per layer, before the functions below. */
void gkv__window_pool(struct gkv__sweep *s, size_t window, size_t kernel, int pool);
/* score[s->n - window] = what the tokens before the window received from query heads h .. h + n - 1. */
void gkv__window_score(struct gkv__sweep *s, size_t window, size_t h, size_t n);
/* Each head of the result keeps the window and the best others, `budget` together (Li et al. 2024). */
void gkv__window_keep(struct gkv__sweep *s, size_t window, size_t budget);
/* The best tokens by score, and the window: writes indices to out, returns their number. */
size_t gkv__window_best(struct gkv__sweep *s, size_t window, size_t budget, uint32_t *out);

#endif
