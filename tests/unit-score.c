/* SPDX-License-Identifier: BSD-2-Clause
 * unit-score.c - the measures of gemkv eval against other implementations (build-aux/score-vectors.py),
 * and the JSON reader that reads them */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/json-parse.h"
#include "src/cli/eval/score.h"
#include "src/cli/eval/stem.h"
#include "tests/file.h"
#include "tests/tap.h"

enum { MAX_REFS = 8 };

static struct value *parse(const char *s, const char **why)
{
    static char copy[1 << 17];
    size_t      at;

    snprintf(copy, sizeof copy, "%s", s);
    return parse_json(copy, strlen(copy), why, &at);
}

/* Number of metrics of a line that differ. */
static int check_line(const struct value *v)
{
    struct refs refs = { (char *[MAX_REFS]){ NULL }, 0 };
    double      score[N_METRICS];
    int         bad = 0;

    for (const struct value *a = parse_member(v, "answers")->first; a; a = a->next)
        refs.ref[refs.n++] = (char *)a->text;
    score_answer(parse_string(v, "answer"), &refs, score);
    for (int i = 0; i < N_METRICS; i++) {
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

int main(void)
{
    vectors();
    json();
    return done();
}
