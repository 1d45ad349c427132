/* SPDX-License-Identifier: BSD-2-Clause
 * gemm-row.h - the interface between gemm.c and the libraries that it can use.  Each library is one
 * struct gkv__gemm in a file of its own (our own one is in gemm.c) and a line in the table of gemm.c. */
#ifndef GKV__GEMM_ROW_H
#define GKV__GEMM_ROW_H

#include "src/engine/gemm.h"

/* A product in progress. */
struct gkv__job {
    struct gkv__exec       *e;
    float                  *y;
    const struct gkv__rows *x;
    const struct gkv__mat  *w;
    bool                    add;
    bool                    few;                /* few rows: never given to a library        */
    /* Converts a row of activations to the form that the product reads; NULL: it reads f32. */
    void                  (*prepare)(void *to, const float *x, size_t n);
    size_t                  x_bytes;            /* of a row in that form                     */
    const struct gkv__product *mul;             /* our kernels for that form                 */
    const struct gkv__many *many;               /* not NULL: instead of prepare and mul      */
    const uint8_t          *packed;             /* all of w, packed for mul or many, or NULL */
    size_t                  nc, mc, step;       /* outputs, rows and inputs of an item       */
    size_t                  part_nc, part_mc;   /* and of a part of it                       */
};

/* y[row .. row + m, col .. col + n] (+)= x[the rows, k0 .. k0 + k] W[the outputs, the same]^T.
 * The item adds to y if the job does, or if k0 > 0. */
struct gkv__item { size_t col, n, row, m, k0, k; };

static inline const uint8_t *gkv__weights(const struct gkv__mat *w, size_t row, size_t k0)
{
    return w->data + row * gkv__mat_row_bytes(w) + k0 / w->format->block * w->format->bytes;
}

/* Our kernels for a product; both NULL: those in f32. */
struct gkv__form { const struct gkv__product *mul; const struct gkv__many *many; };

#define GKV__WHOLE SIZE_MAX     /* step: all inputs at once */

struct gkv__gemm {
    const char *name;
    /* Computes one item.  Called by many threads at a time, each with its own scratch; it starts no
     * threads.  False: it could not, and y is unchanged; then our own kernels compute the item.
     * NULL: the library is not in this build. */
    bool      (*multiply)(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                          unsigned thread);
    /* All below may be NULL or 0, as most are in our own row. */
    size_t      nc, mc, step;           /* preferred size of items                           */
    /* Which of our kernels multiply so many rows by w; NULL: the library has kernels of its own. */
    struct gkv__form (*form)(const struct gkv__simd *simd, const struct gkv__mat *w, size_t rows);
    void      (*begin)(struct gkv__job *j);     /* called once before the items; sets prepare ... */
    void      (*end)(const struct gkv__job *j); /* ... and once after them                   */
    void     *(*open)(unsigned n_threads);      /* sets exec.library; NULL: works without    */
    void      (*close)(void *library);
    uint64_t  (*scratch)(const struct gkv__shape *s);   /* bytes per thread                  */
    uint64_t    resident;               /* bytes of the library once used: measured, not computed */
    void      (*about)(char *to, size_t size);  /* one line for the user                     */
};

extern const struct gkv__gemm gkv__gemm_openblas, gkv__gemm_onednn;

#endif
