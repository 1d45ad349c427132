/* SPDX-License-Identifier: BSD-2-Clause
 * calibrate.h - tries every layer as the one that selects, on one prompt: what GemFilter would keep
 * there, and how far FastKV's hidden state would then be from that of the full pass. */
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
    size_t           k, kernel;         /* GemFilter's budget, width of its pooling          */
    size_t           window, tsp;       /* FastKV: tokens of the window, tokens that go on   */
    size_t           tsp_kernel;
    enum gkv__pool   tsp_pool;
    uint32_t         n_tsp;             /* FastKV is tried at layers 0 .. n_tsp - 1          */
};

/* What gkv__calibrate allocates. */
uint64_t gkv__calibrate_bytes(const struct gkv__calibrate *c);

/* out[n_layer] */
gkv_status gkv__calibrate(struct gkv__exec *e, const struct gkv__calibrate *c,
                          gkv_layer_probe *out, gkv_error *err);

#endif
