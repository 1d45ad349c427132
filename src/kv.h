/* SPDX-License-Identifier: BSD-2-Clause
 * kv.h - the KV cache: keys (already rotated) and values of n positions in some layers,
 * per KV head contiguous:  [layer][KV head][position][head_dim]  in one tensor type. */
#ifndef GKV__KV_H
#define GKV__KV_H

#include "src/quant.h"
#include "src/status.h"

struct gkv__cache {
    const struct gkv__quant *type;
    uint32_t n_layer, n_head_kv, head_dim;
    uint64_t n_max;                 /* positions that fit                                    */
    uint8_t *k, *v;
};

uint64_t   gkv__cache_bytes(const struct gkv__quant *type, uint32_t n_layer, uint32_t n_head_kv,
                            uint32_t head_dim, uint64_t n_max);
gkv_status gkv__cache_open(struct gkv__cache *c, const struct gkv__quant *type, uint32_t n_layer,
                           uint32_t n_head_kv, uint32_t head_dim, uint64_t n_max, gkv_error *err);
void       gkv__cache_close(struct gkv__cache *c);

/* Where position pos of (layer, head) lives; consecutive positions follow. */
uint8_t *gkv__cache_k(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t pos);
uint8_t *gkv__cache_v(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t pos);

/* Store k, v [n][n_head_kv * head_dim] at positions pos .. pos + n - 1. */
void gkv__cache_put(struct gkv__cache *c, uint32_t il, uint64_t pos, const float *k,
                    const float *v, size_t n);

#endif
