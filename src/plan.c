/* SPDX-License-Identifier: BSD-2-Clause
 * plan.c - see plan.h. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/device.h"
#include "src/engine/exec.h"
#include "src/engine/gemm.h"
#include "src/engine/kv.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/plan.h"
#include "src/answer/sample.h"
#include "src/base/spill.h"
#include "src/select/sweep.h"
#include "src/base/thread.h"

enum {
    MIN_CHUNK = 64,
    LONG = 32768,       /* tokens: from here on, exact attention takes most of the time */
};

/* The run-time library and the stack of each thread: seen, not computed. */
enum { SLACK = 128 << 10, STACK = 16 << 10 };

/* ---- options ---------------------------------------------------------------------------- */

gkv_status gkv__plan_name(const char *what, const char *given, const char *const *known,
                          gkv_error *err)
{
    char list[128] = "";
    size_t at = 0;

    for (size_t i = 0; given && known[i]; i++) {
        if (!strcmp(given, known[i]))
            return GKV_OK;
        at += (size_t)snprintf(list + at, sizeof list - at, " %s", known[i]);
    }
    return given ? gkv__fail(err, GKV_INVALID, "no %s \"%s\"; there are:%s", what, given, list)
                 : GKV_OK;
}

static gkv_status kv_types(const gkv_model *m, const gkv_options *o, struct gkv__plan *p,
                           gkv_error *err)
{
    static const char *const known[] = { "f32", "f16", "bf16", "q8_0", NULL };

    GKV__TRY(gkv__plan_name("KV type", o->kv_type, known, err));
    p->kv_type = o->kv_type;
    p->kv_second = gkv__quant_named(o->kv_type ? o->kv_type : "f16");
    if (m->shape.head_dim % p->kv_second->block)
        return gkv__fail(err, GKV_INVALID, "KV type %s needs heads of a multiple of %u, they are %u",
                         o->kv_type, p->kv_second->block, m->shape.head_dim);
    return GKV_OK;
}

static gkv_status products(const gkv_options *o, struct gkv__plan *p, gkv_error *err)
{
    const char *known[8] = { NULL };
    gkv_error why;

    for (size_t i = 0; i < 7 && gkv__gemm_at(i); i++)
        known[i] = gkv__gemm_at(i);
    if (gkv__plan_name("gemm", o->gemm, known, &why) == GKV_OK) {
        p->gemm = gkv__gemm_named(o->gemm ? o->gemm : "own");
        return GKV_OK;
    }
    if (gkv__gemm_left_out(o->gemm))
        return gkv__fail(err, GKV_INVALID, "%s; to have it, build gemkv with ./configure --with-%s",
                         why.text, o->gemm);
    return gkv__fail(err, GKV_INVALID, "%s", why.text);
}

static gkv_status schedules(const gkv_options *o, struct gkv__plan *p, gkv_error *err)
{
    p->asked = NULL;
    if (!o->schedule || !strcmp(o->schedule, "auto"))
        return GKV_OK;
    return gkv__schedule_parse(o->schedule, &p->asked, p->schedule_param, err);
}

gkv_status gkv__plan_options(struct gkv__plan *p, const gkv_model *m, const gkv_options *o,
                             gkv_error *err)
{
    if (!m->arch)
        return gkv__fail(err, GKV_INVALID, "the model was opened for its vocabulary only");
    p->simd = gkv__simd();
    if (!p->simd)
        return gkv__fail(err, GKV_INVALID, "GEMKV_CPU=%s: no such level", getenv("GEMKV_CPU"));
    GKV__TRY(gkv__device_check(o->device, err));
    if (o->threads > 4096)
        return gkv__fail(err, GKV_INVALID, "%u threads: at most 4096", o->threads);
    if (o->chunk && (o->chunk < 16 || o->chunk > 65536))
        return gkv__fail(err, GKV_INVALID, "chunk %u: not in 16 .. 65536", o->chunk);
    GKV__TRY(kv_types(m, o, p, err));
    GKV__TRY(products(o, p, err));
    GKV__TRY(schedules(o, p, err));
    p->n_threads = o->threads ? o->threads : gkv__physical_cores();
    p->max_chunk = o->chunk ? o->chunk : 1024;
    p->limit = o->memory_limit ? o->memory_limit : gkv_memory_default();
    return GKV_OK;
}

/* ---- memory ----------------------------------------------------------------------------- */

/* All layers over n positions of a cache. */
static uint64_t whole_model(const struct gkv__plan *p, const gkv_model *m, uint64_t n,
                            uint64_t rows)
{
    const struct gkv__shape *s = &m->shape;
    uint64_t sum = gkv__cache_bytes(p->kv_second, s->n_layer, s->n_head_kv, s->head_dim, n);

    sum = gkv__plus(sum, gkv__model_weight_bytes(m));
    return gkv__plus(sum, rows * s->n_embd * sizeof(float));
}

static enum gkv__row row_of(const struct gkv__plan *p)
{
    return p->method->row ? p->method->row(p->method_param) : GKV__ROW_LAST;
}

/* What a method that acts inside of one pass takes for itself. */
static uint64_t run_bytes(const struct gkv__plan *p, const gkv_model *m, uint64_t n, uint64_t n_kept)
{
    const struct gkv__watch  *watch = p->method->watch;
    const struct gkv__context c = {
        .m = m, .param = p->method_param, .layer = p->layer, .kv = p->kv_second, .n = n, .k = n_kept,
        .n_tail = gkv__min(p->n_tail ? p->n_tail : 1, n), .keep_first = p->keep_first,
        .keep_last = p->keep_last, .n_new = p->max_tokens,
    };

    /* with the scores and indices of all tokens */
    return gkv__plus(watch ? gkv__sweep_bytes(&c, watch, p->chunk) : p->method->bytes(&c, p->chunk),
                     gkv__times(n, 2 * sizeof(float)));
}

/* n tokens, n_kept of them in the second pass.  The two passes do not overlap, so the peak is
 * the larger of theirs. */
static uint64_t session_peak(const struct gkv__plan *p, const gkv_model *m, uint64_t n,
                             uint64_t n_kept)
{
    const struct gkv__shape *s = &m->shape;
    const uint64_t exec = gkv__exec_bytes(p->simd, p->gemm, s, p->n_threads, p->chunk);
    const uint64_t spare = gkv__model_embed_spare(m, gkv__plus(n, p->max_tokens));
    uint64_t both = gkv__times(n_kept, sizeof(uint32_t)), first = 0, second = 0;    /* indices */

    if (p->two_passes || p->inside || !p->select_only)
        both = gkv__plus(both, exec);
    if (p->inside)
        first = run_bytes(p, m, n, n_kept);
    if (p->two_passes) {
        const struct gkv__first f = {
            .m = m, .il = p->filter_layer, .kv = p->kv_first, .param = p->schedule_param,
            .spill = p->spill, .row = row_of(p), .n = n, .n_kept = n_kept,
        };

        both = gkv__plus(both, gkv__times(n, 2 * sizeof(float)));       /* scores, their spare */
        first = gkv__plus(p->schedule->bytes(&f, p->chunk, p->n_threads),
                          p->schedule->weights(m, p->filter_layer) - spare);
    }
    if (!p->select_only && p->inside && !p->method->restarts)
        first = gkv__plus(first, s->n_vocab * (sizeof(float) + sizeof(struct gkv__candidate)));
    else if (!p->select_only) {
        second = whole_model(p, m, gkv__plus(n_kept, p->max_tokens), gkv__min(p->chunk, n_kept));
        if (m->output.data != m->embed.data)
            second -= spare;
        second = gkv__plus(second, gkv__times(n_kept, sizeof(uint32_t)));       /* ids */
        second = gkv__plus(second, s->n_vocab * (sizeof(float) + sizeof(struct gkv__candidate)));
    }
    return gkv__plus(both, gkv__max(first, second));
}

/* n positions, n_logits rows of logits. */
static uint64_t eval_peak(const struct gkv__plan *p, const gkv_model *m, uint64_t n,
                          uint64_t n_logits)
{
    const struct gkv__shape *s = &m->shape;
    uint64_t sum = whole_model(p, m, n, p->chunk);

    sum = gkv__plus(sum, gkv__exec_bytes(p->simd, p->gemm, s, p->n_threads, p->chunk));
    return gkv__plus(sum, n_logits * s->n_vocab * sizeof(float));
}

/* Halve the chunk until the peak is below the limit.  False: it never is. */
static bool fit(struct gkv__plan *p, const gkv_model *m, uint64_t base,
                uint64_t (*peak)(const struct gkv__plan *, const gkv_model *, uint64_t, uint64_t),
                uint64_t a, uint64_t b)
{
    base = gkv__plus(base, SLACK + (uint64_t)p->n_threads * STACK);
    base = gkv__plus(base, gkv__gemm_resident(p->gemm));
    for (;; p->chunk /= 2) {
        p->predicted = gkv__plus(base, peak(p, m, a, b));
        if (!p->limit || p->predicted <= p->limit)
            return true;
        if (p->chunk / 2 < MIN_CHUNK)
            return false;
    }
}

static uint64_t mib(uint64_t bytes)
{
    return (bytes + (1 << 19)) >> 20;
}

/* least: what any schedule asked about before this one would need. */
static void explain(struct gkv__plan *p, uint64_t n_tokens, uint64_t least)
{
    const int n = snprintf(p->why, sizeof p->why, "%s%s, %" PRIu64 " MiB of the %" PRIu64 " allowed",
                           p->asked ? "as asked, " : "", p->schedule->exact ? "exact" : "approximate",
                           mib(p->predicted), mib(p->limit));

    if (p->spill)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; hidden states in a file in %.60s",
                 gkv__spill_dir());
    else if (!p->asked && !p->schedule->exact)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; an exact one needs %" PRIu64, mib(least));
    else if (!p->asked && n_tokens >= LONG)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; --schedule stream is faster, not exact");
}

/* The first that fits: exact ones in memory, then with a file, then the others. */
static bool choose_schedule(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                            uint64_t n_kept)
{
    static const struct { bool exact, spill; } order[] = { { true, false }, { true, true }, { false, false } };
    const struct gkv__schedule *s;
    uint64_t least = UINT64_MAX;

    for (size_t o = 0; o < sizeof order / sizeof *order; o++)
        for (size_t i = 0; (s = gkv__schedule_at(i)); i++) {
            if (s->exact != order[o].exact || (order[o].spill && !s->can_spill) ||
                (p->asked && s != p->asked) || (row_of(p) != GKV__ROW_LAST && !s->any_row))
                continue;
            if (!p->asked)              /* the defaults, which are right */
                (void)gkv__schedule_parse(s->name, &s, p->schedule_param, NULL);
            p->schedule = s;
            p->spill = order[o].spill;
            p->kv_first = gkv__quant_named(p->kv_type ? p->kv_type : s->kv_type);
            p->chunk = (uint32_t)gkv__max(1, gkv__min(p->max_chunk, n));
            if (fit(p, m, base, session_peak, n, n_kept)) {
                explain(p, n, least);
                return true;
            }
            least = gkv__min(least, p->predicted);
        }
    p->predicted = least;
    return false;
}

gkv_status gkv__plan_make(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                          uint64_t n_kept, gkv_error *err)
{
    p->two_passes = p->method->needs != GKV__NEEDS_NOTHING && n_kept < n;
    p->inside = p->method->run && (n_kept < n || p->method->own_budget);
    p->chunk = (uint32_t)gkv__max(1, gkv__min(p->max_chunk, p->inside ? n : n_kept));
    p->schedule = NULL;
    p->spill = false;
    *p->why = 0;
    if (p->two_passes && p->asked && row_of(p) != GKV__ROW_LAST && !p->asked->any_row)
        return gkv__fail(err, GKV_INVALID, "schedule %s scores by the last row only; for another, take "
                         "--schedule layer", p->asked->name);
    if (p->two_passes ? choose_schedule(p, m, base, n, n_kept)
                      : fit(p, m, base, session_peak, n, n_kept))
        return GKV_OK;
    return gkv__fail(err, GKV_LIMIT,
                     "method %s needs %" PRIu64 " bytes (%.1f GiB) of memory for %" PRIu64 " tokens, "
                     "the limit is %" PRIu64 "; raise --memory, or give a shorter document",
                     p->method->name, p->predicted, (double)p->predicted / (1u << 30), n, p->limit);
}

gkv_status gkv__plan_eval(struct gkv__plan *p, const gkv_model *m, uint64_t base, uint64_t n,
                          uint64_t n_logits, gkv_error *err)
{
    p->chunk = (uint32_t)gkv__min(p->max_chunk, n);
    if (fit(p, m, base, eval_peak, n, n_logits))
        return GKV_OK;
    return gkv__fail(err, GKV_LIMIT,
                     "the model needs %" PRIu64 " bytes (%.1f GiB) of memory for a context of %" PRIu64
                     " tokens, the limit is %" PRIu64 "; raise --memory, or take a smaller context",
                     p->predicted, (double)p->predicted / (1u << 30), n, p->limit);
}
