/* SPDX-License-Identifier: BSD-2-Clause
 * score.c - see score.h; what the scripts of data sets do is in score-squad.c and the like */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-sets.h"
#include "src/cli/text.h"

/* ---- measures of any task ------------------------------------------------------------ */
static double em(const char *answer, const char *ref)
{
    char  *a = normal_form(answer, true), *r = normal_form(ref, true);
    double same = !strcmp(a, r);

    free(a);
    free(r);
    return same;
}

static double f1(const char *answer, const char *ref)
{
    struct wordlist a = wordlist_split(normal_form(answer, true)), r = wordlist_split(normal_form(ref, true));
    const double    v = a.n && r.n ? f_measure(wordlist_overlap(&a, &r), a.n, r.n) : a.n == r.n;

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

static double contains(const char *answer, const char *ref)
{
    char  *a = normal_form(answer, true), *r = normal_form(ref, true);
    char  *in = format(" %s ", a), *what = format(" %s ", r);
    double found = strstr(in, what) != NULL;

    free(a);
    free(r);
    free(in);
    free(what);
    return found;
}

static double rouge_1(const char *answer, const char *ref)
{
    return rouge_overlap(answer, ref, true);
}

static double rouge_l(const char *answer, const char *ref)
{
    struct wordlist a = wordlist_rouge(answer, false), r = wordlist_rouge(ref, false);
    const double    v = f_measure(wordlist_common(&a, &r), a.n, r.n);

    wordlist_free(&a);
    wordlist_free(&r);
    return v;
}

static double part(const char *answer, const char *ref)
{
    char  *a = letter_lowered(answer), *r = letter_lowered(ref);
    double found = strstr(a, r) != NULL;

    free(a);
    free(r);
    return found;
}

static double all(const char *answer, const struct refs *refs, const struct refs *classes)
{
    double found = 0;

    (void)classes;
    for (size_t i = 0; i < refs->n; i++)
        found += part(answer, refs->ref[i]);
    return refs->n ? found / (double)refs->n : 0;
}

/* ---- the table ----------------------------------------------------------------------- */
enum line { ALL_LINES, FIRST, FIRST_TEXT };     /* FIRST_TEXT: the first one that is not empty */

static const struct {
    /* One of them: the score against one right answer, of which the best counts; or against all. */
    double  (*each)(const char *answer, const char *ref);
    double  (*whole)(const char *answer, const struct refs *refs, const struct refs *classes);
    enum line line;                             /* what of the answer counts                      */
} table[N_METRICS] = {
    [EM] = { .each = em }, [F1] = { .each = f1 }, [CONTAINS] = { .each = contains }, [ROUGE_1] = { .each = rouge_1 },
    [ROUGE_L] = { .each = rouge_l }, [ALL] = { .whole = all }, [PART] = { .each = part },
    [SQUAD_EM] = { .whole = squad_em }, [SQUAD_F1] = { .whole = squad_f1 },
    [SUBSPAN] = { .each = lost_subspan, .line = FIRST },
    [LONGBENCH_F1] = { .each = longbench_f1 }, [LONGBENCH_F1_LINE] = { .each = longbench_f1, .line = FIRST_TEXT },
    [LONGBENCH_ROUGE_L] = { .each = longbench_rouge_l },
    [LONGBENCH_ROUGE_L_LINE] = { .each = longbench_rouge_l, .line = FIRST_TEXT },
    [LONGBENCH_CLASS] = { .whole = longbench_class, .line = FIRST_TEXT },
    [LONGBENCH_COUNT] = { .each = longbench_count }, [LONGBENCH_RETRIEVAL] = { .each = longbench_retrieval },
    [LONGBENCH_CODE] = { .each = longbench_code }, [LONGBENCH_2] = { .each = longbench_2 },
    [INFINITE_KV] = { .each = infinite_kv }, [INFINITE_DIGITS] = { .whole = infinite_digits },
    [INFINITE_CODE_RUN] = { .whole = infinite_code_run }, [INFINITE_CODE_DEBUG] = { .whole = infinite_code_debug },
    [INFINITE_NAME] = { .whole = infinite_name }, [INFINITE_CHOICE] = { .whole = infinite_choice },
    [INFINITE_FIND] = { .whole = infinite_find }, [INFINITE_CALC] = { .whole = infinite_calc },
    [INFINITE_F1_ZH] = { .each = infinite_f1_zh }, [INFINITE_ROUGE_LSUM] = { .each = infinite_rouge_lsum },
    [LEVAL_EM] = { .each = leval_em }, [LEVAL_CHOICE] = { .each = leval_choice },
    [LEVAL_CHOICES] = { .each = leval_choices }, [LEVAL_MATH] = { .each = leval_math },
    [LEVAL_CODE] = { .each = leval_code }, [LEVAL_JUDGE] = { .each = leval_judge },
    [LEVAL_ROUGE_1] = { .each = leval_rouge_1 }, [LEVAL_ROUGE_2] = { .each = leval_rouge_2 },
};

const char *const metric_name[N_METRICS + 1] = {
    [EM] = "em", [F1] = "f1", [CONTAINS] = "contains", [ROUGE_1] = "rouge-1",
    [ROUGE_L] = "rouge-l", [ALL] = "all", [PART] = "part", [SQUAD_EM] = "squad-em", [SQUAD_F1] = "squad-f1",
    [SUBSPAN] = "subspan", [LONGBENCH_F1] = "longbench-f1", [LONGBENCH_F1_LINE] = "longbench-f1-line",
    [LONGBENCH_ROUGE_L] = "longbench-rouge-l", [LONGBENCH_ROUGE_L_LINE] = "longbench-rouge-l-line",
    [LONGBENCH_CLASS] = "longbench-class", [LONGBENCH_COUNT] = "longbench-count",
    [LONGBENCH_RETRIEVAL] = "longbench-retrieval", [LONGBENCH_CODE] = "longbench-code",
    [LONGBENCH_2] = "longbench2-choice", [INFINITE_KV] = "infinite-kv", [INFINITE_DIGITS] = "infinite-digits",
    [INFINITE_CODE_RUN] = "infinite-code-run", [INFINITE_CODE_DEBUG] = "infinite-code-debug",
    [INFINITE_NAME] = "infinite-name", [INFINITE_CHOICE] = "infinite-choice", [INFINITE_FIND] = "infinite-find",
    [INFINITE_CALC] = "infinite-calc", [INFINITE_F1_ZH] = "infinite-f1-zh",
    [INFINITE_ROUGE_LSUM] = "infinite-rouge-lsum", [LEVAL_EM] = "leval-em", [LEVAL_CHOICE] = "leval-choice",
    [LEVAL_CHOICES] = "leval-choices", [LEVAL_MATH] = "leval-math", [LEVAL_CODE] = "leval-code",
    [LEVAL_JUDGE] = "leval-judge", [LEVAL_ROUGE_1] = "leval-rouge-1", [LEVAL_ROUGE_2] = "leval-rouge-2",
};

enum metric metric_of(const char *name)
{
    enum metric m = 0;

    while (m < N_METRICS && strcmp(metric_name[m], name))
        m++;
    return m;
}

/* ---- scores -------------------------------------------------------------------------- */
static char *lines_of(const char *answer, enum line line)
{
    const char *s = answer;

    while (line == FIRST_TEXT && *s == '\n')
        s++;
    return format("%.*s", (int)(line == ALL_LINES ? strlen(s) : strcspn(s, "\n")), s);
}

static double score_by(enum metric m, const char *answer, const struct refs *refs, const struct refs *classes)
{
    double best = 0;
    char  *what = lines_of(answer, table[m].line);

    if (table[m].whole)
        best = table[m].whole(what, refs, classes);
    for (size_t i = 0; i < refs->n && table[m].each; i++) {
        const double v = table[m].each(what, refs->ref[i]);

        best = v > best ? v : best;
    }
    free(what);
    return best;
}

void score_answer(enum metric own, const char *answer, const struct refs *refs, const struct refs *classes,
                  double score[N_METRICS])
{
    memset(score, 0, N_METRICS * sizeof *score);
    for (int m = 0; m < N_COMMON; m++)
        score[m] = score_by((enum metric)m, answer, refs, classes);
    if (own >= N_COMMON)
        score[own] = score_by(own, answer, refs, classes);
}
