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
    d.part = format("%s", run_part(r, (uint32_t)i) ? run_part(r, (uint32_t)i) : "page");
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

enum { WORD = 40 };             /* bytes of a word at most: not all writing has spaces    */

static struct span whole_words(const struct document *d, struct span s)
{
    for (int i = 0; i < WORD && !report_is_edge(d, s.start); i++)
        s.start--;
    for (int i = 0; i < WORD && !report_is_edge(d, s.end); i++)
        s.end++;
    return s;
}

/* How strong each passage is, which are the best first.  The last tenth is not what others are measured by: what is kept
 * whatever its score is among them. */
static void levels(struct asked *q)
{
    float low, range;

    for (size_t i = 0; i < q->n; i++)
        if (!isfinite(q->k[i].score))
            q->k[i].score = 0;
    low = q->n ? q->k[q->n - 1 - q->n / 10].score : 0;
    range = q->n ? q->k[0].score - low : 0;
    for (size_t i = 0; i < q->n; i++) {
        const double strength = range > 0 ? (double)(q->k[i].score - low) / (double)range : 0.5;

        q->k[i].level = strength > 0 ? 1 + (int)(strength * (REPORT_LEVELS - 1e-6)) : 1;
    }
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

/* The first of n runs, in the order of the text, that ends behind byte `at` of the file. */
static size_t first_behind(const gkv_kept *kept, size_t n, uint32_t file, uint64_t at)
{
    size_t low = 0;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;

        if (kept[middle].file < file || (kept[middle].file == file && kept[middle].end <= at))
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

void report_add(struct run *r, const char *answer, size_t len)
{
    struct report  *p;
    struct asked   *q;
    const gkv_kept *kept;
    struct passage *passage;
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
    kept = gkv_session_kept(r->session, &q->n_kept);
    q->kept = grow(NULL, q->n_kept, sizeof *q->kept);
    for (size_t i = 0; i < q->n_kept; i++) {
        const size_t doc = q->doc[kept[i].file];

        q->kept[i].doc = doc;
        q->kept[i].span = whole_words(&p->doc[doc], (struct span){ kept[i].start, kept[i].end });
    }
    passage = run_passages(r, &n);
    q->k = grow(NULL, n, sizeof *q->k);
    for (size_t i = 0; i < n; i++)
        if (passage[i].span.start < passage[i].span.end) {
            const gkv_kept *best = passage[i].best;

            p->doc[q->doc[best->file]].marked = true;
            q->k[q->n] = (struct mark){ .asked = p->n_asked, .doc = q->doc[best->file], .rank = q->n,
                                        .start = passage[i].span.start, .end = passage[i].span.end,
                                        .kept = first_behind(kept, q->n_kept, best->file, passage[i].span.start),
                                        .best = best->best, .place = passage[i].place, .score = best->score };
            q->n++;
        }
    free(passage);
    levels(q);
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
        free(q->kept);
    }
    for (size_t i = 0; p && i < p->n_doc; i++) {
        free(p->doc[i].name);
        free(p->doc[i].part);
        free(p->doc[i].copy);
    }
    if (p) {
        free(p->asked);
        free(p->doc);
    }
    free(p);
}
