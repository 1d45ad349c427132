/* SPDX-License-Identifier: BSD-2-Clause
 * schedule.h - schedules: in which order the first pass goes through tokens and layers, and what it
 * keeps.  Each is one file, one struct, and two lines in schedule.c.
 *
 * All compute or approximate the same scores at the filter layer: score[j] = sum over query heads h
 * of  q_h(n - 1) . k_{h / group}(j),  after RoPE, without softmax, in f32 (GemFilter, Algorithm 1); or
 * with the query of another row than n - 1.  Of the filter layer only the q and k projections are
 * used, and later layers are not touched. */
#ifndef GKV__SCHEDULE_H
#define GKV__SCHEDULE_H

#include "src/engine/pass.h"
#include "src/engine/sparse.h"
#include "src/first/task.h"

enum { GKV__SINKS = 4 };        /* first tokens, the attention sinks (StreamingLLM) */

/* What a schedule keeps for the next question about the same document: for the first n tokens, keys and
 * values (or states) of the early layers, and keys of the filter layer.  All zero: nothing yet. */
struct gkv__early {
    struct gkv__cache cache;
    float            *keys;             /* [slots][n_head_kv * head_dim]                     */
    float            *states;           /* of layers with a state, after n tokens; or NULL   */
    uint64_t          n_states;         /* floats of them                                    */
    uint64_t          slots, n;
    uint64_t          touched;          /* slots that have been written                      */
    uint32_t          filter, chunk;
    const struct gkv__rope *rope;       /* long prompts may use another table                */
};
uint64_t gkv__early_bytes(const struct gkv__task *t, uint64_t slots);
uint64_t gkv__early_size(const struct gkv__early *e);    /* resident bytes */
void     gkv__early_close(struct gkv__early *e);

/* A layer in front of the filter layer whose scores are wanted, too. */
struct gkv__also {
    uint32_t layer;
    float   *score;                     /* [t->n]                                            */
    double   after, took;               /* set: when its scoring began, and its seconds      */
};

/* One run of a schedule.  It uses the prompt's sizes, the filter layer, the row, and the fields about the
 * first pass of the task. */
struct gkv__first {
    const struct gkv__task  *t;
    struct gkv__early       *early;     /* of earlier questions, or NULL; the first ...      */
    size_t                   n_fixed;   /* ... n_fixed tokens are the same for all of them   */
    bool                     again;     /* the text is passages that refine.c chose          */
    const uint32_t          *id;        /* [t->n]                                            */
    float                   *score;     /* [t->n] the result                                 */
    struct gkv__also        *also;      /* n_also of them, in ascending order: for schedules of `many` */
    size_t                   n_also;
    double                  *density;   /* or NULL: the share of its blocks of keys that sparse attention took */
    bool                    *agreed;    /* of a group, or NULL: set when all ranks know of its error, and go on */
};

struct gkv__schedule {
    const char              *name, *summary;
    const struct gkv__param *params;    /* ends with a row without a name                    */
    bool                     exact, can_spill, any_row;
    bool                     reuses;    /* can keep what does not depend on the question     */
    bool                     indexed;   /* for prompts that have parts with an index         */
    bool                     splits;    /* over the processes of a group                     */
    bool                     many;      /* can score further layers in one process           */
    bool                     has_sparse; /* its attention can be sparse                       */
    const char              *kv_type;   /* where the user does not say                       */
    gkv_status             (*run)(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err);
    /* Tokens of the best passages that are read again after it (refine.h), t->n: instead of it.  NULL: none. */
    size_t                 (*again)(const struct gkv__task *t);
    /* Bytes that run allocates, with blocks of `chunk` rows and n_threads threads; and bytes of the
     * weights that are resident at its peak. */
    uint64_t               (*bytes)(const struct gkv__task *t, uint32_t chunk, unsigned n_threads);
    uint64_t               (*weights)(const gkv_model *m, uint32_t il);
};

/* "name" or "name:key=value,...".  GKV_INVALID: err says what would be valid. */
gkv_status gkv__schedule_parse(const char *spec, const struct gkv__schedule **out,
                               double param[GKV__MAX_PARAMS], gkv_error *err);
/* The i-th, fastest first, exact ones before the others; NULL after the last. */
const struct gkv__schedule *gkv__schedule_at(size_t i);

/* ---- what schedules have in common: schedule.c ------------------------------------------- */

/* q[n_head_kv * head_dim] = sum, for each KV head, of its query heads in row `row` of e->q.  These heads
 * meet the same key, so one dot product per KV head serves them all; and since KV heads lie side by
 * side, one dot product per token serves all KV heads. */
void gkv__fold_query(const struct gkv__exec *e, size_t row, float *q);
/* score[t] = k[t] . q  for k[n][n_head_kv * head_dim]. */
void gkv__score(struct gkv__exec *e, const float *k, size_t n, const float *q, float *score);

/* What sparse attention in a first pass needs.  If it is dense, that is nothing, and sp->threshold is 0. */
uint64_t   gkv__first_sparse_bytes(const struct gkv__task *t, unsigned n_threads);
gkv_status gkv__first_sparse_open(struct gkv__sparse *sp, const struct gkv__exec *e, const struct gkv__first *f,
                                  gkv_error *err);
/* Afterwards: the density for the caller. */
void       gkv__first_sparse_close(struct gkv__sparse *sp, const struct gkv__first *f);

/* Type of the keys and values that schedules store for attention alone, of what the user or the schedule chose.  simd:
 * of the computation; gkv__simd() to predict its memory. */
const struct gkv__quant *gkv__first_kv(const struct gkv__simd *simd, const struct gkv__task *t);

uint64_t gkv__weights_largest(const gkv_model *m, uint32_t il); /* embeddings + largest of 0 .. il */
uint64_t gkv__weights_early(const gkv_model *m, uint32_t il);   /* all that filter layer il needs */

#endif
