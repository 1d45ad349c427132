/* SPDX-License-Identifier: BSD-2-Clause
 * calibrate.h - every layer of one prompt as the layer that selects: what GemFilter would keep
 * of it there, and how far FastKV would then be from the whole. */
#ifndef GKV__CALIBRATE_H
#define GKV__CALIBRATE_H

#include "src/engine/exec.h"
#include "src/engine/kv.h"
#include "src/base/pool.h"

struct gkv__calibrate {
    const gkv_model *m;
    const uint32_t  *id;                /* [n]                                               */
    size_t           n;
    size_t           from, to;          /* tokens that should be kept                        */
    size_t           k, kernel;         /* GemFilter's budget, and width of its average pool */
    size_t           window, tsp;       /* FastKV: last tokens that look, tokens that go on  */
    size_t           tsp_kernel;
    enum gkv__pool   tsp_pool;
    uint32_t         n_tsp;             /* layers 0 .. n_tsp - 1 are tried with it           */
};

/* What gkv__calibrate allocates. */
uint64_t gkv__calibrate_bytes(const struct gkv__calibrate *c);

/* out[n_layer] */
gkv_status gkv__calibrate(struct gkv__exec *e, const struct gkv__calibrate *c,
                          gkv_layer_probe *out, gkv_error *err);

#endif
