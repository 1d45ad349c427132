/* SPDX-License-Identifier: BSD-2-Clause
 * session.c - one timeline: text in, question, selection, answer out. */
#include "config.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/select/calibrate.h"
#include "src/answer/device.h"
#include "src/engine/exec.h"
#include "src/engine/kv.h"
#include "src/engine/layer.h"
#include "src/base/mem.h"
#include "src/engine/forward.h"
#include "src/plan.h"
#include "src/prompt.h"
#include "src/answer/sample.h"
#include "src/base/thread.h"
#include "src/base/unicode.h"

/* Tokens are made while the text arrives, in pieces of this many bytes: a document that can
 * never fit is refused long before its end. */
enum { PIECE = 16 << 20, MIN_PIECE = 64 << 10, TOKEN = 16 };    /* TOKEN: bytes, most are shorter */

static size_t piece(uint64_t max_context)
{
    if (!max_context || max_context > PIECE / TOKEN)
        return PIECE;
    return max_context > MIN_PIECE / TOKEN ? (size_t)max_context * TOKEN : MIN_PIECE;
}

struct gkv_session {
    gkv_model                  *model;
    gkv_options                 opt;
    struct gkv__plan            plan;
    double                      param[GKV__MAX_PARAMS];
    atomic_bool                 cancel;
    enum { FEEDING, ASKED, ENDED, FAILED } state;
    char                        warning[256], parameters[256];
    struct gkv__template        own_template;   /* with opt.system in it                     */

    struct gkv__prompt          prompt;
    float                      *score;          /* [n] when the method has scores            */
    uint32_t                   *kept;           /* [n_kept] indices of tokens                */
    size_t                      n_kept;
    gkv_kept                   *span;
    size_t                      n_spans;

    struct gkv__exec            exec;
    struct gkv__cache           cache;
    uint64_t                    resident;       /* bytes, before there was a text            */
    uint64_t                    next;           /* position of the answer's first token      */
    bool                        ready;          /* cache and x are as the answer needs them  */
    struct gkv__device         *device;         /* NULL: second pass and answer on the CPU   */
    char                        device_why[256];
    uint32_t                   *id;             /* tokens kept, then those of the answer     */
    uint64_t                    n_done;         /* of these, gone through the model          */
    float                      *x, *logits;     /* [n_embd], [n_vocab]                       */
    uint32_t                    best;           /* instead of logits, when they are not needed */
    struct gkv__candidate      *candidates;
    struct gkv__sampler         sampler;
    uint64_t                    n_answer;
    char                        piece[512];
    size_t                      piece_len, piece_given;

    double                      t_open;
    gkv_stats                   stats;
};

/* ---- options ---------------------------------------------------------------------------- */

void gkv_options_init(gkv_options *opt)
{
    *opt = (gkv_options){
        .keep = 1024,
        .layer = -1,
        .keep_first = 4,
        .keep_last = GKV_KEEP_PROMPT,
        .max_tokens = 256,
        .top_p = 1,
    };
}

static gkv_status check_numbers(const gkv_model *m, const gkv_options *o, gkv_error *err)
{
    if (!o->keep && !(o->keep_percent > 0))
        return gkv__fail(err, GKV_INVALID, "a budget of 0 tokens keeps nothing; at least 1");
    if (!(o->keep_percent >= 0 && o->keep_percent <= 100))
        return gkv__fail(err, GKV_INVALID, "keep %g %%: not in 0 .. 100", (double)o->keep_percent);
    if (o->layer < -1 || o->layer >= (int64_t)m->shape.n_layer)
        return gkv__fail(err, GKV_INVALID, "layer %d: the model has layers 0 .. %u", o->layer,
                         m->shape.n_layer - 1);
    if (!(o->temperature >= 0) || !(o->top_p > 0 && o->top_p <= 1) || !(o->min_p >= 0 && o->min_p <= 1))
        return gkv__fail(err, GKV_INVALID, "sampling needs temperature >= 0, 0 < top-p <= 1, "
                         "0 <= min-p <= 1");
    if (!o->max_tokens)
        return gkv__fail(err, GKV_INVALID, "an answer of 0 tokens; at least 1");
    return GKV_OK;
}

/* Options that hold for every prompt: into *p and param. */
static gkv_status resolve(const gkv_model *m, const gkv_options *o, struct gkv__plan *p,
                          double param[GKV__MAX_PARAMS], gkv_error *err)
{
    GKV__TRY(gkv__plan_options(p, m, o, err));
    GKV__TRY(gkv__select_parse(o->method ? o->method : "gemfilter", &p->method, param, err));
    p->method_param = param;
    p->layer = o->layer;
    p->keep_first = o->keep_first;
    GKV__TRY(check_numbers(m, o, err));
    p->filter_layer = o->layer >= 0 ? (uint32_t)o->layer : m->filter_layer;
    p->max_tokens = o->max_tokens;
    return GKV_OK;
}

/* Budget for n tokens, the forced ones checked against it. */
static uint64_t budget(const gkv_options *o, uint64_t n)
{
    uint64_t k = o->keep;

    if (o->keep_percent > 0) {
        k = (uint64_t)((double)n * (double)o->keep_percent / 100);
        k = k ? k : 1;
    }
    return k < n ? k : n;
}

/* Tokens that a method chooses of n: those of the budget, or as it likes. */
static uint64_t chosen(const struct gkv__select *m, const gkv_options *o, uint64_t n)
{
    return m->pick || (m->run && !m->own_budget) ? budget(o, n) : n;
}

gkv_status gkv_memory_needed(gkv_model *m, const gkv_options *opt, uint64_t n, uint64_t *bytes,
                             gkv_error *err)
{
    struct gkv__plan p = { 0 };
    double param[GKV__MAX_PARAMS];
    uint64_t kept, text, base;

    GKV__TRY(resolve(m, opt, &p, param, err));
    p.limit = 0;
    kept = chosen(p.method, opt, n);
    /* Token ids and lengths, and about four bytes of text each. */
    if (!gkv__mul(n, 2 * sizeof(uint32_t) + 4, &text) ||
        !gkv__add(text, gkv__mem_resident(), &base))
        base = UINT64_MAX;
    GKV__TRY(gkv__plan_make(&p, m, base, n, kept, err));
    *bytes = p.predicted;
    return GKV_OK;
}

/* ---- opening, closing ------------------------------------------------------------------- */

static gkv_status choose_template(gkv_session *s, const struct gkv__template **out, gkv_error *err)
{
    const char *name = s->opt.chat_template;

    if (s->opt.system && (s->opt.raw || name))
        return gkv__fail(err, GKV_INVALID,
                         "only the model's own chat template takes a system prompt");
    if (s->opt.raw) {
        *out = &gkv__template_raw;
    } else if (s->opt.system) {
        gkv_error why = { 0 };

        *out = &s->own_template;
        if (gkv__utf8_check(s->opt.system, strlen(s->opt.system), NULL) < strlen(s->opt.system))
            return gkv__fail(err, GKV_INVALID, "the system prompt is not UTF-8");
        if (gkv__model_template(s->model, s->opt.system, &s->own_template, &why) != GKV_OK)
            return gkv__fail(err, GKV_INVALID, "no system prompt for this model: %s", why.text);
    } else if (name) {
        *out = gkv__template_named(name);
        if (!*out) {
            char list[256] = "";
            size_t at = 0;
            for (size_t i = 0; gkv__template_at(i); i++)
                at += (size_t)snprintf(list + at, sizeof list - at, " %s", gkv__template_at(i)->name);
            return gkv__fail(err, GKV_INVALID, "no template \"%s\"; there are:%s", name, list);
        }
    } else {
        *out = s->model->chat_template ? s->model->chat_template : gkv__template_plain;
        if (*out != &s->model->own_template)
            snprintf(s->warning, sizeof s->warning, "%.140s; using \"%s\" (choose with --template, "
                     "or give the whole prompt with --raw)", s->model->template_error.status ?
                     s->model->template_error.text : "the model has no chat template",
                     (*out)->name);
    }
    return GKV_OK;
}

/* The model goes there while the text comes in and goes through the first pass.  How many
 * tokens there will be is not known then, unless the budget is a number. */
enum { DEVICE_TOKENS = 4096 };

static gkv_status open_device(gkv_session *s, gkv_error *err)
{
    const gkv_options *o = &s->opt;
    const uint64_t n = s->plan.method->pick && !(o->keep_percent > 0) ? o->keep : DEVICE_TOKENS;

    if (s->plan.kv_second->type != GKV__TYPE_F16) {
        snprintf(s->device_why, sizeof s->device_why, "device: keys and values are f16 there, not %s",
                 s->plan.kv_second->name);
        if (!o->device || !strcmp(o->device, "auto") || !strcmp(o->device, "cpu"))
            return GKV_OK;
        return gkv__fail(err, GKV_INVALID, "%s", s->device_why);
    }
    return gkv__device_open(&s->device, s->model, o->device, o->gpu_memory, n, n + o->max_tokens,
                            s->device_why, err);
}

gkv_status gkv_session_open(gkv_session **out, gkv_model *model, const gkv_options *opt,
                            gkv_error *err)
{
    gkv_session *s = calloc(1, sizeof *s);
    const struct gkv__template *tmpl = NULL;
    gkv_status status;

    *out = NULL;
    if (!s)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    s->t_open = gkv__seconds();
    s->model = model;
    s->opt = *opt;
    s->sampler = (struct gkv__sampler){ opt->temperature, opt->top_p, opt->min_p, opt->seed };
    status = resolve(model, opt, &s->plan, s->param, err);
    if (status == GKV_OK)
        gkv__param_text(s->plan.method->params, s->param, s->parameters, sizeof s->parameters);
    if (status == GKV_OK && !model->vocab) {
        if (err)
            *err = model->vocab_error;
        status = model->vocab_error.status;
    }
    if (status == GKV_OK)
        status = choose_template(s, &tmpl, err);
    if (status == GKV_OK)
        status = gkv__prompt_open(&s->prompt, model->vocab, tmpl, piece(opt->max_context), err);
    if (status == GKV_OK)
        status = open_device(s, err);
    if (status != GKV_OK) {
        gkv_session_close(s);
        return status;
    }
    s->exec.cancel = &s->cancel;
    s->exec.progress = opt->progress;
    s->exec.progress_arg = opt->progress_arg;
    s->resident = gkv__mem_resident();
    *out = s;
    return GKV_OK;
}

void gkv_cancel(gkv_session *s)
{
    atomic_store(&s->cancel, true);
}

void gkv_session_close(gkv_session *s)
{
    if (!s)
        return;
    gkv__device_close(s->device);
    gkv__exec_close(&s->exec);
    gkv__cache_close(&s->cache);
    gkv__prompt_close(&s->prompt);
    free(s->own_template.text);
    free(s->score);
    free(s->kept);
    free(s->span);
    free(s->id);
    free(s->x);
    free(s->logits);
    free(s->candidates);
    free(s);
}

/* ---- text in ---------------------------------------------------------------------------- */

static gkv_status fail(gkv_session *s, gkv_status status)
{
    if (status != GKV_OK)
        s->state = FAILED;
    return status;
}

static gkv_status check_limits(gkv_session *s, bool more_to_come, gkv_error *err)
{
    const char *least = more_to_come ? "at least " : "";
    uint64_t n = s->prompt.tokens.n, kept = chosen(s->plan.method, &s->opt, n);
    gkv_error plan_err = { 0 };
    gkv_status status;

    if (s->opt.max_context && n > s->opt.max_context)
        return gkv__fail(err, GKV_LIMIT, "the prompt has %s%" PRIu64 " tokens, the limit is %" PRIu64
                         "; raise --context, or give a shorter document", least, n,
                         s->opt.max_context);
    if (!more_to_come) {
        s->plan.n_tail = gkv__prompt_tail(&s->prompt);
        s->plan.keep_last = s->opt.keep_last == GKV_KEEP_PROMPT ? s->plan.n_tail : s->opt.keep_last;
    }
    status = gkv__plan_make(&s->plan, s->model, gkv__mem_resident(), n, kept, &plan_err);
    if (status == GKV_OK) {
        /* To make tokens of a word of megabytes can take more than what is to come. */
        const uint64_t made = s->resident + s->prompt.len + s->prompt.tokens.most;

        if (s->plan.predicted < made)
            s->plan.predicted = made;
        return GKV_OK;
    }
    return gkv__fail(err, status, "%s%s", more_to_come ? "not even the beginning of the document "
                     "fits: " : "", plan_err.text);
}

/* With so little text, what is refused is what comes after it, by what all of it needs. */
enum { LITTLE = 1 << 20 };

/* Room for len more bytes of text: what is left of the limit is for their tokens. */
static gkv_status reserve_text(gkv_session *s, size_t len, gkv_error *err)
{
    const uint64_t text = (uint64_t)s->prompt.len + len, held = s->resident + text;
    const uint64_t limit = s->plan.limit;

    if (!limit)
        return GKV_OK;
    if (held >= limit && text > LITTLE)
        return gkv__fail(err, GKV_LIMIT, "the program and its text need at least %" PRIu64 " bytes of "
                         "memory, the limit is %" PRIu64 "; raise --memory, or give a shorter document",
                         held, limit);
    s->prompt.tokens.limit = gkv__max(limit > held ? limit - held : 0, LITTLE);
    return GKV_OK;
}

gkv_status gkv_feed(gkv_session *s, const char *text, size_t len, gkv_error *err)
{
    struct gkv__prompt *p = &s->prompt;
    const size_t before = p->tokenized;

    if (s->state != FEEDING)
        return gkv__fail(err, GKV_INVALID, "gkv_feed after gkv_ask");
    GKV__TRY(fail(s, reserve_text(s, len, err)));
    GKV__TRY(fail(s, gkv__prompt_feed(p, text, len, err)));
    if (p->tokenized > before)
        GKV__TRY(fail(s, check_limits(s, true, err)));
    if (atomic_load(&s->cancel))
        return fail(s, gkv__fail(err, GKV_CANCELLED, "cancelled after %zu bytes of text", p->len));
    return GKV_OK;
}

gkv_status gkv_feed_end(gkv_session *s, gkv_error *err)
{
    if (s->state != FEEDING)
        return gkv__fail(err, GKV_INVALID, "gkv_feed_end after gkv_ask");
    return fail(s, gkv__prompt_feed_end(&s->prompt, err));
}

/* ---- the question ----------------------------------------------------------------------- */

static gkv_status forced(const gkv_session *s, struct gkv__pick *in, gkv_error *err)
{
    const gkv_options *o = &s->opt;

    in->keep_first = o->keep_first < in->n ? o->keep_first : in->n;
    in->keep_last = o->keep_last == GKV_KEEP_PROMPT ? gkv__prompt_tail(&s->prompt) : o->keep_last;
    in->keep_last = in->keep_last < in->n ? in->keep_last : in->n;
    if (in->keep_first + in->keep_last > in->k)
        return gkv__fail(err, GKV_INVALID, "a budget of %zu tokens is less than the %zu that are "
                         "always kept (%zu first, %zu last); raise --keep, or lower --keep-first and "
                         "--keep-last", in->k, in->keep_first + in->keep_last, in->keep_first,
                         in->keep_last);
    return GKV_OK;
}

/* What the answer is written with. */
static gkv_status buffers(gkv_session *s, gkv_error *err)
{
    const struct gkv__shape *shape = &s->model->shape;

    s->x = malloc(shape->n_embd * sizeof *s->x);
    s->logits = malloc(shape->n_vocab * sizeof *s->logits);
    s->candidates = malloc(shape->n_vocab * sizeof *s->candidates);
    return s->x && s->logits && s->candidates ? GKV_OK : gkv__fail(err, GKV_NOMEM, "out of memory");
}

/* Scores of the first pass, and the tokens that the method picks by them. */
static gkv_status first_pass(gkv_session *s, struct gkv__pick *in, gkv_error *err)
{
    float *spare = malloc(in->n * sizeof *spare);
    gkv_status status = GKV_OK;

    if (!spare)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    status = s->plan.schedule->run(&s->exec, &(struct gkv__first){
        .m = s->model, .il = s->plan.filter_layer, .kv = s->plan.kv_first,
        .param = s->plan.schedule_param, .spill = s->plan.spill,
        .row = s->plan.method->row ? s->plan.method->row(s->param) : GKV__ROW_LAST, .n = in->n,
        .n_tail = gkv__prompt_tail(&s->prompt), .n_kept = in->k, .id = s->prompt.tokens.id,
        .score = s->score }, err);
    in->score = s->score;
    in->spare = spare;
    if (status == GKV_OK)
        s->n_kept = s->plan.method->pick(in, s->kept);
    s->stats.layer = (int32_t)s->plan.filter_layer;
    free(spare);
    return status;
}

/* A method that reads the whole prompt in its own way. */
static gkv_status one_pass(gkv_session *s, const struct gkv__pick *in, gkv_error *err)
{
    struct gkv__context c = {
        .m = s->model, .param = s->param, .layer = s->opt.layer, .kv = s->plan.kv_second, .n = in->n,
        .n_tail = gkv__prompt_tail(&s->prompt), .k = in->k, .keep_first = in->keep_first,
        .keep_last = in->keep_last, .n_new = s->opt.max_tokens, .e = &s->exec,
        .id = s->prompt.tokens.id, .x = s->x, .kept = s->kept, .score = s->score, .chosen = -1,
    };
    gkv_status status = s->plan.method->run(&c, err);

    s->cache = c.cache;
    s->next = c.next;
    s->n_kept = c.n_kept;
    s->ready = !c.restart;
    s->stats.layer = c.chosen;
    return status;
}

static gkv_status choose_tokens(gkv_session *s, gkv_error *err)
{
    const size_t n = s->prompt.tokens.n;
    const struct gkv__select *m = s->plan.method;
    struct gkv__pick in = { .n = n, .k = (size_t)chosen(m, &s->opt, n), .param = s->param };
    const double start = gkv__seconds();
    gkv_status status;

    s->kept = malloc(n * sizeof *s->kept);
    if (!s->kept)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    s->stats.layer = -1;
    if (!s->plan.inside && (!m->pick || in.k == n)) {
        for (size_t i = 0; i < n; i++)
            s->kept[i] = (uint32_t)i;
        s->n_kept = n;
        return GKV_OK;
    }
    GKV__TRY(forced(s, &in, err));
    if (!s->plan.two_passes && !s->plan.inside) {
        s->n_kept = m->pick(&in, s->kept);
        return GKV_OK;
    }
    s->score = malloc(n * sizeof *s->score);
    if (!s->score)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    s->exec.span = n + s->opt.max_tokens;
    status = s->plan.inside ? one_pass(s, &in, err) : first_pass(s, &in, err);
    s->stats.first = gkv__seconds() - start;
    return status;
}

static gkv_status prepare(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    const uint32_t trained = s->model->shape.context;

    if (s->state != FEEDING)
        return gkv__fail(err, GKV_INVALID, "a session takes one question");
    GKV__TRY(reserve_text(s, len, err));
    GKV__TRY(gkv__prompt_ask(&s->prompt, question, len, s->opt.begin, err));
    GKV__TRY(check_limits(s, false, err));
    if (trained && s->prompt.tokens.n > trained && !*s->warning &&
        !(s->plan.two_passes && !s->plan.schedule->exact))      /* those do not mind length */
        snprintf(s->warning, sizeof s->warning, "the prompt has %zu tokens, the model was trained for "
                 "%u: answers may suffer", s->prompt.tokens.n, trained);
    if (s->plan.two_passes && s->opt.note) {
        char line[200];

        snprintf(line, sizeof line, "schedule %s: %s", s->plan.schedule->name, s->plan.why);
        s->opt.note(s->opt.note_arg, line);
    }
    if (s->plan.two_passes || s->plan.inside || !s->plan.select_only) {
        GKV__TRY(gkv__exec_open(&s->exec, s->plan.simd, s->plan.gemm, &s->model->shape, s->plan.n_threads,
                                s->plan.chunk, err));
        GKV__TRY(buffers(s, err));
    }
    GKV__TRY(choose_tokens(s, err));
    return gkv__prompt_passages(&s->prompt, s->kept, s->n_kept, s->score, &s->span, &s->n_spans,
                                &s->stats.tokens_document, err);
}

gkv_status gkv_select(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    gkv_status status;

    s->plan.select_only = true;
    gkv__device_close(s->device);
    s->device = NULL;
    status = prepare(s, question, len, err);
    s->state = status == GKV_OK ? ENDED : FAILED;
    return status;
}

/* Tokens that have a part in bytes start .. end of the first document. */
static void find_tokens(const struct gkv__prompt *p, uint64_t start, uint64_t end, size_t *from,
                        size_t *to)
{
    uint64_t at = 0;
    size_t i = 0;

    start += p->doc->start;
    end += p->doc->start;
    while (i < p->tokens.n && at + p->tokens.len[i] <= start)
        at += p->tokens.len[i++];
    *from = i;
    while (i < p->tokens.n && at < end)
        at += p->tokens.len[i++];
    *to = i;
}

gkv_status gkv_probe(gkv_session *s, const char *question, size_t len, uint64_t start,
                     uint64_t end, uint32_t tsp, gkv_layer_probe *layer, gkv_error *err)
{
    enum { WINDOW = 8, GEMFILTER_KERNEL = 5, FASTKV_KERNEL = 7, FASTKV_SHARE = 5 };
    struct gkv__calibrate c = { .m = s->model, .kernel = GEMFILTER_KERNEL, .window = WINDOW,
                                .tsp_kernel = FASTKV_KERNEL, .tsp_pool = GKV__POOL_MAX, .n_tsp = tsp };
    struct gkv__plan *p = &s->plan;
    gkv_status status;

    if (s->state != FEEDING)
        return gkv__fail(err, GKV_INVALID, "a session takes one question");
    s->state = FAILED;
    GKV__TRY(gkv__prompt_ask(&s->prompt, question, len, s->opt.begin, err));
    c.id = s->prompt.tokens.id;
    c.n = s->prompt.tokens.n;
    c.k = (size_t)budget(&s->opt, c.n);
    c.tsp = c.n / FASTKV_SHARE > WINDOW ? c.n / FASTKV_SHARE : WINDOW;
    find_tokens(&s->prompt, start, end, &c.from, &c.to);
    if (c.from == c.to || tsp > s->model->shape.n_layer || c.n <= WINDOW)
        return gkv__fail(err, GKV_INVALID, "nothing to look for: bytes %" PRIu64 " .. %" PRIu64 ", %u "
                         "layers, %zu tokens", start, end, tsp, c.n);
    p->chunk = (uint32_t)(p->max_chunk < c.n ? p->max_chunk : c.n);
    p->predicted = gkv__plus(gkv__plus(gkv__mem_resident(), gkv__calibrate_bytes(&c)),
                             gkv__exec_bytes(p->simd, p->gemm, &s->model->shape, p->n_threads, p->chunk));
    if (p->limit && p->predicted > p->limit)
        return gkv__fail(err, GKV_LIMIT, "%" PRIu64 " bytes of memory are needed for %zu tokens, the "
                         "limit is %" PRIu64 "; raise --memory, or take shorter prompts", p->predicted,
                         c.n, p->limit);
    GKV__TRY(gkv__exec_open(&s->exec, p->simd, p->gemm, &s->model->shape, p->n_threads, p->chunk, err));
    status = gkv__calibrate(&s->exec, &c, layer, err);
    s->state = status == GKV_OK ? ENDED : FAILED;
    return status;
}

/* ---- through the whole model ------------------------------------------------------------ */

static bool greedy(const gkv_session *s)
{
    return !(s->opt.temperature > 0);
}

static gkv_status on_device(gkv_session *s, uint64_t n, gkv_error *err)
{
    while (s->n_done < n) {
        const size_t block = gkv__device_block(s->device);
        const size_t nb = n - s->n_done < block ? n - s->n_done : block;
        const bool last = s->n_done + nb == n;

        GKV__TRY(gkv__device_forward(s->device, s->id + s->n_done, nb, s->n_done,
                                     last && !greedy(s) ? s->logits : NULL, last ? &s->best : NULL, err));
        if (nb > 1)
            gkv__progress(&s->exec, s->model->shape.n_layer * gkv__layer_work(&s->model->shape, s->n_done, nb));
        s->n_done += nb;
        if (gkv__cancelled(&s->exec))
            return gkv__fail(err, GKV_CANCELLED, "cancelled at token %" PRIu64, s->n_done);
    }
    return GKV_OK;
}

/* The device is of no use: all goes on here, and begins again with the tokens kept. */
static void leave_device(gkv_session *s, const gkv_error *why)
{
    snprintf(s->device_why, sizeof s->device_why, "%.255s", why->text);
    if (why->status != GKV_UNSUPPORTED)
        snprintf(s->warning, sizeof s->warning, "%.200s; going on on the CPU", why->text);
    gkv__device_close(s->device);
    s->device = NULL;
    s->n_done = 0;
}

static gkv_status on_cpu(gkv_session *s, uint64_t n, gkv_error *err)
{
    const struct gkv__shape *shape = &s->model->shape;

    if (!s->n_done)
        GKV__TRY(gkv__cache_open(&s->cache, s->plan.kv_second, shape->n_layer, shape->n_head_kv,
                                 shape->head_dim, s->n_kept + s->opt.max_tokens, err));
    GKV__TRY(gkv__forward(&s->exec, s->model, s->id + s->n_done, (size_t)(n - s->n_done),
                          s->n_done + s->next - s->n_kept, &s->cache, s->x, err));
    gkv__logits(&s->exec, s->model, s->x, 1, s->logits);
    s->n_done = n;
    return GKV_OK;
}

/* Logits, or the best token, after the first n of s->id. */
static gkv_status forward(gkv_session *s, uint64_t n, gkv_error *err)
{
    gkv_error why = { 0 };

    if (s->device) {
        gkv_status status = s->n_done ? GKV_OK
                          : gkv__device_ready(s->device, s->n_kept + s->opt.max_tokens, &why);

        if (status == GKV_OK)
            status = on_device(s, n, &why);
        if (status != GKV_DEVICE && status != GKV_UNSUPPORTED) {
            if (status != GKV_OK && err)
                *err = why;
            return status;
        }
        leave_device(s, &why);
    }
    return on_cpu(s, n, err);
}

static gkv_status list_tokens(gkv_session *s, gkv_error *err)
{
    s->id = malloc((s->n_kept + s->opt.max_tokens) * sizeof *s->id);
    if (!s->id)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n_kept; i++)
        s->id[i] = s->prompt.tokens.id[s->kept[i]];
    return GKV_OK;
}

/* The method has left keys and values here from which the answer goes on. */
static gkv_status first_logits(gkv_session *s)
{
    if (s->device)
        snprintf(s->device_why, sizeof s->device_why, "device: method %s answers from the keys and values "
                 "of its only pass, which are here", s->plan.method->name);
    gkv__device_close(s->device);
    s->device = NULL;
    s->n_done = s->n_kept;
    gkv__logits(&s->exec, s->model, s->x, 1, s->logits);
    return GKV_OK;
}

static gkv_status second_pass(gkv_session *s, gkv_error *err)
{
    const struct gkv__shape *shape = &s->model->shape;
    const double start = gkv__seconds();
    gkv_status status;

    s->next = s->n_kept;
    s->exec.span = s->n_kept + s->opt.max_tokens;
    gkv__stage(&s->exec, s->score ? "second pass" : "prefill", s->n_kept,
               shape->n_layer * gkv__layer_work(shape, 0, s->n_kept));
    status = forward(s, s->n_kept, err);
    s->stats.second = gkv__seconds() - start;
    return status;
}

gkv_status gkv_ask(gkv_session *s, const char *question, size_t len, gkv_error *err)
{
    gkv_status status = prepare(s, question, len, err);

    if (status == GKV_OK)
        status = list_tokens(s, err);
    if (status == GKV_OK)
        status = s->ready ? first_logits(s) : second_pass(s, err);
    s->stats.ttft = s->model->load_seconds + gkv__seconds() - s->t_open;
    s->state = status == GKV_OK ? ASKED : FAILED;
    return status;
}

/* ---- the answer ------------------------------------------------------------------------- */

/* One more token: its text is appended to piece, or the answer ends. */
static gkv_status step(gkv_session *s, gkv_error *err)
{
    const struct gkv__vocab *v = s->model->vocab;
    uint32_t id;

    if (s->n_answer == s->opt.max_tokens) {
        s->stats.finish = "length";
        return GKV_END;
    }
    if (s->n_answer)
        GKV__TRY(forward(s, s->n_kept + s->n_answer, err));
    id = s->device && greedy(s) ? s->best
       : gkv__sample(&s->sampler, s->logits, s->candidates, s->model->shape.n_vocab);
    if (gkv__vocab_is_end(v, id) && !s->opt.ignore_end) {
        s->stats.finish = "stop";
        return GKV_END;
    }
    s->piece_len += gkv__token_text_after(v, s->n_answer ? s->id[s->n_kept + s->n_answer - 1]
                                                         : GKV__NO_TOKEN, id, false,
                                          s->piece + s->piece_len, sizeof s->piece - s->piece_len);
    s->id[s->n_kept + s->n_answer++] = id;
    if (s->piece_len > sizeof s->piece)         /* a token longer than any known vocabulary's */
        s->piece_len = sizeof s->piece;
    return GKV_OK;
}

gkv_status gkv_next(gkv_session *s, const char **text, size_t *len, gkv_error *err)
{
    const double start = gkv__seconds();
    gkv_status status = GKV_OK;
    size_t whole = 0;

    *text = s->piece;
    *len = 0;
    if (s->state == ENDED)
        return GKV_END;
    if (s->state != ASKED)
        return gkv__fail(err, GKV_INVALID, "gkv_next without an answered gkv_ask");
    /* Drop what was given, go on until there is a whole character. */
    s->piece_len -= s->piece_given;
    memmove(s->piece, s->piece + s->piece_given, s->piece_len);
    s->piece_given = 0;
    while (status == GKV_OK && !whole) {
        int cut = 0;

        status = step(s, err);
        whole = gkv__utf8_check(s->piece, s->piece_len, &cut);
        if (whole < s->piece_len && !cut)       /* not UTF-8 at all: the caller's to mask */
            whole = s->piece_len;
    }
    s->stats.decode += gkv__seconds() - start;
    if (status == GKV_END) {
        s->state = ENDED;
        whole = s->piece_len;                   /* an unfinished character, as it is */
        if (whole)
            status = GKV_OK;
    } else if (status != GKV_OK) {
        s->state = FAILED;
        return status;
    }
    s->piece_given = whole;
    *len = whole;
    return status;
}

/* ---- results ---------------------------------------------------------------------------- */

const char *gkv_session_document(const gkv_session *s, size_t i, size_t *len)
{
    const struct gkv__prompt *p = &s->prompt;

    *len = 0;
    if (i >= p->n_docs)
        return NULL;
    *len = (size_t)(p->doc[i].end - p->doc[i].start);
    return p->text + p->doc[i].start;
}

const gkv_kept *gkv_session_kept(const gkv_session *s, size_t *count)
{
    *count = s->n_spans;
    return s->span;
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

void gkv_session_stats(const gkv_session *s, gkv_stats *out)
{
    *out = s->stats;
    out->tokens_prompt = s->prompt.tokens.n;
    out->tokens_kept = s->n_kept;
    out->tokenize = s->prompt.seconds;
    out->tokens_answer = s->n_answer;
    out->load = s->model->load_seconds;
    out->total = s->model->load_seconds + gkv__seconds() - s->t_open;
    out->memory_predicted = s->plan.predicted;
    out->memory_peak = gkv__mem_peak();
    out->memory_kv = gkv__cache_size(&s->cache);
    out->memory_limit = s->plan.limit;
    out->method = s->plan.method->name;
    out->parameters = s->parameters;
    out->schedule = s->plan.two_passes ? s->plan.schedule->name
                    : s->plan.inside ? s->plan.method->order : "chunk";
    out->schedule_reason = s->plan.two_passes ? s->plan.why : NULL;
    out->device = "cpu";
    out->device_reason = *s->device_why ? s->device_why : NULL;
    if (s->device && s->n_done)
        describe_device(s->device, out);
    out->cpu = s->plan.simd->level;
    out->chat_template = s->prompt.tmpl->name;
    out->warning = *s->warning ? s->warning : NULL;
    if (!out->finish)
        out->finish = "";
}
