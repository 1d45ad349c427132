/* SPDX-License-Identifier: BSD-2-Clause
 * report.c - see report.h: what is remembered of each question until the page is written */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/cli/answerer.h"
#include "src/cli/input.h"
#include "src/cli/report-parts.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

/* The document in the report, which may have it from an earlier question. */
static size_t document_of(struct report *p, const struct run *r, size_t i)
{
    struct document d = { .name = NULL };
    const char     *name = input_name(r->o.file.v[i]);

    d.text = gkv_document_text(gkv_session_document(r->session), i, &d.len);
    for (size_t j = 0; j < p->n_doc; j++)
        if (p->doc[j].len == d.len && !strcmp(p->doc[j].name, name) && !memcmp(p->doc[j].text, d.text, d.len))
            return j;
    d.name = format("%s", name);
    if (r->often && r->o.library) {     /* the next question closes those that it does not choose */
        d.copy = grow(NULL, d.len, 1);
        memcpy(d.copy, d.text, d.len);
        d.text = d.copy;
    }
    report_look(&d);
    p->doc = grow(p->doc, p->n_doc + 1, sizeof *p->doc);
    p->doc[p->n_doc] = d;
    return p->n_doc++;
}

/* Tokens can end within a character, but a mark cannot; and a space at an end of it is only ugly. */
static bool whole_characters(const struct document *d, struct mark *k, uint64_t after)
{
    while (k->start > 0 && report_continues(d, k->start))
        k->start--;
    while (report_continues(d, k->end))
        k->end++;
    if (k->start < after)
        k->start = after;
    while (k->start + 1 < k->end && report_is_space(d->text[k->start]))
        k->start++;
    while (k->start + 1 < k->end && report_is_space(d->text[k->end - 1]))
        k->end--;
    return k->start < k->end;
}

static int by_score(const void *a, const void *b)
{
    const struct mark *x = *(const struct mark *const *)a, *y = *(const struct mark *const *)b;

    if (x->score > y->score || x->score < y->score)
        return x->score < y->score ? 1 : -1;
    return (x > y) - (x < y);
}

static void rank(struct asked *q)
{
    const struct mark **best = grow(NULL, q->n, sizeof *best);
    double                 low, range;

    q->by_rank = grow(NULL, q->n, sizeof *q->by_rank);
    for (size_t i = 0; i < q->n; i++) {
        best[i] = &q->k[i];
        if (!isfinite(q->k[i].score))
            q->k[i].score = 0;
    }
    qsort(best, q->n, sizeof *best, by_score);
    /* The last tenth is not what others are measured by: what is kept whatever its score is among them. */
    low = q->n ? (double)best[q->n - 1 - q->n / 10]->score : 0;
    range = q->n ? (double)best[0]->score - low : 0;
    for (size_t i = 0; i < q->n; i++) {
        struct mark *k = &q->k[best[i] - q->k];
        const double    strength = range > 0 ? ((double)k->score - low) / range : 0.5;

        k->rank = i;
        k->level = strength > 0 ? 1 + (int)(strength * (REPORT_LEVELS - 1e-6)) : 1;
        q->by_rank[i] = (size_t)(k - q->k);
    }
    free(best);
}

static void figure(struct asked *q, const char *name, char *value)
{
    q->figure[q->n_figure++] = (struct figure){ name, value };
}

/* $SOURCE_DATE_EPOCH fixes the date; then figures that differ from run to run are left out, so that the page is the
 * same bytes. */
static void figures(struct asked *q, const struct run *r)
{
    const char    *fixed = getenv("SOURCE_DATE_EPOCH");
    time_t         now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    char           when[64] = "", *kept, *prompt, *peak;
    gkv_model_info m;
    gkv_stats      s;
    struct tm      tm;

    gkv_model_describe(r->model, &m);
    run_stats(r, &s);
    kept = report_grouped(s.tokens_kept);
    prompt = report_grouped(s.tokens_prompt);
    peak = view_bytes(s.memory_peak);
    q->cut = q->answered && s.finish && !strcmp(s.finish, "length");
    if (r->answerer)
        figure(q, "Answered by", format("%s", answerer_model(r->answerer)));
    figure(q, r->answerer ? "Read by" : r->reader ? "Answered by" : "Model",
           format("%s", m.name && *m.name ? m.name : m.architecture));
    if (r->reader)
        figure(q, "Read by", format("%s", *s.reader ? s.reader : r->o.reader));
    figure(q, "Read again", format("%s of %s tokens (%.2g %%), in %zu passage%s", kept, prompt,
                                   s.tokens_prompt ? 100.0 * (double)s.tokens_kept / (double)s.tokens_prompt : 0.0,
                                   q->n, q->n == 1 ? "" : "s"));
    figure(q, "Method", format("%s", s.method));
    if (!fixed) {
        figure(q, "Time", s.decode > 0 ? format("%.1f s to read, %.1f s to answer", s.first + s.second, s.decode)
                                       : format("%.1f s to read", s.first + s.second));
        figure(q, "Memory", format("%s", peak));
    }
    if (gmtime_r(&now, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &tm);
    figure(q, "Date", format("%s", when));
    free(kept);
    free(prompt);
    free(peak);
}

void report_add(struct run *r, const char *answer, size_t len)
{
    struct report  *p;
    struct asked   *q;
    const gkv_kept *k;
    struct place   *place;
    size_t          n;

    if (!r->output.f)
        return;
    if (!r->report) {
        r->report = grow(NULL, 1, sizeof *r->report);
        *r->report = (struct report){ .n_asked = 0 };
    }
    p = r->report;
    p->asked = grow(p->asked, p->n_asked + 1, sizeof *p->asked);
    q = &p->asked[p->n_asked];
    *q = (struct asked){ .question = format("%s", r->question), .answered = answer };
    if (answer)
        text_add(&q->answer, answer, len);
    q->doc = grow(NULL, r->o.file.n, sizeof *q->doc);
    for (; q->n_doc < r->o.file.n; q->n_doc++)
        q->doc[q->n_doc] = document_of(p, r, q->n_doc);
    k = gkv_session_kept(r->session, &n);
    place = place_kept(gkv_session_document(r->session), k, n);
    q->k = grow(NULL, n, sizeof *q->k);
    for (size_t i = 0; i < n; i++) {
        struct mark one = { .asked = p->n_asked, .doc = q->doc[k[i].file], .start = k[i].start, .end = k[i].end,
                               .best = k[i].best, .place = place[i], .score = k[i].score };
        const struct mark *before = q->n ? &q->k[q->n - 1] : NULL;

        p->doc[one.doc].marked = true;
        if (whole_characters(&p->doc[one.doc], &one, before && before->doc == one.doc ? before->end : 0))
            q->k[q->n++] = one;
    }
    free(place);
    rank(q);
    figures(q, r);
    p->n_asked++;
}

void report_free(struct report *p)
{
    for (size_t i = 0; p && i < p->n_asked; i++) {
        struct asked *q = &p->asked[i];

        for (size_t j = 0; j < q->n_figure; j++)
            free(q->figure[j].value);
        free(q->question);
        text_free(&q->answer);
        free(q->doc);
        free(q->k);
        free(q->by_rank);
    }
    for (size_t i = 0; p && i < p->n_doc; i++) {
        free(p->doc[i].name);
        free(p->doc[i].copy);
    }
    if (p) {
        free(p->asked);
        free(p->doc);
    }
    free(p);
}
