/* SPDX-License-Identifier: BSD-2-Clause
 * decode.h - from what a method kept to the answer, token by token: prefill of the kept tokens, or a
 * cache that is there already; then decoding.  Both on a device if there is one, and on the CPU from
 * the beginning when it fails. */
#ifndef GKV__DECODE_H
#define GKV__DECODE_H

#include "src/answer/device.h"
#include "src/answer/sample.h"
#include "src/select/select.h"

struct gkv__decode {
    /* Given: */
    struct gkv__exec        *e;
    const gkv_model         *m;
    const struct gkv__quant *kv;        /* type of the cache                                 */
    uint64_t                 n_new;     /* tokens of the answer, at most                     */
    struct gkv__sampler      sampler;
    struct gkv__device      *device;    /* or NULL; closed here                              */
    char                     device_why[256];   /* why it is not used, or ""                 */
    char                     warning[256];      /* why it is not used any more, or ""        */
    /* Insides: */
    struct gkv__cache        cache;
    struct gkv__hook         hook;
    struct gkv__pass         p;
    uint32_t                *id;        /* [n_kept + n_new] tokens kept, then the answer's   */
    size_t                   n_kept;
    uint64_t                 n_done;    /* of these, gone through the model                  */
    uint64_t                 n_answer;
    uint64_t                 next;      /* position of the answer's first token              */
    float                   *x, *logits;        /* [n_embd], [n_vocab]                       */
    uint32_t                 best;      /* instead of logits, when they are not needed       */
    struct gkv__candidate   *candidates;
};

/* Begin an answer from what gkv__run left in c: its cache is taken over, or else the kept tokens go
 * through the whole model, as the stage that is named.  Afterwards the first token can be sampled. */
gkv_status gkv__decode_begin(struct gkv__decode *d, struct gkv__context *c, gkv_stage stage, gkv_error *err);
/* The next token into *id; GKV_END after n_new of them. */
gkv_status gkv__decode_next(struct gkv__decode *d, uint32_t *id, gkv_error *err);
/* It belongs to the answer. */
void       gkv__decode_append(struct gkv__decode *d, uint32_t id);
/* Forget the answer; the device and what was given stay. */
void       gkv__decode_end(struct gkv__decode *d);
void       gkv__decode_close(struct gkv__decode *d);

/* The device is not used after all, because of why: a line, or NULL. */
void       gkv__decode_on_cpu(struct gkv__decode *d, const char *why);

#endif
