/* SPDX-License-Identifier: BSD-2-Clause
 * ruler.c - the 13 tasks of RULER (Hsieh et al., "RULER: What's the Real Context Size of
 * Your Long-Context Language Models?", 2024), rewritten with our own wording and fillers:
 * scores are not comparable with published ones.
 *
 * Everything random in a row depends only on the seed and on the row's name. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/confine.h"
#include "src/cli/eval/eval.h"
#include "src/cli/material.h"
#include "src/cli/eval/ruler-qa.h"
#include "src/cli/say.h"

enum { MAX_NEEDLES = 4, DEPTH_STEPS = 40 };

struct task;

struct spec {                           /* describes one row */
    const struct task *task;
    uint64_t           length, sample;
};

struct ruler {
    struct eval     e;                  /* must be first */
    const char     *squad, *hotpot, *tasks;
    bool            no_begin;
    struct haystack essay, stock;
    struct qa_set   qa[2];
    char          **word;               /* distinct words of the haystack, for cwe        */
    size_t          n_word;
    struct spec    *spec;
    size_t          n;
    /* of the row being built  */
    const struct task *now;
    const char     *id;
    uint64_t        row_length;
    char           *needle[MAX_NEEDLES + 1];    /* sentences, or lines of vt */
    size_t          n_needle;
};

static const struct opt own[] = {
    { 0, 0, "tasks", "NAME[,NAME]...", "all that there is data for", "which of RULER's tasks, see below",
      opt_text, offsetof(struct ruler, tasks), 0, 0 },
    { 0, 0, "no-begin", NULL, NULL, "do not give the model the beginning of the answer",
      opt_flag, offsetof(struct ruler, no_begin), 0, 0 },
    { 0, 0, "squad", "FILE", NULL, "questions of qa_1, a file of SQuAD",
      opt_text, offsetof(struct ruler, squad), 0, 0 },
    { 0, 0, "hotpot", "FILE", NULL, "questions of qa_2, a file of HotpotQA",
      opt_text, offsetof(struct ruler, hotpot), 0, 0 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "lengths", "4096" }, { "samples", "5" }, { NULL, NULL }
};

enum filler { ESSAY, STOCK, NOTHING };
enum kind { WORD, NUMBER, UUID };

struct task {
    const char *name;
    void      (*ask)(struct ruler *u, struct row *row);
    eval_build *build;
    uint32_t    max_tokens;
    enum metric metric;
    int         n_key, n_value, n_query;        /* for the needle tasks */
    enum filler filler;
    enum kind   key, value;
};

/* The no.-th random stream of the row. */
static struct rng stream(const struct ruler *u, uint64_t no)
{
    return rng_of(u->e.o.gkv.seed, u->id, no);
}

/* ---- needles ------------------------------------------------------------------------- */
static const char *const kind_name[][2] = {
    [WORD] = { "word", "words" }, [NUMBER] = { "number", "numbers" }, [UUID] = { "uuid", "uuids" }
};

/* The i-th key or value of its kind; words never repeat. */
static char *thing(enum kind kind, struct rng *r, uint32_t i)
{
    return kind == WORD ? word_pair(i) : kind == NUMBER ? rng_digits(r, 7) : rng_uuid(r);
}

static char *needle(enum kind kind, const char *key, const char *value)
{
    return format("One of the special magic %s for %s is: %s.", kind_name[kind][1], key, value);
}

static char *join(char **s, size_t n)
{
    struct text t = { NULL, 0, 0 };

    for (size_t i = 0; i < n; i++)
        text_printf(&t, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : n > 2 ? ", and " : " and ", s[i]);
    return t.p;
}

static void ask_niah(struct ruler *u, struct row *row)
{
    const struct task *t = u->now;
    const bool   one = t->n_query * t->n_value == 1;
    const char  *kind = kind_name[t->value][!one];
    struct rng   r = stream(u, 0);
    uint32_t     pair[N_WORD_PAIRS];
    char        *key[MAX_NEEDLES], *keys;

    rng_choose(&r, N_WORD_PAIRS, pair, N_WORD_PAIRS);
    for (int i = 0; i < t->n_key; i++) {
        key[i] = thing(t->key, &r, pair[i]);
        for (int j = 0; j < t->n_value; j++) {
            char *value = thing(t->value, &r, 0);

            u->needle[u->n_needle++] = needle(t->value, key[i], value);
            if (i < t->n_query)
                row_answer(row, value);
            else
                free(value);
        }
    }
    keys = join(key, (size_t)t->n_query);
    row->question = format("What %s the special magic %s for %s in the text above?",
                           one ? "is" : "are all", kind, keys);
    row->begin = format("The special magic %s for %s in the text above %s", kind, keys,
                        one ? "is" : "are");
    for (int i = 0; i < t->n_key; i++)
        free(key[i]);
    free(keys);
}

static int by_place(const void *a, const void *b)
{
    const struct insert *x = a, *y = b;

    return (x->before > y->before) - (x->before < y->before);
}

/* Puts the row's needles among `units` sentences. */
static void hide(const struct ruler *u, const struct haystack *h, size_t units, bool in_order,
                 struct text *t)
{
    struct rng    r = stream(u, 1);
    struct insert in[MAX_NEEDLES + 1];
    uint32_t      step[DEPTH_STEPS];

    rng_choose(&r, DEPTH_STEPS, step, DEPTH_STEPS);
    for (size_t i = 0; i < u->n_needle; i++)
        in[i].before = u->now->filler == ESSAY
                     ? haystack_at(h, units, 100.0 * step[i] / (DEPTH_STEPS - 1))
                     : (size_t)rng_below(&r, units + 1);
    if (in_order)
        qsort(in, u->n_needle, sizeof *in, by_place);
    for (size_t i = 0; i < u->n_needle; i++)
        in[i].text = u->needle[i];
    qsort(in, u->n_needle, sizeof *in, by_place);
    haystack_build(h, units, in, u->n_needle, t);
}

/* Puts the row's needles at random places among others that no question asks for, one per line. */
static void hide_among_needles(const struct ruler *u, size_t units, struct text *t)
{
    const struct task *task = u->now;
    struct rng r = stream(u, 2), asked = stream(u, 0);
    uint32_t   pair[N_WORD_PAIRS];
    size_t     place = (size_t)rng_below(&r, units + 1);

    rng_choose(&asked, N_WORD_PAIRS, pair, N_WORD_PAIRS);
    for (size_t i = 0; i <= units; i++) {
        char *key, *value, *s;

        if (i == place)
            text_printf(t, "%s\n", u->needle[0]);
        if (i == units)
            break;
        key = thing(task->key, &r, pair[1 + i]);
        value = thing(task->value, &r, 0);
        s = needle(task->value, key, value);
        text_printf(t, "%s\n", s);
        free(key);
        free(value);
        free(s);
    }
}

static void build_niah(void *arg, size_t units, struct row *row)
{
    const struct ruler *u = arg;
    struct text         t = { NULL, 0, 0 };
    const char         *kinds = kind_name[u->now->value][1];

    text_printf(&t, "Some special magic %s are hidden in the text below. Remember them: at its end "
                "there is a question about them.\n\n", kinds);
    if (u->now->filler == NOTHING)
        hide_among_needles(u, units, &t);
    else
        hide(u, u->now->filler == ESSAY ? &u->essay : &u->stock, units, false, &t);
    row->context = t.p;
}

/* ---- vt: chains of variables --------------------------------------------------------- */
enum { CHAIN = 5 };

/* Makes CHAIN names of n letters with different first letters, and the lines of their chain. */
static void chain(struct rng *r, int n, const char *value, char name[CHAIN][8],
                  char *line[CHAIN])
{
    uint32_t first[26];

    rng_choose(r, 26, first, 26);
    for (int i = 0; i < CHAIN; i++) {
        for (int j = 0; j < n; j++)
            name[i][j] = (char)('A' + (j ? rng_below(r, 26) : first[i]));
        name[i][n] = 0;
        line[i] = i ? format("VAR %s = VAR %s.", name[i], name[i - 1])
                    : format("VAR %s = %s.", name[i], value);
    }
}

static void ask_vt(struct ruler *u, struct row *row)
{
    struct rng r = stream(u, 0);
    char      *value = rng_digits(&r, 5), name[CHAIN][8];

    chain(&r, 5, value, name, u->needle);
    u->n_needle = CHAIN;
    for (int i = 0; i < CHAIN; i++)
        row_answer(row, format("%s", name[i]));
    row->question = format("Which variables are given the value %s in the text above?", value);
    row->begin = format("%d variables are given the value %s in the text above:", CHAIN, value);
    free(value);
}

static void build_vt(void *arg, size_t units, struct row *row)
{
    const struct ruler *u = arg;
    struct text         t = { NULL, 0, 0 };
    struct rng          r = stream(u, 3);
    char                name[CHAIN][8], *line[CHAIN], *value = rng_digits(&r, 5);

    chain(&r, 3, value, name, line);
    text_puts(&t, "Remember the chains of assignments that are hidden in a text, and follow them.\n\n"
              "Example:");
    for (int i = 0; i < CHAIN; i++)
        text_printf(&t, " %.*s %s", 19, stock_sentences, line[i]);
    text_printf(&t, "\nWhich variables are given the value %s? %d variables are given the value %s:",
                value, CHAIN, value);
    for (int i = 0; i < CHAIN; i++) {
        text_printf(&t, " %s", name[i]);
        free(line[i]);
    }
    text_puts(&t, "\n\nThe text:\n");
    free(value);
    hide(u, &u->stock, units, true, &t);
    row->context = t.p;
}

/* ---- cwe: common words --------------------------------------------------------------- */
enum { COMMON = 10, EXAMPLE_WORDS = 40, SHORT = 4096 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Collects distinct words of 4 to 10 lower-case letters, in alphabetical order. */
static void find_words(struct ruler *u)
{
    const char *s = u->essay.text;
    size_t      n = 0, kept = 0;

    for (const char *end; *s; s = *end ? end + 1 : end) {
        size_t k = strspn(s, "abcdefghijklmnopqrstuvwxyz");

        end = s + k;
        if (k < 4 || k > 10 || !strchr(" ,.;\n", *end) || (s > u->essay.text && s[-1] != ' '))
            continue;
        if (!(n & (n - 1)))
            u->word = grow(u->word, 2 * n + 1, sizeof *u->word);
        u->word[n++] = format("%.*s", (int)k, s);
    }
    if (n)
        qsort(u->word, n, sizeof *u->word, by_text);
    for (size_t i = 0; i < n; i++)
        if (kept && !strcmp(u->word[kept - 1], u->word[i]))
            free(u->word[i]);
        else
            u->word[kept++] = u->word[i];
    u->n_word = kept;
}

/* The i-th word: pairs of words when the haystack has no more. */
static char *list_word(const struct ruler *u, uint32_t i)
{
    return i < u->n_word ? format("%s", u->word[i]) : word_pair(i - (uint32_t)u->n_word);
}

/* Number of words to choose from: one per 12 tokens is more than a list of this length needs. */
static uint32_t all_words(const struct ruler *u)
{
    return (uint32_t)u->n_word + (u->n_word > u->row_length / 12 ? 0 : N_WORD_PAIRS);
}

/* A numbered list, shuffled: words [0 .. COMMON) `often` times each, the others up to n `seldom` times. */
static void word_list(const struct ruler *u, struct rng *r, const uint32_t *word, size_t n,
                      size_t often, size_t seldom, struct text *t)
{
    const size_t total = COMMON * often + (n - COMMON) * seldom;
    uint32_t    *entry = grow(NULL, total, sizeof *entry);
    size_t       k = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (i < COMMON ? often : seldom); j++)
            entry[k++] = word[i];
    rng_shuffle(r, entry, total);
    for (k = 0; k < total; k++) {
        char *w = list_word(u, entry[k]);

        text_printf(t, "%s%zu. %s", k ? " " : "", k + 1, w);
        free(w);
    }
    free(entry);
}

/* The row's words in random order: the common ones of its list, those of the example, all others. */
static uint32_t *row_words(const struct ruler *u)
{
    struct rng r = stream(u, 0);
    uint32_t  *word = grow(NULL, all_words(u), sizeof *word);

    rng_choose(&r, all_words(u), word, all_words(u));
    return word;
}

static void ask_cwe(struct ruler *u, struct row *row)
{
    uint32_t *word = row_words(u);

    for (size_t i = 0; i < COMMON; i++)
        row_answer(row, list_word(u, word[i]));
    row->question = format("What are the %d most common words in the list above?", COMMON);
    row->begin = format("The %d words that come most often in the list are:", COMMON);
    free(word);
}

static void build_cwe(void *arg, size_t units, struct row *row)
{
    const struct ruler *u = arg;
    const bool   brief = u->row_length < SHORT;
    const size_t n_example = brief ? EXAMPLE_WORDS / 2 : EXAMPLE_WORDS;
    struct rng   r = stream(u, 1);
    uint32_t    *word = row_words(u), *list = grow(NULL, COMMON + units, sizeof *list);
    struct text  t = { NULL, 0, 0 };
    const char  *task = "In the numbered list of words below, some come more often than others. "
                        "Remember those that come most often.";

    text_printf(&t, "%s\n", task);
    word_list(u, &r, word + COMMON, n_example, brief ? 3 : 10, brief ? 1 : 3, &t);
    text_printf(&t, "\nThe %d words that come most often in the list are:", COMMON);
    for (size_t i = 0; i < COMMON; i++) {
        char *w = list_word(u, word[COMMON + i]);

        text_printf(&t, " %zu. %s", i + 1, w);
        free(w);
    }
    text_printf(&t, "\n\n%s\n", task);
    memcpy(list, word, COMMON * sizeof *list);
    memcpy(list + COMMON, word + COMMON + EXAMPLE_WORDS, units * sizeof *list);
    word_list(u, &r, list, COMMON + units, brief ? 6 : 30, brief ? 1 : 3, &t);
    row->context = t.p;
    free(word);
    free(list);
}

/* ---- fwe: frequent words ------------------------------------------------------------- */
enum { VOCABULARY = 2000, ASKED = 3 };

/* A made-up word; two equal ones are very unlikely, and harmless. */
static void coded_word(struct rng *r, char out[8])
{
    for (int i = 0; i < 6; i++)
        out[i] = (char)('a' + rng_below(r, 26));
    out[6] = 0;
}

static void ask_fwe(struct ruler *u, struct row *row)
{
    struct rng r = stream(u, 0);
    char       word[8];

    for (int i = 0; i <= ASKED; i++) {          /* word 0 is replaced by dots */
        coded_word(&r, word);
        if (i)
            row_answer(row, format("%s", word));
    }
    row->question = format("Leaving out the dots '...', which are the three coded words that come "
                           "most often in the text above? Do not explain.");
    row->begin = format("The three coded words that come most often are:");
}

/* Word number i makes up (1 + i)^-2 / zeta(2) of the text.  Its count is the expected number, rounded, not
 * drawn at random, so that the three most frequent words after the first are certain. */
static void build_fwe(void *arg, size_t units, struct row *row)
{
    const struct ruler *u = arg;
    const double ZETA_2 = 1.6449340668482264;
    struct rng   words = stream(u, 0), r = stream(u, 1);
    char       (*word)[8] = grow(NULL, VOCABULARY, sizeof *word);
    uint32_t    *entry = grow(NULL, units + VOCABULARY, sizeof *entry);
    size_t       n = 0;
    struct text  t = { NULL, 0, 0 };

    for (uint32_t i = 0; i < VOCABULARY; i++) {
        size_t count = (size_t)lround((double)units / ZETA_2 / ((i + 1.0) * (i + 1.0)));

        coded_word(&words, word[i]);
        for (count = i <= ASKED && !count ? 1 : count; count && n < units + ASKED; count--)
            entry[n++] = i;
    }
    rng_shuffle(&r, entry, n);
    text_puts(&t, "Read the coded text below and keep track of how often each coded word comes. Find "
              "the three most frequent ones.\n\n");
    for (size_t i = 0; i < n; i++)
        text_printf(&t, "%s%s", i ? " " : "", entry[i] ? word[entry[i]] : "...");
    row->context = t.p;
    free(entry);
    free(word);
}

/* ---- qa ------------------------------------------------------------------------------ */
static const struct qa_set *set_of(const struct ruler *u)
{
    return &u->qa[u->now->n_key];
}

static const struct qa_question *question_of(const struct ruler *u)
{
    const struct qa_set *q = set_of(u);
    struct rng           r = stream(u, 0);

    return &q->question[rng_below(&r, q->n_question)];
}

static void ask_qa(struct ruler *u, struct row *row)
{
    const struct qa_question *q = question_of(u);

    for (size_t i = 0; i < q->n_answer; i++)
        row_answer(row, format("%s", q->answer[i]));
    row->question = format("Answer the question from the documents above, with nothing but the "
                           "answer.\n\n%s", q->text);
    row->begin = format("Answer:");
}

/* Puts the question's own paragraphs at random places among `units` others. */
static void build_qa(void *arg, size_t units, struct row *row)
{
    const struct ruler       *u = arg;
    const struct qa_set      *set = set_of(u);
    const struct qa_question *q = question_of(u);
    struct rng   r = stream(u, 1), places = stream(u, 2);
    uint32_t    *order = grow(NULL, set->n_paragraph, sizeof *order);
    uint32_t    *shown = grow(NULL, q->n_gold + units, sizeof *shown);
    size_t       n = 0;
    struct text  t = { NULL, 0, 0 };

    rng_choose(&r, (uint32_t)set->n_paragraph, order, set->n_paragraph);
    for (size_t i = 0; i < q->n_gold; i++)
        shown[n++] = q->gold[i];
    for (size_t i = 0; i < set->n_paragraph && n < q->n_gold + units; i++) {
        bool gold = false;

        for (size_t j = 0; j < q->n_gold; j++)
            gold |= order[i] == q->gold[j];
        if (!gold)
            shown[n++] = order[i];
    }
    rng_shuffle(&places, shown, n);
    text_puts(&t, "Answer a question from the documents below, with nothing but the answer.\n\n");
    for (size_t i = 0; i < n; i++)
        text_printf(&t, "%sDocument %zu:\n%s", i ? "\n\n" : "", i + 1, set->paragraph[shown[i]]);
    row->context = t.p;
    free(order);
    free(shown);
}

/* ---- the 13 tasks --------------------------------------------------------------------- */
#define NIAH(name, filler, key, value, n_key, n_value, n_query) \
    { name, ask_niah, build_niah, 128, ALL, n_key, n_value, n_query, filler, key, value }
#define OTHER(name, build, max_tokens, metric, set) \
    { #name, ask_##build, build_##build, max_tokens, metric, set, 0, 0, STOCK, WORD, WORD }

static const struct task tasks[] = {
    NIAH("niah_single_1", STOCK, WORD, NUMBER, 1, 1, 1),
    NIAH("niah_single_2", ESSAY, WORD, NUMBER, 1, 1, 1),
    NIAH("niah_single_3", ESSAY, WORD, UUID, 1, 1, 1),
    NIAH("niah_multikey_1", ESSAY, WORD, NUMBER, 4, 1, 1),
    NIAH("niah_multikey_2", NOTHING, WORD, NUMBER, 1, 1, 1),
    NIAH("niah_multikey_3", NOTHING, UUID, UUID, 1, 1, 1),
    NIAH("niah_multivalue", ESSAY, WORD, NUMBER, 1, 4, 1),
    NIAH("niah_multiquery", ESSAY, WORD, NUMBER, 4, 1, 4),
    OTHER(vt, vt, 30, ALL, 0),
    OTHER(cwe, cwe, 120, ALL, 0),
    OTHER(fwe, fwe, 50, ALL, 0),
    OTHER(qa_1, qa, 32, PART, 0),
    OTHER(qa_2, qa, 32, PART, 1)
};

enum { N_TASKS = sizeof tasks / sizeof *tasks };

static void more_help(struct io *io)
{
    out_printf(io, "\nTasks for --tasks:\n");
    for (size_t i = 0; i < N_TASKS; i++)
        out_printf(io, "  %s\n", tasks[i].name);
}

/* The most units that a row can have: limited by its length, and by the data. */
static size_t most(const struct ruler *u)
{
    const size_t length = (size_t)u->row_length;
    size_t       n = length;

    if (u->now->filler == NOTHING && u->now->key == WORD)
        n = N_WORD_PAIRS - 1;
    if (u->now->build == build_cwe)
        n = all_words(u) - COMMON - EXAMPLE_WORDS;
    if (u->now->build == build_qa)
        n = set_of(u)->n_paragraph - question_of(u)->n_gold;
    return n < length ? n : length;
}

static int make(struct eval *e, void *arg, size_t i, struct row *row)
{
    struct ruler      *u = arg;
    const struct spec *s = &u->spec[i];
    const struct task *t = s->task;
    uint64_t           answer = eval_max_tokens(e, t->max_tokens);
    int                code;

    row->id = format("%s-%" PRIu64 "-%" PRIu64 "-%" PRIu64, t->name, s->length, s->sample,
                     e->o.gkv.seed);
    row->group = t->name;
    row->metric = t->metric;
    row->max_tokens = t->max_tokens;
    u->now = t;
    u->id = row->id;
    u->row_length = s->length;
    t->ask(u, row);
    if (u->no_begin) {
        free(row->begin);
        row->begin = NULL;
    }
    code = eval_fit(e, s->length > answer ? s->length - answer : 0, 1, most(u), t->build, u, row);
    row->length = s->length;
    for (size_t j = 0; j < u->n_needle; j++)
        free(u->needle[j]);
    u->n_needle = 0;
    return code;
}

static double weight(const void *arg, size_t i)
{
    const struct ruler *u = arg;

    return (double)u->spec[i].length;
}

static void add(struct ruler *u, const struct task *t)
{
    for (size_t i = 0; i < u->e.o.lengths.n; i++)
        for (uint64_t j = 0; j < u->e.o.samples; j++) {
            u->spec = grow(u->spec, u->n + 1, sizeof *u->spec);
            u->spec[u->n++] = (struct spec){ t, u->e.o.lengths.v[i], j };
        }
}

static bool named(const char *list, const char *name)
{
    for (const char *s = list; *s; s += *s == ',') {
        const size_t n = strcspn(s, ",");

        if (strlen(name) == n && !memcmp(s, name, n))
            return true;
        s += n;
    }
    return false;
}

static int check_names(const struct options *o, const char *list)
{
    for (const char *s = list; *s; s += *s == ',') {
        const size_t n = strcspn(s, ",");
        size_t       i = 0;

        while (i < N_TASKS && (strlen(tasks[i].name) != n || memcmp(s, tasks[i].name, n)))
            i++;
        if (i == N_TASKS)
            return usage(o->io, o->cmd, "option '--tasks': no task '%.*s'; --help lists them", (int)n, s);
        s += n;
    }
    return 0;
}

/* Adds the tasks that there is data for, and warns about the others. */
static int add_tasks(struct ruler *u)
{
    const struct cmd *cmd = u->e.o.cmd;
    const struct { const char *file, *option; } data[] = { { u->squad, "--squad" },
                                                           { u->hotpot, "--hotpot" } };
    int code = u->tasks ? check_names(&u->e.o, u->tasks) : 0;

    if (code)
        return code;
    for (size_t i = 0; i < N_TASKS; i++) {
        const struct task *t = &tasks[i];

        if (u->tasks && !named(u->tasks, t->name))
            continue;
        if (t->build == build_qa && !data[t->n_key].file) {
            if (u->tasks)
                return usage(u->e.o.io, cmd, "%s needs questions; give a file with %s", t->name,
                             data[t->n_key].option);
            say(u->e.o.io, "%s is left out, and out of the mean: it needs %s FILE", t->name,
                data[t->n_key].option);
            continue;
        }
        add(u, t);
    }
    return 0;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct ruler u = { .tasks = NULL };
    int          code;

    code = eval_parse(&u.e, self, io, argc, argv);
    if (!code)
        code = add_tasks(&u);
    haystack_of(&u.stock, stock_sentences, " ");
    if (!code)
        code = eval_open(&u.e);
    if (!code)
        code = haystack_read(&u.essay, io, u.e.o.haystack.v, u.e.o.haystack.n);
    if (!code)
        confine_read(&u.e.o);
    if (!code && u.squad)
        code = qa_squad(&u.qa[0], io, u.squad);
    if (!code && u.hotpot)
        code = qa_hotpot(&u.qa[1], io, u.hotpot);
    if (!code) {
        find_words(&u);
        code = eval_run(&u.e, u.n, make, weight, &u);
    }
    eval_close(&u.e);
    haystack_free(&u.essay);
    haystack_free(&u.stock);
    qa_free(&u.qa[0]);
    qa_free(&u.qa[1]);
    for (size_t i = 0; i < u.n_word; i++)
        free(u.word[i]);
    free(u.word);
    free(u.spec);
    return code;
}

const struct cmd eval_ruler = {
    .name = "eval ruler", .summary = "RULER's tasks, by task and length", .synopsis = "[options]",
    .needs = NEEDS_PROGRAMS, .takes = FOR_ROWS | FOR_LENGTHS | FOR_HAYSTACK, .own = own, .defaults = defaults, .run = run,
    .more_help = more_help
};
