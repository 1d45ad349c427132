/* SPDX-License-Identifier: BSD-2-Clause
 * unit-gemm.c - all libraries for matrix products in this build: products against double precision, the
 * same bytes with one thread and with three, no threads started by a library, the model's logits as
 * with `exact`; and that our kernels compute what a library refuses. */
#include "config.h"
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "src/engine/gemm-row.h"
#include "src/engine/kv.h"
#include "src/engine/layer.h"
#include "src/engine/forward.h"
#include "tests/tap.h"
#include "tests/worse.h"

enum { K = 768, MAX_ROWS = 1100, MAX_OUT = 300, N_VOCAB = 256, N = 300, HAD = 8 };

static const struct gkv__shape shape = {
    .n_layer = 1, .n_embd = K, .n_head = 1, .n_head_kv = 1, .head_dim = 64, .n_ff = K,
    .n_vocab = N_VOCAB, .n_rot = 64, .context = N,
};

static float uniform(void)              /* xorshift32, in [-1, 1) */
{
    static uint32_t state = 12345;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)((double)state / 2147483648.0 - 1);
}

static int threads_alive(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        n += *e->d_name != '.';
    if (d)
        closedir(d);
    return n;
}

/* ---- one product ------------------------------------------------------------------------ */

static const struct gkv__gemm *asked;
static atomic_int              refused;

static bool watched(const struct gkv__job *j, const struct gkv__item *it, void *scratch,
                    unsigned thread)
{
    bool done = asked->multiply(j, it, scratch, thread);

    refused += !done;
    return done;
}

static struct gkv__exec open_exec(const struct gkv__gemm *g, unsigned threads)
{
    struct gkv__exec e = { 0 };

    if (gkv__exec_open(&e, gkv__simd(), g, &shape, threads, 16, NULL) != GKV_OK)
        exit(1);
    return e;
}

static float  x[MAX_ROWS * K], w[MAX_OUT * K], before[MAX_ROWS * MAX_OUT];
static float  y[MAX_ROWS * MAX_OUT], y3[MAX_ROWS * MAX_OUT];
static float  form[MAX_ROWS * (K / 32 * 17)];
static uint8_t packed[MAX_OUT * K * 4];

static void product(struct gkv__exec *e, float *to, size_t rows, const struct gkv__mat *m, bool add)
{
    struct gkv__rows in = { x, rows, form, NULL };

    memcpy(to, before, sizeof before);
    gkv__gemm(e, to, &in, m, add);
}

/* |y - want| relative to what rounding explains: of sums in f32, and of activations to 8 bits in blocks
 * or to bf16, weights too where many rows are multiplied in bf16 or by 128 or 256 inputs. */
static double worst(const struct gkv__gemm *g, size_t rows, const struct gkv__mat *m, bool add)
{
    const enum gkv__type type = m->format->type;
    const bool named = !strcmp(g->name, "coarse"), ints = (named || !strcmp(g->name, "own")) && gkv__simd()->product[type].form;
    const struct gkv__simd *simd = gkv__simd();
    const bool tiles = named && simd->many_coarse[type].form && rows >= simd->many_coarse[type].least;
    const bool many = !tiles && ints && simd->many[type].form && rows >= simd->many[type].least;
    const bool coarse = tiles || (named && rows >= 6 && simd->coarse[type].form && !simd->many[type].form);
    const bool bf16 = !strcmp(g->name, "onednn") && type == GKV__TYPE_BF16;
    double most = 0;

    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < m->n_out; o++) {
            double sum = add ? (double)before[r * m->n_out + o] : 0, size = fabs(sum), all = 0;
            double bound;

            for (size_t i = 0; i < m->n_in; i++) {
                double p = (double)x[r * m->n_in + i] * (double)w[o * m->n_in + i];
                sum += p;
                size += fabs(p);
                all += fabs((double)w[o * m->n_in + i]);
            }
            bound = ((double)m->n_in + 8) * (double)FLT_EPSILON / 2 * size;
            bound += many ? size / 128 * 1.01 : ints ? all / 254 * 1.01 : bf16 ? size / 256 : 0;
            if (coarse)                 /* w and x are below 1; a step is 1/127 of what the scales allow */
                bound += (double)m->n_in / 254 * 1.2;
            most = worse(most, fabs((double)y[r * m->n_out + o] - sum) / bound);
        }
    return most;
}

static void test_products(const struct gkv__gemm *g, struct gkv__exec *one, struct gkv__exec *three)
{
    static const enum gkv__type types[] = { GKV__TYPE_F32, GKV__TYPE_F16, GKV__TYPE_BF16,
                                            GKV__TYPE_Q8_0, GKV__TYPE_Q4_K };
    static const struct { size_t rows, n_out, n_in; } sizes[] = {
        { 1, 40, 256 }, { 6, 1, 256 }, { 6, 40, 512 }, { 37, 129, 256 }, { 130, 300, K },
        { MAX_ROWS, 31, 256 },
    };

    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct gkv__quant *q = gkv__quant_of(types[t]);
        double most = 0;
        bool same = true;

        asked = g;
        refused = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t n_w = sizes[s].n_out * sizes[s].n_in, n_y = sizes[s].rows * sizes[s].n_out;
            struct gkv__mat m = { q, packed, (uint32_t)sizes[s].n_out, (uint32_t)sizes[s].n_in };

            for (size_t i = 0; i < n_w; i++)
                w[i] = uniform();
            q->from_f32(w, packed, n_w);
            q->to_f32(packed, w, n_w);
            for (int add = 0; add < 2; add++) {
                product(one, y, sizes[s].rows, &m, add);
                product(three, y3, sizes[s].rows, &m, add);
                same = same && !memcmp(y, y3, sizeof y) && !memcmp(y + n_y, before + n_y, sizeof y - n_y * sizeof *y);
                most = worse(most, worst(g, sizes[s].rows, &m, add));
            }
        }
        ok(most <= 1 && !refused, "%s %s: within %.2g of the bound", g->name, q->name, most);
        ok(same, "%s %s: the same bytes with 3 threads", g->name, q->name);
    }
}

/* More shapes than any library keeps, twice; then a library that refuses everything. */
static void test_instead(const struct gkv__gemm *g, struct gkv__exec *e)
{
    struct gkv__exec ours = open_exec(gkv__gemm_named("exact"), 1);
    struct gkv__mat m = { gkv__quant_of(GKV__TYPE_F32), (const uint8_t *)w, MAX_OUT, K };
    double most = 0;

    for (size_t i = 0; i < MAX_OUT * K; i++)
        w[i] = uniform();
    refused = 0;
    for (int again = 0; again < 2; again++)
        for (size_t rows = 6; rows < 60; rows++) {
            product(e, y, rows, &m, false);
            most = worse(most, worst(g, 1, &m, false));
        }
    ok(most <= 1 && !refused, "%s: many shapes", g->name);
    if (!g->open) {
        gkv__exec_close(&ours);
        return;
    }
    gkv__gemm_close(g, e->library);
    e->library = NULL;
    product(e, y, MAX_ROWS, &m, true);
    product(&ours, y3, MAX_ROWS, &m, true);
    ok(refused && !memcmp(y, y3, MAX_ROWS * MAX_OUT * sizeof *y), "%s: not to be had, so ours",
       g->name);
    gkv__exec_close(&ours);
}

static void test_one(const struct gkv__gemm *g, int alive)
{
    struct gkv__gemm row = *g;
    struct gkv__exec one, three;

    row.multiply = watched;
    one = open_exec(&row, 1);
    three = open_exec(&row, 3);
    for (size_t i = 0; i < MAX_ROWS * K; i++)
        x[i] = uniform();
    for (size_t i = 0; i < MAX_ROWS * MAX_OUT; i++)
        before[i] = uniform();
    test_products(g, &one, &three);
    test_instead(g, &one);
#ifdef _OPENMP
    ok(omp_get_max_threads() == HAD, "%s: OpenMP's number of threads is as it was", g->name);
    ok(threads_alive() <= alive + 2, "%s: no threads but our three", g->name);
#else
    ok(threads_alive() <= alive, "%s: no threads", g->name);
#endif
    gkv__exec_close(&one);
    gkv__exec_close(&three);
}

/* Tests one thread before any test uses three: how many threads are left afterwards. */
static void test_alone(const struct gkv__gemm *g, int alive)
{
    struct gkv__exec e = open_exec(g, 1);
    struct gkv__mat m = { gkv__quant_of(GKV__TYPE_F32), (const uint8_t *)w, MAX_OUT, K };

    product(&e, y, MAX_ROWS, &m, false);
    ok(threads_alive() == alive, "%s: one thread is one thread", g->name);
    gkv__exec_close(&e);
}

/* ---- the model -------------------------------------------------------------------------- */

static void logits_of(const gkv_model *m, const char *name, unsigned threads, float *logits)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    struct gkv__exec e = { 0 };
    struct gkv__cache c;
    static float rows[N * 1024];
    uint32_t id[N];

    for (uint32_t i = 0, r = 1; i < N; i++, r = r * 1664525 + 1013904223)
        id[i] = r >> 24;
    if (gkv__exec_open(&e, gkv__simd(), gkv__gemm_named(name), &m->shape, threads, N, NULL) != GKV_OK ||
        gkv__cache_open(&c, f32, m->shape.n_layer, m->shape.n_head_kv, m->shape.head_dim, N, NULL) !=
            GKV_OK || gkv__block(&(struct gkv__pass){ .e = &e, .m = m, .span = N, .c = &c }, id, N, 0, rows, NULL) != GKV_OK)
        exit(1);
    gkv__logits(&e, m, rows, N, logits);
    gkv__cache_close(&c);
    gkv__exec_close(&e);
}

static void test_model(const char *file)
{
    static float want[N * N_VOCAB], got[N * N_VOCAB], got3[N * N_VOCAB];
    gkv_model *m;
    gkv_error err;
    char path[512];
    const char *name;

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf",
             getenv("srcdir") ? getenv("srcdir") : ".", file);
    if (gkv_model_open(&m, path, 0, &err) != GKV_OK || m->shape.n_vocab != N_VOCAB ||
        m->shape.n_embd > 1024) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    logits_of(m, "exact", 1, want);
    for (size_t i = 0; (name = gkv__gemm_at(i)); i++) {
        double d = 0;

        logits_of(m, name, 1, got);
        logits_of(m, name, 3, got3);
        for (size_t j = 0; j < N * N_VOCAB; j++) {      /* with fmax here, GCC 12 fails on AArch64 */
            double e = fabs((double)got[j] - (double)want[j]);
            if (!(e <= d))
                d = e;
        }
        /* With f16 weights no library rounds activations; logits are around 10.  Where attention computes in bf16,
         * other last bits may be another bf16. */
        ok(d < (gkv__simd()->attend.pairs ? 0.1 : 5e-5), "%s, %s: logits within %.2g", file, name, d);
        ok(!memcmp(got, got3, sizeof got), "%s, %s: the same bytes with 3 threads", file, name);
    }
    gkv_model_close(m);
}

/* ---- names ------------------------------------------------------------------------------ */

static void test_names(void)
{
    static const char *const names[] = { "own", "coarse", "exact", "openblas", "onednn" };
    size_t n = 0;

    while (gkv__gemm_at(n))
        n++;
    ok(!gkv__gemm_describe(n) && !gkv__gemm_named("nobody") && !gkv__gemm_left_out("nobody"),
       "nobody else");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gkv__gemm *g = gkv__gemm_named(names[i]);
        bool listed = false;

        for (size_t j = 0; j < n; j++)
            if (!strcmp(gkv__gemm_at(j), names[i]))
                listed = !strncmp(gkv__gemm_describe(j), names[i], strlen(names[i]));
        if (g)
            ok(listed && !gkv__gemm_left_out(names[i]), "%s: in this build", names[i]);
        else
            ok(i > 2 && !listed && gkv__gemm_left_out(names[i]), "%s: left out of this build", names[i]);
    }
}

int main(void)
{
    const int alive = threads_alive();
    const char *name;

#ifdef _OPENMP
    omp_set_num_threads(HAD);           /* a library could start so many */
#endif
    test_names();
    for (size_t i = 0; (name = gkv__gemm_at(i)); i++)
        test_alone(gkv__gemm_named(name), alive);
    for (size_t i = 0; (name = gkv__gemm_at(i)); i++)
        test_one(gkv__gemm_named(name), alive);
    if (BIG_ENDIAN_HOST) {
        skip("big-endian", "the model's logits");
    } else {
        test_model("llama3");
        test_model("mistral");
    }
    return done();
}
