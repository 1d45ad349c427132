/* SPDX-License-Identifier: BSD-2-Clause
 * score-leval.c - measures of L-Eval, as its scripts have them
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

/* The number that all of s is, as Python reads it. */
static bool number(const char *s, double *v)
{
    char       *t = letter_lowered(s), *word = stripped(t), *end;
    const char *sign = *word == '-' || *word == '+' ? word + 1 : word;
    bool        good = !strcmp(sign, "inf") || !strcmp(sign, "infinity") || !strcmp(sign, "nan");

    if (!good) {
        good = *word && !word[strspn(word, "0123456789+-.e_")];
        for (const char *p = word; *p; p++)
            good = good && (*p != '_' || (p > word && isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1])));
        word = replaced(word, "_", "");
    }
    *v = strtod(word, &end);
    good = good && end > word && !*end;
    free(word);
    free(t);
    return good;
}

static bool all_in(const char *s, const char *set)
{
    return !s[strspn(s, set)];
}

/* Choices: all the letters, or a quarter for some of them.  Else the same number, or the reference occurs. */
double leval_em(const char *answer, const char *ref)
{
    char  *a = normal_form(answer, false), *r = normal_form(ref, false);
    double v, x, y;

    if (all_in(r, "ABCD")) {
        v = !strcmp(a, r) ? 1 : all_in(a, r) ? 0.25 : 0;
    } else if (number(answer, &x) && number(ref, &y)) {
        v = x <= y && x >= y;
    } else {
        char *la = replaced(letter_lowered(answer), " ", ""), *lr = replaced(letter_lowered(ref), " ", "");

        v = has(la, lr);
        free(la);
        free(lr);
    }
    free(a);
    free(r);
    return v;
}

/* Letters of the choice in s[0 .. n), each once and in order, after those in out already. */
static void add_letters(char out[5], const char *s, size_t n)
{
    bool   is[4] = { false };
    size_t k = 0;

    for (const char *p = out; *p; p++)
        is[*p - 'A'] = true;
    for (size_t i = 0; i < n; i++)
        if (s[i] >= 'A' && s[i] <= 'D')
            is[s[i] - 'A'] = true;
    for (int i = 0; i < 4; i++)
        if (is[i])
            out[k++] = (char)('A' + i);
    out[k] = 0;
}

/* The right letters: those of its first word. */
static double compare_choice(const char *said, const char *ref)
{
    struct wordlist w = white_words(ref);
    struct text     t = { NULL, 0, 0 };
    double          v;

    text_add(&t, "", 0);
    for (const char *p = w.n ? w.word[0] : ""; *p; p++)
        if (*p >= 'A' && *p <= 'D')
            text_add(&t, p, 1);
    v = leval_em(said, t.n ? t.p : "A");
    text_free(&t);
    wordlist_free(&w);
    return v;
}

/* What both kinds of choices have: nothing said, or nothing but letters. */
static const char *short_choice(const char *answer)
{
    char       *s = stripped(answer);
    const char *said = !*s ? "None" : has("ABCD", answer) ? answer : NULL;

    free(s);
    return said;
}

double leval_choice(const char *answer, const char *ref)
{
    const char *said = short_choice(answer);
    char        letter[2] = { answer[strcspn(answer, "ABCD")], 0 };

    return compare_choice(said ? said : *letter ? letter : "A", ref);
}

/* Several may be right: letters at the beginning, or those before a space, a dot or a bracket, or the first run. */
double leval_choices(const char *answer, const char *ref)
{
    const char  *said = short_choice(answer);
    const size_t n = strspn(answer, "ABCD");
    char         letters[5] = "", *run = NULL, *rest;
    double       v;

    if (said)
        return compare_choice(said, ref);
    add_letters(letters, answer, n);
    rest = format("%s", answer + n);
    if (has(rest, "Question"))
        *strstr(rest, "Question") = 0;
    for (char *p = rest; n < 2 && *p; p++)
        if (*p >= 'A' && *p <= 'D' && p[1] && (p[1] == '.' || p[1] == ')' || space_at(p + 1)))
            add_letters(letters, p, 1);
    if (!*letters) {
        run = rest + strcspn(rest, "ABCD");
        run[strspn(run, "ABCD")] = 0;
    }
    v = compare_choice(*letters ? letters : *run ? run : "A", ref);
    free(rest);
    return v;
}

static size_t digit_at(const char *s)
{
    uint32_t     c;
    const size_t k = *s ? utf8_next(s, strlen(s), &c) : 0;

    return k && (letter_digit(c) || c == 0xb2 || c == 0xb3 || c == 0xb9) ? k : 0;
}

static bool has_digit(const char *s)
{
    for (; *s; s++)
        if (digit_at(s))
            return true;
    return false;
}

/* The word after "The answer is", or the last word of the first paragraph that has a digit: its digits up to a dot. */
static char *leval_number(const char *s)
{
    static const char words[] = "The answer is ";
    char       *copy = format("%s", s), *word = NULL, *at = copy;
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    while (!word && (at = strstr(at, words))) {
        at += sizeof words - 1;
        word = *at && !space_at(at) ? at : NULL;
    }
    if (word) {
        for (at = word; *at && !space_at(at); at++)
            ;
        *at = 0;
    } else {
        if (has(copy, "\n\n"))
            *strstr(copy, "\n\n") = 0;
        while (!word) {
            char *space = strrchr(copy, ' '), *last = space ? space + 1 : copy;

            if (has_digit(last) || !space)
                word = has_digit(last) ? last : copy + strlen(copy);
            else
                *space = 0;
        }
    }
    for (size_t k; *word && *word != '.'; word += k ? k : 1)
        if ((k = digit_at(word)))
            text_add(&t, word, k);
    free(copy);
    return t.p;
}

double leval_math(const char *answer, const char *ref)
{
    char        *a = leval_number(answer), *r = leval_number(ref);
    const double v = leval_em(a, r);

    free(a);
    free(r);
    return v;
}

static char *leval_output(const char *s)
{
    static const char *const change[][2] = {
        { ",", "" }, { "'", "" }, { "\\", "" }, { ".0", "" }, { "] [", "][" }, { "[ [", "[[" }, { "] ]", "]]" }
    };
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    while (*s) {
        size_t k = space_at(s);

        text_add(&t, k ? " " : s, 1);
        for (s += k ? 0 : 1; (k = space_at(s)) && t.p[t.n - 1] == ' '; s += k)
            ;
    }
    for (size_t i = 0; i < sizeof change / sizeof *change; i++)
        t.p = replaced(t.p, change[i][0], change[i][1]);
    return t.p;
}

/* The words behind "the final output", or the last ones: three more than the reference has. */
double leval_code(const char *answer, const char *ref)
{
    static const char *const filler[] = {
        "will be", "of the code", "is", "would be", "the value of", "the result of", "printed"
    };
    static const char mark[] = "the final output";
    struct wordlist w = white_words(ref);
    const size_t    most = w.n + 3;
    struct text     t = { NULL, 0, 0 };
    char           *a = leval_output(answer), *r = leval_output(ref);
    char          **piece = NULL;
    size_t          n = 0, from = 0, to;
    const char     *behind = NULL;
    double          v;

    for (size_t i = 0; i < sizeof filler / sizeof *filler; i++)
        a = replaced(a, filler[i], "");
    for (const char *at = a; (at = strstr(at, mark)); at += sizeof mark - 1)
        behind = at + sizeof mark - 1;
    /* Pieces between white space; the first and the last may be empty. */
    for (const char *s = behind ? behind : a;;) {
        const size_t len = strcspn(s, " ");

        piece = grow(piece, n + 1, sizeof *piece);
        piece[n++] = format("%.*s", (int)len, s);
        if (!s[len])
            break;
        s += len + strspn(s + len, " ");
    }
    to = n;
    if (behind)
        to = most < n ? most : n;
    else
        from = most < n ? n - most : 0;
    text_add(&t, "", 0);
    for (size_t i = from; i < to; i++)
        text_printf(&t, "%s%s", i > from ? " " : "", piece[i]);
    v = leval_em(t.p, r);
    for (size_t i = 0; i < n; i++)
        free(piece[i]);
    free(piece);
    text_free(&t);
    wordlist_free(&w);
    free(a);
    free(r);
    return v;
}

/* True or false; what the script asks about the real world, behind "[fact:", is another question. */
static char *verdict(const char *s)
{
    char *low = letter_lowered(s), *cut = strstr(low, "[fact:"), *said;

    if (cut)
        *cut = 0;
    said = stripped(low);
    free(low);
    return said;
}

double leval_judge(const char *answer, const char *ref)
{
    char           *a = verdict(answer), *r = verdict(ref);
    struct wordlist w = white_words(a);
    const char     *said = "<error>";
    double          v;

    for (size_t i = w.n; i--;)
        said = has(w.word[i], "true") ? "true" : has(w.word[i], "false") ? "false" : said;
    v = leval_em(said, r);
    wordlist_free(&w);
    free(a);
    free(r);
    return v;
}

double leval_rouge_1(const char *answer, const char *ref)
{
    return rouge_overlap(answer, ref, false);
}

static struct wordlist pairs_of(const char *s)
{
    struct wordlist w = wordlist_rouge(s, false);
    struct text     t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    for (size_t i = 1; i < w.n; i++)
        text_printf(&t, "%s_%s ", w.word[i - 1], w.word[i]);
    wordlist_free(&w);
    return wordlist_split(t.p);
}

double leval_rouge_2(const char *answer, const char *ref)
{
    return words_overlap(pairs_of(answer), pairs_of(ref));
}
