/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_KERNELS_H
#define TESTS_KERNELS_H

struct gkv__simd;
void fill_wide_table(struct gkv__simd *k);
void fill_wide_bf16_table(struct gkv__simd *k);

#endif
