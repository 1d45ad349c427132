/* SPDX-License-Identifier: BSD-2-Clause
 * device.h - the second pass and decoding somewhere else: finds the plugin, uploads the model
 * beside the first pass, and says why not.  gpu/plugin.h is the other side. */
#ifndef GKV__DEVICE_H
#define GKV__DEVICE_H

#include <stdatomic.h>
#include "src/model/model.h"

struct gkv__device;

struct gkv__device_use {
    const char *name;                   /* "cuda:0"                                          */
    const char *model;                  /* "NVIDIA H200"                                     */
    double      upload, waited;         /* seconds of it, and those after the first pass     */
    uint64_t    bytes;                  /* of the device's memory                            */
    uint32_t    n_resident;             /* layers                                            */
};

/* NULL, "auto", "cpu", or the name of a plugin with, perhaps, the number of a device: "cuda:1". */
gkv_status gkv__device_check(const char *name, gkv_error *err);

/* Begin to open and to upload, in the background.  As far as is known, n_tokens will come at
 * once and n_positions in all; budget: bytes of device memory, 0: what is free.  "auto" without a device is
 * *out NULL, with a line that says why in why; a name without one is GKV_DEVICE, and so is what
 * the device does not support. */
gkv_status gkv__device_open(struct gkv__device **out, const gkv_model *m, const char *name,
                            uint64_t budget, uint64_t n_tokens, uint64_t n_positions, char why[256],
                            gkv_error *err);
void       gkv__device_close(struct gkv__device *d);

/* Wait for the end of the upload and make room for n_positions.  GKV_UNSUPPORTED: the device
 * turned the model down before that.  After a failure of this or of the next the device is of
 * no use any more. */
gkv_status gkv__device_ready(struct gkv__device *d, uint64_t n_positions, gkv_error *err);

/* As gpu/plugin.h says.  n is at most gkv__device_block. */
gkv_status gkv__device_forward(struct gkv__device *d, const uint32_t *id, size_t n, uint64_t pos,
                               float *logits, uint32_t *best, gkv_error *err);
size_t     gkv__device_block(const struct gkv__device *d);

void gkv__device_describe(const struct gkv__device *d, struct gkv__device_use *out);

#endif
