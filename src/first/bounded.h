/* SPDX-License-Identifier: BSD-2-Clause
 * bounded.h - runs a text chunk by chunk through layers that each keep a bounded number of tokens,
 * those that the question attends to.  Memory does not grow with the text; time is linear in it.
 *
 *     for each chunk:  run  [warm-up | chunk | question]  behind the caches
 *         each layer keeps, of cache and chunk, the entries that the question's rows attend to
 *         most (or those of the chunk: guide), without gaps: key i is rotated to position i
 *
 * Corallo and Papotti, "FINCH: Prompt-guided Key-Value Cache Compression for Large Language
 * Models" (2024), section 3.  The warm-up is the end of the previous chunk, run again, so that
 * tokens after a chunk boundary still see the text just before it.
 *
 * A layer with a state needs no bound: it runs on exactly, from a copy of the state that it had before the
 * warm-up; the question's rows change another copy.
 *
 * Keys are stored before RoPE and rotated when a chunk needs them, so a key that stays for a
 * thousand chunks is rounded only once. */
#ifndef GKV__BOUNDED_H
#define GKV__BOUNDED_H

#include "src/engine/pass.h"

enum { GKV__MAX_QUESTION = 512 };       /* rows of the question that choose, at most: its last */

enum gkv__guide { GKV__BY_QUESTION, GKV__BY_TEXT, GKV__BY_BOTH };      /* text: of the chunk */

struct gkv__bounded {
    /* Given: */
    const gkv_model         *m;
    uint32_t                 n_layer;   /* layers 0 .. n_layer - 1                           */
    const struct gkv__quant *kv;        /* type of the keys and values kept                  */
    size_t                   budget;    /* entries of each, at most                          */
    size_t                   sinks, recent;     /* first tokens, last of a chunk: always kept */
    size_t                   warm, max_rows;    /* tokens run again; most rows of a step     */
    size_t                   n_q;       /* rows of the question, at most e->chunk            */
    enum gkv__guide          guide;     /* whose rows choose                                 */
    bool                     rising;    /* later rows weigh more, as they see more (FINCH)   */
    bool                     per_head;  /* each KV head chooses for itself                   */
    bool                     origins;   /* also record which tokens are kept                 */
    uint64_t                 span;      /* positions of all steps (pass.h)                   */
    const uint32_t          *id;        /* the text ...                                      */
    const uint32_t          *question;  /* ... and [n_q]                                     */
    /* Results: */
    size_t                   held;      /* entries of each layer                             */
    float                   *x;         /* rows of the last step after the last layer        */
    size_t                   n_warm;    /* the first rows of x, run again                    */
    uint32_t                *origin;    /* [n_layer][n_head_kv or 1][budget]                 */
    /* Insides: */
    struct gkv__pass         p;         /* whose cache is work                               */
    struct gkv__exec        *e;
    const struct gkv__shape *s;         /* of the current layer                              */
    struct gkv__cache        store;     /* keys before RoPE                                  */
    struct gkv__cache        work;      /* one layer: store, rotated, and the rows behind it */
    float                   *received;  /* [n_head][budget + max_rows]                       */
    float                   *weight;    /* [max_rows]                                        */
    uint32_t                *keep;      /* [n_head_kv][budget]                               */
    uint32_t                *row_id;    /* [max_rows] tokens of x                            */
    size_t                   n_new, n_rows, first, count;
    uint32_t                 il;
};

uint64_t   gkv__bounded_bytes(const struct gkv__bounded *b, uint64_t n);
gkv_status gkv__bounded_open(struct gkv__bounded *b, struct gkv__exec *e, gkv_error *err);
void       gkv__bounded_close(struct gkv__bounded *b);

/* The state that layer il has at the end of the text so far, for a bounded pass that begins in the middle. */
void       gkv__bounded_begin(struct gkv__bounded *b, uint32_t il, const float *state);

/* Runs tokens at .. at + n - 1 of the text, and the question; afterwards each layer holds its best
 * `keep` entries.  n = 0: the question alone, which changes no cache.  GKV_CANCELLED: err has no text. */
gkv_status gkv__bounded_step(struct gkv__bounded *b, size_t at, size_t n, size_t keep, gkv_error *err);
/* Multiply-adds of one such step behind `held` entries, for progress. */
double     gkv__bounded_work(const struct gkv__bounded *b, size_t held, size_t at, size_t n);

/* Copies what the layers hold to a cache, at positions 0 .. held - 1. */
void       gkv__bounded_deliver(struct gkv__bounded *b, struct gkv__cache *to);

#endif
