/* SPDX-License-Identifier: BSD-2-Clause
 * vec_impl.h - kernel bodies written once with the compiler's vector types, compiled per
 * instruction set.  The including file defines
 *
 *     SUFFIX     name of the level, the end of every function's name, so that objdump shows it
 *     VW         floats in a vector register
 *     MR, NV     GEMM tile: MR rows of NV vectors of accumulators; MR * NV + NV + 1 registers
 *     AMR, ANV   the same for attention, where the vectors hold query rows
 *     IMR, INV   the same for integers, and what gemm_int.h asks for, if there is such a kernel
 *
 * Both tiles broadcast one scalar of A against NV vectors of B.  In attention the vectors run
 * over queries, so that maximum, exponential and sum are vertical, K and V are read as they
 * are stored, and only Q is transposed, once. */

#include "simd/impl/vec.h"
#include "simd/impl/bytes.h"
#include "simd/impl/formats.h"
#include "simd/impl/gemm.h"
#if INV
#include "simd/impl/tile.h"
#include "simd/impl/scales.h"
#include "simd/impl/gemm_int.h"
#endif
#include "simd/impl/softmax.h"
#include "simd/impl/attend.h"
#include "simd/impl/attend_few.h"
#include "simd/impl/rows.h"
#include "simd/impl/state.h"

FEW(attend_few_f32, GKV__TYPE_F32)
FEW(attend_few_f16, GKV__TYPE_F16)
FEW(attend_few_bf16, GKV__TYPE_BF16)
FEW(attend_few_q8_0, GKV__TYPE_Q8_0)
FEW(attend_few_q4_0, GKV__TYPE_Q4_0)

static void FN(fill)(struct gkv__simd *k)
{
    k->unpack[GKV__TYPE_F16] = FN(unpack_f16);
    k->unpack[GKV__TYPE_BF16] = FN(unpack_bf16);
    k->dot[GKV__TYPE_F32] = FN(dot_f32);
    k->dot[GKV__TYPE_F16] = FN(dot_f16);
    k->dot[GKV__TYPE_BF16] = FN(dot_bf16);
    k->dots[GKV__TYPE_F32] = FN(dots_f32);
    k->dots[GKV__TYPE_F16] = FN(dots_f16);
    k->dots[GKV__TYPE_BF16] = FN(dots_bf16);
#define SLOTS(TYPE, name, ...)                                                              \
    k->unpack[GKV__TYPE_##TYPE] = FN(unpack_##name);                                        \
    k->dot[GKV__TYPE_##TYPE] = FN(dot_##name);
    GKV__BYTE_TYPES(SLOTS)
    k->pack = FN(pack);
    k->gemm = FN(gemm);
    k->nr = NR;
#if INV
    FN(fill_int)(k);
#endif
    k->attend = (struct gkv__attend){ "f32", GKV__TYPE_F32, 6, LANES, 128, 0, NULL, NULL, NULL, FN(attend) };
    k->attend_few[GKV__TYPE_F32] = FN(attend_few_f32);
    k->attend_few[GKV__TYPE_F16] = FN(attend_few_f16);
    k->attend_few[GKV__TYPE_BF16] = FN(attend_few_bf16);
    k->attend_few[GKV__TYPE_Q8_0] = FN(attend_few_q8_0);
    k->attend_few[GKV__TYPE_Q4_0] = FN(attend_few_q4_0);
    k->rmsnorm = FN(rmsnorm);
    k->swiglu = FN(swiglu);
    k->softmax_sum = FN(softmax_sum);
    k->softmax_add = FN(softmax_add);
    k->geglu = FN(geglu);
    k->softcap = FN(softcap);
    k->gate = FN(gate);
    FN(fill_state)(&k->state);
}
