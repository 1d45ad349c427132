/* SPDX-License-Identifier: BSD-2-Clause
 * moe.h - mixture of experts in place of the MLP. */
#ifndef GKV__MOE_H
#define GKV__MOE_H

#include "src/engine/gemm.h"

/* x[n][n_embd] += outputs of the chosen experts, and of the shared one if there is one, of layer il for the normalised rows h, whose form has
 * room in e->att. */
void gkv__experts(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x,
                  struct gkv__rows *h);

/* x[n][n_embd] += norm(norm(the MLP's output) + norm(the experts')), each for rows of x with a norm of its own. */
void gkv__experts_beside(struct gkv__exec *e, const gkv_model *m, uint32_t il, float *x, size_t n);

uint64_t gkv__experts_floats(const struct gkv__shape *s);       /* per row of exec.expert    */

#endif
