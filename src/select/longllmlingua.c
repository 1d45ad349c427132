/* SPDX-License-Identifier: BSD-2-Clause
 * longllmlingua.c - passages behind which the model expects the question most.  Jiang, Wu, Luo, Li, Lin, Yang, Qiu,
 * "LongLLMLingua: Accelerating and Enhancing LLMs in Long Context Scenarios via Prompt Compression" (2023), section 4.1.
 *
 * Each passage is read by the whole model, behind the prompt's first tokens, as a text of its own:
 *
 *     score=question   mean of log p(question's token | passage, question before it)                   (equation 2)
 *     score=contrast   mean of log p(passage's token | question, passage before it) less the same without the question
 *                      (equation 3, the mean over the passage)
 *
 * The tokens left are whole passages here; the paper goes on and drops tokens inside of them. */
#include "config.h"
#include <string.h>
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/engine/layer.h"
#include "src/first/schedule.h"
#include "src/select/passages.h"
#include "src/select/select.h"

extern const struct gkv__select gkv__select_longllmlingua;

enum { PASSAGE, SCORE };
enum { QUESTION, CONTRAST };
enum { ROWS = 8 };                      /* rows of logits at a time                          */

static const struct gkv__param params[] = {
    [PASSAGE] = { "passage", "128", "length of a passage in tokens", 8, 4096 },
    [SCORE] = { "score", "question", "by how likely the passage makes the question, or the question the passage",
                .words = "question contrast" },
    { .name = NULL },
};

struct ranking {
    const struct gkv__context *c;
    struct gkv__passages       of;
    size_t                     text, head;      /* tokens before the question; of the prompt's beginning */
    struct gkv__cache          cache;
    uint32_t                  *id;              /* [longest]                                 */
    float                     *x, *logits;      /* [rows][n_embd], [ROWS][n_vocab]           */
    size_t                     n;               /* tokens in id                              */
};

/* ---- sizes ------------------------------------------------------------------------------ */

static size_t head_of(const struct gkv__task *t)
{
    return gkv__min(GKV__SINKS, (uint64_t)t->n - t->n_tail);
}

static size_t longest(const struct gkv__task *t)
{
    return head_of(t) + (size_t)t->param[PASSAGE] + t->n_tail;
}

static uint64_t own_bytes(const struct gkv__task *t, uint32_t chunk)
{
    const struct gkv__shape *s = &t->m->shape;
    const uint64_t rows = gkv__min(chunk, longest(t));

    return gkv__plus(gkv__times(longest(t), sizeof(uint32_t)),
                     gkv__plus(rows * s->n_embd * sizeof(float), gkv__times(ROWS * s->n_vocab, sizeof(float))));
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk)
{
    const uint64_t cache = gkv__cache_bytes_for(t->m, t->kv, t->m->shape.n_layer, longest(t));

    return gkv__plus(gkv__plus(cache, gkv__model_weight_bytes(t->m)), own_bytes(t, chunk));
}

/* ---- one text --------------------------------------------------------------------------- */

static void append(struct ranking *r, const uint32_t *id, size_t n)
{
    memcpy(r->id + r->n, id, n * sizeof *id);
    r->n += n;
}

/* Adds up the log-probabilities of tokens after the rows x[n] of tokens at .., from token `from` on. */
static double sum_rows(struct ranking *r, size_t at, size_t n, size_t from)
{
    const struct gkv__shape *s = &r->c->t->m->shape;
    double sum = 0;

    for (size_t i = from > at + 1 ? from - 1 - at : 0, k; i < n && at + i + 1 < r->n; i += k) {
        k = gkv__min(gkv__min(ROWS, n - i), r->n - 1 - at - i);
        gkv__logits(r->c->e, r->c->t->m, r->x + i * s->n_embd, k, r->logits);
        for (size_t j = 0; j < k; j++)
            sum += (double)gkv__log_probability(r->logits + j * s->n_vocab, s->n_vocab, r->id[at + i + j + 1]);
    }
    return sum;
}

/* The mean log-probability of the tokens from `from` on, each after those before it. */
static gkv_status mean(struct ranking *r, size_t from, double *out, gkv_error *err)
{
    const struct gkv__context *c = r->c;
    const struct gkv__pass p = { .e = c->e, .m = c->t->m, .span = longest(c->t), .c = &r->cache };
    double sum = 0;

    for (size_t at = 0; at < r->n; at += c->e->chunk) {
        const size_t n = gkv__min(c->e->chunk, r->n - at);

        GKV__TRY(gkv__block(&p, r->id + at, n, at, r->x, err));
        sum += sum_rows(r, at, n, from);
    }
    *out = r->n > from ? sum / (double)(r->n - from) : 0;
    return GKV_OK;
}

/* ---- passages --------------------------------------------------------------------------- */

static gkv_status rank(struct ranking *r, size_t i, float *score, gkv_error *err)
{
    const struct gkv__context *c = r->c;
    const struct gkv__task *t = c->t;
    const uint32_t *tail = c->id + r->text;
    const size_t start = gkv__max(i * r->of.size, r->head), end = gkv__min(gkv__passage_end(&r->of, i), r->text);
    const size_t n = end > start ? end - start : 0;
    double with, without;

    r->n = 0;
    append(r, c->id, r->head);
    if ((int)t->param[SCORE] == QUESTION) {
        append(r, c->id + start, n);
        append(r, tail, t->n_tail);
        GKV__TRY(mean(r, r->head + n, &with, err));
        *score = (float)with;
        return GKV_OK;
    }
    append(r, c->id + start, n);
    GKV__TRY(mean(r, r->head, &without, err));
    r->n = r->head;
    append(r, tail, t->n_tail);
    append(r, c->id + start, n);
    GKV__TRY(mean(r, r->head + t->n_tail, &with, err));
    *score = (float)(with - without);
    return GKV_OK;
}

static gkv_status open(struct ranking *r, gkv_error *err)
{
    const struct gkv__task *t = r->c->t;
    const struct gkv__shape *s = &t->m->shape;

    GKV__TRY(gkv__cache_open_for(&r->cache, t->m, t->kv, s->n_layer, longest(t), err));
    r->id = gkv__pages(longest(t), sizeof *r->id);
    r->x = gkv__pages(gkv__min(r->c->e->chunk, longest(t)), s->n_embd * sizeof *r->x);
    r->logits = gkv__pages(ROWS, s->n_vocab * sizeof *r->logits);
    return r->id && r->x && r->logits ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");
}

static void close(struct ranking *r)
{
    const struct gkv__task *t = r->c->t;

    gkv__cache_close(&r->cache);
    gkv__pages_free(r->id, longest(t), sizeof *r->id);
    gkv__pages_free(r->x, gkv__min(r->c->e->chunk, longest(t)), t->m->shape.n_embd * sizeof *r->x);
    gkv__pages_free(r->logits, ROWS, t->m->shape.n_vocab * sizeof *r->logits);
}

static gkv_status run(struct gkv__context *c, gkv_error *err)
{
    const struct gkv__task *t = c->t;
    struct ranking r = {
        .c = c, .of = gkv__passages_of(t, t->param[PASSAGE]), .text = (size_t)t->n - t->n_tail, .head = head_of(t),
    };
    const double work = t->m->shape.n_layer * gkv__layer_work(&t->m->shape, 0, longest(t));
    const int passes = (int)t->param[SCORE] == QUESTION ? 1 : 2;
    float *spare = gkv__pages(t->n, sizeof *spare);
    gkv_status status = spare ? open(&r, err) : gkv__fail(err, GKV_NOMEM, "out of memory");

    c->restart = true;
    if (status == GKV_OK)
        gkv__stage(c->e, GKV_STAGE_FIRST_PASS, t->n, (double)r.of.n * work * passes);
    for (size_t i = 0; status == GKV_OK && i < r.of.n; i++) {
        status = rank(&r, i, &c->score[i], err);
        if (status == GKV_OK && gkv__cancelled(c->e))
            status = gkv__fail(err, GKV_CANCELLED, "cancelled at passage %zu of %zu", i, r.of.n);
    }
    if (status == GKV_OK)
        c->n_kept = gkv__passages_keep(t, &r.of, c->score, spare, c->kept);
    close(&r);
    gkv__pages_free(spare, t->n, sizeof *spare);
    return status;
}

const struct gkv__select gkv__select_longllmlingua = {
    .name = "longllmlingua",
    .summary = "passages behind which the model expects the question (perplexity, a baseline)",
    .params = params,
    .kind = GKV__RUNS,
    .restarts = true,
    .run = run,
    .bytes = bytes,
};
