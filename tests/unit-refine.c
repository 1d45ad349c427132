/* SPDX-License-Identifier: BSD-2-Clause
 * unit-refine.c - the best passages prefilled again: which ones they are, that their scores are those of a
 * text of their own, and that all other tokens rank below them in the same order */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/gemm.h"
#include "src/first/refine.h"
#include "src/run.h"
#include "simd/simd.h"
#include "tests/tap.h"

enum { N = 400, SIZE = 150, TAIL = 12, SINKS = 4, LAYER = 2 };

/* Scores with two peaks, around tokens 120 and 301, the second one lower. */
static void rank(float *score)
{
    uint32_t state = 1;

    for (size_t i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        score[i] = (float)(state >> 20) / 4096;
    }
    for (size_t i = 118; i <= 122; i++)
        score[i] += 100;
    for (size_t i = 299; i <= 303; i++)
        score[i] += 50;
}

/* Whether token i is in a passage: the ends, and 65 tokens around each good one.  Averages of five are 100, 80,
 * 60, 40, 20 above the rest at and beside the first peak, so two more tokens on either side are better than the
 * second peak, which has 50 and fills the rest: 4 + 12 + 69 + 65 = SIZE. */
static bool is_passage(size_t i)
{
    return i < SINKS || i >= N - TAIL || (i >= 120 - 34 && i <= 120 + 34) || (i >= 301 - 32 && i <= 301 + 32);
}

static gkv_status layer(struct gkv__exec *e, const struct gkv__first *f)
{
    const struct gkv__schedule *s;
    double param[GKV__MAX_PARAMS];

    GKV__TRY(gkv__schedule_parse("layer", &s, param, NULL));
    return s->run(e, f, NULL);
}

static void check(struct gkv__exec *e, const gkv_model *m)
{
    float score[N], before[N], own[SIZE], low = INFINITY;
    uint32_t id[N], kept_id[SIZE], at[N];
    const struct gkv__task t = {
        .m = m, .filter = LAYER, .kv_first = gkv__quant_named("f32"), .n = N, .n_tail = TAIL, .k = SIZE / 2,
    };
    struct gkv__task task_alone = t;
    const struct gkv__first f = { .t = &t, .id = id, .score = score };
    const struct gkv__first alone = { .t = &task_alone, .again = true, .id = kept_id, .score = own };
    size_t n = 0, same = 0, in_order = 0, below = 0;

    for (size_t i = 0; i < N; i++)
        id[i] = (uint32_t)(i * 7919 % m->shape.n_vocab);
    rank(score);
    memcpy(before, score, sizeof score);
    ok(gkv__refine(e, &f, SIZE, NULL) == GKV_OK, "passages read again");

    for (size_t i = 0; i < N; i++)
        if (is_passage(i) && n < SIZE) {
            at[n] = (uint32_t)i;
            kept_id[n++] = id[i];
        }
    ok(n == SIZE, "%zu tokens of passages, room for %d", n, SIZE);
    task_alone.n = n;
    ok(layer(e, &alone) == GKV_OK, "the same tokens alone");
    for (size_t i = 0; i < n; i++) {
        same += score[at[i]] == own[i];
        low = own[i] < low ? own[i] : low;
    }
    ok(same == n, "%zu of %zu scores are those of the passages alone", same, n);
    for (size_t i = 0, last = 0, next = 0; i < N; i++) {
        if (next < n && at[next] == i) {
            next++;
            continue;
        }
        below += score[i] <= low;
        in_order += (score[i] < score[last]) == (before[i] < before[last]) || last == 0;
        last = i;
    }
    ok(below == N - n, "%zu of %zu others lie below", below, N - n);
    ok(in_order == N - n, "and in the order that they had");
}

/* With size = all tokens, the schedule processes the whole text exactly. */
static void all(struct gkv__exec *e, const gkv_model *m)
{
    float score[N], exact[N];
    uint32_t id[N];
    struct gkv__task t = {
        .m = m, .filter = LAYER, .kv_first = gkv__quant_named("f32"), .n = N, .n_tail = TAIL, .k = N / 2,
    };
    double spared;
    struct gkv__first f = { .t = &t, .id = id, .score = score };

    for (size_t i = 0; i < N; i++)
        id[i] = (uint32_t)(i * 7919 % m->shape.n_vocab);
    ok(gkv__schedule_parse("stream:budget=64,recent=16,keys=f32", &t.schedule, t.schedule_param, NULL) == GKV_OK &&
       gkv__first_pass(e, &f, &spared, NULL) == GKV_OK, "schedule stream, half of the text to be kept");
    f.score = exact;
    ok(layer(e, &f) == GKV_OK && !memcmp(score, exact, sizeof score), "it is exact");
    f.score = score;
    t.k = N / 2 - 1;
    ok(gkv__first_pass(e, &f, &spared, NULL) == GKV_OK && memcmp(score, exact, sizeof score),
       "one token less: it is not");
}

/* A method of one pass that keeps tokens only: its second run is that over the passages alone. */
static void method(struct gkv__exec *e, const gkv_model *m, const char *spec)
{
    uint32_t id[N], own_id[SIZE], at[SIZE];
    struct gkv__task t = {
        .m = m, .layer = -1, .filter = LAYER, .kv_first = gkv__quant_named("f32"), .kv = gkv__quant_named("f32"), .n = N,
        .n_tail = TAIL, .k = SIZE / 3, .k_pick = SIZE / 3, .keep_first = SINKS + 2, .keep_last = TAIL,
    };
    struct gkv__task alone;
    struct gkv__context c = { .t = &t, .e = e, .id = id }, again = c, own = { .t = &alone, .e = e, .id = own_id };
    size_t same = 0, moved = 0, in_order = 1;
    gkv_error err = { 0 };

    for (size_t i = 0; i < N; i++)
        id[i] = (uint32_t)(i * 7919 % m->shape.n_vocab);
    ok(gkv__select_parse(spec, &t.method, t.param, &err) == GKV_OK && gkv__run(&c, &err) == GKV_OK, "%s %s", spec, err.text);
    gkv__refine_choose(&(struct gkv__first){ .t = &t, .score = c.score }, SIZE, SINKS + 2, at, NULL);
    alone = gkv__refine_task(&t, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        own_id[i] = id[at[i]];
    t.refine = 3;
    ok(gkv__run(&again, &err) == GKV_OK && gkv__run(&own, &err) == GKV_OK && again.restart, "again, and the passages alone %s", err.text);
    for (size_t i = 0; i < again.n_kept && i < own.n_kept; i++) {
        same += again.kept[i] == at[own.kept[i]];
        moved += i < c.n_kept && again.kept[i] != c.kept[i];
        in_order &= !i || again.kept[i] > again.kept[i - 1];
    }
    ok(again.n_kept == own.n_kept && same == own.n_kept && same == t.k && in_order, "%zu of %zu tokens kept are those of the "
       "passages", same, own.n_kept);
    ok(moved > 0 && again.chosen == own.chosen, "%zu others than at first", moved);
    same = 0;
    for (size_t i = 0; i < SIZE; i++)
        same += again.score[at[i]] == own.score[i];
    ok(same == SIZE, "%zu of %d scores are theirs", same, SIZE);
    gkv__run_close(&c);
    gkv__run_close(&again);
    gkv__run_close(&own);
}

int main(void)
{
    struct gkv__exec e = { 0 };
    gkv_model *m = NULL;
    gkv_error err = { 0 };
    char path[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("models are refused here");
    snprintf(path, sizeof path, "%s/tests/files/golden/llama3.gguf", getenv("srcdir"));
    if (gkv_model_open(&m, path, 0, &err) ||
        gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("exact"), &m->shape, 2, 64, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    check(&e, m);
    all(&e, m);
    method(&e, m, "asl-2pass:lmin=1,lobs=2,tau=1,window=8");
    method(&e, m, "asl-2pass:lmin=1,lobs=2,tau=0.01,window=8,score=gem");
    gkv__exec_close(&e);
    gkv_model_close(m);
    return done();
}
