/* SPDX-License-Identifier: BSD-2-Clause
 * chat.c - POST /v1/chat/completions */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/serve/request.h"

struct chat {
    struct request r;                   /* must be first                                  */
    bool           progress, usage;
    /* Of a stream: */
    struct ask_now now;
    bool           begun;
};

/* ---- the request --------------------------------------------------------------------- */
static bool take_format(struct request *r)
{
    const struct value *f = parse_member(r->body, "response_format"), *s;
    const char         *type = f && f->type == PARSE_OBJECT ? parse_string(f, "type") : NULL;

    if (!f || f->type == PARSE_NULL || (type && !strcmp(type, "text")))
        return true;
    if (type && !strcmp(type, "json_object"))
        return request_schema(r, NULL);
    s = type && !strcmp(type, "json_schema") ? parse_member(f, "json_schema") : NULL;
    s = s && s->type == PARSE_OBJECT ? parse_member(s, "schema") : NULL;
    return s ? request_schema(r, s) : request_bad(r, "response_format must be text, json_object, or json_schema with a schema");
}

static bool one_answer(struct request *r)
{
    const struct value *n = parse_member(r->body, "n");

    if (request_flag(r->body, "logprobs"))
        return request_bad(r, "\"logprobs\" is not supported");
    return !n || n->type == PARSE_NULL || (n->type == PARSE_NUMBER && fabs(n->number - 1) < 1e-9) ||
           request_bad(r, "\"n\": one answer at a time");
}

static bool take_messages(struct request *r)
{
    const struct value *messages = parse_member(r->body, "messages");

    if (!messages || messages->type != PARSE_ARRAY)
        return request_bad(r, "\"messages\" is missing, or no array");
    return request_messages(r, messages) && request_question(r);
}

static bool take_request(struct chat *c)
{
    struct request     *r = &c->r;
    const struct value *stream = parse_member(r->body, "stream_options");

    c->progress = request_flag(r->body, "return_progress");
    c->usage = request_flag(stream, "include_usage");
    return request_numbers(r) && !request_refuses(r) && one_answer(r) && take_format(r) && take_messages(r);
}

/* ---- answers ------------------------------------------------------------------------- */
static void put_head(struct json *j, const struct chat *c, const char *object)
{
    json_open(j, '{');
    json_named_string(j, "id", c->r.id);
    json_named_string(j, "object", object);
    json_named_uint(j, "created", (uint64_t)c->r.created);
    json_named_string(j, "model", c->r.api->model);
}

/* As OpenAI's file_citation, and where to look for it. */
static void put_annotations(struct json *j, const struct ask *a)
{
    json_named_open(j, "annotations", '[');
    for (size_t i = 0; i < a->n_claims; i++) {
        const struct ask_passage *p = &a->passage[a->claim[i].passage];
        const struct source      *s = &a->source[p->source];

        json_open(j, '{');
        json_named_string(j, "type", "file_citation");
        json_named_open(j, "file_citation", '{');
        if (!s->id)                             /* reply_place has one that there is      */
            json_named_string(j, "file_id", NULL);
        json_named_string(j, "filename", s->name);
        json_named_uint(j, "index", a->claim[i].end);
        json_named_string(j, "sentence", a->claim[i].sentence);
        json_named_uint(j, "passage", a->claim[i].passage);
        reply_place(j, a, p);
        json_close(j);
        json_close(j);
    }
    json_close(j);
}

static void put_usage(struct json *j, const struct ask *a)
{
    const uint64_t prompt = a->stats.tokens_prompt, answer = a->stats.tokens_answer + a->stats.tokens_thought;

    json_named_open(j, "usage", '{');
    json_named_uint(j, "prompt_tokens", prompt);
    json_named_uint(j, "completion_tokens", answer);
    json_named_uint(j, "total_tokens", prompt + answer);
    json_named_open(j, "prompt_tokens_details", '{');
    json_named_uint(j, "cached_tokens", reply_cached(a));
    json_close(j);
    json_close(j);
}

static const char *finish_of(const struct ask *a)
{
    return a->finish && !strcmp(a->finish, "length") ? "length" : "stop";
}

static void whole(struct chat *c)
{
    struct ask *a = c->r.ask;
    struct json j = { .depth = 0 };

    if (!api_wait(c->r.call, a))
        return;
    put_head(&j, c, "chat.completion");
    json_named_open(&j, "choices", '[');
    json_open(&j, '{');
    json_named_uint(&j, "index", 0);
    json_named_open(&j, "message", '{');
    json_named_string(&j, "role", "assistant");
    json_key(&j, "content");
    json_text(&j, a->answer.p, a->answer.n);
    json_named_string(&j, "refusal", NULL);
    if (a->thought)
        json_named_string(&j, "reasoning_content", a->thought);
    put_annotations(&j, a);
    json_close(&j);
    json_named_string(&j, "logprobs", NULL);
    json_named_string(&j, "finish_reason", finish_of(a));
    json_close(&j);
    json_close(&j);
    put_usage(&j, a);
    reply_evidence(&j, a);
    json_close(&j);
    web_answer(c->r.call, 200, "application/json", j.text.p, j.text.n);
    text_free(&j.text);
}

/* ---- as a stream --------------------------------------------------------------------- */
/* piece NULL: an empty delta; the first one that has text says whose it is.  finish NULL: more comes. */
static void put_delta(struct json *j, const struct chat *c, const struct text *piece, const char *finish)
{
    put_head(j, c, "chat.completion.chunk");
    json_named_open(j, "choices", '[');
    json_open(j, '{');
    json_named_uint(j, "index", 0);
    json_named_open(j, "delta", '{');
    if (piece) {
        if (!c->begun)
            json_named_string(j, "role", "assistant");
        json_key(j, "content");
        json_text(j, piece->p ? piece->p : "", piece->n);
    }
    if (finish) {
        if (c->r.ask->thought)
            json_named_string(j, "reasoning_content", c->r.ask->thought);
        put_annotations(j, c->r.ask);
    }
    json_close(j);
    json_named_string(j, "logprobs", NULL);
    json_named_string(j, "finish_reason", finish);
    json_close(j);
    json_close(j);
}

static void add_last(struct chat *c, struct text *out)
{
    struct ask *a = c->r.ask;
    struct json j = { .depth = 0 };

    if (a->status == GKV_END) {
        put_delta(&j, c, NULL, finish_of(a));
        reply_evidence(&j, a);
        reply_event(out, NULL, &j);
        if (c->usage) {
            put_head(&j, c, "chat.completion.chunk");
            json_named_open(&j, "choices", '[');
            json_close(&j);
            put_usage(&j, a);
            reply_event(out, NULL, &j);
        }
    } else {
        json_open(&j, '{');
        json_named_open(&j, "error", '{');
        json_named_string(&j, "message", a->err.text);
        json_named_string(&j, "type", api_status(a) < 500 ? "invalid_request_error" : "server_error");
        json_named_uint(&j, "code", api_status(a));
        json_close(&j);
        reply_event(out, NULL, &j);
    }
    text_puts(out, "data: [DONE]\n\n");
}

/* llama-server's prompt_progress, to who asks for it. */
static void add_progress(struct chat *c, struct text *out)
{
    const struct ask_now *n = &c->now;
    struct json           j = { .depth = 0 };

    put_delta(&j, c, NULL, NULL);
    json_named_open(&j, "prompt_progress", '{');
    json_named_uint(&j, "total", n->tokens);
    json_named_uint(&j, "cache", 0);
    json_named_uint(&j, "processed", (uint64_t)((double)n->tokens * n->fraction));
    json_named_uint(&j, "time_ms", (uint64_t)(n->seconds * 1e3));
    json_named_uint(&j, "queue", n->ahead);
    json_close(&j);
    reply_event(out, NULL, &j);
}

static bool more(void *arg, struct text *out)
{
    struct chat         *c = arg;
    const struct ask_now before = c->now;
    struct text          piece = { NULL, 0, 0 };
    struct json          j = { .depth = 0 };
    const bool           goes_on = ask_wait(c->r.ask, c->begun ? 1 : 0.2, &piece, &c->now);

    if (!c->begun) {
        put_delta(&j, c, &(struct text){ NULL, 0, 0 }, NULL);
        reply_event(out, NULL, &j);
        c->begun = true;
    }
    if (piece.n) {
        put_delta(&j, c, &piece, NULL);
        reply_event(out, NULL, &j);
    } else if (goes_on && c->progress) {
        add_progress(c, out);
    } else if (goes_on) {
        reply_waits(out, &before, &c->now);
    }
    text_free(&piece);
    if (!goes_on)
        add_last(c, out);
    return goes_on;
}

static void chat_free(void *arg)
{
    struct chat *c = arg;

    request_close(&c->r);
    free(c);
}

void chat_completions(struct web_call *call)
{
    struct chat *c = grow(NULL, 1, sizeof *c);

    *c = (struct chat){ .r.call = call };
    if (request_open(&c->r, call, "chatcmpl") && take_request(c) && request_start(&c->r)) {
        if (c->r.stream) {
            web_stream(call, more, chat_free, c);
            return;
        }
        whole(c);
    }
    chat_free(c);
}
