/* SPDX-License-Identifier: BSD-2-Clause
 * arch.h - architectures: one file and one row each.  An architecture says which keys and
 * tensors of the file make up the shared layer of layer.c; it computes nothing. */
#ifndef GKV__ARCH_H
#define GKV__ARCH_H

#include "src/model.h"

struct gkv__arch {
    const char          *name;          /* general.architecture, and prefix of its keys      */
    enum gkv__rope_pairs pairs;
    /* Read keys into m->shape, bind tensors by name and shape.  Refuse what is not covered. */
    gkv_status (*bind)(struct gkv_model *m, gkv_error *err);
};

const struct gkv__arch *gkv__arch_named(const char *name, size_t len);

/* ---- for the bind functions: keys are given without the "name." prefix ------------------ */
gkv_status gkv__arch_u32(const struct gkv_model *m, const char *key, uint32_t *out, bool required,
                         gkv_error *err);
gkv_status gkv__arch_f32(const struct gkv_model *m, const char *key, float *out, bool required,
                         gkv_error *err);
gkv_status gkv__arch_str(const struct gkv_model *m, const char *key, struct gkv__str *out,
                         gkv_error *err);

/* The common decoder keys (block_count ... rope.*) into m->shape, with their ranges checked. */
gkv_status gkv__arch_shape(struct gkv_model *m, gkv_error *err);

/* Tensor name (printf-like, layer number inside) as a matrix [n_out, n_in] of any format that
 * gemkv computes with, or as n f32 values.  GKV_FORMAT when missing or of another shape. */
gkv_status gkv__arch_mat(const struct gkv_model *m, const char *name, uint32_t n_out,
                         uint32_t n_in, struct gkv__mat *out, gkv_error *err);
gkv_status gkv__arch_vec(const struct gkv_model *m, const char *name, uint32_t n,
                         const float **out, gkv_error *err);
bool       gkv__arch_has(const struct gkv_model *m, const char *name);

#endif
