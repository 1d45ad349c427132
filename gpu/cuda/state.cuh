/* SPDX-License-Identifier: BSD-2-Clause
 * state.cuh - layers with a state of fixed size: the rules of src/engine/state.h.
 *
 * A row of `in` has the projections of a token one after the other.  The convolution writes its channels to rows of
 * their own, in which queries and keys are then made of length 1.  Tokens go through the rule one by one: a group of
 * PARTS lanes holds a column of the state in registers. */
#ifndef STATE_CUH
#define STATE_CUH

#include "gpu/cuda/device.cuh"

enum { STATE_THREADS = 128, PARTS = 4, COLUMNS = STATE_THREADS / PARTS, MOST_KEYS = 128, STATE_TILE = 16 };

struct state_args {
    const float *in;                    /* [n][width]                                        */
    uint32_t     n, width, z_at, beta_at, alpha_at;     /* where a row's projections begin   */
    bool         both;                  /* alpha is in beta, head of keys by head of keys    */
    uint32_t     mixer, taps, channels; /* taps: width of the convolution                    */
    uint32_t     k_heads, v_heads, k_dim, v_dim;
    bool         side_by_side;
    const float *conv, *conv_bias, *dt, *a, *skip, *norm;
    float        eps;
    float       *tail, *state;          /* [taps - 1][channels], [v_heads][k_dim][v_dim]     */
    float       *rows;                  /* [n][channels]                                     */
    float       *y;                     /* [n][v_heads * v_dim]                              */
};

__device__ inline float softplus(float x)
{
    return x > 20 ? x : log1pf(expf(x));
}

/* Channel c before the convolution, of row t, which may be one of the rows before: t < 0. */
__device__ inline float before(const state_args &s, int t, uint32_t c)
{
    if (t < 0)
        return __ldcg(s.tail + (size_t)(t + (int)s.taps - 1) * s.channels + c);
    const float *row = s.in + (size_t)t * s.width;

    return __ldcg(row + c) * (s.mixer == GKV_PLUGIN_SHORT_CONV ? __ldcg(row + s.beta_at + c) : 1);
}

/* rows = the convolution.  blockIdx.y is the row. */
__global__ void convolve(const __grid_constant__ state_args s)
{
    const uint32_t c = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;
    float sum;

    grid_go();
    grid_wait();
    if (c >= s.channels)
        return;
    sum = s.conv_bias ? __ldg(s.conv_bias + c) : 0;
    for (uint32_t x = 0; x < s.taps; x++)
        sum = fmaf(__ldg(s.conv + c * s.taps + x), before(s, (int)(t + x) - (int)(s.taps - 1), c), sum);
    if (s.mixer == GKV_PLUGIN_SHORT_CONV)
        s.y[(size_t)t * s.channels + c] = sum * __ldcg(s.in + (size_t)t * s.width + s.z_at + c);
    else
        s.rows[(size_t)t * s.channels + c] = sum / (1 + expf(-sum));
}

/* The last rows become the tail; a thread takes a channel, from the oldest row on. */
__global__ void keep_tail(const __grid_constant__ state_args s)
{
    const uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;

    grid_go();
    grid_wait();
    for (uint32_t t = 0; t + 1 < s.taps && c < s.channels; t++)
        s.tail[(size_t)t * s.channels + c] = before(s, (int)(s.n + t) - (int)(s.taps - 1), c);
}

/* Queries and keys become of length 1, queries then of 1 / root of k_dim.  A warp takes a head; blockIdx.y is the
 * row. */
__global__ void unit_heads(const __grid_constant__ state_args s)
{
    const uint32_t h = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float *row = s.rows + (size_t)blockIdx.y * s.channels + (size_t)h * s.k_dim, sum = 0;

    grid_go();
    grid_wait();
    if (h >= 2 * s.k_heads)
        return;
    for (uint32_t i = lane; i < s.k_dim; i += 32) {
        const float x = __ldcg(row + i);

        sum = fmaf(x, x, sum);
    }
    sum = rsqrtf(warp_sum(sum) + 1e-6f) * (h < s.k_heads ? rsqrtf((float)s.k_dim) : 1);
    for (uint32_t i = lane; i < s.k_dim; i += 32)
        row[i] = __ldcg(row + i) * sum;
}

/* Block (head of values, COLUMNS columns of its state). */
__global__ void __launch_bounds__(STATE_THREADS) recur(const __grid_constant__ state_args s)
{
    __shared__ float ks[STATE_TILE][MOST_KEYS], qs[STATE_TILE][MOST_KEYS], vs[STATE_TILE][COLUMNS];
    __shared__ float decays[STATE_TILE], rates[STATE_TILE];
    const uint32_t h = blockIdx.x, per = s.v_heads / s.k_heads, hk = s.side_by_side ? h / per : h % s.k_heads;
    const uint32_t part = threadIdx.x % PARTS, column = threadIdx.x / PARTS, first = blockIdx.y * COLUMNS;
    const uint32_t v_width = s.v_heads * s.v_dim, j = first + column;
    const bool delta = s.mixer == GKV_PLUGIN_DELTA, mine = j < s.v_dim;
    const uint32_t q_at = (delta ? 0 : v_width + s.k_heads * s.k_dim) + hk * s.k_dim;
    const uint32_t k_at = (delta ? s.k_heads * s.k_dim : v_width) + hk * s.k_dim;
    const uint32_t v_at = (delta ? 2 * s.k_heads * s.k_dim : 0) + h * s.v_dim;
    float *const state = s.state + (size_t)h * s.k_dim * s.v_dim + j;
    float column_of[MOST_KEYS / PARTS];

    grid_go();
    grid_wait();
#pragma unroll
    for (uint32_t i = 0; i < MOST_KEYS / PARTS; i++)
        column_of[i] = mine && i * PARTS + part < s.k_dim ? __ldcg(state + (size_t)(i * PARTS + part) * s.v_dim) : 0;
    for (uint32_t from = 0; from < s.n; from += STATE_TILE) {
        const uint32_t m = min((uint32_t)STATE_TILE, s.n - from);

        __syncthreads();
        for (uint32_t i = threadIdx.x; i < m * MOST_KEYS; i += STATE_THREADS) {
            const uint32_t t = i / MOST_KEYS, x = i % MOST_KEYS;
            const float *row = s.rows + (size_t)(from + t) * s.channels;

            ks[t][x] = x < s.k_dim ? __ldcg(row + k_at + x) : 0;
            qs[t][x] = x < s.k_dim ? __ldcg(row + q_at + x) : 0;
        }
        for (uint32_t i = threadIdx.x; i < m * COLUMNS; i += STATE_THREADS) {
            const uint32_t t = i / COLUMNS, x = first + i % COLUMNS;

            vs[t][i % COLUMNS] = x < s.v_dim ? __ldcg(s.rows + (size_t)(from + t) * s.channels + v_at + x) : 0;
        }
        if (threadIdx.x < m) {
            const float *row = s.in + (size_t)(from + threadIdx.x) * s.width;
            const float *beta = row + s.beta_at + (s.both ? h / per * 2 * per + h % per : h);
            const float rate = softplus((s.both ? __ldcg(beta + per) : __ldcg(row + s.alpha_at + h)) + __ldg(s.dt + h));

            decays[threadIdx.x] = expf(__ldg(s.a + h) * rate);
            rates[threadIdx.x] = delta ? 1 / (1 + expf(-__ldcg(beta))) : rate;
        }
        __syncthreads();
        for (uint32_t t = 0; t < m; t++) {
            const float decay = decays[t];
            float knows = 0, sum = 0, u;

#pragma unroll
            for (uint32_t i = 0; i < MOST_KEYS / PARTS; i++) {
                column_of[i] *= decay;
                knows = fmaf(column_of[i], ks[t][i * PARTS + part], knows);
            }
            knows += __shfl_xor_sync(~0u, knows, 1);
            knows += __shfl_xor_sync(~0u, knows, 2);
            u = rates[t] * (vs[t][column] - (delta ? knows : 0));
#pragma unroll
            for (uint32_t i = 0; i < MOST_KEYS / PARTS; i++) {
                column_of[i] = fmaf(ks[t][i * PARTS + part], u, column_of[i]);
                sum = fmaf(column_of[i], qs[t][i * PARTS + part], sum);
            }
            sum += __shfl_xor_sync(~0u, sum, 1);
            sum += __shfl_xor_sync(~0u, sum, 2);
            if (part == 0 && mine)
                s.y[(size_t)(from + t) * v_width + (size_t)h * s.v_dim + j] = sum;
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < MOST_KEYS / PARTS; i++)
        if (mine && i * PARTS + part < s.k_dim)
            state[(size_t)(i * PARTS + part) * s.v_dim] = column_of[i];
}

/* y = rmsnorm(y) silu(z) by heads; of Mamba-2 rmsnorm((y + skip x) silu(z)) by groups that share a key.  A block takes
 * a group; blockIdx.y is the row. */
__global__ void gate_state(const __grid_constant__ state_args s)
{
    const bool delta = s.mixer == GKV_PLUGIN_DELTA;
    const uint32_t width = s.v_heads * s.v_dim, n = delta ? s.v_dim : width / s.k_heads, at = blockIdx.x * n;
    const float *x = s.rows + (size_t)blockIdx.y * s.channels + at;
    const float *z = s.in + (size_t)blockIdx.y * s.width + s.z_at + at;
    float *y = s.y + (size_t)blockIdx.y * width + at, sum = 0;
    const auto value = [&](uint32_t i) {
        const float v = __ldcg(y + i), g = __ldcg(z + i);

        return delta ? v : fmaf(__ldg(s.skip + (at + i) / s.v_dim), __ldcg(x + i), v) * g / (1 + expf(-g));
    };

    grid_go();
    grid_wait();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        sum = fmaf(value(i), value(i), sum);
    sum = rsqrtf(block_sum(sum) / (float)n + s.eps);
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        const float g = __ldcg(z + i), f = delta ? g / (1 + expf(-g)) : 1;

        y[i] = value(i) * sum * __ldg(s.norm + (delta ? 0 : at) + i) * f;
    }
}

/* att[n][heads * d] *= sigmoid(gate), each head's gate being behind its query in rows of `width`. */
__global__ void gate_heads(float *att, const float *in, uint32_t width, uint32_t heads, uint32_t d)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;

    grid_go();
    grid_wait();
    if (i >= heads * d)
        return;
    float *y = att + (size_t)t * heads * d + i;
    *y = __ldcg(y) / (1 + expf(-__ldcg(in + (size_t)t * width + i / d * 2 * d + d + i % d)));
}

#endif
