/* SPDX-License-Identifier: BSD-2-Clause
 * device.c - a device compared with the CPU: its logits, and its speed.
 *
 *     device [-d NAME] [-g BYTES] [-n TOKENS] compare MODEL...
 *                                     logits of a prompt (150 tokens) and of steps after it, against f32
 *                                     products on the CPU and, for scale, against the CPU's own;
 *                                     and of steps after keys and values of the CPU.  rows: steps of 2 to 5
 *                                     tokens, in the place of others, against those of one on the device
 *     device [-d NAME] [-g BYTES] time K[,K]... MODEL...
 *                                     seconds of K tokens at once, tokens per second after them, and what
 *                                     steps of 2 to 5 tokens take beside one */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/answer/device.h"
#include "src/answer/draft.h"
#include "src/engine/exec.h"
#include "src/engine/gemm.h"
#include "src/engine/layer.h"
#include "src/base/cores.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/base/thread.h"

enum { CUT = 20, FIRST = 70, N_STEPS = 12, ROUNDS = 9, N_TIMED = 128, MAX_K = 8,
       MOST_ROWS = 1 + GKV__DRAFT_MOST };

static const char *device_name = "cuda";
static uint64_t    budget;
static size_t      n_prompt = 150;
static bool        far_off;             /* rows of a step were not those of steps one by one */

static void stop(const char *what)
{
    fprintf(stderr, "device: %s\n", what);
    exit(1);
}

static uint32_t *some_ids(const gkv_model *m, size_t n)
{
    uint32_t *id = malloc(n * sizeof *id);
    uint64_t state = 12345;

    for (size_t i = 0; id && i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        id[i] = (uint32_t)((state >> 33) % m->shape.n_vocab);
    }
    return id;
}

static struct gkv__device *start(const gkv_model *m, size_t n_tokens, size_t n_positions)
{
    struct gkv__device *d = NULL;
    gkv_error err = { 0 };
    char why[256];

    if (gkv__device_open(&d, m, device_name, budget, n_tokens, n_positions, why, &err) != GKV_OK ||
        gkv__device_ready(d, n_positions, &err) != GKV_OK)
        stop(err.text);
    return d;
}

/* ---- the same logits -------------------------------------------------------------------- */

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

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* Takes the first CUT slots of the last layer away: what methods of one pass leave is uneven. */
static void cut(const gkv_model *m, struct gkv__cache *c)
{
    struct gkv__cache_layer *l = &c->layer[m->shape.n_layer - 1];

    if (!l->k || m->shape.n_sharing)
        return;
    for (uint32_t ih = 0; ih < gkv__cache_heads(c, m->shape.n_layer - 1); ih++)
        gkv__cache_move(c, m->shape.n_layer - 1, ih, 0, CUT, n_prompt - CUT);
    l->shift = CUT;
}

/* Logits after the prompt and after each step: out[1 + N_STEPS][n_vocab].  If also is given: those of a device that
 * took the keys and values of the prompt over, which are cut for both. */
static void on_cpu(const gkv_model *m, const char *gemm, const uint32_t *id, float *out, float *also)
{
    struct gkv__device *d = also ? start(m, n_prompt, n_prompt + N_STEPS) : NULL;
    uint32_t best;

    const struct gkv__shape *s = &m->shape;
    struct gkv__exec e = { 0 };
    struct gkv__cache c = { 0 };
    float *x = malloc(s->n_embd * sizeof *x);
    gkv_error err = { 0 };

    if (!x || gkv__exec_open(&e, gkv__simd(), gkv__gemm_named(gemm), s, gkv__cores().cores, (uint32_t)n_prompt, &err) ||
        gkv__cache_open_for(&c, m, gkv__quant_named("f16"), s->n_layer, (uint32_t)n_prompt + N_STEPS, &err))
        stop(err.text);
    for (size_t i = 0; i <= N_STEPS; i++) {
        const size_t at = i ? n_prompt + i - 1 : 0, n = i ? 1 : n_prompt;

        if (gkv__forward(&(struct gkv__pass){ .e = &e, .m = m, .span = n_prompt + N_STEPS, .c = &c }, id + at,
                         n, at, x, &err))
            stop(err.text);
        gkv__logits(&e, m, x, 1, out + i * s->n_vocab);
        if (d && !i)
            cut(m, &c);
        if (d && (i ? gkv__device_forward(d, id + at, 1, at, 1, also + i * s->n_vocab, &best, &err)
                    : gkv__device_take(d, &c, n_prompt, N_STEPS, n_prompt + N_STEPS, &err)))
            stop(err.text);
    }
    gkv__device_close(d);
    gkv__cache_close(&c);
    gkv__exec_close(&e);
    free(x);
}

static void run(struct gkv__device *d, const uint32_t *id, size_t n, size_t pos, size_t rows, float *out, uint32_t *best)
{
    gkv_error err = { 0 };

    if (gkv__device_forward(d, id, n, pos, rows, out, best, &err) != GKV_OK)
        stop(err.text);
}

/* Runs the prompt in several blocks, so that later ones have earlier keys to attend to. */
static void run_prompt(struct gkv__device *d, const uint32_t *id, float *out, uint32_t *best)
{
    const size_t block = gkv__device_block(d);

    run(d, id, FIRST, 0, 0, NULL, NULL);
    for (size_t at = FIRST, n; at < n_prompt; at += n) {
        n = n_prompt - at < block ? n_prompt - at : block;
        run(d, id + at, n, at, at + n == n_prompt, out, best);
    }
}

/* What steps of several tokens give beside steps of one: the largest distance, and how many of n rows have the same bits. */
struct beside { double off; size_t same, n; };

/* Steps of `rows` tokens in the place of wrong ones; one by one they gave out[N_STEPS][n_vocab].  A state is made anew. */
static void run_rows(struct gkv__device *d, const gkv_model *m, const uint32_t *id, size_t rows, const float *out,
                     struct beside *b)
{
    const size_t n_vocab = m->shape.n_vocab;
    float *got = malloc(MOST_ROWS * n_vocab * sizeof *got);
    uint32_t best[MOST_ROWS];

    if (!got)
        stop("out of memory");
    if (gkv__has_states(m))
        run_prompt(d, id, got, best);
    else
        run(d, id, rows, n_prompt, rows, NULL, best);
    for (size_t i = 0, n; i < N_STEPS; i += n) {
        n = N_STEPS - i < rows ? N_STEPS - i : rows;
        memset(got, 0xff, MOST_ROWS * n_vocab * sizeof *got);
        run(d, id + n_prompt + i, n, n_prompt + i, n, got, best);
        for (size_t j = 0; j < n; j++) {
            const float *want = out + (i + j) * n_vocab, *row = got + j * n_vocab;

            if (best[j] != largest(row, n_vocab))
                stop("the best token of a row is not that of its logits");
            b->off = worse(b->off, distance(row, want, n_vocab));
            b->same += !memcmp(row, want, n_vocab * sizeof *row);
            b->n++;
        }
    }
    free(got);
}

static struct beside on_device(const gkv_model *m, const uint32_t *id, float *out, uint32_t *best)
{
    struct gkv__device *d = start(m, n_prompt, n_prompt + N_STEPS);
    const size_t n_vocab = m->shape.n_vocab;
    struct beside b = { 0 };

    run_prompt(d, id, out, best);
    for (size_t i = 1; i <= N_STEPS; i++)
        run(d, id + n_prompt + i - 1, 1, n_prompt + i - 1, 1, out + i * n_vocab, &best[i]);
    for (size_t rows = 2; rows <= MOST_ROWS; rows++)
        run_rows(d, m, id, rows, out + n_vocab, &b);
    gkv__device_close(d);
    return b;
}

static void compare(const gkv_model *m, const char *path)
{
    const size_t n_vocab = m->shape.n_vocab, n = (1 + N_STEPS) * n_vocab;
    uint32_t *id = some_ids(m, n_prompt + N_STEPS), best[1 + N_STEPS];
    float *exact = malloc(n * sizeof *exact), *own = malloc(n * sizeof *own), *got = malloc(n * sizeof *got);
    double steps = 0, own_steps = 0, taken = 0, prompt, own_prompt;
    struct beside rows;
    size_t same = 0;
    char took[16];

    if (!id || !exact || !own || !got)
        stop("out of memory");
    memset(got, 0xff, n * sizeof *got);
    on_cpu(m, "exact", id, exact, NULL);
    on_cpu(m, "own", id, own, NULL);
    rows = on_device(m, id, got, best);
    far_off |= !(rows.off < 5e-3);
    for (size_t i = 0; i <= N_STEPS; i++) {
        if (best[i] != largest(got + i * n_vocab, n_vocab))
            stop("the best token is not that of the logits");
        same += best[i] == largest(exact + i * n_vocab, n_vocab);
    }
    for (size_t i = 1; i <= N_STEPS; i++) {
        steps = worse(steps, distance(got + i * n_vocab, exact + i * n_vocab, n_vocab));
        own_steps = worse(own_steps, distance(own + i * n_vocab, exact + i * n_vocab, n_vocab));
    }
    prompt = distance(got, exact, n_vocab);
    own_prompt = distance(own, exact, n_vocab);
    memset(got, 0xff, n * sizeof *got);
    if (!gkv__has_states(m))                    /* methods of one pass refuse such models */
        on_cpu(m, "exact", id, exact, got);
    for (size_t i = 1; i <= N_STEPS && !gkv__has_states(m); i++)
        taken = worse(taken, distance(got + i * n_vocab, exact + i * n_vocab, n_vocab));
    snprintf(took, sizeof took, "%.2e", taken);
    if (gkv__has_states(m))
        strcpy(took, "-");
    printf("%-28s prompt %.2e (cpu %.2e)  steps %.2e (cpu %.2e)  taken over %s  best %zu of %d  "
           "rows %.2e, %zu of %zu the same bits  %s\n",
           strrchr(path, '/') ? strrchr(path, '/') + 1 : path, prompt, own_prompt, steps, own_steps, took, same,
           1 + N_STEPS, rows.off, rows.same, rows.n, m->types.all);
    fflush(stdout);
    free(id);
    free(exact);
    free(own);
    free(got);
}

/* ---- how fast --------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Multiply-adds of k tokens in all layers, and bytes that a decoding step after them reads. */
static double work_of(const gkv_model *m, size_t k)
{
    return m->shape.n_layer * gkv__layer_work(&m->shape, 0, k);
}

static double bytes_of(const gkv_model *m, size_t n)
{
    const struct gkv__shape *s = &m->shape;
    double sum = (double)gkv__mat_bytes(&m->output);

    for (uint32_t il = 0; il < s->n_layer; il++)
        sum += (double)gkv__model_layer_bytes(m, il);
    return sum + 4.0 * s->n_layer * s->n_head_kv * s->head_dim * (double)n;
}

/* Milliseconds of a step of 1, 2, ... tokens at position pos, again and again in the place of the one before. */
static void time_rows(struct gkv__device *d, const gkv_model *m, const uint32_t *id, size_t pos)
{
    double took[MOST_ROWS][ROUNDS];

    for (size_t r = 0; r < ROUNDS && !gkv__has_states(m); r++)
        for (size_t n = 1; n <= MOST_ROWS; n++) {
            const double t = gkv__seconds();
            uint32_t best[MOST_ROWS];

            for (size_t j = 0; j < N_TIMED / 4; j++)
                run(d, id, n, pos, n, NULL, best);
            took[n - 1][r] = (gkv__seconds() - t) / (N_TIMED / 4);
        }
    for (size_t n = 1; n <= MOST_ROWS && !gkv__has_states(m); n++) {
        double *t = took[n - 1];

        qsort(t, ROUNDS, sizeof *t, ascending);
        printf("%s rows%zu %.3f ms (%.3f - %.3f)%s", n > 1 ? "" : "   steps of one token and of more:", n, 1e3 * t[ROUNDS / 2],
               1e3 * t[0], 1e3 * t[ROUNDS - 1], n < MOST_ROWS ? "" : "\n");
    }
}

static void time_it(const gkv_model *m, const char *path, const size_t *k, size_t n_k)
{
    struct gkv__device_use use;

    for (size_t i = 0; i < n_k; i++) {
        struct gkv__device *d = start(m, k[i], k[i] + N_TIMED);
        uint32_t *id = some_ids(m, k[i]), best = 0;
        double prefill[ROUNDS], decode[ROUNDS];
        gkv_error err = { 0 };

        for (size_t r = 0; r < ROUNDS; r++) {
            double t = gkv__seconds();

            for (size_t at = 0; at < k[i]; at += gkv__device_block(d)) {
                const size_t left = k[i] - at, block = gkv__device_block(d);

                if (gkv__device_forward(d, id + at, left < block ? left : block, at, left <= block, NULL, &best, &err))
                    stop(err.text);
            }
            prefill[r] = gkv__seconds() - t;
            t = gkv__seconds();
            for (size_t j = 0; j < N_TIMED; j++)
                if (gkv__device_forward(d, &best, 1, k[i] + j, 1, NULL, &best, &err))
                    stop(err.text);
            decode[r] = (gkv__seconds() - t) / N_TIMED;
        }
        qsort(prefill, ROUNDS, sizeof *prefill, ascending);
        qsort(decode, ROUNDS, sizeof *decode, ascending);
        gkv__device_describe(d, &use);
        printf("%-16s k %5zu  prefill %8.2f ms (%.1f - %.1f) %6.1f TFLOP/s   decode %7.1f tokens/s "
               "(%.0f - %.0f) %7.1f GB/s   upload %.2f s, %u layers there, %.0f MiB\n",
               strrchr(path, '/') ? strrchr(path, '/') + 1 : path, k[i], 1e3 * prefill[ROUNDS / 2],
               1e3 * prefill[0], 1e3 * prefill[ROUNDS - 1], 2e-12 * work_of(m, k[i]) / prefill[ROUNDS / 2],
               1 / decode[ROUNDS / 2], 1 / decode[ROUNDS - 1], 1 / decode[0],
               1e-9 * bytes_of(m, k[i] + N_TIMED / 2) / decode[ROUNDS / 2], use.upload, use.n_resident,
               (double)use.bytes / (1 << 20));
        time_rows(d, m, id, k[i]);
        fflush(stdout);
        gkv__device_close(d);
        free(id);
    }
}

int main(int argc, char **argv)
{
    size_t k[MAX_K], n_k = 0;
    bool timing;
    int c;

    while ((c = getopt(argc, argv, "d:g:n:")) != -1)
        switch (c) {
        case 'd': device_name = optarg; break;
        case 'n': n_prompt = strtoul(optarg, NULL, 10); break;
        case 'g': budget = strtoull(optarg, NULL, 10); break;
        default:  return 2;
        }
    timing = optind < argc && !strcmp(argv[optind], "time");
    if (argc - optind < 2 + timing || n_prompt <= FIRST)
        stop("device [-d NAME] [-g BYTES] [-n TOKENS] compare MODEL... | time K[,K]... MODEL...");
    optind++;
    for (char *p = timing ? argv[optind++] : NULL; p && *p && n_k < MAX_K; p += *p == ',')
        k[n_k++] = strtoul(p, &p, 10);
    for (int i = optind; i < argc; i++) {
        gkv_model *m;
        gkv_error err = { 0 };

        if (gkv_model_open(&m, argv[i], 0, &err) != GKV_OK)
            stop(err.text);
        if (timing)
            time_it(m, argv[i], k, n_k);
        else
            compare(m, argv[i]);
        gkv_model_close(m);
    }
    if (far_off)
        fprintf(stderr, "device: rows of one step are far from steps of one\n");
    return far_off;
}
