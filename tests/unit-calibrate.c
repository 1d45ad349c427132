/* SPDX-License-Identifier: BSD-2-Clause
 * unit-calibrate.c - every layer tried as the one that selects, against the oracle's vectors
 * (build-aux/calibrate-vectors.py) */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/first/schedule.h"
#include "src/select/calibrate.h"
#include "src/base/top.h"
#include "src/engine/gemm.h"
#include "simd/simd.h"
#include "tests/file.h"
#include "tests/level.h"
#include "tests/tap.h"

enum { LAYERS = 8, MAX_TOKENS = 1024 };

static char *cases;             /* cases.txt, which has the prompts */

static size_t read_prompt(const char *model, const char *name, uint32_t *id)
{
    char   begin[64], *s;
    size_t n;

    snprintf(begin, sizeof begin, "prompt %s %s ", model, name);
    s = strstr(cases, begin);
    if (!s)
        return 0;
    n = strtoul(s + strlen(begin), &s, 10);
    for (size_t i = 0; i < n && i < MAX_TOKENS; i++)
        id[i] = (uint32_t)strtoul(s, &s, 10);
    return n;
}

static gkv_model *open_model(const char *folder, const char *name)
{
    gkv_model *m = NULL;
    gkv_error  err = { 0 };
    char       path[512];

    snprintf(path, sizeof path, "%s/tests/files/%s/%s.gguf", getenv("srcdir"), folder, name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

static bool probe(const gkv_model *m, struct gkv__calibrate *c, unsigned threads, uint32_t chunk,
                  gkv_layer_probe *out)
{
    struct gkv__exec e = { 0 };
    gkv_status       status;

    c->m = m;
    memset(out, 0, LAYERS * sizeof *out);
    status = gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("exact"), &m->shape, threads, chunk, NULL);
    if (!status)
        status = gkv__calibrate(&e, c, out, NULL);
    gkv__exec_close(&e);
    return status == GKV_OK;
}

static void check(const char *line)
{
    char     kind[16], model[32], prompt[8];
    uint32_t id[MAX_TOKENS];
    unsigned a, b, d;
    int      at = 0, bad = 0;
    struct gkv__calibrate c = { .id = id, .kernel = 5, .window = 8, .tsp_pool = GKV__POOL_AVG };
    gkv_layer_probe got[LAYERS], again[LAYERS];
    gkv_model *m;
    char      *s;
    bool       choice;

    sscanf(line, "%15s %31s %7s %u %u %u%n", kind, model, prompt, &a, &b, &d, &at);
    choice = !strcmp(kind, "choice");
    c.n = read_prompt(model, prompt, id);
    c.from = choice ? b : 0;
    c.to = choice ? d : 1;
    c.k = choice ? a : 1;
    if (!choice) {
        c.tsp = a;
        c.window = b;
        c.tsp_kernel = d;
        c.n_tsp = LAYERS;
    }
    m = open_model("golden", model);
    ok(probe(m, &c, 1, 64, got), "%s %s %s", kind, model, prompt);
    s = (char *)line + at;
    for (int i = 0; i < LAYERS && choice; i++)
        bad += (strtol(s, &s, 10) != 0) != (got[i].covered == 1);
    for (int i = 0; i < LAYERS; i++) {
        double want = strtod(s, &s);

        if (choice ? (double)got[i].distance != want : fabs(got[i].error - want) > 1e-3 * want + 1e-9) {
            printf("# layer %d: %g instead of %g\n", i, choice ? (double)got[i].distance : got[i].error,
                   want);
            bad++;
        }
        bad += choice && !isnan(got[i].error);
    }
    ok(!bad, "%s %s %s: as the oracle's", kind, model, prompt);
    ok(probe(m, &c, 3, 64, again) && !memcmp(got, again, sizeof got), "same bytes with 3 threads");
    gkv_model_close(m);
}

/* How far from the wanted tokens the best k are, by a first pass with this filter layer. */
static double distance_by(const gkv_model *m, const struct gkv__calibrate *c, uint32_t filter)
{
    struct gkv__task t = { .m = m, .filter = filter, .n = c->n, .n_tail = 1, .kv_first = gkv__quant_named("f32") };
    struct gkv__exec e = { 0 };
    float score[MAX_TOKENS], spare[MAX_TOKENS];
    uint32_t kept[MAX_TOKENS];
    size_t nearest = c->n;

    if (gkv__schedule_parse("layer", &t.schedule, t.schedule_param, NULL) != GKV_OK ||
        gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("exact"), &m->shape, 1, 64, NULL) != GKV_OK ||
        t.schedule->run(&e, &(struct gkv__first){ .t = &t, .id = c->id, .score = score }, NULL) != GKV_OK)
        return -1;
    gkv__exec_close(&e);
    gkv__pool(score, spare, c->n, c->kernel, GKV__POOL_AVG);
    gkv__top(score, c->n, c->k, kept);
    for (size_t i = 0; i < c->k; i++)
        nearest = gkv__min(nearest, kept[i] < c->from ? c->from - kept[i] : kept[i] >= c->to ? kept[i] - c->to + 1 : 0);
    return (double)nearest;
}

/* Layers with heads of two sizes, and last ones without keys: those that can filter find what a first pass does. */
static void check_two_sizes(const char *name)
{
    enum { TOKENS = 150 };
    gkv_model *m = open_model("hf", name);
    gkv_layer_probe got[LAYERS];
    uint32_t id[TOKENS];
    size_t tried = 0, bad = 0, zero = 0;

    for (size_t i = 0; i < TOKENS; i++)
        id[i] = (uint32_t)(3 + i * i * 7 % 101);
    for (size_t from = 0; from < TOKENS; from += 15) {
        struct gkv__calibrate c = { .id = id, .n = TOKENS, .kernel = 5, .window = 8, .k = 6, .from = from, .to = from + 1 };

        bad += !probe(m, &c, 1, 64, got);
        for (uint32_t il = 0; il < m->shape.n_layer; il++) {
            const bool can = gkv__can_filter(m, il);

            bad += (double)got[il].distance != (can ? distance_by(m, &c, il) : (double)TOKENS) || !isnan(got[il].error);
            tried += can;
            zero += can && !got[il].distance;
        }
    }
    ok(tried > 9 && !bad && zero < tried, "%s: %zu layers and places as by a first pass, %zu not", name, tried, bad);
    gkv_model_close(m);
}

int main(void)
{
    size_t len;
    char  *text;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine: no model can be read");
    set_level();
    cases = slurp("tests/files/golden/cases.txt", &len);
    text = slurp("tests/files/golden/calibrate.txt", &len);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        check(line);
    }
    check_two_sizes("gemma4");
    check_two_sizes("gemma4e");
    free(text);
    free(cases);
    return done();
}
