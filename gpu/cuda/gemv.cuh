/* SPDX-License-Identifier: BSD-2-Clause
 * gemv.cuh - one token times the weights of a layer, read in the file's types.
 *
 * Each block prepares the token's row in shared memory, normalised if the product wants that;
 * then each warp takes R rows of weights at a time, its lanes side by side along them.  For
 * quantised types the row is rounded to 16 bits in runs of 16, which come as two planes of
 * bytes, so that products of integers are exact and cost two instructions for four weights. */
#ifndef GEMV_CUH
#define GEMV_CUH

#include "gpu/cuda/type.cuh"

enum { GEMV_THREADS = 256, GEMV_WARPS = GEMV_THREADS / 32, MAX_SEGMENTS = 3 };

/* Rows of weights at a time: two, as pairs are. */
enum { ROWS = 2 };

enum gemv_to { GEMV_STORE, GEMV_ADD, GEMV_GLU, GEMV_HEADS };

struct gemv_segment {
    planes   w;
    uint32_t n_out;
    float   *y;
    int      kind;                      /* of heads: HEADS_Q, ...                            */
};

enum { HEADS_Q, HEADS_K, HEADS_V };

struct heads {
    uint32_t n_head, n_head_kv, head_dim, n_rot, halves;
    uint32_t n_max;                     /* positions of the cache                            */
};

/* Where queries, keys and values go: attend.cuh. */
struct rotation {
    heads           h;
    const uint32_t *pos;                /* of the first row                                  */
    const float2   *turn;
    half           *q, *k, *v;
    float           scale;              /* of queries                                        */
};

/* y[n_out] of each segment = or += W x, of x as it is or after RMSNorm with weights norm.
 * GLU: two segments, gate and up, become silu(gate) * up in the first y.  HEADS: rotated, to r. */
struct gemv_args {
    gemv_segment seg[MAX_SEGMENTS];
    uint32_t     n_in, n_groups;        /* groups of ROWS rows                               */
    uint32_t     split;                 /* warps that share a group, each along the row      */
    gemv_to      to;
    const float *x, *norm;
    float        eps;
    rotation     r;
};

/* A kernel of a step begins while the one before it still runs, and may do until grid_wait
 * whatever does not depend on that one. */
__device__ inline void grid_wait(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

__device__ inline void grid_go(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ inline half to_half(float x)
{
    return __float2half_rn(fminf(fmaxf(x, -65504), 65504));
}

/* Elements first and second of a head that make pair p: turned together, or just neighbours. */
__device__ inline void pair_of(const heads &h, uint32_t p, uint32_t *first, uint32_t *second)
{
    const bool apart = h.halves && p < h.n_rot / 2;

    *first = apart ? p : 2 * p;
    *second = apart ? p + h.n_rot / 2 : 2 * p + 1;
}

/* Pair p = (a, b) of head ih of a kind, of row `row`, to its place. */
__device__ inline void put_pair(const rotation &r, int kind, uint32_t row, uint32_t ih, uint32_t p, float a,
                                float b)
{
    const heads &h = r.h;
    const uint32_t at = __ldcg(r.pos) + row;
    uint32_t first, second;
    half *out;

    pair_of(h, p, &first, &second);
    if (kind != HEADS_V && p < h.n_rot / 2) {
        const float2 t = r.turn[(size_t)at * (h.n_rot / 2) + p];
        const float c = a * t.x - b * t.y;

        b = b * t.x + a * t.y;
        a = c;
    }
    if (kind == HEADS_Q) {
        out = r.q + ((size_t)row * h.n_head + ih) * h.head_dim;
        a *= r.scale;
        b *= r.scale;
    } else {
        out = (kind == HEADS_K ? r.k : r.v) + ((size_t)ih * h.n_max + at) * h.head_dim;
    }
    out[first] = to_half(a);
    out[second] = to_half(b);
}

__device__ inline float warp_sum(float v)
{
#pragma unroll
    for (int i = 16; i; i /= 2)
        v += __shfl_xor_sync(~0u, v, i);
    return v;
}

__device__ inline float warp_max(float v)
{
#pragma unroll
    for (int i = 16; i; i /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, i));
    return v;
}

/* Of all threads of the block, the same in each; blockDim.x is a multiple of 32. */
__device__ inline float block_sum(float v)
{
    __shared__ float part[32];
    float sum = 0;

    v = warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    for (uint32_t i = 0; i < blockDim.x / 32; i++)
        sum += part[i];
    return sum;
}

__device__ inline float silu(float x)
{
    return x / (1 + __expf(-x));
}

/* ---- the row in shared memory ----------------------------------------------------------- */

/* Bytes of it; before it is rounded, it lies there as it is if it must be normalised. */
static size_t gemv_shared(int type, uint32_t n_in, bool normed)
{
    return is_dense(type) ? (size_t)n_in * 4 : (size_t)n_in * (normed ? 6 : 2) + n_in / 2;
}

/* What other multiprocessors have just written comes from the second cache. */
__device__ inline float4 fresh(const float *x, uint32_t i)
{
    return __ldcg((const float4 *)x + i);
}

__device__ inline float square(float4 v)
{
    return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
}

__device__ inline float4 times(float4 v, float f, float4 w)
{
    return make_float4(v.x * f * w.x, v.y * f * w.y, v.z * f * w.z, v.w * f * w.w);
}

/* Four elements at a time to place(i); returns what normalises them. */
template <class F> __device__ inline float copy_row(const gemv_args &g, F place)
{
    float sum = 0;

#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < g.n_in / 4; i += GEMV_THREADS) {
        const float4 v = fresh(g.x, i);

        sum += square(v);
        *place(i) = v;
    }
    return g.norm ? rsqrtf(block_sum(sum) / (float)g.n_in + g.eps) : 1;
}

/* Parts of a vector lie apart, so that lanes read side by side. */
template <int T> __device__ inline void prepare_dense(const gemv_args &g, float4 *row)
{
    constexpr uint32_t parts = dense<T>::PER / 4;
    const uint32_t n_vectors = g.n_in / dense<T>::PER;
    const auto place = [=](uint32_t i) { return row + i % parts * n_vectors + i / parts; };
    const float f = copy_row(g, place);

    if (g.norm)
        for (uint32_t i = threadIdx.x; i < g.n_in / 4; i += GEMV_THREADS)
            *place(i) = times(*place(i), f, __ldg((const float4 *)g.norm + i));
    __syncthreads();
}

struct run_scale { float s, sum; };

/* Planes: high bytes [2][n_units][16], low bytes likewise, scales [2][n_units]; then room for
 * the row as it was. */
template <int T> __device__ inline void prepare_quantised(const gemv_args &g, uint4 *high)
{
    const uint32_t n_runs = g.n_in / 16, n_units = n_runs / 2;
    uint4 *low = high + n_runs;
    run_scale *scale = (run_scale *)(low + n_runs);
    float4 *raw = (float4 *)(scale + n_runs);
    const float f = g.norm ? copy_row(g, [=](uint32_t i) { return raw + i; }) : 1;

    for (uint32_t run = threadIdx.x; run < n_runs; run += GEMV_THREADS) {
        float x[16], most = 0, inverse, s;
        uint32_t h[4], l[4], unit, which;
        int sum = 0;

#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t at = run * 4 + i;

            *(float4 *)(x + 4 * i) = g.norm ? times(raw[at], f, __ldg((const float4 *)g.norm + at))
                                            : fresh(g.x, at);
        }
#pragma unroll
        for (int i = 0; i < 16; i++)
            most = fmaxf(most, fabsf(x[i]));
        s = most / 32512;
        inverse = s > 0 ? 32512 / most : 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            h[i] = l[i] = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int q = __float2int_rn(x[4 * i + j] * inverse), top = (q + 128) >> 8;

                sum += q;
                h[i] |= (uint32_t)(top & 255) << 8 * j;
                l[i] |= (uint32_t)((q - 256 * top) & 255) << 8 * j;
            }
        }
        unit_of_run<T>(run, &unit, &which);
        high[which * n_units + unit] = make_uint4(h[0], h[1], h[2], h[3]);
        low[which * n_units + unit] = make_uint4(l[0], l[1], l[2], l[3]);
        scale[which * n_units + unit] = { s, s * (float)sum };
    }
    __syncthreads();
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Two rows of one segment, one of each of two, or a pair of a head.  Behind the last row comes
 * the last one again, which is not stored. */
struct rows {
    const gemv_segment *seg[ROWS];
    uint32_t            row[ROWS], pair;
};

__device__ inline void choose_rows(const gemv_args &g, uint32_t group, rows &r)
{
    const gemv_segment *seg = g.seg;
    uint32_t n;

    if (g.to == GEMV_GLU) {
        r.seg[0] = seg;
        r.seg[1] = seg + 1;
        r.row[0] = r.row[1] = group;
        return;
    }
    while (group >= (n = (seg->n_out + ROWS - 1) / ROWS) && seg < g.seg + MAX_SEGMENTS - 1) {
        group -= n;
        seg++;
    }
    r.seg[0] = r.seg[1] = seg;
    r.row[0] = ROWS * group;
    r.row[1] = ROWS * group + 1;
    if (g.to == GEMV_HEADS) {
        const uint32_t per_head = g.r.h.head_dim / 2, head = group / per_head * g.r.h.head_dim;

        r.pair = group % per_head;
        pair_of(g.r.h, r.pair, &r.row[0], &r.row[1]);
        r.row[0] += head;
        r.row[1] += head;
    }
}

__device__ inline uint32_t row_to_read(const rows &r, int i)
{
    return r.row[i] < r.seg[i]->n_out ? r.row[i] : r.seg[i]->n_out - 1;
}

__device__ inline void put_rows(const gemv_args &g, const rows &r, const float *sum)
{
    if (g.to == GEMV_HEADS) {
        const uint32_t d = g.r.h.head_dim;

        put_pair(g.r, r.seg[0]->kind, 0, r.row[0] / d, r.pair, sum[0], sum[1]);
    } else if (g.to == GEMV_GLU) {
        r.seg[0]->y[r.row[0]] = silu(sum[0]) * sum[1];
    } else {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (r.row[i] < r.seg[i]->n_out) {
                float *y = &r.seg[i]->y[r.row[i]];

                *y = g.to == GEMV_ADD ? __ldcg(y) + sum[i] : sum[i];
            }
    }
}

/* How a type is read: BATCH steps of a row are on their way, 32 * split of them side by side. */
template <int T, bool DENSE = is_dense(T)> struct reader;

template <int T> struct reader<T, true> {
    enum { PER = dense<T>::PER, PARTS = PER / 4, BATCH = 4 };
    struct raw { uint4 v; };
    const float4 *row;
    uint32_t      n_steps;

    __device__ reader(uint4 *shared, uint32_t n_in) : row((const float4 *)shared), n_steps(n_in / PER) { }
    __device__ static void prepare(const gemv_args &g, uint4 *shared)
    {
        prepare_dense<T>(g, (float4 *)shared);
    }
    __device__ void load(const rows &r, int i, uint32_t step, raw &to) const
    {
        to.v = load16(r.seg[i]->w.p[0] + ((size_t)row_to_read(r, i) * n_steps + step) * 16);
    }
    __device__ void add(const raw *w, uint32_t step, float *acc) const
    {
        float4 x[PARTS];

#pragma unroll
        for (uint32_t p = 0; p < PARTS; p++)
            x[p] = row[p * n_steps + step];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            float wide[PER];

            widen<T>(w[i].v, wide);
#pragma unroll
            for (uint32_t p = 0; p < PARTS; p++) {
                acc[i] = fmaf(x[p].x, wide[4 * p], acc[i]);
                acc[i] = fmaf(x[p].y, wide[4 * p + 1], acc[i]);
                acc[i] = fmaf(x[p].z, wide[4 * p + 2], acc[i]);
                acc[i] = fmaf(x[p].w, wide[4 * p + 3], acc[i]);
            }
        }
    }
};

/* a times the integers of a run, and b times the sum of the row's. */
__device__ inline float run_dot(const uint32_t *q, const uint4 &high, const uint4 &low, run_scale s,
                                float a, float b, float acc)
{
    int h = __dp4a((int)q[0], (int)high.x, 0), l = __dp4a((int)q[0], (int)low.x, 0);

    h = __dp4a((int)q[1], (int)high.y, h);
    h = __dp4a((int)q[2], (int)high.z, h);
    h = __dp4a((int)q[3], (int)high.w, h);
    l = __dp4a((int)q[1], (int)low.y, l);
    l = __dp4a((int)q[2], (int)low.z, l);
    l = __dp4a((int)q[3], (int)low.w, l);
    acc = fmaf(a * s.s, (float)(256 * h + l), acc);
    return fmaf(b, s.sum, acc);
}

template <int T> struct reader<T, false> {
    enum { PER_BLOCK = units_of(T), BATCH = 2 };
    typedef raw_unit raw;
    const uint4     *high, *low;
    const run_scale *scale;
    uint32_t         n_steps;

    __device__ reader(uint4 *shared, uint32_t n_in) : high(shared), low(shared + n_in / 16),
        scale((const run_scale *)(shared + n_in / 8)), n_steps(n_in / 32) { }
    __device__ static void prepare(const gemv_args &g, uint4 *shared)
    {
        prepare_quantised<T>(g, shared);
    }
    __device__ void load(const rows &r, int i, uint32_t step, raw &to) const
    {
        load_unit<T>(r.seg[i]->w, row_to_read(r, i) * n_steps + step, to);
    }
    __device__ void add(const raw *w, uint32_t step, float *acc) const
    {
        const uint4 h0 = high[step], h1 = high[n_steps + step], l0 = low[step], l1 = low[n_steps + step];
        const run_scale s0 = scale[step], s1 = scale[n_steps + step];

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            unit u;

            unpack_unit<T>(w[i], step % PER_BLOCK, u);
            acc[i] = run_dot(u.q, h0, l0, s0, u.a[0], u.b[0], acc[i]);
            acc[i] = run_dot(u.q + 4, h1, l1, s1, u.a[1], u.b[1], acc[i]);
        }
    }
};

/* Batch number `at` of rows r, as far as it is there. */
template <class R>
__device__ inline void load_batch(const R &reader, const rows &r, uint32_t at, uint32_t lane, uint32_t stride,
                                  typename R::raw (&to)[R::BATCH][ROWS])
{
#pragma unroll
    for (uint32_t b = 0; b < R::BATCH; b++) {
        const uint32_t step = (at * R::BATCH + b) * stride + lane;

        if (step < reader.n_steps)
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                reader.load(r, i, step, to[b][i]);
    }
}

/* A batch is on its way while the one before it is used; the first one of all, while the kernel
 * before this one still runs. */
template <int T> __global__ void __launch_bounds__(GEMV_THREADS, 2) gemv(const __grid_constant__ gemv_args g)
{
    extern __shared__ uint4 shared[];
    __shared__ float part[2][GEMV_WARPS][ROWS];
    typedef reader<T> R;
    const R reader(shared, g.n_in);
    const uint32_t warp = threadIdx.x / 32, stride = 32 * g.split, per_block = GEMV_WARPS / g.split;
    const uint32_t lane = warp % g.split * 32 + threadIdx.x % 32;
    const uint32_t n_batches = (reader.n_steps + R::BATCH * stride - 1) / (R::BATCH * stride);
    uint32_t first = blockIdx.x * per_block;            /* group of the block's first warp */
    typename R::raw now[R::BATCH][ROWS], next[R::BATCH][ROWS];
    rows r, r_next;

    grid_go();
    choose_rows(g, min(first + warp / g.split, g.n_groups - 1), r);
    load_batch(reader, r, 0, lane, stride, now);
    grid_wait();
    R::prepare(g, shared);
    for (uint32_t round = 0; first < g.n_groups; round++) {
        const uint32_t group = first + warp / g.split;
        float acc[ROWS] = { 0 };

        first += gridDim.x * per_block;
        for (uint32_t at = 0; at < n_batches; at++) {
            if (at + 1 < n_batches) {
                load_batch(reader, r, at + 1, lane, stride, next);
            } else if (first < g.n_groups) {
                choose_rows(g, min(first + warp / g.split, g.n_groups - 1), r_next);
                load_batch(reader, r_next, 0, lane, stride, next);
            }
#pragma unroll
            for (uint32_t b = 0; b < R::BATCH; b++) {
                const uint32_t step = (at * R::BATCH + b) * stride + lane;

                if (step < reader.n_steps)
                    reader.add(now[b], step, acc);
            }
#pragma unroll
            for (uint32_t b = 0; b < R::BATCH; b++)
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    now[b][i] = next[b][i];
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            acc[i] = warp_sum(acc[i]);
        if (g.split > 1) {
            float (*p)[ROWS] = part[round % 2];

            if (threadIdx.x % 32 == 0)
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    p[warp][i] = acc[i];
            __syncthreads();
            if (lane == 0)
                for (uint32_t w = 1; w < g.split; w++)
#pragma unroll
                    for (int i = 0; i < ROWS; i++)
                        acc[i] += p[warp + w][i];
        }
        if (lane == 0 && group < g.n_groups)
            put_rows(g, r, acc);
        r = r_next;
    }
}

#endif
