/* SPDX-License-Identifier: BSD-2-Clause
 * sort.cuh - sorts blocks of the file into planes (type.cuh), field by field. */
#ifndef SORT_CUH
#define SORT_CUH

#include "gpu/cuda/type.cuh"

struct sorting {
    const uint16_t *from;               /* blocks as in the file                             */
    uint64_t        n, first;           /* number of blocks; index of the first in the matrix */
    uint32_t        bytes, units;       /* of a block; units of two bytes                    */
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

/* Unpacks the twelve bytes of scales and minima of q4_k and q5_k (src/quant/scale.h) to four words, each with
 * scale, scale, minimum, minimum of two groups. */
__device__ inline void sort_scales_k(const uint8_t *p, uint8_t *to)
{
    for (int i = 0; i < 8; i++) {
        uint8_t *word = to + i / 2 * 4 + i % 2;

        word[0] = i < 4 ? p[i] & 63 : (p[4 + i] & 15) | p[i - 4] >> 6 << 4;
        word[2] = i < 4 ? p[4 + i] & 63 : p[4 + i] >> 4 | p[i] >> 6 << 4;
    }
}

/* The high bits of a unit of q6_k, in eight bytes.  Byte j has, from its lowest bits up: those of weight j of
 * the unit's first and second run, then of weight j + 8 of both. */
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

/* The scales of q6_k: a word for two units, with the scales of their first runs, then of their second runs. */
__device__ inline void sort_scales_q6(const uint8_t *p, uint8_t *to)
{
    for (int i = 0; i < 8; i++) {
        uint8_t *word = to + i / 2 * 4 + i % 2;

        word[0] = p[i / 4 * 8 + i % 4];
        word[2] = p[i / 4 * 8 + i % 4 + 4];
    }
}

/* Sorts field f, where it is not simply copied. */
__global__ void sort_field(const __grid_constant__ sorting s, int f)
{
    const uint64_t block = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint8_t *p = (const uint8_t *)s.from + block * s.bytes + s.f[f].at;
    uint8_t *to = (uint8_t *)s.to.p[f] + (s.first + block) * s.f[f].stored;

    if (block >= s.n)
        return;
    switch (s.f[f].how) {
    case COPIED:    break;
    case BYTES:     for (uint32_t i = 0; i < s.f[f].bytes; i++) to[i] = p[i]; break;
    case SCALES_K:  sort_scales_k(p, to); break;
    case HIGH_Q6:   sort_high_q6(p, to); break;
    case SCALES_Q6: sort_scales_q6(p, to); break;
    }
}

#endif
