/* SPDX-License-Identifier: BSD-2-Clause
 * unit-repack.c - weights that are packed once: products and answers are the same bytes as without, what is packed is used,
 * and the plan knows what it takes */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "src/base/mem.h"
#include "src/engine/gemm.h"
#include "src/engine/repack.h"
#include "src/model/repacked.h"
#include "src/session.h"
#include "tests/plugins.h"
#include "tests/rng.h"
#include "tests/tap.h"

/* 4352 inputs are more than one step of any form; 134 outputs are two items and a part. */
enum { MAX_IN = 4352, MAX_OUT = 134, MAX_ROWS = 1030, PIECES = 3 };

static gkv_error err;
static const char *const gemms[] = { "own", "coarse" };

static void bail(const char *what)
{
    printf("Bail out! %s: %s\n", what, err.text);
    exit(1);
}

/* ---- products --------------------------------------------------------------------------- */

static const struct gkv__shape shape = {
    .n_layer = 1, .n_embd = 256, .n_head = 1, .n_head_kv = 1, .head_dim = 64, .n_ff = 256, .n_vocab = 256, .n_rot = 64,
    .context = 64,
};
static float x[MAX_ROWS * 256], form[sizeof x / sizeof *x];     /* also 257 rows of 512 inputs, and 40 of MAX_IN */
static float want[MAX_ROWS * MAX_OUT], got[MAX_ROWS * MAX_OUT];

static float uniform(void)
{
    return (float)((int32_t)rng() / 0x1p31);
}

static void product(struct gkv__exec *e, const struct gkv__repacked *r, float *y, size_t rows, const struct gkv__mat *w, bool add)
{
    struct gkv__rows in = { x, rows, form, NULL };

    for (size_t i = 0; i < rows * w->n_out; i++)
        y[i] = (float)i;
    e->repacked = r;
    gkv__gemm(e, y, &in, w, add);
}

static struct gkv__exec open_exec(const char *gemm, unsigned threads)
{
    struct gkv__exec e = { 0 };

    if (gkv__exec_open(&e, gkv__simd(), gkv__gemm_named(gemm), &shape, threads, 64, &err))
        bail(gemm);
    return e;
}

/* As many rows as prefill has, and few; whether any product read what was packed. */
static void test_product(const char *gemm, const struct gkv__quant *q)
{
    static const struct { size_t out, in; } sizes[] = { { 1, 512 }, { 33, 256 }, { MAX_OUT, 512 }, { 70, MAX_IN } };
    static const size_t n_rows[] = { 2, 6, 31, 32, 40, 257, MAX_ROWS };
    struct gkv__exec one = open_exec(gemm, 1), three = open_exec(gemm, 3);
    bool same = true, other = false, packs = false;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct gkv__mat piece = { q, NULL, (uint32_t)sizes[s].out, (uint32_t)sizes[s].in };
        const size_t n = sizes[s].out * sizes[s].in, bytes = gkv__mat_bytes(&piece);
        float *f = malloc(n * sizeof *f);
        uint8_t *file = malloc(PIECES * bytes), *to;
        struct gkv__repacked_mat row = { .pieces = PIECES, .bytes = gkv__gemm_packed_bytes(one.gemm, one.simd, &piece) };
        struct gkv__repacked r = { .n = 1, .mat = &row };

        piece.data = file;
        row.one = piece;
        packs |= row.bytes;
        to = aligned_alloc(64, PIECES * row.bytes + 64);
        if (!f || !file || !to || row.bytes % 64)
            bail("memory");
        memset(to + PIECES * row.bytes, 77, 64);
        for (int p = 0; p < PIECES; p++) {
            for (size_t i = 0; i < n; i++)
                f[i] = uniform();
            q->from_f32(f, file + (size_t)p * bytes, n);
            piece.data = file + (size_t)p * bytes;
            if (row.bytes)
                gkv__gemm_pack(p ? &three : &one, &piece, to + (size_t)p * row.bytes);
        }
        if (row.bytes)
            atomic_store(&row.packed, to);
        for (size_t i = 0; i < 64; i++)
            same = same && to[PIECES * row.bytes + i] == 77;
        for (size_t i = 0; i < sizeof n_rows / sizeof *n_rows && n_rows[i] * piece.n_in <= sizeof x / sizeof *x; i++)
            for (int add = 0; add < 2; add++) {
                product(&one, NULL, want, n_rows[i], &piece, add);
                product(&three, &r, got, n_rows[i], &piece, add);
                same = same && !memcmp(want, got, n_rows[i] * piece.n_out * sizeof *want);
            }
        memcpy(file + (PIECES - 1) * bytes, file, bytes);       /* the file's are of no account now */
        product(&one, &r, got, 40, &piece, false);
        product(&one, NULL, want, 40, &piece, false);
        other |= memcmp(want, got, 40 * piece.n_out * sizeof *want);
        free(f);
        free(file);
        free(to);
    }
    ok(same, "%s, %s: the same bytes", gemm, q->name);
    ok(packs == (gkv__simd()->product[q->type].form || gkv__simd()->many[q->type].form) && other == packs, "... %s",
       packs ? "from what is packed" : "which nothing is packed for");
    gkv__exec_close(&one);
    gkv__exec_close(&three);
}

static void test_find(void)
{
    static uint8_t file[64 * 34], a[1], b[1];
    const struct gkv__quant *q = gkv__quant_named("q8_0");
    struct gkv__repacked_mat row[] = {
        { .one = { q, file + 4 * 34, 2, 32 }, .pieces = 1, .bytes = 64, .packed = a },
        { .one = { q, file + 8 * 34, 3, 32 }, .pieces = 4, .bytes = 128, .packed = b },
        { .one = { q, file + 30 * 34, 3, 32 }, .pieces = 1, .bytes = 64 },
    };
    const struct gkv__repacked r = { .n = 3, .mat = row }, none = { .n = 0 };
    static const struct { uint32_t at, n_out, n_in; int which; uint32_t offset; } look[] = {
        { 4, 2, 32, 1, 0 }, { 8, 3, 32, 2, 0 }, { 11, 3, 32, 2, 128 }, { 17, 3, 32, 2, 384 },
        { 0, 2, 32, 0, 0 }, { 4, 1, 32, 0, 0 }, { 9, 3, 32, 0, 0 }, { 20, 3, 32, 0, 0 }, { 8, 3, 64, 0, 0 }, { 30, 3, 32, 0, 0 },
        { 40, 3, 32, 0, 0 },
    };

    for (size_t i = 0; i < sizeof look / sizeof *look; i++) {
        const struct gkv__mat w = { q, file + look[i].at * 34, look[i].n_out, look[i].n_in };
        const uint8_t *is = look[i].which == 1 ? a : look[i].which == 2 ? b + look[i].offset : NULL;

        ok(gkv__repacked_find(&r, &w) == is && !gkv__repacked_find(&none, &w), "found: %u outputs at %u: %s", look[i].n_out,
           look[i].at, is ? "yes" : "no");
    }
}

/* Experts, and those whose gate and up are one matrix. */
static void test_pieces(void)
{
    static const uint8_t there[1];
    struct gkv__layer_weights w = { .window = 0 };
    const gkv_model m = { .shape.n_expert = 4, .layer = &w };
    const bool dense = gkv__model_pieces(&m, 0, 0) == 1 && gkv__model_pieces(&m, 0, 2) == 1;

    w.router.data = w.up.data = there;
    ok(dense && gkv__model_pieces(&m, 0, 0) == 4 && gkv__model_pieces(&m, 0, 1) == 4 && gkv__model_pieces(&m, 0, 2) == 4 &&
       gkv__model_pieces(&m, 0, 3) == 1, "each expert has its matrices");
    w.up.data = NULL;
    ok(gkv__model_pieces(&m, 0, 0) == 8 && gkv__model_pieces(&m, 0, 2) == 4 && gkv__model_pieces(&m, 0, 12) == 1,
       "... gate and up may be one");
    ok(gkv__model_matrix(&m, 0, 0) == &w.gate && gkv__model_matrix(&m, 0, 1) == &w.up && gkv__model_matrix(&m, 0, 2) == &w.down,
       "... and are the first of all");
}

/* ---- answers ---------------------------------------------------------------------------- */

/* mkmodel's options: experts, some of them beside an MLP, layers with a state, a short convolution. */
static const char *const models[] = {
    "--type=q8_0", "--type=bf16", "--type=q4_k_m --embd=256", "--type=q8_0 --arch=qwen3moe", "--type=q4_0 --arch=gpt-oss",
    "--type=q8_0 --arch=gemma4 --window=32 --experts=4 --used=2",
    "--type=q8_0 --arch=qwen35", "--type=q8_0 --arch=lfm2", "--type=f32",
};
static const char text[] =
    "Line 1: the cat and the hat sat on mat number 7. Line 2: the cat and the hat sat on mat number 8.\n"
    "Line 3: the cat and the hat sat on mat number 9. The key is in the box, which is under the third chair of the room.\n";
static const char question[] = "Which line is the cat in?";
static char dir[256], path[300], mkmodel[4200];

static gkv_model *make(const char *options)
{
    char command[5000];
    gkv_model *m = NULL;

    snprintf(command, sizeof command, "'%s' --ff=256 %s '%s'", mkmodel, options, path);
    if (system(command) || gkv_model_open(&m, path, 0, &err))
        bail(options);
    return m;
}

struct result { char answer[2048], warning[256], device[32]; size_t n, n_kept; gkv_stats st; };

/* A question, or a selection only. */
static gkv_status ask(gkv_model *m, const gkv_options *o, bool only, struct result *r)
{
    gkv_session *s = NULL;
    gkv_status status = gkv_session_open(&s, m, o, &err);
    const char *p;
    size_t n;

    memset(r, 0, sizeof *r);
    if (!status)
        status = gkv_feed(s, text, sizeof text - 1, &err);
    if (!status)
        status = (only ? gkv_select : gkv_ask)(s, question, sizeof question - 1, &err);
    if (!status) {
        const gkv_kept *k = gkv_session_kept(s, &r->n_kept);

        for (size_t i = 0; i < r->n_kept; i++) {
            memcpy(r->answer + r->n, &k[i].start, 8);
            memcpy(r->answer + r->n + 8, &k[i].score, 4);
            r->n += 12;
        }
        while (!only && (status = gkv_next(s, &p, &n, &err)) == GKV_OK && r->n + n < sizeof r->answer) {
            memcpy(r->answer + r->n, p, n);
            r->n += n;
        }
        status = status == GKV_END ? GKV_OK : status;
    }
    if (s)
        gkv_session_stats(s, &r->st);
    if (r->st.device)
        snprintf(r->device, sizeof r->device, "%s", r->st.device);
    if (r->st.warning)
        snprintf(r->warning, sizeof r->warning, "%s", r->st.warning);
    gkv_session_close(s);
    return status;
}

static bool same(const struct result *a, const struct result *b)
{
    return a->n == b->n && a->n_kept == b->n_kept && !memcmp(a->answer, b->answer, a->n);
}

static gkv_options options(const char *gemm)
{
    gkv_options o;

    gkv_options_init(&o);
    o.device = "cpu";
    o.gemm = gemm;
    o.keep = 100;
    o.max_tokens = 8;
    o.threads = 2;
    o.ignore_end = 1;
    return o;
}

static uint64_t all_bytes(const gkv_model *m, const char *gemm, uint32_t n)
{
    return gkv__repack_bytes(gkv__gemm_named(gemm), gkv__simd(), m, n);
}

/* Whether each expert's matrices are packed. */
static bool experts_packed(const gkv_model *m)
{
    const struct gkv__shape *s = &m->shape;
    bool all = true;

    for (uint32_t il = 0; il < s->n_layer; il++) {
        const struct gkv__layer_weights *w = &m->layer[il];

        for (uint32_t i = 0; w->router.data && i < s->n_expert; i++) {
            const struct gkv__mat gate = gkv__mat_rows(&w->gate, (w->up.data ? i : 2 * i + 1) * s->n_ff_expert, s->n_ff_expert),
                                  down = gkv__mat_rows(&w->down, i * s->n_embd, s->n_embd);

            all = all && gkv__repacked_find(m->store->first, &gate) && gkv__repacked_find(m->store->first, &down);
        }
    }
    return all;
}

static bool is_near(uint64_t a, uint64_t b)
{
    return a >= b && a - b <= 64 << 10;
}

/* Whether *o with repack is predicted to need so many bytes more for reading, and for answering, than without.  What is
 * resident counts, too, and grows: with a sanitizer by some pages for each file that was opened. */
static bool foreseen(gkv_model *m, gkv_options o, uint64_t first, uint64_t second)
{
    uint64_t need[2][2];

    for (int i = 0; i < 4; i++) {
        o.repack = i % 2;
        if (gkv_memory_needed_each(m, &o, 400, &need[i % 2][0], &need[i % 2][1], &err))
            bail("memory needed");
    }
    return is_near(need[1][0], need[0][0] + first) && is_near(need[1][1], need[0][1] + second);
}

static void test_model(const char *options_of, const char *gemm)
{
    gkv_model *m = make(options_of);
    gkv_options o = options(gemm);
    struct result plain, first, again;
    const uint64_t all = all_bytes(m, gemm, m->shape.n_layer), early = all_bytes(m, gemm, m->filter_layer + 1);

    if (ask(m, &o, false, &plain))
        bail("an answer without");
    ok(!plain.st.memory_packed && (early > 0) == (all > 0) && early <= all, "%s, %s: nothing is packed unless asked for",
       options_of, gemm);
    ok(foreseen(m, o, all, 0), "... %llu bytes are foreseen", (unsigned long long)all);
    o.repack = 1;
    ok(!ask(m, &o, true, &first) && first.st.memory_packed == early, "... a selection packs early layers");
    ok(!ask(m, &o, false, &first) && first.st.memory_packed == all && same(&plain, &first), "... an answer all; it is the same");
    ok(!all_bytes(m, gemm, m->shape.n_layer) && (!all || experts_packed(m)), "... and no more is to be packed");
    o.threads = 1;
    ok(!ask(m, &o, false, &again) && again.st.memory_packed == all && same(&plain, &again), "... again, with one thread");
    o.repack = 0;
    ok(!ask(m, &o, false, &again) && again.st.memory_packed == all && same(&plain, &again), "... who does not ask for it has it");
    gkv_model_close(m);
}

/* Memory decides, and a second model has its own. */
static void test_limit(void)
{
    gkv_model *m = make("--type=q8_0 --layers=12 --embd=512"), *reader;
    gkv_options o = options("own");
    struct result plain, r, other;
    const uint64_t all = all_bytes(m, "own", m->shape.n_layer);
    uint64_t early, packed;

    if (ask(m, &o, false, &plain))
        bail("an answer");
    o.gemm = "coarse";
    if (ask(m, &o, false, &other))
        bail("an answer by coarse");
    o.gemm = "own";
    o.repack = 1;
    o.memory_limit = plain.st.memory_predicted + all / 2;
    ok(!ask(m, &o, false, &r) && !r.st.memory_packed && same(&plain, &r), "no memory for it: the same answer without");
    ok(!all || strstr(r.warning, "--memory"), "... and a warning: %s", r.warning);
    o.memory_limit = plain.st.memory_predicted + 4 * all;
    ok(!ask(m, &o, false, &r) && r.st.memory_packed == all && !*r.warning, "enough");
    ok(!all || r.st.memory_predicted >= plain.st.memory_predicted + all / 2, "... and the prediction has it");
    o.memory_limit = 0;
    o.gemm = "coarse";
    ok(!ask(m, &o, false, &r) && same(&other, &r) && r.st.memory_packed >= all, "coarse has its own");
    packed = r.st.memory_packed;
    o.gemm = "exact";
    ok(!ask(m, &o, false, &r) && r.st.memory_packed == packed && !*r.warning, "nothing is packed for exact");
    o.gemm = "own";
    unlink(path);                       /* the first model's, which is open: writing it would change it */
    reader = make("--type=q8_0 --layers=12 --embd=512");
    early = all_bytes(reader, "own", reader->filter_layer + 1);
    o.reader = reader;
    o.snap = "word";
    o.keep = 60;
    ok(foreseen(m, o, early, early),
       "two models: what the reader packs is foreseen for both, and the other's is there");
    o.repack = 0;
    if (ask(m, &o, false, &plain))
        bail("an answer with a reader");
    ok(plain.st.reader && plain.st.memory_packed == packed, "a reader has no part in it");
    o.repack = 1;
    ok(!ask(m, &o, false, &r) && r.st.memory_packed == packed + early && same(&plain, &r), "... unless asked for: its early layers");
    ok(r.st.predicted_answerer >= plain.st.predicted_answerer + early / 2, "... which the answer's memory has");
    gkv_model_close(reader);
    gkv_model_close(m);
}

/* What a device computes is not packed. */
static void test_device(void)
{
    gkv_model *m = make("--type=q8_0"), *reader;
    gkv_options o = options("own");
    struct result r;
    uint64_t early = all_bytes(m, "own", m->filter_layer + 1);

    if (!null_device()) {
        ok(1, "device # SKIP no plugins in this build");
        gkv_model_close(m);
        return;
    }
    o.device = "null";
    o.repack = 1;
    ok(!ask(m, &o, false, &r) && !strcmp(r.device, "null:0") && r.st.memory_packed == early,
       "a device computes the second pass: early layers are packed");
    unlink(path);
    reader = make("--type=q8_0 --layers=6");
    early += all_bytes(reader, "own", reader->filter_layer + 1);
    o.reader = reader;
    o.keep = 60;
    ok(!ask(m, &o, false, &r) && r.st.memory_packed == early, "... with a reader: those of it, and no more of the other's");
    gkv_model_close(reader);
    gkv_model_close(m);
}

/* Packing is cancelled as everything is; and the system refuses memory. */
static void test_cancelled(void)
{
    gkv_model *m = make("--type=q8_0");
    struct gkv__exec e = { 0 };
    atomic_bool cancel = true;
    const bool packs = all_bytes(m, "own", 1);
    const void *pages;

    if (gkv__exec_open(&e, gkv__simd(), gkv__gemm_named("own"), &m->shape, 1, 64, &err))
        bail("room");
    e.cancel = &cancel;
    ok(gkv__repack(&e, m, m->shape.n_layer, &err) == GKV_CANCELLED && !gkv__repack_size(m), "cancelled: %s", err.text);
    cancel = false;
    ok(!gkv__repack(&e, m, 1, &err) && (gkv__repack_size(m) > 0) == packs, "... and later not");
    pages = m->store->first->layer[0].pages;
    ok(!gkv__repack(&e, m, 1, &err) && m->store->first->layer[0].pages == pages && !m->store->first->next,
       "... what is packed is not packed again");
#ifndef __SANITIZE_ADDRESS__            /* which needs address space itself */
    {
        struct rlimit had, now;
        const uint64_t before = gkv__repack_size(m);
        gkv_status status;

        getrlimit(RLIMIT_AS, &had);
        now = had;
        now.rlim_cur = 1 << 20;
        setrlimit(RLIMIT_AS, &now);
        status = gkv__repack(&e, m, 2, &err);
        setrlimit(RLIMIT_AS, &had);
        ok(!packs || (status == GKV_NOMEM && gkv__repack_size(m) == before), "the system refuses: %s", err.text);
        ok(!gkv__repack(&e, m, 2, &err) && (gkv__repack_size(m) > before) == packs, "... and then does not");
    }
#endif
    gkv__exec_close(&e);
    gkv_model_close(m);
}

int main(void)
{
    static const enum gkv__type types[] = {
        GKV__TYPE_F32, GKV__TYPE_BF16, GKV__TYPE_Q8_0, GKV__TYPE_Q4_0, GKV__TYPE_Q4_K, GKV__TYPE_Q6_K, GKV__TYPE_IQ4_NL,
    };
    const char *build = getenv("builddir") ? getenv("builddir") : ".";

    if (getenv("MKMODEL"))
        snprintf(mkmodel, sizeof mkmodel, "%s", getenv("MKMODEL"));
    else
        snprintf(mkmodel, sizeof mkmodel, "%s/tests/mkmodel", build);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = uniform();
    for (size_t g = 0; g < sizeof gemms / sizeof *gemms; g++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            test_product(gemms[g], gkv__quant_of(types[t]));
    test_find();
    test_pieces();
    if (BIG_ENDIAN_HOST)
        return done();
    snprintf(dir, sizeof dir, "%s/unit-repack.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir))
        bail(dir);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        test_model(models[i], gemms[i % 2]);
    test_limit();
    unlink(path);
    test_device();
    unlink(path);
    test_cancelled();
    unlink(path);
    rmdir(dir);
    return done();
}
