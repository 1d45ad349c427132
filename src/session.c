/* SPDX-License-Identifier: BSD-2-Clause
 * session.c - questions about a document: each is planned and run; session-answer.c writes the answer.
 *
 *     document (document.c) -> prompt (prompt.c) -> plan (plan.c) -> run (run.c) -> decode (answer/) */
#include "config.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/decode.h"
#include "src/base/mem.h"
#include "src/base/unicode.h"
#include "src/engine/repack.h"
#include "src/first/group.h"
#include "src/plan.h"
#include "src/prompt.h"
#include "src/run.h"
#include "src/session.h"

/* ---- memory ----------------------------------------------------------------------------- */

/* How what is kept goes over: *by_text, and then *snap. */
static gkv_status hand_over_how(const gkv_options *o, bool reader, bool *by_text, enum gkv__snap *snap, gkv_error *err)
{
    *by_text = reader || o->snap;
    *snap = GKV__SNAP_WORD;
    if (o->snap && !gkv__snap_named(o->snap, snap))
        return gkv__fail_unknown(err, "snap", o->snap, strlen(o->snap), " none word sentence");
    return GKV_OK;
}

/* Of a reader's options what is for the model that answers: all tokens that it gets are kept. */
static gkv_options answering(const gkv_options *o)
{
    gkv_options a = *o;

    a.method = "full";
    a.schedule = NULL;
    a.layer = -1;
    return a;
}

/* Only what leaves nothing but a set of tokens can be handed over as text. */
static gkv_status hands_over(const struct gkv__task *t, gkv_error *err)
{
    if (t->method->kind <= GKV__SCORES || t->method->restarts)
        return GKV_OK;
    return gkv__fail(err, GKV_INVALID, "method %s answers from the keys and values of its only pass, which another model "
                     "or text cannot have; take one of two passes, or leave --reader and --snap out", t->method->name);
}

/* Bytes of weights that this plan packs: they stay. */
static uint64_t packed(const struct gkv__plan *p)
{
    return p->n_repack ? p->repack_bytes : 0;
}

/* Bytes of those that were to be packed, and there is no memory for it. */
static uint64_t unpacked(const struct gkv__plan *p)
{
    return p->repack_bytes - packed(p);
}

/* The plan of the answer from `n` tokens of text that were handed over. */
static gkv_status plan_answer(struct gkv__plan *p, gkv_model *m, const gkv_options *o, uint64_t n, uint64_t base,
                              gkv_error *err)
{
    const gkv_options a = answering(o);

    *p = (struct gkv__plan){ 0 };
    GKV__TRY(gkv__plan_options(p, m, &a, err));
    GKV__TRY(gkv__plan_task(p, m, &a, err));
    gkv__plan_prompt(p, &a, n, 0);
    return gkv__plan_make(p, base, err);
}

/* ---- memory of a reader that guesses ------------------------------------------------------ */

/* Whether the reader guesses what the other writes; it must be able to take tokens back. */
static bool guesses(const gkv_options *o, const gkv_model *reader, const gkv_model *writer)
{
    return o->draft_reader && reader != writer && o->draft && !gkv__states_floats(reader, reader->shape.n_layer);
}

/* Its prompt takes a part of the time of the other's, which wrong guesses do not bring back. */
static const double afford = 0.02;
enum { MOST_GUESS = 8 };        /* tokens of the reader for one of the other, at most */

/* How many tokens the reader's prompt may have then, when the other's has n. */
static uint64_t guess_tokens(const gkv_model *reader, const gkv_model *writer, double part, uint64_t n)
{
    const double one = reader->shape.n_layer * gkv__layer_work(&reader->shape, 0, n),
                 other = writer->shape.n_layer * gkv__layer_work(&writer->shape, 0, n);

    return (uint64_t)((double)n * (part * other < MOST_GUESS * one ? part * other / one : MOST_GUESS));
}

/* Its options are its own but for what is said to the model; its plan is that of n tokens and an answer. */
static gkv_options guessing(const gkv_options *o)
{
    gkv_options a = *o;

    a.chat_template = a.begin = NULL;
    a.think = 0;
    a.draft = 0;
    a.repack = 0;               /* its first pass has packed what pays */
    return a;
}

static gkv_status plan_guess(struct gkv__plan *p, gkv_model *reader, gkv_model *writer, const gkv_options *o, double part,
                             uint64_t n, uint64_t base, gkv_error *err)
{
    gkv_options a = guessing(o);
    const uint64_t room = gkv__plus(guess_tokens(reader, writer, part, n), gkv__drafter_room(gkv__plan_new(writer, o)));
    gkv_error why;
    gkv_status status;

    a.raw = 1;                  /* no room for thoughts, and one token of answer */
    a.max_tokens = 1;
    status = plan_answer(p, reader, &a, room, base, &why);
    if (status != GKV_OK)
        return gkv__fail(err, status, "that the reader guesses, too: %s", why.text);
    return GKV_OK;
}

/* ---- memory of both ----------------------------------------------------------------------- */

/* More tokens than the budget are picked, since those of the two models differ in length; the best of them go over. */
enum { WIDER = 4 };

static void plan_wider(struct gkv__plan *p, bool whole)
{
    struct gkv__task *t = &p->task;

    if (whole || t->method->kind == GKV__KEEPS_ALL) {
        t->k = t->k_pick = t->n;
        return;
    }
    t->k = gkv__min(t->k, gkv__max(t->n, 2) - 1);       /* not all, so that there are scores */
    t->k_pick = t->k;
    if (t->method->kind == GKV__SCORES || t->method->words)
        t->k_pick = gkv__min(gkv__times(t->k, WIDER), gkv__max(t->n, 2) - 1);
}

gkv_status gkv_memory_needed_each(gkv_model *m, const gkv_options *options, uint64_t n, uint64_t *first,
                                  uint64_t *second, gkv_error *err)
{
    /* Per token: id and length, the id again in the prompt, and about four bytes of text.      */
    const uint64_t text = gkv__times(n, 3 * sizeof(uint32_t) + 4);
    const uint64_t base = gkv__plus(text, gkv__mem_resident());
    struct gkv__plan p = { 0 }, answer;
    enum gkv__snap snap;
    bool by_text;
    gkv_options opt;
    gkv_model *reader;

    GKV__TRY(gkv__options(&opt, options, err));
    reader = opt.reader ? opt.reader : m;
    GKV__TRY(hand_over_how(&opt, reader != m, &by_text, &snap, err));
    GKV__TRY(gkv__plan_options(&p, reader, &opt, err));
    GKV__TRY(gkv__plan_task(&p, reader, &opt, err));
    GKV__TRY(gkv__plan_mtp(&p, m, &opt, err));
    p.limit = 0;
    p.select_only = by_text;
    gkv__plan_prompt(&p, &opt, n, 0);
    if (by_text) {
        GKV__TRY(hands_over(&p.task, err));
        plan_wider(&p, p.task.k == n);
    }
    GKV__TRY(gkv__plan_make(&p, base, err));
    *first = p.predicted;
    *second = 0;
    if (!by_text)
        return GKV_OK;
    opt.memory_limit = UINT64_MAX;
    n = gkv__min(n, p.task.k + 1);
    GKV__TRY(plan_answer(&answer, m, &opt, n, gkv__plus(base, packed(&p)), err));
    *second = answer.predicted;
    if (!guesses(&opt, reader, m))
        return GKV_OK;
    GKV__TRY(plan_guess(&answer, reader, m, &opt, afford, n, *second, err));
    *second = answer.predicted;
    return GKV_OK;
}

gkv_status gkv_memory_needed(gkv_model *m, const gkv_options *options, uint64_t n, uint64_t *bytes, gkv_error *err)
{
    uint64_t first, second;

    GKV__TRY(gkv_memory_needed_each(m, options, n, &first, &second, err));
    *bytes = gkv__max(first, second);
    return GKV_OK;
}

/* ---- opening, closing ------------------------------------------------------------------- */

/* Room for a token's text, and for what may become a stop string. */
static gkv_status reserve_piece(gkv_session *s, gkv_error *err)
{
    s->piece_room = GKV__PIECE + GKV__THINK_OPEN;
    for (size_t i = 0; i < s->opt.n_stop; i++)
        s->piece_room = gkv__max(s->piece_room, strlen(s->opt.stop[i]) + GKV__PIECE);
    s->piece = malloc(s->piece_room);
    return s->piece ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");
}

/* The model is uploaded while text arrives and the first pass runs.  The number of tokens is not known
 * then, unless the budget is a number; this is the guess. */
enum { DEVICE_TOKENS = 4096 };

static bool is_named(const char *device)
{
    return device && strcmp(device, "auto") && strcmp(device, "cpu");
}

static gkv_status open_device(gkv_session *s, gkv_error *err)
{
    const gkv_options *o = &s->opt;
    const struct gkv__task *t = &s->plan.task;
    const uint64_t n = t->method->pick && !(o->keep_percent > 0) ? o->keep : DEVICE_TOKENS;

    if (t->kv->type != GKV__TYPE_F16) {
        snprintf(s->decode.device_why, sizeof s->decode.device_why, "device: keys and values are f16 "
                 "there, not %s", t->kv->name);
        return is_named(o->device) ? gkv__fail(err, GKV_INVALID, "%s", s->decode.device_why) : GKV_OK;
    }
    GKV__TRY(gkv__device_open(&s->decode.device, s->writer, o->device, o->gpu_memory, n,
                              n + gkv__plan_new(s->writer, o), s->decode.device_why, err));
    s->plan.device = s->decode.device;
    return GKV_OK;
}

static gkv_status fits(void *arg, uint64_t n_tokens, gkv_error *err);

/* Whether the model that answers can think where it shall: before anything is read. */
static gkv_status may_think(const gkv_session *s, gkv_error *err)
{
    gkv_document *d = NULL;
    gkv_status status;

    if (!s->opt.think)
        return GKV_OK;
    if (s->writer == s->model)
        return *s->document->tmpl->start ? GKV_OK
             : gkv__fail(err, GKV_INVALID, "think: the document was not opened with this option");
    status = gkv_document_open(&d, s->writer, &s->opt, err);
    gkv_document_close(d);
    return status;
}

static gkv_status open_on(gkv_session *s, gkv_document *shared, gkv_error *err)
{
    const gkv_options *o = &s->opt;
    struct gkv__plan *p = &s->plan;

    GKV__TRY(hand_over_how(o, s->writer != s->model, &s->by_text, &s->hand.snap, err));
    s->hand.used = s->hand.snap;
    s->hand.to = s->writer;
    s->hand.opt = o;
    GKV__TRY(gkv__plan_options(p, s->model, o, err));
    GKV__TRY(gkv__plan_task(p, s->model, o, err));
    GKV__TRY(gkv__plan_mtp(p, s->writer, o, err));
    if (s->by_text) {           /* what is wrong for the other model is said before anything is read */
        GKV__TRY(hands_over(&p->task, err));
        GKV__TRY(plan_answer(&s->answer, s->writer, o, 1, 0, err));
    }
    GKV__TRY(reserve_piece(s, err));
    gkv__param_text(p->task.method->params, p->task.param, s->parameters, sizeof s->parameters);
    s->decode.e = &s->exec;
    s->decode.m = s->writer;
    s->decode.kv = p->task.kv;
    s->decode.n_new = gkv__plan_new(s->writer, o);
    s->decode.n_most = o->max_tokens;
    s->decode.grammar = o->grammar;
    s->decode.draft.most = o->draft;
    s->decode.with_mtp = o->draft && o->draft_mtp;
    if (shared) {
        s->document = shared;
        p->task.part = shared->part;
        p->task.n_parts = shared->n_parts;
        p->often = true;
        GKV__TRY(gkv__document_finish(shared, err));
    } else {
        gkv_options d = *o;

        if (s->writer != s->model) {            /* these are of the model that answers */
            d.chat_template = d.system = NULL;
            d.think = 0;
        }
        GKV__TRY(gkv_document_open(&s->own, s->model, &d, err));
        s->document = s->own;
        s->own->check = fits;
        s->own->check_arg = s;
    }
    GKV__TRY(may_think(s, err));
    return open_device(s, err);
}

static gkv_status open(gkv_session **out, gkv_model *model, gkv_model *writer, gkv_document *shared,
                       const gkv_options *opt, gkv_error *err)
{
    gkv_session *s = calloc(1, sizeof *s);
    gkv_status status;

    *out = NULL;
    if (!s)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    s->t_open = gkv__seconds();
    s->model = model;
    s->writer = writer;
    s->afford = afford;
    status = gkv__options(&s->opt, opt, err);
    s->exec.cancel = &s->cancel;
    s->exec.progress = s->opt.progress;
    s->exec.progress_arg = s->opt.progress_arg;
    if (status == GKV_OK)
        status = open_on(s, shared, err);
    if (status != GKV_OK) {
        gkv_session_close(s);
        return status;
    }
    *out = s;
    return GKV_OK;
}

gkv_status gkv_session_open(gkv_session **out, gkv_model *model, const gkv_options *opt, gkv_error *err)
{
    gkv_options o;

    *out = NULL;
    GKV__TRY(gkv__options(&o, opt, err));
    return open(out, o.reader ? o.reader : model, model, NULL, opt, err);
}

gkv_status gkv_session_of(gkv_session **out, gkv_document *d, const gkv_options *opt, gkv_error *err)
{
    return open(out, (gkv_model *)d->model, (gkv_model *)d->model, d, opt, err);
}

gkv_status gkv_session_for(gkv_session **out, gkv_model *model, gkv_document *d, const gkv_options *opt, gkv_error *err)
{
    return open(out, (gkv_model *)d->model, model, d, opt, err);
}

void gkv_cancel(gkv_session *s)
{
    atomic_store(&s->cancel, true);
}

/* Frees what the last question left. */
static void forget(gkv_session *s)
{
    gkv__decode_end(&s->decode);
    gkv__run_close(&s->run);
    gkv__exec_close(&s->exec);
    gkv__prompt_close(&s->prompt);
    gkv__hand_close(&s->hand);
    gkv__drafter_close(&s->drafter);
    gkv__exec_close(&s->guess_exec);
    gkv__hand_close(&s->guess);
    s->decode.drafter = NULL;
    s->decode.draft.share = 0;
    s->whole = false;
    free(s->span);
    free(s->thought);
    s->thought = NULL;
    s->thought_len = s->thought_cap = 0;
    s->span = NULL;
    s->n_spans = 0;
    s->run = (struct gkv__context){ 0 };
    s->stats = (gkv_stats){ .layer = -1 };
    s->read = false;
    s->piece_len = s->piece_given = 0;
    s->answering = false;
    *s->warning = *s->decode.warning = 0;
}

static void free_turns(gkv_session *s)
{
    for (size_t i = 0; i < s->n_turns; i++) {
        free((char *)s->turn[i].question);
        free((char *)s->turn[i].answer);
    }
    free(s->turn);
    s->turn = NULL;
    s->n_turns = 0;
}

void gkv_session_close(gkv_session *s)
{
    if (!s)
        return;
    forget(s);
    gkv__decode_close(&s->decode);
    gkv__early_close(&s->early);
    gkv__prefix_close(&s->prefix);
    gkv_document_close(s->own);
    free_turns(s);
    free(s->piece);
    free(s);
}

/* ---- text in ---------------------------------------------------------------------------- */

/* Whether a question about the first n_tokens fits into memory: if not, no longer document can. */
static gkv_status fits(void *arg, uint64_t n_tokens, gkv_error *err)
{
    gkv_session *s = arg;
    gkv_error why = { 0 };
    gkv_status status;

    gkv__plan_prompt(&s->plan, &s->opt, n_tokens, 0);
    status = gkv__plan_make(&s->plan, gkv__mem_resident(), &why);
    if (status == GKV_OK)
        return GKV_OK;
    return gkv__fail(err, status, "not even the beginning of the document fits: %s", why.text);
}

static gkv_status own_text(const gkv_session *s, gkv_error *err)
{
    return s->own ? GKV_OK : gkv__fail(err, GKV_INVALID, "the document of this session is fed by "
                                       "gkv_document_feed");
}

gkv_status gkv_feed(gkv_session *s, const char *text, size_t len, gkv_error *err)
{
    GKV__TRY(own_text(s, err));
    GKV__TRY(gkv_document_feed(s->own, text, len, err));
    if (!atomic_exchange(&s->cancel, false))
        return GKV_OK;
    s->own->broken = true;      /* the rest of the text will be missing */
    return gkv__fail(err, GKV_CANCELLED, "cancelled after %zu bytes of text", s->own->len);
}

gkv_status gkv_feed_end(gkv_session *s, gkv_error *err)
{
    GKV__TRY(own_text(s, err));
    return gkv_document_end_file(s->own, err);
}

/* ---- the question ----------------------------------------------------------------------- */

gkv_status gkv_session_turns(gkv_session *s, const gkv_turn *turn, size_t n, gkv_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (gkv__utf8_check(turn[i].question, strlen(turn[i].question), NULL) < strlen(turn[i].question) ||
            gkv__utf8_check(turn[i].answer, strlen(turn[i].answer), NULL) < strlen(turn[i].answer))
            return gkv__fail(err, GKV_INVALID, "turn %zu of the conversation is not UTF-8", i + 1);
    free_turns(s);
    s->turn = calloc(n + 1, sizeof *s->turn);
    if (!s->turn)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (; s->n_turns < n; s->n_turns++) {
        gkv_turn *t = &s->turn[s->n_turns];

        t->question = strdup(turn[s->n_turns].question);
        t->answer = t->question ? strdup(turn[s->n_turns].answer) : NULL;
        if (!t->answer) {
            free((char *)t->question);
            free_turns(s);
            return gkv__fail(err, GKV_NOMEM, "out of memory");
        }
    }
    return GKV_OK;
}

/* Whether all of the text can be handed over: within the budget, or since the method keeps all. */
static gkv_status try_whole(gkv_session *s, const struct gkv__asked *asked, gkv_error *err)
{
    const bool all = s->plan.task.method->kind == GKV__KEEPS_ALL;
    uint64_t n;

    s->hand.budget = all ? UINT64_MAX : gkv__plan_budget(&s->opt, s->prompt.n);
    if (!all && s->prompt.n > gkv__times(s->hand.budget, WIDER))
        return GKV_OK;
    GKV__TRY(gkv__hand_whole(&s->hand, &s->prompt, asked, &n, err));
    s->whole = n <= s->hand.budget;
    if (all)
        s->hand.budget = n;
    return GKV_OK;
}

/* A device does not take states back (answer/decode.c). */
static bool may_guess(const gkv_session *s)
{
    return guesses(&s->opt, s->model, s->writer) && !(s->decode.device && gkv__has_states(s->writer));
}

static gkv_status plan(gkv_session *s, gkv_error *err)
{
    const uint64_t n = s->prompt.n, limit = s->opt.max_context;
    const struct gkv__tokens *rest = &s->prompt.rest;
    /* What earlier questions left for this one is resident, but the plan counts it as new.    */
    const uint64_t there = gkv__early_size(&s->early) + gkv__prefix_size(&s->prefix);
    const uint64_t resident = gkv__mem_resident();
    /* Tokenizing a word of megabytes can take more memory than the run.         */
    const uint64_t made = s->document->resident + s->document->len +
                          gkv__max(s->document->tokens.most,
                                   s->document->tokens.n * GKV__TOKEN_BYTES + rest->most);

    if (limit && n > limit)
        return gkv__fail(err, GKV_LIMIT, "the prompt has %" PRIu64 " tokens, the limit is %" PRIu64
                         "; raise --context, or give a shorter document", n, limit);
    gkv__plan_prompt(&s->plan, &s->opt, n, gkv__prompt_tail(&s->prompt));
    if (s->by_text)
        plan_wider(&s->plan, s->whole);
    GKV__TRY(gkv__plan_make(&s->plan, resident - gkv__min(there, resident), err));
    s->answer.predicted = 0;
    if (s->by_text && !s->only) {               /* what a schedule keeps for the next question stays */
        const uint64_t kept = gkv__plan_reuses(&s->plan) ? gkv__early_bytes(&s->plan.task, gkv__plus(n, s->plan.chunk))
                                                         : 0;
        gkv_options o = s->opt;

        o.repack &= !s->decode.device;          /* the CPU does not compute it */
        GKV__TRY(plan_answer(&s->answer, s->writer, &o, s->hand.budget,
                             gkv__plus(resident - gkv__min(there, resident), gkv__plus(kept, packed(&s->plan))), err));
        if (may_guess(s)) {
            GKV__TRY(plan_guess(&s->guess_plan, s->model, s->writer, &s->opt, s->afford, s->hand.budget, s->answer.predicted,
                                err));
            s->answer.predicted = s->guess_plan.predicted;
        }
    }
    s->plan.predicted = gkv__max(s->plan.predicted, made);
    if (!gkv__plan_reuses(&s->plan))
        gkv__early_close(&s->early);
    if (!gkv__plan_keeps(&s->plan))
        gkv__prefix_close(&s->prefix);
    return GKV_OK;
}

/* Sets the warning, and sends the user one line about the schedule. */
static void remark(gkv_session *s)
{
    const struct gkv__task *t = &s->plan.task;
    const uint32_t trained = s->model->shape.context;
    const bool scores = s->plan.kind == GKV__SCORES, unread = s->by_text && s->plan.kind < GKV__SCORES;
    const uint64_t lack = gkv__plus(unpacked(&s->plan), s->by_text && !s->only ? unpacked(&s->answer) : 0);
    char line[200];

    if (s->opt.group && s->opt.group->size > 1 && !gkv__grouped(t))
        snprintf(s->warning, sizeof s->warning, "method %s is computed by one of the %u processes", t->method->name,
                 s->opt.group->size);
    else if (*s->document->warning && s->writer == s->model)
        snprintf(s->warning, sizeof s->warning, "%s", s->document->warning);
    else if (trained && t->n > trained && !unread && !(scores && !t->schedule->exact))     /* those have no limit */
        snprintf(s->warning, sizeof s->warning, "the prompt has %" PRIu64 " tokens, the model was trained for "
                 "%u: answers may suffer", t->n, trained);
    else if (lack)
        snprintf(s->warning, sizeof s->warning, "weights are not packed (--repack): that takes %s more, and the limit is %s; raise "
                 "--memory", gkv__needed(lack).text, gkv__limit(s->plan.limit).text);
    if (scores && s->opt.note) {
        snprintf(line, sizeof line, "schedule %s: %s", t->schedule->name, s->plan.why);
        s->opt.note(s->opt.note_arg, line);
    }
}

static gkv_status make_prompt(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    struct gkv__asked read;

    forget(s);
    /* Each question begins without resident weights, as the first did: those of the last question would be
     * counted twice by the plan, and would come on top of what the first pass needs. */
    gkv__model_drop(s->model);
    if (s->own)
        GKV__TRY(gkv__document_finish(s->own, err));
    s->asked = (struct gkv__asked){
        .turn = s->turn, .n_turns = s->n_turns, .question = question, .len = len, .begin = s->opt.begin,
        .think = s->opt.think,
    };
    read = s->asked;
    read.think &= s->writer == s->model;
    return gkv__prompt_make(&s->prompt, s->document, &read, err);
}

/* All n tokens of the text that was handed over are the prompt of the answer. */
static gkv_status keep_all(gkv_session *s, gkv_error *err)
{
    struct gkv__context *c = &s->run;
    const size_t n = s->hand.prompt.n;

    *c = (struct gkv__context){ .t = &s->answer.task, .e = &s->exec, .id = s->hand.prompt.id, .n_kept = n, .restart = true,
                                .chosen = -1 };
    c->kept = malloc(n * sizeof *c->kept + 1);
    if (!c->kept)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        c->kept[i] = (uint32_t)i;
    return GKV_OK;
}

static void warn_answer(gkv_session *s)
{
    const uint32_t trained = s->writer->shape.context;

    if (*s->warning || s->writer == s->model)
        return;
    if (*s->hand.d->warning)
        snprintf(s->warning, sizeof s->warning, "%s", s->hand.d->warning);
    else if (trained && s->run.n_kept > trained)
        snprintf(s->warning, sizeof s->warning, "%zu tokens are handed over, and the model that answers was trained for %u: "
                 "answers may suffer", s->run.n_kept, trained);
}

/* The reader gets a prompt of its own from the best passages, in its own template, as many as it has time for.  Where that is
 * none, or it cannot be told so, it does not guess. */
static gkv_status prepare_guesses(gkv_session *s, gkv_error *err)
{
    struct gkv__plan *p = &s->guess_plan;
    struct gkv__asked asked = s->asked;
    gkv_error why;
    gkv_status status;
    uint64_t n = 0;

    s->guess_opt = guessing(&s->opt);
    asked.think = false;
    s->guess.to = s->model;
    s->guess.opt = &s->guess_opt;
    s->guess.snap = s->hand.snap;
    s->guess.budget = guess_tokens(s->model, s->writer, s->afford, s->hand.prompt.n);
    status = s->whole ? gkv__hand_whole(&s->guess, &s->prompt, &asked, &n, &why)
                      : gkv__hand_over(&s->guess, &s->prompt, s->run.kept, s->run.n_kept, s->run.score, &asked, &why);
    if (status == GKV_INVALID || status == GKV_UNSUPPORTED || n > s->guess.budget)
        return GKV_OK;
    if (status != GKV_OK)
        return gkv__fail(err, status, "%s", why.text);
    GKV__TRY(gkv__plan_open(p, &s->guess_exec, s->model, err));
    s->guess_exec.cancel = &s->cancel;
    s->drafter = (struct gkv__drafter){
        .e = &s->guess_exec, .m = s->model, .to = s->writer->vocab, .kv = p->task.kv,
        .same = gkv__vocab_same(s->model->vocab, s->writer->vocab), .prompt = s->guess.prompt.id,
        .n_prompt = s->guess.prompt.n, .n_room = gkv__drafter_room(s->decode.n_new),
    };
    s->decode.drafter = &s->drafter;
    s->decode.draft.share = (double)gkv__model_weight_bytes(s->model) / (double)gkv__model_weight_bytes(s->writer);
    return GKV_OK;
}

/* From what the reader kept to the prompt of the model that answers.  The reader's weights and work space are released
 * first, so that no two are in memory at the same time, unless the reader is to guess. */
static gkv_status hand_over(gkv_session *s, gkv_error *err)
{
    struct gkv__plan *p = &s->answer;
    const bool scored = s->run.score;

    gkv__exec_close(&s->exec);
    gkv__model_drop(s->model);
    if (!s->whole) {
        GKV__TRY(gkv__hand_over(&s->hand, &s->prompt, s->run.kept, s->run.n_kept, s->run.score, &s->asked, err));
        free(s->span);
        GKV__TRY(gkv__hand_spans(&s->hand, &s->prompt, &s->span, &s->n_spans, err));
    }
    if (!s->only && may_guess(s))
        GKV__TRY(prepare_guesses(s, err));
    gkv__run_close(&s->run);
    GKV__TRY(keep_all(s, err));
    s->read = scored;
    warn_answer(s);
    if (s->only)
        return GKV_OK;
    return gkv__plan_open(p, &s->exec, s->writer, err);
}

static gkv_status prepare(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    struct gkv__plan *p = &s->plan;
    double start;
    gkv_status status;

    GKV__TRY(make_prompt(s, question, len, err));
    if (s->by_text)
        GKV__TRY(try_whole(s, &s->asked, err));
    GKV__TRY(plan(s, err));
    remark(s);
    if (p->kind >= GKV__SCORES || !p->select_only)
        GKV__TRY(gkv__plan_open(p, &s->exec, s->model, err));
    s->run = (struct gkv__context){
        .t = &p->task, .e = &s->exec, .id = s->prompt.id, .n_fixed = s->prompt.n_fixed,
        .early = gkv__plan_reuses(p) ? &s->early : NULL,
    };
    if (p->kind == GKV__PICKS && p->task.method->words) {
        GKV__TRY(gkv__prompt_words(&s->prompt, question, len, &s->words, err));
        p->task.words = &s->words;
    }
    start = gkv__seconds();
    status = gkv__run(&s->run, err);
    gkv__prompt_words_close(&s->words);
    s->stats.layer = s->run.chosen;
    s->t_ask -= s->run.spared;          /* times are those of a question alone */
    if (p->kind >= GKV__SCORES)
        s->stats.first = gkv__seconds() - start + s->run.spared;
    s->stats.processes = gkv__grouped(&p->task) ? p->task.group->size : 1;
    s->stats.waited = s->exec.waited;
    GKV__TRY(status);
    GKV__TRY(gkv__prompt_passages(&s->prompt, s->run.kept, s->run.n_kept, s->run.score, false, &s->span,
                                  &s->n_spans, &s->stats.tokens_document, err));
    return s->by_text ? hand_over(s, err) : GKV_OK;
}

static double load(const gkv_session *s)
{
    return s->writer->load_seconds + (s->writer == s->model ? 0 : s->model->load_seconds);
}

/* The time of the first question includes opening and feeding. */
static gkv_status begin(gkv_session *s, bool select_only, const char *question, size_t len, gkv_error *err)
{
    const bool first = s->own && !s->own->finished;
    gkv_status status;

    s->t_ask = first ? s->t_open - load(s) : gkv__seconds();
    s->only = select_only;
    s->plan.select_only = select_only || s->by_text;
    s->plan.often |= s->own && !first;          /* who asks twice may ask again */
    status = prepare(s, question, len, err);
    s->stats.tokenize = s->prompt.seconds + (first ? s->own->seconds : 0);
    return status;
}

gkv_status gkv__session_end(gkv_session *s, gkv_status status)
{
    if (status == GKV_CANCELLED)
        atomic_store(&s->cancel, false);
    s->answering = status == GKV_OK && !s->only;
    return status;
}

gkv_status gkv_select(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    return gkv__session_end(s, begin(s, true, question, len, err));
}

const struct gkv__template *gkv__session_template(const gkv_session *s)
{
    return s->by_text && s->hand.d ? s->hand.d->tmpl : s->document->tmpl;
}

/* What the limit leaves: few grammars need what is predicted for one, and some need far more. */
static uint64_t grammar_memory(const gkv_session *s)
{
    const uint64_t predicted = gkv__max(s->plan.predicted, s->answer.predicted);

    if (!s->plan.limit)
        return UINT64_MAX;
    return GKV__MATCH_BYTES + (s->plan.limit > predicted ? s->plan.limit - predicted : 0);
}

static gkv_status prefill(gkv_session *s, gkv_error *err)
{
    const double start = gkv__seconds();
    const bool on_device = s->decode.device;
    const gkv_options *o = &s->opt;
    const bool room = s->decode.n_new > s->decode.n_most;
    gkv_status status;

    s->decode.prefix = !s->by_text && gkv__plan_keeps(&s->plan) ? &s->prefix : NULL;
    s->decode.sampler = (struct gkv__sampler){
        .temperature = o->temperature, .top_p = o->top_p, .min_p = o->min_p, .state = o->seed, .top_k = o->top_k,
        .last_n = o->repeat_last_n, .repeat = o->repeat_penalty, .presence = o->presence_penalty,
        .frequency = o->frequency_penalty,
    };
    s->decode.grammar_memory = grammar_memory(s);
    /* A grammar, or the answer's first words, leave the model no choice to begin a thought. */
    gkv__think_begin(&s->think, o->think || (room && !o->grammar && !o->begin) ? gkv__session_template(s)->marks : NULL,
                     o->think);
    s->thought_most = gkv__plan_thought(o);
    if (o->think)
        gkv__decode_rethink(&s->decode);
    status = gkv__decode_begin(&s->decode, &s->run, s->run.score || s->read ? GKV_STAGE_SECOND_PASS : GKV_STAGE_PREFILL,
                               err);
    if (s->run.restart)
        s->stats.second = gkv__seconds() - start;
    if (on_device && !s->decode.device && is_named(o->device))
        snprintf(s->warning, sizeof s->warning, "%.255s", s->decode.device_why);
    if (s->decode.with_mtp && s->decode.device && !*s->warning)
        snprintf(s->warning, sizeof s->warning, "a device computes the answer, so the model's own layer does not guess; "
                 "with --device cpu it does");
    if (guesses(o, s->model, s->writer) && s->decode.device && gkv__has_states(s->writer) && !*s->warning)
        snprintf(s->warning, sizeof s->warning, "a device does not take back what layers with a state have seen, so the reader "
                 "does not guess; with --device cpu it does");
    return status;
}

gkv_status gkv_ask(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    gkv_status status = begin(s, false, question, len, err);

    if (status == GKV_OK)
        status = prefill(s, err);
    s->stats.ttft = gkv__seconds() - s->t_ask;
    return gkv__session_end(s, status);
}

/* ---- results ---------------------------------------------------------------------------- */

const gkv_document *gkv_session_document(const gkv_session *s)
{
    return s->document;
}

const gkv_kept *gkv_session_kept(const gkv_session *s, size_t *count)
{
    *count = s->n_spans;
    return s->span;
}

const char *gkv_session_text(const gkv_session *s, size_t i, size_t *len)
{
    *len = 0;
    return s->hand.d ? gkv_document_text(s->hand.d, i, len) : NULL;
}

static void describe_device(const struct gkv__device *d, gkv_stats *out)
{
    struct gkv__device_use use;

    gkv__device_describe(d, &use);
    out->device = use.name;
    out->device_model = use.model;
    out->device_memory = use.bytes;
    out->device_layers = use.n_resident;
    out->upload = use.upload;
    out->upload_waited = use.waited;
}

static void describe_reader(const gkv_session *s, gkv_stats *out)
{
    out->snap = gkv__snap_name(s->hand.used);
    out->hand_over = s->hand.seconds;
    out->predicted_reader = s->plan.predicted;
    out->predicted_answerer = s->answer.predicted;
    out->memory_predicted = gkv__max(s->plan.predicted, s->answer.predicted);
    if (s->hand.d)
        out->chat_template = s->hand.d->tmpl->name;
    if (s->writer == s->model)
        return;
    out->reader = s->model->name;
    out->load_reader = s->model->load_seconds;
}

static void fill(const gkv_session *s, gkv_stats *out)
{
    const struct gkv__decode *d = &s->decode;

    *out = s->stats;
    out->tokens_prompt = s->prompt.n;
    out->tokens_kept = s->run.n_kept;
    out->tokens_answer = d->n_answer;
    out->tokens_thought = d->thinking ? d->n_thought : out->tokens_thought;
    out->thought = s->thought;
    out->can_think = gkv__session_template(s)->marks != NULL;
    out->drafted = d->draft.drafted;
    out->accepted = d->draft.accepted;
    *(d->with_mtp ? &out->drafted_mtp : &out->drafted_reader) = d->draft.by_model;
    *(d->with_mtp ? &out->accepted_mtp : &out->accepted_reader) = d->draft.right_by_model;
    out->load = load(s);
    out->total = load(s) + gkv__seconds() - s->t_open;
    out->memory_predicted = s->plan.predicted;
    out->memory_peak = gkv__mem_peak();
    out->memory_kv = gkv__decode_kv(d);
    out->memory_limit = s->plan.limit;
    out->memory_packed = gkv__repack_size(s->model) + (s->writer == s->model ? 0 : gkv__repack_size(s->writer));
    out->method = s->plan.task.method->name;
    out->parameters = s->parameters;
    out->schedule = gkv__plan_order(&s->plan);
    out->schedule_reason = s->plan.kind == GKV__SCORES ? s->plan.why : NULL;
    out->device = "cpu";
    out->device_reason = *d->device_why ? d->device_why : NULL;
    if (d->device && d->on_device)
        describe_device(d->device, out);
    out->cpu = s->plan.simd->level;
    out->chat_template = s->document->tmpl->name;
    out->warning = *d->warning ? d->warning : *s->warning ? s->warning : NULL;
    if (s->by_text)
        describe_reader(s, out);
    if (!out->finish)
        out->finish = "";
    out->incomplete = *out->finish && gkv__decode_incomplete(d);
}

void gkv_session_stats_size(const gkv_session *s, gkv_stats *out, size_t size)
{
    gkv_stats all;

    fill(s, &all);
    gkv__give(out, size, &all, sizeof all);
}

/* ---- which layer to select at ----------------------------------------------------------- */

gkv_status gkv_probe(gkv_session *s, const char *question, size_t len, uint64_t start,
                     uint64_t end, uint32_t tsp, gkv_layer_probe *layer, gkv_error *err)
{
    GKV__TRY(make_prompt(s, question, len, err));
    return gkv__probe(s, start, end, tsp, layer, err);
}
