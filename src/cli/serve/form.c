/* SPDX-License-Identifier: BSD-2-Clause
 * form.c - POST /ask: the form of the page without scripts; its answer is a page */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/cmd.h"
#include "src/cli/html.h"
#include "src/cli/serve/api.h"

static const char page[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\"><title>[[title]]</title>"
    "<link rel=\"stylesheet\" href=\"/page.css\"></head>\n<body><header><h1><a href=\"/\">gemkv</a></h1></header>\n"
    "<main><h2>[[question]]</h2>\n<p class=\"answer\">[[answer]]</p>\n<h3>What it rests on</h3>\n<ol class=\"passages\">"
    "[[passages]]</ol>\n<p><a href=\"/\">Another question</a></p></main></body></html>\n";

static void put_title(FILE *f, const void *arg)
{
    const struct ask *a = arg;

    html_plain(f, a->question, strlen(a->question));
}

static void put_question(FILE *f, const void *arg)
{
    const struct ask *a = arg;

    html_text(f, a->question, strlen(a->question));
}

static void put_answer(FILE *f, const void *arg)
{
    const struct ask *a = arg;

    html_text(f, a->answer.p, a->answer.n);
}

static void put_passages(FILE *f, const void *arg)
{
    const struct ask *a = arg;

    for (size_t i = 0; i < a->n_passages; i++) {
        const struct ask_passage *p = &a->passage[i];
        const struct source      *s = &a->source[p->source];
        char                     *place = place_cite(s->name, s->part, &p->place);

        fputs("<li><b>", f);
        html_line(f, place, strlen(place));
        fputs("</b><br>", f);
        html_text(f, p->text, strlen(p->text));
        fputs("</li>\n", f);
        free(place);
    }
}

static void send_page(struct web_call *c, const struct ask *a)
{
    static const struct html_hole holes[] = { { "title", put_title }, { "question", put_question }, { "answer", put_answer },
                                              { "passages", put_passages }, { NULL, NULL } };
    char  *text = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&text, &n);

    if (!f)
        out_of_memory();
    html_fill(f, page, holes, a);
    close_text(f, &text);
    web_answer(c, 200, "text/html; charset=utf-8", text, n);
    free(text);
}

void form_answer(struct web_call *c)
{
    struct api   *api = web_arg(c);
    const char   *name, *path = web_file(c, &name), *question = web_field(c, "question");
    struct ask   *a;
    struct stored f;
    char         *why = NULL;

    if (!path || !question || !question[strspn(question, " \t\r\n")]) {
        web_fail(c, 400, NULL, "choose a file and write a question");
        return;
    }
    if (store_add(api->store, path, name, true, &f, &why)) {
        web_fail(c, 422, NULL, "%s", why);
        free(why);
        return;
    }
    a = ask_new(api->asks);
    a->question = format("%s", question);
    a->source = grow(NULL, 1, sizeof *a->source);
    a->source[a->n_sources++] = (struct source){ .name = format("%s", f.name), .path = format("%s", f.path),
                                            .part = f.part ? format("%s", f.part) : NULL };
    if (!ask_start(api->asks, a))
        web_fail(c, 503, NULL, "too many questions wait");
    else if (api_wait(c, a))
        send_page(c, a);
    ask_end(a);
    store_remove(api->store, f.id);
    stored_free(&f);
}
