/* SPDX-License-Identifier: BSD-2-Clause
 * unit-guess.c - answers with guessed tokens on a device: gpu/null, which is this processor and computes row by row, so they are
 * those without guesses to the last bit of each token's logits; and what happens when it fails */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/session.h"
#include "tests/level.h"
#include "tests/plugins.h"
#include "tests/tap.h"

enum { LONG = 40 };

static const char text[] =
    "Line 1: the cat and the hat sat on mat number 7. Line 2: the cat and the hat sat on mat number 8.\n"
    "Line 3: the cat and the hat sat on mat number 9. The key is in the box.\n";
static const char question[] = "Which line is the cat in?", gbnf[] = "root ::= (\"cat and hat \" [0-9])+";

static gkv_error err;
static gkv_stats last;          /* of the last answer with guesses */
static uint64_t  drafted, accepted;

static gkv_model *model_named(const char *name)
{
    gkv_model *m = NULL;
    char path[512];

    snprintf(path, sizeof path, "%s/tests/files/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

static gkv_options options(const char *method)
{
    gkv_options o;

    gkv_options_init(&o);
    o.method = method;
    o.device = "null";
    o.keep = 90;
    o.max_tokens = LONG;
    o.threads = 1;
    o.ignore_end = 1;
    return o;
}

static gkv_session *asked(gkv_model *m, gkv_options o, uint32_t draft)
{
    gkv_session *s = NULL;
    gkv_status status;

    o.draft = draft;
    status = gkv_session_open(&s, m, &o, &err);
    if (!status) {
        s->decode.draft.always = draft;
        s->afford = 100;
        status = gkv_feed(s, text, strlen(text), &err);
    }
    if (!status)
        status = gkv_ask(s, question, strlen(question), &err);
    if (status)
        printf("# %s\n", err.text);
    return s;
}

/* What the choice of the next token is made from. */
static bool same_choice(const struct gkv__decode *a, const struct gkv__decode *b, bool best)
{
    return best ? a->best == b->best : !memcmp(a->logits, b->logits, a->m->shape.n_vocab * sizeof *a->logits);
}

/* With guesses and without, token by token.  Both stay on the device. */
static bool is_same(gkv_model *m, gkv_options o)
{
    gkv_session *a = asked(m, o, 0), *b = asked(m, o, 4);
    const bool best = !(o.temperature > 0) && !o.grammar && !(o.repeat_penalty > 0 && o.repeat_penalty != 1);
    gkv_status status[2] = { GKV_OK, GKV_OK };
    bool same = a && b;

    while (same && status[0] == GKV_OK) {
        const char *p[2] = { "", "" };
        size_t n[2] = { 0, 0 };

        same = same_choice(&a->decode, &b->decode, best);
        status[0] = gkv_next(a, &p[0], &n[0], &err);
        status[1] = gkv_next(b, &p[1], &n[1], &err);
        same = same && status[0] == status[1] && n[0] == n[1] && !memcmp(p[0], p[1], n[0]);
    }
    same = same && status[0] == GKV_END && a->decode.n_answer == o.max_tokens && a->decode.device && b->decode.device &&
           !memcmp(a->decode.id, b->decode.id, (a->decode.n_kept + o.max_tokens) * sizeof *a->decode.id);
    if (b)
        gkv_session_stats(b, &last);
    drafted += last.drafted;
    accepted += last.accepted;
    gkv_session_close(a);
    gkv_session_close(b);
    return same;
}

static void ways(gkv_model *m)
{
    static const char *const method[] = { "full", "gemfilter", "snapkv", "finch" };
    gkv_options o;
    gkv_grammar *g = NULL;

    ok(!gkv_grammar_open(&g, gbnf, strlen(gbnf), &err), "words that come again, and numbers that do not");
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        o = options(method[i]);
        ok(is_same(m, o) && last.drafted, "method %s: the best tokens, %d guessed", o.method, (int)last.drafted);
        o.grammar = g;
        ok(is_same(m, o) && last.accepted && last.drafted > last.accepted, "... by a grammar: %d of %d", (int)last.accepted,
           (int)last.drafted);
        o.temperature = 0.8f;
        for (o.seed = 1; o.seed <= 2; o.seed++)
            ok(is_same(m, o) && last.drafted, "... drawn");
        o.grammar = NULL;
        o.repeat_penalty = 1.3f;
        ok(is_same(m, o), "... drawn, with a penalty");
    }
    o = options("full");
    o.grammar = g;
    for (int block = 1; block <= 3; block++) {
        char number[2] = { (char)('0' + block), 0 };

        setenv("GEMKV_NULL_BLOCK", number, 1);
        ok(is_same(m, o) && (last.drafted > 0) == (block > 1), "a device that takes %d tokens at a time: %d guessed", block,
           (int)last.drafted);
    }
    unsetenv("GEMKV_NULL_BLOCK");
    o.max_tokens = 2;
    ok(is_same(m, o), "no room for more than one guess");
    gkv_grammar_close(g);
}

/* The other model is on the CPU. */
static void reader_guesses(gkv_model *m)
{
    gkv_options o = options("gemfilter");

    o.draft_reader = 1;
    o.reader = model_named("golden/mistral");
    ok(is_same(m, o) && last.drafted_reader > 8, "a reader guesses %d tokens", (int)last.drafted_reader);
    gkv_model_close(o.reader);
    o.reader = model_named("golden/llama3");            /* the same, so that its guesses are right */
    ok(is_same(m, o) && last.drafted_reader > 8 && last.accepted_reader > 8, "... a better one: %d of %d",
       (int)last.accepted_reader, (int)last.drafted_reader);
    gkv_model_close(o.reader);
}

/* Nothing is guessed where a state would have to be taken back, and a reader's silence is explained. */
static void states(gkv_model *reader)
{
    gkv_model *m = model_named("golden/qwen35");
    gkv_options o = options("full");
    gkv_session *s;

    ok(is_same(m, o) && !last.drafted, "layers with a state: %d guessed", (int)last.drafted);
    o.method = "gemfilter";
    o.reader = reader;
    o.draft_reader = 1;
    o.chat_template = "plain";          /* of which nothing is said */
    ok(is_same(m, o) && !last.drafted, "... nor by a reader: %d", (int)last.drafted);
    s = asked(m, o, 4);
    gkv_session_stats(s, &last);
    ok(last.warning && strstr(last.warning, "does not take back"), "... with a warning: %s", last.warning ? last.warning : "none");
    gkv_session_close(s);
    o.draft_reader = 0;
    s = asked(m, o, 4);
    gkv_session_stats(s, &last);
    ok(!last.warning || !strstr(last.warning, "does not take back"), "... which is none where a reader was not to guess");
    gkv_session_close(s);
    gkv_model_close(m);
}

/* The whole answer. */
static void answer(gkv_session *s, char out[4096])
{
    const char *p;
    size_t n;

    *out = 0;
    while (s && gkv_next(s, &p, &n, &err) == GKV_OK)
        strncat(out, p, n);
    gkv_session_stats(s, &last);
}

/* The device fails in one of its calls: then the answer is the CPU's, and what was not checked was not guessed. */
static void failures(gkv_model *m)
{
    static const char *const fail[] = { "guess", "guess:1", "guess:4", "step:2", "begin" };
    gkv_options o = options("gemfilter");
    gkv_grammar *g = NULL;
    static char want[4096], got[4096];
    gkv_session *s;

    ok(!gkv_grammar_open(&g, gbnf, strlen(gbnf), &err), "the grammar");
    o.grammar = g;
    o.gemm = "exact";                   /* as the device computes them, so that draws are the same */
    for (int drawn = 0; drawn < 2; drawn++) {
        o.temperature = drawn ? 0.8f : 0;
        o.seed = 5;
        o.device = "cpu";
        s = asked(m, o, 4);
        answer(s, want);
        gkv_session_close(s);
        o.device = "null";
        for (size_t i = 0; i < sizeof fail / sizeof *fail; i++) {
            setenv("GEMKV_NULL_FAIL", fail[i], 1);
            s = asked(m, o, 4);
            answer(s, got);
            ok(*got && !strcmp(got, want) && !s->decode.device && last.warning && strstr(last.warning, "was told to fail"),
               "the device fails, %s: %s", fail[i], last.warning ? last.warning : "no warning");
            ok(last.drafted && last.accepted && last.accepted < last.drafted && last.tokens_answer == LONG,
               "... %d of %d guesses were right", (int)last.accepted, (int)last.drafted);
            gkv_session_close(s);
        }
        unsetenv("GEMKV_NULL_FAIL");
    }
    gkv_grammar_close(g);
}

/* What steps take is learnt on the device, and of the second question it is known. */
static void costs(gkv_model *m)
{
    gkv_session *s = asked(m, options("full"), 4);
    static char got[4096];
    const struct gkv__draft *d = &s->decode.draft;

    answer(s, got);
    ok(d->one > 0 && d->more > 0 && d->spent > d->one, "a step takes %.1e s, a row more %.1e s", d->one, d->more);
    s->decode.draft.always = false;
    ok(!gkv_ask(s, question, strlen(question), &err) && d->one > 0, "a second question");
    answer(s, got);
    ok(*got && s->decode.device && d->one > 0, "... on the device");
    gkv_session_close(s);
    s = asked(m, options("full"), 0);
    answer(s, got);
    ok(!last.drafted && !(s->decode.draft.one > 0), "nothing is guessed, nothing is learnt");
    gkv_session_close(s);
}

int main(void)
{
    gkv_model *m;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    if (!null_device())
        return skip_all("no plugins in this build");
    set_level();
    m = model_named("golden/llama3");
    ways(m);
    reader_guesses(m);
    states(m);
    failures(m);
    costs(m);
    gkv_model_close(m);
    ok(accepted > 50 && drafted > accepted + 50, "guesses were right, and others wrong: %d of %d", (int)accepted, (int)drafted);
    return done();
}
