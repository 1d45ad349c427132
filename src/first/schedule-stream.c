/* SPDX-License-Identifier: BSD-2-Clause
 * schedule-stream.c - chunk by chunk through the early layers, each with a bounded cache that the
 * question chooses (bounded.h), up to the filter layer, which keeps one row of keys per token.
 * At the end the question's last row scores every key.  Except for these keys, memory does not grow
 * with the text; time is linear in it.  Scores are approximate from the second chunk on, so the
 * best passages are prefilled again without a bound and ranked by that (refine.h).
 *
 * With place=chunk no keys are kept: the question's last row of each chunk scores that chunk.
 *
 * Of several processes each streams a part of the text as if that were all, behind the text's first tokens and in front of
 * the question.  The question's queries differ between parts, since they have seen other text, so scores are taken
 * relative to those of their own part; the best passages of all parts are then read again together. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "src/first/bounded.h"
#include "src/engine/layer.h"
#include "src/first/group.h"
#include "src/base/mem.h"
#include "src/first/keys.h"
#include "src/first/refine.h"

extern const struct gkv__schedule gkv__schedule_stream;

enum { BUDGET, STEP, WARM, RECENT, PLACE, KEYS, REFINE };
enum { AUTO, TRUE, COMMON, CHUNK };

static const char *const key_types[] = { "f16", "bf16", "q8_0", "f32" };

static const struct gkv__param params[] = {
    [BUDGET] = { "budget", "2048", "tokens that each early layer keeps", 64, 1 << 20 },
    [STEP] = { "step", "0", "tokens per chunk; 0: what fills two times --chunk with warm-up and question",
               0, 65536 },
    [WARM] = { "warm", "64", "tokens before a chunk that are run again", 0, 4096 },
    [RECENT] = { "recent", "64", "last tokens of a chunk that stay for the next", 0, 4096 },
    [PLACE] = { "place", "auto", "distance of the filter layer's keys from the question: true; common, the "
                "same for all; auto, true up to the trained length; chunk: each chunk is scored when it is "
                "run, and no keys are kept", .words = "auto true common chunk" },
    [KEYS] = { "keys", "f16", "type of the filter layer's keys", .words = "f16 bf16 q8_0 f32" },
    [REFINE] = { "refine", "2", "tokens of the best passages that are prefilled again, exactly, for each "
                 "token that is kept; 0: none", 0, 64 },
    { .name = NULL },
};

struct stream {
    const struct gkv__task  *t;
    struct gkv__bounded      b;
    size_t                   step, n_text;
    float                   *score;     /* [t->n] */
    struct gkv__keys         keys;      /* [n] of the filter layer */
};

/* ---- sizes ------------------------------------------------------------------------------ */

static size_t kv_width(const struct stream *s)
{
    return (size_t)s->t->m->shape.n_head_kv * s->t->m->shape.head_dim;
}

static bool by_chunk(const struct stream *s)
{
    return (int)s->t->schedule_param[PLACE] == CHUNK;
}

static uint64_t key_row(const struct stream *s)
{
    return by_chunk(s) ? 0 : gkv__keys_row(&s->t->m->shape, s->keys.type);
}

/* The number of rows at a time, and so memory, depends on --chunk only, not on the question's length. */
static void sizes(struct stream *s, const struct gkv__task *t, size_t chunk)
{
    const double *p = t->schedule_param;
    const size_t question = gkv__min(GKV__MAX_QUESTION, chunk);
    struct gkv__bounded *b = &s->b;

    s->t = t;
    s->keys.type = gkv__quant_named(key_types[(int)p[KEYS]]);
    *b = (struct gkv__bounded){
        .m = t->m, .n_layer = t->filter, .kv = t->kv_first, .sinks = GKV__SINKS,
        .budget = (size_t)p[BUDGET], .recent = (size_t)p[RECENT], .warm = (size_t)p[WARM],
        .n_q = gkv__min(gkv__min(t->n_tail ? t->n_tail : 1, question), t->n),
    };
    s->n_text = (size_t)t->n - b->n_q;
    if (p[STEP] > 0) {
        s->step = (size_t)p[STEP];
        b->max_rows = b->warm + s->step + question;
    } else {
        b->max_rows = gkv__max(2 * chunk, b->warm + question + 64);
        s->step = b->max_rows - b->warm - b->n_q;
    }
    b->max_rows = gkv__min(b->max_rows, gkv__max((size_t)t->n, chunk));
}

static size_t n_again(const struct gkv__task *t)
{
    return gkv__min(gkv__times((uint64_t)t->schedule_param[REFINE], t->k), t->n);
}

/* ---- parts of several processes --------------------------------------------------------- */

/* Where the part of a rank begins; `size` is one too far. */
static size_t part_start(const struct gkv__task *t, uint32_t rank)
{
    const size_t tail = gkv__min(gkv__max(t->n_tail, 1), t->n), text = (size_t)t->n - tail;

    return rank < t->group->size ? (size_t)((uint64_t)text * rank / t->group->size) : text;
}

static size_t part_rows(const struct gkv__task *t, uint32_t rank)
{
    return part_start(t, rank + 1) - part_start(t, rank);
}

static size_t part_head(const struct gkv__task *t, uint32_t rank)
{
    return gkv__min(GKV__SINKS, part_start(t, rank));
}

/* The longest part is the last one or as long. */
static size_t most_rows(const struct gkv__task *t)
{
    size_t most = 0;

    for (uint32_t i = 0; i < t->group->size; i++)
        most = gkv__max(most, part_rows(t, i));
    return most;
}

/* The text of a rank: the first tokens, its part, the question. */
static struct gkv__task part_of(const struct gkv__task *t, uint32_t rank)
{
    struct gkv__task p = *t;

    p.group = NULL;
    p.n = part_head(t, rank) + part_rows(t, rank) + (t->n - part_start(t, t->group->size));
    return p;
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads);

/* A part, its ids and scores; then all scores. */
static uint64_t parts_bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    const struct gkv__task p = part_of(t, t->group->rank);

    return gkv__plus(gkv__plus(gkv__times(p.n, sizeof(uint32_t) + sizeof(float)),
                               gkv__times((uint64_t)t->group->size + 1, most_rows(t) * sizeof(float))),
                     bytes(&p, chunk, n_threads));
}

static uint64_t bytes(const struct gkv__task *t, uint32_t chunk, unsigned n_threads)
{
    struct stream s = { 0 };

    if (gkv__grouped(t))
        return parts_bytes(t, chunk, n_threads);
    sizes(&s, t, chunk);
    return gkv__plus(gkv__bounded_bytes(&s.b, t->n), gkv__times(t->n, key_row(&s)));
}

static gkv_status check(const struct stream *s, gkv_error *err)
{
    if (s->b.recent + GKV__SINKS >= s->b.budget)
        return gkv__fail(err, GKV_INVALID, "recent=%zu: at most %zu with budget=%zu", s->b.recent,
                         s->b.budget - GKV__SINKS - 1, s->b.budget);
    if (kv_width(s) % s->keys.type->block)
        return gkv__fail(err, GKV_INVALID, "keys=%s needs rows of a multiple of %u, they are %zu",
                         s->keys.type->name, s->keys.type->block, kv_width(s));
    return GKV_OK;
}

static uint64_t span_of(const struct stream *s);

static gkv_status begin(struct stream *s, struct gkv__exec *e, const uint32_t *id, gkv_error *err)
{
    s->b.id = id;
    s->b.question = id + s->n_text;
    s->b.span = span_of(s);
    s->keys.rows = by_chunk(s) ? NULL : gkv__pages(s->t->n, key_row(s));
    if (!s->keys.rows && !by_chunk(s))
        return gkv__fail(err, GKV_NOMEM, "the system refused %s", gkv__needed(s->t->n * key_row(s)).text);
    return gkv__bounded_open(&s->b, e, err);
}

/* ---- the filter layer ------------------------------------------------------------------- */

/* Keys at their places in the text; or all as far from the query as its own beginning, which no text
 * is too long for. */
static bool is_common(const struct gkv__task *t)
{
    const uint32_t trained = t->m->shape.context;
    const int place = (int)t->schedule_param[PLACE];

    return place == COMMON || (place == AUTO && trained && t->n > trained);
}

/* Positions that steps and scores use. */
static uint64_t span_of(const struct stream *s)
{
    const struct gkv__bounded *b = &s->b;
    const uint64_t steps = gkv__min(b->budget, s->n_text) + b->warm + gkv__min(s->step, s->n_text) +
                           b->n_q;

    return by_chunk(s) || is_common(s->t) ? steps : gkv__max(steps, s->t->n);
}

/* The question's rows are in x. */
static void score_all(struct stream *s)
{
    const struct gkv__task *t = s->t;
    float *q = s->b.received;           /* idle */
    const struct gkv__probe_row r = { t->filter, is_common(t), q };

    gkv__keys_query(&s->b.p, r.il, r.common, s->b.x, s->b.n_q, s->n_text, q);
    gkv__keys_score(&s->b.p, &s->keys, &r, 0, (size_t)t->n, 0, s->score);
}

/* Scores one chunk, which was run behind `past` entries; at the end of the text also the question. */
static void score_chunk(struct stream *s, size_t past, size_t at, size_t n)
{
    const struct gkv__task *t = s->t;
    struct gkv__exec *e = s->b.e;
    const size_t d = e->shape->n_embd, first = s->b.n_warm, last = first + n + s->b.n_q - 1;
    const size_t count = at + n < s->n_text ? n : n + s->b.n_q;
    float *q = s->b.received;           /* idle */

    gkv__layer_qk(&s->b.p, t->filter, s->b.x + last * d, 1, past + last, 0);
    gkv__fold_query(e, 0, q);
    for (size_t i = 0; i < count; i += e->chunk) {
        const size_t nc = gkv__min(e->chunk, count - i);

        gkv__layer_keys(&s->b.p, t->filter, s->b.x + (first + i) * d, nc);
        gkv__rope_keys(&s->b.p, t->filter, e->k, nc, past + first + i);
        gkv__score(e, e->k, nc, q, s->score + at + i);
    }
}

/* ---- running ---------------------------------------------------------------------------- */

/* Runs tokens at .. at + n - 1 of the text; n = 0: the question alone, at the end. */
static gkv_status step(struct stream *s, size_t at, size_t n, gkv_error *err)
{
    const size_t past = s->b.held;

    GKV__TRY(gkv__bounded_step(&s->b, at, n, gkv__min(s->b.budget, past + n), err));
    if (by_chunk(s))
        score_chunk(s, past, at, n);
    else
        gkv__keys_put(&s->b.p, &s->keys, s->t->filter,
                      s->b.x + (n ? s->b.n_warm : 0) * s->t->m->shape.n_embd, n ? n : s->b.n_q, at);
    return GKV_OK;
}

static double work_of(const struct stream *s)
{
    double sum = 0;
    size_t held = 0;

    for (size_t at = 0; at < s->n_text; at += s->step) {
        const size_t n = gkv__min(s->step, s->n_text - at);

        sum += gkv__bounded_work(&s->b, held, at, n);
        held = gkv__min(s->b.budget, held + n);
    }
    return by_chunk(s) ? sum : sum + gkv__bounded_work(&s->b, held, s->n_text, 0);
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err);

/* Scores less their mean, over their deviation: those of different queries become comparable. */
static void level(float *score, size_t n)
{
    double sum = 0, squares = 0, mean, deviation;

    for (size_t i = 0; i < n; i++)
        sum += (double)score[i];
    mean = n ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++)
        squares += ((double)score[i] - mean) * ((double)score[i] - mean);
    deviation = n ? sqrt(squares / (double)n) : 0;
    for (size_t i = 0; i < n; i++)
        score[i] = (float)(((double)score[i] - mean) / (deviation > 0 ? deviation : 1));
}

/* Our part alone: mine[most_rows] are its scores.  Rank 0 has those of the question, too. */
static gkv_status run_part(struct gkv__exec *e, const struct gkv__first *f, float *mine, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const uint32_t rank = t->group->rank;
    const struct gkv__task p = part_of(t, rank);
    const size_t head = part_head(t, rank), rows = part_rows(t, rank), tail = (size_t)p.n - head - rows;
    uint32_t *id = gkv__pages(p.n, sizeof *id);
    float *score = gkv__pages(p.n, sizeof *score);
    gkv_status status = id && score ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");

    if (status == GKV_OK) {
        memcpy(id, f->id, head * sizeof *id);
        memcpy(id + head, f->id + part_start(t, rank), rows * sizeof *id);
        memcpy(id + head + rows, f->id + t->n - tail, tail * sizeof *id);
        status = run(e, &(struct gkv__first){ .t = &p, .id = id, .score = score }, err);
    }
    if (status == GKV_OK) {
        level(score + head, rows + tail);
        memcpy(mine, score + head, rows * sizeof *mine);
        memcpy(f->score + t->n - tail, score + head + rows, tail * sizeof *score);
    }
    gkv__pages_free(id, p.n, sizeof *id);
    gkv__pages_free(score, p.n, sizeof *score);
    return status;
}

static gkv_status run_parts(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    const struct gkv__task *t = f->t;
    const size_t rows = most_rows(t), ranks = t->group->size;
    float *mine, *all;
    gkv_status status;

    GKV__TRY(gkv__group_call(e, f, err));
    mine = gkv__pages(ranks + 1, rows * sizeof *mine);
    all = mine + rows;
    status = mine ? run_part(e, f, mine, err) : gkv__fail(err, GKV_NOMEM, "out of memory");
    status = gkv__group_agree(e, t->group, status, f->agreed, err);
    if (status == GKV_OK)
        status = gkv__group_start(t->group, mine, rows * sizeof *mine, all, err);
    if (status == GKV_OK)
        status = gkv__group_wait(e, t->group, err);
    for (uint32_t i = 0; status == GKV_OK && i < ranks; i++)
        memcpy(f->score + part_start(t, i), all + i * rows, part_rows(t, i) * sizeof *mine);
    gkv__pages_free(mine, ranks + 1, rows * sizeof *mine);
    return status;
}

static gkv_status run(struct gkv__exec *e, const struct gkv__first *f, gkv_error *err)
{
    struct stream s = { .score = f->score };
    gkv_status status;

    sizes(&s, f->t, e->chunk);
    GKV__TRY(check(&s, err));
    if (gkv__grouped(f->t))
        return run_parts(e, f, err);
    status = begin(&s, e, f->id, err);
    if (status == GKV_OK)
        gkv__stage(e, GKV_STAGE_FIRST_PASS, f->t->n, work_of(&s));
    for (size_t at = 0; status == GKV_OK && at < s.n_text; at += s.step)
        status = step(&s, at, gkv__min(s.step, s.n_text - at), err);
    if (status == GKV_OK && (!by_chunk(&s) || !s.n_text))
        status = step(&s, s.n_text, 0, err);
    if (status == GKV_OK && !by_chunk(&s))
        score_all(&s);
    gkv__bounded_close(&s.b);
    gkv__pages_free(s.keys.rows, f->t->n, key_row(&s));
    return status;
}

const struct gkv__schedule gkv__schedule_stream = {
    .name = "stream",
    .summary = "chunk by chunk; each early layer keeps what the question attends to: bounded "
               "memory, time linear in the text, approximate",
    .params = params,
    .splits = true,
    .kv_type = "f16",
    .run = run,
    .again = n_again,
    .bytes = bytes,
    .weights = gkv__weights_early,
};
