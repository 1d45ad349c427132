/* SPDX-License-Identifier: BSD-2-Clause
 * gemv.cuh - one token, or a few, times the weights of a layer, read once and in the file's types.
 *
 * Each block prepares the tokens' rows in shared memory.  Then each warp takes ROWS rows of weights
 * at a time, with its lanes side by side along them.  For quantised types a token's row is rounded to 16 bits
 * in runs of 16, stored as two planes of bytes, so that integer products are exact and take two
 * instructions for four weights.  A token's sums are added in the same order however many there are. */
#ifndef GEMV_CUH
#define GEMV_CUH

#include "gpu/plugin.h"
#include "gpu/cuda/type.cuh"

enum { GEMV_THREADS = 512, GEMV_WARPS = GEMV_THREADS / 32, MAX_SEGMENTS = 3 };

/* Rows of weights at a time: two, because RoPE's pairs are. */
enum { ROWS = 2 };

/* Tokens at a time, at most. */
enum { MOST_TOKENS = GKV_PLUGIN_ROWS };

enum gemv_to { GEMV_STORE, GEMV_ADD, GEMV_GLU, GEMV_HEADS, GEMV_QKV };

struct gemv_segment {
    planes       w;
    uint32_t     n_out;
    float       *y;
    int          kind;                  /* for GEMV_HEADS: HEADS_Q, ... */
    const float *bias;                  /* [n_out] or NULL; of experts, [n_expert][n_out]    */
    uint32_t     per_expert, base;      /* rows first of expert e: e * per_expert + base     */
};

enum { HEADS_Q, HEADS_K, HEADS_V };

/* Heads of a layer, and slots of its keys and values. */
struct heads {
    uint32_t n_head, n_head_kv, head_dim, n_rot, halves;
    uint32_t n_max;                     /* slots that the cache has room for                 */
    uint32_t shift;                     /* the token at position p is in slot p - shift      */
    uint32_t repeat;                    /* how often each KV head is in the cache            */
    uint32_t window, chunk;             /* what a query sees: gpu/plugin.h                   */
    uint32_t per_pair;                  /* 2^32 / (head_dim / 2), rounded up: the high 32 bits of
                                         * a product with it are a division by head_dim / 2  */
};

/* KV heads of the cache. */
__host__ __device__ inline uint32_t kept_heads(const heads &h)
{
    return h.n_head_kv * h.repeat;
}

/* The first key that a query in slot p sees. */
__host__ __device__ inline uint32_t first_key(const heads &h, uint32_t p)
{
    const uint32_t by_window = h.window && p + 1 > h.window ? p + 1 - h.window : 0;
    const uint32_t by_chunk = h.chunk ? p / h.chunk * h.chunk : 0;

    return by_window > by_chunk ? by_window : by_chunk;
}

/* Where queries, keys and values go: attend.cuh. */
struct rotation {
    heads           h;
    const uint32_t *pos;                /* position of the first row                         */
    const float2   *turn;
    uint32_t        first;              /* position of its first row                         */
    half           *q, *k, *v;
    float           scale;              /* of queries                                        */
    float           temper;             /* 0: none                                           */
    uint32_t        temper_span, temper_shift;
};

/* For each token y[n_out] of each segment = or += W x, with x as it is or after RMSNorm with weights `norm`.
 * STORE: times factor, capped; ADD: times factor.  GLU: two segments, gate and up; silu(gate) * up, or what `glu`
 * says, goes to the y of the first.  HEADS: rotated, to r.  QKV: to each segment's y.
 * Otherwise one segment is given twice: a group's second row is read from the second. */
struct gemv_args {
    gemv_segment seg[MAX_SEGMENTS];
    uint32_t     n_in, n_groups;        /* groups of ROWS rows                               */
    uint32_t     split, shift;          /* warps that share a group: 1 << shift              */
    uint32_t     share;                 /* units of a row for each of these warps            */
    gemv_to      to;
    bool         first, last;           /* among the launches that share x: see gemv         */
    uint32_t     n, token;              /* tokens, and the number of the first               */
    const float *x, *norm;              /* of token 0                                        */
    uint32_t     x_step, y_step;        /* from token to token                               */
    float        eps, factor, cap;
    int          glu;                   /* enum gkv_plugin_glu                               */
    rotation     r;
    /* Of experts: blockIdx.y is the number of a token and one of its experts, per_x of which have the same x. */
    const uint32_t *expert;             /* [gridDim.y], or NULL: none                        */
    const float    *x_share;            /* [gridDim.y] factor of x, or NULL                  */
    uint32_t        per_x;
};

/* Which rows of weights a kernel takes. */
enum gemv_mode { BY_ROWS, BY_HEADS, BY_EXPERTS };

/* A kernel of a step begins while the previous one still runs.  Before grid_wait it may only do what does not
 * depend on that one.  CUDA 11.8 knows these instructions, but not the functions that CUDA 12 has for them. */
__device__ inline void grid_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void grid_go(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Copies 16 bytes to shared memory; after copied(), the thread that copied them may read them. */
__device__ inline void copy_vector(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#else
    *(uint4 *)to = __ldcg((const uint4 *)from);
#endif
}

__device__ inline void copied(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ inline half to_half(float x)
{
    return __float2half_rn(fminf(fmaxf(x, -65504), 65504));
}

/* Elements first and second of a head that make pair p: either rotated together or just neighbours. */
__device__ inline void pair_of(const heads &h, uint32_t p, uint32_t *first, uint32_t *second)
{
    const bool apart = h.halves && p < h.n_rot / 2;

    *first = apart ? p : 2 * p;
    *second = apart ? p + h.n_rot / 2 : 2 * p + 1;
}

/* Factor of queries at a position, in layers that have it. */
__device__ inline float heat(const rotation &r, uint32_t at)
{
    return 1 + r.temper * logf((float)(1 + (at + r.temper_shift) / r.temper_span));
}

/* Stores pair p = (a, b) of head ih of a kind, of row `row`, rotated if needed. */
__device__ inline void put_pair(const rotation &r, int kind, uint32_t row, uint32_t ih, uint32_t p, float a,
                                float b)
{
    const heads &h = r.h;
    const uint32_t at = __ldcg(r.pos) + row;
    uint32_t first, second;

    pair_of(h, p, &first, &second);
    if (kind != HEADS_V && p < h.n_rot / 2) {
        const float2 t = r.turn[(size_t)(at - r.first) * (h.n_rot / 2) + p];
        const float c = a * t.x - b * t.y;

        b = b * t.x + a * t.y;
        a = c;
    }
    if (kind == HEADS_Q) {
        const float scale = r.temper > 0 ? r.scale * heat(r, at) : r.scale;
        half *out = r.q + ((size_t)row * h.n_head + ih) * h.head_dim;

        out[first] = to_half(a * scale);
        out[second] = to_half(b * scale);
        return;
    }
    for (uint32_t i = 0; i < h.repeat; i++) {
        half *out = (kind == HEADS_K ? r.k : r.v) + ((size_t)(ih * h.repeat + i) * h.n_max + at - h.shift) * h.head_dim;

        out[first] = to_half(a);
        out[second] = to_half(b);
    }
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

/* Sum over all threads of the block, returned to each; blockDim.x is a multiple of 32. */
__device__ inline float block_sum(float v)
{
    __shared__ float part[32];

    v = warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0);
}

__device__ inline float silu(float x)
{
    return __fdividef(x, 1 + __expf(-x));
}

/* The activation of gate and up: enum gkv_plugin_glu. */
__device__ inline float activate(int glu, float gate, float up)
{
    if (glu == GKV_PLUGIN_GELU)
        return 0.5f * gate * (1 + tanhf(0.7978845608028654f * fmaf(0.044715f * gate * gate, gate, gate))) * up;
    if (glu == GKV_PLUGIN_CLAMPED) {
        const float g = fminf(gate, 7), u = fminf(fmaxf(up, -7), 7);

        return __fdividef(g, 1 + __expf(-1.702f * g)) * (1 + u);
    }
    return silu(gate) * up;
}

__device__ inline float capped(float x, float cap)
{
    return cap > 0 ? cap * tanhf(x / cap) : x;
}

__device__ inline float plus(const float *bias, uint32_t i, float x)
{
    return bias ? x + __ldg(bias + i) : x;
}

/* ---- the row in shared memory ----------------------------------------------------------- */

/* Data that other multiprocessors have just written must be read from the second-level cache. */
__device__ inline float4 fresh(const float *x, uint32_t i)
{
    return __ldcg((const float4 *)x + i);
}

__device__ inline float square(float4 v)
{
    return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
}

__device__ inline float4 times(float4 v, float4 w)
{
    return make_float4(v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w);
}

/* How a type multiplies: PER weights in a unit, and the tokens' rows in shared memory.  All threads of a warp call
 * put, each with four elements.  RMSNorm divides all of x by one number, so the division is done at the end,
 * on the products. */
template <int T, bool DENSE = is_dense(T)> struct product;

template <int T> struct product<T, true> {
    enum { PER = dense<T>::PER, PARTS = PER / 4 };
    float4  *row;                       /* parts of a unit are apart, so that lanes read adjacent data */
    uint32_t n_units;

    __device__ product(uint4 *shared, uint32_t n_in) : row((float4 *)shared), n_units(n_in / PER) { }
    __device__ inline void put(uint32_t token, uint32_t i, bool there, float4 x) const
    {
        if (there)
            row[(token * PARTS + i % PARTS) * n_units + i / PARTS] = x;
    }
    template <int N>
    __device__ inline void add(const uint32_t (*w)[4], uint32_t step, const uint32_t *, float (*acc)[ROWS]) const
    {
        float wide[ROWS][PER];

#pragma unroll
        for (int i = 0; i < ROWS; i++)
            widen<T>(w[i], wide[i]);
#pragma unroll
        for (uint32_t t = 0; t < N; t++)
#pragma unroll
            for (uint32_t p = 0; p < PARTS; p++) {
                const float4 x = row[(t * PARTS + p) * n_units + step];

#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    acc[t][i] = fmaf(x.x, wide[i][4 * p], acc[t][i]);
                    acc[t][i] = fmaf(x.y, wide[i][4 * p + 1], acc[t][i]);
                    acc[t][i] = fmaf(x.z, wide[i][4 * p + 2], acc[t][i]);
                    acc[t][i] = fmaf(x.w, wide[i][4 * p + 3], acc[t][i]);
                }
            }
    }
};

struct run_scale { float s, sum; };

/* acc + a times the product of a run's integers with the row's + b times the sum of the row's. */
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

/* The activations of a unit of weights: two runs.  Its odd number of vectors avoids bank conflicts in shared
 * memory. */
struct unit_row {
    uint4     high[2], low[2];
    run_scale scale[2];
};

/* Bytes of a token's row in shared memory. */
static inline size_t gemv_row(int type, uint32_t n_in)
{
    return is_dense(type) ? (size_t)n_in * 4 : (size_t)n_in / 32 * sizeof(unit_row);
}

/* The maximum over four adjacent lanes. */
__device__ inline float most_of_four(float v)
{
    v = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
    return fmaxf(v, __shfl_xor_sync(~0u, v, 2));
}

__device__ inline int sum_of_four(int v)
{
    v += __shfl_xor_sync(~0u, v, 1);
    return v + __shfl_xor_sync(~0u, v, 2);
}

template <int T> struct product<T, false> {
    enum { PER = 32 };
    unit_row *row;
    uint32_t  n_units;

    __device__ product(uint4 *shared, uint32_t n_in) : row((unit_row *)shared), n_units(n_in / 32) { }
    __device__ inline void put(uint32_t token, uint32_t i, bool there, float4 x) const
    {
        const float v[4] = { x.x, x.y, x.z, x.w };
        const float most = most_of_four(fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
        const float s = most * (1 / 32512.0f), inverse = most > 1e-30f ? __fdividef(32512, most) : 0;
        uint32_t high = 0, low = 0, unit, which;
        int sum = 0;

#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int q = __float2int_rn(v[j] * inverse), top = (q + 128) >> 8;

            sum += q;
            high |= (uint32_t)(top & 255) << 8 * j;
            low |= (uint32_t)((q - 256 * top) & 255) << 8 * j;
        }
        sum = sum_of_four(sum);
        if (!there)
            return;
        unit_of_run<T>(i / 4, &unit, &which);
        unit += token * n_units;
        ((uint32_t *)&row[unit].high[which])[i % 4] = high;
        ((uint32_t *)&row[unit].low[which])[i % 4] = low;
        if (i % 4 == 0)
            row[unit].scale[which] = { s, s * (float)sum };
    }
    template <int N>
    __device__ inline void add(const uint32_t (*w)[unit_bytes(T) / 4], uint32_t step, const uint32_t *n,
                               float (*acc)[ROWS]) const
    {
        unit u[ROWS];

#pragma unroll
        for (int i = 0; i < ROWS; i++)
            unpack_unit<T>(w[i], n[i], u[i]);
#pragma unroll
        for (uint32_t t = 0; t < N; t++) {
            const unit_row &x = row[t * n_units + step];
            const uint4 h0 = x.high[0], h1 = x.high[1], l0 = x.low[0], l1 = x.low[1];
            const float4 s = *(const float4 *)x.scale;

#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                acc[t][i] = run_dot(u[i].q, h0, l0, { s.x, s.y }, u[i].a[0], u[i].b[0], acc[t][i]);
                acc[t][i] = run_dot(u[i].q + 4, h1, l1, { s.z, s.w }, u[i].a[1], u[i].b[1], acc[t][i]);
            }
        }
    }
};

/* Groups of four elements of each of n rows that a thread takes at a time. */
__host__ __device__ constexpr uint32_t fours_of(int n)
{
    return n <= 2 ? 4 : 2;
}

/* Weights of the norm for the groups of four from number `from` on, loaded before x is available. */
template <int N> __device__ inline void load_norm(const gemv_args &g, uint32_t from, float4 *w)
{
    const float4 *const norm = (const float4 *)g.norm + from + threadIdx.x;
    const int n_left = (int)(g.n_in / 4 - from - threadIdx.x);

#pragma unroll
    for (uint32_t i = 0; i < fours_of(N) && g.norm; i++)
        if ((int)(i * blockDim.x) < n_left)
            w[i] = __ldg(norm + i * blockDim.x);
}

/* Prepares x of N tokens in shared memory; factor[N] is for products with them. */
template <int N, class P>
__device__ inline void prepare(const gemv_args &g, const float *from_x, const P &p, float4 *w, float *factor)
{
    constexpr uint32_t FOURS = fours_of(N);
    const uint32_t n = g.n_in / 4;
    float sum[N] = { 0 };

    for (uint32_t from = 0; from < n; from += FOURS * blockDim.x) {
        float4 x[N][FOURS];

#pragma unroll
        for (uint32_t t = 0; t < N; t++)
#pragma unroll
            for (uint32_t i = 0; i < FOURS; i++) {
                const uint32_t at = from + i * blockDim.x + threadIdx.x;

                x[t][i] = at < n ? fresh(from_x + (size_t)t * g.x_step, at) : make_float4(0, 0, 0, 0);
            }
        if (from)
            load_norm<N>(g, from, w);
#pragma unroll
        for (uint32_t i = 0; i < FOURS; i++) {
            const uint32_t at = from + i * blockDim.x + threadIdx.x;

            if (from + i * blockDim.x >= n)
                break;
#pragma unroll
            for (uint32_t t = 0; t < N; t++) {
                if (g.norm) {
                    sum[t] += square(x[t][i]);
                    x[t][i] = times(x[t][i], w[i]);
                }
                p.put(t, at, at < n, x[t][i]);
            }
        }
    }
#pragma unroll
    for (uint32_t t = 0; t < N; t++)
        factor[t] = g.norm ? rsqrtf(block_sum(sum[t]) / (float)g.n_in + g.eps) : 1;
    if (!g.norm)
        __syncthreads();
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The pair of a head that a group of rows is. */
struct head_pair { uint32_t seg, head, pair; };

__device__ inline head_pair head_pair_of(const gemv_args &g, uint32_t group)
{
    const uint32_t per_head = g.r.h.head_dim / 2;
    uint32_t seg = 0, head;

    for (; seg < MAX_SEGMENTS - 1 && group >= g.seg[seg].n_out / 2; seg++)
        group -= g.seg[seg].n_out / 2;
    head = __umulhi(group, g.r.h.per_pair);
    return { seg, head, group - head * per_head };
}

/* The first unit of each row of a group, as its number in the matrix.  A group is two rows of one segment, one
 * row of each of two, or a pair of a head.  After the last row, the last one is repeated. */
struct rows { uint32_t seg, first[ROWS]; };

template <int MODE> __device__ inline rows rows_of(const gemv_args &g, uint32_t group, uint32_t n_units,
                                                   uint32_t expert)
{
    rows r = { 0 };

    group = min(group, g.n_groups - 1);
    if constexpr (MODE == BY_HEADS) {
        const head_pair p = head_pair_of(g, group);

        r.seg = p.seg;
        pair_of(g.r.h, p.pair, &r.first[0], &r.first[1]);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            r.first[i] = (r.first[i] + p.head * g.r.h.head_dim) * n_units;
    } else {
        const bool both = g.to == GEMV_GLU;

        r.first[0] = (both ? group : ROWS * group) * n_units;
        r.first[1] = (both ? group : min(ROWS * group + 1, g.seg[0].n_out - 1)) * n_units;
    }
    if constexpr (MODE == BY_EXPERTS)
        for (int i = 0; i < ROWS; i++)
            r.first[i] += (expert * g.seg[i].per_expert + g.seg[i].base) * n_units;
    return r;
}

template <int MODE>
__device__ inline void put_rows(const gemv_args &g, uint32_t group, uint32_t token, float2 sum, uint32_t expert)
{
    const size_t y_at = (size_t)(MODE == BY_EXPERTS ? blockIdx.y : token) * g.y_step;
    const uint32_t first_bias = MODE == BY_EXPERTS ? expert * g.seg[0].n_out : 0;

    if (MODE == BY_EXPERTS && g.x_share) {
        const float share = __ldcg(g.x_share + blockIdx.y);

        sum.x *= share;
        sum.y *= share;
    }
    if constexpr (MODE == BY_HEADS) {
        const head_pair p = head_pair_of(g, group);
        const gemv_segment &seg = g.seg[p.seg];
        uint32_t first, second;

        pair_of(g.r.h, p.pair, &first, &second);
        first += p.head * g.r.h.head_dim;
        second += p.head * g.r.h.head_dim;
        sum.x = plus(seg.bias, first, sum.x);
        sum.y = plus(seg.bias, second, sum.y);
        if (g.to == GEMV_HEADS) {
            put_pair(g.r, seg.kind, token, p.head, p.pair, sum.x, sum.y);
        } else {
            seg.y[y_at + first] = sum.x;
            seg.y[y_at + second] = sum.y;
        }
    } else if (g.to == GEMV_GLU) {
        g.seg[0].y[y_at + group] = activate(g.glu, plus(g.seg[0].bias, first_bias + group, sum.x),
                                            plus(g.seg[1].bias, first_bias + group, sum.y));
    } else {
        const float *const bias = g.seg[0].bias ? g.seg[0].bias + first_bias : NULL;
        float *y = g.seg[0].y + y_at + ROWS * group;
        const float v[ROWS] = { g.factor * plus(bias, ROWS * group, sum.x), g.factor * sum.y };

        y[0] = g.to == GEMV_ADD ? __ldcg(y) + v[0] : capped(v[0], g.cap);
        if (ROWS * group + 1 < g.seg[0].n_out) {
            const float w = bias ? v[1] + g.factor * __ldg(bias + ROWS * group + 1) : v[1];

            y[1] = g.to == GEMV_ADD ? __ldcg(y + 1) + w : capped(w, g.cap);
        }
    }
}

/* Units of a row for each of `split` warps, a multiple of 32. */
static inline uint32_t units_of_warp(uint32_t n_units, uint32_t split)
{
    return (n_units + 32 * split - 1) / (32 * split) * 32;
}

/* Units of a row that a lane loads together. */
__host__ __device__ constexpr int batch_of(int type)
{
    return is_dense(type) ? 4 : unit_bytes(type) <= 40 ? 2 : 1;
}

/* Bytes after the last matrix that may be read, but are not used: the shares of warps may be longer than
 * the row, and so may a batch. */
enum { READ_BEHIND = (GEMV_WARPS * 32 + 128) * 32 };

/* A lane's units, and the number of the first unit of each row in the matrix. */
template <int T> struct batch {
    uint32_t v[batch_of(T)][ROWS][unit_bytes(T) / 4], n[ROWS];
};

/* Loads units number at, at + 32, ... of each row of a group, or whatever follows the row in memory. */
template <int T, int MODE, int B = 0>
__device__ inline void load_batch(const gemv_args &g, const rows &r, uint32_t at, batch<T> &to)
{
    if constexpr (B < batch_of(T)) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_unit<T, B>(g.seg[MODE == BY_HEADS ? r.seg : i].w, r.first[i] + at, to.v[B][i]);
        load_batch<T, MODE, B + 1>(g, r, at, to);
    } else {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            to.n[i] = r.first[i] + at;
    }
}

/* A batch is loaded while the previous one is used; the first batch, while the previous kernel still
 * runs.  A warp takes a group of rows, or shares it with split - 1 others; lane t stores the results of token t.
 * Launches that share x run side by side.  Only the first waits for x, and lets the next one begin
 * when it has x; the others wait at their end, so that waiting for the last launch is waiting for all. */
template <int T, int MODE, int N>
__global__ void __launch_bounds__(GEMV_THREADS, 1) gemv(const __grid_constant__ gemv_args g)
{
    extern __shared__ uint4 shared[];
    __shared__ float2 part[2][N][GEMV_WARPS];
    typedef product<T> P;
    constexpr uint32_t PER_BATCH = 32 * batch_of(T);
    const P p(shared, g.n_in);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, mine = warp >> g.shift;
    const uint32_t per_block = GEMV_WARPS >> g.shift, step = gridDim.x * per_block;
    const uint32_t with = warp & (g.split - 1), begin = with * g.share + lane;
    const uint32_t end = min(p.n_units, begin - lane + g.share);
    uint32_t first = blockIdx.x * per_block, at = begin, round = 0;     /* first: the block's first group */
    batch<T> one, two;
    rows r;
    float4 norm[fours_of(N)];
    float factor[N], acc[N][ROWS] = { };
    uint32_t expert = 0;
    const auto finish = [&] {
        const uint32_t group = first + mine;
        float2 sum = make_float2(0, 0);

#pragma unroll
        for (uint32_t t = 0; t < N; t++) {
            const float2 all = make_float2(warp_sum(acc[t][0]) * factor[t], warp_sum(acc[t][1]) * factor[t]);

            sum = lane == t ? all : sum;
            acc[t][0] = acc[t][1] = 0;
        }
        if (g.split > 1) {
            float2 *all = part[round++ % 2][lane < N ? lane : 0];

            if (lane < N)
                all[warp] = sum;
            __syncthreads();
#pragma unroll 1
            for (uint32_t w = 1; w < g.split && with == 0; w++) {
                sum.x += all[warp + w].x;
                sum.y += all[warp + w].y;
            }
        }
        if (lane < N && with == 0 && group < g.n_groups)
            put_rows<MODE>(g, group, g.token + lane, sum, expert);
    };
    /* Uses a batch while the next one is loaded; false when this one was the last. */
    const auto turn = [&](const batch<T> &now, batch<T> &next) {
        const bool last = at - begin + PER_BATCH >= g.share;

        if (last && first + step < g.n_groups)
            r = rows_of<MODE>(g, first + step + mine, p.n_units, expert);
        if (!last || first + step < g.n_groups)
            load_batch<T, MODE>(g, r, last ? begin : at + PER_BATCH, next);
#pragma unroll
        for (uint32_t b = 0; b < batch_of(T); b++)
            if (at + 32 * b < end)
                p.template add<N>(now.v[b], at + 32 * b, now.n, acc);
        at += PER_BATCH;
        if (!last)
            return true;
        finish();
        at = begin;
        first += step;
        return first < g.n_groups;
    };

    if (g.last)
        grid_go();
    if constexpr (MODE == BY_EXPERTS) {         /* which one, the previous kernel says */
        grid_wait();
        expert = __ldcg(g.expert + blockIdx.y);
    }
    r = rows_of<MODE>(g, first + mine, p.n_units, expert);
    load_batch<T, MODE>(g, r, begin, one);
    load_norm<N>(g, 0, norm);
    if (g.first)
        grid_wait();
    if (!g.last)
        grid_go();
    prepare<N>(g, g.x + (size_t)(MODE == BY_EXPERTS ? blockIdx.y / g.per_x : g.token) * g.x_step, p, norm, factor);
    while (turn(one, two) && turn(two, one))
        ;
    if (!g.first)
        grid_wait();
}

#endif
