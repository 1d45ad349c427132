/* SPDX-License-Identifier: BSD-2-Clause
 * score-infinitebench.c - measures of InfiniteBench, as its scripts have them
 *
 * What looks arbitrary here is the script's: its order of tests, its first number that counts.
 * build-aux/score-sets.py compares all of it with the script. */
#include "config.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-parts.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* A copy whose bytes of `set` are spaces. */
static char *blanked(const char *s, const char *set)
{
    char *copy = format("%s", s);

    for (char *p = copy; *p; p++)
        *p = strchr(set, *p) ? ' ' : *p;
    return copy;
}

static char *single_spaces(char *s)
{
    while (has(s, "  "))
        s = replaced(s, "  ", " ");
    return s;
}

static bool holds(const struct refs *refs, const char *s, size_t n)
{
    for (size_t i = 0; i < refs->n; i++)
        if (strlen(refs->ref[i]) == n && !memcmp(refs->ref[i], s, n))
            return true;
    return false;
}

/* Whether a[0 .. n) and b are the same integer; a sign, leading zeros and single '_' between digits are allowed. */
static bool same_integer(const char *a, size_t n, const char *b)
{
    const struct { const char *s; size_t n; } in[2] = { { a, n }, { b, strlen(b) } };
    char *out[2];
    bool  same = true;

    for (int i = 0; i < 2; i++) {
        const char *s = in[i].s, *end = s + in[i].n;
        const bool  minus = s < end && *s == '-';
        size_t      k = 0;

        out[i] = grow(NULL, in[i].n + 2, 1);
        s += s < end && (*s == '-' || *s == '+');
        same = same && s < end;
        for (; s < end; s++)
            if (isdigit((unsigned char)*s)) {
                if (k || *s != '0')
                    out[i][k++] = *s;
            } else if (*s != '_' || s == in[i].s || s + 1 == end || !isdigit((unsigned char)s[1]) ||
                       !isdigit((unsigned char)s[-1])) {
                same = false;
            }
        out[i][k] = minus && k ? '-' : '+';
        out[i][k + 1] = 0;
    }
    same = same && !strcmp(out[0], out[1]);
    free(out[0]);
    free(out[1]);
    return same;
}

static struct wordlist plain_words(const char *s)
{
    return wordlist_rouge(s, false);
}

static const char *first_of(const struct refs *refs)
{
    return refs->n ? refs->ref[0] : "";
}

static bool is_word_of(const char *answer, const char *ref, const char *separators)
{
    char           *s = blanked(answer, separators);
    struct wordlist w = white_words(s);
    bool            found = false;

    for (size_t i = 0; i < w.n; i++)
        found = found || !strcmp(w.word[i], ref);
    wordlist_free(&w);
    free(s);
    return found;
}

double infinite_kv(const char *answer, const char *ref)
{
    return is_word_of(answer, ref, "\n:\"'.,?!{}");
}

double infinite_digits(const char *answer, const struct refs *refs, const struct refs *classes)
{
    const char *ref = first_of(refs);
    size_t      n;

    (void)classes;
    if (!next_digits(&answer, &n, true))
        return !*ref;
    return strlen(ref) == n && !memcmp(answer, ref, n);
}

double infinite_code_run(const char *answer, const struct refs *refs, const struct refs *classes)
{
    char           *s = blanked(answer, "\n.`'\":");
    struct wordlist w = white_words(s);
    const char     *last = w.n ? w.word[w.n - 1] : "";
    const double    v = same_integer(last, strlen(last), first_of(refs));

    (void)classes;
    wordlist_free(&w);
    free(s);
    return v;
}

/* What follows the first of these words that the answer has, and one more letter; NULL: it has none, or ends there. */
static const char *after(const char *s, const char *const *words, size_t n, bool *any)
{
    for (size_t i = 0; i < n; i++) {
        const char *at = strstr(s, words[i]);
        uint32_t    c;

        if (!at)
            continue;
        *any = true;
        at += strlen(words[i]);
        return *at ? at + utf8_next(at, strlen(at), &c) : NULL;
    }
    return NULL;
}

/* refs: the function's name and the letter of its option. */
double infinite_code_debug(const char *answer, const struct refs *refs, const struct refs *classes)
{
    static const char *const words[] = { "answer is:", "is:", "answer:", "correct option is:" };
    const char *name = first_of(refs), *letter = refs->n > 1 ? refs->ref[1] : "", *rest;
    char       *s = stripped(answer);
    const char  behind = begins(s, letter) ? s[strlen(letter)] : 0;
    bool        any = false, right = *letter && (behind == '.' || behind == ':');

    (void)classes;
    if (!right) {
        char *spaced = replaced(replaced(blanked(s, "\n`'\"-*"), "Option", " "), "option", " ");

        spaced = single_spaces(spaced);
        rest = after(spaced, words, sizeof words / sizeof *words, &any);
        right = rest && (begins(rest, letter) || begins(rest, name));
        free(spaced);
    }
    free(s);
    return right;
}

double infinite_name(const char *answer, const struct refs *refs, const struct refs *classes)
{
    const char *ref = first_of(refs);
    char       *a = letter_lowered(answer), *r = letter_lowered(ref);
    bool        capitals = true;

    (void)classes;
    for (const char *s = ref; *s; s++)          /* words of the answer are in capitals, then */
        capitals = capitals && !(*s >= 'a' && *s <= 'z');
    capitals = capitals && is_word_of(a, r, "\n:\"'.,?!{}");
    free(a);
    free(r);
    return capitals;
}

/* refs: the option and its letter. */
double infinite_choice(const char *answer, const struct refs *refs, const struct refs *classes)
{
    static const char *const words[] = { "answer is:", "answer:", "answer is", "option is" };
    char       *s = stripped(answer), *spaced = NULL;
    bool        right, any = false;

    (void)classes;
    if (!*s) {
        right = false;
    } else if (*s >= 'A' && *s <= 'D') {
        right = holds(refs, s, 1);
    } else if (holds(refs, s, strlen(s))) {
        right = true;
    } else {
        const char *rest;

        spaced = single_spaces(blanked(s, "\n\"'.,?!{}"));
        rest = after(spaced, words, sizeof words / sizeof *words, &any);
        right = false;
        for (size_t i = 0; i < refs->n && rest; i++)
            right = right || begins(rest, refs->ref[i]);
    }
    if (spaced && !any) {                       /* the first word that is letters of the choice */
        struct wordlist w = white_words(spaced);
        size_t          i = 0;

        while (i < w.n && !has("ABCD", w.word[i]))
            i++;
        right = i < w.n && holds(refs, w.word[i], strlen(w.word[i]));
        wordlist_free(&w);
    }
    free(spaced);
    free(s);
    return right;
}

double infinite_find(const char *answer, const struct refs *refs, const struct refs *classes)
{
    const char *ref = first_of(refs);
    bool        real = ref[strcspn(ref, ".eE")];
    size_t      n, more;

    (void)classes;
    if (!next_digits(&answer, &n, true))
        return 0;
    more = answer[n] == '.' ? strspn(answer + n + 1, "0123456789") : 0;
    if (real) {
        char  *s = format("%.*s", (int)(more ? n + 1 + more : n), answer);
        double v = strtod(s, NULL), want = strtod(ref, NULL);

        free(s);
        return !(v < want || v > want);
    }
    return !more && same_integer(answer, n, ref);
}

/* refs: numbers, all of them; the share before the first that is wrong. */
double infinite_calc(const char *answer, const struct refs *refs, const struct refs *classes)
{
    size_t n, right = 0;

    (void)classes;
    for (const char *s = answer; right < refs->n && next_digits(&s, &n, true); s += n, right++)
        if (!same_integer(s, n, refs->ref[right]))
            break;
    return refs->n ? (double)right / (double)refs->n : 0;
}

static bool chinese_punctuation(uint32_t c)
{
    static const uint32_t range[][2] = {
        { 0x21, 0x2f }, { 0x3a, 0x40 }, { 0x5b, 0x60 }, { 0x7b, 0x7e }, { 0x2013, 0x2014 }, { 0x2018, 0x2019 },
        { 0x201b, 0x201f }, { 0x2026, 0x2027 }, { 0x3001, 0x3003 }, { 0x300b, 0x3011 }, { 0x3014, 0x301f },
        { 0x3030, 0x3030 }, { 0x303e, 0x303f }, { 0xfe4f, 0xfe4f }, { 0xff01, 0xff0d }, { 0xff0f, 0xff0f },
        { 0xff1a, 0xff20 }, { 0xff3b, 0xff40 }, { 0xff5b, 0xff64 }
    };

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i][0] && c <= range[i][1])
            return true;
    return false;
}

/* Every letter is a word. */
static struct wordlist chinese_words(const char *text)
{
    char       *s = letter_lowered(text);
    struct text t = { NULL, 0, 0 };
    size_t      k;

    text_add(&t, "", 0);
    for (size_t i = 0, n = strlen(s); i < n; i += k) {
        uint32_t c;

        k = utf8_next(s + i, n - i, &c);
        if (chinese_punctuation(c) || letter_space(c))
            continue;
        text_add(&t, s + i, k);
        text_add(&t, " ", 1);
    }
    free(s);
    return wordlist_split(t.p);
}

double infinite_f1_zh(const char *answer, const char *ref)
{
    return words_overlap(chinese_words(answer), chinese_words(ref));
}

double infinite_rouge_lsum(const char *answer, const char *ref)
{
    struct sentences a = sentences_of(answer, '\n', plain_words), r = sentences_of(ref, '\n', plain_words);
    struct wordlist  same = common_of(&r, &a, true), aw = sentences_joined(&a);
    const double     v = f_measure(wordlist_overlap(&same, &aw), a.words, r.words);

    free(same.word);
    free(aw.word);
    sentences_free(&a);
    sentences_free(&r);
    return v;
}
