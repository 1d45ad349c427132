/* SPDX-License-Identifier: BSD-2-Clause
 * product.cu - weights times activations: many tokens with cuBLAS, one token or a few with the kernels of
 * gemv.cuh. */
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/unpack.cuh"

/* ---- many tokens ------------------------------------------------------------------------ */

/* Rows first .. first + n_out - 1 of m. */
static int unpack_mat(device *d, const mat *m, uint32_t first, uint32_t n_out, half *to, char *error)
{
    const uint64_t n = (uint64_t)n_out * m->n_in, units = n / 32;
    const uint32_t from = first * (m->n_in / 32);

    if (is_dense(m->type))
        bf16_to_f16<<<(unsigned)((n + 255) / 256), 256, 0, d->stream>>>((const uint16_t *)m->w.p[0] +
                                                                        (uint64_t)first * m->n_in, n, to);
    else
        FOR_QUANTISED(m->type, (unpack<T><<<(unsigned)((units + 255) / 256), 256, 0, d->stream>>>(
            m->w, from, units, to)));
    CUDA(cudaGetLastError());
    return 0;
}

/* y[n][ld] (+)= factor * x W^T, for the rows of W that begin at w in form f, and the operands from row `at` on. */
static int gemm(device *d, const void *w, form f, uint32_t n_out, uint32_t n_in, float *y, uint32_t ld, uint32_t at,
                uint32_t n, float factor, bool add, char *error)
{
    static const cudaDataType_t type[N_FORMS] = { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF };
    const float beta = add ? 1 : 0;
    const uint8_t *x = (const uint8_t *)d->operand[f] + (size_t)at * n_in * (f == FORM_F32 ? 4 : 2);

    BLAS(cublasGemmEx(d->blas, CUBLAS_OP_T, CUBLAS_OP_N, (int)n_out, (int)n, (int)n_in, &factor, w, type[f],
                      (int)n_in, x, type[f], (int)n_in, &beta, y, CUDA_R_32F, (int)ld,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return 0;
}

int gkv__products_of(device *d, const mat *m, uint32_t first, uint32_t n_out, uint32_t at, uint32_t n, float *y,
                     uint32_t ld, bool shrunk, char *error)
{
    const form f = form_of_type(d, m->type);
    const void *w = m->w.p[0] + (size_t)first * m->n_in * (f == FORM_F32 ? 4 : 2);

    if (needs_unpacking(d, m->type)) {
        w = d->weights;
        TRY(unpack_mat(d, m, first, n_out, d->weights, error));
    }
    return gemm(d, w, f, n_out, m->n_in, y, ld, at, n, shrunk && f == FORM_F16 ? GATE_SHRINK : 1, false, error);
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
                TRY(unpack_mat(d, m[j], 0, m[j]->n_out, d->weights + (size_t)n_out * m[j]->n_in, error));
            else if (j > i && (m[j]->type != m[i]->type || m[j]->w.p[0] != m[j - 1]->w.p[0] +
                               m[j - 1]->n_blocks * (f == FORM_F32 ? 4 : 2)))
                break;
            n_out += m[j]->n_out;
        }
        TRY(gemm(d, w, f, n_out, m[i]->n_in, y, ld, 0, n,
                 shrunk && f == FORM_F16 ? factor * GATE_SHRINK : factor, add, error));
        y += n_out;
    }
    return 0;
}

/* ---- one token, or a few ---------------------------------------------------------------- */

/* Batches of the warp with the most work, of n warps, when `split` of them share a group. */
static uint32_t batches_of(uint32_t n_groups, uint32_t n_units, uint32_t n, uint32_t split, int batch)
{
    return blocks_for(n_groups, n / split) * blocks_for(units_of_warp(n_units, split), 32 * batch);
}

static bool by_heads(const gemv_args *g)
{
    return g->to == GEMV_HEADS || g->to == GEMV_QKV;
}

/* Blocks of each of n_y that run at a time. */
static int blocks_at_once(const device *d, void (*kernel)(gemv_args), size_t shared, uint32_t n_y, int *out, char *error)
{
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, kernel, GEMV_THREADS, shared));
    *out = *out * d->n_sm / (int)n_y;
    *out = *out ? *out : 1;
    return 0;
}

template <int T, int N> static void (*kernel_for(const gemv_args *g))(gemv_args)
{
    return by_heads(g) ? gemv<T, BY_HEADS, N> : gemv<T, BY_ROWS, N>;
}

/* Launches as many blocks as run at a time, if there is work for so many.  How many warps share a group is chosen as for one
 * token, so that a token's sums are the same whatever others there are. */
template <int T, int N> static int gemv_of(const device *d, gemv_args *g, uint32_t n_y, char *error)
{
    const uint32_t n_units = g->n_in / product<T>::PER;
    const size_t shared = N * gemv_row(T, g->n_in);
    void (*const kernel)(gemv_args) = g->expert ? gemv<T, BY_EXPERTS, 1> : kernel_for<T, N>(g);
    void (*const kernel_of_one)(gemv_args) = g->expert ? kernel : kernel_for<T, 1>(g);
    uint32_t least = UINT32_MAX, wanted;
    int at_once = 0;

    TRY(blocks_at_once(d, kernel_of_one, gemv_row(T, g->n_in), g->expert ? n_y / g->n : 1, &at_once, error));
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
    TRY(blocks_at_once(d, kernel, shared, n_y, &at_once, error));
    wanted = blocks_for(g->n_groups, GEMV_WARPS / g->split);
    return launch(d, kernel, dim3(wanted < (uint32_t)at_once ? wanted : (uint32_t)at_once, n_y), GEMV_THREADS, shared,
                  error, *g);
}

template <int T, int N = 1> static int gemv_few(const device *d, gemv_args *g, uint32_t n_y, char *error)
{
    if constexpr (N < MOST_TOKENS)
        if (g->n > N && !g->expert)
            return gemv_few<T, N + 1>(d, g, n_y, error);
    return gemv_of<T, N>(d, g, n_y, error);
}

static int gemv_any(const device *d, gemv_args *g, int type, uint32_t n_y, char *error)
{
    int code = 0;

    g->n_groups = g->to == GEMV_GLU ? g->seg[0].n_out : 0;
    for (int i = 0; i < MAX_SEGMENTS && g->to != GEMV_GLU; i++)
        g->n_groups += blocks_for(g->seg[i].n_out, ROWS);
    if (g->to != GEMV_GLU && !by_heads(g))
        g->seg[1] = g->seg[0];
    FOR_DENSE(type, code = gemv_few<T>(d, g, n_y, error));
    FOR_QUANTISED(type, code = gemv_few<T>(d, g, n_y, error));
    return code;
}

/* Tokens for whose rows shared memory has room: of wide dense matrices fewer than there may be. */
static uint32_t tokens_at_once(const device *d, int type, uint32_t n_in)
{
    const size_t most = (d->shared_max - SHARED_SPARE) / gemv_row(type, n_in);

    return most < 1 ? 1 : most < MOST_TOKENS ? (uint32_t)most : (uint32_t)MOST_TOKENS;
}

int gkv__gemvs(device *d, const mat *const *m, int n_mats, const gemv_args *all, float *y, const float *const *bias,
               char *error)
{
    const bool together = all->to == GEMV_GLU || by_heads(all);

    for (int i = 0, j; i < n_mats; i = j) {
        const uint32_t most = tokens_at_once(d, m[i]->type, m[i]->n_in);
        gemv_args g = *all;

        g.n_in = m[i]->n_in;
        g.eps = d->s.eps;
        for (j = i; j < n_mats && m[j]->type == m[i]->type && (together || j == i); j++) {
            g.seg[j - i] = { m[j]->w, m[j]->n_out, y, j, bias ? bias[j] : NULL, 0, 0 };
            y = y ? y + m[j]->n_out : NULL;
        }
        g.x_step = g.n_in;
        for (uint32_t token = 0; token < all->n; token += most) {
            gemv_args some = g;

            some.token = token;
            some.n = all->n - token < most ? all->n - token : most;
            some.first = i == 0 && token == 0;
            some.last = j == n_mats && token + some.n == all->n;
            TRY(gemv_any(d, &some, m[i]->type, 1, error));
        }
    }
    return 0;
}

int gkv__expert_gemv(device *d, const mat *m, const gemv_args *args, uint32_t n_y, char *error)
{
    gemv_args g = *args;

    g.n_in = m->n_in;
    g.eps = d->s.eps;
    g.first = g.last = true;
    return gemv_any(d, &g, m->type, n_y, error);
}

template <int T, int N = MOST_TOKENS> static int allow_type(const device *d, char *error)
{
    TRY(allow_shared(d, gemv<T, BY_ROWS, N>, error));
    TRY(allow_shared(d, gemv<T, BY_HEADS, N>, error));
    if constexpr (N > 1)
        return allow_type<T, N - 1>(d, error);
    return allow_shared(d, gemv<T, BY_EXPERTS, 1>, error);
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
