/* SPDX-License-Identifier: BSD-2-Clause
 * plan.h - what a run will do and how much memory that takes, before any of it is touched. */
#ifndef GKV__PLAN_H
#define GKV__PLAN_H

#include "simd/simd.h"
#include "src/model/model.h"
#include "src/first/schedule.h"
#include "src/select/select.h"

struct gkv__plan {
    /* Chosen by the caller: */
    const struct gkv__select *method;
    const double             *method_param;
    size_t                    keep_first, keep_last, n_tail;    /* as far as they are known  */
    int32_t                   layer;            /* as asked; -1: the model's                 */
    const struct gkv__simd   *simd;
    const struct gkv__gemm   *gemm;
    unsigned                  n_threads;
    uint32_t                  filter_layer;
    const struct gkv__schedule *asked;          /* NULL: plan_make chooses                   */
    double                    schedule_param[GKV__MAX_PARAMS];
    const char               *kv_type;          /* as asked, or NULL                         */
    const struct gkv__quant  *kv_second;
    uint32_t                  max_chunk, max_tokens;
    uint64_t                  limit;            /* bytes                                     */
    bool                      select_only;      /* no second pass                            */
    /* Filled in: */
    bool                      two_passes;
    bool                      inside;           /* the method acts inside of one pass        */
    const struct gkv__schedule *schedule;       /* of two passes                             */
    const struct gkv__quant  *kv_first;
    bool                      spill;
    char                      why[160];         /* this schedule, for people                 */
    uint32_t                  chunk;            /* rows at a time, no more than there are    */
    uint64_t                  predicted;        /* peak resident bytes of the process        */
};

/* The options that concern any computation (kernels, threads, KV types, chunk, memory limit)
 * into *p, or GKV_INVALID. */
gkv_status gkv__plan_options(struct gkv__plan *p, const gkv_model *m, const gkv_options *o,
                             gkv_error *err);
/* GKV_INVALID with the list, which NULL ends, unless given is NULL or in it. */
gkv_status gkv__plan_name(const char *what, const char *given, const char *const *known,
                          gkv_error *err);

/* n prompt tokens, n_kept of them in the second pass.  base: resident bytes now, text and
 * tokens included.  Takes the largest chunk that fits; when even the smallest does not,
 * GKV_LIMIT with the number of bytes that it would need (also in plan->predicted). */
gkv_status gkv__plan_make(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                          uint64_t n_kept, gkv_error *err);
/* The same for the whole model over n positions, with n_logits rows of logits (eval.c). */
gkv_status gkv__plan_eval(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                          uint64_t n_logits, gkv_error *err);

#endif
