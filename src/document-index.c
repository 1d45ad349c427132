/* SPDX-License-Identifier: BSD-2-Clause
 * document-index.c - documents that the early layers have gone through: made, and joined to be asked as one. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/document.h"
#include "src/plan.h"
#include "src/prompt.h"

gkv_status gkv__document_has_index(gkv_document *d, gkv_error *err)
{
    d->part = malloc(sizeof *d->part);
    if (!d->part)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->n_parts = 1;
    *d->part = (struct gkv__part){ &d->index, 0, 0, d->tokens.n };
    return GKV_OK;
}

/* ---- making ----------------------------------------------------------------------------- */

/* What stands for a question when caches are chosen before there is one. */
static const char guide[] = "What does the text say? Names, numbers, dates, places, reasons, and what is special.";

struct making {
    struct gkv__plan       plan;
    struct gkv__exec       exec;
    struct gkv__prompt     prompt;
    struct gkv__index_work work;
};

static gkv_status make(struct making *k, const gkv_document *d, const gkv_options *o, const struct gkv__grade *grade,
                       gkv_error *err)
{
    struct gkv__plan *p = &k->plan;
    const size_t n = d->tokens.n;
    size_t tail;

    GKV__TRY(gkv__plan_options(p, d->model, o, err));
    GKV__TRY(gkv__plan_task(p, d->model, o, err));
    if (p->task.sparse > 0)
        return gkv__fail(err, GKV_INVALID, "an index is made with dense attention; leave --attention out");
    /* Its time and memory are those of a first pass by this schedule. */
    GKV__TRY(gkv__schedule_parse(grade->all ? "chunk" : "stream:refine=0", &p->asked, p->asked_param, err));
    p->kv_type = grade->all ? grade->kv : NULL;
    p->select_only = true;
    GKV__TRY(gkv__prompt_make(&k->prompt, d, &(struct gkv__asked){ .question = guide, .len = strlen(guide) }, err));
    tail = k->prompt.n - k->prompt.n_fixed;
    gkv__plan_prompt(p, o, k->prompt.n, tail);
    GKV__TRY(gkv__plan_make(p, gkv__mem_resident(), err));
    GKV__TRY(gkv__plan_open(p, &k->exec, d->model, err));
    return gkv__index_make(&k->work, &k->exec, grade, &p->task, k->prompt.id, n, k->prompt.id + n, tail, err);
}

static gkv_status unknown_grade(const char *name, gkv_error *err)
{
    char known[64] = "";

    for (size_t i = 0, at = 0; gkv__grade_at(i); i++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", gkv__grade_at(i)->name);
    return gkv__fail_unknown(err, "grade", name, strlen(name), known);
}

gkv_status gkv_document_index(gkv_document *d, const gkv_options *opt, const char *name, const char *path,
                              gkv_error *err)
{
    const struct gkv__grade *grade = name ? gkv__grade_named(name) : gkv__grade_at(0);
    struct making k = { .work.index.fd = -1 };
    gkv_options o;
    gkv_status status;

    if (!grade)
        return unknown_grade(name, err);
    GKV__TRY(gkv__options(&o, opt, err));
    GKV__TRY(gkv__document_finish(d, err));
    if (gkv__document_is_raw(d))
        return gkv__fail(err, GKV_INVALID, "an index needs a chat template: the question is not part of the text");
    k.exec.cancel = &d->cancel;
    k.exec.progress = o.progress;
    k.exec.progress_arg = o.progress_arg;
    status = make(&k, d, &o, grade, err);
    gkv__exec_close(&k.exec);
    gkv__prompt_close(&k.prompt);
    if (status == GKV_OK)
        status = gkv__document_write(d, &k.work, path, err);
    gkv__index_work_close(&k.work);
    if (status == GKV_CANCELLED)
        atomic_store(&d->cancel, false);
    return status;
}

void gkv_document_cancel(gkv_document *d)
{
    atomic_store(&d->cancel, true);
}

/* ---- joining ---------------------------------------------------------------------------- */

/* Tokens of the beginning that all documents share, and the bytes that they stand for: where a token
 * reaches into the text, more than the template's. */
static size_t opening(const gkv_document *d, uint64_t *bytes)
{
    size_t i = 0;

    for (*bytes = 0; i < d->tokens.n && *bytes < d->file[0].start; i++)
        *bytes += d->tokens.len[i];
    return i;
}

/* Text between what was indexed of one part and of the next becomes tokens now. */
static gkv_status tokenize_gap(gkv_document *all, gkv_error *err)
{
    const size_t n = all->len - all->tokenized;
    const struct gkv__range plain = { 0, n };

    if (n)
        GKV__TRY(gkv__tokenize(all->vocab, all->text + all->tokenized, n, &plain, 1, &all->tokens, err));
    all->tokenized = all->len;
    return GKV_OK;
}

static gkv_status add_files(gkv_document *all, const gkv_document *d, uint64_t from, gkv_error *err)
{
    struct gkv__file *grown = realloc(all->file, (all->n_files + d->n_files) * sizeof *grown);

    if (!grown)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    all->file = grown;
    for (size_t i = 0; i < d->n_files; i++)
        grown[all->n_files++] = (struct gkv__file){ all->len + d->file[i].start - from, all->len + d->file[i].end - from };
    return GKV_OK;
}

static gkv_status add_tokens(gkv_document *all, const gkv_document *d, size_t skip, gkv_error *err)
{
    GKV__TRY(gkv__tokens_reserve(&all->tokens, d->tokens.n - skip, err));
    for (size_t i = skip; i < d->tokens.n; i++)
        gkv__tokens_push(&all->tokens, d->tokens.id[i], d->tokens.len[i]);
    return GKV_OK;
}

static gkv_status add_part(gkv_document *all, const gkv_document *d, gkv_error *err)
{
    const bool first = !all->n_parts;
    const uint64_t from = first ? 0 : d->file[0].start;
    uint64_t begins = 0;
    const size_t skip = first ? 0 : opening(d, &begins);
    struct gkv__part *part = &all->part[all->n_parts];

    if (!first)
        GKV__TRY(gkv__document_append(all, "\n\n", 2, err));
    GKV__TRY(add_files(all, d, from, err));
    if (!first) {
        GKV__TRY(gkv__document_append(all, d->text + from, (size_t)(begins - from), err));
        GKV__TRY(tokenize_gap(all, err));
    }
    *part = (struct gkv__part){ &d->index, all->tokens.n, skip, 0 };
    GKV__TRY(add_tokens(all, d, skip, err));
    part->n = all->tokens.n - part->first;
    GKV__TRY(gkv__document_append(all, d->text + begins, d->len - (size_t)begins, err));
    all->tokenized = all->len - (d->len - d->tokenized);
    all->n_parts++;
    return GKV_OK;
}

/* What they must have in common. */
static gkv_status match(const gkv_document *a, const gkv_document *b, size_t i, gkv_error *err)
{
    if (b->model != a->model || strcmp(b->tmpl->open, a->tmpl->open) || strcmp(b->tmpl->close, a->tmpl->close))
        return gkv__fail(err, GKV_INVALID, "document %zu has another model or chat template than the first", i + 1);
    if (b->index.fd < 0)
        return gkv__fail(err, GKV_INVALID, "document %zu has no index", i + 1);
    if (b->n_joined || gkv__document_is_raw(b))
        return gkv__fail(err, GKV_INVALID, "document %zu cannot be joined with others", i + 1);
    return GKV_OK;
}

static gkv_status join(gkv_document *all, gkv_document *const *part, size_t n, gkv_error *err)
{
    const gkv_document *first = part[0];

    all->model = first->model;
    all->vocab = first->vocab;
    all->limit = first->limit;
    all->max_context = first->max_context;
    all->resident = first->resident;
    all->index.fd = -1;
    all->finished = true;
    all->part = calloc(n, sizeof *all->part);
    all->joined = calloc(n, sizeof(gkv_document *));
    if (!all->part || !all->joined)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    memcpy(all->warning, first->warning, sizeof all->warning);
    for (size_t i = 0; i < n; i++)
        GKV__TRY(add_part(all, part[i], err));
    all->tmpl = first->tmpl;            /* which may be the first part's own */
    all->checked = all->len;
    return GKV_OK;
}

gkv_status gkv_document_join(gkv_document **out, gkv_document *const *part, size_t n, gkv_error *err)
{
    gkv_document *all;
    gkv_status status;

    *out = NULL;
    if (!n)
        return gkv__fail(err, GKV_INVALID, "no documents to join");
    for (size_t i = 0; i < n; i++)
        GKV__TRY(match(part[0], part[i], i, err));
    all = calloc(1, sizeof *all);
    if (!all)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = join(all, part, n, err);
    if (status != GKV_OK) {
        gkv_document_close(all);
        return status;
    }
    for (size_t i = 0; i < n; i++)
        all->joined[i] = part[i];
    all->n_joined = n;
    *out = all;
    return GKV_OK;
}
