/* SPDX-License-Identifier: BSD-2-Clause
 * request.c - see request.h */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/cli/answerer.h"
#include "src/cli/schema.h"
#include "src/cli/serve/base64.h"
#include "src/cli/serve/request.h"

enum {
    LONG = 2000,                        /* bytes of a message that has a document in it   */
    QUESTION = 1000                     /* bytes of a paragraph that can be its question  */
};

bool request_bad(struct request *c, const char *fmt, ...)
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

/* ---- messages ------------------------------------------------------------------------ */
static struct source *add_source(struct request *c, const char *name)
{
    struct ask    *a = c->ask;
    struct source *s;

    a->source = grow(a->source, a->n_sources + 1, sizeof *a->source);
    s = &a->source[a->n_sources++];
    *s = (struct source){ .name = format("%s", name) };
    return s;
}

static void add_text(struct request *c, const char *text, size_t n)
{
    char          *name = format("text %zu", c->ask->n_sources + 1);
    struct source *s = add_source(c, name);

    free(name);
    text_add(&s->text, text, n);
    text_clean(&s->text);
}

static void add_stored(struct request *c, struct stored *f)
{
    struct source *s = add_source(c, f->name);

    s->id = format("%s", f->id);
    s->path = format("%s", f->path);
    s->part = f->part ? format("%s", f->part) : NULL;
    stored_free(f);
}

/* A file in the message itself, as data:TYPE;base64,... */
static bool add_data(struct request *c, const char *data, const char *name)
{
    struct stored f;
    char         *path = folder_file(c->api->folder, "inline-XXXXXX"), *why = NULL;
    const char   *comma = strncmp(data, "data:", 5) ? NULL : strchr(data, ',');
    bool          written = base64_to_file(comma ? comma + 1 : data, path), read;

    if (!written) {
        free(path);
        return request_bad(c, "file_data is not base64, or cannot be stored");
    }
    read = !store_add(c->api->store, path, name ? name : "document", true, &f, &why);
    remove(path);
    free(path);
    if (read) {
        words_add(&c->brought, format("%s", f.id));
        add_stored(c, &f);
        free(c->ask->source[c->ask->n_sources - 1].id);         /* it goes with the request */
        c->ask->source[c->ask->n_sources - 1].id = NULL;
    } else {
        request_bad(c, "%s", why);
    }
    free(why);
    return read;
}

static bool add_file(struct request *c, const struct value *part)
{
    const struct value *inner = parse_member(part, "file"), *file = inner && inner->type == PARSE_OBJECT ? inner : part;
    const char         *id = parse_string(file, "file_id"), *data = parse_string(file, "file_data");
    struct stored       f;

    if (data)
        return add_data(c, data, parse_string(file, "filename"));
    if (!id)
        return request_bad(c, "a part that is a file needs file_id or file_data");
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

/* The first and the last paragraph of a text, or of its lines; false: there is only one. */
static bool paragraphs(const char *s, size_t n, bool lines, struct span *first, struct span *last)
{
    const struct span all = trim(s, (struct span){ 0, n });
    uint64_t          at = all.start, break_at;

    *first = *last = all;
    for (; at < all.end; at++) {
        if (s[at] != '\n')
            continue;
        for (break_at = at + 1; is_blank(s[break_at]) && s[break_at] != '\n'; break_at++)
            ;                                   /* the last byte is no blank              */
        if (s[break_at] != '\n' && !lines)
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

    if (!paragraphs(s, n, false, &first, &last) && !paragraphs(s, n, true, &first, &last))
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

static void add_question(struct request *c, const char *s, size_t n)
{
    char *all = format("%s%s%.*s", c->pending ? c->pending : "", c->pending ? "\n" : "", (int)n, s);

    free(c->pending);
    c->pending = all;
}

static bool take_user_text(struct request *c, const char *s, size_t n)
{
    struct span question, text;

    if (n <= LONG) {
        add_question(c, s, n);
        return true;
    }
    if (!question_in(s, n, &question, &text))
        return request_bad(c, "a message of more than %d bytes is taken as a document with a question, which must be its first "
                           "or last paragraph or line, of at most %d bytes; or give document and question as two parts of \"content\"",
                           LONG, QUESTION);
    add_text(c, s + text.start, (size_t)(text.end - text.start));
    add_question(c, s + question.start, (size_t)(question.end - question.start));
    return true;
}

/* As chat completions call it, and responses. */
static bool is_text(const char *type)
{
    return type && (!strcmp(type, "text") || !strcmp(type, "input_text") || !strcmp(type, "output_text"));
}

/* Of several parts the last text is the question. */
static bool take_user_parts(struct request *c, const struct value *content)
{
    const struct value *last = NULL;
    size_t              texts = 0;

    for (const struct value *p = content->first; p; p = p->next) {
        const char *type = p->type == PARSE_OBJECT ? parse_string(p, "type") : NULL;

        if (is_text(type) && parse_string(p, "text")) {
            last = parse_member(p, "text");
            texts++;
        } else if (!type || (strcmp(type, "file") && strcmp(type, "input_file"))) {
            return request_bad(c, "a part of type \"%.50s\" cannot be read; texts and files can", type ? type : "");
        }
    }
    if (!last)
        return request_bad(c, "the message has no text that could be a question");
    for (const struct value *p = content->first; p; p = p->next) {
        const struct value *text = is_text(parse_string(p, "type")) ? parse_member(p, "text") : NULL;

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

static bool take_user(struct request *c, const struct value *content)
{
    if (content && content->type == PARSE_STRING)
        return take_user_text(c, content->text, content->len);
    if (content && content->type == PARSE_ARRAY && content->first)
        return take_user_parts(c, content);
    return request_bad(c, "a message of the user has no content");
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

static void take_system(struct request *c, const struct value *content)
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

static void take_assistant(struct request *c, const struct value *content)
{
    struct ask *a = c->ask;

    if (!c->pending)                            /* it says the first word: nothing was asked */
        return;
    a->turn = grow(a->turn, a->n_turns + 1, sizeof *a->turn);
    a->turn[a->n_turns++] = (gkv_turn){ .question = c->pending, .answer = text_of(content) };
    c->pending = NULL;
}

static bool take_message(struct request *c, const struct value *m)
{
    const char         *role = m->type == PARSE_OBJECT ? parse_string(m, "role") : NULL;
    const struct value *content = role ? parse_member(m, "content") : NULL;

    if (!role)
        return request_bad(c, "each message needs a role");
    if (!strcmp(role, "user"))
        return take_user(c, content);
    if (!strcmp(role, "system") || !strcmp(role, "developer"))
        take_system(c, content);
    else if (!strcmp(role, "assistant"))
        take_assistant(c, content);
    else
        return request_bad(c, "messages of the role \"%.50s\" cannot be read", role);
    return true;
}

/* A session needs a document.  In a conversation without one it is what stands before the last sentence, or the last word;
 * all of it is kept, as it is short. */
static void split_question(struct request *c)
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

bool request_messages(struct request *c, const struct value *messages)
{
    for (const struct value *m = messages->first; m; m = m->next)
        if (!take_message(c, m))
            return false;
    return true;
}

bool request_message(struct request *c, const char *text, size_t n)
{
    return take_user_text(c, text, n);
}

void request_system(struct request *c, const struct value *text)
{
    take_system(c, text);
}

bool request_question(struct request *c)
{
    if (!c->pending)
        return request_bad(c, "the last message must be the user's");
    if (!c->pending[strspn(c->pending, " \t\r\n")])
        return request_bad(c, "the question is empty");
    if (!c->ask->n_sources && !c->api->library)
        split_question(c);
    c->ask->question = c->pending;
    c->pending = NULL;
    return true;
}

/* ---- the rest of a request ----------------------------------------------------------- */
struct number { const char *name; size_t at; double lo, hi; bool whole; unsigned bit; };

#define MEMBER(m) offsetof(gkv_options, m)

static const struct number numbers[] = {
    { "temperature", MEMBER(temperature), 0, 100, false, 0 },
    { "top_p", MEMBER(top_p), 0, 1, false, ANSWER_TOP_P },
    { "min_p", MEMBER(min_p), 0, 1, false, 0 },
    { "presence_penalty", MEMBER(presence_penalty), -100, 100, false, ANSWER_PRESENCE },
    { "frequency_penalty", MEMBER(frequency_penalty), -100, 100, false, ANSWER_FREQUENCY },
    { "repeat_penalty", MEMBER(repeat_penalty), 0, 100, false, 0 },
    { "top_k", MEMBER(top_k), 0, INT32_MAX, true, 0 },
    { "max_tokens", MEMBER(max_tokens), 1, INT32_MAX, true, 0 },
    { "max_completion_tokens", MEMBER(max_tokens), 1, INT32_MAX, true, 0 },
    { "max_output_tokens", MEMBER(max_tokens), 1, INT32_MAX, true, 0 },
    { "keep", MEMBER(keep), 1, UINT32_MAX - 1, true, 0 },
};

static bool take_number(struct request *c, const struct number *n)
{
    const struct value *v = parse_member(c->body, n->name);
    char               *at = (char *)&c->ask->opt + n->at;

    if (!v || v->type == PARSE_NULL)
        return true;
    if (v->type != PARSE_NUMBER || !(v->number >= n->lo && v->number <= n->hi) || (n->whole && floor(v->number) < v->number))
        return request_bad(c, "\"%s\" must be a %snumber from %.10g to %.10g", n->name, n->whole ? "whole " : "", n->lo, n->hi);
    if (n->whole)
        *(uint32_t *)(void *)at = (uint32_t)v->number;
    else
        *(float *)(void *)at = (float)v->number;
    c->ask->sent |= n->bit;
    if (n->at == MEMBER(keep))
        c->ask->opt.keep_percent = 0;
    return true;
}

static bool take_stop(struct request *c)
{
    const struct value *stop = parse_member(c->body, "stop"), *v;
    struct words       *w = &c->ask->stop;

    if (!stop || stop->type == PARSE_NULL)
        return true;
    for (v = stop->type == PARSE_ARRAY ? stop->first : stop; v; v = stop->type == PARSE_ARRAY ? v->next : NULL) {
        if (v->type != PARSE_STRING || !v->len || w->n == 16)
            return request_bad(c, "\"stop\" must be a text, or an array of at most 16 texts");
        words_add(w, format("%s", v->text));
    }
    return true;
}

bool request_schema(struct request *c, const struct value *schema)
{
    struct text text = { NULL, 0, 0 };
    char       *why = NULL, *grammar;
    gkv_error   err = { 0 };
    gkv_status  status = GKV_OK;

    if (schema)
        parse_print(schema, &text);
    else
        text_puts(&text, "{\"type\": \"object\", \"additionalProperties\": true}");
    if (c->api->elsewhere) {
        c->ask->format = schema ? format("{\"type\": \"json_schema\", \"json_schema\": {\"name\": \"answer\", \"schema\": %s, "
                                         "\"strict\": true}}", text.p) : format("{\"type\": \"json_object\"}");
        text_free(&text);
        return true;
    }
    grammar = schema_grammar(text.p, text.n, &why);
    text_free(&text);
    if (grammar)
        status = gkv_grammar_open(&c->ask->grammar, grammar, strlen(grammar), &err);
    free(grammar);
    if (why || status)
        request_bad(c, "the format: %s", why ? why : err.text);
    free(why);
    return c->ask->grammar;
}

bool request_flag(const struct value *object, const char *key)
{
    const struct value *v = object && object->type == PARSE_OBJECT ? parse_member(object, key) : NULL;

    return v && v->type == PARSE_TRUE;
}

bool request_numbers(struct request *c)
{
    const double seed = parse_number(c->body, "seed", -1);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!take_number(c, &numbers[i]))
            return false;
    if (seed >= 0 && seed < 1.8e19) {
        c->ask->opt.seed = (uint64_t)seed;
        c->ask->sent |= ANSWER_SEED;
    }
    c->stream = request_flag(c->body, "stream");
    return take_stop(c);
}

/* What would change the answer and is not here must be said. */
bool request_refuses(struct request *c)
{
    static const char *const others[] = { "tools", "functions", "logit_bias", "audio", "prediction", "previous_response_id",
                                          "conversation" };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct value *v = parse_member(c->body, others[i]);

        if (v && (v->first || v->type == PARSE_STRING)) {
            request_bad(c, "\"%s\" is not supported", others[i]);
            return true;
        }
    }
    return false;
}

/* ---- the whole ----------------------------------------------------------------------- */
bool request_open(struct request *c, struct web_call *call, const char *kind)
{
    const char *why = NULL;
    size_t      n, at = 0;
    char       *text = web_body(call, &n);

    c->call = call;
    c->api = web_arg(call);
    c->created = (int64_t)time(NULL);
    c->body = parse_json(text, n, &why, &at);
    if (!c->body || c->body->type != PARSE_OBJECT)
        return request_bad(c, "the body is not a JSON object: %s at byte %zu", why ? why : "something else", at);
    c->ask = ask_new(c->api->asks);
    store_new_id(c->id, kind);
    return true;
}

bool request_start(struct request *c)
{
    parse_free(c->body);
    c->body = NULL;
    if (ask_start(c->api->asks, c->ask))
        return true;
    web_fail(c->call, 503, NULL, "too many questions wait");
    return false;
}

void request_close(struct request *c)
{
    parse_free(c->body);
    if (c->ask)
        ask_end(c->ask);
    for (size_t i = 0; i < c->brought.n; i++) {
        store_remove(c->api->store, c->brought.v[i]);
        free((char *)(uintptr_t)c->brought.v[i]);
    }
    free(c->brought.v);
    free(c->pending);
}
