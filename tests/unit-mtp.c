/* SPDX-License-Identifier: BSD-2-Clause
 * unit-mtp.c - the layer that predicts a further token, against float64 (build-aux/golden-mtp.py): logits of pairs, of
 * guesses one after the other, however the rows come; after guesses that were wrong; behind a prompt that was there
 * before; and the same bytes from one thread and from three. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/answer/decode.h"
#include "src/engine/forward.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/run.h"
#include "tests/apart.h"
#include "tests/file.h"
#include "tests/tap.h"

enum { N_VOCAB = 279, CHUNK = 16, MAX_TOKENS = 160, MAX_PAIRS = 16, N_CHAIN = 4, SPAN = MAX_TOKENS + 2 * N_CHAIN };

/* How far logits may be off, relative to the largest: as in hybrid.c. */
static const double F32 = 5e-4, BF16 = 1e-1;

static struct {
    char     options[160];
    size_t   n, n_pairs;
    uint32_t id[MAX_TOKENS], pair[MAX_PAIRS], chain[N_CHAIN + 1];
    float    last[N_VOCAB], logits[MAX_PAIRS * N_VOCAB], guessed[N_CHAIN * N_VOCAB];
} g;

static char dir[256], path[300];
static gkv_model *model;
static struct gkv__simd simd;
static double bound;
static const char *level;

/* ---- pairs and guesses ------------------------------------------------------------------- */

struct run {
    struct gkv__exec  e;
    struct gkv__cache c;
    struct gkv__mtp   mtp;
    struct gkv__pass  p;
    uint32_t          id[SPAN];
    float            *x;
};

static void begin(struct run *r, unsigned threads, uint32_t chunk)
{
    const struct gkv__shape *s = &model->shape;
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    gkv_error err;

    memset(r, 0, sizeof *r);
    must(gkv__exec_open(&r->e, &simd, gkv__gemm_named("own"), s, threads, chunk, &err), &err);
    must(gkv__cache_open_for(&r->c, model, f32, s->n_layer, SPAN, &err), &err);
    r->mtp.id = r->id;
    must(gkv__mtp_open(&r->mtp, model, f32, SPAN, 0, &err), &err);
    r->p = (struct gkv__pass){ .e = &r->e, .m = model, .span = SPAN, .c = &r->c, .mtp = &r->mtp };
    r->x = malloc(s->n_embd * sizeof *r->x);
    memcpy(r->id, g.id, g.n * sizeof *g.id);
}

static void end(struct run *r)
{
    gkv__mtp_close(&r->mtp);
    gkv__cache_close(&r->c);
    gkv__exec_close(&r->e);
    free(r->x);
}

/* Tokens from .. to - 1 go through the model. */
static void go_on(struct run *r, size_t from, size_t to)
{
    gkv_error err;

    must(gkv__forward(&r->p, r->id + from, to - from, from, r->x, &err), &err);
}

/* Logits of the pairs of the oracle, in one pass over the prompt: a guess is asked for at each of them. */
static void pairs(unsigned threads, uint32_t chunk, float *logits)
{
    struct run r;
    size_t done = 0;

    begin(&r, threads, chunk);
    for (size_t i = 0; i < g.n_pairs; i++) {
        go_on(&r, done, g.pair[i] + 1);
        done = g.pair[i] + 1;
        gkv__mtp_next(&r.mtp, &r.p, logits + i * N_VOCAB);
    }
    end(&r);
}

/* Those behind the prompt, of the oracle's tokens.  step: rows after the first half come one by one.  wrong: first other
 * tokens were guessed there, and half way, which leave keys and values behind. */
static void chain(unsigned threads, uint32_t chunk, bool step, bool wrong, float *logits)
{
    struct run r;
    const size_t half = step ? g.n / 2 : g.n;

    begin(&r, threads, chunk);
    go_on(&r, 0, half);
    for (size_t i = half; i < g.n; i++) {
        if (wrong && i % 3 == 0)
            gkv__mtp_next(&r.mtp, &r.p, logits);
        for (size_t k = 0; wrong && i % 3 == 0 && k < i % N_CHAIN; k++)
            gkv__mtp_after(&r.mtp, &r.p, k, (uint32_t)(i * 7 + k) % N_VOCAB, logits);
        go_on(&r, i, i + 1);
    }
    r.id[g.n] = g.chain[0];
    gkv__mtp_next(&r.mtp, &r.p, logits);
    for (size_t i = 1; i < N_CHAIN; i++)
        gkv__mtp_after(&r.mtp, &r.p, i - 1, g.chain[i], logits + i * N_VOCAB);
    end(&r);
}

static void test_pairs(void)
{
    static const uint32_t chunks[] = { 1024, 17 };
    static float one[MAX_PAIRS * N_VOCAB], other[MAX_PAIRS * N_VOCAB];
    const size_t n = g.n_pairs * N_VOCAB;

    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        double error;

        pairs(1, chunks[i], one);
        pairs(3, chunks[i], other);
        error = apart(one, g.logits, n);
        ok(error < bound, "%s, %zu tokens, %s: pairs, chunks of %u: off by %.2g", g.options, g.n, level, chunks[i], error);
        ok(!memcmp(one, other, n * sizeof *one), "... the same bytes from three threads");
    }
}

static void test_chain(void)
{
    static float one[N_CHAIN * N_VOCAB], other[N_CHAIN * N_VOCAB];
    const size_t n = N_CHAIN * N_VOCAB;

    for (int i = 0; i < 3; i++) {
        double error;

        chain(1, i ? 17 : 1024, i > 0, i > 1, one);
        chain(3, i ? 17 : 1024, i > 0, i > 1, other);
        error = apart(one, g.guessed, n);
        ok(error < bound, "%s, %zu tokens, %s: guesses one after the other%s%s: off by %.2g", g.options, g.n, level,
           i > 0 ? ", rows one by one" : "", i > 1 ? ", after others" : "", error);
        ok(!memcmp(one, other, n * sizeof *one), "... the same bytes from three threads");
    }
}

/* What is guessed from these logits: the oracle's tokens, as many as are wanted or likely enough. */
static void test_guesses(void)
{
    static float logits[N_VOCAB];
    uint32_t out[N_CHAIN + 1] = { 0 };
    struct run r;
    size_t n;

    if (bound > F32)            /* bfloat16 may prefer another */
        return;
    begin(&r, 1, 64);
    go_on(&r, 0, g.n);
    r.id[g.n] = g.chain[0];
    n = gkv__mtp_guess(&r.mtp, &r.p, 0, out, N_CHAIN, logits);
    ok(n == N_CHAIN && !memcmp(out, g.chain + 1, n * sizeof *out), "%s, %zu tokens, %s: the oracle's guesses, %zu", g.options,
       g.n, level, n);
    end(&r);
    begin(&r, 1, 64);
    go_on(&r, 0, g.n);
    r.id[g.n] = g.chain[0];
    ok(gkv__mtp_guess(&r.mtp, &r.p, 1.01, out, N_CHAIN, logits) == 0, "... none that is certain");
    end(&r);
}

/* ---- behind a prompt that was there before ----------------------------------------------- */

/* Logits of the first guess behind n tokens and the answer's first one, if wanted; returns how many of these tokens were
 * there before. */
static size_t answer(const uint32_t *id, size_t n, struct gkv__prefix *prefix, float *logits)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    struct gkv__task t = { .m = model, .layer = -1, .kv_first = f32, .kv = f32, .n = n, .n_tail = 8, .k = n, .n_new = 8 };
    struct gkv__exec e = { 0 };
    struct gkv__context c = { .t = &t, .e = &e, .id = id, .n_fixed = n };
    struct gkv__decode d = { .e = &e, .m = model, .kv = f32, .n_new = 8, .n_most = 8, .with_mtp = true, .prefix = prefix };
    size_t reused;
    uint32_t next;
    gkv_error err;

    must(gkv__exec_open(&e, &simd, gkv__gemm_named("own"), &model->shape, 2, CHUNK, &err), &err);
    must(gkv__select_parse("full", &t.method, t.param, &err), &err);
    must(gkv__run(&c, &err), &err);
    must(gkv__decode_begin(&d, &c, GKV_STAGE_PREFILL, &err), &err);
    reused = d.n_reused;
    if (logits) {
        must(gkv__decode_next(&d, &next, &err), &err);
        gkv__decode_append(&d, 5);
        gkv__mtp_next(&d.mtp, &d.p, logits);
        gkv__decode_append(&d, 6);              /* and one more goes through the model */
        must(gkv__decode_next(&d, &next, &err), &err);
    }
    gkv__decode_close(&d);
    gkv__run_close(&c);
    gkv__exec_close(&e);
    return reused;
}

/* The end of the second prompt is another.  Where the first one's last token ends a chunk, no token after it was known, so that
 * its pair is not there, and its chunk goes through again. */
static void test_prefix(void)
{
    static const struct { size_t first, reused; bool guesses; } before[] = {
        { 150, 144, true }, { 150, 144, false }, { 144, 128, false },
    };
    static float alone[N_VOCAB], again[N_VOCAB];

    for (size_t i = 0; i < sizeof before / sizeof *before && g.n == 150; i++) {
        struct gkv__prefix prefix = { 0 };
        uint32_t id[MAX_TOKENS];
        const bool nothing = gkv__has_states(model) && before[i].first % CHUNK == 0;    /* there was no state to keep */
        size_t none, reused;
        double error;

        none = answer(g.id, before[i].first, &prefix, before[i].guesses ? again : NULL);
        memcpy(id, g.id, sizeof id);
        for (size_t x = 145; x < g.n; x++)
            id[x] = (id[x] + 9) % 256;
        reused = answer(id, g.n, &prefix, again);
        none += answer(id, g.n, NULL, alone);
        error = apart(again, alone, N_VOCAB);
        ok(error < bound && reused == (nothing ? 0 : before[i].reused) && !none, "%s, %s: %zu tokens of a prompt of %zu%s: off by %.2g", g.options, level,
           reused, before[i].first, before[i].guesses ? ", which was answered" : "", error);
        gkv__prefix_close(&prefix);
    }
}

/* Memory is predicted from the bytes of the layer's tensors, with the norm before the head, which may be the model's. */
static void test_bytes(void)
{
    uint64_t sum = model->mtp.norm == model->output_norm ? model->shape.n_embd * sizeof(float) : 0;
    char begin[32];

    snprintf(begin, sizeof begin, "blk.%u.", model->shape.n_layer);
    for (size_t i = 0; i < gkv__gguf_n_tensors(model->file); i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(model->file, i);

        sum += t->name.n > strlen(begin) && !memcmp(t->name.p, begin, strlen(begin)) ? t->bytes : 0;
    }
    ok(gkv__model_mtp_bytes(model) == sum, "%s: %d bytes of its last layer, %d in the file", g.options,
       (int)gkv__model_mtp_bytes(model), (int)sum);
}

/* ---- what there is ----------------------------------------------------------------------- */

static void check(void)
{
    const unsigned cpu = gkv__cpu_detect();
    unsigned mask;
    gkv_error err;
    char command[640];
    const char *builddir = getenv("builddir");

    snprintf(command, sizeof command, "'%s%s' --nextn=1 %s '%s'", getenv("MKMODEL") ? "" : builddir ? builddir : ".",
             getenv("MKMODEL") ? getenv("MKMODEL") : "/tests/mkmodel", g.options, path);
    if (system(command)) {
        printf("Bail out! %s\n", command);
        exit(1);
    }
    must(gkv_model_open(&model, path, 0, &err), &err);
    test_bytes();
    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if ((mask & cpu) != mask) {
            skip("this CPU lacks it", "%s: %s", g.options, level);
            continue;
        }
        if (i % 3 && getenv("GOLDEN_EVERY")) {
            skip("GOLDEN_EVERY", "%s: %s", g.options, level);
            continue;
        }
        gkv__simd_init(&simd, mask);
        bound = simd.attend.pairs || simd.product[GKV__TYPE_F16].form ? BF16 : F32;
        test_pairs();
        test_chain();
        test_guesses();
        test_prefix();
    }
    gkv_model_close(model);
}

static void numbers(const char *s, uint32_t *to, size_t most, size_t *n)
{
    char *end;

    for (*n = 0; *n < most; s = end, ++*n) {
        const unsigned long v = strtoul(s, &end, 10);

        if (end == s)
            return;
        to[*n] = (uint32_t)v;
    }
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char *text, *blob, *save = NULL;
    size_t len, off, n;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    snprintf(dir, sizeof dir, "%s/gemkv-mtp-XXXXXX", tmp && strlen(tmp) < 100 ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return printf("Bail out! a temporary directory\n"), 1;
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    text = slurp("tests/files/golden/mtp.txt", &len);
    blob = slurp("tests/files/golden/mtp.bin", &len);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (sscanf(line, "model %zu %159[^\n]", &g.n, g.options) == 2)
            continue;
        if (!strncmp(line, "tokens ", 7))
            numbers(line + 7, g.id, MAX_TOKENS, &n);
        else if (!strncmp(line, "pairs ", 6))
            numbers(line + 6, g.pair, MAX_PAIRS, &g.n_pairs);
        else if (!strncmp(line, "chain ", 6))
            numbers(line + 6, g.chain, N_CHAIN + 1, &n);
        else if (sscanf(line, "last %zu %zu", &off, &n) == 2)
            memcpy(g.last, blob + off, n * sizeof(float));
        else if (sscanf(line, "logits %zu %zu", &off, &n) == 2)
            memcpy(g.logits, blob + off, n * sizeof(float));
        else if (sscanf(line, "guessed %zu %zu", &off, &n) == 2)
            memcpy(g.guessed, blob + off, n * sizeof(float));
        else
            check();
    }
    free(text);
    free(blob);
    remove(path);
    ok(!rmdir(dir), "nothing is left behind");
    return done();
}
