/* SPDX-License-Identifier: BSD-2-Clause
 * score-parts.c - see score-parts.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-parts.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* ---- text ---------------------------------------------------------------------------- */
size_t space_at(const char *s)
{
    uint32_t     c;
    const size_t k = *s ? utf8_next(s, strlen(s), &c) : 0;

    return k && letter_space(c) ? k : 0;
}

char *stripped(const char *s)
{
    char  *copy;
    size_t k, n = 0;

    while ((k = space_at(s)))
        s += k;
    copy = format("%s", s);
    for (size_t i = 0; copy[i];) {
        uint32_t c;

        k = utf8_next(copy + i, strlen(copy + i), &c);
        i += k;
        n = letter_space(c) ? n : i;
    }
    copy[n] = 0;
    return copy;
}

struct wordlist white_words(const char *s)
{
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    while (*s) {
        const size_t space = space_at(s);
        uint32_t     c;
        const size_t k = space ? space : utf8_next(s, strlen(s), &c);

        text_add(&t, space ? " " : s, space ? 1 : k);
        s += k;
    }
    return wordlist_split(t.p);
}

char *replaced(char *s, const char *from, const char *to)
{
    struct text t = { NULL, 0, 0 };
    const char *at = s;

    text_add(&t, "", 0);
    for (const char *next; (next = strstr(at, from)); at = next + strlen(from)) {
        text_add(&t, at, (size_t)(next - at));
        text_puts(&t, to);
    }
    text_puts(&t, at);
    free(s);
    return t.p;
}

bool next_digits(const char **s, size_t *n, bool ascii)
{
    uint32_t c;
    size_t   k;

    for (*n = 0; **s || *n; *n += k) {
        const char *at = *s + *n;

        k = *at ? utf8_next(at, strlen(at), &c) : 0;
        if (k && (ascii ? c >= '0' && c <= '9' : letter_digit(c)))
            continue;
        if (*n)
            return true;
        *s += k;
        k = 0;
    }
    return false;
}

/* ---- ROUGE --------------------------------------------------------------------------- */
double words_overlap(struct wordlist a, struct wordlist r)
{
    const double v = f_measure(wordlist_overlap(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

double rouge_overlap(const char *answer, const char *ref, bool stemmed)
{
    return words_overlap(wordlist_rouge(answer, stemmed), wordlist_rouge(ref, stemmed));
}

struct sentences sentences_of(const char *s, char separator, struct wordlist (*split)(const char *s))
{
    struct sentences r = { NULL, 0, 0 };

    while (*s) {
        const char  *end = strchr(s, separator);
        const size_t n = end ? (size_t)(end - s) : strlen(s);
        char        *piece = format("%.*s", (int)n, s);

        if (n) {
            r.list = grow(r.list, r.n + 1, sizeof *r.list);
            r.list[r.n] = split(piece);
            r.words += r.list[r.n++].n;
        }
        free(piece);
        s += n + (end != NULL);
    }
    return r;
}

void sentences_free(struct sentences *s)
{
    for (size_t i = 0; i < s->n; i++)
        wordlist_free(&s->list[i]);
    free(s->list);
}

/* Marks the words of r that are in its longest common subsequence with a.  Several are as long; which one is found
 * depends on which of the two loses a word first. */
static void mark_common(const struct wordlist *r, const struct wordlist *a, bool r_first, bool *mark)
{
    const size_t width = a->n + 1;
    uint32_t    *t = grow(NULL, (r->n + 1) * width, sizeof *t);
    size_t       i, j;

    memset(t, 0, (r->n + 1) * width * sizeof *t);
    for (i = 1; i <= r->n; i++)
        for (j = 1; j <= a->n; j++) {
            const uint32_t up = t[(i - 1) * width + j], left = t[i * width + j - 1];

            t[i * width + j] = !strcmp(r->word[i - 1], a->word[j - 1]) ? t[(i - 1) * width + j - 1] + 1
                             : up > left ? up : left;
        }
    for (i = r->n, j = a->n; i && j;) {
        const uint32_t up = t[(i - 1) * width + j], left = t[i * width + j - 1];

        if (!strcmp(r->word[i - 1], a->word[j - 1])) {
            mark[--i] = true;
            j--;
        } else if (r_first ? left > up : up <= left) {
            j--;
        } else {
            i--;
        }
    }
    free(t);
}

struct wordlist common_of(const struct sentences *r, const struct sentences *a, bool r_first)
{
    struct wordlist all = { NULL, grow(NULL, r->words + 1, sizeof *all.word), 0 };
    bool           *mark = grow(NULL, r->words + 1, sizeof *mark);

    for (size_t i = 0; i < r->n; i++) {
        memset(mark, 0, (r->words + 1) * sizeof *mark);
        for (size_t j = 0; j < a->n; j++)
            mark_common(&r->list[i], &a->list[j], r_first, mark);
        for (size_t k = 0; k < r->list[i].n; k++)
            if (mark[k])
                all.word[all.n++] = r->list[i].word[k];
    }
    free(mark);
    return all;
}

struct wordlist sentences_joined(const struct sentences *s)
{
    struct wordlist all = { NULL, grow(NULL, s->words + 1, sizeof *all.word), 0 };

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->list[i].n; k++)
            all.word[all.n++] = s->list[i].word[k];
    return all;
}
