/* SPDX-License-Identifier: BSD-2-Clause
 * repack.c - see repack.h */
#include "config.h"
#include <stdlib.h>
#include "src/base/mem.h"
#include "src/base/size.h"
#include "src/base/status.h"
#include "src/base/thread.h"
#include "src/engine/gemm.h"
#include "src/engine/repack.h"
#include "src/model/repacked.h"

/* Matrix i of layer il, as products take it; one.data NULL: the layer lacks it, or its products do not pack it. */
static struct gkv__repacked_mat row_of(const struct gkv__gemm *g, const struct gkv__simd *simd, const gkv_model *m, uint32_t il,
                                       size_t i)
{
    const struct gkv__mat *w = gkv__model_matrix(m, il, i);
    struct gkv__repacked_mat row = { .layer = il, .pieces = gkv__model_pieces(m, il, i) };

    if (w->data) {
        row.one = gkv__mat_rows(w, 0, w->n_out / row.pieces);
        row.bytes = gkv__gemm_packed_bytes(g, simd, &row.one);
        if (!row.bytes)
            row.one.data = NULL;
    }
    return row;
}

static int by_place(const void *a, const void *b)
{
    const struct gkv__repacked_mat *x = a, *y = b;

    return (x->one.data > y->one.data) - (x->one.data < y->one.data);
}

static struct gkv__repacked *table_of(const struct gkv__gemm *g, const struct gkv__simd *simd, const gkv_model *m)
{
    struct gkv__repacked *r = calloc(1, sizeof *r);
    const uint32_t n_layer = m->shape.n_layer;

    if (!r)
        return NULL;
    r->gemm = g;
    r->simd = simd;
    r->layer = calloc(n_layer, sizeof *r->layer);
    r->mat = calloc((size_t)n_layer * GKV__N_MATRICES, sizeof *r->mat);
    if (!r->layer || !r->mat) {
        free(r->layer);
        free(r->mat);
        free(r);
        return NULL;
    }
    for (uint32_t il = 0; il < n_layer; il++)
        for (size_t i = 0; i < GKV__N_MATRICES; i++) {
            const struct gkv__repacked_mat row = row_of(g, simd, m, il, i);

            if (row.one.data)
                r->mat[r->n++] = row;
        }
    qsort(r->mat, r->n, sizeof *r->mat, by_place);
    return r;
}

static struct gkv__repacked *find(const struct gkv__store *s, const struct gkv__gemm *g, const struct gkv__simd *simd)
{
    struct gkv__repacked *r = s->first;

    while (r && (r->gemm != g || r->simd != simd))
        r = r->next;
    return r;
}

static uint64_t layer_bytes(const struct gkv__repacked *r, uint32_t il)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->n; i++)
        if (r->mat[i].layer == il)
            sum += r->mat[i].pieces * r->mat[i].bytes;
    return sum;
}

static gkv_status pack_layer(const struct gkv__exec *e, struct gkv__repacked *r, uint32_t il, gkv_error *err)
{
    const uint64_t bytes = layer_bytes(r, il);
    uint8_t *to = gkv__pages(bytes, 1);

    if (bytes && !to)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for packed weights; leave --repack out",
                         gkv__needed(bytes).text);
    r->layer[il].pages = to;
    r->layer[il].bytes = bytes;
    for (size_t i = 0; i < r->n; i++) {
        struct gkv__repacked_mat *w = &r->mat[i];
        uint8_t *const begin = to;

        if (w->layer != il)
            continue;
        for (uint32_t p = 0; p < w->pieces; p++, to += w->bytes) {
            const struct gkv__mat piece = { w->one.format, w->one.data + p * gkv__mat_bytes(&w->one), w->one.n_out,
                                            w->one.n_in };

            gkv__gemm_pack(e, &piece, to);
        }
        atomic_store_explicit(&w->packed, begin, memory_order_release);
    }
    return GKV_OK;
}

gkv_status gkv__repack(struct gkv__exec *e, const gkv_model *m, uint32_t n, gkv_error *err)
{
    struct gkv__store *s = m->store;
    struct gkv__repacked *r;
    gkv_status status = GKV_OK;

    pthread_mutex_lock(&s->lock);
    r = find(s, e->gemm, e->simd);
    if (!r) {
        r = table_of(e->gemm, e->simd, m);
        if (r) {
            r->next = s->first;
            s->first = r;
        }
    }
    if (!r)
        status = gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t il = 0; il < n && status == GKV_OK; il++)
        if (gkv__cancelled(e)) {
            status = gkv__fail(err, GKV_CANCELLED, "cancelled");
        } else if (!r->layer[il].pages) {
            gkv__model_layer_need(m, il, true);
            status = pack_layer(e, r, il, err);
            gkv__model_layer_need(m, il, false);
        }
    pthread_mutex_unlock(&s->lock);
    e->repacked = r;
    return status;
}

void gkv__repack_use(struct gkv__exec *e, const gkv_model *m)
{
    pthread_mutex_lock(&m->store->lock);
    e->repacked = find(m->store, e->gemm, e->simd);
    pthread_mutex_unlock(&m->store->lock);
}

uint64_t gkv__repack_bytes(const struct gkv__gemm *g, const struct gkv__simd *simd, const gkv_model *m, uint32_t n)
{
    const struct gkv__repacked *r;
    uint64_t sum = 0;

    pthread_mutex_lock(&m->store->lock);
    r = find(m->store, g, simd);
    for (uint32_t il = 0; il < n; il++)
        for (size_t i = 0; i < GKV__N_MATRICES && !(r && r->layer[il].pages); i++) {
            const struct gkv__repacked_mat row = row_of(g, simd, m, il, i);

            sum = gkv__plus(sum, row.one.data ? gkv__times(row.pieces, row.bytes) : 0);
        }
    pthread_mutex_unlock(&m->store->lock);
    return sum;
}

uint64_t gkv__repack_size(const gkv_model *m)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&m->store->lock);
    for (const struct gkv__repacked *r = m->store->first; r; r = r->next)
        for (uint32_t il = 0; il < m->shape.n_layer; il++)
            sum += r->layer[il].bytes;
    pthread_mutex_unlock(&m->store->lock);
    return sum;
}
