/* SPDX-License-Identifier: BSD-2-Clause
 * product.cu - weights times activations: many tokens with cuBLAS, one token with the kernels of
 * gemv.cuh. */
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/unpack.cuh"

/* ---- many tokens ------------------------------------------------------------------------ */

static int unpack_mat(device *d, const mat *m, half *to, char *error)
{
    const uint64_t n = (uint64_t)m->n_out * m->n_in, units = n / 32;

    if (is_dense(m->type))
        bf16_to_f16<<<(unsigned)((n + 255) / 256), 256, 0, d->stream>>>((const uint16_t *)m->w.p[0], n, to);
    else
        FOR_QUANTISED(m->type, (unpack<T><<<(unsigned)((units + 255) / 256), 256, 0, d->stream>>>(
            m->w, units, to)));
    CUDA(cudaGetLastError());
    return 0;
}

/* y[n][ld] (+)= factor * x W^T, for the rows of W that begin at w in form f. */
static int gemm(device *d, const void *w, form f, uint32_t n_out, uint32_t n_in, float *y, uint32_t ld,
                uint32_t n, float factor, bool add, char *error)
{
    static const cudaDataType_t type[N_FORMS] = { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF };
    const float beta = add ? 1 : 0;

    BLAS(cublasGemmEx(d->blas, CUBLAS_OP_T, CUBLAS_OP_N, (int)n_out, (int)n, (int)n_in, &factor, w, type[f],
                      (int)n_in, d->operand[f], type[f], (int)n_in, &beta, y, CUDA_R_32F, (int)ld,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return 0;
}

int gkv__products(device *d, const mat *const *m, int n_mats, float *y, uint32_t ld, uint32_t n, bool add, float factor,
                  bool shrunk, char *error)
{
    for (int i = 0, j; i < n_mats; i = j) {
        const form f = form_of_type(d, m[i]->type);
        const bool unpacking = needs_unpacking(d, m[i]->type);
        const void *w = unpacking ? (const void *)d->weights : m[i]->w.p[0];
        uint32_t n_out = 0;

        for (j = i; j < n_mats && needs_unpacking(d, m[j]->type) == unpacking; j++) {
            if (unpacking)
                TRY(unpack_mat(d, m[j], d->weights + (size_t)n_out * m[j]->n_in, error));
            else if (j > i && (m[j]->type != m[i]->type || m[j]->w.p[0] != m[j - 1]->w.p[0] +
                               m[j - 1]->n_blocks * (f == FORM_F32 ? 4 : 2)))
                break;
            n_out += m[j]->n_out;
        }
        TRY(gemm(d, w, f, n_out, m[i]->n_in, y, ld, n,
                 shrunk && f == FORM_F16 ? factor * GATE_SHRINK : factor, add, error));
        y += n_out;
    }
    return 0;
}

/* ---- one token -------------------------------------------------------------------------- */

/* Batches of the warp with the most work, of n warps, when `split` of them share a group. */
static uint32_t batches_of(uint32_t n_groups, uint32_t n_units, uint32_t n, uint32_t split, int batch)
{
    return blocks_for(n_groups, n / split) * blocks_for(units_of_warp(n_units, split), 32 * batch);
}

static bool by_heads(const gemv_args *g)
{
    return g->to == GEMV_HEADS || g->to == GEMV_QKV;
}

/* Launches as many blocks as run at a time, if there is work for so many. */
template <int T> static int gemv_of(const device *d, gemv_args *g, char *error)
{
    const uint32_t n_units = g->n_in / product<T>::PER;
    const size_t shared = gemv_row(T, g->n_in);
    void (*const kernel)(gemv_args) = by_heads(g) ? gemv<T, true> : gemv<T, false>;
    uint32_t least = UINT32_MAX, wanted;
    int at_once = 0;

    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, GEMV_THREADS, shared));
    at_once *= d->n_sm;
    for (uint32_t split = 1; split <= GEMV_WARPS && (split - 1) * units_of_warp(n_units, split) < n_units;
         split *= 2) {
        const uint32_t n = batches_of(g->n_groups, n_units, GEMV_WARPS * at_once, split, batch_of(T));

        if (split == 1 || 10 * (uint64_t)n < 9 * (uint64_t)least) {     /* adding sums takes time, too */
            least = n;
            g->split = split;
        }
    }
    g->share = units_of_warp(n_units, g->split);
    for (g->shift = 0; 1u << g->shift < g->split;)
        g->shift++;
    wanted = blocks_for(g->n_groups, GEMV_WARPS / g->split);
    return launch(d, kernel, wanted < (uint32_t)at_once ? wanted : (uint32_t)at_once, GEMV_THREADS, shared,
                  error, *g);
}

static int gemv_any(const device *d, gemv_args *g, int type, char *error)
{
    int code = 0;

    g->n_groups = g->to == GEMV_GLU ? g->seg[0].n_out : 0;
    for (int i = 0; i < MAX_SEGMENTS && g->to != GEMV_GLU; i++)
        g->n_groups += blocks_for(g->seg[i].n_out, ROWS);
    if (g->to != GEMV_GLU && !by_heads(g))
        g->seg[1] = g->seg[0];
    FOR_DENSE(type, code = gemv_of<T>(d, g, error));
    FOR_QUANTISED(type, code = gemv_of<T>(d, g, error));
    return code;
}

int gkv__gemvs(device *d, const mat *const *m, int n_mats, const gemv_args *all, float *y, const float *const *bias,
               char *error)
{
    const bool together = all->to == GEMV_GLU || by_heads(all);


    for (int i = 0, j; i < n_mats; i = j) {
        gemv_args g = *all;

        g.n_in = m[i]->n_in;
        g.eps = d->s.eps;
        for (j = i; j < n_mats && m[j]->type == m[i]->type && (together || j == i); j++) {
            g.seg[j - i] = { m[j]->w, m[j]->n_out, y, j, bias ? bias[j] : NULL };
            y = y ? y + m[j]->n_out : NULL;
        }
        g.first = i == 0;
        g.last = j == n_mats;
        TRY(gemv_any(d, &g, m[i]->type, error));
    }
    return 0;
}

template <int T> static int allow_type(const device *d, char *error)
{
    TRY(allow_shared(d, gemv<T, false>, error));
    return allow_shared(d, gemv<T, true>, error);
}

int gkv__allow_gemv(const device *d, char *error)
{
    int code = 0;

    for (int type = 0; !code && type < GKV__N_TYPES; type++) {
        FOR_DENSE(type, code = allow_type<T>(d, error));
        FOR_QUANTISED(type, code = allow_type<T>(d, error));
    }
    return code;
}
