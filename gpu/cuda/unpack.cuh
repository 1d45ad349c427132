/* SPDX-License-Identifier: BSD-2-Clause
 * unpack.cuh - converts weights to f16, for cuBLAS. */
#ifndef UNPACK_CUH
#define UNPACK_CUH

#include "gpu/cuda/gemv.cuh"

/* Converts quantised rows to f16: n_units units from `first` on, where a row begins. */
template <int T> __global__ void unpack(planes w, uint32_t first, uint64_t n_units, half *out)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    constexpr uint32_t per_block = units_of(T);
    unit u;

    if (i >= n_units)
        return;
    get<T>(w, first + (uint32_t)i, u);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        uint4 *to = (uint4 *)(out + i / per_block * per_block * 32 +
                              (first_run<T>(i % per_block) + r * apart_of<T>()) * 16);
        half x[16];

#pragma unroll
        for (int j = 0; j < 16; j++)
            x[j] = to_half(fmaf(u.a[r], element<T>(u.q[4 * r + j / 4], j % 4), u.b[r]));
        to[0] = ((const uint4 *)x)[0];
        to[1] = ((const uint4 *)x)[1];
    }
}

/* Converts bf16 to f16, for devices that cannot multiply bf16. */
__global__ void bf16_to_f16(const uint16_t *in, uint64_t n, half *out)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = to_half(__uint_as_float((uint32_t)in[i] << 16));
}

#endif
