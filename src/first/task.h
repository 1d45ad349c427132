/* SPDX-License-Identifier: BSD-2-Clause
 * task.h - what a run is asked to do: the prompt's sizes, the method, the budget.  Every prediction
 * about a run (above all its memory) and the run itself take their input from this one struct. */
#ifndef GKV__TASK_H
#define GKV__TASK_H

#include "src/base/param.h"
#include "src/model/model.h"

struct gkv__select;                     /* src/select/select.h */
struct gkv__schedule;                   /* schedule.h */
struct gkv__part;                       /* index.h */
struct gkv__words;                      /* src/select/words.h */

/* The row whose query scores the keys (GemFilter, appendix E.2, tries others than the last). */
enum gkv__row { GKV__ROW_LAST, GKV__ROW_MIDDLE, GKV__ROW_LARGEST };

struct gkv__task {
    const gkv_model            *m;
    const struct gkv__select   *method;
    double                      param[GKV__MAX_PARAMS];         /* of the method             */
    enum gkv__row               row;            /* of the first pass                         */
    uint32_t                    refine;         /* the method's: tokens of the best passages that are read again, for
                                                   each token of the budget; 0: what the schedule does */
    int32_t                     layer;          /* from the user; -1: the model's            */
    uint32_t                    filter;         /* the filter layer: that one, resolved      */
    const struct gkv__schedule *schedule;       /* of the first pass                         */
    double                      schedule_param[GKV__MAX_PARAMS];
    bool                        spill;          /* hidden states go to a file                */
    double                      sparse;         /* threshold of its attention (sparse.h); 0: dense */
    const struct gkv__quant    *kv_first;       /* type of its keys and values               */
    const struct gkv__quant    *kv;             /* ... and of those of the answer            */
    const struct gkv__words    *words;          /* NULL unless the method asks for them      */
    const struct gkv__part     *part;           /* of the prompt that were indexed before    */
    size_t                      n_parts;
    uint64_t                    n;              /* tokens of the prompt ...                  */
    size_t                      n_tail;         /* ... the last of them, the question; >= 1  */
    uint64_t                    k;              /* budget: keep_first + keep_last <= k <= n  */
    uint64_t                    k_pick;         /* k, or more for a reader: tokens that `pick` keeps */
    size_t                      keep_first, keep_last;
    uint64_t                    n_new;          /* tokens of thought and answer, at most     */
    gkv_reading                *reading;        /* of first passes of other questions; or NULL */
    uint32_t                    deepest;        /* to that layer the first pass goes for those, >= filter */
    const gkv_group            *group;          /* processes that share the first pass; or NULL */
};

#endif
