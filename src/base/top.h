/* SPDX-License-Identifier: BSD-2-Clause
 * top.h - partial selection. */
#ifndef GKV__TOP_H
#define GKV__TOP_H

#include <stddef.h>
#include <stdint.h>

/* Indices of the k largest of score[n] into out[k], ascending; k <= n.  Of equal scores the one
 * with the smaller index wins; NaN counts as the smallest.  O(n), allocates nothing. */
void gkv__top(const float *score, size_t n, size_t k, uint32_t *out);

/* Gives the first keep_first and the last keep_last tokens the highest of all scores. */
void gkv__force(float *score, size_t n, size_t keep_first, size_t keep_last);

#endif
