/* SPDX-License-Identifier: BSD-2-Clause
 * cuda-peak.cu - the peak rates of a CUDA device: bytes copied and read, products of bf16.
 *
 *     nvcc -O3 -arch=native -o cuda-peak cuda-peak.cu -lcublas && ./cuda-peak */
#include <algorithm>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                           \
    do {                                                                                    \
        if (call) {                                                                         \
            fprintf(stderr, "cuda-peak: line %d failed\n", __LINE__);                       \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

enum { ROUNDS = 15, N = 8192 };

__global__ void fill(uint32_t *p, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint32_t x = (uint32_t)i * 2654435761u;

        x ^= x >> 15;
        x *= 2246822519u;
        p[i] = (x & 0x80ff80ff) | 0x3f003f00;           /* two bf16 around 1, of either sign */
    }
}

__global__ void read_all(const uint4 *p, size_t n, uint32_t *out)
{
    uint32_t sum = 0;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const uint4 v = p[i];

        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 1)
        *out = sum;
}

template <class F> static double seconds(F work)
{
    cudaEvent_t a, b;
    float ms[ROUNDS];

    TRY(cudaEventCreate(&a));
    TRY(cudaEventCreate(&b));
    work();
    for (float &t : ms) {
        TRY(cudaEventRecord(a));
        work();
        TRY(cudaEventRecord(b));
        TRY(cudaEventSynchronize(b));
        TRY(cudaEventElapsedTime(&t, a, b));
    }
    std::sort(ms, ms + ROUNDS);
    return ms[ROUNDS / 2] / 1e3;
}

int main(void)
{
    const size_t bytes = (size_t)2 << 30;
    uint8_t *a, *b;
    cublasHandle_t blas;
    cudaDeviceProp p;
    const float one = 1, zero = 0;
    double copy, read, product;

    TRY(cudaGetDeviceProperties(&p, 0));
    TRY(cudaMalloc(&a, bytes));
    TRY(cudaMalloc(&b, bytes));
    fill<<<2048, 256>>>((uint32_t *)a, bytes / 4);
    copy = seconds([&] { TRY(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice)); });
    read = seconds([&] { read_all<<<p.multiProcessorCount * 16, 512>>>((uint4 *)a, bytes / 16, (uint32_t *)b); });
    TRY(cublasCreate(&blas));
    product = seconds([&] {
        TRY(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, N, N, N, &one, a, CUDA_R_16BF, N, a + (size_t)2 * N * N,
                         CUDA_R_16BF, N, &zero, b, CUDA_R_16BF, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    });
    TRY(cudaDeviceSynchronize());
    printf("%s: copy %.0f GB/s read and written, read %.0f GB/s, bf16 products %.0f TFLOP/s\n", p.name,
           2 * bytes / copy / 1e9, bytes / read / 1e9, 2.0 * N * N * N / product / 1e12);
    return 0;
}
