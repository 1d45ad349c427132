/* SPDX-License-Identifier: BSD-2-Clause
 * responses.c - POST /v1/responses, which newer clients of OpenAI's use.  Nothing is stored: a conversation comes whole. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/serve/request.h"

struct responses {
    struct request r;                   /* must be first                                  */
    char           item[32];            /* id of its only message                         */
    /* Of a stream: */
    struct ask_now now;
    uint64_t       number;              /* of the next event                              */
    bool           begun;
};

/* ---- the request --------------------------------------------------------------------- */
static bool take_format(struct request *r)
{
    const struct value *text = parse_member(r->body, "text");
    const struct value *f = text && text->type == PARSE_OBJECT ? parse_member(text, "format") : NULL, *schema;
    const char         *type = f && f->type == PARSE_OBJECT ? parse_string(f, "type") : NULL;

    if (!f || f->type == PARSE_NULL || (type && !strcmp(type, "text")))
        return true;
    if (type && !strcmp(type, "json_object"))
        return request_schema(r, NULL);
    schema = type && !strcmp(type, "json_schema") ? parse_member(f, "schema") : NULL;
    return schema ? request_schema(r, schema)
                  : request_bad(r, "text.format must be text, json_object, or json_schema with a schema");
}

static bool take_input(struct request *r)
{
    const struct value *input = parse_member(r->body, "input"), *instructions = parse_member(r->body, "instructions");

    if (instructions && instructions->type == PARSE_STRING)
        request_system(r, instructions);
    if (input && input->type == PARSE_STRING)
        return request_message(r, input->text, input->len) && request_question(r);
    if (input && input->type == PARSE_ARRAY)
        return request_messages(r, input) && request_question(r);
    return request_bad(r, "\"input\" is missing, or no text and no array");
}

static bool take_request(struct request *r)
{
    return request_numbers(r) && !request_refuses(r) && take_format(r) && take_input(r);
}

/* ---- answers ------------------------------------------------------------------------- */
static bool is_cut(const struct ask *a)
{
    return a->finish && !strcmp(a->finish, "length");
}

static void put_annotations(struct json *j, const struct ask *a)
{
    json_named_open(j, "annotations", '[');
    for (size_t i = 0; i < a->n_claims; i++) {
        const struct ask_passage *p = &a->passage[a->claim[i].passage];
        const struct source      *s = &a->source[p->source];

        json_open(j, '{');
        json_named_string(j, "type", "file_citation");
        json_named_string(j, "file_id", s->id ? s->id : "");
        json_named_string(j, "filename", s->name);
        json_named_uint(j, "index", a->claim[i].end);
        json_named_string(j, "sentence", a->claim[i].sentence);
        json_named_uint(j, "passage", a->claim[i].passage);
        json_close(j);
    }
    json_close(j);
}

static void put_part(struct json *j, const struct ask *a, bool done)
{
    json_named_string(j, "type", "output_text");
    json_key(j, "text");
    json_text(j, done ? a->answer.p : "", done ? a->answer.n : 0);
    if (done) {
        put_annotations(j, a);
    } else {
        json_named_open(j, "annotations", '[');
        json_close(j);
    }
}

static void put_message(struct json *j, const struct responses *c, bool done)
{
    json_named_string(j, "id", c->item);
    json_named_string(j, "type", "message");
    json_named_string(j, "role", "assistant");
    json_named_string(j, "status", !done ? "in_progress" : is_cut(c->r.ask) ? "incomplete" : "completed");
    json_named_open(j, "content", '[');
    if (done) {
        json_open(j, '{');
        put_part(j, c->r.ask, true);
        json_close(j);
    }
    json_close(j);
}

static void put_usage(struct json *j, const struct ask *a)
{
    const uint64_t answer = a->stats.tokens_answer + a->stats.tokens_thought;

    json_named_open(j, "usage", '{');
    json_named_uint(j, "input_tokens", a->stats.tokens_prompt);
    json_named_open(j, "input_tokens_details", '{');
    json_named_uint(j, "cached_tokens", reply_cached(a));
    json_close(j);
    json_named_uint(j, "output_tokens", answer);
    json_named_open(j, "output_tokens_details", '{');
    json_named_uint(j, "reasoning_tokens", a->stats.tokens_thought);
    json_close(j);
    json_named_uint(j, "total_tokens", a->stats.tokens_prompt + answer);
    json_close(j);
}

static void put_failure(struct json *j, const struct ask *a)
{
    json_named_open(j, "error", '{');
    json_named_string(j, "code", api_status(a) < 500 ? "invalid_prompt" : "server_error");
    json_named_string(j, "message", a->err.text);
    json_close(j);
}

/* Members of the response; its status is how it ended, if it has. */
static void put_response(struct json *j, const struct responses *c, bool ended)
{
    const struct ask *a = c->r.ask;
    const bool        answered = ended && a->status == GKV_END;

    json_named_string(j, "id", c->r.id);
    json_named_string(j, "object", "response");
    json_named_uint(j, "created_at", (uint64_t)c->r.created);
    json_named_string(j, "model", c->r.api->model);
    json_named_string(j, "status", !ended ? "in_progress" : !answered ? "failed" : is_cut(a) ? "incomplete" : "completed");
    if (ended && !answered)
        put_failure(j, a);
    else
        json_named_string(j, "error", NULL);
    if (answered && is_cut(a)) {
        json_named_open(j, "incomplete_details", '{');
        json_named_string(j, "reason", "max_output_tokens");
        json_close(j);
    }
    json_named_open(j, "output", '[');
    if (answered) {
        json_open(j, '{');
        put_message(j, c, true);
        json_close(j);
    }
    json_close(j);
    json_key(j, "parallel_tool_calls");
    json_bool(j, false);
    json_named_string(j, "tool_choice", "none");
    json_named_open(j, "tools", '[');
    json_close(j);
    if (answered) {
        put_usage(j, a);
        reply_evidence(j, a);
    }
}

static void whole(struct responses *c)
{
    struct json j = { .depth = 0 };

    if (!api_wait(c->r.call, c->r.ask))
        return;
    json_open(&j, '{');
    put_response(&j, c, true);
    json_close(&j);
    web_answer(c->r.call, 200, "application/json", j.text.p, j.text.n);
    text_free(&j.text);
}

/* ---- as a stream --------------------------------------------------------------------- */
static void begin_event(struct responses *c, struct json *j, const char *type)
{
    json_open(j, '{');
    json_named_string(j, "type", type);
    json_named_uint(j, "sequence_number", c->number++);
}

static void add_response(struct responses *c, struct text *out, const char *type, bool ended)
{
    struct json j = { .depth = 0 };

    begin_event(c, &j, type);
    json_named_open(&j, "response", '{');
    put_response(&j, c, ended);
    json_close(&j);
    reply_event(out, type, &j);
}

static void add_item(struct responses *c, struct text *out, const char *type, bool done)
{
    struct json j = { .depth = 0 };

    begin_event(c, &j, type);
    json_named_uint(&j, "output_index", 0);
    json_named_open(&j, "item", '{');
    put_message(&j, c, done);
    json_close(&j);
    reply_event(out, type, &j);
}

/* An event about the only part of the message; member: "part", whose value is an object, or a text. */
static void add_part(struct responses *c, struct text *out, const char *type, const char *member, const char *text, size_t n)
{
    struct json j = { .depth = 0 };

    begin_event(c, &j, type);
    json_named_string(&j, "item_id", c->item);
    json_named_uint(&j, "output_index", 0);
    json_named_uint(&j, "content_index", 0);
    if (text) {
        json_key(&j, member);
        json_text(&j, text, n);
        json_named_open(&j, "logprobs", '[');
        json_close(&j);
    } else {
        json_named_open(&j, member, '{');
        put_part(&j, c->r.ask, c->now.state == ASK_ENDED);
        json_close(&j);
    }
    reply_event(out, type, &j);
}

static void add_last(struct responses *c, struct text *out)
{
    const struct ask *a = c->r.ask;

    if (a->status != GKV_END) {
        add_response(c, out, "response.failed", true);
        return;
    }
    add_part(c, out, "response.output_text.done", "text", a->answer.p, a->answer.n);
    add_part(c, out, "response.content_part.done", "part", NULL, 0);
    add_item(c, out, "response.output_item.done", true);
    add_response(c, out, is_cut(a) ? "response.incomplete" : "response.completed", true);
}

static bool more(void *arg, struct text *out)
{
    struct responses    *c = arg;
    const struct ask_now before = c->now;
    struct text          piece = { NULL, 0, 0 };
    const bool           goes_on = ask_wait(c->r.ask, c->begun ? 1 : 0.2, &piece, &c->now);
    const enum ask_state state = c->now.state;

    if (!c->begun) {
        c->now.state = ASK_READS;               /* nothing of the answer is shown yet     */
        add_response(c, out, "response.created", false);
        add_response(c, out, "response.in_progress", false);
        add_item(c, out, "response.output_item.added", false);
        add_part(c, out, "response.content_part.added", "part", NULL, 0);
        c->now.state = state;
        c->begun = true;
    }
    if (piece.n)
        add_part(c, out, "response.output_text.delta", "delta", piece.p, piece.n);
    else if (goes_on)
        reply_waits(out, &before, &c->now);
    text_free(&piece);
    if (!goes_on)
        add_last(c, out);
    return goes_on;
}

static void responses_free(void *arg)
{
    struct responses *c = arg;

    request_close(&c->r);
    free(c);
}

void responses(struct web_call *call)
{
    struct responses *c = grow(NULL, 1, sizeof *c);

    *c = (struct responses){ .r.call = call };
    store_new_id(c->item, "msg");
    if (request_open(&c->r, call, "resp") && take_request(&c->r) && request_start(&c->r)) {
        if (c->r.stream) {
            web_stream(call, more, responses_free, c);
            return;
        }
        whole(c);
    }
    responses_free(c);
}
