/* SPDX-License-Identifier: BSD-2-Clause
 * forward.c - see forward.h.  It is also the only pass of method full, every step of decoding, and
 * the passes of eval.c. */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/engine/mtp.h"

/* Only the last `rows` rows are needed behind the last layer with keys of its own; they become the first of x. */
static gkv_status block(const struct gkv__pass *p, const uint32_t *id, size_t n, uint64_t pos, float *x, size_t rows,
                        gkv_error *err)
{
    struct gkv__exec *e = p->e;
    const struct gkv__shape *s = &p->m->shape;
    size_t skip = 0;

    gkv__embed(e, p->m, id, x, n);
    for (uint32_t il = 0; il < s->n_layer; il++) {
        if (il + s->n_sharing == s->n_layer && rows < n) {
            skip = n - rows;
            memmove(x, x + skip * s->n_embd, rows * s->n_embd * sizeof *x);
        }
        if (skip < n)
            gkv__layer(p, il, id + skip, x, n - skip, pos + skip, il);
        if (n > 1 && !p->alone) /* a step of decoding reports no progress of its own */
            gkv__progress(e, gkv__layer_work(s, pos - p->c->layer[il].shift, n));
        if (gkv__cancelled(e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %" PRIu64, pos);
    }
    return GKV_OK;
}

gkv_status gkv__block(const struct gkv__pass *p, const uint32_t *id, size_t n, uint64_t pos, float *x,
                      gkv_error *err)
{
    return block(p, id, n, pos, x, n, err);
}

gkv_status gkv__forward(const struct gkv__pass *p, const uint32_t *id, size_t n, uint64_t pos, float *x,
                        gkv_error *err)
{
    const size_t d = p->m->shape.n_embd, rows = n < p->e->chunk ? n : p->e->chunk;
    const bool first = p->m->shape.n_sharing;           /* where block leaves the last row  */
    float *room = n == 1 ? x : gkv__pages(rows, d * sizeof *room);
    gkv_status status = GKV_OK;

    if (!room)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s", gkv__needed(rows * d * sizeof *room).text);
    for (size_t at = 0; at < n && status == GKV_OK; at += rows) {
        size_t nc = n - at < rows ? n - at : rows;

        status = block(p, id + at, nc, pos + at, room, at + nc == n, err);
        if (p->mtp && status == GKV_OK)
            gkv__mtp_rows(p->mtp, p, room, nc);
        if (at + nc == n && room != x)
            memcpy(x, room + (first ? 0 : nc - 1) * d, d * sizeof *x);
    }
    if (room != x)
        gkv__pages_free(room, rows, d * sizeof *room);
    return status;
}
