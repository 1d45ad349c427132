/* SPDX-License-Identifier: BSD-2-Clause
 * keys.c - see keys.h */
#include "config.h"
#include "src/engine/layer.h"
#include "src/engine/hadamard.h"
#include "src/first/keys.h"
#include "src/first/schedule.h"

static size_t width(const struct gkv__shape *s)
{
    return (size_t)s->n_head_kv * s->head_dim;
}

uint64_t gkv__keys_row(const struct gkv__shape *s, const struct gkv__quant *type)
{
    return width(s) / type->block * type->bytes;
}

void gkv__keys_put(const struct gkv__pass *p, const struct gkv__keys *k, uint32_t il, const float *x, size_t n,
                   size_t at)
{
    const struct gkv__shape *s = &p->m->shape;
    struct gkv__exec *e = p->e;
    const uint64_t row = gkv__keys_row(s, k->type);

    for (size_t i = 0; i < n; i += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - i);

        gkv__layer_keys(p, il, x + i * s->n_embd, nc);
        if (gkv__uses_hadamard(k->type))
            gkv__hadamard(e, e->k, nc, s->n_head_kv);
        for (size_t t = 0; t < nc; t++)
            k->type->from_f32(e->k + t * width(s), k->rows + (at + i + t) * row, width(s));
    }
}

void gkv__keys_score(const struct gkv__pass *p, const struct gkv__keys *k, const struct gkv__probe_row *r,
                     size_t at, size_t n, uint64_t pos, float *score)
{
    const struct gkv__shape *s = &p->m->shape;
    struct gkv__exec *e = p->e;
    const uint64_t row = gkv__keys_row(s, k->type);
    gkv__unpack_fn *unpack = e->simd->unpack[k->type->type];

    for (size_t i = 0; i < n; i += e->chunk) {
        const size_t nc = gkv__min(e->chunk, n - i);

        unpack(k->rows + (at + i) * row, e->k, nc * width(s));
        if (gkv__uses_hadamard(k->type))
            gkv__hadamard(e, e->k, nc, s->n_head_kv);
        if (!r->common)
            gkv__rope_keys(p, r->il, e->k, nc, pos + i);
        gkv__score(e, e->k, nc, r->q, score + i);
    }
}

/* Keys that are not rotated are at position 0, where RoPE only scales; the query takes that over. */
static void scale_query(const struct gkv__pass *p, uint32_t il, float *q)
{
    const struct gkv__shape *s = &p->m->shape;
    const float scale = (float)gkv__model_rope(p->m, il, p->span)->scale;

    for (size_t ih = 0; ih < s->n_head_kv; ih++)
        for (size_t x = 0; x < s->n_rot; x++)
            q[ih * s->head_dim + x] *= scale;
}

void gkv__keys_query(const struct gkv__pass *p, uint32_t il, bool common, const float *x, size_t n,
                     uint64_t pos, float *q)
{
    gkv__layer_qk(p, il, x, n, common ? 1 : pos, n - 1);
    gkv__fold_query(p->e, n - 1, q);
    if (common)
        scale_query(p, il, q);
}
