/* SPDX-License-Identifier: BSD-2-Clause
 * score-squad.c - measures of SQuAD 2.0 and Lost in the Middle, as their scripts have them
 *
 * What looks arbitrary here is the script's: its order of tests, its first number that counts.
 * build-aux/score-sets.py compares all of it with the script. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/score-parts.h"

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
