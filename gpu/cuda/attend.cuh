/* SPDX-License-Identifier: BSD-2-Clause
 * attend.cuh - RoPE, the KV cache, and causal attention over it.
 *
 * Queries come scaled by log2(e) and the factor of scores, so scores are exponents of two.  Keys and
 * values are f16, [KV head][slot][head_dim] in each layer. */
#ifndef ATTEND_CUH
#define ATTEND_CUH

#include "gpu/cuda/gemv.cuh"

/* turn[n][n_rot / 2]: cosine and sine at positions first ..., computed in double, because angles reach a million
 * radians. */
__global__ void turn_table(const double *freq, float2 *turn, uint32_t half_rot, uint32_t first, uint64_t n,
                           double scale)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    double s, c;

    if (i >= n * half_rot)
        return;
    sincos((double)(first + i / half_rot) * freq[i % half_rot], &s, &c);
    turn[i] = make_float2((float)(c * scale), (float)(s * scale));
}

/* Rows in[n][width] of queries, keys and values, one after the other.  Without values, they are the keys before their
 * norm; without keys, there are queries only. */
struct head_rows {
    const float *in;
    uint32_t     width, k_at, v_at;     /* where keys and values begin in a row              */
    uint32_t     q_step;                /* from query to query                               */
    const float *bias[3], *norm[3];
    bool         whole;                 /* norms of queries and keys are over all heads      */
    bool         own;                   /* there are keys and values                         */
    float        eps;
    rotation     r;
};

/* Head ih of a kind, of row `row`. */
__device__ inline const float *head_of(const head_rows &a, int kind, uint32_t row, uint32_t ih)
{
    const uint32_t at = kind == HEADS_Q ? ih * a.q_step : (kind == HEADS_K ? a.k_at : a.v_at) + ih * a.r.h.head_dim;

    return a.in + (size_t)row * a.width + at;
}

/* Adds biases, rotates and stores.  A thread takes one pair. */
__global__ void rope(const __grid_constant__ head_rows a)
{
    const heads &h = a.r.h;
    const uint32_t pairs = h.head_dim / 2, n_heads = h.n_head + 2 * h.n_head_kv, row = blockIdx.y;
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, head = i / pairs, p = i % pairs;
    const int kind = head < h.n_head ? HEADS_Q : head < h.n_head + h.n_head_kv ? HEADS_K : HEADS_V;
    const uint32_t ih = kind == HEADS_Q ? head : (head - h.n_head) % h.n_head_kv;
    uint32_t first, second;

    if (head >= n_heads || (kind != HEADS_Q && !a.own))
        return;
    const float *in = head_of(a, kind, row, ih);
    pair_of(h, p, &first, &second);
    put_pair(a.r, kind, row, ih, p, plus(a.bias[kind], ih * h.head_dim + first, in[first]),
             plus(a.bias[kind], ih * h.head_dim + second, in[second]));
}

/* The same with norms: a block takes one head of one row, or all of one kind if norms are over all. */
__global__ void norm_heads(const __grid_constant__ head_rows a)
{
    const heads &h = a.r.h;
    const uint32_t d = h.head_dim, row = blockIdx.y, u = blockIdx.x;
    const int kind = a.whole ? (int)u : u < h.n_head ? HEADS_Q : u < h.n_head + h.n_head_kv ? HEADS_K : HEADS_V;
    const uint32_t n = !a.whole ? 1 : kind == HEADS_Q ? h.n_head : h.n_head_kv;
    const uint32_t ih0 = a.whole ? 0 : kind == HEADS_Q ? u : (u - h.n_head) % h.n_head_kv;
    const bool over_all = a.whole && kind != HEADS_V;
    const float *const norm = a.norm[kind], *const bias = a.bias[kind];
    float factor = 1, sum = 0;

    grid_go();
    grid_wait();
    for (uint32_t i = threadIdx.x; i < n * d && norm; i += blockDim.x) {
        const float v = plus(bias, ih0 * d + i, __ldcg(head_of(a, kind, row, ih0 + i / d) + i % d));

        sum += v * v;
    }
    if (norm)
        factor = rsqrtf(block_sum(sum) / (float)(n * d) + a.eps);
    for (uint32_t i = threadIdx.x; i < n * d / 2; i += blockDim.x) {
        const uint32_t ih = ih0 + i / (d / 2), p = i % (d / 2);
        const float *const in = head_of(a, kind, row, ih);
        uint32_t first, second;
        float x, y;

        pair_of(h, p, &first, &second);
        x = factor * plus(bias, ih * d + first, __ldcg(in + first));
        y = factor * plus(bias, ih * d + second, __ldcg(in + second));
        if (norm) {
            x *= __ldg(norm + (over_all ? ih * d : 0) + first);
            y *= __ldg(norm + (over_all ? ih * d : 0) + second);
        }
        put_pair(a.r, kind, row, ih, p, x, y);
    }
}

/* ---- few queries: decoding, and head sizes that the tiles do not support ------------------- */

enum { FEW_THREADS = 256, FEW_WARPS = FEW_THREADS / 32, FEW_HEADS = 4, FEW_MAX_DIM = 256 };

/* Keys are divided into parts of PART_KEYS, or into MAX_PARTS larger ones: two for each lane of a warp. */
enum { PART_KEYS = 64, MAX_PARTS = 64 };

/* Keys and values that a lane loads together, 32 bytes each: with little and with much shared memory; at
 * least as many as its sums need. */
enum { FEW_PASSES = 4, MANY_PASSES = 8 };

struct few_args {
    const half     *q, *k, *v;
    float          *out;                /* [n][n_head * head_dim]                            */
    float          *partial;            /* [n][n_head][MAX_PARTS][head_dim + 2]; n, if there are parts, is few */
    uint32_t       *arrived;            /* [n][n_head]: parts done per bunch of heads; left at 0 */
    const uint32_t *pos;                /* of the first query                                */
    uint32_t        passes;             /* FEW_PASSES or MANY_PASSES                         */
    heads           h;
    const float    *sinks;              /* [n_head] or NULL                                  */
    float           cap;                /* of scores, times log2(e); 0: none                 */
};

/* What a sink adds to the sum of exponents with maximum `top`. */
__device__ inline float sink_of(const float *sinks, uint32_t head, float top)
{
    return sinks ? exp2f(fmaf(__ldg(sinks + head), 1.4426950408889634f, -top)) : 0;
}

/* Bunches per KV head: a bunch is up to FEW_HEADS of its query heads, computed together. */
__host__ __device__ inline uint32_t bunches_of(const heads &h)
{
    return (h.n_head / kept_heads(h) + FEW_HEADS - 1) / FEW_HEADS;
}

/* Results of groups of lanes, for each head of a bunch; and the weight of each group, later of each
 * part. */
struct few_shared {
    float top[FEW_THREADS / 8][FEW_HEADS], sum[FEW_THREADS / 8][FEW_HEADS], weight[MAX_PARTS][FEW_HEADS];
    bool  is_last;
    __align__(16) uint4 lanes[];        /* keys and values; then sums [group][head][head_dim] */
};

static size_t few_bytes(uint32_t passes)
{
    return sizeof(few_shared) + (size_t)FEW_THREADS * passes * 32;
}

/* For up to 64 maxima and sums, two in each lane: returns the common ones; top becomes the weight of each. */
__device__ inline float2 weigh(float *top, const float *sum)
{
    const float most = warp_max(fmaxf(top[0], top[1]));

    top[0] = exp2f(top[0] - most);
    top[1] = exp2f(top[1] - most);
    return make_float2(most, warp_sum(top[0] * sum[0] + top[1] * sum[1]));
}

/* Block (part, KV head and up to FEW_HEADS of its query heads, query).  LANES lanes share a key, with
 * eight elements each.  Keys of earlier calls are loaded before the previous kernel has ended.
 * The last block to arrive adds all parts, in their order. */
template <int LANES>
__global__ void __launch_bounds__(FEW_THREADS, 2) attend_few(const __grid_constant__ few_args a)
{
    extern __shared__ uint4 shared[];
    constexpr uint32_t N_GROUPS = FEW_THREADS / LANES;
    few_shared *const s = (few_shared *)shared;
    const heads &h = a.h;
    const uint32_t d = h.head_dim, tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const uint32_t group = tid / LANES, at = tid % LANES * 8;
    const uint32_t bunches = bunches_of(h), ih = blockIdx.y / bunches, g0 = blockIdx.y % bunches * FEW_HEADS;
    const uint32_t ng = min((uint32_t)FEW_HEADS, h.n_head / kept_heads(h) - g0);
    const uint32_t head0 = ih * (h.n_head / kept_heads(h)) + g0, query = blockIdx.z, part = blockIdx.x;
    const uint32_t old = __ldcg(a.pos) - h.shift, n_keys = old + query + 1, seen = first_key(h, n_keys - 1);
    const uint32_t per_part = (n_keys - seen + gridDim.x - 1) / gridDim.x;
    const uint32_t n_parts = (n_keys - seen + per_part - 1) / per_part;
    const uint32_t begin = seen + part * per_part, end = min(n_keys, begin + per_part);
    const half *k = a.k + (size_t)ih * h.n_max * d + at, *v = a.v + (size_t)ih * h.n_max * d + at;
    uint4 *const mine = s->lanes + tid;                 /* [passes][2][FEW_THREADS] */
    float *const sums = (float *)s->lanes;
    const size_t row0 = (size_t)query * h.n_head + head0;       /* of results, partial and whole */
    float q[FEW_HEADS][8], acc[FEW_HEADS][8], top[FEW_HEADS], sum[FEW_HEADS];
    const auto load = [&](uint32_t first, uint32_t from, uint32_t to) {
#pragma unroll 1
        for (uint32_t p = 0; p < a.passes; p++) {
            const uint32_t key = first + p * N_GROUPS + group;

            if (key >= from && key < to && at < d) {
                copy_vector(mine + 2 * p * FEW_THREADS, k + (size_t)key * d);
                copy_vector(mine + (2 * p + 1) * FEW_THREADS, v + (size_t)key * d);
            }
        }
    };

    grid_go();
    if (part >= n_parts) {
        grid_wait();
        return;
    }
    load(begin, 0, min(end, old));
    grid_wait();
    load(begin, old, end);
#pragma unroll
    for (int g = 0; g < FEW_HEADS; g++) {
        uint4 x = make_uint4(0, 0, 0, 0);

        if (g < ng && at < d)
            x = __ldcg((const uint4 *)(a.q + ((size_t)query * h.n_head + head0 + g) * d + at));
        widen<GKV__TYPE_F16>((const uint32_t *)&x, q[g]);
        top[g] = -1e30f;
        sum[g] = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            acc[g][i] = 0;
    }
    for (uint32_t first = begin; first < end; first += a.passes * N_GROUPS) {
        if (first > begin)
            load(first, 0, end);
        copied();
#pragma unroll 1
        for (uint32_t p = 0; p < a.passes && first + p * N_GROUPS < end; p++) {
            const bool there = first + p * N_GROUPS + group < end;
            const uint4 none = make_uint4(0, 0, 0, 0);
            const uint4 key = there && at < d ? mine[2 * p * FEW_THREADS] : none;
            const uint4 value = there && at < d ? mine[(2 * p + 1) * FEW_THREADS] : none;
            float w[8], score[FEW_HEADS] = { 0 };

            widen<GKV__TYPE_F16>((const uint32_t *)&key, w);
#pragma unroll
            for (int g = 0; g < FEW_HEADS; g++)
#pragma unroll
                for (int i = 0; i < 8; i++)
                    score[g] = fmaf(q[g][i], w[i], score[g]);
#pragma unroll
            for (int i = LANES / 2; i; i /= 2)
#pragma unroll
                for (int g = 0; g < FEW_HEADS; g++)
                    score[g] += __shfl_xor_sync(~0u, score[g], i);
            widen<GKV__TYPE_F16>((const uint32_t *)&value, w);
#pragma unroll
            for (int g = 0; g < FEW_HEADS; g++) {
                const float x = there ? capped(score[g], a.cap) : -INFINITY, most = fmaxf(top[g], x);
                const float keep = exp2f(top[g] - most), e = exp2f(x - most);

                top[g] = most;
                sum[g] = fmaf(sum[g], keep, e);
#pragma unroll
                for (int i = 0; i < 8; i++)
                    acc[g][i] = fmaf(acc[g][i], keep, e * w[i]);
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int g = 0; g < FEW_HEADS; g++) {
        float4 *to = (float4 *)(sums + (group * FEW_HEADS + g) * d + at);

        if (at < d) {
            to[0] = make_float4(acc[g][0], acc[g][1], acc[g][2], acc[g][3]);
            to[1] = make_float4(acc[g][4], acc[g][5], acc[g][6], acc[g][7]);
        }
        if (at == 0) {
            s->top[group][g] = top[g];
            s->sum[group][g] = sum[g];
        }
    }
    __syncthreads();
    for (uint32_t g = warp; g < ng; g += FEW_WARPS) {
        const bool there = lane < N_GROUPS;
        float t[2] = { there ? s->top[lane][g] : -INFINITY, -INFINITY };
        const float e[2] = { there ? s->sum[lane][g] : 0, 0 };
        const float2 all = weigh(t, e);

        s->weight[lane][g] = n_parts > 1 ? t[0] : t[0] / (all.y + sink_of(a.sinks, head0 + g, all.x));
        if (lane == 0 && n_parts > 1)
            *(float2 *)(a.partial + ((row0 + g) * MAX_PARTS + part) * (d + 2) + d) = all;
    }
    __syncthreads();
    for (uint32_t i = tid; i < ng * LANES * 8; i += FEW_THREADS) {
        const uint32_t g = i / (LANES * 8), e = i % (LANES * 8);
        float x = 0;

        if (e >= d)
            continue;
#pragma unroll 8
        for (uint32_t j = 0; j < N_GROUPS; j++)
            x = fmaf(s->weight[j][g], sums[(j * FEW_HEADS + g) * d + e], x);
        if (n_parts == 1)
            a.out[(row0 + g) * d + e] = x;
        else
            a.partial[((row0 + g) * MAX_PARTS + part) * (d + 2) + e] = x;
    }
    if (n_parts == 1)
        return;
    __threadfence();
    __syncthreads();
    if (tid == 0)
        s->is_last = atomicAdd(a.arrived + row0, 1) == n_parts - 1;
    __syncthreads();
    if (!s->is_last)
        return;
    __threadfence();
    for (uint32_t g = warp; g < ng; g += FEW_WARPS) {
        const float *from = a.partial + (row0 + g) * MAX_PARTS * (d + 2) + d;
        float2 all;
        float t[2], e[2], whole;

#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t p = lane + 32 * i;
            const float2 x = p < n_parts ? __ldcg((const float2 *)(from + (size_t)p * (d + 2)))
                                         : make_float2(-INFINITY, 0);

            t[i] = x.x;
            e[i] = x.y;
        }
        all = weigh(t, e);
        whole = all.y + sink_of(a.sinks, head0 + g, all.x);
        s->weight[lane][g] = t[0] / whole;
        s->weight[lane + 32][g] = t[1] / whole;
    }
    __syncthreads();
    for (uint32_t i = tid; i < ng * LANES * 8; i += FEW_THREADS) {
        const uint32_t g = i / (LANES * 8), e = i % (LANES * 8);
        const float *from = a.partial + (row0 + g) * MAX_PARTS * (d + 2) + e;
        float x = 0;

        if (e >= d)
            continue;
#pragma unroll 8
        for (uint32_t p = 0; p < n_parts; p++)
            x = fmaf(s->weight[p][g], __ldcg(from + (size_t)p * (d + 2)), x);
        a.out[(row0 + g) * d + e] = x;
    }
    if (tid == 0)
        a.arrived[row0] = 0;
}

/* ---- heads wider than FEW_MAX_DIM --------------------------------------------------------- */

enum { WIDE_THREADS = 256, WIDE_WARPS = WIDE_THREADS / 32, WIDE_PER_LANE = 16, WIDE_MAX_DIM = 32 * WIDE_PER_LANE };

/* Block (query head, query): a warp takes every WIDE_WARPS-th key, a lane every 32nd pair of elements. */
__global__ void __launch_bounds__(WIDE_THREADS) attend_wide(const __grid_constant__ few_args a)
{
    __shared__ float sums[WIDE_WARPS][WIDE_MAX_DIM], tops[WIDE_WARPS], wholes[WIDE_WARPS];
    const heads &h = a.h;
    const uint32_t d = h.head_dim, head = blockIdx.x, query = blockIdx.y;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t ih = head / (h.n_head / kept_heads(h));
    const half *k = a.k + (size_t)ih * h.n_max * d, *v = a.v + (size_t)ih * h.n_max * d;
    float q[WIDE_PER_LANE], acc[WIDE_PER_LANE], top = -1e30f, sum = 0, most = -1e30f, whole = 0;

    grid_go();
    grid_wait();
    const uint32_t slot = __ldcg(a.pos) - h.shift + query;
#pragma unroll
    for (uint32_t i = 0; i < WIDE_PER_LANE; i++) {
        const uint32_t at = (i / 2 * 32 + lane) * 2 + i % 2;

        q[i] = at < d ? __half2float(a.q[((size_t)query * h.n_head + head) * d + at]) : 0;
        acc[i] = 0;
    }
    for (uint32_t key = first_key(h, slot) + warp; key <= slot; key += WIDE_WARPS) {
        float x = 0, keep, e;

#pragma unroll
        for (uint32_t i = 0; i < WIDE_PER_LANE; i += 2) {
            const uint32_t at = (i / 2 * 32 + lane) * 2;
            const uint32_t w = at < d ? __ldcg((const uint32_t *)(k + (size_t)key * d + at)) : 0;

            x = fmaf(q[i], low_half(w), x);
            x = fmaf(q[i + 1], high_half(w), x);
        }
        x = capped(warp_sum(x), a.cap);
        most = fmaxf(top, x);
        keep = exp2f(top - most);
        e = exp2f(x - most);
        top = most;
        sum = fmaf(sum, keep, e);
#pragma unroll
        for (uint32_t i = 0; i < WIDE_PER_LANE; i += 2) {
            const uint32_t at = (i / 2 * 32 + lane) * 2;
            const uint32_t w = at < d ? __ldcg((const uint32_t *)(v + (size_t)key * d + at)) : 0;

            acc[i] = fmaf(acc[i], keep, e * low_half(w));
            acc[i + 1] = fmaf(acc[i + 1], keep, e * high_half(w));
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < WIDE_PER_LANE; i++)
        sums[warp][(i / 2 * 32 + lane) * 2 + i % 2] = acc[i];
    if (lane == 0) {
        tops[warp] = top;
        wholes[warp] = sum;
    }
    __syncthreads();
    most = -1e30f;
    for (uint32_t w = 0; w < WIDE_WARPS; w++)
        most = fmaxf(most, tops[w]);
    for (uint32_t w = 0; w < WIDE_WARPS; w++)
        whole = fmaf(wholes[w], exp2f(tops[w] - most), whole);
    whole += sink_of(a.sinks, head, most);
    for (uint32_t i = threadIdx.x; i < d; i += WIDE_THREADS) {
        float x = 0;

        for (uint32_t w = 0; w < WIDE_WARPS; w++)
            x = fmaf(sums[w][i], exp2f(tops[w] - most), x);
        a.out[((size_t)query * h.n_head + head) * d + i] = x / whole;
    }
}

/* ---- many queries: tiles of 64 queries and 64 keys on the matrix units ------------------- */

enum { TILE = 64, TILE_THREADS = 128 };

__device__ inline void mma(float *c, const uint32_t *a, const uint32_t *b)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int i = 0; i < 2; i++)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}

/* Loads four 8 x 8 matrices; lane l gives the address of row l % 8 of matrix l / 8. */
__device__ inline void load_matrices(uint32_t *r, const half *p, bool transposed)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(p);

    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

__device__ inline uint32_t pack(float a, float b)
{
    const half2 h = __floats2half2_rn(a, b);

    return *(const uint32_t *)&h;
}

struct tile_args {
    const half *q, *k, *v;              /* q[n][n_head * D]                                  */
    float      *out;                    /* [n][n_head * D]                                   */
    heads       h;
    uint32_t    n, slot;                /* queries in slots slot ...                         */
    const float *sinks;                 /* as in few_args                                    */
    float       cap;
};

/* Keys of a tile: those of wide heads leave no room for more. */
__host__ __device__ constexpr int keys_of_tile(int d)
{
    return d <= 128 ? 64 : 32;
}

/* Loads the rows of a tile of a head, from `first` on, into shared memory, with zeros after the last of n. */
template <int D> __device__ inline void load_tile(half *to, const half *from, uint32_t first, uint32_t n)
{
#pragma unroll
    for (int i = threadIdx.x; i < keys_of_tile(D) * D / 8; i += TILE_THREADS) {
        const uint32_t row = i / (D / 8), at = i % (D / 8) * 8;
        uint4 x = make_uint4(0, 0, 0, 0);

        if (first + row < n)
            x = *(const uint4 *)(from + (size_t)(first + row) * D + at);
        *(uint4 *)(to + row * (D + 8) + at) = x;
    }
}

/* Block (tile of queries, query head); a warp has 16 queries.  Queries with the most keys go first. */
template <int D>
__global__ void __launch_bounds__(TILE_THREADS) attend_tiles(const __grid_constant__ tile_args a)
{
    constexpr int KEYS = keys_of_tile(D);
    __shared__ __align__(16) half ks[KEYS * (D + 8)], vs[KEYS * (D + 8)];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y;
    const uint32_t ih = head / (a.h.n_head / kept_heads(a.h));
    const half *k = a.k + (size_t)ih * a.h.n_max * D, *v = a.v + (size_t)ih * a.h.n_max * D;
    const uint32_t n_keys = a.slot + min(a.n, (tile + 1) * TILE);
    const uint32_t row0 = tile * TILE + warp * 16 + lane / 4;   /* and row0 + 8 */
    const uint32_t seen[2] = { first_key(a.h, a.slot + row0), first_key(a.h, a.slot + row0 + 8) };
    uint32_t q[D / 16][4];
    float out[D / 8][4], top[2] = { -1e30f, -1e30f }, sum[2] = { 0, 0 };

#pragma unroll
    for (int i = 0; i < D / 16; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t row = row0 + j % 2 * 8, at = 16 * i + j / 2 * 8 + lane % 4 * 2;

            q[i][j] = row < a.n ? *(const uint32_t *)(a.q + ((size_t)row * a.h.n_head + head) * D + at) : 0;
        }
#pragma unroll
    for (int i = 0; i < D / 8; i++)
        out[i][0] = out[i][1] = out[i][2] = out[i][3] = 0;

    for (uint32_t first = first_key(a.h, a.slot + tile * TILE) / KEYS * KEYS; first < n_keys; first += KEYS) {
        float s[KEYS / 8][4], most[2];

        __syncthreads();
        load_tile<D>(ks, k, first, n_keys);
        load_tile<D>(vs, v, first, n_keys);
        __syncthreads();
        /* Scores: rows of keys are the columns of the second factor. */
#pragma unroll
        for (int i = 0; i < KEYS / 8; i += 2) {
#pragma unroll
            for (int j = 0; j < 4; j++)
                s[i][j] = s[i + 1][j] = 0;
#pragma unroll
            for (int c = 0; c < D / 16; c++) {
                uint32_t b[4];

                load_matrices(b, ks + (i * 8 + lane / 16 * 8 + lane % 8) * (D + 8) + c * 16 +
                              lane / 8 % 2 * 8, false);
                mma(s[i], q[c], b);
                mma(s[i + 1], q[c], b + 2);
            }
        }
        if (a.cap > 0) {
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    s[i][j] = capped(s[i][j], a.cap);
        }
        /* Mask keys after a query's own slot, and those that are too far before it. */
        if (first + KEYS > a.slot + tile * TILE + warp * 16 || first < seen[0] || first < seen[1]) {
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (first + i * 8 + lane % 4 * 2 + j % 2 > a.slot + row0 + j / 2 * 8 ||
                        first + i * 8 + lane % 4 * 2 + j % 2 < seen[j / 2])
                        s[i][j] = -INFINITY;
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float keep, e = 0;

            most[r] = top[r];
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++)
                most[r] = fmaxf(most[r], fmaxf(s[i][2 * r], s[i][2 * r + 1]));
            most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 1));
            most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 2));
            keep = exp2f(top[r] - most[r]);
            top[r] = most[r];
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                for (int j = 2 * r; j < 2 * r + 2; j++) {
                    s[i][j] = exp2f(s[i][j] - most[r]);
                    e += s[i][j];
                }
            sum[r] = sum[r] * keep + e;
#pragma unroll
            for (int i = 0; i < D / 8; i++) {
                out[i][2 * r] *= keep;
                out[i][2 * r + 1] *= keep;
            }
        }
#pragma unroll
        for (int c = 0; c < KEYS / 16; c++) {
            const uint32_t p[4] = { pack(s[2 * c][0], s[2 * c][1]), pack(s[2 * c][2], s[2 * c][3]),
                                    pack(s[2 * c + 1][0], s[2 * c + 1][1]),
                                    pack(s[2 * c + 1][2], s[2 * c + 1][3]) };

#pragma unroll
            for (int i = 0; i < D / 8; i += 2) {
                uint32_t b[4];

                load_matrices(b, vs + (c * 16 + lane / 8 % 2 * 8 + lane % 8) * (D + 8) + i * 8 +
                              lane / 16 * 8, true);
                mma(out[i], p, b);
                mma(out[i + 1], p, b + 2);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
        sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
        sum[r] += sink_of(a.sinks, head, top[r]);
        if (row0 + r * 8 >= a.n)
            continue;
#pragma unroll
        for (int i = 0; i < D / 8; i++)
            *(float2 *)(a.out + ((size_t)(row0 + r * 8) * a.h.n_head + head) * D + i * 8 + lane % 4 * 2) =
                make_float2(out[i][2 * r] / sum[r], out[i][2 * r + 1] / sum[r]);
    }
}

#endif
