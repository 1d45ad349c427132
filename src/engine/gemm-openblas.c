/* SPDX-License-Identifier: BSD-2-Clause
 * gemm-openblas.c - dense products through CBLAS, in f32. */
#include "config.h"
#include "src/engine/gemm-row.h"
#if HAVE_OPENBLAS
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Our threads call BLAS, so BLAS must not start its own: there would be too many, and the order of its
 * sums would depend on their number.  The function is looked up, not linked: any libblas.so.3 will do. */
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

static bool multiply(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                     unsigned thread)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct gkv__mat *w = j->w;
    float *rows = scratch;

    (void)thread;
    pthread_once(&once, single_thread);
    for (size_t i = 0; i < it->n; i++)
        j->e->simd->unpack[w->format->type](gkv__weights(w, it->col + i, it->k0), rows + i * it->k,
                                            it->k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)it->m, (int)it->n, (int)it->k, 1,
                j->x->x + it->row * w->n_in + it->k0, (int)w->n_in, rows, (int)it->k,
                j->add || it->k0 ? 1 : 0, j->y + it->row * w->n_out + it->col, (int)w->n_out);
    return true;
}

/* Old versions do not know new processors and use kernels for older ones: this says so. */
static void about(char *to, size_t size)
{
    void *p = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    const char *core = p ? ((char *(*)(void))p)() : NULL;
    const bool old = core && (!strcmp(core, "Haswell") || !strcmp(core, "Zen"));

    snprintf(to, size, "f32, %s%s%s", core ? "OpenBLAS core " : "a CBLAS other than OpenBLAS",
             core ? core : "", old && gkv__cpu_detect() & GKV__CPU_AVX512 ?
             ", without AVX-512, which this processor has: try OPENBLAS_CORETYPE=SkylakeX" : "");
}

const struct gkv__gemm gkv__gemm_openblas = {
    .name = "openblas", .multiply = multiply, .about = about
};
#else
const struct gkv__gemm gkv__gemm_openblas = { .name = "openblas" };
#endif
