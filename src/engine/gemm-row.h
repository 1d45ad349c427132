/* SPDX-License-Identifier: BSD-2-Clause
 * gemm-row.h - what gemm.c and the libraries behind it know of each other.  Each of these is a row,
 * a file of its own (but for ours) and a line in the table of gemm.c. */
#ifndef GKV__GEMM_ROW_H
#define GKV__GEMM_ROW_H

#include "src/engine/gemm.h"

/* A product under way. */
struct gkv__job {
    struct gkv__exec       *e;
    float                  *y;
    const struct gkv__rows *x;
    const struct gkv__mat  *w;
    bool                    add;
    bool                    few;                /* so few rows that nobody's multiply is asked */
    /* The form of activations that is read; NULL: f32, as they are. */
    void                  (*prepare)(void *to, const float *x, size_t n);
    size_t                  x_bytes;            /* of a row in it                            */
    const struct gkv__product *mul;             /* our kernels for it                        */
    size_t                  nc, mc, step;       /* outputs, rows and inputs of an item       */
};

/* y[row .. row + m, col .. col + n] (+)= x[the rows, k0 .. k0 + k] W[the outputs, the same]^T;
 * it adds when the job does, or when k0 is not the beginning. */
struct gkv__item { size_t col, n, row, m, k0, k; };

static inline const uint8_t *gkv__weights(const struct gkv__mat *w, size_t row, size_t k0)
{
    return w->data + row * gkv__mat_row_bytes(w) + k0 / w->format->block * w->format->bytes;
}

#define GKV__WHOLE SIZE_MAX     /* step: all inputs at once */

struct gkv__gemm {
    const char *name;
    /* One item.  Many threads at a time, each with its own scratch; none starts others.  False:
     * it could not, and y is as it was; then we do it.  NULL: not in this build. */
    bool      (*multiply)(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                          unsigned thread);
    /* The rest may be missing, or 0: as it is for ours. */
    size_t      nc, mc, step;           /* the items it likes                                */
    void      (*begin)(struct gkv__job *j);     /* one thread, before the items: fills the form */
    void      (*end)(const struct gkv__job *j); /* ... and after them                        */
    void     *(*open)(unsigned n_threads);      /* to exec.library; NULL: it has to do without */
    void      (*close)(void *library);
    uint64_t  (*scratch)(const struct gkv__shape *s);   /* bytes per thread                  */
    uint64_t    resident;               /* bytes of the library once used: seen, not computed */
    void      (*about)(char *to, size_t size);  /* one line for a person                     */
};

extern const struct gkv__gemm gkv__gemm_openblas, gkv__gemm_onednn;

#endif
