/* SPDX-License-Identifier: BSD-2-Clause
 * form.cuh - rows in the forms that products take, and their norm. */
#ifndef FORM_CUH
#define FORM_CUH

#include "gpu/cuda/gemv.cuh"

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
    case N_FORMS:   break;                                                                  \
    }

/* 1 / RMS of a row, or 1 when x is not normalised. */
__device__ inline float norm_factor(const float *x, const float *norm, uint32_t n, float eps)
{
    float sum = 0;

    if (!norm)
        return 1;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += x[i] * x[i];
    return rsqrtf(block_sum(sum) / (float)n + eps);
}

#endif
