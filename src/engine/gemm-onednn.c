/* SPDX-License-Identifier: BSD-2-Clause
 * gemm-onednn.c - dense products through oneDNN 2: in f32, except that bf16 weights are used as they
 * are where the processor multiplies bf16.
 *
 * oneDNN's fast kernels for AVX-512 want rows without gaps, so an item takes all inputs at once,
 * and its outputs go to scratch first.  Each shape of product needs a primitive, which takes
 * milliseconds to make; begin() makes the primitives that the items will need, and keeps them.
 *
 * oneDNN must not start threads inside ours, and its results must not depend on how many it
 * could start.  It takes that number from OpenMP when a primitive is made and, outside of
 * parallel regions, when it runs.  The number is each thread's own: the caller's is 1 between begin() and
 * end(), a helper's is set to 1 before each product. */
#include "config.h"
#include "src/engine/gemm-row.h"
#if HAVE_ONEDNN
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

enum { NC = 128, MC = 1024, KEPT = 64, ALIGN = 64 };

struct product {
    size_t           m, n, k;
    bool             bf16;
    uint64_t         used;              /* time of the last use; 0: never                    */
    dnnl_primitive_t primitive;         /* NULL: oneDNN has none, or one too large           */
};

struct library {
    dnnl_engine_t  engine;
    int            threads;             /* OpenMP's number before begin()                    */
    uint64_t       clock;
    struct product kept[KEPT];
    unsigned       n_threads;
    dnnl_stream_t  stream[];            /* [n_threads]                                       */
};

static uint64_t round_up(uint64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* On other processors oneDNN would emulate bf16, or have no kernel. */
static bool has_bf16(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
           dnnl_cpu_isa_avx512_core_bf16;
}

/* Sets OpenMP's number of threads to 1 and returns the old one.  The setting is the calling thread's own. */
static int hold_threads(void)
{
    int n = omp_get_max_threads();

    omp_set_num_threads(1);
    return n;
}

/* ---- primitives ------------------------------------------------------------------------- */

static dnnl_status_t matrix(dnnl_memory_desc_t *d, bool bf16, size_t rows, size_t cols,
                            size_t row_stride, size_t col_stride)
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)cols };
    const dnnl_dims_t strides = { (dnnl_dim_t)row_stride, (dnnl_dim_t)col_stride };

    return dnnl_memory_desc_init_by_strides(d, 2, dims, bf16 ? dnnl_bf16 : dnnl_f32, strides);
}

/* y[m, n] = x[m, k] w[n, k]^T.  The caller provides oneDNN's scratchpad.  NULL: oneDNN has no such product. */
static dnnl_primitive_desc_t describe(dnnl_engine_t engine, bool bf16, size_t m, size_t n, size_t k)
{
    dnnl_primitive_desc_t found = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_memory_desc_t x, w, y;
    dnnl_matmul_desc_t d;

    if (matrix(&x, bf16, m, k, k, 1) || matrix(&w, bf16, k, n, 1, k) || matrix(&y, false, m, n, n, 1) ||
        dnnl_matmul_desc_init(&d, &x, &w, NULL, &y) || dnnl_primitive_attr_create(&attr))
        return NULL;
    if (dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) ||
        dnnl_primitive_desc_create(&found, &d, attr, engine, NULL))
        found = NULL;
    dnnl_primitive_attr_destroy(attr);
    return found;
}

static uint64_t pad_bytes(const_dnnl_primitive_desc_t d)
{
    const dnnl_memory_desc_t *pad = dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0);

    return pad ? dnnl_memory_desc_get_size(pad) : 0;
}

/* Scratch holds y[m, n], then unpacked weights[n, k], then oneDNN's scratchpad. */
static uint64_t y_bytes(size_t m, size_t n)
{
    return round_up(m * n * sizeof(float));
}

static uint64_t w_bytes(bool bf16, size_t n, size_t k)
{
    return bf16 ? 0 : round_up(n * k * sizeof(float));
}

static dnnl_primitive_t make(const struct gkv__exec *e, bool bf16, size_t m, size_t n, size_t k)
{
    const struct library *lib = e->library;
    const uint64_t other = y_bytes(m, n) + w_bytes(bf16, n, k);
    dnnl_primitive_desc_t d = describe(lib->engine, bf16, m, n, k);
    dnnl_primitive_t p = NULL;

    if (d && (other + pad_bytes(d) > e->scratch_bytes || dnnl_primitive_create(&p, d)))
        p = NULL;
    if (d)
        dnnl_primitive_desc_destroy(d);
    return p;
}

static struct product *find(struct library *lib, bool bf16, size_t m, size_t n, size_t k)
{
    for (struct product *p = lib->kept; p < lib->kept + KEPT; p++)
        if (p->used && p->bf16 == bf16 && p->m == m && p->n == n && p->k == k)
            return p;
    return NULL;
}

/* Makes the primitive unless it is kept.  It replaces the least recently used one, which is never another
 * of the present product, since a product needs at most four. */
static void want(const struct gkv__job *j, size_t m, size_t n)
{
    struct library *lib = j->e->library;
    const bool bf16 = j->prepare;
    const size_t k = j->w->n_in;
    struct product *p = find(lib, bf16, m, n, k);

    if (!p) {
        p = lib->kept;
        for (size_t i = 1; i < KEPT; i++)
            p = lib->kept[i].used < p->used ? &lib->kept[i] : p;
        if (p->primitive)
            dnnl_primitive_destroy(p->primitive);
        *p = (struct product){ m, n, k, bf16, 0, make(j->e, bf16, m, n, k) };
    }
    p->used = ++lib->clock;
}

static void round_to_bf16(void *to, const float *x, size_t n)
{
    gkv__quant_of(GKV__TYPE_BF16)->from_f32(x, to, n);
}

static void begin(struct gkv__job *j)
{
    struct library *lib = j->e->library;
    const size_t n[2] = { gkv__min(NC, j->w->n_out), j->w->n_out % NC };
    const size_t m[2] = { gkv__min(MC, j->x->n), j->x->n % MC };

    if (j->few || !lib)
        return;
    if (j->w->format->type == GKV__TYPE_BF16 && has_bf16()) {
        j->prepare = round_to_bf16;
        j->x_bytes = j->w->n_in * sizeof(uint16_t);
    }
    lib->threads = hold_threads();
    for (size_t i = 0; i < 4; i++)
        if (m[i / 2] && n[i % 2])
            want(j, m[i / 2], n[i % 2]);
}

static void end(const struct gkv__job *j)
{
    const struct library *lib = j->e->library;

    if (!j->few && lib)
        omp_set_num_threads(lib->threads);
}

/* ---- products --------------------------------------------------------------------------- */

static bool run(const struct library *lib, unsigned thread, dnnl_primitive_t p, const void *x,
                const void *w, float *y, void *pad)
{
    static const int name[4] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD };
    static const dnnl_query_t form[4] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md,
                                          dnnl_query_scratchpad_md };
    void *const data[4] = { (void *)(uintptr_t)x, (void *)(uintptr_t)w, y, pad };
    const_dnnl_primitive_desc_t d;
    dnnl_exec_arg_t arg[4];
    bool good = !dnnl_primitive_get_primitive_desc(p, &d);
    int n = 0;

    for (; good && n < 4 - !pad_bytes(d); n++) {
        arg[n].arg = name[n];
        good = !dnnl_memory_create(&arg[n].memory, dnnl_primitive_desc_query_md(d, form[n], 0),
                                   lib->engine, data[n]);
        if (!good)
            break;
    }
    good = good && !dnnl_primitive_execute(p, lib->stream[thread], n, arg) &&
           !dnnl_stream_wait(lib->stream[thread]);
    while (n)
        dnnl_memory_destroy(arg[--n].memory);
    return good;
}

static bool multiply(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                     unsigned thread)
{
    struct library *lib = j->e->library;
    const struct gkv__mat *w = j->w;
    const bool bf16 = j->prepare;
    const struct product *p = lib ? find(lib, bf16, it->m, it->n, it->k) : NULL;
    float *sum = scratch, *rows = sum + y_bytes(it->m, it->n) / sizeof *sum;
    float *pad = rows + w_bytes(bf16, it->n, it->k) / sizeof *rows;
    const void *left = j->x->x + it->row * w->n_in, *right = rows;

    if (!p || !p->primitive)
        return false;
    omp_set_num_threads(1);
    if (bf16) {
        left = (const uint8_t *)j->x->form + it->row * j->x_bytes;
        right = gkv__weights(w, it->col, 0);
    } else {
        for (size_t i = 0; i < it->n; i++)
            j->e->simd->unpack[w->format->type](gkv__weights(w, it->col + i, 0), rows + i * it->k, it->k);
    }
    if (!run(lib, thread, p->primitive, left, right, sum, pad))
        return false;
    for (size_t r = 0; r < it->m; r++) {
        float *y = j->y + (it->row + r) * w->n_out + it->col;

        for (size_t o = 0; o < it->n; o++)
            y[o] = j->add ? y[o] + sum[r * it->n + o] : sum[r * it->n + o];
    }
    return true;
}

/* ---- the row of the table -------------------------------------------------------------- */

static void close_library(void *library)
{
    struct library *lib = library;

    if (!lib)
        return;
    for (size_t i = 0; i < KEPT; i++)
        if (lib->kept[i].primitive)
            dnnl_primitive_destroy(lib->kept[i].primitive);
    for (unsigned i = 0; i < lib->n_threads; i++)
        dnnl_stream_destroy(lib->stream[i]);
    dnnl_engine_destroy(lib->engine);
    free(lib);
}

static void *open_library(unsigned n_threads)
{
    struct library *lib = calloc(1, sizeof *lib + n_threads * sizeof *lib->stream);

    if (!lib)
        return NULL;
    if (dnnl_engine_create(&lib->engine, dnnl_cpu, 0)) {
        free(lib);
        return NULL;
    }
    for (; lib->n_threads < n_threads; lib->n_threads++)
        if (dnnl_stream_create(&lib->stream[lib->n_threads], lib->engine, dnnl_stream_default_flags)) {
            close_library(lib);
            return NULL;
        }
    return lib;
}

static uint64_t scratch_of(dnnl_engine_t engine, bool bf16, size_t k)
{
    dnnl_primitive_desc_t d = describe(engine, bf16, MC, NC, k);
    uint64_t bytes = d ? y_bytes(MC, NC) + w_bytes(bf16, NC, k) + pad_bytes(d) : 0;

    if (d)
        dnnl_primitive_desc_destroy(d);
    return bytes;
}

static uint64_t scratch(const struct gkv__shape *s)
{
    const size_t k[4] = { s->n_embd, (size_t)s->n_head * s->head_dim, s->n_ff, s->n_further ? 2 * s->n_embd : s->n_embd };
    const int threads = hold_threads(), kinds = has_bf16() ? 2 : 1;
    dnnl_engine_t engine;
    uint64_t most = 0;

    if (!dnnl_engine_create(&engine, dnnl_cpu, 0)) {
        for (size_t i = 0; i < 4; i++)
            for (int bf16 = 0; bf16 < kinds; bf16++) {
                uint64_t bytes = scratch_of(engine, bf16, k[i]);
                most = bytes > most ? bytes : most;
            }
        dnnl_engine_destroy(engine);
    }
    omp_set_num_threads(threads);
    return most;
}

static void about(char *to, size_t size)
{
    const dnnl_version_t *v = dnnl_version();

    snprintf(to, size, "oneDNN %d.%d.%d, f32%s", v->major, v->minor, v->patch,
             has_bf16() ? "; bf16 weights times activations rounded to bf16" : "");
}

/* resident: measured with version 2.6.3 on AVX2. */
const struct gkv__gemm gkv__gemm_onednn = {
    .name = "onednn", .multiply = multiply, .nc = NC, .mc = MC, .step = GKV__WHOLE, .begin = begin,
    .end = end, .open = open_library, .close = close_library, .scratch = scratch,
    .resident = 5 << 20, .about = about
};
#else
const struct gkv__gemm gkv__gemm_onednn = { .name = "onednn" };
#endif
