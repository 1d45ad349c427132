/* SPDX-License-Identifier: BSD-2-Clause
 * unit-refine.c - the best passages prefilled again: which ones they are, that their scores are those of a
 * text of their own, and that all other tokens rank below them in the same order */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/gemm.h"
#include "src/first/refine.h"
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
    const struct gkv__schedule *stream;
    struct gkv__task t = {
        .m = m, .filter = LAYER, .kv_first = gkv__quant_named("f32"), .n = N, .n_tail = TAIL, .k = N / 2,
    };
    struct gkv__first f = { .t = &t, .id = id, .score = score };

    for (size_t i = 0; i < N; i++)
        id[i] = (uint32_t)(i * 7919 % m->shape.n_vocab);
    ok(gkv__schedule_parse("stream:budget=64,recent=16,keys=f32", &stream, t.schedule_param, NULL) == GKV_OK &&
       stream->run(e, &f, NULL) == GKV_OK, "schedule stream, half of the text to be kept");
    f.score = exact;
    ok(layer(e, &f) == GKV_OK && !memcmp(score, exact, sizeof score), "it is exact");
    f.score = score;
    t.k = N / 2 - 1;
    ok(stream->run(e, &f, NULL) == GKV_OK && memcmp(score, exact, sizeof score), "one token less: it is not");
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
    gkv__exec_close(&e);
    gkv_model_close(m);
    return done();
}
