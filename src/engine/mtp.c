/* SPDX-License-Identifier: BSD-2-Clause
 * mtp.c - see mtp.h */
#include "config.h"
#include <string.h>
#include "src/base/mem.h"
#include "src/base/size.h"
#include "src/base/thread.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/engine/mtp.h"

enum {
    ROOM = 64,                  /* pairs together: the weights are read once for them, and the buffers are small */
    ROWS = 16,                  /* of a work item                                            */
    ALIGN = 16,                 /* floats                                                    */
};

/* Floats of the four buffers. */
struct parts { uint64_t row, pair, form, x; };

static struct parts parts_of(const gkv_model *m)
{
    const uint64_t d = (m->shape.n_embd + ALIGN - 1) / ALIGN * ALIGN;

    return (struct parts){ (ROOM + 1) * d, ROOM * 2 * d, ROOM * gkv__gemm_form(2 * (size_t)m->shape.n_embd), ROOM * d };
}

static uint64_t buffers(const gkv_model *m)
{
    const struct parts p = parts_of(m);

    return (p.row + p.pair + p.form + p.x) * sizeof(float);
}

uint64_t gkv__mtp_bytes(const gkv_model *m, const struct gkv__quant *kv, uint64_t n)
{
    return gkv__plus(gkv__cache_bytes(kv, 1, m->shape.n_head_kv, m->shape.head_dim, n), buffers(m));
}

gkv_status gkv__mtp_open(struct gkv__mtp *t, const gkv_model *m, const struct gkv__quant *kv, uint64_t n, uint64_t done,
                         gkv_error *err)
{
    const struct gkv__shape *s = &m->shape;
    const struct parts p = parts_of(m);

    t->bytes = buffers(m);
    t->row = gkv__pages(t->bytes, 1);
    if (!t->row)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s", gkv__needed(t->bytes).text);
    t->pair = t->row + p.row;
    t->form = t->pair + p.pair;
    t->x = t->form + p.form;
    t->n = done;
    return t->cache.layer ? GKV_OK : gkv__cache_open(&t->cache, kv, 1, s->n_head_kv, s->head_dim, n, err);
}

void gkv__mtp_close(struct gkv__mtp *t)
{
    gkv__cache_close(&t->cache);
    gkv__pages_free(t->row, t->bytes, 1);
    *t = (struct gkv__mtp){ .n = 0 };
}

/* ---- pairs ------------------------------------------------------------------------------- */

struct job {
    const struct gkv__pass *p;
    const float            *x, *norm;   /* rows, and the norm behind them                    */
    const uint32_t         *id;         /* tokens after them                                 */
    float                  *pair;
    size_t                  n;
};

/* [norm(embedding), norm(norm(row))] */
static void pair_item(void *arg, size_t i, unsigned thread)
{
    const struct job *j = arg;
    const gkv_model *m = j->p->m;
    const struct gkv__simd *simd = j->p->e->simd;
    const struct gkv__mtp_weights *w = &m->mtp;
    const size_t d = m->shape.n_embd;
    const float scale = m->shape.embed_scale, eps = m->shape.eps;

    (void)thread;
    for (size_t t = i * ROWS; t < gkv__min((i + 1) * ROWS, j->n); t++) {
        float *e = j->pair + t * 2 * d, *h = e + d;

        simd->unpack[w->embed.format->type](w->embed.data + j->id[t] * gkv__mat_row_bytes(&w->embed), e, d);
        for (size_t c = 0; scale > 0 && c < d; c++)
            e[c] *= scale;
        simd->rmsnorm(e, e, w->enorm, d, eps);
        simd->rmsnorm(h, j->x + t * d, j->norm, d, eps);
        simd->rmsnorm(h, h, w->hnorm, d, eps);
    }
}

static struct gkv__pass pass_of(struct gkv__mtp *t, const struct gkv__pass *p)
{
    return (struct gkv__pass){ .e = p->e, .m = p->m, .span = p->span, .c = &t->cache };
}

/* Pairs of rows x[n] and the tokens id[n] after them into slots slot ..; t->x becomes what enters the layer. */
static void pairs(struct gkv__mtp *t, const struct gkv__pass *p, const float *x, const float *norm, const uint32_t *id,
                  size_t n, uint64_t slot)
{
    const gkv_model *m = p->m;
    const struct gkv__pass own = pass_of(t, p);
    struct job j = { .p = p, .x = x, .norm = norm, .id = id, .pair = t->pair, .n = n };
    struct gkv__rows rows = { t->pair, n, t->form, NULL };

    gkv__for(p->e->n_threads, (n + ROWS - 1) / ROWS, pair_item, &j);
    gkv__gemm(p->e, t->x, &rows, &m->mtp.eh, false);
    gkv__layer_kv(&own, m->shape.n_layer, t->x, n, slot, 0);
}

/* The first n rows that wait. */
static void take(struct gkv__mtp *t, const struct gkv__pass *p, size_t n)
{
    const size_t d = p->m->shape.n_embd;

    pairs(t, p, t->row, p->m->output_norm, t->id + t->n + 1, n, t->n);
    t->n += n;
    t->waiting -= n;
    memmove(t->row, t->row + n * d, t->waiting * d * sizeof *t->row);
}

/* Rows of a block, at most. */
static size_t room(const struct gkv__pass *p)
{
    return (size_t)gkv__min(ROOM, p->e->chunk);
}

void gkv__mtp_settle(struct gkv__mtp *t, const struct gkv__pass *p)
{
    while (t->waiting > 1)
        take(t, p, (size_t)gkv__min(t->waiting - 1, room(p)));
}

void gkv__mtp_rows(struct gkv__mtp *t, const struct gkv__pass *p, const float *x, size_t n)
{
    const size_t d = p->m->shape.n_embd;

    while (n) {
        const size_t k = (size_t)gkv__min(n, ROOM + 1 - t->waiting);

        memcpy(t->row + t->waiting * d, x, k * d * sizeof *x);
        t->waiting += k;
        x += k * d;
        n -= k;
        if (t->waiting > ROOM)
            gkv__mtp_settle(t, p);
    }
}

/* ---- guesses ----------------------------------------------------------------------------- */

/* Logits behind row x, which enters the layer, its keys and values being in the slot. */
static void logits_of(struct gkv__mtp *t, const struct gkv__pass *p, float *x, const uint32_t *id, uint64_t slot,
                      float *logits)
{
    const gkv_model *m = p->m;
    const struct gkv__pass own = pass_of(t, p);

    gkv__layer_rest(&own, m->shape.n_layer, id, x, 1, slot, 0);
    gkv__logits_by(p->e, m, m->mtp.norm, &m->mtp.head, x, 1, logits);
    memmove(t->x, x, m->shape.n_embd * sizeof *x);
}

void gkv__mtp_next(struct gkv__mtp *t, const struct gkv__pass *p, float *logits)
{
    size_t n;

    while (t->waiting > room(p))
        take(t, p, room(p));
    n = t->waiting;
    take(t, p, n);
    logits_of(t, p, t->x + (n - 1) * p->m->shape.n_embd, t->id + t->n, t->n - 1, logits);
}

void gkv__mtp_after(struct gkv__mtp *t, const struct gkv__pass *p, size_t i, uint32_t id, float *logits)
{
    pairs(t, p, t->x, p->m->mtp.norm, &id, 1, t->n + i);
    logits_of(t, p, t->x, &id, t->n + i, logits);
}
