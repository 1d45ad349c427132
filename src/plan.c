/* SPDX-License-Identifier: BSD-2-Clause
 * plan.c - see plan.h. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/answer/think.h"
#include "src/engine/exec.h"
#include "src/engine/gemm.h"
#include "src/engine/mtp.h"
#include "src/engine/repack.h"
#include "src/first/group.h"
#include "src/first/index.h"
#include "src/first/reading.h"
#include "src/first/refine.h"
#include "src/model/arch.h"
#include "src/base/cores.h"
#include "src/base/mem.h"
#include "src/plan.h"
#include "src/base/spill.h"

enum {
    MIN_CHUNK = 64,
    LONG = 32768,       /* tokens; for longer prompts exact attention takes most of the time */
};

/* Memory of the run-time library and of each thread's stack: measured, not computed. */
enum { SLACK = 128 << 10, STACK = 16 << 10 };

/* Of a token of passages that a method of one pass reads again: its id, place, score and whether it is kept. */
enum { AGAIN = 3 * sizeof(uint32_t) + sizeof(float) };

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
    return given ? gkv__fail_unknown(err, what, given, strlen(given), list) : GKV_OK;
}

static gkv_status kv_types(const gkv_model *m, const gkv_options *o, struct gkv__plan *p,
                           gkv_error *err)
{
    static const char *const known[] = { "f32", "f16", "bf16", "q8_0", NULL };

    GKV__TRY(gkv__plan_name("KV type", o->kv_type, known, err));
    p->kv_type = o->kv_type;
    p->task.kv = gkv__quant_named(o->kv_type ? o->kv_type : "f16");
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        if (gkv__shape_of(m, il)->head_dim % p->task.kv->block)
            return gkv__fail(err, GKV_INVALID, "KV type %s needs heads of a multiple of %u, they are %u",
                             o->kv_type, p->task.kv->block, gkv__shape_of(m, il)->head_dim);
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
    return gkv__schedule_parse(o->schedule, &p->asked, p->asked_param, err);
}

static gkv_status attention(const gkv_options *o, struct gkv__plan *p, gkv_error *err)
{
    static const struct gkv__param none[] = { { .name = NULL } };
    static const struct gkv__param some[] = {
        { .name = "threshold", .value = "0.9", .help = "share of the attention", .min = 0.01, .max = 1 },
        { .name = NULL },
    };
    const char *name = o->attention ? o->attention : "dense";
    double param[GKV__MAX_PARAMS] = { 0 };

    if (gkv__param_is(name, "dense"))
        GKV__TRY(gkv__param_parse("attention", name, none, param, err));
    else if (gkv__param_is(name, "sparse"))
        GKV__TRY(gkv__param_parse("attention", name, some, param, err));
    else
        return gkv__fail_unknown(err, "attention", name, strcspn(name, ":"), " dense sparse");
    p->task.sparse = param[0];
    return GKV_OK;
}

gkv_status gkv__plan_options(struct gkv__plan *p, const gkv_model *m, const gkv_options *o,
                             gkv_error *err)
{
    if (!m->arch)
        return gkv__fail(err, GKV_INVALID, "the model was opened for its vocabulary only");
    p->task.m = m;
    p->task.group = o->group;
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
    GKV__TRY(attention(o, p, err));
    p->n_threads = o->threads ? o->threads : gkv__cores_share(gkv__group_local(o->group));
    p->max_chunk = o->chunk ? o->chunk : 1024;
    p->repack = o->repack;
    p->limit = o->memory_limit ? o->memory_limit : gkv_memory_default() / gkv__group_local(o->group);
    return GKV_OK;
}

static gkv_status check_numbers(const gkv_model *m, const gkv_options *o, gkv_error *err)
{
    if (!o->keep && !(o->keep_percent > 0))
        return gkv__fail(err, GKV_INVALID, "a budget of 0 tokens keeps nothing; at least 1");
    if (!(o->keep_percent >= 0 && o->keep_percent <= 100))
        return gkv__fail(err, GKV_INVALID, "keep %g %%: not in 0 .. 100", (double)o->keep_percent);
    if (o->layer < -1 || o->layer >= (int64_t)m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "layer %d: the model has layers 0 .. %u", o->layer,
                         m->shape.n_layer - 1);
    if (!(o->temperature >= 0) || !(o->top_p > 0 && o->top_p <= 1) || !(o->min_p >= 0 && o->min_p <= 1))
        return gkv__fail(err, GKV_INVALID, "sampling needs temperature >= 0, 0 < top-p <= 1, "
                         "0 <= min-p <= 1");
    if (!(o->repeat_penalty > 0) || !isfinite(o->repeat_penalty) || !isfinite(1 / o->repeat_penalty) ||
        !isfinite(o->presence_penalty) || !isfinite(o->frequency_penalty))
        return gkv__fail(err, GKV_INVALID, "penalties need numbers, and repeat-penalty one above 0");
    if (!o->max_tokens)
        return gkv__fail(err, GKV_INVALID, "an answer of 0 tokens; at least 1");
    if (o->think < GKV_THINK)
        return gkv__fail(err, GKV_INVALID, "think %d: not a number of tokens", o->think);
    for (size_t i = 0; i < o->n_stop; i++)
        if (!*o->stop[i])
            return gkv__fail(err, GKV_INVALID, "an empty stop string: it would end every answer");
    return GKV_OK;
}

uint64_t gkv__plan_thought(const gkv_options *o)
{
    return o->think < 0 ? GKV__THINK_MOST : (uint64_t)o->think;
}

uint64_t gkv__plan_new(const gkv_model *m, const gkv_options *o)
{
    const struct gkv__template *t = o->raw || o->chat_template ? NULL : m->chat_template;
    const uint64_t begin = o->think && o->begin ? strlen(o->begin) : 0;

    return o->max_tokens + (o->think || (t && t->marks) ? gkv__plan_thought(o) + begin + GKV__THINK_ROWS : 0);
}

gkv_status gkv__plan_task(struct gkv__plan *p, const gkv_model *m, const gkv_options *o, gkv_error *err)
{
    struct gkv__task *t = &p->task;
    bool keys;                          /* it chooses among those of every layer             */
    int refine;

    GKV__TRY(gkv__select_parse(o->method ? o->method : "gemfilter", &t->method, t->param, err));
    GKV__TRY(check_numbers(m, o, err));
    t->row = t->method->row ? t->method->row(t->param) : GKV__ROW_LAST;
    refine = gkv__param_row(t->method->params, "refine");
    t->refine = refine < 0 ? 0 : (uint32_t)t->param[refine];
    t->layer = o->layer;
    p->rows = gkv__decode_rows(o->draft);
    p->grammar = o->grammar;
    p->mtp = o->draft && o->draft_mtp && gkv__has_mtp(m);
    t->filter = t->deepest = o->layer >= 0 ? (uint32_t)o->layer : m->filter_layer;
    p->reading = o->reading;
    t->n_new = gkv__plan_new(m, o);
    if (t->method->kind != GKV__SCORES)         /* this process alone */
        t->group = NULL;
    keys = t->method->kind == GKV__SWEEPS || (t->method->kind == GKV__RUNS && !t->method->restarts);
    if (gkv__has_states(m) && keys)
        return gkv__fail(err, GKV_UNSUPPORTED, "method %s chooses among the keys of every layer, and layers of "
                         "architecture %s have a state instead; take gemfilter, or another of two passes",
                         t->method->name, m->arch->name);
    if (!gkv__is_even(m) && keys)
        return gkv__fail(err, GKV_UNSUPPORTED, "method %s needs heads of one size in every layer, and those of "
                         "architecture %s differ; take gemfilter, or another of two passes", t->method->name, m->arch->name);
    return t->method->kind == GKV__SCORES ? gkv__may_filter(m, t->filter, err) : GKV_OK;
}

gkv_status gkv__plan_mtp(const struct gkv__plan *p, const gkv_model *m, const gkv_options *o, gkv_error *err)
{
    const struct gkv__select *method = p->task.method;

    if (!o->draft || !o->draft_mtp)
        return GKV_OK;
    if (o->draft_reader)
        return gkv__fail(err, GKV_INVALID, "draft: either the reader guesses or the model's own layer");
    if (!m->shape.n_further)
        return gkv__fail(err, GKV_UNSUPPORTED, "draft mtp: the model has no layer that predicts further tokens");
    if (!gkv__has_mtp(m))
        return gkv__fail(err, GKV_UNSUPPORTED, "draft mtp: %.400s", m->mtp_error.text);
    if (method->kind > GKV__SCORES && !method->restarts)
        return gkv__fail(err, GKV_INVALID, "draft mtp: method %s answers from the keys and values of its only pass, and "
                         "the layer that guesses has none; take a method of two passes", method->name);
    if (o->device && strcmp(o->device, "auto") && strcmp(o->device, "cpu"))
        return gkv__fail(err, GKV_INVALID, "draft mtp: the layer guesses on the CPU only, not on device %s", o->device);
    return GKV_OK;
}

uint64_t gkv__plan_budget(const gkv_options *o, uint64_t n)
{
    const double share = (double)n * (double)o->keep_percent / 100;

    return o->keep_percent > 0 ? gkv__max(1, (uint64_t)share) : o->keep;
}

void gkv__plan_prompt(struct gkv__plan *p, const gkv_options *o, uint64_t n, size_t n_tail)
{
    struct gkv__task *t = &p->task;

    t->n = n;
    t->n_tail = gkv__min(gkv__max(n_tail, 1), n);
    t->k = t->method->kind == GKV__KEEPS_ALL || t->method->own_budget ? n
           : gkv__min(gkv__plan_budget(o, n), n);
    t->k_pick = t->k;
    t->keep_first = gkv__min(o->keep_first, n);
    t->keep_last = gkv__min(o->keep_last == GKV_KEEP_PROMPT ? n_tail : o->keep_last, n);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Memory of a pass through all layers: n positions of cache, weights, `rows` rows. */
static uint64_t whole_model(const struct gkv__task *t, uint64_t n, uint64_t rows)
{
    const struct gkv__shape *s = &t->m->shape;
    uint64_t sum = gkv__cache_bytes_for(t->m, t->kv, s->n_layer, n);

    sum = gkv__plus(sum, gkv__model_weight_bytes(t->m));
    return gkv__plus(sum, rows * s->n_embd * sizeof(float));
}

/* The schedule, then perhaps the best passages again, while what the schedule keeps for the next question stays. */
static uint64_t schedule_bytes(const struct gkv__plan *p, const struct gkv__task *t)
{
    const size_t again = gkv__refine_again(t);
    const uint64_t early = gkv__plan_reuses(p) ? gkv__early_bytes(t, t->n) : 0;
    const uint64_t first = again == t->n && !t->schedule->exact ? 0 : t->schedule->bytes(t, p->chunk, p->n_threads);

    if (!again || (again == t->n && t->schedule->exact))
        return first;
    return gkv__max(first, gkv__plus(early, gkv__refine_bytes(t, again, p->chunk, p->n_threads)));
}

/* Without the embeddings that no token of the prompt or the answer needs. */
static uint64_t first_pass(const struct gkv__plan *p)
{
    struct gkv__task t = p->task;

    t.filter = t.deepest;
    return gkv__plus(gkv__plus(schedule_bytes(p, &t), gkv__reading_bytes(&t)),
                     t.schedule->weights(t.m, t.filter) - gkv__model_embed_spare(t.m, gkv__plus(t.n, t.n_new)));
}

static uint64_t second_pass(const struct gkv__plan *p)
{
    const struct gkv__task *t = &p->task;
    const bool keeps = gkv__plan_keeps(p);
    const uint64_t more = keeps ? GKV__PREFIX_MORE : 0;
    const uint64_t slots = gkv__plus(gkv__plus(t->k, t->n_new), more);
    uint64_t sum = whole_model(t, slots, gkv__min(p->chunk, t->k));

    sum -= gkv__model_input_spare(t->m, gkv__plus(t->n, t->n_new));
    if (p->rows > 1)
        sum = gkv__plus(sum, gkv__rewind_floats(t->m, p->rows) * sizeof(float));
    if (p->mtp)
        sum = gkv__plus(sum, gkv__plus(gkv__mtp_bytes(t->m, t->kv, slots),
                                       gkv__model_mtp_bytes(t->m) + t->m->shape.n_vocab * sizeof(float)));
    if (keeps)
        sum = gkv__plus(sum, gkv__states_floats(t->m, t->m->shape.n_layer) * sizeof(float));
    if (p->grammar)
        sum = gkv__plus(sum, GKV__MATCH_BYTES);
    /* ids, and those of the prompt before while they are compared */
    return gkv__plus(sum, gkv__times(gkv__plus(t->k, keeps ? t->k : 0), sizeof(uint32_t)));
}

/* The two passes do not overlap, so the peak is the larger of their two peaks. */
static uint64_t run_peak(const struct gkv__plan *p)
{
    const struct gkv__task *t = &p->task;
    const struct gkv__shape *s = &t->m->shape;
    const uint64_t logits = s->n_vocab * (p->rows * sizeof(float) + sizeof(struct gkv__candidate));
    const bool one_pass = p->kind == GKV__SWEEPS || p->kind == GKV__RUNS;
    uint64_t both = gkv__times(gkv__max(t->k, t->k_pick), sizeof(uint32_t)), first = 0, second = 0;      /* indices */

    if (one_pass || p->kind == GKV__SCORES || !p->select_only)
        both = gkv__plus(both, gkv__exec_bytes(p->simd, p->gemm, s, p->n_threads, p->chunk));
    if (one_pass || p->kind == GKV__SCORES || (p->kind == GKV__PICKS && t->method->words))
        both = gkv__plus(both, gkv__times(t->n, 2 * sizeof(float)));    /* scores, their spare */
    if (p->kind == GKV__PICKS && t->method->words)
        both = gkv__plus(both, gkv__times(t->n, sizeof(uint32_t)));
    if (one_pass)
        first = gkv__plus(gkv__select_bytes(t, p->chunk), gkv__times(t->refine ? gkv__refine_size(t) : 0, AGAIN));
    if (p->kind == GKV__SCORES)
        first = first_pass(p);
    if (gkv__plan_reuses(p))            /* has room for a longer question */
        first = gkv__plus(first, gkv__early_bytes(t, p->chunk));
    if (!p->select_only && one_pass && !t->method->restarts)
        first = gkv__plus(first, logits);
    else if (!p->select_only)
        second = gkv__plus(second_pass(p), logits);
    if (gkv__plan_reuses(p))
        second = gkv__plus(second, gkv__early_bytes(t, gkv__plus(t->n, p->chunk)));
    return gkv__plus(both, gkv__max(first, second));
}

/* n positions, n_logits rows of logits. */
static uint64_t eval_peak(const struct gkv__plan *p, uint64_t n, uint64_t n_logits)
{
    const struct gkv__shape *s = &p->task.m->shape;
    uint64_t sum = whole_model(&p->task, n, p->chunk);

    sum = gkv__plus(sum, gkv__exec_bytes(p->simd, p->gemm, s, p->n_threads, p->chunk));
    return gkv__plus(sum, n_logits * s->n_vocab * sizeof(float));
}

/* base, plus what threads and libraries need. */
static uint64_t with_run_time(const struct gkv__plan *p, uint64_t base)
{
    base = gkv__plus(base, SLACK + (uint64_t)p->n_threads * STACK);
    return gkv__plus(base, gkv__gemm_resident(p->gemm));
}

/* Halves the chunk if that may bring the prediction below the limit; returns whether it did. */
static bool smaller(struct gkv__plan *p)
{
    if (!p->limit || p->predicted <= p->limit || p->chunk / 2 < MIN_CHUNK)
        return false;
    p->chunk /= 2;
    return true;
}

/* Halves the chunk until the peak is below the limit.  False: no chunk is small enough. */
static bool fit(struct gkv__plan *p, uint64_t base)
{
    do
        p->predicted = gkv__plus(with_run_time(p, base), run_peak(p));
    while (smaller(p));
    return !p->limit || p->predicted <= p->limit;
}

static uint64_t mib(uint64_t bytes)
{
    return (bytes + (1 << 19)) >> 20;
}

/* least: the smallest need of the schedules that were tried before this one. */
static void explain(struct gkv__plan *p, uint64_t least)
{
    const struct gkv__task *t = &p->task;
    const char *how = t->schedule->indexed ? "indexed before" : t->sparse > 0 ? "with sparse attention"
                      : t->schedule->exact ? "exact" : "approximate";
    const int n = snprintf(p->why, sizeof p->why, "%s%s, %" PRIu64 " MiB of the %" PRIu64 " allowed",
                           p->asked ? "as asked, " : "", how, mib(p->predicted), mib(p->limit));

    if (t->spill)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; hidden states in a file in %.60s",
                 gkv__spill_dir());
    else if (t->schedule->indexed)
        return;
    else if (!p->asked && !t->schedule->exact)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; an exact one needs %" PRIu64, mib(least));
    else if (!p->asked && t->n >= LONG)
        snprintf(p->why + n, sizeof p->why - (size_t)n, "; --schedule stream is faster, not exact");
}

/* Whether all of the document was indexed, for this filter layer. */
static bool is_indexed(const struct gkv__task *t)
{
    for (size_t i = 0; i < t->n_parts; i++)
        if (t->part[i].index->h.filter != t->filter)
            return false;
    return t->n_parts && t->row == GKV__ROW_LAST;
}

/* The next in order of preference: from an index where there is one, then exact ones in memory, then with a
 * file, then the others; those that save work for the next question first, where one will come.  False: there
 * is no other. */
static bool candidate(struct gkv__plan *p, size_t i)
{
    static const struct { bool exact, spill, reuse, indexed; } order[] = {
        { .indexed = true }, { .exact = true, .reuse = true }, { .exact = true }, { .exact = true, .spill = true },
        { .exact = false },
    };
    size_t n = 0;
    const struct gkv__schedule *s;

    for (size_t o = 0; o < sizeof order / sizeof *order; o++)
        for (size_t j = 0; (s = gkv__schedule_at(j)); j++) {
            if (s->exact != order[o].exact || s->indexed != order[o].indexed || (s->indexed && !is_indexed(&p->task)) ||
                (order[o].reuse && !p->often) || (order[o].spill && !s->can_spill) ||
                (order[o].reuse && !s->reuses) || (p->task.sparse > 0 && !s->has_sparse) ||
                (gkv__grouped(&p->task) && !s->splits) || (p->asked && s != p->asked) ||
                (p->task.row != GKV__ROW_LAST && !s->any_row) || n++ != i)
                continue;
            p->task.schedule = s;
            p->task.spill = order[o].spill;
            return true;
        }
    return false;
}

/* All n tokens at a time, if the caller allows that many; and room for a step that checks guesses, which a very short
 * prompt is shorter than. */
static uint32_t most_rows(const struct gkv__plan *p, uint64_t n)
{
    return (uint32_t)gkv__max(gkv__max(1, p->rows), gkv__min(p->max_chunk, n));
}

/* Shares the scores of a first pass to layer il with other questions, if there is memory for it. */
static bool share(struct gkv__plan *p, uint32_t il, uint64_t base)
{
    struct gkv__plan deep = *p;

    deep.task.reading = p->reading;
    deep.task.deepest = il;
    deep.predicted = gkv__plus(with_run_time(p, base), run_peak(&deep));
    if (p->limit && deep.predicted > p->limit)
        return false;
    *p = deep;
    return true;
}

static void read_on(struct gkv__plan *p, uint64_t base)
{
    if (p->reading && !share(p, gkv__reading_deepest(&p->task, p->reading), base))
        (void)share(p, p->task.filter, base);
}

static bool choose_schedule(struct gkv__plan *p, uint64_t base)
{
    struct gkv__task *t = &p->task;
    uint64_t least = UINT64_MAX;
    int once;

    for (size_t i = 0; candidate(p, i); i++) {
        if (p->asked)
            memcpy(t->schedule_param, p->asked_param, sizeof t->schedule_param);
        else                    /* defaults: cannot fail */
            (void)gkv__schedule_parse(t->schedule->name, &t->schedule, t->schedule_param, NULL);
        once = gkv__param_row(t->schedule->params, "refine");
        if (t->refine && once >= 0)     /* the method does */
            t->schedule_param[once] = 0;
        t->kv_first = gkv__quant_named(p->kv_type ? p->kv_type : t->schedule->kv_type);
        p->chunk = most_rows(p, t->n);
        t->reading = NULL;
        t->deepest = t->filter;
        if (fit(p, base)) {
            read_on(p, base);
            explain(p, least);
            return true;
        }
        least = gkv__min(least, p->predicted);
    }
    p->predicted = least;
    return false;
}

/* Packs the weights of n layers if what was planned leaves memory for it. */
static void pack(struct gkv__plan *p, uint32_t n)
{
    uint64_t bytes;

    p->n_repack = 0;
    p->repack_bytes = 0;
    if (!p->repack)
        return;
    bytes = gkv__repack_bytes(p->gemm, p->simd, p->task.m, n);
    p->repack_bytes = bytes;
    if (!bytes || (p->limit && gkv__plus(p->predicted, bytes) > p->limit))
        return;
    p->n_repack = n;
    p->predicted = gkv__plus(p->predicted, bytes);
}

/* Layers that the CPU computes with many rows. */
static uint32_t layers(const struct gkv__plan *p)
{
    if (p->kind <= GKV__PICKS)
        return p->select_only || p->device ? 0 : p->task.m->shape.n_layer;
    if (p->kind == GKV__SCORES && (p->select_only || p->device))
        return p->task.deepest + 1;
    return p->task.m->shape.n_layer;
}

gkv_status gkv__plan_make(struct gkv__plan *p, uint64_t base, gkv_error *err)
{
    struct gkv__task *t = &p->task;

    p->n_repack = 0;
    p->kind = gkv__task_kind(t);
    p->chunk = most_rows(p, p->kind >= GKV__SCORES ? t->n : t->k);
    t->schedule = NULL;
    t->spill = false;
    t->kv_first = gkv__quant_named(p->kv_type ? p->kv_type : "f32");
    *p->why = 0;
    if (p->kind == GKV__SCORES && p->asked && t->row != GKV__ROW_LAST && !p->asked->any_row)
        return gkv__fail(err, GKV_INVALID, "schedule %s scores by the last row only; for another, take "
                         "--schedule layer", p->asked->name);
    if (p->kind == GKV__SCORES && t->sparse > 0 && p->asked && !p->asked->has_sparse)
        return gkv__fail(err, GKV_INVALID, "schedule %s has no sparse attention; take layer or chunk, or "
                         "--attention dense", p->asked->name);
    if (p->kind == GKV__SCORES && t->sparse > 0 && gkv__grouped(t))
        return gkv__fail(err, GKV_UNSUPPORTED, "sparse attention cannot be shared by %u processes; take --attention "
                         "dense, or start one process", t->group->size);
    if (p->kind == GKV__SCORES && p->asked && gkv__grouped(t) && !p->asked->splits)
        return gkv__fail(err, GKV_UNSUPPORTED, "schedule %s cannot be shared by %u processes; take layer or stream, or start one "
                         "process", p->asked->name, t->group->size);
    if (p->kind == GKV__SCORES && p->asked && p->asked->indexed && !is_indexed(t))
        return gkv__fail(err, GKV_INVALID, "schedule index: the document has no index for filter layer %u; make one "
                         "with gemkv index, or take another schedule", t->filter);
    if (p->kind == GKV__SCORES ? choose_schedule(p, base) : fit(p, base)) {
        pack(p, layers(p));
        return GKV_OK;
    }
    return gkv__fail(err, GKV_LIMIT,
                     "method %s needs %s of memory for %" PRIu64 " tokens, the limit is %s; raise --memory, or give a "
                     "shorter document", t->method->name, gkv__needed(p->predicted).text, t->n,
                     gkv__limit(p->limit).text);
}

gkv_status gkv__plan_eval(struct gkv__plan *p, uint64_t base, uint64_t n, uint64_t n_logits,
                          gkv_error *err)
{
    p->chunk = (uint32_t)gkv__min(p->max_chunk, n);
    do
        p->predicted = gkv__plus(with_run_time(p, base), eval_peak(p, n, n_logits));
    while (smaller(p));
    if (!p->limit || p->predicted <= p->limit) {
        pack(p, p->task.m->shape.n_layer);
        return GKV_OK;
    }
    return gkv__fail(err, GKV_LIMIT,
                     "the model needs %s of memory for a context of %" PRIu64 " tokens, the limit is %s; raise "
                     "--memory, or take a smaller context", gkv__needed(p->predicted).text, n,
                     gkv__limit(p->limit).text);
}

bool gkv__plan_reuses(const struct gkv__plan *p)
{
    return p->often && p->kind == GKV__SCORES && p->task.schedule->reuses;
}

bool gkv__plan_keeps(const struct gkv__plan *p)
{
    return p->often && !p->select_only && p->kind <= GKV__PICKS;
}

const char *gkv__plan_order(const struct gkv__plan *p)
{
    static const char *const order[] = {
        [GKV__KEEPS_ALL] = "chunk", [GKV__PICKS] = "chunk", [GKV__SWEEPS] = "layer", [GKV__RUNS] = "stream",
    };

    return p->kind == GKV__SCORES ? p->task.schedule->name : order[p->kind];
}

gkv_status gkv__plan_open(const struct gkv__plan *p, struct gkv__exec *e, const gkv_model *m, gkv_error *err)
{
    GKV__TRY(gkv__exec_open(e, p->simd, p->gemm, &m->shape, p->n_threads, p->chunk, err));
    if (p->n_repack)
        return gkv__repack(e, m, p->n_repack, err);
    gkv__repack_use(e, m);
    return GKV_OK;
}
