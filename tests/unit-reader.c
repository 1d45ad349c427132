/* SPDX-License-Identifier: BSD-2-Clause
 * unit-reader.c - one model reads, another answers: pieces of text are whole characters, words or sentences; the budget
 * holds in the tokens of the model that answers; and the answer is that of this model to that text. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/base/snap.h"
#include "src/base/unicode.h"
#include "src/session.h"
#include "tests/rng.h"
#include "tests/tap.h"
#include "tests/marked.h"

enum { MOST = 8192 };

static gkv_error err;

/* Chinese, Arabic, emoji of several code points, accents that combine, code. */
static const char mixed[] =
    "def größe(x):\n    return x['größe'] + 3.14  # naïve\n\n\n"
    "长江是亚洲第一长河。它的源头在青藏高原，流经十一个省市。钥匙在红色的盒子里！\n"
    "اللغة العربية جميلة جدا. أين المفتاح؟ المفتاح في الصندوق الأحمر.\n"
    "The family \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 waves \xf0\x9f\x91\x8b\xf0\x9f\x8f\xbd "
    "under \xf0\x9f\x87\xa9\xf0\x9f\x87\xaa and e\xcc\x81t\xc3\xa9. The key is in box 1,204. Nobody knows why.\n"
    "for (int i = 0; i < n_tokens; i++)\n\tsum += weight[i] * x[i];\n";

static char *srcdir(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", getenv("srcdir") ? getenv("srcdir") : ".", name);
    return path;
}

static gkv_model *model_named(const char *name)
{
    gkv_model *m = NULL;

    if (gkv_model_open(&m, srcdir(name), 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

/* ---- pieces ----------------------------------------------------------------------------- */

/* The text with [ ] around a range; want: with [ ] around its words. */
static void rounds(const char *marked, const char *want)
{
    char   text[512];
    size_t start = 0, end = 0;
    const size_t n = unmark(marked, text, &start, &end);
    const struct gkv__range s = gkv__snap(text, n, GKV__SNAP_WORD, (struct gkv__range){ start, end });

    is_marked(text, n, s.start, s.end, want);
}

static void words(void)
{
    rounds("the dr[aw]er", "the [drawer]");
    rounds("the[ dr]aw[er]", "the [drawer]");
    rounds("a[ ]b", "a[] b");
    rounds("one[ two thr]ee four", "one [two three] four");
    rounds("don[']t", "[don't]");
    rounds("box 1,[2]04.", "box [1,204].");
    rounds("x = n_tok[en]s;", "x = [n_tokens];");
    rounds("f[(]x)", "f[(]x)");
    rounds("长[江]是", "长[江]是");
    rounds("ال[مف]تاح في", "[المفتاح] في");
    rounds("e\xcc[\x81]t\xc3\xa9 x", "[e\xcc\x81t\xc3\xa9] x");
    rounds("a \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0[\x9f]\x91\xa7.", "a [\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7].");
    rounds("\xf0\x9f\x91\x8b\xf0\x9f[\x8f\xbd] x", "[\xf0\x9f\x91\x8b\xf0\x9f\x8f\xbd] x");
    rounds("\xf0\x9f\x87[\xa9]\xf0\x9f\x87\xaa", "[\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa]");
}

static bool is_edge(const char *text, size_t len, size_t at)
{
    return at == len || ((unsigned char)text[at] & 0xc0) != 0x80;
}

/* Whatever range is given, and whatever the text. */
static void any_range(void)
{
    const size_t len = sizeof mixed - 1;
    size_t split = 0, lost = 0, again = 0, outside = 0;
    char noise[256] = "";

    for (int how = GKV__SNAP_NONE; how <= GKV__SNAP_SENTENCE; how++)
        for (size_t a = 0; a < len; a++)
            for (size_t b = a + 1; b <= len && b < a + 9; b++) {
                const struct gkv__range s = gkv__snap(mixed, len, (enum gkv__snap)how, (struct gkv__range){ a, b });
                const struct gkv__range t = gkv__snap(mixed, len, (enum gkv__snap)how, s);
                const struct gkv__range in = gkv__trim(mixed, (struct gkv__range){ a, b });

                split += !is_edge(mixed, len, s.start) || !is_edge(mixed, len, s.end);
                lost += in.start < in.end && (s.start > in.start || s.end < in.end);
                again += s.start < s.end && how < GKV__SNAP_SENTENCE && (t.start != s.start || t.end != s.end);
            }
    ok(!split, "no piece splits a character: %zu", split);
    ok(!lost, "a piece has all that it is made from: %zu", lost);
    ok(!again, "words of whole words are the same words: %zu", again);
    for (size_t i = 0; i < 20000; i++) {
        const size_t a = rng() % sizeof noise, b = a + rng() % (sizeof noise - a + 1);
        struct gkv__range s;

        noise[i % sizeof noise] = (char)rng();
        s = gkv__snap(noise, sizeof noise, (enum gkv__snap)(i % 3), (struct gkv__range){ a, b });
        outside += s.start > s.end || s.end > sizeof noise;
    }
    ok(!outside, "bytes that are no text: %zu", outside);
}

/* ---- two models ------------------------------------------------------------------------- */

static gkv_options options(const char *method, gkv_model *reader, const char *snap)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.device = "cpu";
    o.keep = 120;
    o.max_tokens = 8;
    o.threads = 2;
    o.ignore_end = 1;
    o.reader = reader;
    o.snap = snap;
    return o;
}

struct got {
    char      answer[512], text[MOST];  /* text: what was handed over, as the header says */
    size_t    n_answer, n_text, n_split;
    gkv_stats stats;
};

static const char question[] = "Where is the key?";

/* Reads the answer, and puts together the text it was made from. */
static gkv_status take(gkv_session *s, bool only, struct got *g)
{
    gkv_status status = (only ? gkv_select : gkv_ask)(s, question, strlen(question), &err);
    const gkv_kept *kept;
    const char *piece;
    size_t n, len;

    memset(g, 0, sizeof *g);
    kept = gkv_session_kept(s, &n);
    for (size_t i = 0; i < n && status == GKV_OK; i++) {
        const char *all = gkv_document_text(gkv_session_document(s), kept[i].file, &len), *gap = "";

        for (uint64_t at = i ? kept[i - 1].end : kept[i].start; at < kept[i].start; at++)
            gap = all[at] == '\n' ? "\n" : all[at] == ' ' && !*gap ? " " : gap;
        memcpy(g->text + g->n_text, gap, strlen(gap));
        g->n_text += strlen(gap);
        memcpy(g->text + g->n_text, kept[i].text, (size_t)(kept[i].end - kept[i].start));
        g->n_text += (size_t)(kept[i].end - kept[i].start);
        g->n_split += !is_edge(all, len, (size_t)kept[i].start) || !is_edge(all, len, (size_t)kept[i].end) ||
                      kept[i].text != all + kept[i].start;
    }
    while (!only && status == GKV_OK && (status = gkv_next(s, &piece, &len, &err)) == GKV_OK) {
        memcpy(g->answer + g->n_answer, piece, len);
        g->n_answer += len;
    }
    gkv_session_stats(s, &g->stats);
    return status == GKV_END ? GKV_OK : status;
}

static gkv_status ask(gkv_model *m, gkv_options o, const char *text, size_t len, bool only, struct got *g)
{
    gkv_session *s = NULL;
    gkv_status status = gkv_session_open(&s, m, &o, &err);

    if (status == GKV_OK)
        status = gkv_feed(s, text, len, &err);
    if (status == GKV_OK)
        status = take(s, only, g);
    if (status)
        printf("# %s\n", err.text);
    gkv_session_close(s);
    return status;
}

static bool is_same(const struct got *a, const struct got *b)
{
    return a->n_answer && a->n_answer == b->n_answer && !memcmp(a->answer, b->answer, a->n_answer);
}

/* The answer is what the model says to the text that was handed over, and to no other. */
static void answers(gkv_model *reader, gkv_model *writer)
{
    static const char *const snap[] = { "none", "word", "sentence" };
    struct got g, alone;
    gkv_options full = options("full", NULL, NULL);

    for (size_t i = 0; i < 3; i++) {
        const gkv_options o = options("gemfilter", reader, snap[i]);
        uint64_t needed = 0;

        ok(!ask(writer, o, mixed, strlen(mixed), false, &g), "%s: answered", snap[i]);
        ok(!g.n_split && g.n_text < strlen(mixed) && gkv__utf8_check(g.text, g.n_text, NULL) == g.n_text,
           "%s: no character is split", snap[i]);
        ok(g.stats.tokens_kept <= o.keep && g.stats.tokens_kept > o.keep / 3, "%s: %d of %d tokens", snap[i],
           (int)g.stats.tokens_kept, (int)o.keep);
        ok(!ask(writer, full, g.text, g.n_text, false, &alone) && is_same(&g, &alone),
           "%s: the answer to the text that was kept", snap[i]);
        ok(!strcmp(g.stats.snap, snap[i]) && g.stats.reader && g.stats.layer >= 0 && g.stats.first > 0, "%s: said", snap[i]);
        ok(g.stats.memory_predicted == (g.stats.predicted_reader > g.stats.predicted_answerer
                                        ? g.stats.predicted_reader : g.stats.predicted_answerer) &&
           g.stats.predicted_reader && g.stats.predicted_answerer, "%s: memory of the larger of both", snap[i]);
        ok(!gkv_memory_needed(writer, &o, g.stats.tokens_prompt, &needed, &err) && needed, "%s: memory before", snap[i]);
    }
    ok(!ask(writer, options("full", reader, NULL), mixed, strlen(mixed), false, &g) &&
       !ask(writer, full, mixed, strlen(mixed), false, &alone) && is_same(&g, &alone), "full: the text as it is");
    ok(!ask(writer, options("gemfilter", reader, NULL), mixed, 15, false, &g) &&
       !ask(writer, full, mixed, 15, false, &alone) && is_same(&g, &alone) && g.stats.tokens_kept == alone.stats.tokens_kept,
       "a short text as it is");
}

/* A tokenizer of bytes reads for one with long tokens, and the other way round: the budget is the answerer's. */
static void budgets(gkv_model *bytes, gkv_model *trained)
{
    static const uint32_t keep[] = { 60, 90, 120, 200 };
    struct got g;

    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        gkv_options o = options("gemfilter", bytes, NULL);

        o.keep = keep[i];
        ok(!ask(trained, o, mixed, strlen(mixed), true, &g) && g.stats.tokens_kept <= keep[i] &&
           g.stats.tokens_kept + 12 > keep[i], "%u tokens, used %d", keep[i], (int)g.stats.tokens_kept);
        ok(!strcmp(g.stats.snap, "word") && !g.n_split, "words, unless said otherwise");
    }
    {
        gkv_options o = options("gemfilter", bytes, "sentence");
        char *long_one = malloc(6000);         /* sentences of 300 bytes */

        for (size_t i = 0; i < 6000; i++)
            long_one[i] = i % 300 > 297 ? ". "[i % 300 - 298] : i % 300 ? "one two six, "[i % 13] : 'O';
        ok(!ask(bytes, o, long_one, 6000, true, &g) && !strcmp(g.stats.snap, "word") && g.stats.tokens_kept <= o.keep &&
           g.n_text && g.n_text < o.keep, "a sentence that has no room goes over in words");
        ok(!ask(bytes, o, mixed, strlen(mixed), true, &g) && !strcmp(g.stats.snap, "sentence"), "... and one that has, whole");
        free(long_one);
    }
    /* As many tokens as the reader's whole prompt, and yet too few for the other model. */
    {
        gkv_options o = options("bm25", trained, NULL);
        struct got all;

        gkv_options f = options("full", NULL, NULL);
        ok(!ask(trained, f, mixed, strlen(mixed), true, &all), "counted");
        o.keep = (uint32_t)all.stats.tokens_prompt + 20;
        ok(!ask(bytes, o, mixed, strlen(mixed), true, &g) && g.stats.tokens_kept <= o.keep && g.stats.tokens_prompt <= o.keep,
           "the reader could keep all, the other not: %d of %u", (int)g.stats.tokens_kept, o.keep);
    }
}

/* Method truncate gives no scores: of equal words, the first in the document go over. */
static void ties(gkv_model *trained, gkv_model *bytes)
{
    gkv_options o = options("truncate", trained, NULL);
    gkv_session *s = NULL;
    const gkv_kept *kept;
    gkv_status status = gkv_session_open(&s, bytes, &o, &err);
    size_t n = 0;

    if (!status)
        status = gkv_feed(s, mixed, strlen(mixed), &err);
    if (!status)
        status = gkv_select(s, question, strlen(question), &err);
    kept = gkv_session_kept(s, &n);
    ok(!status && n && !kept[0].start && kept[n - 1].end < 400, "the first of equal ones: bytes %d to %d",
       n ? (int)kept[0].start : -1, n ? (int)kept[n - 1].end : -1);
    gkv_session_close(s);
}

/* Bytes of a file's pages that this process has in memory; 0: the system does not say. */
static double resident(const char *file)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[1024];
    bool ours = false;
    double bytes = 0, kib;

    while (f && fgets(line, sizeof line, f)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            ours = strstr(line, file);
        if (ours && sscanf(line, "Rss: %lf", &kib) == 1)
            bytes += 1024 * kib;
    }
    if (f)
        fclose(f);
    return bytes;
}

/* The reader's weights are not in memory while the other model answers. */
static void released(gkv_model *writer)
{
    static const char file[] = "gemkv-mini-q8_0.gguf";
    gkv_model *reader = model_named("data/gemkv-mini-q8_0.gguf");
    const double opened = resident(file);
    double alone, after;
    gkv_options o = options("gemfilter", NULL, NULL);
    struct got g;

    ok(!ask(reader, o, mixed, strlen(mixed), false, &g), "a model alone");
    alone = resident(file);
    o.reader = reader;
    ok(!ask(writer, o, mixed, strlen(mixed), false, &g) && g.stats.reader && g.stats.first > 0, "the same model reads");
    after = resident(file);
    if (opened > 0 && alone > 8 * opened)
        ok(after < 4 * opened, "its weights are released: %.0f KiB are left, %.0f when it was opened, %.0f when it answered",
           after / 1024, opened / 1024, alone / 1024);
    else
        skip("the system does not say what is in memory", "its weights are released");
    gkv_model_close(reader);
}

static void refusals(gkv_model *reader, gkv_model *writer)
{
    struct got g;
    gkv_options o = options("gemfilter", reader, NULL);

    ok(ask(writer, options("snapkv", reader, NULL), mixed, strlen(mixed), false, &g) == GKV_INVALID,
       "a method without a second pass");
    ok(ask(writer, options("gemfilter", reader, "line"), mixed, strlen(mixed), false, &g) == GKV_INVALID, "no such pieces");
    o.keep = 42;
    ok(ask(writer, o, mixed, strlen(mixed), false, &g) == GKV_INVALID, "no room for a passage");
    o = options("gemfilter", reader, NULL);
    o.memory_limit = 1 << 20;
    ok(ask(writer, o, mixed, strlen(mixed), false, &g) == GKV_LIMIT, "too little memory for one of them");
}

/* A document of the reader's, asked by several sessions, again and again. */
static void shared(gkv_model *reader, gkv_model *writer)
{
    gkv_options o = options("gemfilter", reader, NULL);
    gkv_document *d = NULL;
    gkv_session *s = NULL;
    struct got one, g[3] = { { .n_answer = 0 } };
    gkv_status status = gkv_document_open(&d, reader, &o, &err);

    ask(writer, o, mixed, strlen(mixed), false, &one);
    if (!status)
        status = gkv_document_feed(d, mixed, strlen(mixed), &err);
    if (!status)
        status = gkv_session_for(&s, writer, d, &o, &err);
    for (size_t i = 0; i < 3 && !status; i++)
        status = take(s, false, &g[i]);
    ok(!status && is_same(&one, &g[0]) && is_same(&one, &g[1]) && is_same(&one, &g[2]), "asked often: the same");
    gkv_session_close(s);
    gkv_document_close(d);
}

/* ---- one reading for several questions -------------------------------------------------- */

static void count(void *arg, const gkv_progress *p)
{
    *(size_t *)arg += p->stage == GKV_STAGE_FIRST_PASS && p->fraction <= 0;
}

/* Every budget and layer, one after the other: as each gives it alone, and how often the text was read is *n. */
static bool all_ways(gkv_model *m, gkv_options o, gkv_reading *r, const char *text, size_t *n)
{
    static const uint32_t keep[] = { 70, 110 };
    static const int32_t layer[] = { 2, 3, 1 };
    bool same = true, timed = true;

    *n = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++) {
            gkv_options alone;
            struct got a, b;

            o.keep = keep[i];
            o.layer = layer[j];
            alone = o;
            o.reading = r;
            o.progress = count;
            o.progress_arg = n;
            same &= !ask(m, o, text, strlen(text), false, &a) && !ask(m, alone, text, strlen(text), false, &b) &&
                    a.n_answer && is_same(&a, &b) && a.n_text == b.n_text && !memcmp(a.text, b.text, a.n_text) &&
                    a.stats.layer == layer[j] && a.stats.tokens_kept == b.stats.tokens_kept;
            timed &= a.stats.first > 0 && a.stats.ttft >= a.stats.first;
        }
    return same && timed;
}

static void readings(gkv_model *reader, gkv_model *writer)
{
    static const struct { const char *schedule; size_t with, without; } how[] = {
        { "layer", 1, 3 }, { "chunk", 3, 3 }, { "stream:refine=0,budget=64,recent=16", 3, 3 },
    };
    static const uint32_t layer[] = { 3, 1, 2, 3, 77 };
    gkv_reading *some = NULL, *none = NULL;
    char other[sizeof mixed];

    memcpy(other, mixed, sizeof mixed);
    memcpy(strstr(other, "weight"), "amount", 6);       /* as many tokens */
    ok(!gkv_reading_open(&some, layer, 5, &err) && !gkv_reading_open(&none, NULL, 0, &err), "readings");
    for (size_t i = 0; i < 3; i++) {
        gkv_options o = options("gemfilter", reader, NULL);
        size_t n;

        o.schedule = how[i].schedule;
        ok(all_ways(writer, o, some, mixed, &n) && n == how[i].with,
           "%s, two budgets, three layers: the text is read %zu times", o.schedule, n);
        ok(all_ways(writer, o, none, mixed, &n) && n == how[i].without, "... without layers %zu times", n);
        ok(all_ways(writer, o, some, other, &n) && n == how[i].with, "... another text %zu times", n);
        o.method = "gemfilter:row=middle";
        ok(i || (all_ways(writer, o, some, other, &n) && n == 1), "... and by another row");
    }
    {
        /* What reads the best passages again does that for each budget. */
        gkv_options o = options("gemfilter", reader, NULL);
        size_t n;

        o.schedule = "stream:refine=1,budget=64,recent=16";
        ok(all_ways(writer, o, some, other, &n) && n == 3, "stream with refine: %zu", n);
    }
    gkv_reading_close(some);
    gkv_reading_close(none);
    gkv_reading_close(NULL);
}

/* Where there is no memory for a pass to the deeper layer, the first one reads for itself. */
static void reading_limited(gkv_model *reader)
{
    static char text[40001];            /* so that what a sanitizer takes is little beside it */
    const uint32_t deep = 3;
    gkv_options o = options("gemfilter", NULL, NULL);
    uint64_t least = 0, most = 0;
    gkv_reading *r = NULL;
    gkv_status status;
    struct got g;

    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = "the cat sat on a mat. "[i % 22];
    o.schedule = "layer";
    o.chunk = 64;
    o.max_tokens = 1;
    o.layer = 0;
    status = gkv_memory_needed(reader, &o, sizeof text, &least, &err);
    o.layer = (int32_t)deep;
    if (!status)
        status = gkv_memory_needed(reader, &o, sizeof text, &most, &err);
    ok(!status && most > least + (1 << 20) && !gkv_reading_open(&r, &deep, 1, &err),
       "a deeper layer takes %.1f MiB more", (double)(most - least) / (1 << 20));
    o.layer = 0;
    o.reading = r;
    o.memory_limit = least + (most - least) / 2;
    ok(!ask(reader, o, text, sizeof text - 1, true, &g) && g.stats.memory_predicted <= o.memory_limit &&
       g.stats.memory_predicted < least + (most - least) * 2 / 5, "no room for it: only the own layer is read");
    o.memory_limit = 2 * most;
    o.keep--;
    ok(!ask(reader, o, text, sizeof text - 1, true, &g) && g.stats.memory_predicted > least + (most - least) / 2,
       "with room for it, the prediction has it");
    gkv_reading_close(r);
}

int main(void)
{
    gkv_model *reader, *writer, *trained;

    words();
    any_range();
    if (BIG_ENDIAN_HOST)
        return done();
    reader = model_named("tests/files/golden/llama3.gguf");
    writer = model_named("tests/files/golden/qwen2.gguf");
    trained = model_named("data/gemkv-mini-q8_0.gguf");
    answers(reader, writer);
    budgets(reader, trained);
    ties(trained, reader);
    refusals(reader, writer);
    shared(reader, writer);
    readings(reader, writer);
    reading_limited(reader);
    gkv_model_close(trained);
    released(writer);
    gkv_model_close(reader);
    gkv_model_close(writer);
    return done();
}
