/* SPDX-License-Identifier: BSD-2-Clause
 * chat.c - POST /v1/chat/completions
 *
 * Where the document is in a conversation: each file, each part of a text but the last, and of a message that is long all
 * but its question, which is the last paragraph, or the first if that is one.  A long system message is a document. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/cli/json.h"
#include "src/cli/schema.h"
#include "src/cli/serve/api.h"
#include "src/cli/serve/base64.h"

enum {
    LONG = 2000,                        /* bytes of a message that has a document in it   */
    QUESTION = 1000                     /* bytes of a paragraph that can be its question  */
};

struct chat {
    struct web_call *call;
    struct api      *api;
    struct ask      *ask;
    const struct value *body;
    char            *pending;           /* a question that has no answer yet              */
    char             id[32];
    int64_t          created;
    bool             stream, progress, usage;
    /* Of a stream: */
    struct ask_now   now;
    bool             begun, said;
};

/* ---- messages ------------------------------------------------------------------------ */
static bool bad(struct chat *c, const char *fmt, ...) SAY_FORMAT(2, 3);

static bool bad(struct chat *c, const char *fmt, ...)
{
    va_list ap;
    char   *why;

    va_start(ap, fmt);
    why = vformat(fmt, ap);
    va_end(ap);
    web_fail(c->call, 400, NULL, "%s", why);
    free(why);
    return false;
}

static struct source *add_source(struct chat *c, const char *name)
{
    struct ask    *a = c->ask;
    struct source *s;

    a->source = grow(a->source, a->n_sources + 1, sizeof *a->source);
    s = &a->source[a->n_sources++];
    *s = (struct source){ .name = format("%s", name) };
    return s;
}

static void add_text(struct chat *c, const char *text, size_t n)
{
    char          *name = format("text %zu", c->ask->n_sources + 1);
    struct source *s = add_source(c, name);

    free(name);
    text_add(&s->text, text, n);
    text_clean(&s->text);
}

static void add_stored(struct chat *c, struct stored *f)
{
    struct source *s = add_source(c, f->name);

    s->id = format("%s", f->id);
    s->path = format("%s", f->path);
    s->part = f->part;
    stored_free(f);
}

/* A file in the message itself, as data:TYPE;base64,... */
static bool add_data(struct chat *c, const char *data, const char *name)
{
    struct stored f;
    char         *path = format("%s/inline-XXXXXX", c->api->folder), *why = NULL;
    const char   *comma = strncmp(data, "data:", 5) ? NULL : strchr(data, ',');
    bool          written = base64_to_file(comma ? comma + 1 : data, path), read;

    if (!written) {
        free(path);
        return bad(c, "file_data is not base64, or cannot be stored");
    }
    read = !store_add(c->api->store, path, name ? name : "document", &f, &why);
    remove(path);
    free(path);
    if (read)
        add_stored(c, &f);
    else
        bad(c, "%s", why ? why : "the file cannot be read");
    free(why);
    return read;
}

static bool add_file(struct chat *c, const struct value *part)
{
    const struct value *file = parse_member(part, "file");
    const char         *id = file ? parse_string(file, "file_id") : NULL, *data = file ? parse_string(file, "file_data") : NULL;
    struct stored       f;

    if (data)
        return add_data(c, data, parse_string(file, "filename"));
    if (!id)
        return bad(c, "a part of type \"file\" needs file.file_id or file.file_data");
    if (!store_get(c->api->store, id, &f)) {
        web_fail(c->call, 404, NULL, "there is no file %.100s; upload it to /v1/files", id);
        return false;
    }
    add_stored(c, &f);
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span trim(const char *s, struct span p)
{
    while (p.start < p.end && is_blank(s[p.start]))
        p.start++;
    while (p.end > p.start && is_blank(s[p.end - 1]))
        p.end--;
    return p;
}

/* The first and the last paragraph of a text; false: there is only one. */
static bool paragraphs(const char *s, size_t n, struct span *first, struct span *last)
{
    const struct span all = trim(s, (struct span){ 0, n });
    uint64_t          at = all.start, break_at;

    *first = *last = all;
    for (; at < all.end; at++) {
        if (s[at] != '\n')
            continue;
        for (break_at = at + 1; break_at < all.end && is_blank(s[break_at]) && s[break_at] != '\n'; break_at++)
            ;
        if (break_at == all.end || s[break_at] != '\n')
            continue;
        if (first->end == all.end)
            *first = trim(s, (struct span){ all.start, at });
        last->start = break_at;
    }
    *last = trim(s, *last);
    return first->end < all.end;
}

static bool can_ask(const struct span *p)
{
    return p->end > p->start && p->end - p->start <= QUESTION;
}

/* Which bytes of a long message are its question. */
static bool question_in(const char *s, size_t n, struct span *question, struct span *text)
{
    struct span first, last;

    if (!paragraphs(s, n, &first, &last))
        return false;
    if (can_ask(&last) && (s[last.end - 1] == '?' || !can_ask(&first) || s[first.end - 1] != '?')) {
        *question = last;
        *text = trim(s, (struct span){ 0, last.start });
    } else if (can_ask(&first)) {
        *question = first;
        *text = trim(s, (struct span){ first.end, n });
    } else {
        return false;
    }
    return true;
}

static void add_question(struct chat *c, const char *s, size_t n)
{
    char *all = format("%s%s%.*s", c->pending ? c->pending : "", c->pending ? "\n" : "", (int)n, s);

    free(c->pending);
    c->pending = all;
}

static bool take_user_text(struct chat *c, const char *s, size_t n)
{
    struct span question, text;

    if (n <= LONG) {
        add_question(c, s, n);
        return true;
    }
    if (!question_in(s, n, &question, &text))
        return bad(c, "a message of more than %d bytes is taken as a document with a question, which must be its first or last "
                   "paragraph, of at most %d bytes; or give document and question as two parts of \"content\"", LONG, QUESTION);
    add_text(c, s + text.start, (size_t)(text.end - text.start));
    add_question(c, s + question.start, (size_t)(question.end - question.start));
    return true;
}

/* Of several parts the last text is the question. */
static bool take_user_parts(struct chat *c, const struct value *content)
{
    const struct value *last = NULL;
    size_t              texts = 0;

    for (const struct value *p = content->first; p; p = p->next) {
        const char *type = p->type == PARSE_OBJECT ? parse_string(p, "type") : NULL;

        if (type && !strcmp(type, "text") && parse_string(p, "text")) {
            last = parse_member(p, "text");
            texts++;
        } else if (!type || strcmp(type, "file")) {
            return bad(c, "a part of type \"%.50s\" cannot be read; \"text\" and \"file\" can", type ? type : "");
        }
    }
    if (!last)
        return bad(c, "the message has no text that could be a question");
    for (const struct value *p = content->first; p; p = p->next) {
        const struct value *text = parse_member(p, "text");

        if (!text && !add_file(c, p))
            return false;
        if (text && text != last && text->len)
            add_text(c, text->text, text->len);
    }
    if (texts > 1)
        add_question(c, last->text, last->len);
    else if (!take_user_text(c, last->text, last->len))
        return false;
    return true;
}

static bool take_user(struct chat *c, const struct value *content)
{
    if (content && content->type == PARSE_STRING)
        return take_user_text(c, content->text, content->len);
    if (content && content->type == PARSE_ARRAY && content->first)
        return take_user_parts(c, content);
    return bad(c, "a message of the user has no content");
}

/* The text of a message whose parts are texts; for free(), or NULL. */
static char *text_of(const struct value *content)
{
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    if (content && content->type == PARSE_STRING)
        text_add(&t, content->text, content->len);
    for (const struct value *p = content && content->type == PARSE_ARRAY ? content->first : NULL; p; p = p->next) {
        const struct value *text = p->type == PARSE_OBJECT ? parse_member(p, "text") : NULL;

        if (text && text->type == PARSE_STRING)
            text_add(&t, text->text, text->len);
    }
    text_clean(&t);
    return t.p;
}

static void take_system(struct chat *c, const struct value *content)
{
    char *text = text_of(content), *all;

    if (strlen(text) > LONG) {
        add_text(c, text, strlen(text));
    } else {
        all = format("%s%s%s", c->ask->system ? c->ask->system : "", c->ask->system ? "\n" : "", text);
        free(c->ask->system);
        c->ask->system = all;
    }
    free(text);
}

static void take_assistant(struct chat *c, const struct value *content)
{
    struct ask *a = c->ask;

    if (!c->pending)                            /* it says the first word: nothing was asked */
        return;
    a->turn = grow(a->turn, a->n_turns + 1, sizeof *a->turn);
    a->turn[a->n_turns++] = (gkv_turn){ .question = c->pending, .answer = text_of(content) };
    c->pending = NULL;
}

static bool take_message(struct chat *c, const struct value *m)
{
    const char         *role = m->type == PARSE_OBJECT ? parse_string(m, "role") : NULL;
    const struct value *content = role ? parse_member(m, "content") : NULL;

    if (!role)
        return bad(c, "each message needs a role");
    if (!strcmp(role, "user"))
        return take_user(c, content);
    if (!strcmp(role, "system") || !strcmp(role, "developer"))
        take_system(c, content);
    else if (!strcmp(role, "assistant"))
        take_assistant(c, content);
    else
        return bad(c, "messages of the role \"%.50s\" cannot be read", role);
    return true;
}

/* A session needs a document.  In a conversation without one it is what stands before the last sentence, or the last word;
 * all of it is kept, as it is short. */
static void split_question(struct chat *c)
{
    char        *q = c->pending;
    const size_t n = strlen(q);
    uint64_t     at = 0, next = 0;
    char        *word;

    while (gkv_sentence(q, n, at, &next) && next < n)
        at = next;
    if (!at) {
        word = strrchr(q, ' ');
        at = word ? (uint64_t)(word - q) : 0;
    }
    add_text(c, q, at ? (size_t)at : n);
    c->ask->no_document = true;
    c->pending = format("%s", q + at);
    free(q);
}

static bool take_messages(struct chat *c)
{
    const struct value *messages = parse_member(c->body, "messages");
    size_t              n;

    if (!messages || messages->type != PARSE_ARRAY)
        return bad(c, "\"messages\" is missing, or no array");
    for (const struct value *m = messages->first; m; m = m->next)
        if (!take_message(c, m))
            return false;
    if (!c->pending)
        return bad(c, "the last message must be the user's");
    n = strlen(c->pending);
    if (strspn(c->pending, " \t\r\n") == n)
        return bad(c, "the question is empty");
    if (!c->ask->n_sources)
        split_question(c);
    c->ask->question = c->pending;
    c->pending = NULL;
    return true;
}

/* ---- the rest of a request ----------------------------------------------------------- */
struct number { const char *name; size_t at; double lo, hi; bool whole; };

#define MEMBER(m) offsetof(gkv_options, m)

static const struct number numbers[] = {
    { "temperature", MEMBER(temperature), 0, 100, false },
    { "top_p", MEMBER(top_p), 0, 1, false },
    { "min_p", MEMBER(min_p), 0, 1, false },
    { "presence_penalty", MEMBER(presence_penalty), -100, 100, false },
    { "frequency_penalty", MEMBER(frequency_penalty), -100, 100, false },
    { "repeat_penalty", MEMBER(repeat_penalty), 0, 100, false },
    { "top_k", MEMBER(top_k), 0, INT32_MAX, true },
    { "max_tokens", MEMBER(max_tokens), 1, INT32_MAX, true },
    { "max_completion_tokens", MEMBER(max_tokens), 1, INT32_MAX, true },
    { "keep", MEMBER(keep), 1, UINT32_MAX - 1, true },
};

static bool take_number(struct chat *c, const struct number *n)
{
    const struct value *v = parse_member(c->body, n->name);
    char               *at = (char *)&c->ask->opt + n->at;

    if (!v || v->type == PARSE_NULL)
        return true;
    if (v->type != PARSE_NUMBER || !(v->number >= n->lo && v->number <= n->hi) || (n->whole && floor(v->number) < v->number))
        return bad(c, "\"%s\" must be a %snumber from %.10g to %.10g", n->name, n->whole ? "whole " : "", n->lo, n->hi);
    if (n->whole)
        *(uint32_t *)(void *)at = (uint32_t)v->number;
    else
        *(float *)(void *)at = (float)v->number;
    if (n->at == MEMBER(keep))
        c->ask->opt.keep_percent = 0;
    return true;
}

static bool take_stop(struct chat *c)
{
    const struct value *stop = parse_member(c->body, "stop"), *v;
    struct words       *w = &c->ask->stop;

    if (!stop || stop->type == PARSE_NULL)
        return true;
    for (v = stop->type == PARSE_ARRAY ? stop->first : stop; v; v = stop->type == PARSE_ARRAY ? v->next : NULL) {
        if (v->type != PARSE_STRING || !v->len || w->n == 16)
            return bad(c, "\"stop\" must be a text, or an array of at most 16 texts");
        words_add(w, format("%s", v->text));
    }
    return true;
}

static bool take_schema(struct chat *c, const struct value *schema)
{
    struct text text = { NULL, 0, 0 };
    char       *why = NULL, *grammar;
    gkv_error   err = { 0 };
    gkv_status  status = GKV_OK;

    if (schema)
        parse_print(schema, &text);
    else
        text_puts(&text, "{\"type\": \"object\", \"additionalProperties\": true}");
    grammar = schema_grammar(text.p, text.n, &why);
    text_free(&text);
    if (grammar)
        status = gkv_grammar_open(&c->ask->grammar, grammar, strlen(grammar), &err);
    free(grammar);
    if (why || status)
        bad(c, "response_format: %s", why ? why : err.text);
    free(why);
    return c->ask->grammar;
}

static bool take_format(struct chat *c)
{
    const struct value *f = parse_member(c->body, "response_format"), *s;
    const char         *type = f && f->type == PARSE_OBJECT ? parse_string(f, "type") : NULL;

    if (!f || f->type == PARSE_NULL || (type && !strcmp(type, "text")))
        return true;
    if (type && !strcmp(type, "json_object"))
        return take_schema(c, NULL);
    s = type && !strcmp(type, "json_schema") ? parse_member(f, "json_schema") : NULL;
    s = s && s->type == PARSE_OBJECT ? parse_member(s, "schema") : NULL;
    return s ? take_schema(c, s) : bad(c, "response_format must be text, json_object, or json_schema with a schema");
}

static bool flag(const struct value *object, const char *key)
{
    const struct value *v = object && object->type == PARSE_OBJECT ? parse_member(object, key) : NULL;

    return v && v->type == PARSE_TRUE;
}

/* What would change the answer and is not here must be said. */
static bool refuse_others(struct chat *c)
{
    static const char *const others[] = { "tools", "functions", "logit_bias", "audio", "prediction" };
    const struct value      *n = parse_member(c->body, "n");

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct value *v = parse_member(c->body, others[i]);

        if (v && v->type != PARSE_NULL && v->first)
            return bad(c, "\"%s\" is not supported", others[i]);
    }
    if (flag(c->body, "logprobs"))
        return bad(c, "\"logprobs\" is not supported");
    return !n || n->type == PARSE_NULL || (n->type == PARSE_NUMBER && fabs(n->number - 1) < 1e-9) ||
           bad(c, "\"n\": one answer at a time");
}

static bool take_request(struct chat *c)
{
    const double seed = parse_number(c->body, "seed", -1);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!take_number(c, &numbers[i]))
            return false;
    if (seed >= 0 && seed < 1.8e19)
        c->ask->opt.seed = (uint64_t)seed;
    c->stream = flag(c->body, "stream");
    c->progress = flag(c->body, "return_progress");
    c->usage = flag(parse_member(c->body, "stream_options"), "include_usage");
    return refuse_others(c) && take_stop(c) && take_format(c) && take_messages(c);
}

/* ---- answers ------------------------------------------------------------------------- */
static void put_head(struct json *j, const struct chat *c, const char *object)
{
    json_open(j, '{');
    json_named_string(j, "id", c->id);
    json_named_string(j, "object", object);
    json_named_uint(j, "created", (uint64_t)c->created);
    json_named_string(j, "model", c->api->model);
}

static void put_document(struct json *j, const struct source *s)
{
    json_named_string(j, "document", s->name);
    if (s->id)
        json_named_string(j, "file_id", s->id);
}

static void put_place(struct json *j, const struct ask *a, const struct ask_passage *p)
{
    put_document(j, &a->source[p->source]);
    if (p->place.page)
        json_named_uint(j, "page", p->place.page);
    if (p->place.page != p->place.page_end)
        json_named_uint(j, "page_end", p->place.page_end);
    json_named_open(j, "lines", '[');
    json_uint(j, p->place.line);
    json_uint(j, p->place.line_end);
    json_close(j);
    json_named_uint(j, "start", p->span.start);
    json_named_uint(j, "end", p->span.end);
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
        json_named_string(j, "file_id", s->id);
        json_named_string(j, "filename", s->name);
        json_named_uint(j, "index", a->claim[i].end);
        json_named_string(j, "sentence", a->claim[i].sentence);
        json_named_uint(j, "passage", a->claim[i].passage);
        put_place(j, a, p);
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
    json_named_uint(j, "cached_tokens", a->stats.tokens_prompt > a->read ? a->stats.tokens_prompt - a->read : 0);
    json_close(j);
    json_close(j);
}

/* What was read, what was kept of it, and what it cost: nothing is cut silently. */
static void put_evidence(struct json *j, const struct ask *a, double seconds)
{
    json_named_open(j, "gemkv", '{');
    json_named_string(j, "method", a->method);
    json_named_string(j, "schedule", a->schedule);
    if (a->warning)
        json_named_string(j, "warning", a->warning);
    json_named_open(j, "tokens", '{');
    json_named_uint(j, "document", a->stats.tokens_document);
    json_named_uint(j, "prompt", a->stats.tokens_prompt);
    json_named_uint(j, "kept", a->stats.tokens_kept);
    json_named_uint(j, "read", a->read);
    json_named_uint(j, "answer", a->stats.tokens_answer);
    json_close(j);
    json_named_real(j, "seconds", seconds);
    json_named_open(j, "documents", '[');
    for (size_t i = 0; i < a->n_sources && !a->no_document; i++) {
        json_open(j, '{');
        put_document(j, &a->source[i]);
        json_named_uint(j, "bytes", a->source[i].text.n);
        json_close(j);
    }
    json_close(j);
    json_named_open(j, "passages", '[');
    for (size_t i = 0; i < a->n_passages; i++) {
        json_open(j, '{');
        put_place(j, a, &a->passage[i]);
        json_key(j, "score");
        json_score(j, a->passage[i].score);
        json_named_string(j, "text", a->passage[i].text);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

static const char *finish_of(const struct ask *a)
{
    return a->finish && !strcmp(a->finish, "length") ? "length" : "stop";
}

static void whole(struct chat *c)
{
    struct ask *a = c->ask;
    struct json j = { .depth = 0 };

    if (!api_wait(c->call, a))
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
    put_evidence(&j, a, a->stats.total);
    json_close(&j);
    web_answer(c->call, 200, "application/json", j.text.p, j.text.n);
    text_free(&j.text);
}

/* ---- as a stream --------------------------------------------------------------------- */
static void add_event(struct text *out, struct json *j)
{
    json_close(j);
    text_puts(out, "data: ");
    text_add(out, j->text.p, j->text.n - 1);    /* without its newline                    */
    text_puts(out, "\n\n");
    text_free(&j->text);
    *j = (struct json){ .depth = 0 };
}

/* piece NULL: an empty delta.  finish NULL: more comes. */
static void put_delta(struct json *j, const struct chat *c, const struct text *piece, const char *finish)
{
    put_head(j, c, "chat.completion.chunk");
    json_named_open(j, "choices", '[');
    json_open(j, '{');
    json_named_uint(j, "index", 0);
    json_named_open(j, "delta", '{');
    if (piece) {
        json_named_string(j, "role", "assistant");
        json_key(j, "content");
        json_text(j, piece->p ? piece->p : "", piece->n);
    }
    if (finish) {
        if (c->ask->thought)
            json_named_string(j, "reasoning_content", c->ask->thought);
        put_annotations(j, c->ask);
    }
    json_close(j);
    json_named_string(j, "logprobs", NULL);
    json_named_string(j, "finish_reason", finish);
    json_close(j);
    json_close(j);
}

static void add_last(struct chat *c, struct text *out)
{
    struct ask *a = c->ask;
    struct json j = { .depth = 0 };

    if (a->status == GKV_END) {
        put_delta(&j, c, NULL, finish_of(a));
        put_evidence(&j, a, a->stats.total);
        add_event(out, &j);
        if (c->usage) {
            put_head(&j, c, "chat.completion.chunk");
            json_named_open(&j, "choices", '[');
            json_close(&j);
            put_usage(&j, a);
            add_event(out, &j);
        }
    } else {
        json_open(&j, '{');
        json_named_open(&j, "error", '{');
        json_named_string(&j, "message", a->err.text);
        json_named_string(&j, "type", api_status(a->status) < 500 ? "invalid_request_error" : "server_error");
        json_named_uint(&j, "code", api_status(a->status));
        json_close(&j);
        add_event(out, &j);
    }
    text_puts(out, "data: [DONE]\n\n");
}

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

/* A comment, which clients skip and which keeps the connection alive; or llama-server's prompt_progress, to who asks for it. */
static void add_progress(struct chat *c, const struct ask_now *before, struct text *out)
{
    const struct ask_now *n = &c->now;
    struct json           j = { .depth = 0 };

    if (c->said && n->state == before->state && n->ahead == before->ahead && same(n->fraction, before->fraction)) {
        text_puts(out, ":\n\n");
        return;
    }
    c->said = true;
    if (!c->progress) {
        if (n->state == ASK_WAITS)
            text_printf(out, ": %zu questions before this one\n\n", n->ahead);
        else
            text_printf(out, ": read %.0f %%\n\n", 100 * n->fraction);
        return;
    }
    put_delta(&j, c, NULL, NULL);
    json_named_open(&j, "prompt_progress", '{');
    json_named_uint(&j, "total", n->tokens);
    json_named_uint(&j, "cache", 0);
    json_named_uint(&j, "processed", (uint64_t)((double)n->tokens * n->fraction));
    json_named_uint(&j, "time_ms", (uint64_t)(n->seconds * 1e3));
    json_named_uint(&j, "queue", n->ahead);
    json_close(&j);
    add_event(out, &j);
}

static bool more(void *arg, struct text *out)
{
    struct chat         *c = arg;
    const struct ask_now before = c->now;
    struct text          piece = { NULL, 0, 0 };
    struct json          j = { .depth = 0 };
    const bool           goes_on = ask_wait(c->ask, c->begun ? 1 : 0.2, &piece, &c->now);

    if (!c->begun) {
        put_delta(&j, c, &(struct text){ NULL, 0, 0 }, NULL);
        add_event(out, &j);
        c->begun = true;
    }
    if (piece.n) {
        put_delta(&j, c, &piece, NULL);
        add_event(out, &j);
    } else if (goes_on) {
        add_progress(c, &before, out);
    }
    text_free(&piece);
    if (!goes_on)
        add_last(c, out);
    return goes_on;
}

static void chat_free(void *arg)
{
    struct chat *c = arg;

    if (c->ask)
        ask_end(c->ask);
    free(c->pending);
    free(c);
}

/* ---- the whole ----------------------------------------------------------------------- */
void chat_completions(struct web_call *call)
{
    struct chat  *c = grow(NULL, 1, sizeof *c);
    struct api   *api = web_arg(call);
    const char   *why = NULL;
    size_t        n, at = 0;
    char         *text = web_body(call, &n);
    struct value *body = parse_json(text, n, &why, &at);

    *c = (struct chat){ .call = call, .api = api, .body = body, .created = (int64_t)time(NULL) };
    if (!body || body->type != PARSE_OBJECT) {
        bad(c, "the body is not a JSON object: %s at byte %zu", why ? why : "something else", at);
    } else {
        c->ask = ask_new(api->asks);
        store_new_id(c->id, "chatcmpl");
        if (take_request(c)) {
            c->body = NULL;
            if (!ask_start(api->asks, c->ask)) {
                web_fail(call, 503, NULL, "too many questions wait");
            } else if (!c->stream) {
                whole(c);
            } else {
                web_stream(call, more, chat_free, c);
                parse_free(body);
                return;
            }
        }
    }
    parse_free(body);
    chat_free(c);
}
