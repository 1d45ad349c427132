/* SPDX-License-Identifier: BSD-2-Clause
 * repack.h - packs weights once, so that products of many rows need not do it each time.  The same bytes come out. */
#ifndef GKV__REPACK_H
#define GKV__REPACK_H

#include "src/engine/exec.h"

/* Packs the matrices of layers 0 .. n - 1 that are not packed yet for e's products, and lets go of the file's pages of
 * them.  From then on e's products use them.  Others may compute with the model meanwhile.  GKV_CANCELLED; GKV_NOMEM: as
 * many layers as there was room for are packed. */
gkv_status gkv__repack(struct gkv__exec *e, const gkv_model *m, uint32_t n, gkv_error *err);

/* e's products use what is packed for them. */
void gkv__repack_use(struct gkv__exec *e, const gkv_model *m);

/* Bytes that gkv__repack adds. */
uint64_t gkv__repack_bytes(const struct gkv__gemm *g, const struct gkv__simd *simd, const gkv_model *m, uint32_t n);

/* Bytes of all that is packed. */
uint64_t gkv__repack_size(const gkv_model *m);

#endif
