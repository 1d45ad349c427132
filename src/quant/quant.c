/* SPDX-License-Identifier: BSD-2-Clause
 * quant.c - see quant.h */
#include "config.h"
#include <string.h>
#include "src/quant/convert.h"

#define SIZE(TYPE, name, ggml, block, bytes, ...)                                           \
    _Static_assert(sizeof(struct gkv__block_##name) == bytes, "blocks have no padding");
GKV__BYTE_TYPES(SIZE)

void gkv__to_f32_f32(const void *src, float *dst, size_t n)
{
    memcpy(dst, src, n * sizeof *dst);
}

void gkv__from_f32_f32(const float *src, void *dst, size_t n)
{
    memcpy(dst, src, n * sizeof *src);
}

static const struct gkv__quant computed[GKV__N_TYPES] = {
#define COMPUTED(TYPE, name, ggml, block, bytes, ...)                                       \
    { #name, ggml, block, bytes, GKV__TYPE_##TYPE, gkv__to_f32_##name, gkv__from_f32_##name, 0 },
    GKV__FLOAT_TYPES(COMPUTED)
    GKV__INTEGER_TYPES(COMPUTED)
#define READ(TYPE, name, ggml, block, bytes, ...)                                           \
    { #name, ggml, block, bytes, GKV__TYPE_##TYPE, gkv__to_f32_##name, NULL, 0 },
    GKV__TABLE_TYPES(READ)
};

static const struct gkv__quant known[] = {
#define KNOWN(name, ggml, block, bytes) { #name, ggml, block, bytes, GKV__TYPE_NONE, NULL, NULL, 0 },
    GKV__KNOWN_TYPES(KNOWN)
};

#define N_KNOWN (sizeof known / sizeof *known)

/* Row i of the two tables taken as one; NULL after the last row. */
static const struct gkv__quant *row(size_t i)
{
    if (i < GKV__N_TYPES)
        return &computed[i];
    return i - GKV__N_TYPES < N_KNOWN ? &known[i - GKV__N_TYPES] : NULL;
}

const struct gkv__quant *gkv__quant_of_ggml(uint32_t ggml)
{
    const struct gkv__quant *q;

    for (size_t i = 0; (q = row(i)); i++)
        if (q->ggml == ggml)
            break;
    return q;
}

const struct gkv__quant *gkv__quant_of(enum gkv__type type)
{
    return &computed[type];
}

const struct gkv__quant *gkv__quant_named(const char *name)
{
    const struct gkv__quant *q;

    for (size_t i = 0; (q = row(i)); i++)
        if (!strcmp(q->name, name))
            break;
    return q;
}
