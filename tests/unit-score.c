/* SPDX-License-Identifier: BSD-2-Clause
 * unit-score.c - the measures of gemkv eval against other implementations (build-aux/score-vectors.py),
 * and the JSON reader that reads them */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/json-parse.h"
#include "src/cli/eval/score.h"
#include "src/cli/eval/stem.h"
#include "tests/file.h"
#include "tests/tap.h"

enum { MAX_REFS = 40000 };

static struct value *parse(const char *s, const char **why)
{
    static char copy[1 << 20];
    size_t      at;

    snprintf(copy, sizeof copy, "%s", s);
    return parse_json(copy, strlen(copy), why, &at);
}

/* Number of metrics of a line that differ. */
static int check_line(const struct value *v)
{
    static char *ref[MAX_REFS];
    struct refs refs = { ref, 0 }, none = { NULL, 0 };
    double      score[N_METRICS];
    int         bad = 0;

    for (const struct value *a = parse_member(v, "answers")->first; a; a = a->next)
        refs.ref[refs.n++] = (char *)a->text;
    score_answer(EM, parse_string(v, "answer"), &refs, &none, score);
    for (int i = 0; i < N_COMMON; i++) {
        double want = parse_number(v, metric_name[i], NAN);

        if (fabs(score[i] - want) < 1e-9)
            continue;
        bad++;
        printf("# %s: %.9f instead of %.9f: %s\n", metric_name[i], score[i], want,
               parse_string(v, "answer"));
    }
    return bad;
}

static int check_stems(const struct value *v)
{
    const struct value *want = parse_member(v, "stems")->first;
    int                 bad = 0;

    for (const struct value *w = parse_member(v, "words")->first; w; w = w->next) {
        char   word[64];
        size_t n = (size_t)snprintf(word, sizeof word, "%s", w->text);

        n = stem(word, n);
        if (n != want->len || memcmp(word, want->text, n)) {
            printf("# %s: %.*s instead of %s\n", w->text, (int)n, word, want->text);
            bad++;
        }
        want = want->next;
    }
    return bad;
}

static void vectors(void)
{
    size_t      len;
    char       *text = slurp("tests/files/score.jsonl", &len), *line = text;
    const char *why;
    int         bad = 0, n = 0;

    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        struct value *v;

        *end = 0;
        v = parse(line, &why);
        if (parse_member(v, "stems"))
            ok(check_stems(v) == 0, "stems");
        else
            bad += v ? check_line(v) : 1;
        n++;
        parse_free(v);
    }
    ok(n > 100 && bad == 0, "%d answers", n);
    free(text);
}

/* ---- scores of the data sets' own scripts (build-aux/score-sets.py) --------------------- */
static void add(struct refs *r, const struct value *v)
{
    for (const struct value *a = v ? v->first : NULL; a; a = a->next)
        if (r->n < MAX_REFS)
            r->ref[r->n++] = (char *)a->text;
}

static bool check_set(struct value *v)
{
    const char  *answer = parse_string(v, "answer"), *name = parse_string(v, "metric");
    static char *ref[MAX_REFS], *class[MAX_REFS];
    struct refs  refs = { ref, 0 }, classes = { class, 0 };
    const double want = parse_number(v, "score", NAN);
    double       score[N_METRICS];
    const enum metric m = metric_of(name ? name : "");

    add(&refs, parse_member(v, "answers"));
    add(&classes, parse_member(v, "classes"));
    if (!answer || m == N_METRICS)
        return false;
    score_answer(m, answer, &refs, &classes, score);
    if (fabs(score[m] - want) < (m == ALL ? 5.1e-5 : 1e-9))     /* RULER's is rounded */
        return true;
    printf("# %s: %.9f instead of %.9f: %s | %s\n", name, score[m], want, answer, refs.n ? refs.ref[0] : "");
    return false;
}

/* At least `least` lines, and some with and some without a point of each measure that is not common. */
static void sets(const char *path, int least)
{
    size_t len;
    char  *text = slurp(path, &len), *line = text;
    bool   zero[N_METRICS] = { false }, more[N_METRICS] = { false };
    int    bad = 0, n = 0, seen = 0;

    for (char *end; (end = strchr(line, '\n')); line = end + 1, n++) {
        const char   *why;
        struct value *v;
        enum metric   m;

        *end = 0;
        v = parse(line, &why);
        bad += !v || !check_set(v);
        m = v ? metric_of(parse_string(v, "metric")) : N_METRICS;
        if (m < N_METRICS)
            *(parse_number(v, "score", 0) > 0 ? &more[m] : &zero[m]) = true;
        parse_free(v);
    }
    free(text);
    for (int m = N_COMMON; m < N_METRICS; m++)
        seen += zero[m] && more[m];
    ok(n >= least && !bad, "%d answers, scored as the data sets' scripts do; %d are not", n, bad);
    ok(seen == N_METRICS - N_COMMON, "%d of %d measures with scores of 0 and above", seen, N_METRICS - N_COMMON);
}

static void json(void)
{
    static const char *const wrong[] = {
        "", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "[1 2]", "\"a", "\"\\x\"", "\"\\u12g4\"", "nul",
        "01", "1.", "-", "1e", "{a:1}", "[1] 2", "\"\t\"", "+1", ".5"
    };
    const char   *why;
    struct value *v = parse(" {\"a\\u00e9\\n\\\"\" : [1, -2.5e1, true, null, \"\\ud83d\\ude00\", "
                            "\"\\ud83d\", {}, []]} ", &why);
    const struct value *a = parse_member(v, "a\xc3\xa9\n\"");
    char deep[300];

    ok(a && a->type == PARSE_ARRAY && a->first->number == 1 && a->first->next->number == -25,
       "numbers");
    a = a ? a->first->next->next : NULL;
    ok(a && a->type == PARSE_TRUE && a->next->type == PARSE_NULL, "words");
    a = a ? a->next->next : NULL;
    ok(a && !strcmp(a->text, "\xf0\x9f\x98\x80") && !strcmp(a->next->text, "\xef\xbf\xbd"),
       "a pair, and half of one");
    parse_free(v);
    v = parse("\"a\\u0000b\"", &why);
    ok(v && v->len == 3, "a NUL");
    parse_free(v);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        why = NULL;
        ok(!parse(wrong[i], &why) && why, "refused: %s: %s", wrong[i], why ? why : "");
    }
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    ok(!parse(deep, &why) && !strcmp(why, "too deep"), "too deep");
}

/* L-Eval compares what Python's float() reads. */
static void numbers(void)
{
    static const struct { const char *answer, *ref; double score; } rows[] = {
        { "inf", "Infinity", 1 }, { "-inf", " -Infinity ", 1 }, { "+inf", "infinity", 1 }, { "-inf", "infinity", 0 },
        { "nan", "nan", 0 }, { "+nan", "nan", 0 }, { "1_0", "10", 1 }, { "1__0", "10", 0 }, { "+1.", "1", 1 }, { "infinit", "infinity", 0 }
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char           *ref[] = { (char *)(uintptr_t)rows[i].ref };
        struct refs     one = { ref, 1 }, none = { NULL, 0 };
        double          score[N_METRICS];

        score_answer(LEVAL_EM, rows[i].answer, &one, &none, score);
        ok(fabs(score[LEVAL_EM] - rows[i].score) < 1e-9, "%s and %s: %g", rows[i].answer, rows[i].ref, score[LEVAL_EM]);
    }
}

/* Each measure by its name, as --metric and rows give it. */
static void names(void)
{
    int bad = 0;

    for (int m = 0; m < N_METRICS; m++)
        bad += (int)metric_of(metric_name[m]) != m;
    ok(!bad && metric_of("") == N_METRICS && metric_of("f2") == N_METRICS, "measures by name");
}

/* With a file: other answers of build-aux/score-sets.py. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        sets(argv[1], 1);
        return done();
    }
    vectors();
    names();
    numbers();
    sets("tests/files/score-sets.jsonl", 60);
    json();
    return done();
}
