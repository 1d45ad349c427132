/* SPDX-License-Identifier: BSD-2-Clause
 * gemm.c - see gemm.h.
 *
 * A work item is about 48 outputs by MC rows.  It walks K in steps whose packed weights fit the second-
 * level cache.  Each step packs its weights, then runs over the rows.  So a weight is unpacked once
 * per MC rows, which costs a few percent of the arithmetic, and no copy of the model is made, unless the user
 * asks for one (repack.h).  Steps are long because each of them adds to all outputs, and the rows of the outputs lie
 * so far apart that the second-level cache holds few of them.
 *
 * The last items of each thread are cut into PARTS, so that threads of unequal speed end together: two that share
 * a core differ by a factor of two. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "src/engine/gemm-row.h"
#include "src/base/thread.h"
#include "src/model/repacked.h"

enum {
    COLS = 48,          /* outputs per work item, rounded up to a multiple of a level's nr: few
                           enough that a bf16 panel of all K = 2048 inputs fits              */
    MC = 1024,          /* rows per work item                                                */
    SOME = 96,          /* rows between two prefetches of the next weights: a multiple of every
                           tile's rows                                                       */
    LINE = 64,
    PACKED = 256 << 10, /* bytes of packed weights at most                                   */
    BLOCK = 256,        /* steps of K are multiples of it; it is a multiple of every type's block */
    FEW = GKV__FEW_MOST + 1,            /* fewer rows than this use dot products: reading the weights takes the time */
    PARTS = 4,          /* of an item at most                                                */
    LEAST_COLS = 32,    /* outputs of an item, and items, where products are straight from the weights */
    LEAST_ITEMS = 16,
    PAIRS = 16,         /* pairs of outputs in a unit of work; a thread takes several units, ... */
    MOST = 16,          /* ... at most so many: their weights stay in a cache for the next row */
    FORM_MAX = 72,      /* bytes of 32 activations in the largest form: i16 for one row      */
};

static size_t items(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

static size_t cols_of(size_t nr)
{
    return items(COLS, nr) * nr;
}

/* Inputs per step, when `unit` inputs of one output take `bytes` bytes packed. */
static size_t step_of(size_t cols, size_t bytes, size_t unit)
{
    size_t k = PACKED * unit / (cols * bytes) / BLOCK * BLOCK;

    return k ? k : BLOCK;
}

/* ---- libraries --------------------------------------------------------------------------- */

/* Outputs and rows of a work item where many rows are multiplied straight from the weights: as many as a call takes,
 * but so few that there are items for many threads. */
static void begin_many(struct gkv__job *j, const struct gkv__many *many)
{
    const size_t blocks = items(j->x->n, many->rows);

    j->x_bytes = j->w->n_in / many->unit * many->x_bytes;
    j->step = j->w->n_in;
    j->mc = items(items(j->x->n, blocks), 2 * GKV__GROUP) * 2 * GKV__GROUP;
    for (j->nc = many->cols; j->nc > LEAST_COLS && items(j->w->n_out, j->nc) * blocks < LEAST_ITEMS;)
        j->nc /= 2;
    j->part_nc = gkv__max(j->nc / PARTS, LEAST_COLS);   /* fewer rows would convert the weights once more */
}

static void begin_product(struct gkv__job *j, const struct gkv__product *mul)
{
    j->prepare = j->few ? mul->prepare_one : mul->prepare;
    j->x_bytes = j->few ? items(gkv__one_bytes(mul, j->w->n_in), LINE) * LINE
                        : j->w->n_in / mul->unit * mul->x_bytes;
    j->nc = cols_of(mul->nr);
    j->step = step_of(j->nc, mul->w_bytes, mul->unit);
    j->mc = gkv__min(j->mc, j->x->n);
    j->part_mc = items(items(j->mc, PARTS), SOME) * SOME;
}

static bool takes(const struct gkv__many *many, const struct gkv__mat *w, size_t rows)
{
    return many->form && rows >= FEW && rows >= many->least && w->n_in % many->unit == 0;
}

static struct gkv__form form_own(const struct gkv__simd *simd, const struct gkv__mat *w, size_t rows)
{
    const struct gkv__product *mul = &simd->product[w->format->type];
    const struct gkv__many *many = &simd->many[w->format->type];

    if (takes(many, w, rows))
        return (struct gkv__form){ .many = many };
    return (struct gkv__form){ .mul = mul->form && w->n_in % mul->unit == 0 ? mul : NULL };
}

/* Where tiles multiply many rows, fewer are as with own. */
static struct gkv__form form_coarse(const struct gkv__simd *simd, const struct gkv__mat *w, size_t rows)
{
    const enum gkv__type type = w->format->type;
    const struct gkv__product *mul = &simd->coarse[type];
    const struct gkv__many *many = &simd->many_coarse[type];

    if (takes(many, w, rows))
        return (struct gkv__form){ .many = many };
    if (mul->form && !simd->many[type].form && rows >= FEW && w->n_in % mul->unit == 0)
        return (struct gkv__form){ .mul = mul };
    return form_own(simd, w, rows);
}

static void begin_ours(struct gkv__job *j)
{
    const struct gkv__form form = j->e->gemm->form(j->e->simd, j->w, j->x->n);

    j->mul = form.mul;
    j->many = form.many;
    if (form.many)
        begin_many(j, form.many);
    else if (form.mul)
        begin_product(j, form.mul);
}

/* ---- packed weights ---------------------------------------------------------------------- */

/* Steps of K, nearly equal. */
static size_t equal_steps(size_t step, size_t n_in)
{
    return step < n_in ? items(items(n_in, items(n_in, step)), BLOCK) * BLOCK : step;
}

/* Where the part of an item begins that is packed at a time.  For mul: item after item, in each of them step after step.
 * For many: 32 outputs after the other. */
static size_t packed_at(struct gkv__form form, const struct gkv__mat *w, size_t nc, size_t col, size_t k0)
{
    if (form.many)
        return col / 32 * items(w->n_in / form.many->unit, form.many->deep) * form.many->block;
    return (col * w->n_in + items(gkv__min(nc, w->n_out - col), form.mul->nr) * form.mul->nr * k0) / form.mul->unit *
           form.mul->w_bytes;
}

/* The form in which many rows are multiplied. */
static struct gkv__form form_of(const struct gkv__gemm *g, const struct gkv__simd *simd, const struct gkv__mat *w)
{
    return g->form ? g->form(simd, w, SIZE_MAX) : (struct gkv__form){ NULL, NULL };
}

uint64_t gkv__gemm_packed_bytes(const struct gkv__gemm *g, const struct gkv__simd *simd, const struct gkv__mat *w)
{
    const struct gkv__form form = form_of(g, simd, w);
    uint64_t bytes = 0;

    if (form.many)
        bytes = (uint64_t)items(w->n_out, 32) * items(w->n_in / form.many->unit, form.many->deep) * form.many->block;
    else if (form.mul)
        bytes = (uint64_t)items(w->n_out, form.mul->nr) * form.mul->nr * (w->n_in / form.mul->unit) * form.mul->w_bytes;
    return items(bytes, LINE) * LINE;
}

struct packing { struct gkv__form form; const struct gkv__mat *w; uint8_t *to; size_t nc, step; };

/* Packs n outputs from col on, inputs k0 .. k0 + k - 1, one panel after the other. */
static void pack_panels(const struct gkv__product *mul, const struct gkv__mat *w, uint8_t *to, size_t col, size_t n, size_t k0,
                        size_t k)
{
    for (size_t i = 0; i < n; i += mul->nr, to += mul->nr * (k / mul->unit) * mul->w_bytes)
        mul->pack(to, gkv__weights(w, col + i, k0), gkv__mat_row_bytes(w), gkv__min(mul->nr, n - i), k);
}

static void pack_item(void *arg, size_t i, unsigned thread)
{
    const struct packing *p = arg;
    const size_t col = i * p->nc, n = gkv__min(p->nc, p->w->n_out - col);

    (void)thread;
    if (p->form.many) {
        p->form.many->pack(p->to + packed_at(p->form, p->w, p->nc, col, 0), gkv__weights(p->w, col, 0), gkv__mat_row_bytes(p->w),
                           n, p->w->n_in);
        return;
    }
    for (size_t k0 = 0; k0 < p->w->n_in; k0 += p->step)
        pack_panels(p->form.mul, p->w, p->to + packed_at(p->form, p->w, p->nc, col, k0), col, n, k0,
                    gkv__min(p->step, p->w->n_in - k0));
}

void gkv__gemm_pack(const struct gkv__exec *e, const struct gkv__mat *w, uint8_t *to)
{
    const struct gkv__form form = form_of(e->gemm, e->simd, w);
    const size_t nc = form.many ? 32 : cols_of(form.mul->nr);
    struct packing p = {
        form, w, to, nc, form.many ? w->n_in : equal_steps(step_of(nc, form.mul->w_bytes, form.mul->unit), w->n_in)
    };

    gkv__for(e->n_threads, items(w->n_out, nc), pack_item, &p);
}

/* What the job reads of w packed, if it was packed for such rows. */
static const uint8_t *packed_of(const struct gkv__job *j)
{
    struct gkv__form form;

    if (!j->e->repacked || (!j->mul && !j->many))
        return NULL;
    form = form_of(j->e->gemm, j->e->simd, j->w);
    return form.mul == j->mul && form.many == j->many ? gkv__repacked_find(j->e->repacked, j->w) : NULL;
}

static const uint8_t *packed_item(const struct gkv__job *j, const struct gkv__item *it)
{
    return j->packed ? j->packed + packed_at((struct gkv__form){ j->mul, j->many }, j->w, j->nc, it->col, it->k0) : NULL;
}

/* ---- our kernels ------------------------------------------------------------------------- */

/* Prefetches part `part` of `parts` of the weights that this thread packs next into the second-level cache:
 * memory is idle while the thread multiplies, and packing would wait for every line. */
static void fetch(const struct gkv__job *j, const struct gkv__item *it, size_t part, size_t parts)
{
    const struct gkv__mat *w = j->w;
    const size_t k0 = it->k0 + it->k < w->n_in ? it->k0 + it->k : 0;
    const size_t col = k0 ? it->col : it->col + j->nc < w->n_out ? it->col + j->nc : 0;
    const size_t n = gkv__min(j->nc, w->n_out - col), k = gkv__min(j->step, w->n_in - k0);
    const size_t bytes = k / w->format->block * w->format->bytes;

    if (j->packed) {
        const uint8_t *next = packed_item(j, &(struct gkv__item){ .col = col, .k0 = k0 });
        const size_t all = n * k / j->mul->unit * j->mul->w_bytes;

        for (size_t i = all * part / parts / LINE; i < all * (part + 1) / parts / LINE; i++)
            __builtin_prefetch(next + i * LINE, 0, 2);
        return;
    }
    for (size_t o = n * part / parts; o < n * (part + 1) / parts; o++) {
        const uint8_t *row = gkv__weights(w, col + o, k0);

        for (size_t i = 0; i < bytes; i += LINE)
            __builtin_prefetch(row + i, 0, 2);
    }
}

static bool multiply_own(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                         unsigned thread)
{
    const struct gkv__simd *simd = j->e->simd;
    const struct gkv__mat *w = j->w;
    const struct gkv__product *mul = j->mul;
    const size_t n = it->n, k = it->k;
    const int add = j->add || it->k0;
    const uint8_t *packed = packed_item(j, it);
    float *y = j->y + it->row * w->n_out + it->col;

    (void)thread;
    if (j->many) {
        j->many->gemm(y, w->n_out, (const uint8_t *)j->x->form + it->row * j->x_bytes, gkv__weights(w, it->col, 0),
                      gkv__mat_row_bytes(w), packed, it->m, n, k, scratch, add);
    } else if (mul) {
        const uint8_t *x = (const uint8_t *)j->x->form + it->row * j->x_bytes;

        if (!packed)
            pack_panels(mul, w, scratch, it->col, n, it->k0, k);
        x += it->k0 / mul->unit * mul->x_bytes;
        for (size_t r = 0, parts = items(it->m, SOME), p = 0; r < it->m; r += SOME, p++) {
            fetch(j, it, p, parts);
            mul->gemm(y + r * w->n_out, w->n_out, x + r * j->x_bytes, j->x_bytes, packed ? packed : scratch,
                      gkv__min(SOME, it->m - r), n, k, add);
        }
    } else {
        const size_t nr = simd->nr;
        float *rows = scratch, *panels = rows + nr * k;

        for (size_t i = 0; i < n; i += nr) {
            for (size_t r = 0; r < gkv__min(nr, n - i); r++)
                simd->unpack[w->format->type](gkv__weights(w, it->col + i + r, it->k0), rows + r * k, k);
            simd->pack(panels + i * k, rows, k, gkv__min(nr, n - i), k);
        }
        simd->gemm(y, w->n_out, j->x->x + it->row * w->n_in + it->k0, w->n_in, panels, it->m, n, k, add);
    }
    return true;
}

static void about_own(char *to, size_t size)
{
    snprintf(to, size, "%s", gkv__simd() && gkv__simd()->many[GKV__TYPE_Q8_0].form
             ? "many rows in bfloat16; else integer formats in integers, activations rounded to 8 bits"
             : "integer formats in integers, activations rounded to 8 or 16 bits");
}

static void about_coarse(char *to, size_t size)
{
    const struct gkv__simd *simd = gkv__simd();
    const bool tiles = simd && simd->many_coarse[GKV__TYPE_Q8_0].form, has = simd && simd->coarse[GKV__TYPE_Q8_0].form;

    if (tiles || has)
        snprintf(to, size, "%sinteger formats and activations rounded to 8 bits, a scale for %d", tiles ? "many rows: " : "",
                 tiles ? 256 : 128);
    else
        snprintf(to, size, "as own");
}

static void about_exact(char *to, size_t size)
{
    snprintf(to, size, "f32");
}

static const struct gkv__gemm own = {
    .name = "own", .multiply = multiply_own, .form = form_own, .begin = begin_ours, .about = about_own
};
static const struct gkv__gemm coarse = {
    .name = "coarse", .multiply = multiply_own, .form = form_coarse, .begin = begin_ours, .about = about_coarse
};
static const struct gkv__gemm exact = {
    .name = "exact", .multiply = multiply_own, .about = about_exact
};
static const struct gkv__gemm *const gemms[] = {
    &own, &coarse, &exact,
    &gkv__gemm_openblas,
    &gkv__gemm_onednn,
};
enum { N_GEMMS = sizeof gemms / sizeof *gemms };

/* The i-th library of this build. */
static const struct gkv__gemm *built(size_t i)
{
    for (size_t g = 0; g < N_GEMMS; g++)
        if (gemms[g]->multiply && !i--)
            return gemms[g];
    return NULL;
}

const char *gkv__gemm_at(size_t i)
{
    return built(i) ? built(i)->name : NULL;
}

const struct gkv__gemm *gkv__gemm_named(const char *name)
{
    for (size_t i = 0; built(i); i++)
        if (!strcmp(name, built(i)->name))
            return built(i);
    return NULL;
}

bool gkv__gemm_left_out(const char *name)
{
    for (size_t i = 0; i < N_GEMMS; i++)
        if (!strcmp(name, gemms[i]->name))
            return !gemms[i]->multiply;
    return false;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char lines[N_GEMMS][160];

static void describe(void)
{
    for (size_t i = 0; built(i); i++) {
        int n = snprintf(lines[i], sizeof *lines, "%s: ", built(i)->name);
        built(i)->about(lines[i] + n, sizeof *lines - (size_t)n);
    }
}

const char *gkv__gemm_describe(size_t i)
{
    pthread_once(&once, describe);
    return built(i) ? lines[i] : NULL;
}

void *gkv__gemm_open(const struct gkv__gemm *g, unsigned n_threads)
{
    return g->open ? g->open(n_threads) : NULL;
}

void gkv__gemm_close(const struct gkv__gemm *g, void *library)
{
    if (g->close)
        g->close(library);
}

/* ---- memory ----------------------------------------------------------------------------- */

uint64_t gkv__gemm_resident(const struct gkv__gemm *g)
{
    return g->resident;
}

/* Includes our own scratch for every library: our kernels compute the items that a library cannot. */
uint64_t gkv__gemm_scratch(const struct gkv__gemm *g, const struct gkv__simd *simd,
                           const struct gkv__shape *s)
{
    const uint64_t theirs = g->scratch ? g->scratch(s) : 0;
    const size_t cols = cols_of(simd->nr);
    uint64_t most = sizeof(float) * (cols + simd->nr) * step_of(cols, sizeof(float), 1);

    for (size_t t = 0; t < GKV__N_TYPES; t++) {
        const struct gkv__product *mul = &simd->product[t];
        if (mul->form) {
            const size_t n = cols_of(mul->nr);
            const uint64_t bytes = (uint64_t)n * mul->w_bytes / mul->unit *
                                   step_of(n, mul->w_bytes, mul->unit);

            most = bytes > most ? bytes : most;
        }
        if (simd->many[t].form)
            most = gkv__max(most, gkv__max(simd->many[t].scratch, simd->many_coarse[t].scratch));
    }
    return theirs > most ? theirs : most;
}

size_t gkv__gemm_form(size_t n_in)
{
    return items(items(n_in, 32) * FORM_MAX, LINE) * LINE / sizeof(float);
}

/* ---- work items ------------------------------------------------------------------------- */

/* Computes an item that the library could not, in pieces that our scratch has room for. */
static void instead(const struct gkv__job *j, const struct gkv__item *whole, void *scratch,
                    unsigned thread)
{
    const size_t cols = cols_of(j->e->simd->nr), step = step_of(cols, sizeof(float), 1);
    struct gkv__item it = *whole;

    for (size_t i = 0; i < whole->n; i += cols)
        for (size_t k = 0; k < whole->k; k += step) {
            it.col = whole->col + i;
            it.n = gkv__min(cols, whole->n - i);
            it.k0 = whole->k0 + k;
            it.k = gkv__min(step, whole->k - k);
            multiply_own(j, &it, scratch, thread);
        }
}

/* Parts from .. to - 1: all of one item, whose parts lie side by side or one below the other. */
static void block_items(void *arg, size_t from, size_t to, unsigned thread)
{
    const struct gkv__job *j = arg;
    const size_t across = items(j->nc, j->part_nc), down = items(j->mc, j->part_mc), parts = across * down;
    const size_t whole = from / parts, n_cols = items(j->w->n_out, j->nc), n = to - from;
    const size_t col = whole % n_cols * j->nc, row = whole / n_cols * j->mc;
    const size_t last_col = gkv__min(col + j->nc, j->w->n_out), last_row = gkv__min(row + j->mc, j->x->n);
    struct gkv__item it = { .col = col + from % parts % across * j->part_nc,
                            .row = row + from % parts / across * j->part_mc };

    if (it.col >= last_col || it.row >= last_row || gkv__cancelled(j->e))
        return;
    it.n = gkv__min(across > 1 ? n * j->part_nc : j->nc, last_col - it.col);
    it.m = gkv__min(down > 1 ? n * j->part_mc : j->mc, last_row - it.row);
    for (; it.k0 < j->w->n_in; it.k0 += it.k) {
        it.k = gkv__min(j->step, j->w->n_in - it.k0);
        if (!j->e->gemm->multiply(j, &it, gkv__scratch(j->e, thread), thread))
            instead(j, &it, gkv__scratch(j->e, thread), thread);
    }
}

static void few_items(void *arg, size_t from, size_t to, unsigned thread)
{
    const struct gkv__job *j = arg;
    const struct gkv__mat *w = j->w;
    const struct gkv__simd *simd = j->e->simd;
    const enum gkv__type type = w->format->type;
    const size_t most = gkv__band_most(w->n_out);
    const struct gkv__band b = { w->data, gkv__mat_row_bytes(w), w->n_out, from * PAIRS,
                                 gkv__min(to * PAIRS, most) };

    (void)thread;
    if (j->mul && j->mul->few && j->x->n > 1) {
        j->mul->few(j->y, w->n_out, &b, j->x->form, j->x_bytes, j->x->n, w->n_in, j->add);
        return;
    }
    for (size_t r = 0; r < j->x->n; r++) {
        const float *x = j->x->x + r * w->n_in;
        float *y = j->y + r * w->n_out;

        if (j->mul)
            j->mul->gemv(y, &b, (const uint8_t *)j->x->form + r * j->x_bytes, w->n_in, j->add);
        else if (simd->dots[type])
            simd->dots[type](y, &b, x, w->n_in, j->add);
        else
            for (size_t half = 0; half < 2; half++)
                for (size_t o = b.from + half * most; o < gkv__min(b.to + half * most, w->n_out); o++) {
                    const float sum = simd->dot[type](gkv__weights(w, o, 0), x, w->n_in);

                    y[o] = j->add ? y[o] + sum : sum;
                }
    }
}

enum { PREPARE = GKV__GROUP };  /* rows per work item */

static void prepare_item(void *arg, size_t i, unsigned thread)
{
    const struct gkv__job *j = arg;

    (void)thread;
    if (j->many) {
        const size_t r = i * PREPARE, n_in = j->w->n_in;

        j->many->prepare((uint8_t *)j->x->form + r * j->x_bytes, j->x->x + r * n_in, n_in,
                         gkv__min(PREPARE, j->x->n - r), n_in);
        return;
    }
    for (size_t r = i * PREPARE; r < gkv__min((i + 1) * PREPARE, j->x->n); r++)
        j->prepare((uint8_t *)j->x->form + r * j->x_bytes, j->x->x + r * j->w->n_in, j->w->n_in);
}

void gkv__gemm(struct gkv__exec *e, float *y, struct gkv__rows *x, const struct gkv__mat *w,
               bool add)
{
    const struct gkv__gemm *g = e->gemm;
    const size_t cols = g->nc ? g->nc : cols_of(e->simd->nr);
    struct gkv__job j = {
        .e = e, .y = y, .x = x, .w = w, .add = add, .few = x->n < FEW,
        .nc = cols, .mc = g->mc ? g->mc : MC,
        .step = g->step ? g->step : step_of(cols, sizeof(float), 1),
    };
    gkv__have *have;
    size_t parts;

    if (g->begin)
        g->begin(&j);
    have = j.many ? (gkv__have *)j.many->prepare : (gkv__have *)j.prepare;
    if (have && x->have != have) {
        gkv__for(e->n_threads, items(x->n, PREPARE), prepare_item, &j);
        x->have = have;
    }
    if (j.few) {
        gkv__for_parts(e->n_threads, items(gkv__band_most(w->n_out), PAIRS), MOST, few_items, &j);
    } else {
        j.step = equal_steps(j.step, w->n_in);
        j.packed = packed_of(&j);
        j.part_nc = j.part_nc && e->n_threads > 1 ? j.part_nc : j.nc;
        j.part_mc = j.part_mc && e->n_threads > 1 ? j.part_mc : j.mc;
        parts = items(j.nc, j.part_nc) * items(j.mc, j.part_mc);
        gkv__for_parts(e->n_threads, items(w->n_out, j.nc) * items(x->n, j.mc) * parts, parts, block_items, &j);
    }
    if (g->end)
        g->end(&j);
}
