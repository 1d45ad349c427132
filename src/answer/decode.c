/* SPDX-License-Identifier: BSD-2-Clause
 * decode.c - see decode.h */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/engine/forward.h"
#include "src/engine/layer.h"

static bool greedy(const struct gkv__decode *d)
{
    return !(d->sampler.temperature > 0);
}

/* ---- beginning, ending ------------------------------------------------------------------ */

void gkv__decode_end(struct gkv__decode *d)
{
    gkv__cache_close(&d->cache);
    gkv__hook_close(&d->hook);
    free(d->id);
    free(d->x);
    free(d->logits);
    free(d->candidates);
    d->id = NULL;
    d->x = d->logits = NULL;
    d->candidates = NULL;
    d->n_kept = 0;
    d->n_done = d->n_answer = d->next = 0;
}

void gkv__decode_close(struct gkv__decode *d)
{
    gkv__decode_end(d);
    gkv__device_close(d->device);
    d->device = NULL;
}

void gkv__decode_on_cpu(struct gkv__decode *d, const char *why)
{
    if (d->device && why)
        snprintf(d->device_why, sizeof d->device_why, "%.255s", why);
    gkv__device_close(d->device);
    d->device = NULL;
}

static gkv_status reserve(struct gkv__decode *d, const struct gkv__context *c, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    d->n_kept = c->n_kept;
    d->id = malloc((size_t)(d->n_kept + d->n_new) * sizeof *d->id);
    d->x = malloc(s->n_embd * sizeof *d->x);
    d->logits = malloc(s->n_vocab * sizeof *d->logits);
    d->candidates = malloc(s->n_vocab * sizeof *d->candidates);
    if (!d->id || !d->x || !d->logits || !d->candidates)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (size_t i = 0; i < d->n_kept; i++)
        d->id[i] = c->id[c->kept[i]];
    return GKV_OK;
}

/* ---- through the whole model ------------------------------------------------------------ */

static gkv_status on_device(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    while (d->n_done < n) {
        const size_t nb = gkv__min(n - d->n_done, gkv__device_block(d->device));
        const bool last = d->n_done + nb == n;

        GKV__TRY(gkv__device_forward(d->device, d->id + d->n_done, nb, d->n_done,
                                     last && !greedy(d) ? d->logits : NULL, last ? &d->best : NULL, err));
        if (nb > 1)
            gkv__progress(d->e, s->n_layer * gkv__layer_work(s, d->n_done, nb));
        d->n_done += nb;
        if (gkv__cancelled(d->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %" PRIu64, d->n_done);
    }
    return GKV_OK;
}

static gkv_status on_cpu(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    if (!d->n_done)
        GKV__TRY(gkv__cache_open(&d->cache, d->kv, s->n_layer, s->n_head_kv, s->head_dim,
                                 d->n_kept + d->n_new, err));
    GKV__TRY(gkv__forward(&d->p, d->id + d->n_done, (size_t)(n - d->n_done),
                          d->n_done + d->next - d->n_kept, d->x, err));
    gkv__logits(d->e, d->m, d->x, 1, d->logits);
    d->n_done = n;
    return GKV_OK;
}

/* Gives up the device: the CPU takes over, and begins again with the kept tokens. */
static void leave_device(struct gkv__decode *d, const gkv_error *why)
{
    if (why->status != GKV_UNSUPPORTED)
        snprintf(d->warning, sizeof d->warning, "%.200s; going on on the CPU", why->text);
    gkv__decode_on_cpu(d, why->text);
    d->n_done = 0;
}

/* Computes logits, or the best token, after the first n tokens of d->id. */
static gkv_status forward(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    gkv_error why = { 0 };

    if (d->device) {
        gkv_status status = d->n_done ? GKV_OK : gkv__device_ready(d->device, d->n_kept + d->n_new, &why);

        if (status == GKV_OK)
            status = on_device(d, n, &why);
        if (status != GKV_DEVICE && status != GKV_UNSUPPORTED) {
            if (status != GKV_OK && err)
                *err = why;
            return status;
        }
        leave_device(d, &why);
    }
    return on_cpu(d, n, err);
}

/* Takes over the cache that the method's only pass left, so decoding begins without a prefill. */
static void take_over(struct gkv__decode *d, struct gkv__context *c)
{
    char why[160];

    snprintf(why, sizeof why, "device: method %s answers from the keys and values of its only pass, which "
             "are here", c->t->method->name);
    gkv__decode_on_cpu(d, why);
    d->cache = c->cache;
    d->hook = c->hook;
    c->cache = (struct gkv__cache){ 0 };
    c->hook = (struct gkv__hook){ 0 };
    memcpy(d->x, c->x, d->m->shape.n_embd * sizeof *d->x);
    d->next = c->next;
    d->n_done = d->n_kept;
    gkv__logits(d->e, d->m, d->x, 1, d->logits);
}

gkv_status gkv__decode_begin(struct gkv__decode *d, struct gkv__context *c, gkv_stage stage, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    GKV__TRY(reserve(d, c, err));
    d->p = (struct gkv__pass){ .e = d->e, .m = d->m, .span = c->span, .c = &d->cache, .hook = &d->hook };
    if (!c->restart) {
        take_over(d, c);
        return GKV_OK;
    }
    d->next = d->n_kept;
    d->p.span = d->n_kept + d->n_new;
    gkv__stage(d->e, stage, d->n_kept, s->n_layer * gkv__layer_work(s, 0, d->n_kept));
    return forward(d, d->n_kept, err);
}

/* ---- token by token --------------------------------------------------------------------- */

gkv_status gkv__decode_next(struct gkv__decode *d, uint32_t *id, gkv_error *err)
{
    const uint64_t n = d->n_kept + d->n_answer;

    if (d->n_answer == d->n_new)
        return GKV_END;
    if (d->n_done < n)
        GKV__TRY(forward(d, n, err));
    *id = d->device && greedy(d) ? d->best
        : gkv__sample(&d->sampler, d->logits, d->candidates, d->m->shape.n_vocab);
    return GKV_OK;
}

void gkv__decode_append(struct gkv__decode *d, uint32_t id)
{
    d->id[d->n_kept + d->n_answer++] = id;
}
