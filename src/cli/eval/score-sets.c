/* SPDX-License-Identifier: BSD-2-Clause
 * score-sets.c - see score-sets.h
 *
 * What looks arbitrary here is a script's: its order of tests, its first number that counts, its class that is
 * skipped.  build-aux/score-sets.py compares all of it with the scripts. */
#include "config.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-sets.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

/* ---- text ---------------------------------------------------------------------------- */
static bool has(const char *s, const char *what)
{
    return strstr(s, what) != NULL;
}

static bool begins(const char *s, const char *what)
{
    return !strncmp(s, what, strlen(what));
}

static size_t space_at(const char *s)
{
    uint32_t     c;
    const size_t k = *s ? utf8_next(s, strlen(s), &c) : 0;

    return k && letter_space(c) ? k : 0;
}

/* Without white space at both ends; for free(). */
static char *stripped(const char *s)
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

/* Words between white space, in an order and as often as they occur. */
static struct wordlist words_of(const char *s)
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

/* A copy whose bytes of `set` are spaces. */
static char *blanked(const char *s, const char *set)
{
    char *copy = format("%s", s);

    for (char *p = copy; *p; p++)
        *p = strchr(set, *p) ? ' ' : *p;
    return copy;
}

/* s with each `from` replaced, from left to right; frees s. */
static char *replaced(char *s, const char *from, const char *to)
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

/* ---- numbers ------------------------------------------------------------------------- */
/* The next run of digits, from *s; n: its length in bytes.  False: there is none. */
static bool digits(const char **s, size_t *n, bool ascii)
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

/* ---- ROUGE --------------------------------------------------------------------------- */
double rouge_overlap(const char *answer, const char *ref, bool stemmed)
{
    struct wordlist a = wordlist_rouge(answer, stemmed), r = wordlist_rouge(ref, stemmed);
    const double    v = f_measure(wordlist_overlap(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

/* Sentences of a text, as lists of words. */
struct sentences {
    struct wordlist *list;
    size_t           n, words;
};

/* Pieces between separators that are not empty. */
static struct sentences sentences_of(const char *s, char separator, struct wordlist (*split)(const char *s))
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

static void sentences_free(struct sentences *s)
{
    for (size_t i = 0; i < s->n; i++)
        wordlist_free(&s->list[i]);
    free(s->list);
}

static struct wordlist plain_words(const char *s)
{
    return wordlist_rouge(s, false);
}

/* Words as the package rouge has them: a sentence of white space has one, which is empty. */
static struct wordlist spaced_words(const char *s)
{
    struct wordlist w = words_of(s);

    if (!w.n) {
        w.word = grow(w.word, 1, sizeof *w.word);
        w.word[w.n++] = w.text;
        *w.text = 0;
    }
    return w;
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

/* The words of r that are in the longest common subsequence of their sentence with any sentence of a; they are r's. */
static struct wordlist common_of(const struct sentences *r, const struct sentences *a, bool r_first)
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

static struct wordlist joined(const struct sentences *s)
{
    struct wordlist all = { NULL, grow(NULL, s->words + 1, sizeof *all.word), 0 };

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->list[i].n; k++)
            all.word[all.n++] = s->list[i].word[k];
    return all;
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

/* ---- SQuAD 2.0, Lost in the Middle --------------------------------------------------- */
/* What a refusal says, in the normal form.  SQuAD's file of predictions has an empty answer for it. */
static const char *unless_refused(const char *answer)
{
    static const char *const refusal[] = { "text does not say", "unanswerable", "no answer" };
    char *form = normal_form(answer, true);
    bool  refused = false;

    for (size_t i = 0; i < sizeof refusal / sizeof *refusal; i++)
        refused = refused || begins(form, refusal[i]);
    free(form);
    return refused ? "" : answer;
}

/* References that are nothing in the normal form do not count; if there are no others, the right answer is none. */
static double squad(const char *answer, const struct refs *refs, double (*same)(const char *, const char *))
{
    double best = 0;
    size_t n = 0;

    answer = unless_refused(answer);
    for (size_t i = 0; i < refs->n; i++) {
        char *form = normal_form(refs->ref[i], true);

        if (*form) {
            const double v = same(answer, refs->ref[i]);

            best = v > best ? v : best;
            n++;
        }
        free(form);
    }
    return n ? best : same(answer, "");
}

static double same_form(const char *answer, const char *ref)
{
    char  *a = normal_form(answer, true), *r = normal_form(ref, true);
    double v = !strcmp(a, r);

    free(a);
    free(r);
    return v;
}

static double same_words(const char *answer, const char *ref)
{
    return longbench_f1(answer, ref) + (same_form(answer, "") && same_form(ref, ""));
}

double squad_em(const char *answer, const struct refs *refs, const struct refs *classes)
{
    (void)classes;
    return squad(answer, refs, same_form);
}

double squad_f1(const char *answer, const struct refs *refs, const struct refs *classes)
{
    (void)classes;
    return squad(answer, refs, same_words);
}

double lost_subspan(const char *answer, const char *ref)
{
    char        *a = normal_form(answer, true), *r = normal_form(ref, true);
    const double v = has(a, r);

    free(a);
    free(r);
    return v;
}

/* ---- LongBench ----------------------------------------------------------------------- */
double longbench_f1(const char *answer, const char *ref)
{
    struct wordlist a = wordlist_split(normal_form(answer, true)), r = wordlist_split(normal_form(ref, true));
    const double    v = f_measure(wordlist_overlap(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

/* As the package rouge has it (LongBench uses that, others rouge-score): distinct words only. */
double longbench_rouge_l(const char *answer, const char *ref)
{
    struct sentences a = sentences_of(answer, '.', spaced_words), r = sentences_of(ref, '.', spaced_words);
    struct wordlist  same = common_of(&r, &a, false), aw = joined(&a), rw = joined(&r);
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

    for (const char *s = answer; digits(&s, &n, false); s += n) {
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

            if (digits(&id, &n, false) && id == first)
                return numbers_right(answer, id, n);
        }
    return 0;
}

/* ---- LongBench: similarity of code, as Python's difflib has it ----------------------- */
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

/* ---- InfiniteBench ------------------------------------------------------------------- */
static const char *first_of(const struct refs *refs)
{
    return refs->n ? refs->ref[0] : "";
}

static bool is_word_of(const char *answer, const char *ref, const char *separators)
{
    char           *s = blanked(answer, separators);
    struct wordlist w = words_of(s);
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
    if (!digits(&answer, &n, true))
        return !*ref;
    return strlen(ref) == n && !memcmp(answer, ref, n);
}

double infinite_code_run(const char *answer, const struct refs *refs, const struct refs *classes)
{
    char           *s = blanked(answer, "\n.`'\":");
    struct wordlist w = words_of(s);
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
        struct wordlist w = words_of(spaced);
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
    if (!digits(&answer, &n, true))
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
    for (const char *s = answer; right < refs->n && digits(&s, &n, true); s += n, right++)
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
    struct wordlist a = chinese_words(answer), r = chinese_words(ref);
    const double    v = f_measure(wordlist_overlap(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

double infinite_rouge_lsum(const char *answer, const char *ref)
{
    struct sentences a = sentences_of(answer, '\n', plain_words), r = sentences_of(ref, '\n', plain_words);
    struct wordlist  same = common_of(&r, &a, true), aw = joined(&a);
    const double     v = f_measure(wordlist_overlap(&same, &aw), a.words, r.words);

    free(same.word);
    free(aw.word);
    sentences_free(&a);
    sentences_free(&r);
    return v;
}

/* ---- L-Eval -------------------------------------------------------------------------- */
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
    struct wordlist w = words_of(ref);
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
    struct wordlist w = words_of(ref);
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
    struct wordlist w = words_of(a);
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
    struct wordlist a = pairs_of(answer), r = pairs_of(ref);
    const double    v = f_measure(wordlist_overlap(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}
