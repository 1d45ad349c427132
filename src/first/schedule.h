/* SPDX-License-Identifier: BSD-2-Clause
 * schedule.h - in which order the first pass meets tokens and layers, and what it keeps.  One
 * file, one struct, one line in schedule.c each (ALGORITHMS.md, section 7).
 *
 * All compute, or approximate, the same: score[j] = sum over query heads h of
 * q_h(n - 1) . k_{h / group}(j)  at the filter layer: rotated, raw, f32 (GemFilter, Algorithm 1), or for
 * another row than n - 1.  Layers from the filter layer on, but for its q and k projections, are never
 * touched. */
#ifndef GKV__SCHEDULE_H
#define GKV__SCHEDULE_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"
#include "src/base/param.h"

enum { GKV__SINKS = 4 };        /* first tokens, that attention rests on (StreamingLLM) */

/* Whose query scores the keys (GemFilter, appendix E.2, tries others than the last). */
enum gkv__row { GKV__ROW_LAST, GKV__ROW_MIDDLE, GKV__ROW_LARGEST };

struct gkv__first {
    const gkv_model         *m;
    uint32_t                 il;        /* filter layer                                      */
    const struct gkv__quant *kv;        /* type of keys and values of earlier layers         */
    const double            *param;     /* of the schedule                                   */
    bool                     spill;     /* hidden states go to a file (schedules that can)   */
    enum gkv__row            row;       /* other than the last: of schedules that can        */
    uint64_t                 n;         /* tokens of the prompt ...                          */
    size_t                   n_tail;    /* ... the last of them, the question; at least 1    */
    uint64_t                 n_kept;    /* how many of them will be kept                     */
    bool                     again;     /* they are passages that another schedule chose     */
    const uint32_t          *id;        /* [n]                                               */
    float                   *score;     /* [n] the result                                    */
};

struct gkv__schedule {
    const char              *name, *summary;
    const struct gkv__param *params;    /* ends with a row without a name                    */
    bool                     exact, can_spill, any_row;
    const char              *kv_type;   /* where the user does not say                       */
    gkv_status             (*run)(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err);
    /* What run allocates, with blocks of `chunk` rows and that many threads (id, n_tail and
     * score are not known yet); and the weights that are resident at its peak. */
    uint64_t               (*bytes)(const struct gkv__first *f, uint32_t chunk, unsigned n_threads);
    uint64_t               (*weights)(const gkv_model *m, uint32_t il);
};

/* "name" or "name:key=value,...".  GKV_INVALID names what would be right. */
gkv_status gkv__schedule_parse(const char *spec, const struct gkv__schedule **out,
                               double param[GKV__MAX_PARAMS], gkv_error *err);
/* The i-th, fastest first, exact ones before the others; NULL after the last. */
const struct gkv__schedule *gkv__schedule_at(size_t i);

/* ---- what schedules have in common: schedule.c ------------------------------------------- */

/* q[n_head_kv * head_dim]: the query heads of each group, of row `row` in e->q, added.  They
 * meet the same key, so one dot product per KV head does for all of them; and since KV heads
 * lie side by side, one per token. */
void gkv__fold_query(const struct gkv__exec *e, size_t row, float *q);
/* score[t] = k[t] . q  for k[n][n_head_kv * head_dim]. */
void gkv__score(struct gkv__exec *e, const float *k, size_t n, const float *q, float *score);

uint64_t gkv__weights_largest(const gkv_model *m, uint32_t il); /* of layers 0 .. il, one    */
uint64_t gkv__weights_early(const gkv_model *m, uint32_t il);   /* all that is touched       */

#endif
