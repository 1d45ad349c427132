/* SPDX-License-Identifier: BSD-2-Clause
 * unit-think.c - thoughts are no part of the answer, whatever tokens they come in, and end where they shall */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "simd/simd.h"
#include "src/session.h"
#include "tests/tap.h"

static gkv_error err;

/* ---- the text of tokens ------------------------------------------------------------------ */

/* The answer in text, which comes in tokens of `size` bytes; *state afterwards. */
static char *answer_of(const struct gkv__marks *marks, bool begun, const char *text, size_t size, int *state)
{
    static char answer[200];
    struct gkv__think t;
    size_t len = 0;

    gkv__think_begin(&t, marks, begun);
    for (size_t at = 0, n = strlen(text); at < n; at += size) {
        const size_t more = n - at < size ? n - at : size, rest = gkv__think_feed(&t, text + at, more);

        if (t.state == GKV__THOUGHT || rest < more)
            len = 0;                    /* what came before was none of it */
        memcpy(answer + len, text + at + more - rest, rest);
        len += rest;
    }
    answer[len] = 0;
    *state = t.state;
    return answer;
}

static void splits(void)
{
    static const struct gkv__marks think = { "<think>", "\n", "\n", "</think>", "\n\n" };
    static const struct gkv__marks again = { "aab", "", "", "aabaac", "" };
    static const struct { const struct gkv__marks *m; bool begun; const char *text, *answer; int state; } t[] = {
        { &think, true, "so</think>Yes", "Yes", GKV__ANSWER },
        { &think, true, "so<</think></think>", "</think>", GKV__ANSWER },
        { &think, true, "so</think", "", GKV__THOUGHT },
        { &think, true, "</thin</think>.", ".", GKV__ANSWER },
        { &think, true, "<think>a</think>b<think>", "b<think>", GKV__ANSWER },
        { &think, false, "<think>so</think>Yes", "Yes", GKV__ANSWER },
        { &think, false, " \n<think>so", "", GKV__THOUGHT },
        { &think, false, "Yes<think>so</think>", "Yes<think>so</think>", GKV__ANSWER },
        { &think, false, "<thinking>", "<thinking>", GKV__ANSWER },
        { &think, false, " <thin", " <thin", GKV__MAYBE },
        { &think, false, "                 <think>", "                 <think>", GKV__ANSWER },
        { &think, false, "                <think>", "", GKV__THOUGHT },
        { &again, true, "aabaabaacx", "x", GKV__ANSWER },
        { &again, true, "aaabaacx", "x", GKV__ANSWER },
        { &again, true, "aabaaabaacx", "x", GKV__ANSWER },
        { &again, false, "aabaabaacx", "x", GKV__ANSWER },
        { NULL, true, "<think>so</think>", "<think>so</think>", GKV__ANSWER },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        for (size_t size = 1; size < 30; size++) {
            int state;
            const char *have = answer_of(t[i].m, t[i].begun, t[i].text, size, &state);

            if (strcmp(have, t[i].answer) || state != t[i].state || size == 29)
                ok(!strcmp(have, t[i].answer) && state == t[i].state, "text %zu, in tokens of up to %zu bytes: %s", i, size,
                   have);
        }
}

/* ---- answers ----------------------------------------------------------------------------- */

#define TEMPLATE(on, off) \
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n" \
    "{% if enable_thinking is defined and not enable_thinking %}" off "{% else %}" on "{% endif %}"

static const char text[] =
    "Line 1: the cat and the hat sat on mat number 7. Line 2: the cat and the hat sat on mat number 8.\n"
    "Line 3: the cat and the hat sat on mat number 9. The key is in the box, and the box is in the room.\n";
static const char question[] = "Which line is the cat in?";

enum { N = 12 };

struct told {
    char       answer[400], thought[400], finish[16];
    uint32_t   id[2048];
    size_t     n_id, n_kept;
    gkv_stats  stats;
    gkv_status status;
};

static gkv_options options(const char *method, int32_t think)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.device = "cpu";
    o.keep = 90;
    o.max_tokens = N;
    o.threads = 1;
    o.ignore_end = 1;
    o.think = think;
    return o;
}

/* What a method that goes on acting sees at once, at most. */
static size_t seen;
static void (*acts)(struct gkv__hook *h, const struct gkv__pass *p, uint32_t il, size_t n, uint64_t slot,
                    const struct gkv__view *view);

static void see(struct gkv__hook *h, const struct gkv__pass *p, uint32_t il, size_t n, uint64_t slot,
                const struct gkv__view *view)
{
    seen = n > seen ? n : seen;
    acts(h, p, il, n, slot, view);
}

/* marks: in place of the model's own, or NULL. */
static struct told told(gkv_model *m, const gkv_options *o, const struct gkv__marks *marks)
{
    struct told t = { .status = GKV_OK };
    gkv_session *s = NULL;
    const char *p;
    size_t n, len = 0;

    t.status = gkv_session_open(&s, m, o, &err);
    if (!t.status) {
        s->decode.draft.always = o->draft;
        t.status = gkv_feed(s, text, strlen(text), &err);
    }
    if (!t.status)
        t.status = gkv_ask(s, question, strlen(question), &err);
    if (marks && s)
        s->think.marks = marks;
    seen = 0;
    if (s && s->decode.hook.attended) {
        acts = s->decode.hook.attended;
        s->decode.hook.attended = see;
    }
    while (!t.status && !(t.status = gkv_next(s, &p, &n, &err))) {
        memcpy(t.answer + len, p, n);
        len += n;
    }
    if (t.status != GKV_END) {
        printf("# %s\n", err.text);
    } else {
        const struct gkv__decode *d = &s->decode;

        gkv_session_stats(s, &t.stats);
        snprintf(t.thought, sizeof t.thought, "%s", t.stats.thought ? t.stats.thought : "");
        snprintf(t.finish, sizeof t.finish, "%s", t.stats.finish);
        t.n_kept = d->n_kept;
        t.n_id = d->n_kept + (size_t)(d->n_thought + d->n_answer);
        memcpy(t.id, d->id, t.n_id * sizeof *t.id);
        t.stats.thought = NULL;
    }
    gkv_session_close(s);
    return t;
}

/* The text of tokens from..to - 1 of thought and answer. */
static const char *text_of(const gkv_model *m, const struct told *t, size_t from, size_t to)
{
    static char out[400];
    char *made = NULL;
    size_t n = 0;

    if (gkv_detokenize(m, t->id + t->n_kept + from, to - from, &made, &n, &err))
        return "?";
    snprintf(out, sizeof out, "%s", made);
    free(made);
    return out;
}

static void set_template(gkv_model *m, const char *jinja)
{
    free(m->own_template->text);
    m->own_template->text = NULL;
    if (gkv__template_own(m->own_template, jinja, strlen(jinja), NULL, "", "", false, false, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
}

static uint64_t rows_of(const gkv_model *m, uint64_t n)
{
    return gkv__cache_bytes_for(m, gkv__quant_of(GKV__TYPE_F16), m->shape.n_layer, n);
}

/* Less what the process has already. */
static uint64_t predicted(gkv_model *m, int32_t think)
{
    const gkv_options o = options("full", think);
    struct gkv__plan p = { .select_only = false };

    if (gkv__plan_options(&p, m, &o, &err) || gkv__plan_task(&p, m, &o, &err))
        return 0;
    p.limit = 0;
    gkv__plan_prompt(&p, &o, 1000, 0);
    return gkv__plan_make(&p, 0, &err) ? 0 : p.predicted;
}

static void answers(gkv_model *m)
{
    static const char gbnf[] = "root ::= \"7\" [0-9] \"7\" | \"8\"";
    gkv_options o = options("full", 9);
    struct told on = told(m, &o, NULL), off, other;
    const size_t end = 9 + on.n_id - on.n_kept - 9 - N;         /* of the forced mark */
    const char *stop;
    struct gkv__marks mine;
    char word[64];
    gkv_grammar *g = NULL;

    ok(on.status == GKV_END && on.stats.tokens_thought == 9 && on.stats.tokens_answer == N && on.stats.can_think,
       "9 tokens of thinking, and %d of the answer", N);
    ok(!strcmp(on.finish, "length") && !strncmp(text_of(m, &on, 9, end) + strspn(text_of(m, &on, 9, end), "\n"),
       "</think>\n\n", 10) && !strcmp(text_of(m, &on, end, end + N), on.answer), "between them, the template's end of a thought");
    ok(!strcmp(text_of(m, &on, 0, 9), on.thought), "the text of the thought is told apart");
    o.think = 0;
    off = told(m, &o, NULL);
    ok(off.status == GKV_END && !off.stats.tokens_thought && !*off.thought && off.n_id == off.n_kept + N &&
       off.stats.can_think, "no thinking");
    ok(on.stats.memory_kv == rows_of(m, on.n_kept + 9 + N + GKV__THINK_ROWS) &&
       off.stats.memory_kv == rows_of(m, off.n_kept + N + GKV__THINK_ROWS), "the cache has room for the thought");
    ok(predicted(m, 4000) - predicted(m, 0) > rows_of(m, 4000) / 2 && predicted(m, GKV_THINK) == predicted(m, 2048),
       "and it is predicted");
    o.think = 1;
    for (o.max_tokens = 1; o.max_tokens < 4; o.max_tokens++) {
        other = told(m, &o, NULL);
        ok(other.stats.tokens_thought == 1 && other.stats.tokens_answer == o.max_tokens, "1 and %u", o.max_tokens);
    }
    o = options("full", 9);

    /* stop strings are those of the answer */
    snprintf(word, sizeof word, "%s", text_of(m, &on, 5, 7));
    stop = word;
    o.stop = &stop;
    o.n_stop = 1;
    other = told(m, &o, NULL);
    ok(other.stats.tokens_thought == 9 && !strcmp(on.thought, other.thought) &&
       (strstr(on.answer, word) || !strcmp(on.answer, other.answer)), "a stop string in a thought: %s", word);
    o.n_stop = 0;

    /* the model ends its thought by itself */
    mine = *m->own_template->marks;
    mine.end = word;
    other = told(m, &o, &mine);
    ok(other.stats.tokens_thought == 7 && !strcmp(other.thought, text_of(m, &on, 0, 5)) && other.stats.tokens_answer == N,
       "a thought that ends by itself: %d tokens", (int)other.stats.tokens_thought);
    ok(!strcmp(text_of(m, &other, 7, other.n_id - other.n_kept - N), m->own_template->after), "... and then what the template has");
    snprintf(word, sizeof word, "%.*s", (int)strlen(word) - 1, text_of(m, &on, 5, 7));
    other = told(m, &o, &mine);
    ok(other.stats.tokens_thought == 7 && other.n_id - other.n_kept == 7 + N && strlen(word) &&
       other.answer[0] == text_of(m, &on, 5, 7)[strlen(word)], "the rest of its last token is the answer's: %c", other.answer[0]);

    /* it thinks, although it shall not */
    o.think = 0;
    mine = *m->own_template->marks;
    mine.open = word;
    snprintf(word, sizeof word, "%s", text_of(m, &off, 0, 2));
    other = told(m, &o, &mine);
    ok(other.stats.tokens_thought == 2 && other.stats.tokens_answer == N &&
       !strcmp(other.answer, text_of(m, &other, other.n_id - other.n_kept - N, other.n_id - other.n_kept)), "a thought that the model begins is ended, and not told");
    ok(strstr(text_of(m, &other, 2, other.n_id - other.n_kept - N), "</think>\n\n"), "... by the mark");
    strcat(word, "x");
    other = told(m, &o, &mine);
    ok(!other.stats.tokens_thought && !strcmp(other.answer, off.answer), "nearly a thought: %s", word);

    /* a grammar begins with the answer */
    if (gkv_grammar_open(&g, gbnf, strlen(gbnf), &err))
        printf("# %s\n", err.text);
    o = options("full", 9);
    o.grammar = g;
    other = told(m, &o, NULL);
    ok(other.stats.tokens_thought == 9 && !strcmp(other.thought, on.thought) && (!strcmp(other.answer, "8") ||
       (strlen(other.answer) == 3 && other.answer[0] == '7')), "by a grammar: %s", other.answer);
    gkv_grammar_close(g);
    o.grammar = NULL;

    /* words that the answer begins with */
    o.begin = "The cat";
    other = told(m, &o, NULL);
    ok(other.stats.tokens_thought == 9 && other.stats.tokens_answer == N && !strcmp(other.thought, on.thought) &&
       strstr(text_of(m, &other, 9, other.n_id - other.n_kept - N), "</think>\n\nThe cat"), "words that the answer begins with");
}

/* One newline is in front of the mark, whoever wrote it. */
static void newline(gkv_model *m)
{
    gkv_options o = options("full", 1);
    size_t good = 0, found = 0, all = 0;

    o.max_tokens = 1;
    o.temperature = 1;
    /* Which draws are a newline depends on the last bits of the logits. */
    for (o.seed = 1; o.seed <= 20 && !found; o.seed++)
        for (o.think = 1; o.think <= 40 && !found; o.think++, all++) {
            const struct told t = told(m, &o, NULL);
            const size_t n = strlen(t.thought);
            const bool line = n && t.thought[n - 1] == '\n';

            found += line;
            good += !strncmp(text_of(m, &t, (size_t)o.think, t.n_id - t.n_kept - 1), line ? "</think>" : "\n</think>", 8);
        }
    ok(found && good > 1 && good == all, "a newline in front of the mark, and the model's own: %zu", good);
}

/* The same bytes with guesses and without, with any number of threads; and of a method that goes on acting. */
static void same(gkv_model *m)
{
    static const char *const method[] = { "full", "gemfilter", "snapkv", "h2o:recent=8,evict=step", "streamingllm-online" };

    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        gkv_options o = options(method[i], 20);
        struct told a, b;

        o.keep = i < 3 ? 90 : 50;
        o.draft = 0;
        o.threads = 2;
        acts = NULL;
        a = told(m, &o, NULL);
        o.draft = 4;
        o.threads = 1;
        b = told(m, &o, NULL);
        ok(a.status == GKV_END && a.stats.tokens_thought == 20 && a.n_id == b.n_id &&
           !memcmp(a.id, b.id, a.n_id * sizeof *a.id) && !strcmp(a.answer, b.answer) && (i > 2 || b.stats.drafted),
           "%s: the same with guesses, with one thread", method[i]);
        if (acts)
            ok(seen == 1, "%s sees one token at a time: %zu", method[i], seen);
    }
}

/* All that a session may be asked, and told that the model cannot. */
static void refusals(gkv_model *m)
{
    gkv_options o = options("full", GKV_THINK);
    gkv_session *s = NULL;
    gkv_document *d = NULL;

    set_template(m, TEMPLATE("<think>\\n", "<think>\\n\\n</think>\\n\\n"));
    o.raw = 1;
    ok(gkv_session_open(&s, m, &o, &err) == GKV_INVALID && !s, "a raw prompt: %s", err.text);
    o.raw = 0;
    o.think = -2;
    ok(gkv_session_open(&s, m, &o, &err) == GKV_INVALID && !s, "a negative number: %s", err.text);
    o.think = 0;
    ok(!gkv_document_open(&d, m, &o, &err) && !gkv_document_feed(d, text, strlen(text), &err), "a document");
    o.think = 5;
    ok(!gkv_session_of(&s, d, &o, &err), "which can be asked with thinking");
    gkv_session_close(s);
    gkv_document_close(d);
    set_template(m, "{% if not enable_thinking %}/no{% endif %}" TEMPLATE("", "<think></think>"));
    o.think = 0;
    ok(!gkv_document_open(&d, m, &o, &err) && !gkv_document_feed(d, text, strlen(text), &err), "a document");
    o.think = 5;
    ok(gkv_session_of(&s, d, &o, &err) == GKV_INVALID && !s, "whose template says it in front: %s", err.text);
    gkv_document_close(d);
    set_template(m, TEMPLATE("", ""));
    ok(gkv_session_open(&s, m, &o, &err) == GKV_INVALID && !s, "no thinking: %s", err.text);
}

int main(void)
{
    gkv_model *m = NULL;
    const char *level;
    unsigned mask;
    char path[512];

    splits();
    if (BIG_ENDIAN_HOST)
        return done();
    /* What a model thinks hangs on rounding, so levels beyond the first with vectors are not used. */
    if ((level = gkv__simd_level(1, &mask)) && (gkv__cpu_detect() & mask) == mask)
        setenv("GEMKV_CPU", level, 1);
    snprintf(path, sizeof path, "%s/data/gemkv-mini-q8_0.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    set_template(m, TEMPLATE("<think>\\n", "<think>\\n\\n</think>\\n\\n"));
    answers(m);
    newline(m);
    same(m);
    refusals(m);
    gkv_model_close(m);
    return done();
}
