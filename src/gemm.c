/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.c - see gemm.h.  The only file that knows BLAS.
 *
 * A work item is NC outputs by MC rows.  It walks K in steps of KC; each step dequantises
 * NC x KC weights into panels that stay in the second-level cache, then runs over its rows.
 * A weight is thus dequantised once per MC rows, which costs a few percent of the arithmetic,
 * and no unpacked copy of the model ever exists. */
#include "config.h"
#include <math.h>
#include "src/gemm.h"
#include "src/thread.h"
#if HAVE_OPENBLAS
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#endif

enum {
    NC = 96,            /* a multiple of every level's nr                                    */
    KC = 512,           /* a multiple of every block; 96 * 512 * 4 = 192 KiB of panels       */
    MC = 1024,          /* rows per work item                                                */
    FEW = 6,            /* below this many rows, dot products: the weights are read anyway   */
    ROWS = 64,          /* outputs per work item of those                                    */
};

struct job {
    struct gkv__exec      *e;
    float                 *y;
    const float           *x;
    size_t                 n;
    const struct gkv__mat *w;
    bool                   add;
    size_t                 n_cols;      /* work items along n_out                            */
};

static inline size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

uint64_t gkv__gemm_scratch(const struct gkv__simd *simd)
{
#if HAVE_OPENBLAS
    (void)simd;
    return sizeof(float) * NC * KC;
#else
    return sizeof(float) * (NC + simd->nr) * KC;
#endif
}

const char *gkv__gemm_external(void)
{
#if HAVE_OPENBLAS
    return "gemm: openblas";
#else
    return NULL;
#endif
}

#if HAVE_OPENBLAS
/* Our threads call BLAS, so BLAS must not start its own: oversubscription, and sums whose
 * order depends on the number of threads.  Looked up, not linked: any libblas.so.3 will do. */
static void single_thread(void)
{
    static const char *const name[] = { "openblas_set_num_threads", "bli_thread_set_num_threads",
                                        "MKL_Set_Num_Threads" };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        void *p = dlsym(RTLD_DEFAULT, name[i]);
        if (p) {
            ((void (*)(int))p)(1);
            return;
        }
    }
}

static void multiply(const struct job *j, size_t col, size_t row, size_t n, size_t m, size_t k0,
                     size_t k, float *scratch)
{
    const struct gkv__mat *w = j->w;
    const uint8_t *p = w->data + col * gkv__mat_row_bytes(w) + k0 / w->format->block * w->format->bytes;

    for (size_t i = 0; i < n; i++, p += gkv__mat_row_bytes(w))
        j->e->simd->unpack[w->format->type](p, scratch + i * k, k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1,
                j->x + row * w->n_in + k0, (int)w->n_in, scratch, (int)k, j->add || k0 ? 1 : 0,
                j->y + row * w->n_out + col, (int)w->n_out);
}
#else
static void multiply(const struct job *j, size_t col, size_t row, size_t n, size_t m, size_t k0,
                     size_t k, float *scratch)
{
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__mat *w = j->w;
    const size_t nr = simd->nr, bytes = gkv__mat_row_bytes(w);
    const uint8_t *p = w->data + col * bytes + k0 / w->format->block * w->format->bytes;
    float *rows = scratch, *panels = scratch + nr * KC;

    for (size_t i = 0; i < n; i += nr) {
        size_t ni = min(nr, n - i);
        for (size_t r = 0; r < ni; r++)
            simd->unpack[w->format->type](p + (i + r) * bytes, rows + r * k, k);
        simd->pack(panels + i * k, rows, k, ni, k);
    }
    simd->gemm(j->y + row * w->n_out + col, w->n_out, j->x + row * w->n_in + k0, w->n_in, panels,
               m, n, k, j->add || k0);
}
#endif

static void block_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    size_t col = i % j->n_cols * NC, row = i / j->n_cols * MC;
    size_t n = min(NC, j->w->n_out - col), m = min(MC, j->n - row);

    for (size_t k0 = 0; k0 < j->w->n_in; k0 += KC)
        multiply(j, col, row, n, m, k0, min(KC, j->w->n_in - k0), gkv__scratch(j->e, thread));
}

static void dot_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__mat *w = j->w;
    gkv__dot_fn *dot = j->e->simd->dot[w->format->type];
    const size_t bytes = gkv__mat_row_bytes(w), end = min((i + 1) * ROWS, w->n_out);

    (void)thread;
    for (size_t o = i * ROWS; o < end; o++)
        for (size_t r = 0; r < j->n; r++) {
            float *y = j->y + r * w->n_out + o;
            float sum = dot(w->data + o * bytes, j->x + r * w->n_in, w->n_in);
            *y = j->add ? *y + sum : sum;
        }
}

void gkv__gemm(struct gkv__exec *e, float *y, const float *x, size_t n, const struct gkv__mat *w,
               bool add)
{
    struct job j = { e, y, x, n, w, add, (w->n_out + NC - 1) / NC };

    if (n < FEW) {
        gkv__for(e->n_threads, (w->n_out + ROWS - 1) / ROWS, dot_item, &j);
        return;
    }
#if HAVE_OPENBLAS
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, single_thread);
#endif
    gkv__for(e->n_threads, j.n_cols * ((n + MC - 1) / MC), block_item, &j);
}
