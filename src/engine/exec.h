/* SPDX-License-Identifier: BSD-2-Clause
 * exec.h - the resources of a computation: kernels, threads, scratch, and buffers for one
 * block of rows.  Everything is allocated once, in sizes that gkv__exec_bytes predicts. */
#ifndef GKV__EXEC_H
#define GKV__EXEC_H

#include <stdatomic.h>
#include "simd/simd.h"
#include "src/model/model.h"

struct gkv__gemm;
struct gkv__repacked;

struct gkv__exec {
    const struct gkv__simd  *simd;
    const struct gkv__gemm  *gemm;              /* library for matrix products               */
    void                    *library;           /* its state, or NULL                        */
    const struct gkv__repacked *repacked;       /* weights that need no packing, or NULL (repack.h) */
    const struct gkv__shape *shape;
    unsigned                 n_threads;
    uint32_t                 chunk;             /* rows at a time                            */
    uint64_t                 scratch_bytes;     /* of each thread                            */
    uint8_t                 *scratch;           /* [n_threads][scratch_bytes]                */
    uint64_t                 bytes;             /* of scratch and all buffers after it       */
    float                   *partial;           /* attention's, when it divides the keys     */
    /* One block of rows, [chunk][...]: */
    float *h;                                   /* n_embd: normalised input                  */
    float *q, *att;                             /* n_head * head_dim                         */
    float *k, *v;                               /* n_head_kv * head_dim                      */
    float *gate, *up;                           /* n_ff                                      */
    float *expert;                              /* moe.c says what is in it                  */
    float *state;                               /* state.c says what is in it                */
    /* up also has room for queries with their gates (layer.c). */
    /* att, gate and up also have room for prepared activations (gemm.h): of products that run
     * while these buffers are idle, so that no buffer is needed for that. */
    float *turn;                                /* n_rot: RoPE's cos, sin of each pair       */
    float *heat;                                /* 1: factor of the query, if shape.temper   */

    atomic_bool *cancel;                        /* set by the caller: stop soon              */
    /* Progress of the current stage, in multiply-adds. */
    void      (*progress)(void *arg, const gkv_progress *p);
    void       *progress_arg;
    gkv_stage   stage;
    uint64_t    stage_tokens;
    double      done, total, shown;             /* shown: time of the last call              */
    double      waited;                         /* seconds, for other processes              */
};

uint64_t   gkv__exec_bytes(const struct gkv__simd *simd, const struct gkv__gemm *gemm,
                           const struct gkv__shape *s, unsigned n_threads, uint32_t chunk);
gkv_status gkv__exec_open(struct gkv__exec *e, const struct gkv__simd *simd,
                          const struct gkv__gemm *gemm, const struct gkv__shape *s,
                          unsigned n_threads, uint32_t chunk, gkv_error *err);
void       gkv__exec_close(struct gkv__exec *e);

/* Work that one thread does alone beside others: thread i of gkv__for gets rows i * rows .. of each buffer, a multiple
 * of 16, and as partial the bytes that gkv__attend_partials says.  e has no library. */
void       gkv__exec_share(const struct gkv__exec *e, unsigned i, uint32_t rows, float *partial, struct gkv__exec *share);

static inline void *gkv__scratch(const struct gkv__exec *e, unsigned thread)
{
    return e->scratch + thread * e->scratch_bytes;
}

static inline bool gkv__cancelled(const struct gkv__exec *e)
{
    return e->cancel && atomic_load_explicit(e->cancel, memory_order_relaxed);
}

void gkv__stage(struct gkv__exec *e, gkv_stage stage, uint64_t tokens, double total);
void gkv__progress(struct gkv__exec *e, double work);

/* Multiply-adds of n tokens at positions pos .. in one layer: projections and causal attention. */
double gkv__layer_work(const struct gkv__shape *s, uint64_t pos, uint64_t n);

#endif
