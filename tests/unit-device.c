/* SPDX-License-Identifier: BSD-2-Clause
 * unit-device.c - the interface of device plugins, through gpu/null, a device that is this processor: every
 * architecture has the logits of the CPU, after a prompt and after keys and values that were copied; and rows of one call are
 * those of calls one by one, also in the place of others. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/answer/device.h"
#include "src/base/thread.h"
#include "src/engine/exec.h"
#include "src/engine/forward.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "tests/level.h"
#include "tests/plugins.h"
#include "tests/tap.h"

enum { N_PROMPT = 75, N_STEPS = 4, N_ALL = N_PROMPT + N_STEPS, CUT = 9 };

/* mkmodel's options: what a layer can have beyond llama's, at sizes at which windows and long prompts count. */
static const char *const models[] = {
    "--rope-freqs=1", "--linear=4 --window=40", "--arch=qwen2", "--arch=qwen3 --yarn=4 --heads=2",
    "--arch=phi3 --longrope=64 --window=99", "--arch=phi3 --longrope=400 --window=30",
    "--arch=gemma2 --window=32 --tied=1", "--arch=gemma3 --window=32 --linear=8 --layers=7",
    "--arch=gemma4 --window=32", "--arch=gemma4 --window=32 --sharing=2 --embd-layer=32",
    "--arch=gemma4 --window=32 --experts=4 --used=2", "--arch=smollm3 --layers=5", "--arch=olmo2",
    "--arch=olmo2 --window=32 --yarn=4", "--arch=mistral3 --yarn=4", "--arch=granite", "--arch=glm4",
    "--arch=exaone4 --window=32", "--arch=qwen3moe", "--arch=granitemoe", "--arch=llama4", "--arch=gpt-oss",
    "--arch=qwen35", "--arch=qwen35moe", "--arch=qwen3next", "--arch=granitehybrid", "--arch=lfm2", "--arch=lfm2moe",
};

static char dir[256], path[300], mkmodel[4200];
static gkv_error err;

static void bail(const char *what)
{
    printf("Bail out! %s: %s\n", what, err.text);
    exit(1);
}

static gkv_model *make(const char *options)
{
    char command[5000];
    gkv_model *m = NULL;

    snprintf(command, sizeof command, "'%s' --ff=256 %s '%s'", mkmodel, options, path);
    if (system(command) || gkv_model_open(&m, path, 0, &err) != GKV_OK)
        bail(options);
    return m;
}

/* What begins to count after thousands of tokens counts after some; a step is at a border of the spans, where the shift
 * counts: N_PROMPT + 1 is a multiple of 19. */
static void bring_near(gkv_model *m)
{
    for (uint32_t il = 0; il < m->shape.n_layer; il++)
        m->layer[il].chunk = m->layer[il].chunk ? 24 : 0;
    m->shape.temper_span = m->shape.temper_span ? 19 : 0;
}

static double distance(const float *a, const float *b, size_t n)
{
    double num = 0, den = 0;

    for (size_t i = 0; i < n; i++) {
        num += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        den += (double)b[i] * (double)b[i];
    }
    return sqrt(num / den);
}

/* NaN is the worst. */
static double worse(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

/* Takes the first CUT slots away from a layer, of those that hold n. */
static void cut(struct gkv__cache *c, uint32_t il, uint64_t n)
{
    for (uint32_t ih = 0; c->layer[il].k && ih < gkv__cache_heads(c, il); ih++)
        gkv__cache_move(c, il, ih, 0, CUT, n - CUT);
    c->layer[il].shift = CUT;
}

/* Logits after the prompt and after each step, out[1 + N_STEPS][n_vocab], on the CPU; or, once the prompt is through,
 * the steps on both, the device from a copy of the CPU's keys and values, the last layer's being fewer. */
static void on_cpu(const gkv_model *m, const uint32_t *id, float *out, struct gkv__device *d, float *also)
{
    const struct gkv__shape *s = &m->shape;
    struct gkv__exec e = { 0 };
    struct gkv__cache c = { 0 };
    const struct gkv__pass p = { .e = &e, .m = m, .span = N_ALL, .c = &c };
    float *x = malloc(s->n_embd * sizeof *x);
    uint32_t best;

    if (!x || gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("exact"), s, 1, N_PROMPT, &err) ||
        gkv__cache_open_for(&c, m, gkv__quant_named("f16"), s->n_layer, N_ALL, &err))
        bail("the CPU");
    for (size_t i = 0; i <= N_STEPS; i++) {
        const size_t at = i ? N_PROMPT + i - 1 : 0;

        if (gkv__forward(&p, id + at, i ? 1 : N_PROMPT, at, x, &err))
            bail("the CPU");
        gkv__logits(&e, m, x, 1, out + i * s->n_vocab);
        if (!d)
            continue;
        if (i == 0) {
            if (!s->n_sharing)          /* no method leaves fewer slots in layers that share */
                cut(&c, s->n_layer - 1, N_PROMPT);
            if (gkv__device_take(d, &c, N_PROMPT, N_STEPS, N_ALL, &err))
                bail("the device");
        } else if (gkv__device_forward(d, id + at, 1, at, 1, also + i * s->n_vocab, &best, &err)) {
            bail("the device");
        }
    }
    gkv__cache_close(&c);
    gkv__exec_close(&e);
    free(x);
}

static void on_device(struct gkv__device *d, size_t n_vocab, const uint32_t *id, float *out)
{
    uint32_t best;

    if (gkv__device_ready(d, N_ALL, &err) || gkv__device_forward(d, id, 50, 0, 0, NULL, NULL, &err) ||
        gkv__device_forward(d, id + 50, N_PROMPT - 50, 50, 1, out, &best, &err))
        bail("the device");
    for (size_t i = 1; i <= N_STEPS; i++)
        if (gkv__device_forward(d, id + N_PROMPT + i - 1, 1, N_PROMPT + i - 1, 1, out + i * n_vocab, &best, &err))
            bail("the device");
}

/* The same, with the logits of all rows from one call. */
static void in_rows(struct gkv__device *d, const uint32_t *id, float *out, uint32_t best[1 + N_STEPS])
{
    if (gkv__device_ready(d, N_ALL, &err) || gkv__device_forward(d, id, 50, 0, 0, NULL, NULL, &err) ||
        gkv__device_forward(d, id + 50, N_ALL - 50, 50, 1 + N_STEPS, out, best, &err))
        bail("the device");
}

/* The steps once more, in the place of others: all were wrong, or the first were right. */
static void over_others(struct gkv__device *d, size_t n_vocab, const uint32_t *id, size_t right, float *out,
                        uint32_t best[1 + N_STEPS])
{
    uint32_t other[N_STEPS];

    for (size_t i = 0; i < N_STEPS; i++)
        other[i] = i < right ? id[N_PROMPT + i] : (id[N_PROMPT + i] + 1) % (uint32_t)n_vocab;
    if (gkv__device_forward(d, other, N_STEPS, N_PROMPT, N_STEPS, NULL, best, &err) ||
        gkv__device_forward(d, id + N_PROMPT + right, N_STEPS - right, N_PROMPT + right, N_STEPS - right,
                            out + (1 + right) * n_vocab, best + 1 + right, &err))
        bail("the device");
}

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* This device computes row by row, so the same bits are expected. */
static void test_rows(const gkv_model *m, struct gkv__device *d, const uint32_t *id, const float *want, float *got)
{
    const size_t n_vocab = m->shape.n_vocab, bytes = (1 + N_STEPS) * n_vocab * sizeof *got;
    uint32_t best[1 + N_STEPS];
    size_t wrong = 0;

    memset(got, 0, bytes);
    in_rows(d, id, got, best);
    ok(!memcmp(got, want, bytes), "... rows of one call");
    for (size_t i = 0; i <= N_STEPS; i++)
        wrong += best[i] != largest(want + i * n_vocab, n_vocab);
    for (size_t right = 0; right < N_STEPS && !gkv__has_states(m); right++) {
        memset(got + n_vocab, 0, bytes - n_vocab * sizeof *got);
        over_others(d, n_vocab, id, right, got, best);
        wrong += !!memcmp(got + (1 + right) * n_vocab, want + (1 + right) * n_vocab,
                          (N_STEPS - right) * n_vocab * sizeof *got);
        for (size_t i = 1 + right; i <= N_STEPS; i++)
            wrong += best[i] != largest(want + i * n_vocab, n_vocab);
    }
    ok(!wrong, "... the best of each, and rows in the place of others: %zu wrong", wrong);
}

/* The cache rounds to f16, here from products that differ in their last bits; so a few of its numbers round the other
 * way, by 2^-11.  Their shares in a logit are far below 1e-3, and what is forgotten is far above. */
static void test_model(const char *options)
{
    gkv_model *m = make(options);
    const size_t n_vocab = m->shape.n_vocab, n = (1 + N_STEPS) * n_vocab;
    float *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got), *rows = calloc(n, sizeof *rows);
    struct gkv__device *d = NULL;
    char why[256];
    uint32_t id[N_ALL];
    double most = 0;

    bring_near(m);
    for (uint32_t i = 0; i < N_ALL; i++)
        id[i] = (uint32_t)((i * 2654435761u >> 8) % n_vocab);
    if (!want || !got || !rows || gkv__device_open(&d, m, "null", 0, N_PROMPT, N_ALL, why, &err))
        bail(options);
    on_cpu(m, id, want, NULL, NULL);
    on_device(d, n_vocab, id, got);
    for (size_t i = 0; i <= N_STEPS; i++)
        most = worse(most, distance(got + i * n_vocab, want + i * n_vocab, n_vocab));
    ok(most < 1e-3, "%s: a prompt and steps after it, off by %.1e", options, most);
    test_rows(m, d, id, got, rows);
    most = 0;
    if (!gkv__has_states(m))            /* methods of one pass refuse such a model */
        on_cpu(m, id, want, d, got);
    for (size_t i = 1; i <= N_STEPS; i++)
        most = worse(most, distance(got + i * n_vocab, want + i * n_vocab, n_vocab));
    ok(most < 1e-3, "... steps after keys and values that were copied, off by %.1e", most);
    gkv__device_close(d);
    gkv_model_close(m);
    free(want);
    free(got);
    free(rows);
}

int main(void)
{
    const char *build = getenv("builddir") ? getenv("builddir") : ".";

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    if (!null_device())
        return skip_all("no plugins in this build");
    set_level();
    if (getenv("MKMODEL"))
        snprintf(mkmodel, sizeof mkmodel, "%s", getenv("MKMODEL"));
    else
        snprintf(mkmodel, sizeof mkmodel, "%s/tests/mkmodel", build);
    snprintf(dir, sizeof dir, "%s/unit-device.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir))
        bail(dir);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        test_model(models[i]);
    unlink(path);
    rmdir(dir);
    return done();
}
