/* SPDX-License-Identifier: BSD-2-Clause
 * moe.cuh - choosing experts, and rows on their way to them and back.
 *
 * A pair is a row and one of its experts: row * n_used + k.  Many rows go to the experts sorted by expert, one pair
 * after the other. */
#ifndef MOE_CUH
#define MOE_CUH

#include "gpu/cuda/device.cuh"
#include "gpu/cuda/form.cuh"

__device__ inline float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* One warp per row: the experts with the highest ratings, and their shares.  Of equal ones the first; NaN is the
 * lowest. */
__global__ void choose(const float *rating, const float *bias, const float *scale, int router, uint32_t n_expert,
                       uint32_t n_used, uint32_t *chosen, float *share)
{
    const uint32_t lane = threadIdx.x;
    float by[MOST_EXPERTS / 32], mine = -INFINITY, sum, most;
    uint32_t taken = 0, my_id = 0;

    grid_go();
    grid_wait();
#pragma unroll
    for (uint32_t i = 0; i < MOST_EXPERTS / 32; i++) {
        const uint32_t e = i * 32 + lane;
        const float x = e < n_expert ? __ldcg(rating + (size_t)blockIdx.x * n_expert + e) : 0;

        by[i] = plus(e < n_expert ? bias : NULL, e, router == GKV_PLUGIN_SIGMOID ? sigmoid(x) : x);
        if (e >= n_expert)
            taken |= 1u << i;
        else if (isnan(by[i]))
            by[i] = -INFINITY;
    }
    for (uint32_t k = 0; k < n_used; k++) {
        float best = -INFINITY;
        uint32_t at = UINT32_MAX;

#pragma unroll
        for (uint32_t i = 0; i < MOST_EXPERTS / 32; i++)
            if (!(taken >> i & 1) && (at == UINT32_MAX || by[i] > best)) {
                best = by[i];
                at = i * 32 + lane;
            }
        for (int i = 16; i; i /= 2) {
            const float other = __shfl_xor_sync(~0u, best, i);
            const uint32_t other_at = __shfl_xor_sync(~0u, at, i);

            if (other_at != UINT32_MAX && (at == UINT32_MAX || other > best || (other == best && other_at < at))) {
                best = other;
                at = other_at;
            }
        }
        if (at % 32 == lane)
            taken |= 1u << at / 32;
        if (lane == k) {
            mine = best;
            my_id = at;
        }
    }
    if (router == GKV_PLUGIN_SIGMOID && lane < n_used)         /* biases only choose */
        mine = sigmoid(__ldcg(rating + (size_t)blockIdx.x * n_expert + my_id));
    if (router == GKV_PLUGIN_SIGMOID_IN) {
        mine = sigmoid(mine);
    } else {
        most = router == GKV_PLUGIN_SOFTMAX ? warp_max(mine) : 0;
        mine = lane >= n_used ? 0 : router == GKV_PLUGIN_SOFTMAX ? expf(mine - most) : mine;
        sum = warp_sum(mine) + (router == GKV_PLUGIN_SIGMOID ? 1e-6f : 0);
        mine = mine / sum * (scale && lane < n_used ? __ldg(scale + my_id) : 1);
    }
    if (lane < n_used) {
        chosen[blockIdx.x * n_used + lane] = my_id;
        share[blockIdx.x * n_used + lane] = mine;
    }
}

/* One block per row: the share of the expert for all rows. */
__global__ void share_of_all(const float *x, const float *norm, const float *router, float eps, uint32_t n,
                             float *share)
{
    const float *in = x + (size_t)blockIdx.x * n;
    float sum = 0, dot = 0;

    grid_go();
    grid_wait();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = __ldcg(in + i);

        sum += v * v;
        dot += v * __ldg(norm + i) * __ldg(router + i);
    }
    sum = block_sum(sum);
    dot = block_sum(dot);
    if (threadIdx.x == 0)
        share[blockIdx.x] = sigmoid(dot * rsqrtf(sum / (float)n + eps));
}

/* One block per pair, in their order: its row, normalised, times its share if `share` is given. */
template <int F> __global__ void gather_rows(const float *x, const float *norm, const uint32_t *pair, uint32_t n_used,
                                             const float *share, float eps, uint32_t n, typename form_of<F>::t *out)
{
    const uint32_t at = pair[blockIdx.x];
    const float *in = x + (size_t)(at / n_used) * n;
    const float f = norm_factor(in, norm, n, eps) * (share ? share[at] : 1);

    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        put(out + (size_t)blockIdx.x * n + i, norm ? in[i] * f * norm[i] : in[i] * f);
}

/* both[pairs][2 n_ff] has gate and up, in the order of `pair`: out = factor * activation, after the experts' biases. */
template <int F> __global__ void glu_pairs(const float *both, const uint32_t *pair, const uint32_t *chosen,
                                           const float *gate_bias, const float *up_bias, float factor, uint32_t n_ff,
                                           int glu, typename form_of<F>::t *out)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *row = both + (size_t)blockIdx.y * 2 * n_ff;
    const uint32_t bias = chosen[pair[blockIdx.y]] * n_ff + i;

    if (i < n_ff)
        put(out + (size_t)blockIdx.y * n_ff + i,
            factor * activate(glu, plus(gate_bias, bias, row[i]), plus(up_bias, bias, row[n_ff + i])));
}

/* out = the sum over a row's experts, by their shares unless those were factors of the inputs; and the expert for all
 * rows, y.  place_of: where a pair's result is; NULL: in place. */
struct combine_args {
    const float    *result, *share, *bias, *y, *all_share;
    const uint32_t *place_of, *chosen;
    uint32_t        n_used, n;
    bool            add;                /* out += scale * sum                                */
    float           scale;
    float          *out;
};

__global__ void combine(const __grid_constant__ combine_args a)
{
    const uint32_t row = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;

    grid_go();
    grid_wait();
    if (i >= a.n)
        return;
    for (uint32_t k = 0; k < a.n_used; k++) {
        const uint32_t pair = row * a.n_used + k, at = a.place_of ? a.place_of[pair] : pair;
        const float v = plus(a.bias, a.bias ? __ldcg(a.chosen + pair) * a.n + i : 0,
                             __ldcg(a.result + (size_t)at * a.n + i));

        sum = fmaf(a.share ? __ldcg(a.share + pair) : 1, v, sum);
    }
    if (a.y)
        sum = fmaf(a.all_share ? __ldcg(a.all_share + row) : 1, __ldcg(a.y + (size_t)row * a.n + i), sum);
    float *const out = a.out + (size_t)row * a.n + i;
    *out = a.add ? fmaf(a.scale, sum, __ldcg(out)) : sum;
}

/* One block per row: y = norm(y) by a + norm(z) by b. */
__global__ void join_norms(float *y, const float *a, const float *z, const float *b, float eps, uint32_t n)
{
    const size_t at = (size_t)blockIdx.x * n;
    float sum_y = 0, sum_z = 0;

    grid_go();
    grid_wait();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        const float u = __ldcg(y + at + i), v = __ldcg(z + at + i);

        sum_y += u * u;
        sum_z += v * v;
    }
    sum_y = rsqrtf(block_sum(sum_y) / (float)n + eps);
    sum_z = rsqrtf(block_sum(sum_z) / (float)n + eps);
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        y[at + i] = __ldcg(y + at + i) * sum_y * __ldg(a + i) + __ldcg(z + at + i) * sum_z * __ldg(b + i);
}

#endif
