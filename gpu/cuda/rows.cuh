/* SPDX-License-Identifier: BSD-2-Clause
 * rows.cuh - row-wise operations around the products: embedding, norms, the gate, the best
 * token. */
#ifndef ROWS_CUH
#define ROWS_CUH

#include "gpu/cuda/form.cuh"

/* x[n][n_part] = scale times elements at .. at + n_part - 1 of rows id[n], which have n_embd; blockIdx.y is the row. */
template <int T> __global__ void embed_dense(planes w, const uint32_t *id, float *x, uint32_t n_embd, uint32_t at,
                                             uint32_t n_part, float scale)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per = dense<T>::PER;

    if (i >= n_part / per)
        return;
    x += (size_t)blockIdx.y * n_part + i * per;
    widen<T>((const uint32_t *)(w.p[0] + ((size_t)id[blockIdx.y] * n_embd + at) * dense<T>::BYTES + (size_t)i * 16), x);
    for (uint32_t j = 0; j < per; j++)
        x[j] *= scale;
}

template <int T> __global__ void embed_quantised(planes w, const uint32_t *id, float *x, uint32_t n_embd, uint32_t at,
                                                 uint32_t n_part, float scale)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per_block = units_of(T);
    unit u;

    if (i >= n_part / 32)
        return;
    get<T>(w, id[blockIdx.y] * (n_embd / 32) + at / 32 + i, u);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float *to = x + (size_t)blockIdx.y * n_part + i / per_block * per_block * 32 +
                    (first_run<T>(i % per_block) + r * apart_of<T>()) * 16;

#pragma unroll
        for (int j = 0; j < 16; j++)
            to[j] = scale * fmaf(u.a[r], element<T>(u.q[4 * r + j / 4], j % 4), u.b[r]);
    }
}

/* One block per row: out = x, normalised if norm is given. */
template <int F> __global__ void norm_rows(const float *x, const float *norm, float eps, uint32_t n,
                                           typename form_of<F>::t *out)
{
    const float *in = x + (size_t)blockIdx.x * n;
    const float f = norm_factor(in, norm, n, eps);

    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        put(out + (size_t)blockIdx.x * n + i, norm ? in[i] * f * norm[i] : in[i]);
}

/* One block per row: x += scale * norm(y + bias), norm and bias if they are there. */
__global__ void add_rows(float *x, const float *y, const float *bias, const float *norm, float scale, float eps,
                         uint32_t n)
{
    const float *const row = y + (size_t)blockIdx.x * n;
    float *const to = x + (size_t)blockIdx.x * n;
    float sum = 0, f = scale;

    grid_go();
    grid_wait();
    for (uint32_t i = threadIdx.x; i < n && norm; i += blockDim.x) {
        const float v = plus(bias, i, __ldcg(row + i));

        sum += v * v;
    }
    if (norm)
        f *= rsqrtf(block_sum(sum) / (float)n + eps);
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = fmaf(norm ? f * __ldg(norm + i) : f, plus(bias, i, __ldcg(row + i)), __ldcg(to + i));
}

/* x[n] *= *factor */
__global__ void scale_rows(float *x, const float *factor, uint64_t n)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

    grid_go();
    grid_wait();
    if (i < n)
        x[i] = __ldcg(x + i) * __ldg(factor);
}

/* both[n][2 n_ff] has gate and up of each row; out[n][n_ff] = factor * activation(gate) * up. */
template <int F> __global__ void glu_rows(const float *both, float factor, uint32_t n_ff, int glu,
                                          typename form_of<F>::t *out)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *row = both + (size_t)blockIdx.y * 2 * n_ff;

    if (i < n_ff)
        put(out + (size_t)blockIdx.y * n_ff + i, factor * activate(glu, row[i], row[n_ff + i]));
}

/* Rows of n, one after the other, to rows that are `step` apart. */
__global__ void place_rows(const float *from, uint32_t n, float *to, uint32_t step)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        to[(size_t)blockIdx.y * step + i] = from[(size_t)blockIdx.y * n + i];
}

/* One block per row: the second half of both[2 n] = (its norm + own) / sqrt(2). */
__global__ void own_rows(float *both, const float *own, const float *norm, float eps, uint32_t n)
{
    float *const y = both + (size_t)blockIdx.x * 2 * n + n;
    const float f = norm_factor(y, norm, n, eps);

    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = (y[i] * f * norm[i] + own[(size_t)blockIdx.x * n + i]) * 0.70710678118654752f;
}

/* *best = the largest logit, as an integer of the same order, above the complement of its index, so that of
 * equal logits the first wins.  blockIdx.y is the row. */
__global__ void best_of(const float *logits, uint32_t n, unsigned long long *best)
{
    __shared__ unsigned long long part[32];
    unsigned long long mine = 0;

    logits += (size_t)blockIdx.y * n;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint32_t bits = __float_as_uint(logits[i]);
        const uint32_t order = isnan(logits[i]) ? 0 : bits >> 31 ? ~bits : bits | 0x80000000;
        const unsigned long long key = (unsigned long long)order << 32 | (0xffffffff - i);

        mine = key > mine ? key : mine;
    }
    for (int i = 16; i; i /= 2) {
        const unsigned long long other = __shfl_xor_sync(~0u, mine, i);

        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (uint32_t i = 1; i < blockDim.x / 32; i++)
        mine = part[i] > mine ? part[i] : mine;
    atomicMax(best + blockIdx.y, mine);
}

#endif
