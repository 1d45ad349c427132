/* SPDX-License-Identifier: BSD-2-Clause
 * rows.cuh - what is done row by row around the products: upload, embedding, norms, the gate,
 * the best token.  Operands of products have a form each: f32, f16 or bf16. */
#ifndef ROWS_CUH
#define ROWS_CUH

#include "gpu/cuda/attend.cuh"

enum form { FORM_F32, FORM_F16, FORM_BF16, N_FORMS };

/* The gate's output outgrows f16 in some models: stored divided by this. */
#define GATE_SHRINK 32.0f

template <int F> struct form_of;
template <> struct form_of<FORM_F32>  { typedef float t; };
template <> struct form_of<FORM_F16>  { typedef half t; };
template <> struct form_of<FORM_BF16> { typedef __nv_bfloat16 t; };

__device__ inline void put(float *p, float x) { *p = x; }
__device__ inline void put(half *p, float x) { *p = to_half(x); }
__device__ inline void put(__nv_bfloat16 *p, float x) { *p = __float2bfloat16_rn(x); }

#define FOR_FORM(form, call)                                                                \
    switch (form) {                                                                         \
    case FORM_F32:  { constexpr int F = FORM_F32; call; break; }                            \
    case FORM_F16:  { constexpr int F = FORM_F16; call; break; }                            \
    case FORM_BF16: { constexpr int F = FORM_BF16; call; break; }                           \
    }

/* ---- weights ---------------------------------------------------------------------------- */

struct sorting {
    const uint16_t *from;               /* blocks as in the file                             */
    uint64_t        n, first;           /* blocks, and the number of the first in the matrix */
    uint32_t        units;              /* of two bytes in a block                           */
    int             n_fields;
    field           f[MAX_PLANES];
    planes          to;
};

__global__ void sort_blocks(const __grid_constant__ sorting s)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t block = i / s.units;
    const uint32_t at = (uint32_t)(i % s.units) * 2;

    if (block >= s.n)
        return;
#pragma unroll
    for (int f = 0; f < MAX_PLANES; f++)
        if (f < s.n_fields && at >= s.f[f].at && at < s.f[f].at + s.f[f].bytes &&
            s.f[f].how == COPIED)
            *(uint16_t *)(s.to.p[f] + (s.first + block) * s.f[f].bytes + at - s.f[f].at) = s.from[i];
}

/* The twelve bytes of scales and minima of q4_k and q5_k to four words, each with scale, scale,
 * minimum, minimum of two groups: quant-scale.h says how they are packed. */
__device__ inline void sort_scales_k(const uint8_t *p, uint8_t *to)
{
    for (int i = 0; i < 8; i++) {
        uint8_t *word = to + i / 2 * 4 + i % 2;

        word[0] = i < 4 ? p[i] & 63 : (p[4 + i] & 15) | p[i - 4] >> 6 << 4;
        word[2] = i < 4 ? p[4 + i] & 63 : p[4 + i] >> 4 | p[i] >> 6 << 4;
    }
}

/* The high bits of a unit of q6_k to eight bytes: from the lowest up, of weights j of its first and
 * its second run, and j + 8 of both. */
__device__ inline void sort_high_q6(const uint8_t *p, uint8_t *to)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            const uint8_t *h = p + i / 4 * 32 + i % 2 * 16 + j;
            const int shift = i % 4 / 2 * 2;

            to[i * 8 + j] = (uint8_t)((h[0] >> shift & 3) | (h[0] >> (shift + 4) & 3) << 2 |
                                      (h[8] >> shift & 3) << 4 | (h[8] >> (shift + 4) & 3) << 6);
        }
}

/* The scales of q6_k to a word for two units: first runs, second runs. */
__device__ inline void sort_scales_q6(const uint8_t *p, uint8_t *to)
{
    for (int i = 0; i < 8; i++) {
        uint8_t *word = to + i / 2 * 4 + i % 2;

        word[0] = p[i / 4 * 8 + i % 4];
        word[2] = p[i / 4 * 8 + i % 4 + 4];
    }
}

/* Field f of a block. */
__global__ void sort_field(const __grid_constant__ sorting s, int f)
{
    const uint64_t block = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint8_t *p = (const uint8_t *)s.from + block * s.units * 2 + s.f[f].at;
    uint8_t *to = (uint8_t *)s.to.p[f] + (s.first + block) * s.f[f].stored;

    if (block >= s.n)
        return;
    switch (s.f[f].how) {
    case COPIED:    break;
    case SCALES_K:  sort_scales_k(p, to); break;
    case HIGH_Q6:   sort_high_q6(p, to); break;
    case SCALES_Q6: sort_scales_q6(p, to); break;
    }
}

/* Quantised rows to f16. */
template <int T> __global__ void unpack(planes w, uint64_t n_units, half *out)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per_block = units_of(T);
    unit u;

    if (i >= n_units)
        return;
    get<T>(w, (uint32_t)i, u);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        uint4 *to = (uint4 *)(out + i / per_block * per_block * 32 +
                              (first_run<T>(i % per_block) + r * apart_of(T)) * 16);
        half x[16];

#pragma unroll
        for (int j = 0; j < 16; j++)
            x[j] = to_half(fmaf(u.a[r], element<T>(u.q[4 * r + j / 4], j % 4), u.b[r]));
        to[0] = ((const uint4 *)x)[0];
        to[1] = ((const uint4 *)x)[1];
    }
}

/* bf16 to f16, for devices that cannot multiply bf16. */
__global__ void bf16_to_f16(const uint16_t *in, uint64_t n, half *out)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = to_half(__uint_as_float((uint32_t)in[i] << 16));
}

/* ---- rows ------------------------------------------------------------------------------- */

/* x[n][n_embd] = rows id[n] of the embeddings; blockIdx.y is the row. */
template <int T> __global__ void embed_dense(planes w, const uint32_t *id, float *x, uint32_t n_embd)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per = dense<T>::PER;

    if (i >= n_embd / per)
        return;
    widen<T>((const uint32_t *)(w.p[0] + (size_t)id[blockIdx.y] * n_embd * dense<T>::BYTES + (size_t)i * 16),
             x + (size_t)blockIdx.y * n_embd + i * per);
}

template <int T> __global__ void embed_quantised(planes w, const uint32_t *id, float *x, uint32_t n_embd)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per_block = units_of(T);
    unit u;

    if (i >= n_embd / 32)
        return;
    get<T>(w, id[blockIdx.y] * (n_embd / 32) + i, u);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float *to = x + (size_t)blockIdx.y * n_embd + i / per_block * per_block * 32 +
                    (first_run<T>(i % per_block) + r * apart_of(T)) * 16;

#pragma unroll
        for (int j = 0; j < 16; j++)
            to[j] = fmaf(u.a[r], element<T>(u.q[4 * r + j / 4], j % 4), u.b[r]);
    }
}

/* 1 over the root of the mean square, or 1 when x is to be taken as it is. */
__device__ inline float norm_factor(const float *x, const float *norm, uint32_t n, float eps)
{
    float sum = 0;

    if (!norm)
        return 1;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += x[i] * x[i];
    return rsqrtf(block_sum(sum) / (float)n + eps);
}

/* A block takes a row: out = x, normalised if there are weights for that. */
template <int F> __global__ void norm_rows(const float *x, const float *norm, float eps, uint32_t n,
                                           typename form_of<F>::t *out)
{
    const float *in = x + (size_t)blockIdx.x * n;
    const float f = norm_factor(in, norm, n, eps);

    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        put(out + (size_t)blockIdx.x * n + i, norm ? in[i] * f * norm[i] : in[i]);
}

/* both[n][2 n_ff], gate and up of each row: out[n][n_ff] = factor * silu(gate) * up. */
template <int F> __global__ void glu_rows(const float *both, float factor, uint32_t n_ff,
                                          typename form_of<F>::t *out)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *row = both + (size_t)blockIdx.y * 2 * n_ff;

    if (i < n_ff)
        put(out + (size_t)blockIdx.y * n_ff + i, factor * silu(row[i]) * row[n_ff + i]);
}

/* Into *best the largest logit, as an integer of the same order, above the complement of its
 * place: among equals the first wins. */
__global__ void best_of(const float *logits, uint32_t n, unsigned long long *best)
{
    __shared__ unsigned long long part[32];
    unsigned long long mine = 0;

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
    atomicMax(best, mine);
}

#endif
