/* SPDX-License-Identifier: BSD-2-Clause
 * index.h - what the early layers make of a document, whatever is asked about it later: computed once,
 * written to a file, mapped for each question.
 *
 * In a causal model the document comes before the question, so nothing of this depends on the question.
 * Two forms:
 *
 *   all      keys and values of every early layer and the filter layer's rotated keys, of whole chunks
 *            (struct gkv__early). A question computes its own rows behind them: the scores of schedule
 *            `chunk`, to the bit where the types and chunks are the same.
 *   compact  a bounded cache of each early layer (bounded.h), chosen by a guide that stands for all
 *            questions, and the filter layer's keys of every token (keys.h). A question computes its own
 *            rows behind the caches, scores the keys, and has the best passages computed again exactly.
 *
 * In a file, at an offset that is a multiple of GKV__INDEX_ALIGN:
 *
 *     head   then, each at a multiple of GKV__INDEX_ALIGN:   layer 0, 1, ...   keys
 *
 * Layers are laid out as struct gkv__cache has them: [K, V][n_head_kv][slots][head_dim], or the state at the end of
 * the tokens.  In form `all` there are more slots than tokens, holes in the file: room for the rows of a question. */
#ifndef GKV__INDEX_H
#define GKV__INDEX_H

#include "src/first/bounded.h"
#include "src/first/keys.h"
#include "src/first/schedule.h"

enum {
    GKV__INDEX_ALIGN = 4096,
    GKV__INDEX_LAYERS = 256,            /* early layers, at most                             */
};

struct gkv__grade {
    const char *name;                   /* "compact"                                         */
    bool        all;
    const char *kv, *keys;              /* tensor types                                      */
};
const struct gkv__grade *gkv__grade_named(const char *name);    /* NULL: unknown             */
const struct gkv__grade *gkv__grade_at(size_t i);               /* NULL after the last       */

/* Also the head in the file: only numbers of fixed size. */
struct gkv__index_head {
    char     grade[16];
    uint64_t n;                         /* tokens that it covers: the document's first       */
    uint64_t slots;                     /* of each cache                                     */
    uint64_t held;                      /* slots that are filled                             */
    uint64_t n_keys;                    /* rows of keys                                      */
    uint64_t long_rope;                 /* angles are those of GKV__ROPE_LONG                */
    uint32_t filter, chunk;
    uint32_t n_embd, n_head_kv, head_dim;
    uint32_t n_state;                   /* floats of a layer's state; 0: no layer has one    */
    uint64_t sum[GKV__INDEX_LAYERS + 2];        /* of each layer, of the keys, of this head   */
};

struct gkv__index {
    struct gkv__index_head   h;
    const gkv_model         *m;
    const struct gkv__grade *grade;
    int                      fd;        /* of the file, or -1: nothing to be mapped          */
    uint64_t                 at;        /* its offset in there                               */
};

/* Of a document of n tokens: compute, in memory of its own. */
struct gkv__index_work {
    struct gkv__index  index;
    struct gkv__cache  cache;
    struct gkv__keys   keys;
    uint64_t           key_slots;       /* rows that keys has room for                       */
};
/* The task that this is as a first pass: its memory and time are those of t->schedule.  guide[n_guide]
 * stands for the question, and is not used by grades with `all`. */
gkv_status gkv__index_make(struct gkv__index_work *w, struct gkv__exec *e, const struct gkv__grade *grade,
                           const struct gkv__task *t, const uint32_t *id, size_t n, const uint32_t *guide,
                           size_t n_guide, gkv_error *err);
void       gkv__index_work_close(struct gkv__index_work *w);
/* To fd at `at`.  GKV_IO with errno's text. */
gkv_status gkv__index_write(struct gkv__index_work *w, int fd, uint64_t at, gkv_error *err);

uint64_t   gkv__index_bytes(const struct gkv__index *x);        /* in the file, from `at` on */
uint64_t   gkv__index_stored(const struct gkv__index *x);       /* the same without holes    */
/* The index at offset at of fd, whose file has `size` bytes.  Reads all of it and checks it.  fd is
 * x's from then on.  GKV_FORMAT: "its index ..." */
gkv_status gkv__index_open(struct gkv__index *x, const gkv_model *m, int fd, uint64_t at, uint64_t size,
                           uint64_t n_tokens, gkv_error *err);
void       gkv__index_close(struct gkv__index *x);

/* What is mapped for one question.  Pages that it writes are its own. */
struct gkv__index_map {
    void             *base;
    uint64_t          bytes;
    struct gkv__cache cache;
    uint8_t          *keys;
};
gkv_status gkv__index_map(struct gkv__index_map *map, const struct gkv__index *x, gkv_error *err);
void       gkv__index_unmap(struct gkv__index_map *map);

/* A part of a prompt that has an index: tokens first .. first + n - 1 of it are tokens skip .. of what
 * was indexed; the first skip ones are those of the prompt itself. */
struct gkv__part {
    const struct gkv__index *index;
    uint64_t                 first, skip, n;
};

/* The bounded first pass that makes and asks compact indexes: its sizes. */
struct gkv__bounded gkv__index_bounded(const struct gkv__task *t, const struct gkv__grade *grade, size_t n,
                                       size_t n_q, size_t chunk);
/* Whether keys are scored at one distance, for a text of n tokens. */
bool gkv__index_common(const gkv_model *m, uint64_t n);

#endif
