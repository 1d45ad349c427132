/* SPDX-License-Identifier: BSD-2-Clause
 * ruler-qa.c - see ruler-qa.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/input.h"
#include "src/cli/json-parse.h"
#include "src/cli/eval/ruler-qa.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

static uint32_t add_paragraph(struct qa_set *q, char *text)
{
    if (!(q->n_paragraph & (q->n_paragraph - 1)))
        q->paragraph = grow(q->paragraph, 2 * q->n_paragraph + 1, sizeof *q->paragraph);
    q->paragraph[q->n_paragraph] = text;
    return (uint32_t)q->n_paragraph++;
}

static struct qa_question *add_question(struct qa_set *q, const char *text)
{
    if (!(q->n_question & (q->n_question - 1)))
        q->question = grow(q->question, 2 * q->n_question + 1, sizeof *q->question);
    q->question[q->n_question] = (struct qa_question){ .text = format("%s", text) };
    return &q->question[q->n_question++];
}

static void add_answer(struct qa_question *q, const char *text)
{
    for (size_t i = 0; i < q->n_answer; i++)
        if (!strcmp(q->answer[i], text))
            return;
    q->answer = grow(q->answer, q->n_answer + 1, sizeof *q->answer);
    q->answer[q->n_answer++] = format("%s", text);
}

static void add_gold(struct qa_question *q, uint32_t i)
{
    q->gold = grow(q->gold, q->n_gold + 1, sizeof *q->gold);
    q->gold[q->n_gold++] = i;
}

static const struct value *first(const struct value *v, const char *key)
{
    v = parse_member(v, key);
    return v && v->type == PARSE_ARRAY ? v->first : NULL;
}

/* {"data": [{"paragraphs": [{"context", "qas": [{"question", "answers": [{"text"}]}]}]}]} */
static void squad(struct qa_set *q, const struct value *v)
{
    for (const struct value *d = first(v, "data"); d; d = d->next)
        for (const struct value *p = first(d, "paragraphs"); p; p = p->next) {
            const char *context = parse_string(p, "context");
            uint32_t    gold;

            if (!context)
                continue;
            gold = add_paragraph(q, format("%s", context));
            for (const struct value *i = first(p, "qas"); i; i = i->next) {
                const char         *text = parse_string(i, "question");
                const struct value *a = first(i, "answers");
                struct qa_question *one;

                if (!text || !a)
                    continue;
                one = add_question(q, text);
                add_gold(one, gold);
                for (; a; a = a->next)
                    if (parse_string(a, "text"))
                        add_answer(one, parse_string(a, "text"));
            }
        }
}

/* [{"question", "answer", "context": [["title", ["sentence", ...]], ...]}] */
static void hotpot(struct qa_set *q, const struct value *v)
{
    for (const struct value *i = v->type == PARSE_ARRAY ? v->first : NULL; i; i = i->next) {
        const char         *text = parse_string(i, "question"), *answer = parse_string(i, "answer");
        struct qa_question *one;

        if (!text || !answer)
            continue;
        one = add_question(q, text);
        add_answer(one, answer);
        for (const struct value *p = first(i, "context"); p; p = p->next) {
            const struct value *title = p->first, *body = title ? title->next : NULL;
            struct text         t = { NULL, 0, 0 };

            if (!body || title->type != PARSE_STRING)
                continue;
            text_printf(&t, "%s\n", title->text);
            for (const struct value *s = body->first; s; s = s->next)
                text_puts(&t, s->type == PARSE_STRING ? s->text : "");
            add_gold(one, add_paragraph(q, t.p));
        }
    }
}

static int read_set(struct qa_set *q, struct io *io, const char *path,
                    void (*fill)(struct qa_set *q, const struct value *v), const char *what)
{
    char         *text = NULL;
    const char   *why;
    size_t        len, at;
    struct value *v = NULL;
    int           code = input_slurp(io, path, &text, &len);

    if (!code) {
        v = parse_json(text, len, &why, &at);
        if (!v)
            code = fail(io, EXIT_FAILED, "%s: not JSON: %s, at byte %zu", input_name(path), why, at + 1);
    }
    if (v)
        fill(q, v);
    if (!code && !q->n_question)
        code = fail(io, EXIT_FAILED, "%s: no questions of %s in it", input_name(path), what);
    parse_free(v);
    free(text);
    return code;
}

int qa_squad(struct qa_set *q, struct io *io, const char *path)
{
    return read_set(q, io, path, squad, "SQuAD");
}

int qa_hotpot(struct qa_set *q, struct io *io, const char *path)
{
    return read_set(q, io, path, hotpot, "HotpotQA");
}

void qa_free(struct qa_set *q)
{
    for (size_t i = 0; i < q->n_paragraph; i++)
        free(q->paragraph[i]);
    for (size_t i = 0; i < q->n_question; i++) {
        struct qa_question *one = &q->question[i];

        for (size_t j = 0; j < one->n_answer; j++)
            free(one->answer[j]);
        free(one->answer);
        free(one->gold);
        free(one->text);
    }
    free(q->paragraph);
    free(q->question);
}
