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

struct gkv__gemm;
struct gkv__simd;

/* The matrices of all layers, as one library with one level of kernels packs them. */
struct gkv__repacked {
    const struct gkv__gemm   *gemm;
    const struct gkv__simd   *simd;
    size_t                    n;
    struct gkv__repacked_mat *mat;      /* [n], by address                                   */
    struct { void *pages; uint64_t bytes; } *layer;     /* [n_layer]                         */
    struct gkv__repacked     *next;
};

struct gkv__store {
    pthread_mutex_t       lock;         /* of all but what gkv__repacked_find reads          */
    struct gkv__repacked *first;
};

struct gkv__store *gkv__store_open(void);       /* NULL: out of memory                       */
void               gkv__store_close(struct gkv__store *s, uint32_t n_layer);   /* s may be NULL */

/* w as it was packed, or NULL; any thread, also while layers are added. */
const uint8_t *gkv__repacked_find(const struct gkv__repacked *r, const struct gkv__mat *w);

#endif
