/* SPDX-License-Identifier: BSD-2-Clause
 * stem.c - see stem.h
 *
 * M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), with NLTK's changes: the
 * ROUGE scores of the needle tests use that version. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "src/cli/eval/stem.h"

enum { ROOM = 64 };

/* Words for which the rules are wrong. */
static const char *const irregular[][2] = {
    { "sky", "sky" }, { "skies", "sky" }, { "dying", "die" }, { "lying", "lie" },
    { "tying", "tie" }, { "news", "news" }, { "innings", "inning" }, { "inning", "inning" },
    { "outings", "outing" }, { "outing", "outing" }, { "cannings", "canning" },
    { "canning", "canning" }, { "howe", "howe" }, { "proceed", "proceed" },
    { "exceed", "exceed" }, { "succeed", "succeed" }
};

/* Whether w[i] is a consonant; y is one at the beginning and after a vowel. */
static bool consonant(const char *w, size_t i)
{
    bool is = true;

    for (size_t from = 0; from <= i; from++)
        is = w[from] == 'y' ? from == 0 || !is : !strchr("aeiou", w[from]);
    return is;
}

/* How often a vowel is followed by a consonant in w[n]. */
static int measure(const char *w, size_t n)
{
    int m = 0;

    for (size_t i = 1; i < n; i++)
        m += !consonant(w, i - 1) && consonant(w, i);
    return m;
}

static bool has_vowel(const char *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!consonant(w, i))
            return true;
    return false;
}

static bool ends_cvc(const char *w, size_t n)
{
    if (n == 2)
        return !consonant(w, 0) && consonant(w, 1);
    return n > 2 && consonant(w, n - 3) && !consonant(w, n - 2) && consonant(w, n - 1)
        && !strchr("wxy", w[n - 1]);
}

static bool ends(const char *w, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);

    return n >= k && !memcmp(w + n - k, suffix, k);
}

/* Replaces the last `cut` bytes of w[n] with s; returns the new length. */
static size_t replace(char *w, size_t n, size_t cut, const char *s)
{
    size_t k = strlen(s);

    memcpy(w + n - cut, s, k);
    return n - cut + k;
}

struct rule { const char *suffix, *with; };

/* Applies the first rule whose suffix matches, if the rest has a measure above `least`; else changes
 * nothing. */
static size_t apply(char *w, size_t n, const struct rule *r, int least)
{
    for (; r->suffix; r++) {
        size_t k = strlen(r->suffix), left = n - k;

        if (!ends(w, n, r->suffix))
            continue;
        if (!strcmp(r->suffix, "ion") && !(left && strchr("st", w[left - 1])))
            return n;
        if (!strcmp(r->suffix, "logi"))         /* its l belongs to the stem */
            left++;
        return measure(w, left) > least ? replace(w, n, k, r->with) : n;
    }
    return n;
}

static size_t plural(char *w, size_t n)
{
    if (ends(w, n, "ies"))
        return n - (n == 4 ? 1 : 2);
    if (ends(w, n, "sses"))
        return n - 2;
    return ends(w, n, "s") && !ends(w, n, "ss") ? n - 1 : n;
}

static size_t past(char *w, size_t n)
{
    size_t left;

    if (ends(w, n, "ied"))
        return n - (n == 4 ? 1 : 2);
    if (ends(w, n, "eed"))
        return measure(w, n - 3) > 0 ? n - 1 : n;
    left = n - (ends(w, n, "ed") ? 2 : ends(w, n, "ing") ? 3 : 0);
    if (left == n || !has_vowel(w, left))
        return n;
    n = left;
    if (ends(w, n, "at") || ends(w, n, "bl") || ends(w, n, "iz"))
        return replace(w, n, 0, "e");
    if (n > 1 && w[n - 1] == w[n - 2] && consonant(w, n - 1))
        return strchr("lsz", w[n - 1]) ? n : n - 1;
    return measure(w, n) == 1 && ends_cvc(w, n) ? replace(w, n, 0, "e") : n;
}

static size_t final_e(char *w, size_t n)
{
    int m;

    if (ends(w, n, "e")) {
        m = measure(w, n - 1);
        if (m > 1 || (m == 1 && !ends_cvc(w, n - 1)))
            n--;
    }
    if (ends(w, n, "ll") && measure(w, n - 1) > 1)
        n--;
    return n;
}

size_t stem(char *w, size_t n)
{
    static const struct rule second[] = {
        { "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" }, { "anci", "ance" },
        { "izer", "ize" }, { "bli", "ble" }, { "alli", "al" }, { "entli", "ent" },
        { "eli", "e" }, { "ousli", "ous" }, { "ization", "ize" }, { "ation", "ate" },
        { "ator", "ate" }, { "alism", "al" }, { "iveness", "ive" }, { "fulness", "ful" },
        { "ousness", "ous" }, { "aliti", "al" }, { "iviti", "ive" }, { "biliti", "ble" },
        { "fulli", "ful" }, { "logi", "log" }, { NULL, NULL }
    };
    static const struct rule third[] = {
        { "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
        { "ical", "ic" }, { "ful", "" }, { "ness", "" }, { NULL, NULL }
    };
    static const struct rule fourth[] = {
        { "al", "" }, { "ance", "" }, { "ence", "" }, { "er", "" }, { "ic", "" },
        { "able", "" }, { "ible", "" }, { "ant", "" }, { "ement", "" }, { "ment", "" },
        { "ent", "" }, { "ion", "" }, { "ou", "" }, { "ism", "" }, { "ate", "" },
        { "iti", "" }, { "ous", "" }, { "ive", "" }, { "ize", "" }, { NULL, NULL }
    };

    for (size_t i = 0; i < sizeof irregular / sizeof *irregular; i++)
        if (n == strlen(irregular[i][0]) && !memcmp(w, irregular[i][0], n))
            return replace(w, n, n, irregular[i][1]);
    if (n <= 2 || n >= ROOM)
        return n;
    n = past(w, plural(w, n));
    if (n > 2 && w[n - 1] == 'y' && consonant(w, n - 2))
        w[n - 1] = 'i';
    if (ends(w, n, "alli") && measure(w, n - 4) > 0)
        n -= 2;
    n = apply(w, n, second, 0);
    n = apply(w, n, third, 0);
    n = apply(w, n, fourth, 1);
    return final_e(w, n);
}
