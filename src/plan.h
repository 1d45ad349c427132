/* SPDX-License-Identifier: BSD-2-Clause
 * plan.h - what a run will do and how much memory it takes, decided before any of it is touched.
 *
 *     options -> gkv__plan_options, gkv__plan_task -> gkv__plan_prompt -> gkv__plan_make
 *
 * Predictions are functions of plan.task, which gkv__run (run.h) is given too. */
#ifndef GKV__PLAN_H
#define GKV__PLAN_H

#include "simd/simd.h"
#include "src/select/select.h"

struct gkv__plan {
    struct gkv__task            task;
    /* Chosen by the caller: */
    const struct gkv__simd     *simd;
    const struct gkv__gemm     *gemm;
    unsigned                    n_threads;
    const struct gkv__schedule *asked;          /* by the user; NULL: plan_make chooses      */
    double                      asked_param[GKV__MAX_PARAMS];
    const char                 *kv_type;        /* from the user, or NULL                    */
    gkv_reading                *reading;        /* of the options; task.reading, if there is memory for it */
    uint32_t                    max_chunk;
    size_t                      rows;           /* of a step of decoding, at most            */
    bool                        mtp;            /* the model's own layer guesses             */
    bool                        grammar;        /* the answer is of one                      */
    uint64_t                    limit;          /* bytes                                     */
    bool                        select_only;    /* no second pass                            */
    bool                        repack;         /* pack weights once, if there is memory for it */
    bool                        device;         /* computes the second pass                  */
    bool                        often;          /* more questions will come: keep in memory what
                                                   does not depend on them                   */
    /* Set by plan_make, and task.schedule, .spill and .kv_first too: */
    enum gkv__kind              kind;
    char                        why[160];       /* reason for the schedule, for the user     */
    uint32_t                    chunk;          /* rows at a time, at most all there are or a step has */
    uint32_t                    n_repack;       /* layers that gkv__plan_open packs; 0: none is left, or no memory */
    uint64_t                    repack_bytes;   /* which takes, or would take, so many bytes more */
    uint64_t                    predicted;      /* peak resident bytes of the process        */
};

/* Options of any computation (kernels, threads, KV types, chunk, memory limit) into *p, or
 * GKV_INVALID. */
gkv_status gkv__plan_options(struct gkv__plan *p, const gkv_model *m, const gkv_options *o,
                             gkv_error *err);
/* Options about the task that do not depend on the prompt, into *p. */
gkv_status gkv__plan_task(struct gkv__plan *p, const gkv_model *m, const gkv_options *o, gkv_error *err);
/* Whether the layer of m that the options ask for can guess.  GKV_UNSUPPORTED: there is none; GKV_INVALID: not here. */
gkv_status gkv__plan_mtp(const struct gkv__plan *p, const gkv_model *m, const gkv_options *o, gkv_error *err);
/* Sizes of a prompt of n tokens, the last n_tail of them the question; n_tail 0: not known yet. */
void       gkv__plan_prompt(struct gkv__plan *p, const gkv_options *o, uint64_t n, size_t n_tail);
/* Tokens of a thought, at most; and of all that comes after the prompt: thought, marks and answer. */
uint64_t   gkv__plan_thought(const gkv_options *o);
uint64_t   gkv__plan_new(const gkv_model *m, const gkv_options *o);
/* Tokens that the options allow to keep of a prompt of n, which may be fewer. */
uint64_t   gkv__plan_budget(const gkv_options *o, uint64_t n);
/* GKV_OK if given is NULL or in the list `known`, which NULL ends; else GKV_INVALID with that list. */
gkv_status gkv__plan_name(const char *what, const char *given, const char *const *known,
                          gkv_error *err);

/* base: resident bytes now, with text and tokens.  Takes the largest chunk that fits.  If even the
 * smallest does not, GKV_LIMIT with the number of bytes that it would need (also in
 * p->predicted). */
gkv_status gkv__plan_make(struct gkv__plan *p, uint64_t base, gkv_error *err);
/* The same for eval.c: the whole model over n positions, with n_logits rows of logits.  */
gkv_status gkv__plan_eval(struct gkv__plan *p, uint64_t base, uint64_t n, uint64_t n_logits,
                          gkv_error *err);

/* *e for what was planned, with m's weights packed if that was planned. */
gkv_status gkv__plan_open(const struct gkv__plan *p, struct gkv__exec *e, const gkv_model *m, gkv_error *err);

/* Whether work of the first pass is kept for the next question. */
bool        gkv__plan_reuses(const struct gkv__plan *p);
/* Whether the prompt's keys and values in all layers are kept for the next one (answer/decode.h): those of methods
 * whose tokens do not depend on what the question says. */
bool        gkv__plan_keeps(const struct gkv__plan *p);
/* How the pass that selects goes through the prompt: "layer", "chunk", "stream". */
const char *gkv__plan_order(const struct gkv__plan *p);

#endif
