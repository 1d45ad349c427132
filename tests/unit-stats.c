/* SPDX-License-Identifier: BSD-2-Clause
 * unit-stats.c - what a session says about its question and answer; that a question asked again has the same answer, however
 * much of the prompt was kept; and what is wrong with options. */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/session.h"
#include "tests/tap.h"

static gkv_error err;
static gkv_model *model, *other;
static char text[6000];
static const char question[] = "Where is the red lamp?";

static gkv_model *opened(const char *name)
{
    gkv_model *m = NULL;
    char path[4096];

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

static gkv_options options(void)
{
    gkv_options o;

    gkv_options_init(&o);
    o.device = "cpu";
    o.keep = 96;
    o.keep_last = 8;
    o.threads = 1;
    o.chunk = 64;
    o.max_tokens = 4;
    o.ignore_end = 1;
    o.memory_limit = UINT64_C(1) << 34;
    return o;
}

/* Asks and reads the whole answer, into answer[size]; NULL after an error. */
static gkv_session *asked(const gkv_options *o, char *answer, size_t size)
{
    gkv_session *s = NULL;
    gkv_status status;
    const char *piece;
    size_t n, at = 0;

    if (gkv_session_open(&s, model, o, &err) || gkv_feed(s, text, strlen(text) / 2, &err) || gkv_feed_end(s, &err) ||
        gkv_feed(s, text + strlen(text) / 2, strlen(text) - strlen(text) / 2, &err) ||
        gkv_ask(s, question, strlen(question), &err)) {
        ok(0, "%s", err.text);
        gkv_session_close(s);
        return NULL;
    }
    while (!(status = gkv_next(s, &piece, &n, &err)))
        for (size_t i = 0; i < n && at + 1 < size; i++)
            answer[at++] = piece[i];
    answer[at] = 0;
    if (status != GKV_END)
        ok(0, "%s", err.text);
    return s;
}

/* ---- statistics --------------------------------------------------------------------------- */

static void check_two_passes(void)
{
    gkv_options o = options();
    char answer[256];
    gkv_session *s = asked(&o, answer, sizeof answer);
    gkv_stats t;
    size_t n = 0, kept = 0;
    const gkv_kept *span;

    if (!s)
        return;
    gkv_session_stats(s, &t);
    ok(t.tokens_document > 200 && t.tokens_prompt > t.tokens_document && t.tokens_kept == 96 && t.tokens_answer == 4,
       "tokens: %d of documents, %d of the prompt, %d kept, %d of the answer", (int)t.tokens_document, (int)t.tokens_prompt,
       (int)t.tokens_kept, (int)t.tokens_answer);
    ok(t.load > 0 && t.tokenize > 0 && t.first > 0 && t.second > 0 && t.decode > 0 && t.ttft >= t.first + t.second &&
       t.total >= t.load && t.total >= t.ttft + t.decode, "seconds: %g %g %g %g %g %g %g", t.load, t.tokenize, t.first, t.second,
       t.ttft, t.decode, t.total);
    ok(t.memory_predicted > 1 << 16 && t.memory_predicted < o.memory_limit && t.memory_peak > 1 << 20 &&
       t.memory_limit == o.memory_limit && t.memory_kv >= 96 * 64, "bytes: %.0f predicted, %.0f at most, %.0f of keys and values",
       (double)t.memory_predicted, (double)t.memory_peak, (double)t.memory_kv);
    ok(t.layer >= 0 && !strcmp(t.method, "gemfilter") && t.schedule && !strcmp(t.device, "cpu") && !strcmp(t.cpu, gkv_cpu()) &&
       t.chat_template && *t.chat_template, "layer %d, method %s, schedule %s, %s, %s, %s", (int)t.layer, t.method,
       t.schedule ? t.schedule : "none", t.device, t.cpu, t.chat_template);
    ok(strstr(t.parameters, "pool=avg") && strstr(t.parameters, "kernel=5") && t.schedule_reason && *t.schedule_reason,
       "%s; %s", t.parameters, t.schedule_reason ? t.schedule_reason : "");
    ok(!t.device_reason && !t.device_model && !t.device_memory && !t.device_layers && t.upload <= 0 && t.upload_waited <= 0,
       "nothing of a device");
    ok(t.warning && strstr(t.warning, "no chat template") && !strcmp(t.finish, "length") && !t.stop && !t.incomplete && !t.snap && !t.reader && t.load_reader <= 0 &&
       t.hand_over <= 0 && !t.predicted_reader && !t.predicted_answerer && t.processes == 1 && t.waited <= 0,
       "no text was handed over, by one process");
    ok(t.accepted <= t.drafted && !t.drafted_reader && !t.accepted_reader && !t.drafted_mtp && !t.accepted_mtp &&
       !t.tokens_thought && !t.thought && !t.can_think, "no thoughts, and no guesses by a model");
    span = gkv_session_kept(s, &n);
    for (size_t i = 0; i < n; i++) {
        const char *file = text + (span[i].file ? strlen(text) / 2 : 0);

        kept += span[i].file < 2 && span[i].start < span[i].end && span[i].best >= span[i].start && span[i].best < span[i].end &&
                (!i || span[i].file > span[i - 1].file || span[i].start > span[i - 1].end) &&
                !memcmp(span[i].text, file + span[i].start, span[i].end - span[i].start);
    }
    ok(n && kept == n, "%zu pieces of text, %zu as they are in their files", n, kept);
    gkv_session_close(s);
}

static void check_one_pass(void)
{
    gkv_options o = options();
    char answer[256], cut[256], stop[2] = "";
    const char *const stops[] = { stop };
    gkv_session *s;
    gkv_stats t;

    o.method = "full";
    s = asked(&o, answer, sizeof answer);
    if (!s)
        return;
    gkv_session_stats(s, &t);
    ok(t.tokens_kept == t.tokens_prompt && t.layer == -1 && !strcmp(t.method, "full") && !t.schedule_reason && !*t.parameters &&
       t.first <= 0 && t.second > 0 && t.memory_kv >= t.tokens_prompt * 64, "all is kept, in one pass");
    gkv_session_close(s);
    stop[0] = answer[1];
    o.stop = stops;
    o.n_stop = 1;
    s = asked(&o, cut, sizeof cut);
    if (!s)
        return;
    gkv_session_stats(s, &t);
    ok(!strcmp(t.finish, "stop") && t.stop && !strcmp(t.stop, stop) && strlen(cut) < strlen(answer) &&
       !strncmp(cut, answer, strlen(cut)) && !strchr(cut, *stop), "an answer up to \"%s\": %zu bytes of \"%s\"", stop, strlen(cut),
       answer);
    gkv_session_close(s);
}

static void check_before(void)
{
    gkv_options o = options();
    gkv_session *s = NULL;
    gkv_stats t;
    struct { gkv_stats t; char more[64]; } larger;

    if (gkv_session_open(&s, model, &o, &err)) {
        ok(0, "%s", err.text);
        return;
    }
    gkv_session_stats(s, &t);
    ok(!strcmp(t.finish, "") && !t.tokens_answer && !t.tokens_kept && !t.incomplete && t.load > 0 && !strcmp(t.device, "cpu"),
       "before a question");
    memset(&larger, 0x55, sizeof larger);
    gkv_session_stats_size(s, &larger.t, sizeof larger);
    ok(!larger.more[0] && !larger.more[63] && !strcmp(larger.t.method, "gemfilter"), "to a later version, the rest is zero");
    memset(&t, 0x55, sizeof t);
    gkv_session_stats_size(s, &t, offsetof(gkv_stats, load));
    ok(!t.tokens_answer && ((unsigned char *)&t.load)[0] == 0x55, "to an earlier one, what it knows");
    gkv_session_close(s);
}

static void check_reader(void)
{
    gkv_options o = options();
    char answer[256];
    gkv_session *s;
    gkv_stats t;
    size_t len = 0;
    const char *piece;

    o.reader = other;
    o.keep = 1200;
    s = asked(&o, answer, sizeof answer);
    if (!s)
        return;
    gkv_session_stats(s, &t);
    piece = gkv_session_text(s, 0, &len);
    ok(t.snap && !strcmp(t.snap, "word") && t.reader && t.load_reader > 0 && t.load >= t.load_reader && t.hand_over > 0 &&
       t.predicted_reader && t.predicted_answerer && t.memory_predicted == (t.predicted_reader > t.predicted_answerer
       ? t.predicted_reader : t.predicted_answerer), "a reader: %s, %s", t.reader ? t.reader : "", t.snap ? t.snap : "");
    ok(piece && len && piece[len - 1], "the text that was handed over");
    gkv_session_close(s);
}

/* ---- the same question again --------------------------------------------------------------- */

static bool answer_of(gkv_session *s, const char *ask, char *to, size_t size)
{
    const char *piece;
    size_t n, at = 0;
    gkv_status status = gkv_ask(s, ask, strlen(ask), &err);

    while (!status && !(status = gkv_next(s, &piece, &n, &err)))
        for (size_t i = 0; i < n && at + 1 < size; i++)
            to[at++] = piece[i];
    to[at] = 0;
    return status == GKV_END;
}

/* The question begins behind the last token of the documents: no earlier, and no later. */
static void check_tail(void)
{
    gkv_options o = options();
    size_t wrong = 0, all = 0;

    for (size_t n = 30; n < 60; n++, all++) {
        gkv_session *s = NULL;
        uint64_t before = 0, end;
        size_t tail;

        if (gkv_session_open(&s, model, &o, &err) || gkv_feed(s, text, n, &err) ||
            gkv_ask(s, question, strlen(question), &err)) {
            ok(0, "%s", err.text);
            gkv_session_close(s);
            return;
        }
        tail = gkv__prompt_tail(&s->prompt);
        end = s->document->file[s->document->n_files - 1].end;
        for (size_t i = 0; i + tail < s->prompt.n; i++)
            before += gkv__prompt_len(&s->prompt, i);
        wrong += tail >= s->prompt.n || before < end || before - gkv__prompt_len(&s->prompt, s->prompt.n - tail - 1) >= end;
        gkv_session_close(s);
    }
    ok(!wrong, "the question's part of %zu prompts, %zu are wrong", all, wrong);
}

/* Of a prompt of any length, also a multiple of the chunk, the last row is computed anew. */
static void check_again(const char *method)
{
    size_t same = 0, all = 0, multiples = 0;
    gkv_options o = options();

    o.method = method;
    o.chunk = 16;
    for (size_t n = 40; n < 40 + 36; n++, all++) {
        char first[256], again[256], third[256];
        gkv_session *s = NULL;
        gkv_stats t = { .tokens_prompt = 0 };

        if (!gkv_session_open(&s, model, &o, &err) && !gkv_feed(s, text, n, &err) &&
            answer_of(s, question, first, sizeof first) && answer_of(s, question, third, sizeof third) &&       /* keeps what is read */
            answer_of(s, question, again, sizeof again) && !strcmp(again, third) &&
            answer_of(s, "And where is the old house of the dog?", third, sizeof third) &&
            answer_of(s, question, third, sizeof third)) {
            gkv_session_stats(s, &t);
            same += *first && !strcmp(first, again) && !strcmp(first, third);
            multiples += t.tokens_prompt % 16 == 0;
        }
        gkv_session_close(s);
    }
    ok(same == all && multiples, "%s: %zu of %zu questions have the same answer again, %zu of them of whole chunks", method, same,
       all, multiples);
}

/* Penalties, and a grammar, have a say in which token is next. */
static void check_choice(void)
{
    static const char numbers[] = "root ::= [0-9]{3,9}";
    gkv_options o = options();
    char plain[256], other_one[256];
    gkv_grammar *g = NULL;
    size_t n = 0;
    gkv_session *s;

    o.max_tokens = 12;
    s = asked(&o, plain, sizeof plain);
    gkv_session_close(s);
    o.presence_penalty = 1e6f;
    o.repeat_last_n = 4096;
    s = asked(&o, other_one, sizeof other_one);
    gkv_session_close(s);
    for (size_t i = 0; other_one[i]; i++)       /* of bytes that are tokens, none of the document */
        n += strchr(text, other_one[i]) != NULL;
    ok(strcmp(plain, other_one), "penalties change the answer: %s, %s (%zu)", plain, other_one, n);
    o = options();
    o.max_tokens = 12;
    ok(!gkv_grammar_open(&g, numbers, strlen(numbers), &err), "a grammar: %s", err.text);
    o.grammar = g;
    o.ignore_end = 0;
    for (int drawn = 0; drawn < 2; drawn++) {
        o.temperature = (float)drawn;
        s = asked(&o, other_one, sizeof other_one);
        n = strspn(other_one, "0123456789");
        ok(s && n >= 3 && n <= 9 && !other_one[n], "an answer of digits: %s", other_one);
        gkv_session_close(s);
    }
    gkv_grammar_close(g);
}

/* ---- what is wrong with options ------------------------------------------------------------ */

static void check_wrong(void)
{
    static const struct { const char *name, *value, *says; } row[] = {
        { "device", "toaster", "device" }, { "schedule", "never", "schedule" }, { "kv", "q3", "q3" }, { "gemm", "none", "gemm" },
        { "attention", "long", "attention" }, { "method", "none", "method" }, { "method", "gemfilter:pool=x", "pool=x" },
        { "schedule", "stream:budget=x", "budget=x" }, { "attention", "dense:x=1", "attention dense has no parameter" },
        { "threads", "4097", "4097 threads: at most 4096" }, { "chunk", "15", "chunk 15: not in 16 .. 65536" },
        { "chunk", "65537", "chunk 65537: not in 16 .. 65536" },
    };
    uint64_t bytes;
    gkv_options o = options();

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *const name = row[i].name, *const value = row[i].value;
        gkv_session *s = NULL;

        o = options();
        if (!strcmp(name, "threads"))
            o.threads = (uint32_t)atoi(value);
        else if (!strcmp(name, "chunk"))
            o.chunk = (uint32_t)atoi(value);
        else
            *(!strcmp(name, "device") ? &o.device : !strcmp(name, "schedule") ? &o.schedule : !strcmp(name, "kv") ? &o.kv_type
              : !strcmp(name, "gemm") ? &o.gemm : !strcmp(name, "attention") ? &o.attention : &o.method) = value;
        err.text[0] = 0;
        ok(gkv_memory_needed(model, &o, 1000, &bytes, &err) != GKV_OK && strstr(err.text, row[i].says), "%s=%s: %s", name, value,
           err.text);
        err.text[0] = 0;
        ok(gkv_session_open(&s, model, &o, &err) != GKV_OK && strstr(err.text, row[i].says), "... for a session, too");
    }
    o = options();
    o.threads = 4096;
    o.chunk = 65536;
    ok(gkv_memory_needed(model, &o, 1000, &bytes, &err) == GKV_OK && bytes > 1000, "the largest that are allowed");
    o.chunk = 16;
    ok(gkv_memory_needed(model, &o, 1000, &bytes, &err) == GKV_OK, "the smallest chunk");
}

int main(void)
{
    static const char *const words[] = { "the ", "old ", "house ", "lamp, ", "Red ", "stood ", "where\n", "is ", "a ", "dog. " };

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    for (size_t i = 0; i < 120; i++)
        strcat(text, words[i * i % 7 + i % 4]);
    model = opened("llama3");
    other = opened("mistral");
    check_two_passes();
    check_one_pass();
    check_before();
    check_reader();
    check_tail();
    check_again("full");
    check_again("truncate");
    check_again("gemfilter");
    check_choice();
    check_wrong();
    gkv_model_close(other);
    gkv_model_close(model);
    return done();
}
