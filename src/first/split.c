/* SPDX-License-Identifier: BSD-2-Clause
 * split.c - see split.h.
 *
 * The text is cut into blocks of rows.  As many consecutive blocks as there are ranks are a stripe, of which each rank
 * has one: in even stripes rank 0 has the first, in odd ones the last, since later blocks attend to more keys.
 *
 *     stripe   0: 0 1 2 3    1: 3 2 1 0    2: 0 1 2 3   ...
 *
 * In each layer a rank computes keys and values of its block in the next stripe, and they travel to all others while it
 * computes the rest of the layer for its block in this stripe, which needs those of all blocks before.  After the last
 * stripe comes the first one of the next layer.  So each rank has the rows of its own blocks, and keys and values of one
 * layer for all tokens; and a rank that is late by less than its work for a stripe keeps nobody waiting.
 *
 * A row's bytes do not depend on which rows are computed with it, except that a few rows go another way than many.  So
 * blocks divide the chunks that one process would take, and the last one is only small if its chunk is.  With experts,
 * the rows of a block that chose one are few or many, so there blocks are chunks. */
#include "config.h"
#include <string.h>
#include "src/base/mem.h"
#include "src/base/spill.h"
#include "src/engine/layer.h"
#include "src/first/split.h"

enum {
    STRIPES = 4,        /* at least, if blocks do not get smaller than this by it:           */
    LEAST = 256,        /* tokens of a block: weights are unpacked for each  */
    FEW = 64,           /* fewer rows than this may be computed in another way               */
};

struct split {
    struct gkv__exec        *e;
    const struct gkv__first *f;
    const struct gkv__task  *t;
    const gkv_group         *g;
    const struct gkv__quant *type;              /* of keys and values                        */
    size_t                   chunk;             /* that one process would take               */
    size_t                   n, size, rows;     /* of a block, of the largest one            */
    size_t                   n_blocks, stripes;
    struct gkv__spill        x;                 /* rows of block number i of ours: from i * rows on */
    struct gkv__cache        cache;             /* of one layer, for all tokens              */
    struct gkv__cache        ahead;             /* of the next layer, for our first block    */
    size_t                   packet;            /* bytes of keys and values of a block, at most */
    uint8_t                 *out, *in;          /* [packet], [ranks][packet]                 */
};

/* ---- blocks ----------------------------------------------------------------------------- */

static void divide(struct split *s, const struct gkv__simd *simd, const struct gkv__task *t, size_t chunk)
{
    s->t = t;
    s->type = gkv__first_kv(simd, t);
    s->g = t->group;
    s->n = (size_t)t->n;
    s->size = s->chunk = chunk = gkv__min(chunk, s->n);
    while (!t->m->shape.n_expert && s->size % 2 == 0 && s->size / 2 >= LEAST &&
           (s->n + s->size - 1) / s->size < (size_t)STRIPES * s->g->size)
        s->size /= 2;
    s->n_blocks = (s->n + s->size - 1) / s->size;
    s->rows = gkv__min(s->size, s->n);
    if (s->n_blocks > 1 && (s->n_blocks - 1) * s->size % chunk && s->n - (s->n_blocks - 1) * s->size < FEW) {
        s->n_blocks--;
        s->rows = s->n - (s->n_blocks - 1) * s->size;
    }
    s->stripes = (s->n_blocks + s->g->size - 1) / s->g->size;
}

static size_t start_of(const struct split *s, size_t block)
{
    return block < s->n_blocks ? block * s->size : s->n;
}

static size_t rows_of(const struct split *s, size_t block)
{
    return block < s->n_blocks ? (block + 1 < s->n_blocks ? s->size : s->n - block * s->size) : 0;
}

/* The block of a rank in a stripe; n_blocks or more: it has none. */
static size_t block_of(const struct split *s, size_t stripe, size_t rank)
{
    return stripe * s->g->size + (stripe % 2 ? s->g->size - 1 - rank : rank);
}

static uint32_t owner(const struct split *s, size_t block)
{
    const uint32_t i = (uint32_t)(block % s->g->size);

    return block / s->g->size % 2 ? s->g->size - 1 - i : i;
}

/* ---- memory ----------------------------------------------------------------------------- */

static size_t most_bytes(const struct split *s)
{
    size_t most = s->rows * sizeof(float);      /* scores travel, too */

    for (uint32_t il = 0; il < s->t->filter; il++) {
        const struct gkv__shape *shape = gkv__shape_of(s->t->m, il);

        most = gkv__max(most, 2 * s->rows * shape->n_head_kv * (shape->head_dim / s->type->block * s->type->bytes));
    }
    return most;
}

/* Slots for a block, wherever in a run it begins. */
static size_t room_ahead(const struct split *s)
{
    return s->rows + s->type->run;
}

uint64_t gkv__split_bytes(const struct gkv__task *t, uint32_t chunk)
{
    struct split s = { 0 };
    uint64_t rows;

    divide(&s, gkv__simd(), t, chunk);
    rows = t->spill ? s.rows : s.stripes * s.rows;
    return gkv__plus(gkv__plus(gkv__times(rows, t->m->shape.n_embd * sizeof(float)),
                               gkv__times(s.g->size + 1, most_bytes(&s))),
                     gkv__plus(gkv__cache_largest(t->m, s.type, t->filter, t->n),
                               gkv__cache_largest(t->m, s.type, t->filter, room_ahead(&s))));
}

static gkv_status reserve(struct split *s, gkv_error *err)
{
    s->packet = most_bytes(s);
    s->out = gkv__pages(s->g->size + 1, s->packet);
    if (!s->out)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    s->in = s->out + s->packet;
    GKV__TRY(gkv__spill_open(&s->x, s->stripes * s->rows, s->t->m->shape.n_embd, s->t->spill ? s->rows : 0, err));
    GKV__TRY(gkv__cache_open_one(&s->ahead, s->t->m, s->type, s->t->filter, room_ahead(s), err));
    return gkv__cache_open_one(&s->cache, s->t->m, s->type, s->t->filter, s->n, err);
}

static void release(struct split *s)
{
    gkv__cache_close(&s->cache);
    gkv__cache_close(&s->ahead);
    gkv__spill_close(&s->x);
    gkv__pages_free(s->out, s->g->size + 1, s->packet);
}

/* ---- keys and values that travel -------------------------------------------------------- */

/* Computes keys and values of our block in a stripe into the cache of p, and sends them on their way. */
static gkv_status offer(struct split *s, const struct gkv__pass *p, uint32_t il, size_t stripe, gkv_error *err)
{
    const size_t block = block_of(s, stripe, s->g->rank), n = rows_of(s, block), at = start_of(s, block);
    float *row;

    if (n) {
        GKV__TRY(gkv__spill_get(&s->x, stripe * s->rows, n, &row, err));
        gkv__layer_kv(p, il, row, n, at, 0);
        gkv__cache_pack(p->c, 0, at - p->c->layer[0].shift, n, s->out);
    }
    return gkv__group_start(s->g, s->out, s->packet, s->in, err);
}

/* The first stripe of layer il, whose rows have gone through the layer before, which still needs the cache.  A shift of
 * whole runs: packets depend on where runs begin. */
static gkv_status offer_ahead(struct split *s, const struct gkv__pass *p, uint32_t il, gkv_error *err)
{
    const uint32_t run = s->ahead.type->run ? s->ahead.type->run : 1;
    struct gkv__pass ahead = *p;

    ahead.c = &s->ahead;
    gkv__model_layer_need(s->t->m, il, true);
    gkv__cache_lay_out(&s->ahead, 0, s->t->m, il);
    s->ahead.layer[0].shift = start_of(s, block_of(s, 0, s->g->rank)) / run * run;
    return offer(s, &ahead, il, 0, err);
}

static gkv_status receive(struct split *s, size_t stripe, gkv_error *err)
{
    GKV__TRY(gkv__group_wait(s->e, s->g, err));
    for (size_t rank = 0; rank < s->g->size; rank++) {
        const size_t block = block_of(s, stripe, rank);

        gkv__cache_unpack(&s->cache, 0, start_of(s, block), rows_of(s, block), s->in + rank * s->packet);
    }
    return GKV_OK;
}

/* ---- the first pass --------------------------------------------------------------------- */

static gkv_status embed(struct split *s, gkv_error *err)
{
    float *row;

    for (size_t i = 0; i < s->stripes; i++) {
        const size_t block = block_of(s, i, s->g->rank), n = rows_of(s, block);

        if (!n)
            continue;
        GKV__TRY(gkv__spill_get(&s->x, i * s->rows, 0, &row, err));
        gkv__embed(s->e, s->t->m, s->f->id + start_of(s, block), row, n);
        GKV__TRY(gkv__spill_put(&s->x, i * s->rows, n, err));
    }
    return GKV_OK;
}

static gkv_status layer(struct split *s, const struct gkv__pass *p, uint32_t il, gkv_error *err)
{
    float *row;

    if (!il || s->stripes == 1)
        GKV__TRY(offer(s, p, il, 0, err));
    for (size_t i = 0; i < s->stripes; i++) {
        const size_t block = block_of(s, i, s->g->rank), n = rows_of(s, block), at = start_of(s, block);

        GKV__TRY(receive(s, i, err));
        if (i + 1 < s->stripes)
            GKV__TRY(offer(s, p, il, i + 1, err));
        else if (i && il + 1 < s->t->filter)
            GKV__TRY(offer_ahead(s, p, il + 1, err));
        if (!n)
            continue;
        GKV__TRY(gkv__spill_get(&s->x, i * s->rows, n, &row, err));
        gkv__layer_rest(p, il, s->f->id + at, row, n, at, 0);
        GKV__TRY(gkv__spill_put(&s->x, i * s->rows, n, err));
        gkv__progress(s->e, gkv__layer_work(&s->t->m->shape, at, n));
        if (gkv__cancelled(s->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled in layer %u of %u, %.0f %% of the first pass done", il,
                             s->t->filter, 100 * s->e->done / s->e->total);
    }
    return GKV_OK;
}

/* Keys, and queries from first_q on, of our block in a stripe, into e. */
static gkv_status filter_rows(struct split *s, const struct gkv__pass *p, size_t stripe, size_t first_q, gkv_error *err)
{
    const size_t block = block_of(s, stripe, s->g->rank);
    float *row;

    GKV__TRY(gkv__spill_get(&s->x, stripe * s->rows, rows_of(s, block), &row, err));
    gkv__layer_qk(p, s->t->filter, row, rows_of(s, block), start_of(s, block), first_q);
    return GKV_OK;
}

/* The first row of its block whose query is computed, for that of `row`: as in one process, few rows only if the chunk has
 * no more. */
static size_t first_query(const struct split *s, size_t block, size_t row)
{
    const size_t n = rows_of(s, block), first = row - start_of(s, block), end = start_of(s, block) + n;

    return n - first < FEW && end % s->chunk && end < s->n ? n - gkv__min(n, FEW) : first;
}

/* The query is of one rank, and goes to all; then each scores the keys of its blocks. */
static gkv_status score_all(struct split *s, const struct gkv__pass *p, float *q, gkv_error *err)
{
    const struct gkv__shape *shape = &s->t->m->shape;
    const size_t row = s->t->row == GKV__ROW_MIDDLE ? s->n / 2 : s->n - 1;
    const size_t its = gkv__min(row / s->size, s->n_blocks - 1);

    if (owner(s, its) == s->g->rank) {
        GKV__TRY(filter_rows(s, p, its / s->g->size, first_query(s, its, row), err));
        gkv__fold_query(s->e, row - start_of(s, its), q);
    }
    GKV__TRY(gkv__group_cast(s->e, s->g, owner(s, its), q, shape->n_head_kv * shape->head_dim * sizeof *q, err));
    for (size_t i = 0; i < s->stripes; i++) {
        const size_t n = rows_of(s, block_of(s, i, s->g->rank));

        if (n) {
            GKV__TRY(filter_rows(s, p, i, n, err));
            gkv__score(s->e, s->e->k, n, q, (float *)(void *)s->out);
            gkv__progress(s->e, (double)n * shape->n_embd * shape->n_head_kv * (double)shape->head_dim);
        }
        GKV__TRY(gkv__group_start(s->g, s->out, s->rows * sizeof *q, s->in, err));
        GKV__TRY(gkv__group_wait(s->e, s->g, err));
        for (size_t rank = 0; rank < s->g->size; rank++)
            memcpy(s->f->score + start_of(s, block_of(s, i, rank)), s->in + rank * s->rows * sizeof *q,
                   rows_of(s, block_of(s, i, rank)) * sizeof *q);
    }
    return GKV_OK;
}

/* Of our blocks, in all layers. */
static double work(const struct split *s)
{
    const struct gkv__shape *shape = &s->t->m->shape;
    double sum = 0;

    for (size_t i = 0; i < s->stripes; i++) {
        const size_t block = block_of(s, i, s->g->rank), n = rows_of(s, block);

        sum += s->t->filter * gkv__layer_work(shape, start_of(s, block), n) +
               (double)n * shape->n_embd * shape->n_head_kv * shape->head_dim;
    }
    return sum;
}

/* What one process can, but several cannot yet. */
static gkv_status may(const struct split *s, gkv_error *err)
{
    if (s->t->row == GKV__ROW_LARGEST)
        return gkv__fail(err, GKV_UNSUPPORTED, "row=largest needs one process");
    if (gkv__has_states(s->t->m))
        return gkv__fail(err, GKV_UNSUPPORTED, "layers with a state read a text from its beginning to its end: several "
                         "processes cannot share it; start gemkv once");
    return GKV_OK;
}

static gkv_status run(struct split *s, gkv_error *err)
{
    const struct gkv__first *f = s->f;
    const struct gkv__pass p = { .e = s->e, .m = s->t->m, .c = &s->cache,
                                 .span = f->again ? s->t->n : gkv__plus(s->t->n, s->t->n_new) };
    const struct gkv__shape *shape = &s->t->m->shape;
    float *q = gkv__pages(shape->n_head_kv, shape->head_dim * sizeof *q);
    gkv_status status = q ? may(s, err) : gkv__fail(err, GKV_NOMEM, "out of memory");

    if (status == GKV_OK)
        status = reserve(s, err);
    status = gkv__group_agree(s->e, s->g, status, f->agreed, err);
    if (status == GKV_OK)
        status = embed(s, err);
    for (uint32_t il = 0; status == GKV_OK && il < s->t->filter; il++) {
        gkv__model_layer_need(s->t->m, il, true);
        gkv__cache_lay_out(&s->cache, 0, s->t->m, il);
        status = layer(s, &p, il, err);
        gkv__model_layer_need(s->t->m, il, false);
    }
    if (status == GKV_OK)
        status = score_all(s, &p, q, err);
    gkv__pages_free(q, shape->n_head_kv, shape->head_dim * sizeof *q);
    return status;
}

gkv_status gkv__split(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    struct split s = { .e = e, .f = f };
    gkv_status status;

    GKV__TRY(gkv__group_call(e, f, err));
    divide(&s, e->simd, f->t, e->chunk);
    gkv__stage(e, f->again ? GKV_STAGE_PASSAGES : GKV_STAGE_FIRST_PASS, f->t->n, work(&s));
    status = run(&s, err);
    release(&s);
    return status;
}
