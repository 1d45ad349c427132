/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.c - see gemm.h.  The only file that knows BLAS.
 *
 * A work item is NC outputs by MC rows.  It walks K in steps that keep one panel in the first-
 * and all in the second-level cache; each step packs its weights, then runs over its rows.  A
 * weight is thus unpacked once per MC rows, which costs a few percent of the arithmetic, and no
 * unpacked copy of the model ever exists. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "src/gemm.h"
#include "src/thread.h"
#if HAVE_OPENBLAS
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#endif

enum {
    NC = 96,            /* a multiple of every level's nr                                    */
    MC = 1024,          /* rows per work item                                                */
    PANEL = 32 << 10,   /* bytes of a panel at most                                          */
    BLOCK = 256,        /* steps of K are multiples of it, and it of every format's block    */
    FEW = 6,            /* below this many rows, dot products: the weights are read anyway   */
    ITEM = 512,         /* outputs per work item of those at most                            */
    FORM_MAX = 68,      /* bytes of 32 activations in the largest form: i16                  */
};

struct job {
    struct gkv__exec      *e;
    float                 *y;
    const struct gkv__rows *x;
    const struct gkv__mat *w;
    const struct gkv__product *mul;         /* NULL: f32                                         */
    bool                   add;
    size_t                 n_cols;      /* work items along n_out                            */
    size_t                 step;        /* of K                                              */
    size_t                 item;        /* outputs per work item of few rows                 */
};

struct gkv__gemm {
    const char *name;
    bool        integers;
    /* y[row .., col ..] (+)= x[m rows, k0 .. k0 + k] W[n outputs, the same]^T */
    void      (*multiply)(const struct job *j, size_t col, size_t row, size_t n, size_t m, size_t k0,
                          size_t k, void *scratch);
};

static inline size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t step_of(size_t nr, size_t bytes, size_t unit)
{
    size_t k = PANEL * unit / (nr * bytes) / BLOCK * BLOCK;

    return k ? k : BLOCK;
}

static const uint8_t *weights(const struct gkv__mat *w, size_t row, size_t k0)
{
    return w->data + row * gkv__mat_row_bytes(w) + k0 / w->format->block * w->format->bytes;
}

/* ---- who multiplies --------------------------------------------------------------------- */

static void multiply_own(const struct job *j, size_t col, size_t row, size_t n, size_t m, size_t k0,
                         size_t k, void *scratch)
{
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__mat *w = j->w;
    const struct gkv__product *mul = j->mul;
    const size_t bytes = gkv__mat_row_bytes(w);
    float *y = j->y + row * w->n_out + col;

    if (mul) {
        const size_t ldx = w->n_in / mul->unit * mul->x_bytes, units = k / mul->unit;
        uint8_t *panel = scratch;

        for (size_t i = 0; i < n; i += mul->nr, panel += mul->nr * units * mul->w_bytes)
            mul->pack(panel, weights(w, col + i, k0), bytes, min(mul->nr, n - i), k);
        mul->gemm(y, w->n_out, (const uint8_t *)j->x->form + row * ldx + k0 / mul->unit * mul->x_bytes,
                  ldx, scratch, m, n, k, j->add || k0);
    } else {
        const size_t nr = simd->nr;
        float *rows = scratch, *panels = rows + nr * k;

        for (size_t i = 0; i < n; i += nr) {
            for (size_t r = 0; r < min(nr, n - i); r++)
                simd->unpack[w->format->type](weights(w, col + i + r, k0), rows + r * k, k);
            simd->pack(panels + i * k, rows, k, min(nr, n - i), k);
        }
        simd->gemm(y, w->n_out, j->x->x + row * w->n_in + k0, w->n_in, panels, m, n, k, j->add || k0);
    }
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

static void multiply_openblas(const struct job *j, size_t col, size_t row, size_t n, size_t m,
                              size_t k0, size_t k, void *scratch)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct gkv__mat *w = j->w;
    float *rows = scratch;

    pthread_once(&once, single_thread);
    for (size_t i = 0; i < n; i++)
        j->e->simd->unpack[w->format->type](weights(w, col + i, k0), rows + i * k, k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1,
                j->x->x + row * w->n_in + k0, (int)w->n_in, rows, (int)k, j->add || k0 ? 1 : 0,
                j->y + row * w->n_out + col, (int)w->n_out);
}
#endif

static const struct gkv__gemm gemms[] = {
    { "own", true, multiply_own },
    { "exact", false, multiply_own },
#if HAVE_OPENBLAS
    { "openblas", false, multiply_openblas },
#endif
};
enum { N_GEMMS = sizeof gemms / sizeof *gemms };

const char *gkv__gemm_at(size_t i)
{
    return i < N_GEMMS ? gemms[i].name : NULL;
}

const struct gkv__gemm *gkv__gemm_named(const char *name)
{
    for (size_t i = 0; i < N_GEMMS; i++)
        if (!strcmp(name, gemms[i].name))
            return &gemms[i];
    return NULL;
}

/* ---- memory ----------------------------------------------------------------------------- */

uint64_t gkv__gemm_scratch(const struct gkv__simd *simd)
{
    uint64_t most = sizeof(float) * (NC + simd->nr) * step_of(simd->nr, sizeof(float), 1);

    for (size_t t = 0; t < GKV__N_TYPES; t++) {
        const struct gkv__product *mul = &simd->product[t];
        uint64_t bytes = mul->form ? (uint64_t)NC * mul->w_bytes / mul->unit *
                                     step_of(mul->nr, mul->w_bytes, mul->unit) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t gkv__gemm_form(size_t n_in)
{
    return (n_in + 31) / 32 * FORM_MAX / sizeof(float);
}

/* ---- work items ------------------------------------------------------------------------- */

static void block_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    size_t col = i % j->n_cols * NC, row = i / j->n_cols * MC;
    size_t n = min(NC, j->w->n_out - col), m = min(MC, j->x->n - row);

    for (size_t k0 = 0; k0 < j->w->n_in; k0 += j->step)
        j->e->gemm->multiply(j, col, row, n, m, k0, min(j->step, j->w->n_in - k0),
                             gkv__scratch(j->e, thread));
}

static void few_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const struct gkv__mat *w = j->w;
    const size_t bytes = gkv__mat_row_bytes(w), at = i * j->item;
    const size_t n = min(j->item, w->n_out - at);
    const uint8_t *rows = weights(w, at, 0);
    float sum[ITEM];

    (void)thread;
    for (size_t r = 0; r < j->x->n; r++) {
        float *y = j->y + r * w->n_out + at;

        if (j->mul)
            j->mul->gemv(sum, rows, bytes, n, (const uint8_t *)j->x->form +
                         r * (w->n_in / j->mul->unit * j->mul->x_bytes), w->n_in);
        else
            for (size_t o = 0; o < n; o++)
                sum[o] = j->e->simd->dot[w->format->type](rows + o * bytes, j->x->x + r * w->n_in,
                                                          w->n_in);
        for (size_t o = 0; o < n; o++)
            y[o] = j->add ? y[o] + sum[o] : sum[o];
    }
}

enum { PREPARE = 16 };          /* rows per work item */

static void prepare_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const size_t n_in = j->w->n_in, bytes = n_in / j->mul->unit * j->mul->x_bytes;

    (void)thread;
    for (size_t r = i * PREPARE; r < min((i + 1) * PREPARE, j->x->n); r++)
        j->mul->prepare((uint8_t *)j->x->form + r * bytes, j->x->x + r * n_in, n_in);
}

static size_t items(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

void gkv__gemm(struct gkv__exec *e, float *y, struct gkv__rows *x, const struct gkv__mat *w,
               bool add)
{
    const struct gkv__product *mul = &e->simd->product[w->format->type];
    struct job j = { .e = e, .y = y, .x = x, .w = w, .add = add, .n_cols = items(w->n_out, NC) };

    if (e->gemm->integers && mul->form && w->n_in % mul->unit == 0) {
        j.mul = mul;
        j.step = step_of(mul->nr, mul->w_bytes, mul->unit);
        if (x->have != mul->prepare)
            gkv__for(e->n_threads, items(x->n, PREPARE), prepare_item, &j);
        x->have = mul->prepare;
    } else {
        j.step = step_of(e->simd->nr, sizeof(float), 1);
    }
    if (x->n < FEW) {
        /* Two items per thread: a stream of weights from memory is slow to start. */
        j.item = min(ITEM, items(w->n_out, 2 * (size_t)e->n_threads));
        gkv__for(e->n_threads, items(w->n_out, j.item), few_item, &j);
    } else {
        gkv__for(e->n_threads, j.n_cols * items(x->n, MC), block_item, &j);
    }
}
