/* SPDX-License-Identifier: BSD-2-Clause
 * hand-over.c - see hand-over.h */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/mem.h"
#include "src/hand-over.h"

enum { GAP = 64 };              /* bytes of white space that are handed over with what is around them */

static void drop_prompt(struct gkv__hand *h)
{
    gkv__prompt_close(&h->prompt);
    gkv_document_close(h->d);
    h->d = NULL;
}

void gkv__hand_close(struct gkv__hand *h)
{
    drop_prompt(h);
    free(h->piece);
    free(h->rank);
    h->piece = NULL;
    h->rank = NULL;
    h->n = h->n_fit = 0;
    h->seconds = 0;
}

/* ---- pieces ----------------------------------------------------------------------------- */

static const char *text_of(const struct gkv__prompt *p, uint32_t file, size_t *len)
{
    return gkv_document_text(p->d, file, len);
}

/* Widens the passages, and joins those that overlap then.  They are in the document's order. */
static void widen(struct gkv__hand *h, const struct gkv__prompt *p)
{
    size_t m = 0;

    for (size_t i = 0; i < h->n; i++) {
        gkv_kept k = h->piece[i], *last = m ? &h->piece[m - 1] : NULL;
        size_t len;
        const char *text = text_of(p, k.file, &len);
        const struct gkv__range s = gkv__snap(text, len, h->used, (struct gkv__range){ (size_t)k.start, (size_t)k.end });

        if (s.start == s.end)                   /* nothing but white space */
            continue;
        if (last && last->file == k.file && s.start < last->end) {
            last->start = gkv__min(last->start, s.start);
            last->end = gkv__max(last->end, s.end);
            last->text = text + last->start;
            if (k.score > last->score) {
                last->score = k.score;
                last->best = k.best;
            }
            continue;
        }
        k.start = s.start;
        k.end = s.end;
        k.text = text + s.start;
        h->piece[m++] = k;
    }
    h->n = m;
}

static int by_score(const void *a, const void *b)
{
    const gkv_kept *x = *(const gkv_kept *const *)a, *y = *(const gkv_kept *const *)b;

    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x < y ? -1 : x > y;
}

static gkv_status rank(struct gkv__hand *h, gkv_error *err)
{
    const gkv_kept **order = malloc(h->n * sizeof *order + 1);

    h->rank = malloc(h->n * sizeof *h->rank + 1);
    if (!h->rank || !order) {
        free(order);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < h->n; i++)
        order[i] = &h->piece[i];
    qsort(order, h->n, sizeof *order, by_score);
    for (size_t i = 0; i < h->n; i++)
        h->rank[order[i] - h->piece] = i;
    free(order);
    return GKV_OK;
}

/* ---- their text ------------------------------------------------------------------------- */

/* What stands between two passages in place of text that is left out: a newline if there is one in it, else a space
 * if there is any white space. */
static const char *between(const char *text, uint64_t from, uint64_t to)
{
    bool space = false;

    for (uint64_t i = from; i < to; i++) {
        if (text[i] == '\n' || text[i] == '\f')
            return "\n";
        space |= text[i] == ' ' || text[i] == '\t' || text[i] == '\r';
    }
    return space ? " " : "";
}

static bool only_space(const char *text, uint64_t from, uint64_t to)
{
    const struct gkv__range s = gkv__trim(text, (struct gkv__range){ (size_t)from, (size_t)to });

    return to - from <= GAP && s.start == s.end;
}

/* The i-th and those after it that go over without a gap, as one; *next: the first after them. */
static gkv_kept joined(const struct gkv__hand *h, const struct gkv__prompt *p, size_t i, size_t *next)
{
    gkv_kept k = h->piece[i++];
    size_t len;
    const char *text = text_of(p, k.file, &len);

    for (; i < h->n; i++) {
        const gkv_kept *more = &h->piece[i];

        if (h->rank[i] >= h->n_fit)
            continue;
        if (more->file != k.file || !only_space(text, k.end, more->start))
            break;
        k.end = more->end;
        if (more->score > k.score) {
            k.score = more->score;
            k.best = more->best;
        }
    }
    *next = i;
    return k;
}

static size_t first_that_fits(const struct gkv__hand *h, size_t i)
{
    while (i < h->n && h->rank[i] >= h->n_fit)
        i++;
    return i;
}

static gkv_status feed(struct gkv__hand *h, const struct gkv__prompt *p, gkv_error *err)
{
    gkv_kept last = { .text = NULL };

    for (size_t i = first_that_fits(h, 0), next; i < h->n; i = first_that_fits(h, next)) {
        const gkv_kept k = joined(h, p, i, &next);
        size_t len;
        const char *gap, *text = text_of(p, k.file, &len);

        if (last.text && last.file != k.file)
            GKV__TRY(gkv_document_end_file(h->d, err));
        gap = last.text && last.file == k.file ? between(text, last.end, k.start) : "";
        GKV__TRY(gkv_document_feed(h->d, gap, strlen(gap), err));
        GKV__TRY(gkv_document_feed(h->d, k.text, (size_t)(k.end - k.start), err));
        last = k;
    }
    return GKV_OK;
}

static gkv_status feed_whole(struct gkv__hand *h, const struct gkv__prompt *p, gkv_error *err)
{
    for (size_t i = 0; i < p->d->n_files; i++) {
        size_t len;
        const char *text = text_of(p, (uint32_t)i, &len);

        GKV__TRY(gkv_document_feed(h->d, text, len, err));
        GKV__TRY(gkv_document_end_file(h->d, err));
    }
    return GKV_OK;
}

static gkv_status make(struct gkv__hand *h, const struct gkv__prompt *p, const struct gkv__asked *asked,
                       gkv_status (*fill)(struct gkv__hand *, const struct gkv__prompt *, gkv_error *), gkv_error *err)
{
    gkv_options o = *h->opt;

    drop_prompt(h);
    o.max_context = 0;                          /* of what is read; this is what is kept */
    GKV__TRY(gkv_document_open(&h->d, h->to, &o, err));
    GKV__TRY(fill(h, p, err));
    GKV__TRY(gkv__document_finish(h->d, err));
    return gkv__prompt_make(&h->prompt, h->d, asked, err);
}

/* ---- as many as fit --------------------------------------------------------------------- */

static gkv_status make_best(struct gkv__hand *h, const struct gkv__prompt *p, const struct gkv__asked *asked, size_t n,
                            gkv_error *err)
{
    h->n_fit = n;
    return make(h, p, asked, feed, err);
}

/* 0 pieces: not even the best has room. */
static gkv_status choose(struct gkv__hand *h, const struct gkv__prompt *p, const struct gkv__asked *asked, gkv_error *err)
{
    size_t low = 0, high = h->n;                /* low pieces fit, more than high do not */

    while (low < high) {
        /* All of them first: mostly they nearly fit, and often they do. */
        const size_t n = high == h->n && !low ? h->n : low + (high - low + 1) / 2;

        GKV__TRY(make_best(h, p, asked, n, err));
        if (h->prompt.n <= h->budget)
            low = n;
        else
            high = n - 1;
    }
    if (low && low != h->n_fit)
        return make_best(h, p, asked, low, err);
    h->n_fit = low;
    return GKV_OK;
}

static gkv_status hand_over(struct gkv__hand *h, const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                            const float *score, const struct gkv__asked *asked, gkv_error *err)
{
    uint64_t n_document;

    gkv__hand_close(h);
    GKV__TRY(gkv__prompt_passages(p, kept, n_kept, score, true, &h->piece, &h->n, &n_document, err));
    widen(h, p);
    if (!h->n)
        return gkv__fail(err, GKV_INVALID, "the reader kept no text of the document; raise --keep");
    GKV__TRY(rank(h, err));
    return choose(h, p, asked, err);
}

/* A sentence that is longer than all that is to be kept goes over in words. */
gkv_status gkv__hand_over(struct gkv__hand *h, const struct gkv__prompt *p, const uint32_t *kept, size_t n_kept,
                          const float *score, const struct gkv__asked *asked, gkv_error *err)
{
    const double start = gkv__seconds();
    gkv_status status;

    h->used = h->snap;
    status = hand_over(h, p, kept, n_kept, score, asked, err);
    if (!status && !h->n_fit && h->snap == GKV__SNAP_SENTENCE) {
        h->used = GKV__SNAP_WORD;
        status = hand_over(h, p, kept, n_kept, score, asked, err);
    }
    if (!status && !h->n_fit)
        status = gkv__fail(err, GKV_INVALID, "a budget of %" PRIu64 " tokens has no room for the question and the best "
                           "passage, which are %zu tokens of the model that answers; raise --keep", h->budget, h->prompt.n);
    h->seconds = gkv__seconds() - start;
    return status;
}

gkv_status gkv__hand_spans(const struct gkv__hand *h, const struct gkv__prompt *p, gkv_kept **out, size_t *n,
                           gkv_error *err)
{
    *n = 0;
    *out = malloc(h->n_fit * sizeof **out + 1);
    if (!*out)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (size_t i = first_that_fits(h, 0), next; i < h->n; i = first_that_fits(h, next))
        (*out)[(*n)++] = joined(h, p, i, &next);
    return GKV_OK;
}

gkv_status gkv__hand_whole(struct gkv__hand *h, const struct gkv__prompt *p, const struct gkv__asked *asked, uint64_t *n,
                           gkv_error *err)
{
    const double start = gkv__seconds();
    const gkv_status status = make(h, p, asked, feed_whole, err);

    h->used = h->snap;
    *n = h->prompt.n;
    h->seconds = gkv__seconds() - start;
    return status;
}
