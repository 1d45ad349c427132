/* SPDX-License-Identifier: BSD-2-Clause
 * eval.c - runs the model over token ids, for measuring: no documents, no selection. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "src/model/arch.h"
#include "src/engine/exec.h"
#include "src/engine/gemm.h"
#include "src/engine/kv.h"
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/plan.h"
#include "src/answer/sample.h"
#include "src/base/thread.h"

/* Rows of logits at a time: enough that the output matrix is not unpacked for each row.  They are
 * allocated even if log-probabilities are never asked for, so they must be small compared with the
 * weights. */
enum { MIN_ROWS = 8, MAX_ROWS = 64, PART = 32 };

struct gkv_eval {
    gkv_model         *model;
    struct gkv__plan   plan;
    atomic_bool        cancel;
    struct gkv__exec   exec;
    struct gkv__cache  cache;
    struct gkv__pass   pass;
    uint64_t           n, n_ctx;        /* tokens in the cache, and how many fit             */
    uint32_t           n_logits;        /* rows of the buffer                                */
    float             *x, *logits;      /* [chunk][n_embd], [n_logits][n_vocab]              */
    const float       *last;            /* the last token's row of logits; NULL: not known   */
};

static uint32_t logit_rows(const gkv_model *m, uint64_t n_ctx, uint64_t chunk)
{
    uint64_t n = gkv__model_weight_bytes(m) / PART / (m->shape.n_vocab * sizeof(float));

    n = n < MIN_ROWS ? MIN_ROWS : gkv__min(n, MAX_ROWS);
    return (uint32_t)gkv__min(n, gkv__min(n_ctx, chunk));
}

gkv_status gkv_eval_open(gkv_eval **out, gkv_model *model, const gkv_options *options, uint64_t n_ctx,
                         gkv_error *err)
{
    gkv_options o;
    const gkv_options *opt = &o;
    const struct gkv__shape *s = &model->shape;
    gkv_eval *e;
    gkv_status status;

    *out = NULL;
    GKV__TRY(gkv__options(&o, options, err));
    if (!n_ctx)
        return gkv__fail(err, GKV_INVALID, "a context of 0 tokens; at least 1");
    e = calloc(1, sizeof *e);
    if (!e)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    e->model = model;
    e->n_ctx = n_ctx;
    status = gkv__plan_options(&e->plan, model, opt, err);
    if (status == GKV_OK) {
        e->n_logits = logit_rows(model, n_ctx, e->plan.max_chunk);
        status = gkv__plan_eval(&e->plan, gkv__mem_resident(), n_ctx, e->n_logits, err);
    }
    if (status == GKV_OK)
        status = gkv__plan_open(&e->plan, &e->exec, model, err);
    if (status == GKV_OK)
        status = gkv__cache_open_for(&e->cache, model, e->plan.task.kv, s->n_layer, n_ctx, err);
    if (status == GKV_OK) {
        e->x = gkv__pages(e->plan.chunk, s->n_embd * sizeof *e->x);
        e->logits = gkv__pages(e->n_logits, s->n_vocab * sizeof *e->logits);
        if (!e->x || !e->logits)
            status = gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    if (status != GKV_OK) {
        gkv_eval_close(e);
        return status;
    }
    e->pass = (struct gkv__pass){ .e = &e->exec, .m = model, .span = n_ctx, .c = &e->cache };
    e->exec.cancel = &e->cancel;
    e->exec.progress = opt->progress;
    e->exec.progress_arg = opt->progress_arg;
    *out = e;
    return GKV_OK;
}

void gkv_eval_close(gkv_eval *e)
{
    if (!e)
        return;
    gkv__exec_close(&e->exec);
    gkv__cache_close(&e->cache);
    gkv__pages_free(e->x, e->plan.chunk, e->model->shape.n_embd * sizeof *e->x);
    gkv__pages_free(e->logits, e->n_logits, e->model->shape.n_vocab * sizeof *e->logits);
    free(e);
}

void gkv_eval_cancel(gkv_eval *e)
{
    atomic_store(&e->cancel, true);
}

/* ---- log-probabilities ------------------------------------------------------------------ */

struct scoring {
    const float    *logits;
    const uint32_t *id;                 /* token after each row */
    float          *logprob;
    size_t          n_vocab;
};

static void score_item(void *arg, size_t i, unsigned thread)
{
    const struct scoring *s = arg;

    (void)thread;
    s->logprob[i] = gkv__log_probability(s->logits + i * s->n_vocab, s->n_vocab, s->id[i]);
}

/* Scores n rows of x, each followed by id[row + 1]; if to_the_end, the last row has no next token. */
static gkv_status score(gkv_eval *e, const float *x, const uint32_t *id, float *logprob, size_t n,
                        bool to_the_end, gkv_error *err)
{
    const struct gkv__shape *s = &e->model->shape;

    for (size_t at = 0; at < n; at += e->n_logits) {
        const size_t nr = n - at < e->n_logits ? n - at : e->n_logits;
        struct scoring job = { e->logits, id + at + 1, logprob + at + 1, s->n_vocab };

        gkv__logits(&e->exec, e->model, x + at * s->n_embd, nr, e->logits);
        e->last = e->logits + (nr - 1) * s->n_vocab;
        gkv__for(e->exec.n_threads, nr - (to_the_end && at + nr == n), score_item, &job);
        gkv__progress(&e->exec, (double)nr * s->n_vocab * s->n_embd);
        if (gkv__cancelled(&e->exec))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %" PRIu64, e->n);
    }
    return GKV_OK;
}

/* ---- tokens ----------------------------------------------------------------------------- */

static gkv_status append(gkv_eval *e, const uint32_t *id, size_t n, float *logprob, gkv_error *err)
{
    const struct gkv__shape *s = &e->model->shape;
    const size_t chunk = e->plan.chunk;

    for (size_t at = 0; at < n; at += chunk) {
        const size_t nc = n - at < chunk ? n - at : chunk;

        GKV__TRY(gkv__block(&e->pass, id + at, nc, e->n + at, e->x, err));
        if (logprob)
            GKV__TRY(score(e, e->x, id + at, logprob + at, nc, at + nc == n, err));
        else if (at + nc == n)
            gkv__logits(&e->exec, e->model, e->x + (nc - 1) * s->n_embd, 1, e->logits);
    }
    return GKV_OK;
}

gkv_status gkv_eval_tokens(gkv_eval *e, const uint32_t *ids, size_t n, float *logprob,
                           gkv_error *err)
{
    const struct gkv__shape *s = &e->model->shape;
    gkv_status status;

    if (n > e->n_ctx - e->n)
        return gkv__fail(err, GKV_LIMIT, "%zu more tokens after %" PRIu64 ": the context has %" PRIu64,
                         n, e->n, e->n_ctx);
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= s->n_vocab)
            return gkv__fail(err, GKV_INVALID, "token %u is not in the vocabulary of %u", ids[i],
                             s->n_vocab);
    if (!n)
        return GKV_OK;
    if (logprob)
        *logprob = e->last ? gkv__log_probability(e->last, s->n_vocab, *ids) : NAN;
    if (n > 1)
        gkv__stage(&e->exec, GKV_STAGE_PREFILL, n, s->n_layer * gkv__layer_work(s, e->n, n) +
                   (logprob ? (double)n * s->n_vocab * s->n_embd : 0));
    e->last = NULL;
    status = append(e, ids, n, logprob, err);
    if (status != GKV_OK) {
        e->last = NULL;
        if (gkv__has_states(e->model))          /* they have seen some of these tokens */
            e->n = 0;
        return status;
    }
    if (!logprob)
        e->last = e->logits;
    e->n += n;
    return GKV_OK;
}

gkv_status gkv_eval_next(gkv_eval *e, uint32_t *id, gkv_error *err)
{
    struct gkv__sampler greedy = { 0 };

    if (!e->last)
        return gkv__fail(err, GKV_INVALID, "no token was appended since the context was opened or "
                         "cut off");
    *id = gkv__sample(&greedy, e->last, NULL, e->model->shape.n_vocab);
    return GKV_OK;
}

gkv_status gkv_eval_truncate(gkv_eval *e, uint64_t n, gkv_error *err)
{
    if (n > e->n)
        return gkv__fail(err, GKV_INVALID, "the first %" PRIu64 " of %" PRIu64 " tokens", n, e->n);
    if (n && n < e->n && gkv__has_states(e->model))
        return gkv__fail(err, GKV_UNSUPPORTED, "layers of architecture %s have a state, which cannot be cut off after "
                         "%" PRIu64 " tokens; only at 0", e->model->arch->name, n);
    if (n < e->n)
        e->last = NULL;
    e->n = n;
    return GKV_OK;
}

static void describe(const gkv_eval *e, gkv_eval_info *out)
{
    const struct gkv__shape *s = &e->model->shape;
    const struct gkv__mat *embed = &e->model->embed, *more = &e->model->layer_embed;
    size_t gemm = 0;

    while (gkv__gemm_named(gkv__gemm_at(gemm)) != e->plan.gemm)
        gemm++;
    *out = (gkv_eval_info){
        .n = e->n,
        .n_ctx = e->n_ctx,
        .memory_predicted = e->plan.predicted,
        .memory_peak = gkv__mem_peak(),
        .memory_limit = e->plan.limit,
        .bytes_weights = gkv__model_weight_bytes(e->model),
        .bytes_position = gkv__cache_bytes_for(e->model, e->cache.type, s->n_layer, 1) -
                          gkv__states_floats(e->model, s->n_layer) * sizeof(float),
        .threads = e->plan.n_threads,
        .chunk = e->plan.chunk,
        .cpu = e->plan.simd->level,
        .kv_type = e->cache.type->name,
        .gemm = gkv__gemm_at(gemm),
    };
    /* A step reads one row of the embedding, unless the output matrix is the same. */
    if (embed->data != e->model->output.data)
        out->bytes_weights -= gkv__mat_bytes(embed) - gkv__mat_row_bytes(embed);
    if (more->data)
        out->bytes_weights -= gkv__mat_bytes(more) - gkv__mat_row_bytes(more);
}

void gkv_eval_describe_size(const gkv_eval *e, gkv_eval_info *out, size_t size)
{
    gkv_eval_info all;

    describe(e, &all);
    gkv__give(out, size, &all, sizeof all);
}
