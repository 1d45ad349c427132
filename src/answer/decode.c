/* SPDX-License-Identifier: BSD-2-Clause
 * decode.c - see decode.h */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/engine/layer.h"
#include "src/token/token.h"

/* Tokens so far: the prompt's and those after it. */
static uint64_t length(const struct gkv__decode *d)
{
    return d->n_kept + d->n_thought + d->n_answer;
}

uint32_t gkv__decode_last(const struct gkv__decode *d)
{
    return d->n_thought + d->n_answer ? d->id[length(d) - 1] : GKV__NO_TOKEN;
}

static bool greedy(const struct gkv__decode *d)
{
    return !(d->sampler.temperature > 0);
}

/* Whether the device can choose the token by itself: without logits. */
static bool likeliest_only(const struct gkv__decode *d)
{
    return greedy(d) && !gkv__penalizes(&d->sampler) && !d->grammar;
}

/* ---- beginning, ending ------------------------------------------------------------------ */

uint64_t gkv__prefix_size(const struct gkv__prefix *p)
{
    const struct gkv__cache *c = &p->cache;

    return c->layer ? gkv__cache_used(c, p->touched) + gkv__cache_used(&p->mtp, p->touched) +
                      p->n_states * sizeof *p->states : 0;
}

void gkv__prefix_close(struct gkv__prefix *p)
{
    gkv__cache_close(&p->cache);
    gkv__cache_close(&p->mtp);
    if (p->states)
        gkv__pages_free(p->states, p->n_states, sizeof *p->states);
    free(p->id);
    *p = (struct gkv__prefix){ 0 };
}

/* Leaves the keys and values of the prompt's whole chunks for the next prompt. */
static void leave_prefix(struct gkv__decode *d)
{
    struct gkv__prefix *p = d->prefix;

    if (!p || !d->cache.layer || !d->id)
        return;
    p->cache = d->cache;
    p->id = d->id;
    if (!p->states)                     /* else they say it */
        p->n = (size_t)gkv__min(gkv__min(d->n_done, d->n_kept), d->p.mtp ? d->mtp.n : UINT64_MAX) / p->chunk * p->chunk;
    p->mtp = d->mtp.cache;
    d->cache = d->mtp.cache = (struct gkv__cache){ 0 };
    d->id = NULL;
}

void gkv__decode_end(struct gkv__decode *d)
{
    leave_prefix(d);
    gkv__cache_close(&d->cache);
    gkv__hook_close(&d->hook);
    gkv__rewind_close(&d->rewind, d->m);
    gkv__mtp_close(&d->mtp);
    free(d->mtp_logits);
    free(d->id);
    free(d->x);
    free(d->all);
    free(d->candidates);
    gkv__match_close(d->match);
    d->match = NULL;
    d->hurried = false;
    d->id = NULL;
    d->x = d->all = d->logits = d->mtp_logits = NULL;
    d->candidates = NULL;
    d->n_kept = 0;
    d->n_done = d->n_reused = d->n_thought = d->n_answer = d->next = 0;
    d->thinking = d->on_device = false;
}

void gkv__decode_close(struct gkv__decode *d)
{
    gkv__decode_end(d);
    gkv__device_close(d->device);
    d->device = NULL;
}

void gkv__decode_on_cpu(struct gkv__decode *d, const char *why)
{
    if (d->device && why)
        snprintf(d->device_why, sizeof d->device_why, "%.255s", why);
    if (d->device)
        gkv__draft_elsewhere(&d->draft);
    gkv__device_close(d->device);
    d->device = NULL;
}

uint64_t gkv__decode_kv(const struct gkv__decode *d)
{
    const struct gkv__cache *c = &d->cache;
    const uint64_t spare = d->prefix && c->layer ? c->layer->n_max - d->n_kept - d->n_new : 0;

    return spare ? gkv__cache_used(c, c->layer->n_max - spare) : gkv__cache_size(c);
}

size_t gkv__decode_rows(uint32_t draft)
{
    return 1 + (size_t)gkv__min(draft, GKV__DRAFT_MOST);
}

static gkv_status reserve(struct gkv__decode *d, const struct gkv__context *c, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;
    const size_t rows = gkv__decode_rows(d->draft.most);

    if (rows > 1)
        GKV__TRY(gkv__rewind_open(&d->rewind, d->m, rows, err));
    d->n_kept = c->n_kept;
    d->n_fixed = 0;
    d->id = malloc((size_t)(d->n_kept + d->n_new) * sizeof *d->id);
    d->x = malloc(rows * s->n_embd * sizeof *d->x);
    d->logits = d->all = malloc(rows * s->n_vocab * sizeof *d->all);
    d->candidates = malloc(s->n_vocab * sizeof *d->candidates);
    if (!d->id || !d->x || !d->logits || !d->candidates)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (size_t i = 0; i < d->n_kept; i++) {
        d->id[i] = c->id[c->kept[i]];
        d->n_fixed += c->kept[i] < c->n_fixed;
    }
    return GKV_OK;
}

/* ---- through the whole model ------------------------------------------------------------ */

/* What comes before the first token goes to the device: nothing, or what the method's only pass left. */
static gkv_status reach_device(struct gkv__decode *d, gkv_error *err)
{
    if (d->on_device)
        return GKV_OK;
    GKV__TRY(d->cache.layer ? gkv__device_take(d->device, &d->cache, d->next, d->n_new, d->p.span, err)
                            : gkv__device_ready(d->device, d->n_kept + d->n_new, err));
    d->on_device = true;
    return GKV_OK;
}

/* Tokens n_done .. n - 1, with the results of the last `rows` of them. */
static gkv_status on_device(struct gkv__decode *d, uint64_t n, size_t rows, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    while (d->n_done < n) {
        const size_t nb = gkv__min(n - d->n_done, gkv__device_block(d->device));
        const bool last = d->n_done + nb == n;

        GKV__TRY(gkv__device_forward(d->device, d->id + d->n_done, nb, d->n_done + d->next - d->n_kept, last ? rows : 0,
                                     last && !likeliest_only(d) ? d->all : NULL, last ? d->best_of : NULL, err));
        if (nb > rows)
            gkv__progress(d->e, s->n_layer * gkv__layer_work(s, d->n_done, nb));
        d->n_done += nb;
        if (gkv__cancelled(d->e))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %" PRIu64, d->n_done);
    }
    d->best = d->best_of[0];
    return GKV_OK;
}

/* Takes the cache that an earlier prompt left, with the chunks that both begin with.  False: there is none, or this
 * prompt does not fit into it. */
static bool take_prefix(struct gkv__decode *d)
{
    struct gkv__prefix *p = d->prefix;
    size_t n = 0;

    if (!p->cache.layer || p->cache.layer->n_max < d->n_kept + d->n_new || p->chunk != d->e->chunk ||
        p->rope != gkv__model_rope(d->m, 0, d->p.span))
        return false;
    /* The last token's row is needed, so it is computed again in any case. */
    while (n < p->n && n + 1 < d->n_kept && p->id[n] == d->id[n])
        n++;
    n = n / p->chunk * p->chunk;
    if (p->states) {                    /* all that they have seen, or nothing */
        n = n == p->n ? n : 0;
        p->n = n;
        gkv__states_restore(&p->cache, p->states);
    }
    d->n_done = d->n_reused = n;
    d->cache = p->cache;
    d->mtp.cache = p->mtp;
    p->cache = p->mtp = (struct gkv__cache){ 0 };
    free(p->id);
    p->id = NULL;
    return true;
}

/* The model's own layer sees what goes through the others.  What a guess of it takes of a step follows from the weights. */
static gkv_status open_mtp(struct gkv__decode *d, uint64_t slots, gkv_error *err)
{
    const gkv_model *m = d->m;
    const uint64_t head = m->mtp.head.data == m->output.data ? gkv__mat_bytes(&m->mtp.head) : 0;

    if (!d->with_mtp)
        return GKV_OK;
    d->mtp.id = d->id;
    GKV__TRY(gkv__mtp_open(&d->mtp, m, d->kv, slots, d->n_done, err));
    d->mtp_logits = malloc(m->shape.n_vocab * sizeof *d->mtp_logits);
    if (!d->mtp_logits)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->p.mtp = &d->mtp;
    d->draft.share = (double)(gkv__model_mtp_bytes(m) + head) / (double)gkv__model_weight_bytes(m);
    return GKV_OK;
}

static gkv_status open_cache(struct gkv__decode *d, gkv_error *err)
{
    struct gkv__prefix *p = d->prefix;
    const uint32_t n_layer = d->m->shape.n_layer;
    const uint64_t slots = d->n_kept + d->n_new + (p ? GKV__PREFIX_MORE : 0);

    if (p && take_prefix(d))
        return open_mtp(d, slots, err);
    if (p) {
        gkv__prefix_close(p);
        p->chunk = d->e->chunk;
        p->rope = gkv__model_rope(d->m, 0, d->p.span);
        p->n_states = gkv__states_floats(d->m, n_layer);
        if (p->n_states && !(p->states = gkv__pages(p->n_states, sizeof *p->states)))
            return gkv__fail(err, GKV_NOMEM, "the system refused %s for the states of the prompt",
                             gkv__needed(p->n_states * sizeof *p->states).text);
    }
    GKV__TRY(gkv__cache_open_for(&d->cache, d->m, d->kv, n_layer, slots, err));
    return open_mtp(d, slots, err);
}

/* Tokens n_done .. n - 1 of the prompt or the answer, on the CPU. */
static gkv_status run_to(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    GKV__TRY(gkv__forward(&d->p, d->id + d->n_done, (size_t)(n - d->n_done), d->n_done + d->next - d->n_kept, d->x, err));
    d->n_done = n;
    return GKV_OK;
}

/* A state cannot be cut back to the tokens that the next prompt shares with this one, so it is saved on the way: after
 * the last whole chunk of those that do not depend on the question. */
static gkv_status pass_by(struct gkv__decode *d, gkv_error *err)
{
    struct gkv__prefix *p = d->prefix;
    const size_t at = p && p->states ? d->n_fixed / p->chunk * p->chunk : 0;

    if (!at || at >= d->n_kept || d->n_done >= at)
        return GKV_OK;
    p->n = 0;
    GKV__TRY(run_to(d, at, err));
    gkv__states_save(&d->cache, p->states);
    p->n = at;
    return GKV_OK;
}

static gkv_status on_cpu(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    if (!d->cache.layer)
        GKV__TRY(open_cache(d, err));
    if (d->prefix)
        d->prefix->touched = gkv__max(d->prefix->touched, n);
    GKV__TRY(pass_by(d, err));
    GKV__TRY(run_to(d, n, err));
    gkv__logits(d->e, d->m, d->x, 1, d->logits);
    return GKV_OK;
}

/* In steps of the answer, where rows can be taken back: a method that goes on acting has seen them, and on a device a state
 * has. */
static bool may_guess(const struct gkv__decode *d, uint64_t n)
{
    return gkv__decode_rows(d->draft.most) > 1 && !d->hook.attended && !d->hook.window &&
           !(d->device && gkv__has_states(d->m)) && d->n_done + 1 == n && d->n_thought + d->n_answer;
}

/* Guesses that there may be behind n tokens. */
static size_t room_for_guesses(const struct gkv__decode *d, uint64_t n)
{
    const uint64_t left = d->n_kept + d->n_new - n;

    return (size_t)(d->device ? gkv__min(left, gkv__device_block(d->device) - 1) : left);
}

/* The model's own layer, or the other model, makes the guesses that were asked of it.  That the other's prompt goes through
 * it first was planned. */
static gkv_status ask_drafter(struct gkv__decode *d, uint64_t n, double *start, gkv_error *err)
{
    size_t made;

    if (d->p.mtp) {
        made = gkv__mtp_guess(&d->mtp, &d->p, gkv__draft_least(&d->draft), d->draft.id, d->draft.n, d->mtp_logits);
        gkv__draft_made(&d->draft, (size_t)n, made, gkv__seconds() - *start);
        return GKV_OK;
    }
    GKV__TRY(gkv__drafter_begin(d->drafter, err));
    *start = gkv__seconds();
    GKV__TRY(gkv__drafter_guess(d->drafter, d->id + d->n_kept, (size_t)n - d->n_kept, gkv__draft_least(&d->draft),
                                d->draft.id, d->draft.n, &made, err));
    gkv__draft_made(&d->draft, (size_t)n, made, gkv__seconds() - *start);
    return GKV_OK;
}

/* The first touch of memory is no cost of a guess: how long it took. */
static double touch(struct gkv__decode *d, size_t rows)
{
    const double start = gkv__seconds();

    if (!d->rewind.states || d->rewind.touched)
        return 0;
    gkv__rewind_begin(&d->rewind, &d->cache, rows);
    gkv__draft_lost(&d->draft, gkv__seconds() - start);
    return gkv__seconds() - start;
}

/* The n-th token and the guesses after it. */
static gkv_status rows_on_cpu(struct gkv__decode *d, uint64_t n, size_t rows, gkv_error *err)
{
    struct gkv__pass p = d->p;

    if (d->prefix)
        d->prefix->touched = gkv__max(d->prefix->touched, n + rows - 1);
    p.alone = true;
    p.rewind = &d->rewind;
    gkv__rewind_begin(&d->rewind, &d->cache, rows);
    GKV__TRY(gkv__block(&p, d->id + d->n_done, rows, d->n_done + d->next - d->n_kept, d->x, err));
    gkv__logits(d->e, d->m, d->x, rows, d->all);
    return GKV_OK;
}

/* The n-th token, and guesses after it, each in a row of its own. */
static gkv_status step(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    double start = gkv__seconds();

    gkv__draft_guess(&d->draft, d->id, (size_t)n, room_for_guesses(d, n));
    if (d->draft.n && d->draft.kind == GKV__DRAFT_MODEL)
        GKV__TRY(ask_drafter(d, n, &start, err));
    if (d->draft.n) {
        const size_t rows = 1 + d->draft.n;

        if (!d->device)
            start += touch(d, rows);
        memcpy(d->id + n, d->draft.id, d->draft.n * sizeof *d->id);
        GKV__TRY(d->device ? on_device(d, n + d->draft.n, rows, err) : rows_on_cpu(d, n, rows, err));
        d->n_done = n;
    } else {
        GKV__TRY(d->device ? on_device(d, n, 1, err) : on_cpu(d, n, err));
    }
    gkv__draft_took(&d->draft, gkv__seconds() - start);
    return GKV_OK;
}

/* Whether the last token was guessed, so that its row is there. */
static bool is_there(struct gkv__decode *d, uint64_t n)
{
    if (d->n_done + 1 != n || !gkv__draft_is_next(&d->draft, d->id[n - 1]))
        return false;
    d->logits += d->m->shape.n_vocab;
    d->best = d->best_of[d->draft.used];
    d->n_done = n;
    return true;
}

/* Rows of wrong guesses leave the states; those of right ones go on to the layer that guesses. */
static void take_back(struct gkv__decode *d)
{
    const double start = gkv__seconds();

    if (!d->rewind.n)
        return;
    if (d->p.mtp)
        gkv__mtp_rows(&d->mtp, &d->p, d->x, 1 + d->draft.used);
    gkv__rewind_to(&d->rewind, &d->p, 1 + d->draft.used);
    gkv__draft_lost(&d->draft, gkv__seconds() - start);
}

/* Gives up the device: the CPU takes over, and begins again with the kept tokens, or behind those whose keys and
 * values are still here. */
static void leave_device(struct gkv__decode *d, const gkv_error *why)
{
    if (why->status != GKV_UNSUPPORTED)
        snprintf(d->warning, sizeof d->warning, "%.200s; going on on the CPU", why->text);
    gkv__decode_on_cpu(d, why->text);
    d->n_done = d->cache.layer ? d->n_kept : 0;
}

/* Computes logits, or the best token, after the first n tokens of d->id. */
static gkv_status forward(struct gkv__decode *d, uint64_t n, gkv_error *err)
{
    gkv_error why = { 0 };

    if (is_there(d, n))
        return GKV_OK;
    take_back(d);
    d->logits = d->all;
    if (d->device) {
        gkv_status status = reach_device(d, &why);

        if (status == GKV_OK)
            status = may_guess(d, n) ? step(d, n, &why) : on_device(d, n, 1, &why);
        if (status != GKV_DEVICE && status != GKV_UNSUPPORTED) {
            if (status != GKV_OK && err)
                *err = why;
            return status;
        }
        leave_device(d, &why);
    }
    return may_guess(d, n) ? step(d, n, err) : on_cpu(d, n, err);
}

/* Why the keys and values of a method's only pass stay here, or "". */
static void stays(const struct gkv__context *c, char why[160])
{
    const char *name = c->t->method->name, *what = gkv__device_cannot_take(c->t->m, &c->cache);

    *why = 0;
    if (c->hook.attended || c->hook.window)
        snprintf(why, 160, "device: method %s goes on choosing what to keep while the answer is written", name);
    else if (what)
        snprintf(why, 160, "device: what method %s left are %s, which are here", name, what);
}

/* Takes over the cache that the method's only pass left, so decoding begins without a prefill.  On a device, too: there
 * the keys and values follow before the second token, since the first needs none. */
static void take_over(struct gkv__decode *d, struct gkv__context *c)
{
    char why[160];

    stays(c, why);
    if (*why)
        gkv__decode_on_cpu(d, why);
    d->cache = c->cache;
    d->hook = c->hook;
    c->cache = (struct gkv__cache){ 0 };
    c->hook = (struct gkv__hook){ 0 };
    memcpy(d->x, c->x, d->m->shape.n_embd * sizeof *d->x);
    d->next = c->next;
    d->n_done = d->n_kept;
    gkv__logits(d->e, d->m, d->x, 1, d->logits);
    d->best = 0;
    for (uint32_t i = 1; i < d->m->shape.n_vocab; i++)
        if (d->logits[i] > d->logits[d->best])
            d->best = i;
}

gkv_status gkv__decode_begin(struct gkv__decode *d, struct gkv__context *c, gkv_stage stage, gkv_error *err)
{
    const struct gkv__shape *s = &d->m->shape;

    GKV__TRY(reserve(d, c, err));
    gkv__draft_begin(&d->draft, d->n_kept);
    if (d->grammar)
        GKV__TRY(gkv__match_open(&d->match, d->grammar, d->grammar_memory, err));
    d->p = (struct gkv__pass){ .e = d->e, .m = d->m, .span = c->span, .c = &d->cache, .hook = &d->hook };
    if (!c->restart) {
        take_over(d, c);
        return GKV_OK;
    }
    d->next = d->n_kept;
    d->p.span = d->n_kept + d->n_new;
    if (!d->device)
        GKV__TRY(open_cache(d, err));
    gkv__stage(d->e, stage, d->n_kept, s->n_layer * gkv__layer_work(s, d->n_done, d->n_kept - d->n_done));
    GKV__TRY(forward(d, d->n_kept, err));
    if (d->p.mtp)
        gkv__mtp_settle(&d->mtp, &d->p);
    return GKV_OK;
}

/* ---- grammar ---------------------------------------------------------------------------- */

/* Bytes of text that a token may have. */
enum { TEXT = 512 };

static size_t text_of(const struct gkv__decode *d, uint32_t id, char text[TEXT])
{
    return (size_t)gkv__min(gkv__token_text_after(d->m->vocab, gkv__decode_last(d), id, false, text, TEXT), TEXT);
}

/* What the next token has to be. */
struct wanted {
    bool     byte[256];         /* where it may begin                                        */
    uint64_t room;              /* bytes that may then be needed to bring the answer to an end */
};

/* Whether the grammar allows this token.  One without a text would not bring the answer nearer to its end. */
static bool fits(const struct gkv__decode *d, uint32_t id, const struct wanted *w)
{
    char text[TEXT];
    size_t n;

    if (gkv__cancelled(d->e))                   /* a large vocabulary and grammar take seconds */
        return false;
    if (gkv__vocab_is_end(d->m->vocab, id))
        return gkv__match_may_end(d->match);
    n = text_of(d, id, text);
    return n && w->byte[(unsigned char)*text] && gkv__match_fits(d->match, text, n, w->room);
}

/* Of the tokens that fit, the one with the largest logit, of equal ones the first.  Few are looked at closely. */
static uint32_t best_that_fits(const struct gkv__decode *d, const struct wanted *w)
{
    const size_t n = d->m->shape.n_vocab;
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if ((best == n || d->logits[i] > d->logits[best]) && fits(d, (uint32_t)i, w))
            best = i;
    return best < n ? (uint32_t)best : GKV__NO_TOKEN;
}

/* One drawn from the tokens that fit. */
static uint32_t draw_that_fits(struct gkv__decode *d, const struct wanted *w)
{
    const size_t n = d->m->shape.n_vocab;
    bool any = false;

    for (size_t i = 0; i < n && !any; i++)
        any = fits(d, (uint32_t)i, w);
    if (!any)
        return GKV__NO_TOKEN;
    for (size_t i = 0; i < n; i++)
        if (!fits(d, (uint32_t)i, w))
            d->logits[i] = -INFINITY;
    return gkv__sample(&d->sampler, d->logits, d->candidates, n);
}

static uint32_t one_that_fits(struct gkv__decode *d, const struct wanted *w)
{
    return greedy(d) ? best_that_fits(d, w) : draw_that_fits(d, w);
}

/* As llama.cpp does it, the grammar is asked about the token chosen without it, and about all tokens only if that does
 * not fit.  Beyond llama.cpp, a token fits only if the answer can still come to its end in n_most tokens, each of which
 * may bring one byte; unless that has never been possible. */
static gkv_status obey(struct gkv__decode *d, uint32_t *id, gkv_error *err)
{
    const uint64_t left = d->n_most - d->n_answer;
    struct wanted w = { .room = gkv__match_least(d->match) > left ? UINT64_MAX : left - 1 }, any;
    const uint32_t chosen = *id;
    char text[TEXT];

    gkv__match_bytes(d->match, w.byte);
    any = w;
    any.room = UINT64_MAX;
    if (!fits(d, chosen, &w)) {
        d->hurried |= fits(d, chosen, &any);
        *id = one_that_fits(d, &w);
        if (*id == GKV__NO_TOKEN)               /* there is no token of one of the bytes */
            *id = one_that_fits(d, &any);
    }
    GKV__TRY(gkv__match_status(d->match, err));
    if (gkv__cancelled(d->e))
        return gkv__fail(err, GKV_CANCELLED, "cancelled after %" PRIu64 " tokens of the answer", d->n_answer);
    if (*id == GKV__NO_TOKEN)
        return gkv__fail(err, GKV_UNSUPPORTED, "the grammar asks for a text that no token of this model continues, after %"
                         PRIu64 " tokens of the answer", d->n_answer);
    if (gkv__vocab_is_end(d->m->vocab, *id))
        return GKV_OK;
    return gkv__match_take(d->match, text, text_of(d, *id, text), err);
}

bool gkv__decode_complete(const struct gkv__decode *d)
{
    return d->match && gkv__match_must_end(d->match);
}

bool gkv__decode_incomplete(const struct gkv__decode *d)
{
    return d->match && !gkv__match_may_end(d->match);
}

/* ---- token by token --------------------------------------------------------------------- */

gkv_status gkv__decode_next(struct gkv__decode *d, uint32_t *id, gkv_error *err)
{
    const uint64_t n = length(d);

    if (!d->thinking && (d->n_answer == d->n_most || gkv__decode_complete(d)))
        return GKV_END;
    if (d->n_done < n)
        GKV__TRY(forward(d, n, err));
    if (d->device && likeliest_only(d)) {
        *id = d->best;
        return GKV_OK;
    }
    if (gkv__penalizes(&d->sampler))
        gkv__penalize(&d->sampler, d->logits, d->id, (size_t)n, d->candidates);
    *id = gkv__sample(&d->sampler, d->logits, d->candidates, d->m->shape.n_vocab);
    return d->match && !d->thinking ? obey(d, id, err) : GKV_OK;
}

void gkv__decode_append(struct gkv__decode *d, uint32_t id)
{
    d->id[length(d)] = id;
    *(d->thinking ? &d->n_thought : &d->n_answer) += 1;
}

void gkv__decode_rethink(struct gkv__decode *d)
{
    d->n_thought += d->n_answer;
    d->n_answer = 0;
    d->thinking = true;
}

/* One by one, as the model's own: methods that go on acting see each token. */
gkv_status gkv__decode_answer(struct gkv__decode *d, const uint32_t *id, size_t n, gkv_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (d->n_done < length(d))
            GKV__TRY(forward(d, length(d), err));
        gkv__decode_append(d, id[i]);
    }
    d->thinking = false;
    return GKV_OK;
}
