/* SPDX-License-Identifier: BSD-2-Clause
 * hybrid.c - models whose layers have a state, against the modules of `transformers` in float64 (made by
 * build-aux/golden-hybrid.py): logits of every row, however the text is cut; decoding; scores by every
 * schedule; what is kept for the next prompt; and the same bytes from one thread and from three.
 *
 * Then models of other kinds of states, or whose layers have other heads, in tests/files/hf, whose logits unit-logits.c
 * compares with transformers: here what a prompt in one block gives is the reference for all else. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/engine/forward.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/run.h"
#include "tests/apart.h"
#include "tests/file.h"
#include "tests/tap.h"

static const char *const others[] = { "lfm2", "granitehybrid", "gemma4", "gemma4e" };

enum { N_VOCAB = 256, MAX_TOKENS = 400, MAX_NEW = 16, QUESTION = 24 };

/* How far logits may be off, relative to the largest: float arithmetic against double (1.3e-4 was seen; the module in
 * float32 is off by 3e-5), and levels that round to bfloat16 (attention, products with f16 weights).  Scores,
 * half as deep in the model, may be off by a fifth of that. */
static const double F32 = 5e-4, BF16 = 1e-1;

static struct {
    char     name[32], prompt[8];
    size_t   n;
    unsigned layer, keep, n_new;
    uint32_t id[MAX_TOKENS], kept[MAX_TOKENS], answer[MAX_NEW];
    float    logits[MAX_TOKENS * N_VOCAB], score[MAX_TOKENS], want[MAX_TOKENS], second[N_VOCAB];   /* want: smooth score */
} g;

static gkv_model *model;
static struct gkv__simd simd;
static double bound;
static const char *level;

static void open_exec(struct gkv__exec *e, unsigned threads, uint32_t chunk)
{
    gkv_error err;

    *e = (struct gkv__exec){ 0 };
    must(gkv__exec_open(e, &simd, gkv__gemm_named("own"), &model->shape, threads, chunk, &err), &err);
}

/* Logits of all rows: blocks of `chunk` up to row `until`, then one row at a time. */
static void all_rows(unsigned threads, uint32_t chunk, size_t until, float *logits)
{
    struct gkv__exec e;
    struct gkv__cache c;
    const size_t d = model->shape.n_embd;
    float *x = malloc(chunk * d * sizeof *x);
    gkv_error err;

    open_exec(&e, threads, chunk);
    must(gkv__cache_open_for(&c, model, gkv__quant_named("f32"), model->shape.n_layer, g.n, &err), &err);
    for (size_t at = 0, n; at < g.n; at += n) {
        n = at < until ? (until - at < chunk ? until - at : chunk) : 1;
        must(gkv__block(&(struct gkv__pass){ .e = &e, .m = model, .span = g.n, .c = &c }, g.id + at, n, at, x, &err), &err);
        gkv__logits(&e, model, x, n, logits + at * N_VOCAB);
    }
    gkv__cache_close(&c);
    gkv__exec_close(&e);
    free(x);
}

static void test_rows(void)
{
    static const uint32_t chunks[] = { 1024, 128, 64, 100, 17, 2 };
    static float one[MAX_TOKENS * N_VOCAB], other[MAX_TOKENS * N_VOCAB], whole[MAX_TOKENS * N_VOCAB];
    const size_t n = g.n * N_VOCAB;
    double error;

    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        all_rows(1, chunks[i], g.n, one);
        all_rows(3, chunks[i], g.n, other);
        error = apart(one, g.logits, n);
        ok(error < bound, "%s %s, %s: all rows, chunks of %u: off by %.2g", g.name, g.prompt, level, chunks[i], error);
        ok(!memcmp(one, other, n * sizeof *one), "... the same bytes from three threads");
        if (!i)
            memcpy(whole, one, n * sizeof *whole);
        /* Other levels divide attention by blocks, and an expert with one row multiplies in another order. */
        if (chunks[i] % 64 == 0 && !strcmp(level, "ref") && !model->shape.n_expert)
            ok(!memcmp(one, whole, n * sizeof *one), "... and as from one block");
    }
    all_rows(1, 64, g.n / 2, one);
    error = apart(one, g.logits, n);
    ok(error < bound, "%s %s, %s: second half row by row: off by %.2g", g.name, g.prompt, level, error);
    all_rows(3, 64, g.n / 2, other);
    ok(!memcmp(one, other, n * sizeof *one), "... the same bytes from three threads");
}

/* ---- schedules, selection, answers ------------------------------------------------------ */

struct result {
    float    score[MAX_TOKENS], logits[N_VOCAB];
    uint32_t kept[MAX_TOKENS], answer[MAX_NEW];
    size_t   n_kept, reused;
};

static struct gkv__task task_of(const char *method, const char *schedule, const uint32_t *id, size_t n)
{
    struct gkv__task t = {
        .m = model, .layer = (int32_t)g.layer, .filter = g.layer, .kv_first = gkv__quant_named("f32"),
        .kv = gkv__quant_named("f32"), .n = n, .n_tail = QUESTION, .k = strcmp(method, "full") ? g.keep : n,
        .n_new = g.n_new,
    };
    gkv_error err;

    (void)id;
    must(gkv__select_parse(method, &t.method, t.param, &err), &err);
    must(gkv__schedule_parse(schedule, &t.schedule, t.schedule_param, &err), &err);
    return t;
}

/* early, prefix: of earlier prompts, or NULL; the first n_fixed tokens are the same for all of them. */
static void run(const struct gkv__task *t, const uint32_t *id, unsigned threads, uint32_t chunk, struct gkv__early *early,
                struct gkv__prefix *prefix, size_t n_fixed, struct result *r)
{
    struct gkv__exec e;
    struct gkv__context c = { .t = t, .e = &e, .id = id, .early = early, .n_fixed = n_fixed };
    struct gkv__decode d = { .e = &e, .m = model, .kv = t->kv, .n_new = t->n_new, .n_most = t->n_new,
                             .prefix = prefix };
    gkv_error err;

    memset(r, 0, sizeof *r);
    open_exec(&e, threads, chunk);
    must(gkv__run(&c, &err), &err);
    must(gkv__decode_begin(&d, &c, GKV_STAGE_PREFILL, &err), &err);
    r->reused = d.n_reused;
    r->n_kept = c.n_kept;
    memcpy(r->kept, c.kept, c.n_kept * sizeof *c.kept);
    memcpy(r->logits, d.logits, sizeof r->logits);
    if (c.score)
        memcpy(r->score, c.score, t->n * sizeof *c.score);
    for (unsigned i = 0; i < t->n_new; i++) {
        must(gkv__decode_next(&d, &r->answer[i], &err), &err);
        gkv__decode_append(&d, r->answer[i]);
    }
    gkv__decode_close(&d);
    gkv__run_close(&c);
    gkv__exec_close(&e);
}

static bool same(const struct result *a, const struct result *b, size_t n)
{
    return !memcmp(a->score, b->score, n * sizeof *a->score) && a->n_kept == b->n_kept &&
           !memcmp(a->kept, b->kept, a->n_kept * sizeof *a->kept) && !memcmp(a->logits, b->logits, sizeof a->logits) &&
           !memcmp(a->answer, b->answer, sizeof a->answer);
}

/* The scores are smoothed by the method (GemFilter), so these are compared with the oracle's smoothed ones. */
static void smooth(const float *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t x = i < 2 ? 2 - i : 0; x < 5 && i + x < n + 2; x++)
            sum += (double)in[i + x - 2];
        out[i] = (float)(sum / 5);
    }
}

static void test_schedules(void)
{
    /* stream with room for all tokens is exact, however it is cut and whatever is run again. */
    static const struct { const char *spec; uint32_t chunk; bool bits; } all[] = {
        { "layer", 64, true }, { "chunk", 64, true }, { "layer", 1024, false }, { "chunk", 50, false },
        { "stream:budget=512,step=64,warm=32,refine=0,keys=f32", 64, false },
        { "stream:budget=512,step=40,warm=64,refine=0,keys=f32", 64, false },
        { "stream:budget=512,step=33,warm=0,recent=1,refine=0,keys=f32", 128, false },
        { "stream:budget=512,step=64,warm=512,refine=0,keys=f32", 64, false },
    };
    static struct result r, other, first;
    bool kept;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct gkv__task t = task_of("gemfilter", all[i].spec, g.id, g.n);
        double error;

        /* Where attention comes before the filter layer, it also sees what is run again. */
        if (!gkv__is_even(model) && strstr(all[i].spec, "warm=") && !strstr(all[i].spec, "warm=0"))
            continue;
        run(&t, g.id, 1, all[i].chunk, NULL, NULL, 0, &r);
        run(&t, g.id, 3, all[i].chunk, NULL, NULL, 0, &other);
        error = apart(r.score, g.want, g.n);
        ok(error < bound / 5, "%s %s, %s: scores by %s: off by %.2g", g.name, g.prompt, level, all[i].spec, error);
        ok(same(&r, &other, g.n), "... the same bytes from three threads");
        if (!i)
            first = r;
        else if (all[i].bits)
            ok(!memcmp(r.score, first.score, g.n * sizeof *r.score), "... and as by %s", all[0].spec);
        if (bound > F32)
            continue;
        kept = !memcmp(r.kept, g.kept, g.keep * sizeof *r.kept);
        error = apart(r.logits, g.second, N_VOCAB);
        ok(kept && r.n_kept == g.keep, "... the oracle's tokens");
        ok(error < bound, "... the second pass over them: off by %.2g", error);
    }
}

static void test_answer(void)
{
    static struct result r;
    const struct gkv__task t = task_of("full", "layer", g.id, g.n);

    run(&t, g.id, 2, 64, NULL, NULL, 0, &r);
    ok(apart(r.logits, g.logits + (g.n - 1) * N_VOCAB, N_VOCAB) < bound, "%s %s, %s: full", g.name, g.prompt, level);
    if (bound <= F32)
        ok(!memcmp(r.answer, g.answer, g.n_new * sizeof *r.answer), "... the oracle's answer");
}

/* A bounded cache: attention is approximate, and the state goes on; the same with any number of threads, and with
 * any length of what is run again the first layers, which come before any attention, are exact. */
static void test_bounded(void)
{
    static struct result r, other;
    const struct gkv__task t = task_of("gemfilter", "stream:budget=96,step=64,warm=16,recent=16", g.id, g.n);

    run(&t, g.id, 1, 64, NULL, NULL, 0, &r);
    run(&t, g.id, 3, 64, NULL, NULL, 0, &other);
    ok(same(&r, &other, g.n), "%s %s, %s: stream with a bound: the same bytes from three threads", g.name, g.prompt, level);
}

/* Questions one after the other about the same first tokens give what each gives alone. */
static void test_next(const char *method)
{
    /* The question; a token of the document that is another, or 0; tokens that are said to be the same for the next
     * prompt, or 0: the document; whether the state of the prompt before is of use. */
    static const struct { unsigned question; size_t change, fixed; bool reuses; } steps[] = {
        { 0, 0, 0, false }, { 1, 0, 0, true }, { 2, 0, 0, true },
        { 0, 40, 0, false }, { 0, 0, 0, false }, { 1, 0, 0, true },
        { 0, 1, 10, false }, { 1, 1, 10, false }, { 2, 0, 0, false }, { 0, 0, 0, true },
    };
    static struct result alone, again;
    static uint32_t id[MAX_TOKENS];
    struct gkv__early early = { 0 };
    struct gkv__prefix prefix = { 0 };
    const size_t document = g.n - QUESTION;
    const uint32_t chunk = 32;
    const bool full = !strcmp(method, "full");
    bool equal = true, reused = true;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const size_t n = g.n - (i == 1 ? 5 : 0);
        const struct gkv__task t = task_of(method, "chunk", id, n);

        memcpy(id, g.id, sizeof id);
        for (size_t x = document; x < n; x++)
            id[x] = (uint32_t)(3 + (g.id[x] + 7 * steps[i].question) % 250);
        if (steps[i].change)
            id[steps[i].change] = id[steps[i].change] == 9 ? 8 : 9;
        if (!steps[i].reuses)
            gkv__early_close(&early);           /* as the session does for another document */
        run(&t, id, 1, chunk, NULL, NULL, 0, &alone);
        run(&t, id, 1, chunk, &early, &prefix, steps[i].fixed ? steps[i].fixed : document, &again);
        equal &= same(&alone, &again, n);
        reused &= !full || again.reused == (steps[i].reuses ? document / chunk * chunk : 0);
    }
    ok(equal, "%s %s, %s: further questions by %s give what each gives alone", g.name, g.prompt, level, method);
    if (full && gkv__has_states(model))
        ok(reused, "... from the document's state, where it is the same document");
    gkv__early_close(&early);
    gkv__prefix_close(&prefix);
}

/* ---- what there is ---------------------------------------------------------------------- */

static void check_level(void)
{
    test_rows();
    test_schedules();
    test_answer();
    test_bounded();
    test_next("full");
    test_next("gemfilter");
}

/* What one block gives at the reference's level. */
static void refer(void)
{
    static struct result r;
    struct gkv__task t;

    gkv__simd_init(&simd, 0);
    g.layer = model->filter_layer;
    all_rows(1, MAX_TOKENS, g.n, g.logits);
    t = task_of("full", "layer", g.id, g.n);
    run(&t, g.id, 1, MAX_TOKENS, NULL, NULL, 0, &r);
    memcpy(g.answer, r.answer, sizeof g.answer);
    t = task_of("gemfilter", "layer", g.id, g.n);
    run(&t, g.id, 1, MAX_TOKENS, NULL, NULL, 0, &r);
    memcpy(g.want, r.score, sizeof g.want);
    memcpy(g.kept, r.kept, sizeof g.kept);
    memcpy(g.second, r.logits, sizeof g.second);
}

static void check(const char *folder, bool own)
{
    const unsigned cpu = gkv__cpu_detect();
    unsigned mask;
    char path[512];
    gkv_error err;

    snprintf(path, sizeof path, "%s/tests/files/%s/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", folder, g.name);
    must(gkv_model_open(&model, path, 0, &err), &err);
    if (own)
        refer();
    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "%s %s: %s", g.name, g.prompt, level);
            continue;
        }
        if ((i % 3 && getenv("GOLDEN_EVERY")) || (i > 1 && own)) {
            skip(own ? "models of the oracle are enough" : "GOLDEN_EVERY", "%s %s: %s", g.name, g.prompt, level);
            continue;
        }
        gkv__simd_init(&simd, mask);
        bound = simd.attend.pairs || simd.product[GKV__TYPE_F16].form ? BF16 : F32;
        check_level();
    }
    gkv_model_close(model);
}

static void check_other(const char *name)
{
    char path[64], *text, *s;
    size_t len;

    snprintf(path, sizeof path, "tests/files/hf/%s.txt", name);
    s = text = slurp(path, &len);
    snprintf(g.name, sizeof g.name, "%s", name);
    strcpy(g.prompt, "own");
    strsep(&s, " ");
    for (g.n = 0; *s >= '0' && *s <= '9'; s += *s == ' ')
        g.id[g.n++] = (uint32_t)strtoul(s, &s, 10);
    g.keep = 48;
    g.n_new = 6;
    check("hf", true);
    free(text);
}

int main(void)
{
    size_t len, off, n;
    char *text, *blob, *save = NULL;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    text = slurp("tests/files/golden/hybrid.txt", &len);
    blob = slurp("tests/files/golden/hybrid.bin", &len);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (sscanf(line, "model %31s %7s %zu layer=%u keep=%u new=%u", g.name, g.prompt, &g.n, &g.layer, &g.keep,
                   &g.n_new) == 6) {
            if (g.n > MAX_TOKENS || g.n_new > MAX_NEW)
                return printf("Bail out! hybrid.txt: %s\n", line), 1;
        } else if (sscanf(line, "logits %zu %zu", &off, &n) == 2) {
            memcpy(g.logits, blob + off, n * sizeof(float));
        } else if (sscanf(line, "scores %zu %zu", &off, &n) == 2) {
            memcpy(g.score, blob + off, n * sizeof(float));
        } else if (sscanf(line, "second %zu %zu", &off, &n) == 2) {
            memcpy(g.second, blob + off, n * sizeof(float));
        } else if (!strcmp(line, "end")) {
            smooth(g.score, g.n, g.want);
            check("golden", false);
        } else {
            uint32_t *to = !strncmp(line, "tokens", 6) ? g.id : !strncmp(line, "answer", 6) ? g.answer : g.kept;
            char *s = strchr(line, ' ');

            while (s && *s)
                *to++ = (uint32_t)strtoul(s, &s, 10);
        }
    }
    free(text);
    free(blob);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_other(others[i]);
    return done();
}
