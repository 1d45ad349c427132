/* SPDX-License-Identifier: BSD-2-Clause
 * cite.c - see cite.h */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/cite.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

/* ---- words --------------------------------------------------------------------------- */
enum kind { PLAIN, SMALL, NUMBER, NEGATION };

struct word {
    uint64_t  hash;
    uint64_t  start, end;
    enum kind kind;
};

struct words_of {
    struct word *w;
    size_t       n;
};

static bool is_ideograph(uint32_t c)
{
    return (c >= 0x2e80 && c <= 0x2fff) || (c >= 0x3040 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff)
        || (c >= 0x20000 && c <= 0x3ffff);
}

static bool is_word_part(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return c != UTF8_BAD && c >= 0xaa && c != 0xab && c != 0xbb && c != 0xb7 && c != 0xd7 && c != 0xf7
        && !(c >= 0x2000 && c <= 0x2bff) && !(c >= 0x3000 && c <= 0x303f) && !(c >= 0xfe30 && c <= 0xff0f)
        && !(c >= 0xff1a && c <= 0xff20) && !(c >= 0xff3b && c <= 0xff40) && !(c >= 0xff5b && c <= 0xff65);
}

static uint32_t lower(uint32_t c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde) || (c >= 0x391 && c <= 0x3a9)
        || (c >= 0x410 && c <= 0x42f))
        return c + 32;
    return c >= 0x400 && c <= 0x40f ? c + 80 : c;
}

static uint64_t add_hash(uint64_t h, uint32_t c)
{
    return (h ^ c) * UINT64_C(0x100000001b3);           /* FNV-1a */
}

enum { HASH = 1469 };                                   /* of no character */

static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t h = HASH;

    for (size_t i = 0; i < n; i++)
        h = add_hash(h, (unsigned char)s[i]);
    return h;
}

/* In a list of words, space between them. */
static bool is_in(const char *list, uint64_t hash)
{
    for (size_t n; *list; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        if (hash_of(list, n) == hash)
            return true;
    }
    return false;
}

static enum kind kind_of(const struct word *w, bool digit)
{
    static const char small[] = "a an the and or but of to in on at by for from with as is are was were be been being am it "
                                "its he she they them his her their this that these those which who whom whose what when "
                                "where how why do does did has have had will would can could shall should may might must "
                                "there here so than then also into about over under after before between during i you we "
                                "my your our me him us if because such";
    static const char negation[] = "not no never none nor neither nobody nothing without cannot t";

    if (digit)
        return NUMBER;
    if (is_in(negation, w->hash))               /* "t": of "isn't"                        */
        return NEGATION;
    return is_in(small, w->hash) ? SMALL : PLAIN;
}

/* Words of text[from .. to).  "1,000" and "3.5" are one. */
static void add_words(struct words_of *out, const char *text, uint64_t from, uint64_t to)
{
    size_t room = out->n;

    while (from < to) {
        struct word w = { .hash = HASH, .start = from };
        bool        digit = false, wide = false;

        while (from < to && !wide) {
            uint32_t     c, next;
            const size_t n = utf8_next(text + from, (size_t)(to - from), &c);
            const bool   joins = (c == ',' || c == '.') && digit && from + 1 < to
                              && (utf8_next(text + from + 1, (size_t)(to - from - 1), &next), next >= '0' && next <= '9');

            wide = is_ideograph(c);
            if ((!is_word_part(c) && !joins) || (wide && w.hash != HASH))
                break;
            digit |= c >= '0' && c <= '9';
            if (c != ',')
                w.hash = add_hash(w.hash, lower(c));
            from += n;
        }
        if (w.hash == HASH) {                   /* what is no word, one character         */
            uint32_t c;

            from += utf8_next(text + from, (size_t)(to - from), &c);
            continue;
        }
        w.end = from;
        w.kind = kind_of(&w, digit);
        if (out->n == room) {
            room = room ? 2 * room : 64;
            out->w = grow(out->w, room, sizeof *out->w);
        }
        out->w[out->n++] = w;
    }
}

static bool has_word(const struct word *w, size_t n, uint64_t hash)
{
    size_t i = 0;

    while (i < n && w[i].hash != hash)
        i++;
    return i < n;
}

static bool has_kind(const struct word *w, size_t n, enum kind kind)
{
    size_t i = 0;

    while (i < n && w[i].kind != kind)
        i++;
    return i < n;
}

/* ---- support ------------------------------------------------------------------------- */
/* The longest run of words that both have.  row[n_a + 1] is scratch. */
static size_t common_run(const struct word *a, size_t n_a, const struct word *b, size_t n_b, size_t *row)
{
    size_t best = 0;

    memset(row, 0, (n_a + 1) * sizeof *row);
    for (size_t j = 0; j < n_b; j++)
        for (size_t i = n_a; i > 0; i--) {
            row[i] = a[i - 1].hash == b[j].hash ? row[i - 1] + 1 : 0;
            best = row[i] > best ? row[i] : best;
        }
    return best;
}

struct support {
    size_t run, found, asked;           /* words in a run, found, found of the question   */
};

/* Do the words b[n_b] of a passage support the sentence a[n_a]? */
static bool supports(const struct word *a, size_t n_a, const struct word *b, size_t n_b, const struct words_of *question,
                     size_t *row, struct support *s)
{
    size_t content = 0, new = 0;
    bool   all = true;                  /* of its numbers and negations                   */

    *s = (struct support){ 0, 0, 0 };
    for (size_t i = 0; i < n_a; i++) {
        const bool found = has_word(b, n_b, a[i].hash);

        all = all && (found || (a[i].kind != NUMBER && a[i].kind != NEGATION));
        if (a[i].kind == SMALL)
            continue;
        content++;
        s->found += found;
        new += found && !has_word(question->w, question->n, a[i].hash);
    }
    if (!content || !s->found || !all)
        return false;
    s->run = common_run(a, n_a, b, n_b, row);
    for (size_t i = 0; i < question->n; i++)
        s->asked += question->w[i].kind != SMALL && has_word(b, n_b, question->w[i].hash);
    if (s->run == n_a)                          /* word by word                           */
        return new || n_a > 2;
    return new && 3 * s->found >= 2 * content && s->run >= (content < 3 ? content : 3)
        && has_kind(a, n_a, NEGATION) == has_kind(b, n_b, NEGATION);
}

static bool is_better(const struct support *a, const struct support *b)
{
    if (a->run != b->run)
        return a->run > b->run;
    return a->found != b->found ? a->found > b->found : a->asked > b->asked;
}

/* A passage's words, and where its sentences begin among them. */
struct source {
    const struct passage *p;
    struct words_of       words;
    struct span          *sentence;     /* bytes of the document                          */
    size_t               *first;        /* word of each, and one behind the last          */
    size_t                n;
};

static struct source source_of(const struct passage *p)
{
    struct source  s = { .p = p };
    const uint64_t len = p->span.end - p->span.start;
    size_t         room = 0;

    for (uint64_t at = 0, next; at < len; at = next) {
        const uint64_t end = place_sentence(p->text, len, at, &next);

        if (s.n + 1 >= room) {
            room = room ? 2 * room : 16;
            s.sentence = grow(s.sentence, room, sizeof *s.sentence);
            s.first = grow(s.first, room, sizeof *s.first);
        }
        s.sentence[s.n] = (struct span){ p->span.start + at, p->span.start + end };
        s.first[s.n++] = s.words.n;
        add_words(&s.words, p->text, at, end);
        s.first[s.n] = s.words.n;
    }
    return s;
}

/* Looks through one passage; true if it has better support than *best. */
static bool look(const struct source *s, const struct words_of *sentence, const struct words_of *question, size_t *row,
                 struct support *best, struct claim *claim)
{
    bool found = false;

    for (size_t width = 1; width <= 2 && !found && s->words.n; width++)
        for (size_t i = 0; i + width <= s->n; i++) {
            const size_t   from = s->first[i], to = s->first[i + width];
            struct support now;

            if (!supports(sentence->w, sentence->n, s->words.w + from, to - from, question, row, &now)
                || (best->run && !is_better(&now, best)))
                continue;
            *best = now;
            found = true;
            claim->passage = s->p;
            claim->support = (struct span){ s->sentence[i].start, s->sentence[i + width - 1].end };
        }
    return found;
}

/* ---- an answer ----------------------------------------------------------------------- */
struct mark {
    uint64_t at;                        /* byte of the answer without marks               */
    uint64_t number;
};

/* The length of a mark like " [12]" at s, or 0. */
static size_t mark_at(const char *s, size_t len, uint64_t *number)
{
    size_t i = 0, digits;

    while (i < len && s[i] == ' ')
        i++;
    if (i == len || s[i++] != '[')
        return 0;
    *number = 0;
    for (digits = 0; i < len && digits < 4 && s[i] >= '0' && s[i] <= '9'; i++, digits++)
        *number = 10 * *number + (uint64_t)(s[i] - '0');
    return digits && i < len && s[i] == ']' ? i + 1 : 0;
}

static struct mark *take_marks(const char *answer, size_t len, struct text *clean, size_t *n)
{
    struct mark *mark = NULL;
    uint64_t     number;

    *n = 0;
    text_puts(clean, "");
    for (size_t i = 0, k; i < len; i += k) {
        k = mark_at(answer + i, len - i, &number);
        if (k) {
            mark = grow(mark, *n + 1, sizeof *mark);
            mark[(*n)++] = (struct mark){ clean->n, number };
        } else {                                /* spaces at once: mark_at looks over them */
            while (i + k < len && answer[i + k] == ' ')
                k++;
            k += i + k < len;
            text_add(clean, answer + i, k);
        }
    }
    return mark;
}

static void find(struct claim *c, const char *answer, const struct words_of *question, const struct source *s, size_t n,
                 const struct mark *mark, size_t n_marks)
{
    struct words_of words = { NULL, 0 };
    struct support  best = { 0, 0, 0 };
    size_t         *row;

    add_words(&words, answer, c->sentence.start, c->sentence.end);
    row = grow(NULL, words.n + 1, sizeof *row);
    for (size_t i = 0; i < n_marks && !c->passage; i++)
        if (mark[i].at > c->sentence.start && mark[i].at <= c->sentence.end && mark[i].number && mark[i].number <= n)
            look(&s[mark[i].number - 1], &words, question, row, &best, c);
    if (!c->passage)
        for (size_t i = 0; i < n; i++)
            look(&s[i], &words, question, row, &best, c);
    free(row);
    free(words.w);
}

static void number(struct cited *out)
{
    for (size_t i = 0; i < out->n; i++) {
        struct claim *c = &out->claim[i];
        size_t        k = 0;

        if (!c->passage)
            continue;
        while (k < i && !(out->claim[k].passage && out->claim[k].passage->best->file == c->passage->best->file
                          && out->claim[k].support.start == c->support.start
                          && out->claim[k].support.end == c->support.end))
            k++;
        c->number = k < i ? out->claim[k].number : ++out->n_numbers;
    }
}

struct cited cite_answer(const char *answer, size_t len, const char *question, const struct passage *p, size_t n)
{
    struct cited    out = { .n = 0 };
    struct words_of asked = { NULL, 0 };
    struct source  *s = grow(NULL, n, sizeof *s);
    size_t          n_marks;
    struct mark    *mark = take_marks(answer, len, &out.answer, &n_marks);

    add_words(&asked, question, 0, strlen(question));
    for (size_t i = 0; i < n; i++)
        s[i] = source_of(&p[i]);
    for (uint64_t at = 0, next; at < out.answer.n; at = next) {
        const uint64_t end = place_sentence(out.answer.p, out.answer.n, at, &next);

        if (end == at)                          /* white space at the beginning           */
            continue;
        out.claim = grow(out.claim, out.n + 1, sizeof *out.claim);
        out.claim[out.n] = (struct claim){ .sentence = place_trim(out.answer.p, (struct span){ at, end }) };
        find(&out.claim[out.n++], out.answer.p, &asked, s, n, mark, n_marks);
    }
    number(&out);
    for (size_t i = 0; i < n; i++) {
        free(s[i].words.w);
        free(s[i].sentence);
        free(s[i].first);
    }
    free(s);
    free(mark);
    free(asked.w);
    return out;
}

void cite_free(struct cited *c)
{
    text_free(&c->answer);
    free(c->claim);
}
