/* SPDX-License-Identifier: BSD-2-Clause
 * repacked.h - weights that a model keeps a second time, in the form that products of many rows read (engine/repack.h
 * makes them).  They are added layer by layer and stay until the model is closed. */
#ifndef GKV__REPACKED_H
#define GKV__REPACKED_H

#include <pthread.h>
#include <stdatomic.h>
#include "src/model/model.h"

/* A matrix of the file, or `pieces` matrices of one size, one after the other: experts. */
struct gkv__repacked_mat {
    struct gkv__mat   one;              /* the first of them                                 */
    uint32_t          layer, pieces;
    uint64_t          bytes;            /* of a piece, packed: a multiple of 64              */
    _Atomic(uint8_t *) packed;          /* [pieces][bytes]; NULL: not yet                    */
};

/* What one form of products reads of all layers. */
struct gkv__repacked {
    const void               *form;     /* whose they are: see engine/repack.c               */
    const void               *of;
    size_t                    n;
    struct gkv__repacked_mat *mat;      /* by place in the file                              */
    struct { void *pages; uint64_t bytes; } *layer;     /* [n_layer]                         */
    struct gkv__repacked     *next;
};

struct gkv__store {
    pthread_mutex_t       lock;         /* for adding                                        */
    struct gkv__repacked *first;
};

struct gkv__store *gkv__store_open(void);       /* NULL: out of memory                       */
void               gkv__store_close(struct gkv__store *s, uint32_t n_layer);   /* s may be NULL */

/* w as it was packed, or NULL; any thread, also while layers are added. */
const uint8_t *gkv__repacked_find(const struct gkv__repacked *r, const struct gkv__mat *w);

#endif
