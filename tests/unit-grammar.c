/* SPDX-License-Identifier: BSD-2-Clause
 * unit-grammar.c - GBNF: which texts a grammar accepts, which grammars are refused, and that nothing goes wrong with
 * those that are meant to do harm. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/grammar.h"
#include "tests/rng.h"
#include "tests/tap.h"

static gkv_error err;

static gkv_grammar *grammar(const char *text)
{
    gkv_grammar *g = NULL;

    if (gkv_grammar_open(&g, text, strlen(text), &err))
        printf("# %s\n", err.text);
    return g;
}

/* How much of the text the grammar accepts as a beginning; *whole: all of it, and it may end there.  Bytes are given in
 * pieces of n, after a trial that must say the same. */
static size_t accepts(const gkv_grammar *g, const char *text, size_t n, bool *whole)
{
    struct gkv__match *m = NULL;
    const size_t len = strlen(text);
    size_t at = 0;

    *whole = false;
    if (!g || gkv__match_open(&m, g, UINT64_MAX, &err))
        return 0;
    while (at < len) {
        const size_t k = len - at < n ? len - at : n;
        const bool fits = gkv__match_fits(m, text + at, k, UINT64_MAX);
        bool byte[256];

        gkv__match_bytes(m, byte);
        if (fits && !byte[(unsigned char)text[at]])
            printf("# byte %u is not among those that may come\n", (unsigned char)text[at]);
        if (fits != (gkv__match_take(m, text + at, k, &err) == GKV_OK))
            printf("# a trial and the text itself differ at byte %zu\n", at);
        if (!fits)
            break;
        at += k;
    }
    *whole = at == len && gkv__match_may_end(m);
    gkv__match_close(m);
    return at;
}

/* The least memory, in KiB, with which an answer of n characters is taken, by bisection; 0: with less, something else than
 * GKV_LIMIT and its sentence was said. */
static uint64_t least_memory(const gkv_grammar *g, size_t n)
{
    uint64_t no = 0, yes = 64 << 10;

    while (yes - no > 1) {
        const uint64_t most = (no + yes) / 2;
        struct gkv__match *m = NULL;
        gkv_status status = gkv__match_open(&m, g, most << 10, &err);

        for (size_t i = 0; i < n && status == GKV_OK; i++)
            status = gkv__match_take(m, "a", 1, &err);
        gkv__match_close(m);
        if (status != GKV_OK && (status != GKV_LIMIT || !strstr(err.text, "raise --memory")))
            return 0;
        *(status == GKV_OK ? &yes : &no) = most;
    }
    return yes;
}

static void test_memory(void)
{
    char *text = malloc(16 + 7 * 1000), *p = text + sprintf(text, "root ::=");
    gkv_grammar *g = grammar("root ::= \"a\"*"), *stars;
    uint64_t few, many;

    for (size_t i = 0; i < 1000; i++)
        p += sprintf(p, " [a-z]*");
    stars = grammar(text);
    few = least_memory(g, 100);
    many = least_memory(stars, 3);
    /* A thousand items of 8 bytes in arrays that double, a table of 16 bytes each that is half full at most, and frames with
     * edges of 16 bytes: sizes that no machine changes. */
    ok(few > 5 && few < 8, "a plain grammar takes %" PRIu64 " KiB", few);
    ok(many > 940 && many < 1000, "one of a thousand repetitions %" PRIu64, many);
    few = least_memory(stars, 10);
    ok(few >= many && few < 4 * many, "and with a longer answer %" PRIu64, few);
    gkv_grammar_close(g);
    gkv_grammar_close(stars);
    free(text);
}

/* Texts of a grammar, "+" and those that are none of it, "-"; "~" those that only begin one. */
static const struct { const char *grammar, *texts[14]; } table[] = {
    { "root ::= \"a\"", { "+a", "-b", "~", "-aa", "-A" } },
    { "root ::= \"\"", { "+", "-a" } },
    { "root ::= \"a\" | \"b\" | ", { "+a", "+b", "+", "-c" } },
    { "root ::= \"a\"*", { "+", "+a", "+aaaa", "-ab" } },
    { "root ::= \"ab\"+", { "~", "+ab", "+abab", "~aba", "-abb" } },
    { "root ::= \"a\"? \"b\"", { "+ab", "+b", "-aab" } },
    { "root ::= \"a\"{3}", { "~aa", "+aaa", "-aaaa" } },
    { "root ::= \"a\"{2,}", { "~a", "+aa", "+aaaaaa" } },
    { "root ::= \"a\"{2,4}", { "~a", "+aa", "+aaa", "+aaaa", "-aaaaa" } },
    { "root ::= \"a\"{,2}", { "+", "+a", "+aa", "-aaa" } },
    { "root ::= \"a\"{0}", { "+", "-a" } },
    { "root ::= \"a\"{0,1}", { "+", "+a", "-aa" } },
    { "root ::= (\"a\" | \"b\"){2} \"c\"", { "+abc", "+bbc", "-ac", "-abab" } },
    { "root ::= ((\"a\"?){2,3} \"b\"){2}", { "+bb", "+aaabaaab", "-aaaab" } },
    { "root ::= (\"a\"*)*", { "+", "+aaa", "-b" } },
    { "root ::= (\"a\" | )+ \"b\"", { "+b", "+aab" } },
    { "root ::= [a-cx]", { "+a", "+b", "+c", "+x", "-d", "-w", "-" } },
    { "root ::= [^a-c\\n]+", { "+d", "-a", "-\n", "+d e", "+\xc3\xa9", "+\xf0\x9f\x98\x80" } },
    { "root ::= [a-]+", { "+a-a", "-b" } },
    { "root ::= [\\]\\[\\\\\\-^]+", { "+][\\-^", "-a" } },
    { "root ::= [\\x41-\\x43\\u00e9\\U0001F600]", { "+A", "+C", "+\xc3\xa9", "+\xf0\x9f\x98\x80", "-D", "~\xc3", "-\xc4", "~\xf0\x9f\x98" } },
    { "root ::= [^\\x00-\\x7F]", { "+\xc3\xa9", "-a", "-\xc0\x80", "-\xe0\x80\x80", "-\xed\xa0\x80", "-\xf4\x90\x80\x80", "-\xff", "-\x80" } },
    { "root ::= [\xd0\xb0-\xd1\x8f]+", { "+\xd0\xb0\xd1\x8f", "-\xd1\x90", "~\xd0", "-\xd2" } },
    { "root ::= .", { "+a", "+\n", "+\xc3\xa9", "-ab" } },
    { "root ::= . \"b\" .*", { "+ab", "+abcd\n", "-a\n" } },
    { "root ::= \"\\x41\\u0042\\U00000043\\t\\r\\n\\\\\\\"\\[\\]\"", { "+ABC\t\r\n\\\"[]" } },
    { "root ::= \"\xc3\xa9\"", { "+\xc3\xa9", "~\xc3", "-\xc3\xa8" } },
    { "# a comment\nroot ::= a # another\n  \n# more\na ::= \"x\" (\n \"y\" # in\n | \"z\"\n)\n", { "+xy", "+xz", "-x\n" } },
    { "root ::= a |\n  b\na ::= \"a\"\nb ::= \"b\"", { "+a", "+b" } },
    { "a-1 ::= \"a\"\r\nroot ::= a-1 a-1\r\n", { "+aa", "~a" } },
    { "root ::= e\ne ::= e \"+\" t | t\nt ::= [0-9] | \"(\" e \")\"", { "+1", "+1+2", "+(1+2)+3", "-+1", "~1+", "-1)" } },
    { "root ::= \"(\" root \")\" | \"\"", { "+", "+()", "+((()))", "-)", "~((", "-(()))" } },
    { "root ::= a \"c\"\na ::= b a | \"\"\nb ::= \"b\" | \"\"", { "+c", "+bbc", "-a" } },
    { "root ::= root root | \"a\"", { "~", "+a", "+aaaaaa", "-b" } },
    { "root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"", { "+abba", "~aba", "+aa", "+abbbba" } },
    { "root ::= x x x\nx ::= (\"a\" | \"ab\")?", { "+", "+abab", "+aab", "+ababab", "-aaaa" } },
};

static bool judge(const gkv_grammar *g, const char *text)
{
    bool good = g != NULL;

    for (size_t n = 1; n <= 4; n++) {
        bool whole;
        const size_t at = accepts(g, text + 1, n, &whole), len = strlen(text + 1);

        good = good && whole == (*text == '+') && (*text == '-' ? at < len || !len : at == len);
    }
    return good;
}

static const struct { const char *grammar, *why; } refused[] = {
    { "", "no rule root" }, { "a ::= \"a\"", "no rule root" }, { "root ::= b", "a rule b, which" },
    { "root ::= \"a", "line 1: a text in quotes" }, { "root ::= [a", "a class of characters does not end" },
    { "root ::= []", "an empty class" }, { "root ::= [z-a]", "a range of characters" },
    { "root ::= (\"a\"", "')' is missing" }, { "root ::= \"a\")", "but not the line" }, { "root ::= *", "nothing stands" },
    { "root ::= \"a\"{2", "'}' is missing" }, { "root ::= \"a\"{x}", "a number of repetitions" },
    { "root ::= \"a\"{3,2}", "is smaller than" }, { "root ::= \"a\"{100001}", "more than 100000" },
    { "root ::= \"a\"{99999999999999999999}", "more than 100000" },
    { "root ::= (\"a\"{100000}){100000} (\"b\" \"c\"){50000} (\"d\"{0,100000} | \"e\"{0,100000}) \"f\"{0,100000} \"g\"{0,100000}",
      "larger than" },
    { "root = \"a\"", "'::=' is missing" }, { "\n\nroot ::= \"\\q\"", "line 3: unknown escape" },
    { "root ::= \"\\x4\"", "\\x needs 2" }, { "root ::= \"\\U00110000\"", "above that of any" },
    { "root ::= \"\\x00\"", "no character" }, { "root ::= \"\\uD800\"", "no character" },
    { "root ::= \"a\"\nroot ::= \"b\"", "line 2: this rule is defined a second time" },
    { "root ::= \"a\" root", "rule root never ends" }, { "root ::= \"b\" | a\na ::= \"a\" a", "rule a never ends" },
    { "root ::= [^\\x01-\\U0010FFFF]", "never ends" }, { "root ::= <think>", "are not supported" },
    { "root ::= !\"a\"", "are not supported" }, { "root ::= \xff", "not UTF-8" }, { "root ::= a_b", "the name of a rule is missing" },
};

static bool is_refused(const char *text, const char *why)
{
    gkv_grammar *g = NULL;
    gkv_status status = gkv_grammar_open(&g, text, strlen(text), &err);
    const bool good = status == GKV_INVALID && !g && strstr(err.text, why);

    if (!good)
        printf("# %s\n", status ? err.text : "accepted");
    gkv_grammar_close(g);
    return good;
}

/* Groups in groups. */
static gkv_status nested(size_t n, bool *whole)
{
    char *text = malloc(2 * n + 32);
    gkv_grammar *g = NULL;
    gkv_status status;
    size_t at = (size_t)sprintf(text, "root ::= ");

    memset(text + at, '(', n);
    at += n;
    at += (size_t)sprintf(text + at, "\"a\"");
    memset(text + at, ')', n);
    status = gkv_grammar_open(&g, text, at + n, &err);
    *whole = g && accepts(g, "a", 1, whole) == 1 && *whole;
    gkv_grammar_close(g);
    free(text);
    return status;
}

/* n characters of the pattern; returns whether all fit, within bounds of memory. */
static bool long_text(const char *rules, const char *pattern, size_t n, bool may_end)
{
    gkv_grammar *g = grammar(rules);
    struct gkv__match *m = NULL;
    bool good = g && !gkv__match_open(&m, g, UINT64_MAX, &err);

    for (size_t i = 0; i < n && good; i++)
        good = gkv__match_fits(m, &pattern[i % strlen(pattern)], 1, UINT64_MAX) &&
               !gkv__match_take(m, &pattern[i % strlen(pattern)], 1, &err);
    good = good && gkv__match_may_end(m) == may_end;
    gkv__match_close(m);
    gkv_grammar_close(g);
    return good;
}

/* Bytes that bring the answer to its end after the text. */
/* More than there is room for: the message says so, and nothing is taken any more. */
static void test_room(void)
{
    enum { MOST = 1 << 17, DEEP = 1 << 20 };
    static char      brackets[1 << 16];
    char            *text = malloc(16 + 4 * (MOST + 2)), *p = text;
    gkv_grammar     *g = grammar("root ::= \"(\" root \")\" | \"\"");
    struct gkv__match *m = NULL;
    gkv_status       status = GKV_OK;
    size_t           n = 0;

    memset(brackets, '(', sizeof brackets);
    if (g && gkv__match_open(&m, g, UINT64_MAX, &err) == GKV_OK)
        for (; status == GKV_OK && n < 4 * DEEP; n += sizeof brackets)
            status = gkv__match_take(m, brackets, sizeof brackets, &err);
    ok(status == GKV_INVALID && strstr(err.text, "the grammar is too ambiguous") && n > DEEP / 2 && n < 4 * DEEP,
       "%zu open brackets: %s", n, err.text);
    ok(gkv__match_take(m, ")", 1, &err) == GKV_INVALID && gkv__match_status(m, &err) == GKV_INVALID, "... and no more");
    gkv__match_close(m);
    gkv_grammar_close(g);
    p += sprintf(p, "root ::= [a]");
    for (size_t i = 0; i < MOST; i++)
        p += sprintf(p, "|[a]");
    g = NULL;
    m = NULL;
    ok(gkv_grammar_open(&g, text, (size_t)(p - text), &err) == GKV_OK && gkv__match_open(&m, g, UINT64_MAX, &err) == GKV_INVALID && !m &&
       strstr(err.text, "more than 65536 ways"), "too many beginnings: %s", err.text);
    gkv__match_close(m);
    gkv_grammar_close(g);
    free(text);
}

static uint64_t least(const char *rules, const char *text)
{
    gkv_grammar *g = grammar(rules);
    struct gkv__match *m = NULL;
    uint64_t n = 12345;

    if (g && !gkv__match_open(&m, g, UINT64_MAX, &err) && (!*text || !gkv__match_take(m, text, strlen(text), &err)))
        n = gkv__match_least(m);
    gkv__match_close(m);
    gkv_grammar_close(g);
    return n;
}

static void test_least(void)
{
    static const struct { const char *rules, *text; uint64_t want; } row[] = {
        { "root ::= \"abc\"", "", 3 }, { "root ::= \"abc\"", "ab", 1 }, { "root ::= \"abc\"", "abc", 0 },
        { "root ::= \"abcdef\" | \"ax\"", "", 2 }, { "root ::= \"abcdef\" | \"ax\"", "ab", 4 },
        { "root ::= \"(\" root \")\" | \"x\"", "(((", 4 }, { "root ::= \"a\"{3,9}", "a", 2 },
        { "root ::= [^a]+ \"\xc3\xa9\"", "", 3 }, { "root ::= \"[\" v \"]\"\nv ::= o | \"1\"\no ::= \"{\" v \"}\"", "[{", 3 },
        { "root ::= a\na ::= b\nb ::= c\nc ::= a \"x\" | \"y\"", "", 1 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ok(least(row[i].rules, row[i].text) == row[i].want, "%u more bytes after \"%s\"", (unsigned)row[i].want, row[i].text);
}

/* Grammars of random characters: refused with a reason, or fit for use. */
static void test_random(void)
{
    static const char *const word[] = { "root", " ::= ", "\"a\"", "\"", "[a-z]", "[^", "]", "(", ")", "|", "*", "+", "?", "{2}", "{",
                                        "}", "\n", " ", "a", "b", "#", "\\", ".", "{0,3}", "\n a ::= ", "\nb ::= \"b\" | ", "\xc3" };
    unsigned accepted = 0;
    bool good = true;

    for (int round = 0; round < 20000 && good; round++) {
        char text[512] = "root ::= ";
        gkv_grammar *g = NULL;
        bool whole;
        gkv_status status;

        for (uint32_t i = rng() % 24; i; i--)
            strcat(text, word[rng() % (sizeof word / sizeof *word)]);
        *err.text = 0;
        status = gkv_grammar_open(&g, text, strlen(text), &err);
        good = status ? !g && *err.text : g != NULL;
        accepted += !status;
        if (g)
            accepts(g, "aabbab", 1, &whole);
        gkv_grammar_close(g);
    }
    ok(good && accepted > 100, "random texts: refused with a reason, or grammars (%u)", accepted);
}

/* Names of which a sum of bytes times powers of 33 is the same for all: they take no longer than others. */
static void test_colliding(void)
{
    enum { BITS = 17, N = 1 << BITS };
    const size_t room = (size_t)N * (2 * BITS + 16);
    char *text = malloc(room), *p = text;
    gkv_grammar *g = NULL;

    p += sprintf(p, "root ::= \"x\"\n");
    for (unsigned i = 0; i < N; i++) {
        for (int bit = 0; bit < BITS; bit++)
            p += sprintf(p, "%s", i >> bit & 1 ? "az" : "bY");
        p += sprintf(p, " ::= \"y\"\n");
    }
    ok(!gkv_grammar_open(&g, text, (size_t)(p - text), &err), "%d names with the same sum: %s", N, err.text);
    gkv_grammar_close(g);
    free(text);
}

int main(void)
{
    bool whole;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        gkv_grammar *g = grammar(table[i].grammar);
        bool good = true;

        for (size_t j = 0; table[i].texts[j]; j++)
            if (!judge(g, table[i].texts[j])) {
                printf("# wrong about %s\n", table[i].texts[j]);
                good = false;
            }
        ok(good, "%.*s", (int)strcspn(table[i].grammar, "\n#"), table[i].grammar);
        gkv_grammar_close(g);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ok(is_refused(refused[i].grammar, refused[i].why), "refused: %s", refused[i].why);
    ok(!nested(100, &whole) && whole, "100 groups in each other");
    ok(nested(101, &whole) == GKV_INVALID && nested(100000, &whole) == GKV_INVALID, "101, or 100000, are refused");
    test_room();
    ok(long_text("root ::= \"a\"*", "a", 200000, true), "a long repetition");
    ok(long_text("root ::= x\nx ::= [a-z] x | \"\"", "ab", 200000, true), "... written with a rule that ends with itself");
    ok(long_text("root ::= | root [a-z]", "ab", 200000, true), "... and with one that begins with itself");
    ok(long_text("root ::= \"(\" root \")\" | \"\"", "(", 5000, false), "5000 open brackets");
    ok(long_text("root ::= \"[\" (v (\",\" v)*)? \"]\"\nv ::= [0-9]{1,3} | \"'\" [^']* \"'\"", "[", 1, false), "a list");
    ok(long_text("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"\"", "a", 300, false), "texts that can be read in 2^300 ways");
    ok(long_text("root ::= (\"a\"? \"a\"? (\"a\" | \"aa\")* )*", "a", 300, true), "... and others");
    test_least();
    test_random();
    test_colliding();
    test_memory();
    return done();
}
