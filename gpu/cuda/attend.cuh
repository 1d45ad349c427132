/* SPDX-License-Identifier: BSD-2-Clause
 * attend.cuh - RoPE, the KV cache, and causal attention over it.
 *
 * Queries come scaled by log2(e) / sqrt(head_dim), so scores are exponents of two.  Keys and
 * values are f16, [KV head][position][head_dim] in each layer. */
#ifndef ATTEND_CUH
#define ATTEND_CUH

#include "gpu/cuda/gemv.cuh"

/* turn[n][n_rot / 2]: cosine and sine.  Angles reach a million radians: in double. */
__global__ void turn_table(const double *freq, float2 *turn, uint32_t half_rot, uint64_t n)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    double s, c;

    if (i >= n * half_rot)
        return;
    sincos((double)(i / half_rot) * freq[i % half_rot], &s, &c);
    turn[i] = make_float2((float)c, (float)s);
}

/* Rows qkv[n][(n_head + 2 n_head_kv) * head_dim] to r.  A thread takes a pair. */
__global__ void rope(const float *qkv, const __grid_constant__ rotation r)
{
    const heads &h = r.h;
    const uint32_t pairs = h.head_dim / 2, n_heads = h.n_head + 2 * h.n_head_kv, row = blockIdx.y;
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, head = i / pairs, p = i % pairs;
    const int kind = head < h.n_head ? HEADS_Q : head < h.n_head + h.n_head_kv ? HEADS_K : HEADS_V;
    const float *in = qkv + ((size_t)row * n_heads + head) * h.head_dim;
    uint32_t first, second;

    if (head >= n_heads)
        return;
    pair_of(h, p, &first, &second);
    put_pair(r, kind, row, kind == HEADS_Q ? head : (head - h.n_head) % h.n_head_kv, p, in[first], in[second]);
}

/* ---- few queries: decoding, and heads that the tiles below do not know ------------------- */

enum { FEW_THREADS = 256, FEW_KEYS = 64, FEW_HEADS = 4, FEW_MAX_DIM = 256, MAX_PARTS = 64 };

/* Bytes of shared memory: queries, weights, a tile of keys and of values. */
static size_t few_shared(uint32_t head_dim)
{
    return FEW_HEADS * (head_dim + FEW_KEYS) * 4 + 2 * FEW_KEYS * (head_dim + 8) * 2;
}

struct few_args {
    const half     *q, *k, *v;
    float          *out;                /* [n][n_head * head_dim]                            */
    float          *partial;            /* [n_head][MAX_PARTS][head_dim + 2]                 */
    uint32_t       *arrived;            /* [n_head]: parts of a bunch of heads; left at 0    */
    const uint32_t *pos;
    heads           h;
};

/* Block (part, KV head and up to FEW_HEADS of its query heads, query).  Parts are runs of whole
 * tiles; the last block to arrive adds them up, in their order.  D 0: heads of any size. */
template <int D> __global__ void __launch_bounds__(FEW_THREADS) attend_few(const __grid_constant__ few_args a)
{
    extern __shared__ uint4 shared[];
    __shared__ float top[FEW_HEADS], sum[FEW_HEADS], keep[FEW_HEADS];
    __shared__ bool is_last;
    const heads &h = a.h;
    const uint32_t d = D ? D : h.head_dim, tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const uint32_t per_kv = h.n_head / h.n_head_kv, bunches = (per_kv + FEW_HEADS - 1) / FEW_HEADS;
    const uint32_t ih = blockIdx.y / bunches, g0 = blockIdx.y % bunches * FEW_HEADS;
    const uint32_t ng = min((uint32_t)FEW_HEADS, per_kv - g0), head0 = ih * per_kv + g0, row = d + 8;
    /* Of a head's elements, each is of `slices` threads, which take turns with the keys. */
    const uint32_t slices = FEW_THREADS / d, mine = tid % d, slice = tid / d;
    const half *k = a.k + (size_t)ih * h.n_max * d, *v = a.v + (size_t)ih * h.n_max * d;
    float *q = (float *)shared, *weight = q + FEW_HEADS * d;    /* weight[key][head] */
    half *keys = (half *)(weight + FEW_HEADS * FEW_KEYS), *values = keys + FEW_KEYS * row;
    float acc[FEW_HEADS] = { 0 };
    const uint32_t old = __ldcg(a.pos), n_keys = old + blockIdx.z + 1;
    const uint32_t n_tiles = (n_keys + FEW_KEYS - 1) / FEW_KEYS;
    const uint32_t per_part = (n_tiles + gridDim.x - 1) / gridDim.x;
    const uint32_t n_parts = (n_tiles + per_part - 1) / per_part;
    const uint32_t first_tile = blockIdx.x * per_part, last_tile = min(n_tiles, first_tile + per_part);
    const auto load = [&](uint32_t tile, uint32_t from, uint32_t to) {
        const uint32_t first = tile * FEW_KEYS, chunks = d / 8;

        from = max(from, first) - first;
        to = min(to, first + FEW_KEYS);
#pragma unroll 4
        for (uint32_t i = from * chunks + tid; i < (max(to, first) - first) * chunks; i += FEW_THREADS) {
            const size_t at = (size_t)first * d + (size_t)i * 8;
            const uint32_t place = i / chunks * row + i % chunks * 8;

            *(uint4 *)(keys + place) = __ldcg((const uint4 *)(k + at));
            *(uint4 *)(values + place) = __ldcg((const uint4 *)(v + at));
        }
    };

    grid_go();
    if (blockIdx.x >= n_parts) {
        grid_wait();
        return;
    }
    load(first_tile, 0, min(old, n_keys));              /* keys of earlier calls */
    grid_wait();
    load(first_tile, old, n_keys);
    for (uint32_t i = tid; i < FEW_HEADS * d; i += FEW_THREADS)
        q[i] = i < ng * d ? __half2float(__ldcg(a.q + ((size_t)blockIdx.z * h.n_head + head0) * d + i)) : 0;
    if (tid < FEW_HEADS) {
        top[tid] = -INFINITY;
        sum[tid] = 0;
    }
    for (uint32_t tile = first_tile; tile < last_tile; tile++) {
        const uint32_t n = min((uint32_t)FEW_KEYS, n_keys - tile * FEW_KEYS);
        const uint32_t key = tid % FEW_KEYS, g = tid / FEW_KEYS;
        float dot = 0, more = 0;

        if (tile > first_tile) {
            __syncthreads();
            load(tile, 0, n_keys);
        }
        __syncthreads();
        for (uint32_t i = 0; i < d && key < n; i += 8) {
            const float4 q0 = *(const float4 *)(q + g * d + i), q1 = *(const float4 *)(q + g * d + i + 4);
            float w[8];

            widen<GKV__TYPE_F16>(*(const uint4 *)(keys + key * row + i), w);
            dot = fmaf(w[0], q0.x, fmaf(w[1], q0.y, fmaf(w[2], q0.z, fmaf(w[3], q0.w, dot))));
            more = fmaf(w[4], q1.x, fmaf(w[5], q1.y, fmaf(w[6], q1.z, fmaf(w[7], q1.w, more))));
        }
        weight[key * FEW_HEADS + g] = key < n ? dot + more : -INFINITY;
        __syncthreads();
        if (warp < FEW_HEADS) {
            float *w0 = weight + lane * FEW_HEADS + warp, *w1 = w0 + 32 * FEW_HEADS;
            const float before = top[warp], now = fmaxf(before, warp_max(fmaxf(*w0, *w1)));
            const float e0 = exp2f(*w0 - now), e1 = exp2f(*w1 - now), e = warp_sum(e0 + e1);

            *w0 = e0;
            *w1 = e1;
            __syncwarp();
            if (lane == 0) {
                keep[warp] = exp2f(before - now);
                sum[warp] = sum[warp] * keep[warp] + e;
                top[warp] = now;
            }
        }
        __syncthreads();
        if (slice < slices) {
#pragma unroll
            for (int i = 0; i < FEW_HEADS; i++)
                acc[i] *= keep[i];
#pragma unroll 8
            for (uint32_t i = slice; i < n; i += slices) {
                const float x = __half2float(values[i * row + mine]);
                const float4 w = *(const float4 *)(weight + i * FEW_HEADS);

                acc[0] = fmaf(w.x, x, acc[0]);
                acc[1] = fmaf(w.y, x, acc[1]);
                acc[2] = fmaf(w.z, x, acc[2]);
                acc[3] = fmaf(w.w, x, acc[3]);
            }
        }
    }
    /* Slices together, where the tile of keys was: [slice][head][d]. */
    __syncthreads();
    {
        float *part = (float *)keys;

        if (slice < slices)
#pragma unroll
            for (int i = 0; i < FEW_HEADS; i++)
                part[(slice * FEW_HEADS + i) * d + mine] = acc[i];
        __syncthreads();
        for (uint32_t i = tid; i < ng * d; i += FEW_THREADS) {
            const uint32_t g = i / d;
            float x = 0;

            for (uint32_t j = 0; j < slices; j++)
                x += part[j * FEW_HEADS * d + i];
            if (n_parts == 1)
                a.out[((size_t)blockIdx.z * h.n_head + head0) * d + i] = x / sum[g];
            else
                a.partial[((size_t)(head0 + g) * MAX_PARTS + blockIdx.x) * (d + 2) + i % d] = x;
        }
    }
    if (n_parts == 1)
        return;
    if (tid < ng) {
        float *to = a.partial + ((size_t)(head0 + tid) * MAX_PARTS + blockIdx.x) * (d + 2) + d;

        to[0] = top[tid];
        to[1] = sum[tid];
    }
    __threadfence();
    __syncthreads();
    if (tid == 0)
        is_last = atomicAdd(a.arrived + head0, 1) == n_parts - 1;
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    /* What each part counts for, in place of the weights: [head][part]. */
    if (warp < ng) {
        const float *from = a.partial + (size_t)(head0 + warp) * MAX_PARTS * (d + 2) + d;
        float t[2], s[2], most;

#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            const bool there = lane + 32 * i < n_parts;

            t[i] = there ? __ldcg(from + (size_t)(lane + 32 * i) * (d + 2)) : -INFINITY;
            s[i] = there ? __ldcg(from + (size_t)(lane + 32 * i) * (d + 2) + 1) : 0;
        }
        most = warp_max(fmaxf(t[0], t[1]));
        t[0] = exp2f(t[0] - most);
        t[1] = exp2f(t[1] - most);
        most = warp_sum(t[0] * s[0] + t[1] * s[1]);
        weight[warp * MAX_PARTS + lane] = t[0] / most;
        weight[warp * MAX_PARTS + lane + 32] = t[1] / most;
    }
    __syncthreads();
    for (uint32_t i = tid; i < ng * d; i += FEW_THREADS) {
        const float *from = a.partial + (size_t)(head0 + i / d) * MAX_PARTS * (d + 2) + i % d;
        float x = 0;

#pragma unroll 8
        for (uint32_t p = 0; p < n_parts; p++)
            x = fmaf(weight[i / d * MAX_PARTS + p], __ldcg(from + (size_t)p * (d + 2)), x);
        a.out[(size_t)head0 * d + i] = x;
    }
    if (tid == 0)
        a.arrived[head0] = 0;
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

/* Four 8 x 8 matrices; lane l gives the address of row l % 8 of matrix l / 8. */
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
    uint32_t    n, pos;                 /* queries at positions pos ...                      */
};

/* Rows first .. of 64 of a head into shared memory, zeros behind the last. */
template <int D> __device__ inline void load_tile(half *to, const half *from, uint32_t first, uint32_t n)
{
#pragma unroll
    for (int i = threadIdx.x; i < TILE * D / 8; i += TILE_THREADS) {
        const uint32_t row = i / (D / 8), at = i % (D / 8) * 8;
        uint4 x = make_uint4(0, 0, 0, 0);

        if (first + row < n)
            x = *(const uint4 *)(from + (size_t)(first + row) * D + at);
        *(uint4 *)(to + row * (D + 8) + at) = x;
    }
}

/* Block (tile of queries, query head); a warp has 16 queries.  Long rows first. */
template <int D>
__global__ void __launch_bounds__(TILE_THREADS) attend_tiles(const __grid_constant__ tile_args a)
{
    __shared__ __align__(16) half ks[TILE * (D + 8)], vs[TILE * (D + 8)];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t tile = gridDim.x - 1 - blockIdx.x, head = blockIdx.y;
    const uint32_t ih = head / (a.h.n_head / a.h.n_head_kv);
    const half *k = a.k + (size_t)ih * a.h.n_max * D, *v = a.v + (size_t)ih * a.h.n_max * D;
    const uint32_t n_keys = a.pos + min(a.n, (tile + 1) * TILE);
    const uint32_t row0 = tile * TILE + warp * 16 + lane / 4;   /* and row0 + 8 */
    uint32_t q[D / 16][4];
    float out[D / 8][4], top[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 };

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

    for (uint32_t first = 0; first < n_keys; first += TILE) {
        float s[TILE / 8][4], most[2];

        __syncthreads();
        load_tile<D>(ks, k, first, n_keys);
        load_tile<D>(vs, v, first, n_keys);
        __syncthreads();
        /* Scores: rows of keys are columns of the second factor. */
#pragma unroll
        for (int i = 0; i < TILE / 8; i += 2) {
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
        /* Keys behind a query's own position. */
        if (first + TILE > a.pos + tile * TILE + warp * 16) {
#pragma unroll
            for (int i = 0; i < TILE / 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (first + i * 8 + lane % 4 * 2 + j % 2 > a.pos + row0 + j / 2 * 8)
                        s[i][j] = -INFINITY;
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float keep, e = 0;

            most[r] = top[r];
#pragma unroll
            for (int i = 0; i < TILE / 8; i++)
                most[r] = fmaxf(most[r], fmaxf(s[i][2 * r], s[i][2 * r + 1]));
            most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 1));
            most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 2));
            keep = exp2f(top[r] - most[r]);
            top[r] = most[r];
#pragma unroll
            for (int i = 0; i < TILE / 8; i++)
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
        for (int c = 0; c < TILE / 16; c++) {
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
        if (row0 + r * 8 >= a.n)
            continue;
#pragma unroll
        for (int i = 0; i < D / 8; i++)
            *(float2 *)(a.out + ((size_t)(row0 + r * 8) * a.h.n_head + head) * D + i * 8 + lane % 4 * 2) =
                make_float2(out[i][2 * r] / sum[r], out[i][2 * r + 1] / sum[r]);
    }
}

#endif
