/* SPDX-License-Identifier: BSD-2-Clause
 * unit-session.c - many questions about a document: each answer equals that of a session of its own, for any
 * earlier questions, any number of sessions, and with or without work kept from earlier questions. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/session.h"
#include "tests/plugins.h"
#include "tests/tap.h"

enum { BYTES = 900, MAX_ANSWER = 256, MAX_KEPT = 256, CHUNK = 64 };

static const char *const questions[] = { "Where is the key?", "Who?", "And what became of the other one then?" };
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

static gkv_error err;
static char text[BYTES];

struct answer {
    char     text[MAX_ANSWER], finish[8];
    size_t   len, n_kept;
    uint64_t start[MAX_KEPT], end[MAX_KEPT];
    uint64_t tokens, prompt;
};

static gkv_model *model_named(const char *name)
{
    gkv_model *m = NULL;
    char       path[512];

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

static const char *attention;           /* of the options */

static gkv_options options(const char *method, const char *schedule)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.schedule = schedule;
    o.attention = attention;
    o.device = "cpu";
    o.keep = 100;
    o.max_tokens = 12;
    o.threads = 2;
    o.chunk = CHUNK;
    o.ignore_end = 1;
    return o;
}

static gkv_status ask(gkv_session *s, const char *question, struct answer *a)
{
    gkv_status status = gkv_ask(s, question, strlen(question), &err);
    gkv_stats stats;
    const gkv_kept *kept;
    const char *piece;
    size_t n;

    memset(a, 0, sizeof *a);
    while (!status && !(status = gkv_next(s, &piece, &n, &err)))
        if (a->len + n <= MAX_ANSWER) {
            memcpy(a->text + a->len, piece, n);
            a->len += n;
        }
    if (status != GKV_END)
        return status;
    kept = gkv_session_kept(s, &a->n_kept);
    for (size_t i = 0; i < a->n_kept && i < MAX_KEPT; i++) {
        a->start[i] = kept[i].start;
        a->end[i] = kept[i].end;
    }
    gkv_session_stats(s, &stats);
    snprintf(a->finish, sizeof a->finish, "%s", stats.finish);
    a->tokens = stats.tokens_answer;
    a->prompt = stats.tokens_prompt;
    return GKV_OK;
}

/* The answer of a session that is asked nothing else. */
static struct answer alone(gkv_model *m, const gkv_options *o, const char *question)
{
    struct answer a = { .len = 0 };
    gkv_session *s = NULL;

    if (gkv_session_open(&s, m, o, &err) || gkv_feed(s, text, BYTES, &err) || ask(s, question, &a))
        printf("# %s\n", err.text);
    gkv_session_close(s);
    return a;
}

static bool same(const struct answer *a, const struct answer *b)
{
    return a->tokens && !memcmp(a, b, sizeof *a);
}

/* Three questions to one session with its own document. */
static void test_three(gkv_model *m, const char *method, const char *schedule)
{
    const gkv_options o = options(method, schedule);
    gkv_session *s = NULL;
    size_t good = 0;

    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err))
        printf("# %s\n", err.text);
    for (size_t i = 0; i < 2 * N_QUESTIONS; i++) {
        const char *q = questions[i % N_QUESTIONS];
        const struct answer want = alone(m, &o, q);
        struct answer have;

        good += ask(s, q, &have) == GKV_OK && same(&want, &have);
    }
    ok(good == 2 * N_QUESTIONS, "%s %s: six questions, each as if asked alone (%zu)", method,
       schedule ? schedule : "", good);
    if (!schedule && !strcmp(method, "gemfilter"))
        ok(s->early.n > 0, "from the second question on, the document's part of the first pass is kept");
    if (!strcmp(method, "full"))
        ok(s->decode.n_reused >= CHUNK, "from the second question on, the prompt's beginning is kept");
    ok(gkv_feed(s, "x", 1, &err) == GKV_INVALID && gkv_feed_end(s, &err) == GKV_INVALID &&
       gkv_ask(s, questions[0], strlen(questions[0]), &err) == GKV_OK, "%s: no more text, but more questions", method);
    gkv_session_close(s);
}

/* Two sessions take turns on one document. */
static void test_shared(gkv_model *m, const char *schedule, bool reuses)
{
    const gkv_options o = options("gemfilter", schedule);
    gkv_document *d = NULL;
    gkv_session *s[2] = { NULL, NULL };
    size_t good = 0, kept = 0;
    struct answer a, want;

    if (gkv_document_open(&d, m, &o, &err) || gkv_document_feed(d, text, BYTES, &err) ||
        gkv_session_of(&s[0], d, &o, &err) || gkv_session_of(&s[1], d, &o, &err))
        printf("# %s\n", err.text);
    for (size_t i = 0; i < 2 * N_QUESTIONS; i++) {
        want = alone(m, &o, questions[i / 2]);
        good += ask(s[i % 2], questions[i / 2], &a) == GKV_OK && same(&want, &a);
        kept += s[i % 2]->early.n > 0;
    }
    ok(good == 2 * N_QUESTIONS, "%s: two sessions on one document, three questions each (%zu)",
       schedule ? schedule : "auto", good);
    ok(reuses ? kept == 2 * N_QUESTIONS : !kept, "%s: %s is kept for the next question",
       schedule ? schedule : "auto", reuses ? "the document's part" : "nothing");
    if (reuses) {               /* what is kept is used, not computed again */
        struct gkv__early *e = &s[0]->early;

        ok(e->n % CHUNK == 0 && e->n + CHUNK > gkv_document_tokens(d), "all whole chunks of it: %u tokens",
           (unsigned)e->n);
        for (size_t i = 0; i < e->n / 2 * e->cache.n_head_kv * e->cache.head_dim; i++)
            e->keys[i] = 0;
        ok(ask(s[0], questions[2], &a) == GKV_OK && !same(&want, &a), "without its keys the answer is another");
    }
    gkv_session_close(s[0]);
    gkv_session_close(s[1]);
    gkv_document_close(d);
}

/* Methods without a first pass: what the prompts begin with goes through the model once. */
static void test_prefix(gkv_model *m, const char *method)
{
    gkv_options o = options(method, NULL);
    gkv_document *d = NULL;
    gkv_session *s = NULL;
    size_t good = 0, used = 0;
    struct answer a, want;

    o.keep = 300;
    if (gkv_document_open(&d, m, &o, &err) || gkv_document_feed(d, text, BYTES, &err) ||
        gkv_session_of(&s, d, &o, &err))
        printf("# %s\n", err.text);
    for (size_t i = 0; i < 2 * N_QUESTIONS; i++) {
        want = alone(m, &o, questions[i / 2]);
        good += ask(s, questions[i / 2], &a) == GKV_OK && same(&want, &a);
        used += i && s->decode.n_reused >= CHUNK && s->decode.n_reused % CHUNK == 0;
    }
    ok(good == 2 * N_QUESTIONS && used == good - 1, "%s: the prompt's beginning stays for the next question (%zu, %zu)",
       method, good, used);
    gkv__decode_end(&s->decode);
    for (uint32_t il = 0; il < s->prefix.cache.n_layer; il++)
        memset(gkv__cache_v(&s->prefix.cache, il, 0, 0), 0, gkv__cache_size(&s->prefix.cache) /
               s->prefix.cache.n_layer / 2);
    ok(ask(s, questions[2], &a) == GKV_OK && !same(&want, &a), "... without its values the answer is another");
    ok(gkv_select(s, questions[0], strlen(questions[0]), &err) == GKV_OK && !s->prefix.cache.layer,
       "... a selection drops it");
    gkv_cancel(s);
    ok(ask(s, questions[2], &a) == GKV_CANCELLED && ask(s, questions[2], &a) == GKV_OK && same(&want, &a),
       "... a question after one that was cancelled");
    gkv_session_close(s);
    gkv_document_close(d);
}

/* If a longer question leaves no room for what was kept, that is dropped, and the answer is the same. */
static void test_no_room(gkv_model *m)
{
    const gkv_options o = options("gemfilter", NULL);
    const struct answer want = alone(m, &o, questions[2]);
    gkv_document *d = NULL;
    gkv_session *s = NULL;
    struct answer a;

    if (gkv_document_open(&d, m, &o, &err) || gkv_document_feed(d, text, BYTES, &err) ||
        gkv_session_of(&s, d, &o, &err) || ask(s, questions[0], &a))
        printf("# %s\n", err.text);
    ok(s->early.n && !strcmp(s->plan.task.schedule->name, "chunk"), "with room: schedule chunk, and it is kept");
    s->plan.limit = s->plan.predicted - gkv__early_size(&s->early) / 2;
    ok(ask(s, questions[2], &a) == GKV_OK && same(&want, &a), "without: the same answer");
    ok(!strcmp(s->plan.task.schedule->name, "layer") && !s->early.touched && !s->early.keys,
       "... by schedule %s, and nothing is kept", s->plan.task.schedule->name);
    gkv_session_close(s);
    gkv_document_close(d);
}

/* A document that could not be fed completely cannot be asked about, by any session. */
static void test_unfed(gkv_model *m)
{
    gkv_options o = options("gemfilter", NULL);
    gkv_document *d = NULL;
    gkv_session *s = NULL;

    ok(gkv_document_open(&d, m, &o, &err) == GKV_OK && gkv_document_feed(d, text, BYTES, &err) == GKV_OK &&
       gkv_document_feed(d, "\377", 1, &err) == GKV_DOCUMENT &&
       gkv_document_feed(d, "x", 1, &err) == GKV_INVALID && gkv_session_of(&s, d, &o, &err) == GKV_INVALID && !s,
       "a document with a part that is no text: %s", err.text);
    gkv_document_close(d);
    ok(gkv_session_open(&s, m, &o, &err) == GKV_OK, "a session");
    gkv_cancel(s);
    ok(gkv_feed(s, text, BYTES, &err) == GKV_CANCELLED &&
       gkv_ask(s, questions[0], strlen(questions[0]), &err) == GKV_INVALID, "... cancelled while it is fed: %s", err.text);
    gkv_session_close(s);
    ok(gkv_session_open(&s, m, &o, &err) == GKV_OK &&
       gkv_ask(s, questions[0], strlen(questions[0]), &err) == GKV_DOCUMENT, "no text: %s", err.text);
    gkv_session_close(s);
}

/* Alternates questions and selections on a device, which is this processor (gpu/null). */
static void test_device(gkv_model *m)
{
    gkv_options o = options("gemfilter", NULL);
    gkv_session *s = NULL;
    struct answer a, first;
    gkv_stats st;
    size_t good = 0;

    if (!null_device()) {
        ok(1, "device # SKIP no plugins in this build");
        return;
    }
    o.device = "null";
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err) ||
        gkv_select(s, questions[0], strlen(questions[0]), &err) || ask(s, questions[0], &first))
        printf("# %s\n", err.text);
    for (size_t i = 1; i < 2 * N_QUESTIONS + 1; i++) {
        good += ask(s, questions[i % N_QUESTIONS], &a) == GKV_OK && a.tokens && (i % N_QUESTIONS || same(&first, &a));
        gkv_session_stats(s, &st);
        good += !strcmp(st.device, "null:0");
    }
    ok(good == 4 * N_QUESTIONS, "a device answers again and again, after a selection too (%zu, on %s)", good, st.device);
    gkv_session_close(s);
}

static size_t slurp_file(const char *path, char *buf, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(buf, 1, cap, f) : 0;

    if (f)
        fclose(f);
    return n;
}

static bool spit(const char *path, const char *buf, size_t n)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(buf, 1, n, f) == n;

    return f && !fclose(f) && good;
}

/* Saves, loads and asks a document; then changes every byte of the file, and truncates it to every length. */
static void test_saved(gkv_model *m)
{
    static const char path[] = "unit-session.doc";
    static char buf[32768];
    const gkv_options o = options("gemfilter", NULL);
    gkv_options other = o;
    const struct answer want = alone(m, &o, questions[0]);
    gkv_document *d = NULL, *back = NULL;
    gkv_session *s = NULL;
    struct answer a;
    size_t n, caught = 0;

    if (gkv_document_open(&d, m, &o, &err) || gkv_document_feed(d, text, BYTES, &err))
        printf("# %s\n", err.text);
    ok(gkv_document_save(d, path, &err) == GKV_OK && gkv_document_load(&back, m, &o, path, &err) == GKV_OK,
       "saved and loaded");
    ok(gkv_session_of(&s, back, &o, &err) == GKV_OK && ask(s, questions[0], &a) == GKV_OK && same(&want, &a),
       "the same answer");
    gkv_session_close(s);
    gkv_document_close(back);
    n = slurp_file(path, buf, sizeof buf);
    for (size_t i = 0; i < n; i++) {
        buf[i] = (char)(buf[i] ^ 0x41);
        caught += spit(path, buf, n) && gkv_document_load(&back, m, &o, path, &err) == GKV_FORMAT && !back;
        buf[i] = (char)(buf[i] ^ 0x41);
    }
    ok(n && caught == n, "%zu of %zu damaged files are refused", caught, n);
    caught = 0;
    for (size_t i = 0; i < n; i += 97)
        caught += spit(path, buf, i) && gkv_document_load(&back, m, &o, path, &err) == GKV_FORMAT;
    ok(caught == (n + 96) / 97, "%zu files that end early are refused", caught);
    other.chat_template = "chatml";
    ok(spit(path, buf, n) && gkv_document_load(&back, m, &other, path, &err) == GKV_FORMAT,
       "another template: %s", err.text);
    ok(gkv_document_save(d, "/nowhere/document", &err) == GKV_IO, "%s", err.text);
    remove(path);
    gkv_document_close(d);
}

/* After a question that failed, a session can be asked again. */
static void test_after_failure(gkv_model *m)
{
    const gkv_options o = options("gemfilter", NULL);
    const struct answer want = alone(m, &o, questions[0]);
    gkv_session *s = NULL;
    struct answer a;
    char long_question[200];
    const char *piece;
    size_t n;
    gkv_layer_probe probe[16];
    gkv_stats st;

    memset(long_question, 'q', sizeof long_question - 1);
    long_question[sizeof long_question - 1] = 0;
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err))
        printf("# %s\n", err.text);
    ok(ask(s, long_question, &a) == GKV_INVALID, "a question longer than the budget");
    ok(ask(s, questions[0], &a) == GKV_OK && same(&want, &a), "... and one after it");
    gkv_cancel(s);
    ok(ask(s, questions[1], &a) == GKV_CANCELLED, "a question that is cancelled");
    ok(ask(s, questions[0], &a) == GKV_OK && same(&want, &a), "... and one after it");
    ok(gkv_select(s, questions[0], strlen(questions[0]), &err) == GKV_OK, "a selection");
    ok(gkv_next(s, &piece, &n, &err) == GKV_INVALID, "... gives no answer");
    gkv_session_stats(s, &st);
    ok(st.tokens_kept == 100 && st.tokens_answer == 0, "... has no answer");
    ok(ask(s, questions[0], &a) == GKV_OK && same(&want, &a), "... and a question after it");
    ok(gkv_ask(s, questions[0], strlen(questions[0]), &err) == GKV_OK &&
       gkv_probe(s, questions[0], strlen(questions[0]), 0, 50, 0, probe, &err) == GKV_OK &&
       gkv_next(s, &piece, &n, &err) == GKV_INVALID, "a probe ends the answer before it");
    gkv_session_close(s);
}

/* Share of bytes start .. end that the tokens kept at that layer cover. */
static double covered(gkv_model *m, gkv_options o, int32_t layer, uint64_t start, uint64_t end)
{
    gkv_session *s = NULL;
    const gkv_kept *kept;
    size_t n = 0, inside = 0;

    o.layer = layer;
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err) ||
        gkv_select(s, questions[0], strlen(questions[0]), &err))
        printf("# %s\n", err.text);
    kept = gkv_session_kept(s, &n);
    for (size_t i = 0; i < n; i++)
        for (uint64_t at = kept[i].start; at < kept[i].end; at++)
            inside += at >= start && at < end;
    gkv_session_close(s);
    return (double)inside / (double)(end - start);
}

/* Each layer is probed with the RoPE table that a selection there uses: longrope's long one, since the
 * prompt is longer than 256 tokens. */
static void test_probe(void)
{
    enum { START = 300, END = 420, LAYERS = 4 };
    gkv_options o = options("gemfilter", "layer");
    gkv_model *m = model_named("phi3");
    gkv_layer_probe probe[LAYERS];
    gkv_session *s = NULL;
    size_t good = 0;

    o.keep_first = o.keep_last = 0;
    o.gemm = "exact";
    o.keep = 200;
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err) ||
        gkv_probe(s, questions[0], strlen(questions[0]), START, END, 0, probe, &err))
        printf("# %s\n", err.text);
    for (int32_t il = 0; il < LAYERS; il++) {
        const double want = covered(m, o, il, START, END);

        good += fabs(probe[il].covered - want) < 1e-9;
        printf("# layer %d: probed %g, selected %g\n", (int)il, probe[il].covered, want);
    }
    ok(good == LAYERS, "longrope beyond its first context: probed as selected");
    gkv_session_close(s);
    gkv_model_close(m);
}

/* FINCH's RoPE table is chosen by what needs most positions: a step (what is held, a chunk, the question behind it), or
 * the answer.  phi3 has two: the long one is for passes of more positions than its first context. */
static void test_finch_span(const char *method, size_t step)
{
    const gkv_options o = options(method, NULL);
    gkv_model *m = model_named("phi3");
    struct gkv__rope short_one;
    struct answer far, near, have;
    gkv_session *s = NULL;
    uint64_t most, answer;
    size_t all, to, tail;

    short_one = m->rope[GKV__ROPE_ALL];
    m->rope_context = UINT32_MAX;
    near = alone(m, &o, questions[0]);
    m->rope[GKV__ROPE_ALL] = m->rope[GKV__ROPE_LONG];           /* whatever the number of positions */
    far = alone(m, &o, questions[0]);
    m->rope[GKV__ROPE_ALL] = short_one;
    ok(far.tokens && near.tokens && !same(&far, &near), "%s: longrope's tables give two answers", method);
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, text, BYTES, &err) || ask(s, questions[0], &have))
        printf("# %s\n", err.text);
    tail = s->plan.task.n_tail;
    all = (size_t)s->plan.task.n - tail;
    to = (size_t)s->plan.task.k - tail;
    answer = most = to + tail + s->plan.task.n_new;
    for (size_t at = 0; at < all; at += step) {
        const size_t n = all - at < step ? all - at : step, rows = to * at / all + n + (tail < CHUNK ? tail : CHUNK);

        most = rows > most ? rows : most;
    }
    ok(all > 2 * step && (most > answer) == (step > CHUNK), "... most positions are those of %s",
       most > answer ? "a step" : "the answer");
    gkv_session_close(s);
    m->rope_context = (uint32_t)most - 1;
    have = alone(m, &o, questions[0]);
    ok(same(&far, &have), "... %" PRIu64 " positions are beyond %" PRIu64, most, most - 1);
    m->rope_context = (uint32_t)most;
    have = alone(m, &o, questions[0]);
    ok(same(&near, &have), "... and not beyond as many");
    gkv_model_close(m);
}

/* A caller of another version has a shorter struct, or a longer one. */
static void test_sizes(gkv_model *m)
{
    struct { gkv_stats known; uint64_t more[4]; } later;
    gkv_options o = options("gemfilter", NULL), unset = { .keep = 1 };
    gkv_session *s = NULL;
    char version[32];

    snprintf(version, sizeof version, "%d.%d.%d", GKV_VERSION_MAJOR, GKV_VERSION_MINOR, GKV_VERSION_PATCH);
    ok(!strcmp(version, gkv_version()), "the header is of version %s", version);
    ok(gkv_session_open(&s, m, &unset, &err) == GKV_INVALID && !s, "options that were not initialised");
    o.size = offsetof(gkv_options, seed);
    o.seed = 99;
    ok(gkv_session_open(&s, m, &o, &err) == GKV_OK && s->opt.keep == o.keep && !s->opt.seed,
       "options of an earlier version");
    memset(&later, 0xff, sizeof later);
    later.known.total = -1;
    gkv_session_stats_size(s, &later.known, offsetof(gkv_stats, total));
    ok(!later.known.tokens_prompt, "statistics of an earlier version");
    ok(later.known.total == -1 && later.more[0] == UINT64_MAX, "... nothing is written behind them");
    gkv_session_stats_size(s, &later.known, sizeof later);
    ok(later.known.total >= 0 && !later.more[0] && !later.more[3], "of a later one: what is not known is 0");
    gkv_session_close(s);
}

int main(void)
{
    static const char *const methods[] = {
        "gemfilter", "full", "truncate", "gemfilter-onerun", "snapkv:window=8", "h2o:recent=8,evict=step",
        "streamingllm", "streamingllm-online", "fastkv", "asl-2pass:window=8,lobs=2", "finch:chunk=200",
    };
    gkv_model *m;

    if (BIG_ENDIAN_HOST)
        return skip_all("models are refused here");
    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)(i % 7 == 6 ? ' ' : 'a' + i * i / 7 % 26);
    m = model_named("llama3");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        test_three(m, methods[i], NULL);
    test_three(m, "gemfilter", "chunk");
    test_three(m, "gemfilter", "stream:budget=128,recent=16");
    test_shared(m, "chunk", true);
    test_shared(m, NULL, true);
    test_shared(m, "layer", false);
    attention = "sparse:threshold=0.5";         /* what is kept does not depend on the question either */
    test_three(m, "gemfilter", NULL);
    test_shared(m, "chunk", true);
    attention = NULL;
    test_after_failure(m);
    test_probe();
    test_finch_span("finch:chunk=100", 100);
    test_finch_span("finch:chunk=8", 8);
    test_sizes(m);
    test_saved(m);
    test_no_room(m);
    test_prefix(m, "full");
    test_prefix(m, "truncate");
    test_unfed(m);
    test_device(m);
    gkv_model_close(m);
    return done();
}
