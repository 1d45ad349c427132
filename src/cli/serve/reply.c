/* SPDX-License-Identifier: BSD-2-Clause
 * reply.c - the parts of replies that chat completions and responses share; see request.h */
#include "config.h"
#include <string.h>
#include "src/cli/serve/request.h"

static void put_document(struct json *j, const struct source *s)
{
    json_named_string(j, "document", s->name);
    if (s->id)
        json_named_string(j, "file_id", s->id);
}

void reply_place(struct json *j, const struct ask *a, const struct ask_passage *p)
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


/* What was read, what was kept of it, and what it cost: nothing is cut silently. */
void reply_evidence(struct json *j, const struct ask *a)
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
    json_named_real(j, "seconds", a->seconds);
    json_named_open(j, "documents", '[');
    for (size_t i = 0; i < a->n_sources && !a->no_document; i++) {
        json_open(j, '{');
        put_document(j, &a->source[i]);
        json_named_uint(j, "bytes", a->source[i].bytes);
        json_close(j);
    }
    json_close(j);
    json_named_open(j, "passages", '[');
    for (size_t i = 0; i < a->n_passages; i++) {
        json_open(j, '{');
        reply_place(j, a, &a->passage[i]);
        json_key(j, "score");
        json_score(j, a->passage[i].score);
        json_named_string(j, "text", a->passage[i].text);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

uint64_t reply_cached(const struct ask *a)
{
    return a->stats.tokens_prompt > a->read ? a->stats.tokens_prompt - a->read : 0;
}

void reply_event(struct text *out, const char *type, struct json *j)
{
    json_close(j);
    if (type)
        text_printf(out, "event: %s\n", type);
    text_puts(out, "data: ");
    text_add(out, j->text.p, j->text.n - 1);    /* without its newline                    */
    text_puts(out, "\n\n");
    text_free(&j->text);
    *j = (struct json){ .depth = 0 };
}

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

void reply_waits(struct text *out, const struct ask_now *before, const struct ask_now *now)
{
    if (now->state == before->state && now->ahead == before->ahead && same(now->fraction, before->fraction))
        text_puts(out, ":\n\n");
    else if (now->state == ASK_WAITS)
        text_printf(out, ": %zu questions before this one\n\n", now->ahead);
    else
        text_printf(out, ": read %.0f %%\n\n", 100 * now->fraction);
}
