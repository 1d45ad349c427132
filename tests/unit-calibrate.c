/* SPDX-License-Identifier: BSD-2-Clause
 * unit-calibrate.c - every layer tried as the one that selects, against the oracle's vectors
 * (build-aux/calibrate-vectors.py) */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/select/calibrate.h"
#include "src/engine/gemm.h"
#include "simd/simd.h"
#include "tests/file.h"
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

static gkv_model *open_model(const char *name)
{
    gkv_model *m = NULL;
    gkv_error  err = { 0 };
    char       path[512];

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf", getenv("srcdir"), name);
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
    m = open_model(model);
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

/* The fastest level whose attention is in f32: in bf16 other tokens may be selected. */
static void set_level(void)
{
    const char *level;
    struct gkv__simd simd;
    unsigned mask;

    for (size_t i = 0; (level = gkv__simd_level(i, &mask)); i++) {
        if ((mask & gkv__cpu_detect()) != mask)         /* even filling its table needs the processor */
            continue;
        gkv__simd_init(&simd, mask);
        if (!simd.attend.pairs)
            setenv("GEMKV_CPU", level, 1);
    }
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
    free(text);
    free(cases);
    return done();
}
