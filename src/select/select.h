/* SPDX-License-Identifier: BSD-2-Clause
 * select.h - methods: which tokens of the prompt the answer is decoded from.  Each is one file, one
 * struct, and two lines in select.c. */
#ifndef GKV__SELECT_H
#define GKV__SELECT_H

#include "src/first/schedule.h"
#include "src/select/context.h"

struct gkv__watch;                      /* sweep.h */

enum gkv__kind {
    GKV__KEEPS_ALL,                     /* the prompt as it is: no selection                 */
    GKV__PICKS,                         /* `pick` without scores, then a second pass         */
    GKV__SCORES,                        /* a first pass scores all tokens, `pick`, a second pass */
    GKV__SWEEPS,                        /* one pass, layer by layer, watched by `watch`      */
    GKV__RUNS,                          /* a pass of its own: `run`                          */
};

struct gkv__select {
    const char              *name, *summary;
    const struct gkv__param *params;    /* ends with a row without a name                    */
    enum gkv__kind           kind;
    bool                     words;     /* GKV__PICKS: it looks at t->words, and has score and spare */
    /* GKV__PICKS, GKV__SCORES: ascending indices of the tokens for the second pass into out[n]; returns
     * how many.  score[n]: of the first pass, may be refined; spare[n]: scratch.  row: whose query
     * scores; NULL: the last token's. */
    size_t                 (*pick)(const struct gkv__task *t, float *score, float *spare, uint32_t *out);
    enum gkv__row          (*row)(const double *param);
    const struct gkv__watch *watch;     /* GKV__SWEEPS                                      */
    bool                     restarts;  /* one pass: what was kept goes through a second one */
    /* GKV__RUNS: the whole pass over the prompt; and the bytes that it allocates, also for the cache that it
     * leaves, with blocks of `chunk` rows. */
    gkv_status             (*run)(struct gkv__context *c, gkv_error *err);
    uint64_t               (*bytes)(const struct gkv__task *t, uint32_t chunk);
    /* One pass: applies even if t->k has room for the whole prompt, because it has a budget of its own. */
    bool                     own_budget;
};

/* Parse "name" or "name:key=value,...".  GKV_INVALID: err says what would be valid. */
gkv_status gkv__select_parse(const char *spec, const struct gkv__select **out,
                             double param[GKV__MAX_PARAMS], gkv_error *err);

/* The kind of the method, or GKV__KEEPS_ALL if the budget has room for the whole prompt. */
enum gkv__kind gkv__task_kind(const struct gkv__task *t);

/* Runs the one pass of a method of kind GKV__SWEEPS or GKV__RUNS. */
gkv_status gkv__select_run(struct gkv__context *c, gkv_error *err);
uint64_t   gkv__select_bytes(const struct gkv__task *t, uint32_t chunk);

/* Number of sinks: as many as asked for, but at least keep_first and at most the budget. */
size_t gkv__sinks(const struct gkv__task *t, double asked);

#endif
