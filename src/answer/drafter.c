/* SPDX-License-Identifier: BSD-2-Clause
 * drafter.c - see drafter.h */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/draft.h"
#include "src/answer/drafter.h"
#include "src/answer/sample.h"
#include "src/engine/forward.h"
#include "src/engine/layer.h"
#include "src/engine/mtp.h"
#include "src/token/token.h"

enum { TEXT = 512 };            /* bytes of a token */

size_t gkv__drafter_room(uint64_t n)
{
    return (size_t)gkv__min(gkv__plus(n, n / 2 + GKV__DRAFT_MOST), SIZE_MAX / 8);
}

/* ---- through the model ------------------------------------------------------------------- */

/* Tokens up to the n-th, with the logits after it. */
static gkv_status run_to(struct gkv__drafter *d, size_t n, gkv_error *err)
{
    const size_t from = (size_t)gkv__min(d->n_run, n - 1);

    d->n_run = from;
    GKV__TRY(gkv__forward(&d->p, d->id + from, n - from, from, d->x, err));
    d->n_run = n;
    gkv__logits(d->e, d->m, d->x, 1, d->logits);
    return GKV_OK;
}

gkv_status gkv__drafter_begin(struct gkv__drafter *d, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;
    const size_t room = d->n_prompt + d->n_room;

    if (d->id)
        return GKV_OK;
    d->p = (struct gkv__pass){ .e = d->e, .m = d->m, .span = room, .c = &d->cache };
    d->x = malloc(s->n_embd * sizeof *d->x);
    d->logits = malloc(s->n_vocab * sizeof *d->logits);
    d->id = malloc(room * sizeof *d->id);
    if (!d->x || !d->logits || !d->id)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    memcpy(d->id, d->prompt, d->n_prompt * sizeof *d->id);
    d->n = d->n_sure = d->n_prompt;
    GKV__TRY(gkv__cache_open_for(&d->cache, d->m, d->kv, s->n_layer, room, err));
    return run_to(d, d->n, err);
}

void gkv__drafter_close(struct gkv__drafter *d)
{
    gkv__cache_close(&d->cache);
    free(d->id);
    free(d->tail);
    free(d->x);
    free(d->logits);
    *d = (struct gkv__drafter){ .e = NULL };
}

/* ---- the answer so far ------------------------------------------------------------------- */

/* The tokens after the n-th, instead of those that stand there.  False: there is no room. */
static bool put(struct gkv__drafter *d, size_t n, const uint32_t *id, size_t count)
{
    if (count > d->n_prompt + d->n_room - n)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (n + i < d->n_run && d->id[n + i] != id[i])
            d->n_run = n + i;
        d->id[n + i] = id[i];
    }
    d->n = n + count;
    return true;
}

static gkv_status hear(struct gkv__drafter *d, const uint32_t *id, size_t n, gkv_error *err)
{
    const size_t need = d->n_tail + (n - d->n_heard) * TEXT;

    if (need > d->cap) {
        char *grown = realloc(d->tail, 2 * need);

        if (!grown)
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        d->tail = grown;
        d->cap = 2 * need;
    }
    for (; d->n_heard < n; d->n_heard++) {
        const size_t i = d->n_heard;

        d->n_tail += (size_t)gkv__min(gkv__token_text_after(d->to, i ? id[i - 1] : GKV__NO_TOKEN, id[i], false,
                                                            d->tail + d->n_tail, TEXT), TEXT);
    }
    return GKV_OK;
}

/* Leaves out of the text what no further text changes the tokens of. */
static void settle(struct gkv__drafter *d, const struct gkv__tokens *t)
{
    const size_t cut = gkv__token_safe_cut(d->m->vocab, d->tail, d->n_tail);
    size_t bytes = 0, i = 0;

    while (i < t->n && bytes + t->len[i] <= cut)
        bytes += t->len[i++];
    if (bytes != cut)
        return;
    d->n_sure += i;
    d->n_tail -= cut;
    memmove(d->tail, d->tail + cut, d->n_tail);
}

static gkv_status follow_text(struct gkv__drafter *d, const uint32_t *id, size_t n, bool *fits, gkv_error *err)
{
    struct gkv__tokens t = { .n = 0 };
    struct gkv__range all = { 0, 0 };

    GKV__TRY(hear(d, id, n, err));
    all.end = d->n_tail;
    GKV__TRY(gkv__tokenize_after(d->m->vocab, d->id[d->n_sure - 1], d->tail, d->n_tail, &all, 1, &t, err));
    *fits = put(d, d->n_sure, t.id, t.n);
    if (*fits)
        settle(d, &t);
    gkv__tokens_free(&t);
    return GKV_OK;
}

/* ---- guesses ----------------------------------------------------------------------------- */

/* How likely a token is. */
static double chance(const float *logits, size_t n, uint32_t id)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)expf(logits[i] - logits[id]);
    return 1 / sum;
}

/* The likeliest token, if it is no end of the answer and at least as likely as `least`. */
static bool likely(const gkv_model *m, float *logits, double least, uint32_t *id)
{
    struct gkv__sampler greedy = { .temperature = 0 };

    *id = gkv__sample(&greedy, logits, NULL, m->shape.n_vocab);
    return *id < gkv__vocab_size(m->vocab) && !gkv__vocab_is_end(m->vocab, *id) &&
           chance(logits, m->shape.n_vocab, *id) >= least;
}

/* Writes on after d->n. */
static gkv_status write_on(struct gkv__drafter *d, double least, size_t most, size_t *n, gkv_error *err)
{
    most = (size_t)gkv__min(most, d->n_prompt + d->n_room - d->n);
    for (*n = 0; *n < most; ++*n) {
        uint32_t best;

        GKV__TRY(run_to(d, d->n + *n, err));
        if (!likely(d->m, d->logits, least, &best))
            break;
        d->id[d->n + *n] = best;
    }
    return GKV_OK;
}

size_t gkv__mtp_guess(struct gkv__mtp *t, const struct gkv__pass *p, double least, uint32_t *out, size_t most, float *logits)
{
    size_t n = 0;

    gkv__mtp_next(t, p, logits);
    while (n < most && likely(p->m, logits, least, &out[n]))
        if (++n < most)
            gkv__mtp_after(t, p, n - 1, out[n - 1], logits);
    return n;
}

/* The n guesses in the other's tokens, which come after `last`. */
static gkv_status translate(const struct gkv__drafter *d, uint32_t last, size_t n, uint32_t *out, size_t most, size_t *made,
                            gkv_error *err)
{
    char text[GKV__DRAFT_MOST * TEXT];
    struct gkv__tokens t = { .n = 0 };
    struct gkv__range all = { 0, 0 };

    for (size_t i = d->n; i < d->n + n; i++)
        all.end += (size_t)gkv__min(gkv__token_text_after(d->m->vocab, d->id[i - 1], d->id[i], false, text + all.end, TEXT),
                                    TEXT);
    GKV__TRY(gkv__tokenize_after(d->to, last, text, all.end, &all, 1, &t, err));
    *made = (size_t)gkv__min(t.n, most);
    memcpy(out, t.id, *made * sizeof *out);
    gkv__tokens_free(&t);
    return GKV_OK;
}

gkv_status gkv__drafter_guess(struct gkv__drafter *d, const uint32_t *id, size_t n, double least, uint32_t *out, size_t most,
                              size_t *made, gkv_error *err)
{
    bool fits;
    size_t k;

    *made = 0;
    if (d->same)
        fits = put(d, d->n_prompt, id, n);
    else
        GKV__TRY(follow_text(d, id, n, &fits, err));
    if (!fits)
        return GKV_OK;
    GKV__TRY(write_on(d, least, (size_t)gkv__min(most, GKV__DRAFT_MOST), &k, err));
    if (!d->same)
        return k ? translate(d, id[n - 1], k, out, most, made, err) : GKV_OK;
    memcpy(out, d->id + d->n, k * sizeof *out);
    *made = k;
    return GKV_OK;
}
