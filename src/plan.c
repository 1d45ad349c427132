/* SPDX-License-Identifier: BSD-2-Clause
 * plan.c - see plan.h.  The two passes do not overlap, so the peak is the larger of theirs. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include "src/exec.h"
#include "src/kv.h"
#include "src/pass.h"
#include "src/plan.h"
#include "src/sample.h"

enum { MIN_CHUNK = 64 };

/* The run-time library and the stack of each thread: seen, not computed. */
enum { SLACK = 128 << 10, STACK = 16 << 10 };

static uint64_t max64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Saturating: "more than there is" needs no exact number. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t c;

    return gkv__add(a, b, &c) ? c : UINT64_MAX;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t c;

    return gkv__mul(a, b, &c) ? c : UINT64_MAX;
}

static uint64_t peak(const struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                     uint64_t n_kept, uint32_t chunk)
{
    const struct gkv__shape *s = &m->shape;
    const uint64_t exec = gkv__exec_bytes(p->simd, s, p->n_threads, chunk);
    uint64_t first = 0, second = 0;

    base = plus(base, SLACK + (uint64_t)p->n_threads * STACK);
    base = plus(base, times(n_kept, sizeof(uint32_t)));                /* indices */
    if (p->two_passes || !p->select_only)
        base = plus(base, exec);
    if (p->two_passes) {
        base = plus(base, times(n, 2 * sizeof(float)));         /* scores, their spare */
        first = plus(gkv__first_bytes(m, p->kv_first, n), gkv__first_weights(m, p->filter_layer));
    }
    if (!p->select_only) {
        second = gkv__cache_bytes(p->kv_second, s->n_layer, s->n_head_kv, s->head_dim,
                                  plus(n_kept, p->max_tokens));
        second = plus(second, times(n_kept, sizeof(uint32_t)));        /* ids */
        second = plus(second, gkv__model_weight_bytes(m));
        second = plus(second, min64(chunk, n_kept) * s->n_embd * sizeof(float));
        second = plus(second, s->n_vocab * (sizeof(float) + sizeof(struct gkv__candidate)));
    }
    return plus(base, max64(first, second));
}

gkv_status gkv__plan_make(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                          uint64_t n_kept, gkv_error *err)
{
    p->two_passes = p->method->needs != GKV__NEEDS_NOTHING && n_kept < n;
    p->chunk = (uint32_t)max64(1, min64(p->max_chunk, p->two_passes ? n : n_kept));
    for (;; p->chunk /= 2) {
        p->predicted = peak(p, m, base, n, n_kept, p->chunk);
        if (!p->limit || p->predicted <= p->limit)
            return GKV_OK;
        if (p->chunk / 2 < MIN_CHUNK)
            break;
    }
    return gkv__fail(err, GKV_LIMIT,
                     "method %s needs %" PRIu64 " bytes (%.1f GiB) of memory for %" PRIu64 " tokens, "
                     "the limit is %" PRIu64 "; raise --memory, or give a shorter document",
                     p->method->name, p->predicted, (double)p->predicted / (1u << 30), n, p->limit);
}
