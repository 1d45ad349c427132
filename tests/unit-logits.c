/* SPDX-License-Identifier: BSD-2-Clause
 * unit-logits.c - models of random weights against the transformers library (tests/files/hf, made by
 * build-aux/golden-hf.py): hidden states after each layer and logits at the end of two prompts, a long one
 * beyond windows and original contexts, and greedy tokens.  In chunks of several sizes, so that borders lie
 * anywhere, at every level of instructions, from one thread and from three. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/engine/forward.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "tests/file.h"
#include "tests/tap.h"

static const char *const names[] = {
    "smollm3", "olmo2", "olmo3", "mistral3", "granite", "granitemoe", "granitemoeshared", "glm4", "exaone4",
    "phi4mini", "llama4", "gpt-oss", "gpt-oss-mxfp4", "lfm2", "lfm2moe",
    "granitehybrid", "granitehybridmoe", "gemma4", "gemma4e", "gemma4moe",
};

enum { N_NAMES = sizeof names / sizeof *names, MAX_TOKENS = 256, MAX_LAYERS = 8, MAX_NEW = 16, MAX_ROWS = 16 };

/* What transformers computed: rows "logits N" and "hidden LAYER". */
struct reference {
    uint32_t id[MAX_TOKENS], greedy[MAX_NEW];
    size_t   n, n_greedy, n_rows;
    struct { char what[8]; unsigned number; const float *x; size_t n; } row[MAX_ROWS];
    float   *blob;
};

static size_t numbers(char *s, uint32_t *out)
{
    size_t n = 0;

    for (char *end; out[n] = (uint32_t)strtoul(s, &end, 10), end != s; s = end)
        n++;
    return n;
}

static void read_reference(const char *folder, const char *name, struct reference *r)
{
    char path[256], *text, *save = NULL;
    size_t len;

    memset(r, 0, sizeof *r);
    snprintf(path, sizeof path, "%s/%s.bin", folder, name);
    r->blob = slurp(path, &len);
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    text = slurp(path, &len);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t at, i = r->n_rows;

        if (!strncmp(line, "tokens ", 7)) {
            r->n = numbers(line + 7, r->id);
        } else if (!strncmp(line, "greedy ", 7)) {
            r->n_greedy = numbers(line + 7, r->greedy);
        } else if (sscanf(line, "%7s %u %zu %zu", r->row[i].what, &r->row[i].number, &at, &r->row[i].n) == 4) {
            r->row[i].x = r->blob + at / sizeof(float);
            r->n_rows++;
        }
    }
    free(text);
}

struct result { float *hidden[MAX_LAYERS], *logits; };

/* The last row after each layer, and its logits. */
static void prefill(const struct gkv__pass *p, const uint32_t *id, size_t n, struct result *r)
{
    const size_t d = p->m->shape.n_embd;
    float *x = malloc(p->e->chunk * d * sizeof *x);
    size_t nc = 0;

    for (size_t at = 0; at < n; at += nc) {
        nc = n - at < p->e->chunk ? n - at : p->e->chunk;
        gkv__embed(p->e, p->m, id + at, x, nc);
        for (uint32_t il = 0; il < p->m->shape.n_layer; il++) {
            gkv__layer(p, il, id + at, x, nc, at, il);
            memcpy(r->hidden[il], x + (nc - 1) * d, d * sizeof *x);
        }
    }
    gkv__logits(p->e, p->m, x + (nc - 1) * d, 1, r->logits);
    free(x);
}

/* The largest difference, relative to the largest element. */
static double distance(const float *a, const float *b, size_t n)
{
    double far = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        far = fmax(far, isfinite(a[i]) ? fabs((double)a[i] - (double)b[i]) : INFINITY);
        most = fmax(most, fabs((double)b[i]));
    }
    return far / most;
}

static bool greedy(const struct gkv__pass *p, const struct reference *ref, float *logits)
{
    float *x = malloc(p->m->shape.n_embd * sizeof *x);
    size_t right = 0;

    for (; right < ref->n_greedy; right++) {
        uint32_t best = 0;

        for (uint32_t i = 0; i < p->m->shape.n_vocab; i++)
            best = logits[i] > logits[best] ? i : best;
        if (best != ref->greedy[right] || gkv__forward(p, &best, 1, ref->n + right, x, NULL) != GKV_OK)
            break;
        gkv__logits(p->e, p->m, x, 1, logits);
    }
    free(x);
    return right == ref->n_greedy;
}

static void check(const gkv_model *m, const char *name, const struct reference *ref, const struct gkv__simd *simd,
                  const char *level, uint32_t chunk, unsigned threads)
{
    /* In float32 alone; attention in bf16 rounds to 8 bits, and so do products with quantised weights. */
    const bool quantised = strstr(name, "mxfp4") && strcmp(level, "ref");
    const double most = simd->attend.pairs || simd->attend.narrow || quantised ? 4e-2 : 2e-5;
    const struct gkv__shape *s = &m->shape;
    struct gkv__exec e = { 0 };
    struct gkv__cache c;
    struct result r;
    double worst = 0;

    r.logits = malloc(s->n_vocab * sizeof *r.logits);
    for (uint32_t il = 0; il < s->n_layer; il++)
        r.hidden[il] = malloc(s->n_embd * sizeof **r.hidden);
    if (gkv__exec_open(&e, simd, gkv__gemm_named("own"), s, threads, chunk, NULL) != GKV_OK ||
        gkv__cache_open_for(&c, m, gkv__quant_named("f32"), s->n_layer, MAX_TOKENS, NULL) != GKV_OK)
        exit(1);
    for (size_t i = ref->n_rows; i-- > 0;) {    /* the longest prompt comes first in the file, and last here */
        if (!strcmp(ref->row[i].what, "logits")) {
            struct gkv__pass p = { .e = &e, .m = m, .span = ref->row[i].number, .c = &c };

            prefill(&p, ref->id, ref->row[i].number, &r);
            worst = fmax(worst, distance(r.logits, ref->row[i].x, ref->row[i].n));
        }
    }
    for (size_t i = 0; i < ref->n_rows; i++)
        if (!strcmp(ref->row[i].what, "hidden"))
            worst = fmax(worst, distance(r.hidden[ref->row[i].number], ref->row[i].x, ref->row[i].n));
    {
        struct gkv__pass p = { .e = &e, .m = m, .span = ref->n + ref->n_greedy, .c = &c };

        ok(worst <= most, "%s, %s, chunks of %u: hidden states and logits differ by %.1e", name, level, chunk, worst);
        if (most < 1e-3)
            ok(greedy(&p, ref, r.logits), "... and greedy tokens are the same");
    }
    for (uint32_t il = 0; il < s->n_layer; il++)
        free(r.hidden[il]);
    free(r.logits);
    gkv__cache_close(&c);
    gkv__exec_close(&e);
}

/* Arguments: a folder in $srcdir and names of models there, in place of those in the repository. */
int main(int argc, char **argv)
{
    const char *const *name = argc > 2 ? (const char *const *)argv + 2 : names;
    const size_t n_names = argc > 2 ? (size_t)argc - 2 : N_NAMES;
    const char *const folder = argc > 2 ? argv[1] : "tests/files/hf", *const root = getenv("srcdir");
    const unsigned cpu = gkv__cpu_detect();
    static struct reference ref;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    for (size_t i = 0; i < n_names; i++) {
        struct gkv__simd simd;
        const char *level;
        gkv_model *m = NULL;
        gkv_error err = { 0 };
        char path[512];
        unsigned mask;

        snprintf(path, sizeof path, "%s/%s/%s.gguf", root ? root : ".", folder, name[i]);
        if (gkv_model_open(&m, path, 0, &err) != GKV_OK) {
            ok(0, "%s: %s", name[i], err.text);
            continue;
        }
        read_reference(folder, name[i], &ref);
        gkv__simd_init(&simd, 0);
        check(m, name[i], &ref, &simd, "ref", 256, 1);
        check(m, name[i], &ref, &simd, "ref", 7, 3);
        for (size_t l = 0; (level = gkv__simd_level(l, &mask)); l++) {
            if ((mask & cpu) != mask) {
                skip("this CPU lacks it", "%s: %s", name[i], level);
                continue;
            }
            gkv__simd_init(&simd, mask);
            check(m, name[i], &ref, &simd, level, 64, 1);
        }
        free(ref.blob);
        gkv_model_close(m);
    }
    return done();
}
