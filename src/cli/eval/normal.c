/* SPDX-License-Identifier: BSD-2-Clause
 * normal.c - see normal.h
 *
 * Letters outside ASCII are recognised by ranges: enough for European languages, for which case and words
 * matter to these measures. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/normal.h"
#include "src/cli/eval/stem.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* ---- characters ---------------------------------------------------------------------- */
uint32_t letter_lower(uint32_t c)
{
    static const struct { uint32_t first, last; int by; } range[] = {   /* by 0: pairs    */
        { 'A', 'Z', 32 }, { 0xc0, 0xd6, 32 }, { 0xd8, 0xde, 32 }, { 0x100, 0x12f, 0 },
        { 0x132, 0x137, 0 }, { 0x14a, 0x177, 0 }, { 0x386, 0x386, 38 }, { 0x388, 0x38a, 37 },
        { 0x38c, 0x38c, 64 }, { 0x38e, 0x38f, 63 }, { 0x391, 0x3ab, 32 }, { 0x400, 0x40f, 80 },
        { 0x410, 0x42f, 32 }, { 0x460, 0x481, 0 }, { 0x48a, 0x4bf, 0 }, { 0x4d0, 0x52f, 0 },
        { 0x531, 0x556, 48 }, { 0x1e00, 0x1e95, 0 }, { 0x1ea0, 0x1eff, 0 }, { 0xff21, 0xff3a, 32 }
    };

    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
        return c + (c & 1);                     /* pairs that begin at odd numbers */
    if (c == 0x178)
        return 0xff;
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i].first && c <= range[i].last)
            return range[i].by ? c + (uint32_t)range[i].by : c | 1;
    return c;
}

bool letter_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0
        || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029
        || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool letter_word(uint32_t c)
{
    static const uint32_t range[][2] = {
        { 0, '0' - 1 }, { '9' + 1, 'A' - 1 }, { 'Z' + 1, '_' - 1 }, { '`', '`' },
        { 'z' + 1, 0xa9 }, { 0xab, 0xb1 }, { 0xb4, 0xb4 }, { 0xb6, 0xb8 }, { 0xbb, 0xbb },
        { 0xbf, 0xbf }, { 0xd7, 0xd7 }, { 0xf7, 0xf7 }, { 0x2c2, 0x2c5 }, { 0x2d2, 0x2df },
        { 0x300, 0x36f }, { 0x1680, 0x1680 }, { 0x2000, 0x206f }, { 0x20a0, 0x20ff },
        { 0x2190, 0x245f }, { 0x2500, 0x2775 }, { 0x2794, 0x2bff }, { 0x2e00, 0x2e7f },
        { 0x3000, 0x3004 }, { 0x3008, 0x3020 }, { 0xfe00, 0xfe6f }, { 0xff01, 0xff0f },
        { 0xff1a, 0xff20 }, { 0xff3b, 0xff40 }, { 0xff5b, 0xff65 }, { 0xfff9, 0xffff },
        { 0x1f000, 0x1faff }
    };

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i][0] && c <= range[i][1])
            return false;
    return c != UTF8_BAD;
}

bool letter_digit(uint32_t c)
{
    static const uint32_t zero[] = { '0', 0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xe50, 0xff10 };

    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (c >= zero[i] && c <= zero[i] + 9)
            return true;
    return false;
}

static bool is_punctuation(char c)
{
    return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* ---- SQuAD's normal form ------------------------------------------------------------- */
static char *plain(const char *s, bool fold, bool strip_punctuation)
{
    size_t   n = strlen(s), k;
    char    *copy = grow(NULL, n + 1, 1), *out = copy;
    uint32_t c;

    for (size_t i = 0; i < n; i += k) {
        k = utf8_next(s + i, n - i, &c);
        if (strip_punctuation && k == 1 && is_punctuation(s[i]))
            continue;
        if (!fold || c == UTF8_BAD || letter_lower(c) == c) {
            memcpy(out, s + i, k);
            out += k;
        } else {
            out = utf8_put(out, letter_lower(c));
        }
    }
    *out = 0;
    return copy;
}

static size_t article(const char *s)
{
    static const char *const list[] = { "a", "an", "the" };
    uint32_t c;

    for (size_t i = 0; i < 3; i++) {
        size_t k = strlen(list[i]);

        if (!strncmp(s, list[i], k)) {
            if (!s[k])
                return k;
            utf8_next(s + k, strlen(s + k), &c);
            if (!letter_word(c))
                return k;
        }
    }
    return 0;
}

char *letter_lowered(const char *s)
{
    return plain(s, true, false);
}

char *normal_form(const char *s, bool fold)
{
    char    *copy = plain(s, fold, true), *out = copy;
    size_t   n = strlen(copy), k;
    uint32_t c;
    bool     word = false, gap = false;

    for (size_t i = 0; i < n; i += k) {
        size_t a = word ? 0 : article(copy + i);

        k = utf8_next(copy + i, n - i, &c);
        if (a || letter_space(c)) {
            k = a ? a : k;
            gap = true;
            word = false;
            continue;
        }
        word = letter_word(c);
        if (gap && out > copy)
            *out++ = ' ';
        gap = false;
        memmove(out, copy + i, k);
        out += k;
    }
    *out = 0;
    return copy;
}

/* ---- words --------------------------------------------------------------------------- */
void wordlist_free(struct wordlist *w)
{
    free(w->text);
    free(w->word);
}

struct wordlist wordlist_split(char *text)
{
    struct wordlist w = { text, NULL, 0 };

    for (char *p = strtok(text, " "); p; p = strtok(NULL, " ")) {
        if (!(w.n & (w.n - 1)))
            w.word = grow(w.word, 2 * w.n + 1, sizeof *w.word);
        w.word[w.n++] = p;
    }
    return w;
}

struct wordlist wordlist_rouge(const char *s, bool stemmed)
{
    struct text t = { NULL, 0, 0 };
    char        word[64];
    size_t      n = 0;

    text_add(&t, "", 0);
    for (;; s++) {
        char c = *s >= 'A' && *s <= 'Z' ? (char)(*s | 32) : *s;

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            if (n < sizeof word - 1)
                word[n++] = c;
            continue;
        }
        if (n) {
            text_add(&t, word, stemmed && n > 3 ? stem(word, n) : n);
            text_add(&t, " ", 1);
        }
        n = 0;
        if (!c)
            return wordlist_split(t.p);
    }
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t wordlist_overlap(struct wordlist *a, struct wordlist *b)
{
    size_t i = 0, j = 0, n = 0;

    if (!a->n || !b->n)
        return 0;
    qsort(a->word, a->n, sizeof *a->word, by_word);
    qsort(b->word, b->n, sizeof *b->word, by_word);
    while (i < a->n && j < b->n) {
        int c = strcmp(a->word[i], b->word[j]);

        n += c == 0;
        i += c <= 0;
        j += c >= 0;
    }
    return n;
}

size_t wordlist_common(const struct wordlist *a, const struct wordlist *b)
{
    size_t *row = grow(NULL, b->n + 1, sizeof *row), best;

    memset(row, 0, (b->n + 1) * sizeof *row);
    for (size_t i = 0; i < a->n; i++) {
        size_t diagonal = 0;                    /* previous row, one to the left */

        for (size_t j = 1; j <= b->n; j++) {
            size_t above = row[j];

            if (!strcmp(a->word[i], b->word[j - 1]))
                row[j] = diagonal + 1;
            else if (row[j - 1] > row[j])
                row[j] = row[j - 1];
            diagonal = above;
        }
    }
    best = row[b->n];
    free(row);
    return best;
}

double f_measure(size_t same, size_t n_answer, size_t n_ref)
{
    if (!same)
        return 0;
    return 2.0 * (double)same / (double)(n_answer + n_ref);
}
