/* SPDX-License-Identifier: BSD-2-Clause
 * kv.c - see kv.h */
#include "config.h"
#include <inttypes.h>
#include "src/kv.h"
#include "src/mem.h"

static uint64_t row_bytes(const struct gkv__quant *type, uint32_t head_dim)
{
    return (uint64_t)(head_dim / type->block) * type->bytes;
}

uint64_t gkv__cache_bytes(const struct gkv__quant *type, uint32_t n_layer, uint32_t n_head_kv,
                          uint32_t head_dim, uint64_t n_max)
{
    uint64_t per = 2 * row_bytes(type, head_dim) * n_head_kv * n_layer, all;

    return gkv__mul(per, n_max, &all) ? all : UINT64_MAX;
}

gkv_status gkv__cache_open(struct gkv__cache *c, const struct gkv__quant *type, uint32_t n_layer,
                           uint32_t n_head_kv, uint32_t head_dim, uint64_t n_max, gkv_error *err)
{
    uint64_t bytes = gkv__cache_bytes(type, n_layer, n_head_kv, head_dim, n_max);

    *c = (struct gkv__cache){ type, n_layer, n_head_kv, head_dim, n_max, NULL, NULL };
    c->k = gkv__pages(bytes / 2, 1);
    c->v = gkv__pages(bytes / 2, 1);
    if (!c->k || !c->v) {
        gkv__cache_close(c);
        return gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes for the KV cache",
                         bytes);
    }
    return GKV_OK;
}

void gkv__cache_close(struct gkv__cache *c)
{
    uint64_t bytes = c->type ? gkv__cache_bytes(c->type, c->n_layer, c->n_head_kv, c->head_dim,
                                                c->n_max) : 0;

    gkv__pages_free(c->k, bytes / 2, 1);
    gkv__pages_free(c->v, bytes / 2, 1);
    c->k = c->v = NULL;
}

static uint64_t offset(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t pos)
{
    return (((uint64_t)il * c->n_head_kv + ih) * c->n_max + pos) * row_bytes(c->type, c->head_dim);
}

uint8_t *gkv__cache_k(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t pos)
{
    return c->k + offset(c, il, ih, pos);
}

uint8_t *gkv__cache_v(const struct gkv__cache *c, uint32_t il, uint32_t ih, uint64_t pos)
{
    return c->v + offset(c, il, ih, pos);
}

void gkv__cache_put(struct gkv__cache *c, uint32_t il, uint64_t pos, const float *k,
                    const float *v, size_t n)
{
    const size_t d = c->head_dim, row = (size_t)c->n_head_kv * d;

    for (uint32_t ih = 0; ih < c->n_head_kv; ih++)
        for (size_t i = 0; i < n; i++) {
            c->type->from_f32(k + i * row + ih * d, gkv__cache_k(c, il, ih, pos + i), d);
            c->type->from_f32(v + i * row + ih * d, gkv__cache_v(c, il, ih, pos + i), d);
        }
}
