/* SPDX-License-Identifier: BSD-2-Clause
 * group.h - what processes of a group (gkv_group) say to each other.  Rank 0 has the document and the question.  For each
 * first pass it sends an errand; the others, in gkv_group_help, run the same schedule with it, each on its blocks. */
#ifndef GKV__GROUP_H
#define GKV__GROUP_H

#include "src/first/schedule.h"

/* Whether a task is done by several processes. */
static inline bool gkv__grouped(const struct gkv__task *t)
{
    return t->group && t->group->size > 1;
}

/* How many processes share this machine. */
static inline uint32_t gkv__group_local(const gkv_group *g)
{
    return g && g->local ? g->local : 1;
}

/* What rank 0 sends; ids of its n tokens follow. */
struct gkv__errand {
    uint64_t n, n_tail, n_new, k;
    uint64_t fingerprint;               /* of the model                                      */
    uint32_t filter, chunk, row, again; /* chunk 0: there will be no more errands           */
    double   param[GKV__MAX_PARAMS];    /* of the schedule                                   */
    char     schedule[16], kv[8], level[16], gemm[16];
};

/* All ranks call the same of these in the same order.  They return GKV_CANCELLED when e is cancelled meanwhile, and GKV_IO
 * when the others cannot be reached; after either the group is of no use.  What they wait is added to e->waited. */
/* data of rank `root` goes to all. */
gkv_status gkv__group_cast(struct gkv__exec *e, const gkv_group *g, uint32_t root, void *data, size_t bytes,
                           gkv_error *err);
/* all[rank] = mine of that rank, `bytes` each; start returns at once, and what it was given must stay until wait. */
gkv_status gkv__group_start(const gkv_group *g, const void *mine, size_t bytes, void *all, gkv_error *err);
gkv_status gkv__group_wait(struct gkv__exec *e, const gkv_group *g, gkv_error *err);
/* GKV_OK if that is every rank's status; otherwise the first that is not, with the error of that rank, for all, and then
 * *agreed, unless agreed is NULL, becomes true. */
gkv_status gkv__group_agree(struct gkv__exec *e, const gkv_group *g, gkv_status status, bool *agreed, gkv_error *err);

/* Rank 0: tells the others about the first pass that it begins.  Others: nothing. */
gkv_status gkv__group_call(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err);

#endif
