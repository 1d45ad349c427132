/* SPDX-License-Identifier: BSD-2-Clause
 * device.h - the second pass and decoding on a device: finds the plugin, uploads the model
 * while the first pass runs, and says why a device is not used.  gpu/plugin.h is the other side. */
#ifndef GKV__DEVICE_H
#define GKV__DEVICE_H

#include <stdatomic.h>
#include "src/engine/kv.h"
#include "src/model/model.h"

struct gkv__device;

struct gkv__device_use {
    const char *name;                   /* "cuda:0"                                          */
    const char *model;                  /* "NVIDIA H200"                                     */
    double      upload, waited;         /* seconds; waited: those after the first pass       */
    uint64_t    bytes;                  /* used of the device's memory                       */
    uint32_t    n_resident;             /* layers in the device's memory                     */
};

/* Valid: NULL, "auto", "cpu", or the name of a plugin, optionally with the number of a device: "cuda:1". */
gkv_status gkv__device_check(const char *name, gkv_error *err);

/* Begins to open the device and to upload, in the background.  Expected: n_tokens at once and n_positions in
 * all.  budget: bytes of device memory, 0: all that is free.  "auto" without a device sets *out to NULL and
 * says why in `why`.  A named device that is missing is GKV_DEVICE, and so is a model that the device does
 * not support. */
gkv_status gkv__device_open(struct gkv__device **out, const gkv_model *m, const char *name,
                            uint64_t budget, uint64_t n_tokens, uint64_t n_positions, char why[256],
                            gkv_error *err);
void       gkv__device_close(struct gkv__device *d);

/* Waits for the end of the upload and makes room for n_positions.  GKV_UNSUPPORTED: the device
 * refused the model before the upload.  After a failure of this or of gkv__device_forward the device
 * cannot be used any more. */
gkv_status gkv__device_ready(struct gkv__device *d, uint64_t n_positions, gkv_error *err);
/* The same, then copies the keys and values that a method's only pass left, for n_new tokens at positions next ...; the
 * RoPE tables are those of a pass over `span` positions.  cannot_take: what the device does not take over, or NULL. */
gkv_status  gkv__device_take(struct gkv__device *d, const struct gkv__cache *c, uint64_t next, uint64_t n_new,
                             uint64_t span, gkv_error *err);
const char *gkv__device_cannot_take(const gkv_model *m, const struct gkv__cache *c);

/* As in gpu/plugin.h.  n is at most gkv__device_block, rows at most one more than GKV__DRAFT_MOST. */
gkv_status gkv__device_forward(struct gkv__device *d, const uint32_t *id, size_t n, uint64_t pos, size_t rows,
                               float *logits, uint32_t *best, gkv_error *err);
size_t     gkv__device_block(const struct gkv__device *d);

void gkv__device_describe(const struct gkv__device *d, struct gkv__device_use *out);

#endif
