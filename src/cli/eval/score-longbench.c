/* SPDX-License-Identifier: BSD-2-Clause
 * score-longbench.c - measures of LongBench, as its scripts have them
 *
 * What looks arbitrary here is the script's: its order of tests, its first number that counts.
 * build-aux/score-sets.py compares all of it with the script. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-parts.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* Words as the package rouge has them: a sentence of white space has one, which is empty. */
static struct wordlist spaced_words(const char *s)
{
    struct wordlist w = white_words(s);

    if (!w.n) {
        w.word = grow(w.word, 1, sizeof *w.word);
        w.word[w.n++] = w.text;
        *w.text = 0;
    }
    return w;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t distinct(struct wordlist *w)
{
    size_t n = 0;

    if (w->n)
        qsort(w->word, w->n, sizeof *w->word, by_word);
    for (size_t i = 0; i < w->n; i++)
        n += !i || strcmp(w->word[i], w->word[i - 1]);
    return n;
}

double longbench_f1(const char *answer, const char *ref)
{
    return words_overlap(wordlist_split(normal_form(answer, true)), wordlist_split(normal_form(ref, true)));
}

/* As the package rouge has it (LongBench uses that, others rouge-score): distinct words only. */
double longbench_rouge_l(const char *answer, const char *ref)
{
    struct sentences a = sentences_of(answer, '.', spaced_words), r = sentences_of(ref, '.', spaced_words);
    struct wordlist  same = common_of(&r, &a, false), aw = sentences_joined(&a), rw = sentences_joined(&r);
    const double     found = (double)distinct(&same);
    const double     p = a.n ? found / (double)distinct(&aw) : 0, c = r.n ? found / (double)distinct(&rw) : 0;

    free(same.word);
    free(aw.word);
    free(rw.word);
    sentences_free(&a);
    sentences_free(&r);
    return 2 * (p * c / (p + c + 1e-8));
}

/* The classes that the answer names; then those that are a part of the right one are removed, but the script
 * overlooks the one behind each that it removes. */
double longbench_class(const char *answer, const struct refs *refs, const struct refs *classes)
{
    double best = 0;

    for (size_t i = 0; i < refs->n; i++) {
        const char **named = grow(NULL, classes->n + 1, sizeof *named), *ref = refs->ref[i];
        size_t       n = 0, right = 0;

        for (size_t j = 0; j < classes->n; j++)
            if (has(answer, classes->ref[j]))
                named[n++] = classes->ref[j];
        for (size_t j = 0; j < n; j++)
            if (has(ref, named[j]) && strcmp(named[j], ref)) {
                memmove(named + j, named + j + 1, (n - j - 1) * sizeof *named);
                n--;
            }
        for (size_t j = 0; j < n; j++)
            right += !strcmp(named[j], ref);
        best = right && 1 / (double)n > best ? 1 / (double)n : best;
        free(named);
    }
    return best;
}

/* The share of the answer's numbers that are ref[0 .. len). */
static double numbers_right(const char *answer, const char *ref, size_t len)
{
    size_t n, all = 0, right = 0;

    for (const char *s = answer; next_digits(&s, &n, false); s += n) {
        all++;
        right += n == len && !memcmp(s, ref, n);
    }
    return all ? (double)right / (double)all : 0;
}

double longbench_count(const char *answer, const char *ref)
{
    return numbers_right(answer, ref, strlen(ref));
}

double longbench_retrieval(const char *answer, const char *ref)
{
    static const char *const name[] = { "Paragraph ", "\346\256\265\350\220\275" };     /* the second is Chinese */

    for (size_t i = 0; i < 2; i++)
        for (const char *s = ref, *at; (at = strstr(s, name[i])); s = at + 1) {
            const char *first = at + strlen(name[i]), *id = first;
            size_t      n;

            if (next_digits(&id, &n, false) && id == first)
                return numbers_right(answer, id, n);
        }
    return 0;
}

/* ---- similarity of code, as Python's difflib has it ----------------------- */
struct letters {
    uint32_t *c;
    size_t    n;
};

static struct letters letters_of(const char *s, size_t len)
{
    struct letters r = { grow(NULL, len + 1, sizeof *r.c), 0 };

    for (size_t i = 0; i < len;)
        i += utf8_next(s + i, len - i, &r.c[r.n++]);
    return r;
}

/* In long texts difflib does not look for letters that are more than one in a hundred. */
static bool *popular(const struct letters *b)
{
    bool *often = grow(NULL, b->n + 1, sizeof *often);

    for (size_t j = 0; j < b->n; j++) {
        size_t n = 0;

        for (size_t k = 0; k < b->n; k++)
            n += b->c[k] == b->c[j];
        often[j] = b->n >= 200 && n > b->n / 100 + 1;
    }
    return often;
}

struct match {
    const struct letters *a, *b;
    const bool           *often;
    size_t               *row[2];       /* [b->n + 1]                                     */
};

/* Letters in the longest run that a[a0 .. a1) and b[b0 .. b1) have both, and in those left and right of it. */
static size_t matching(struct match *m, size_t a0, size_t a1, size_t b0, size_t b1)
{
    const uint32_t *a = m->a->c, *b = m->b->c;
    size_t best = 0, ai = a0, bj = b0;

    if (a0 >= a1 || b0 >= b1)
        return 0;
    memset(m->row[0] + b0, 0, (b1 - b0 + 1) * sizeof **m->row);
    m->row[1][b0] = 0;
    for (size_t i = a0; i < a1; i++) {
        const size_t *before = m->row[(i - a0) % 2];
        size_t       *now = m->row[(i - a0 + 1) % 2];

        now[b0] = 0;
        for (size_t j = b0; j < b1; j++) {
            now[j + 1] = a[i] == b[j] && !m->often[j] ? before[j] + 1 : 0;
            if (now[j + 1] > best) {
                best = now[j + 1];
                ai = i + 1 - best;
                bj = j + 1 - best;
            }
        }
    }
    while (ai > a0 && bj > b0 && a[ai - 1] == b[bj - 1])
        ai--, bj--, best++;
    while (ai + best < a1 && bj + best < b1 && a[ai + best] == b[bj + best])
        best++;
    return best ? best + matching(m, a0, ai, b0, bj) + matching(m, ai + best, a1, bj + best, b1) : 0;
}

/* The first line of the answer that has no sign of a comment or of a code block. */
double longbench_code(const char *answer, const char *ref)
{
    struct letters a, b = letters_of(ref, strlen(ref));
    struct match   m;
    double         v;
    size_t         len;

    answer += strspn(answer, "\n");
    for (;; answer += len + 1) {
        len = strcspn(answer, "\n");
        if (!memchr(answer, '`', len) && !memchr(answer, '#', len)) {
            const char *slashes = strstr(answer, "//");

            if (!slashes || slashes + 2 > answer + len)
                break;
        }
        if (!answer[len]) {
            len = 0;
            break;
        }
    }
    a = letters_of(answer, len);
    m = (struct match){
        &a, &b, popular(&b), { grow(NULL, b.n + 2, sizeof(size_t)), grow(NULL, b.n + 2, sizeof(size_t)) }
    };
    if (a.n == b.n && !memcmp(a.c, b.c, a.n * sizeof *a.c))
        v = 1;
    else
        v = a.n && b.n ? rint(200.0 * (double)matching(&m, 0, a.n, 0, b.n) / (double)(a.n + b.n)) / 100 : 0;
    free((void *)m.often);
    free(m.row[0]);
    free(m.row[1]);
    free(a.c);
    free(b.c);
    return v;
}

/* LongBench v2: the letter after these words. */
double longbench_2(const char *answer, const char *ref)
{
    static const char words[] = "The correct answer is ";
    char  *s = replaced(format("%s", answer), "*", "");
    char   letter = 0, bare = 0;

    for (const char *at = s; (at = strstr(at, words)); at++) {
        const char *p = at + sizeof words - 1;

        if (!letter && *p == '(' && p[1] >= 'A' && p[1] <= 'D' && p[2] == ')')
            letter = p[1];
        if (!bare && *p >= 'A' && *p <= 'D')
            bare = *p;
    }
    free(s);
    letter = letter ? letter : bare;
    return letter && ref[0] == letter && !ref[1];
}
