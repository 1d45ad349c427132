/* SPDX-License-Identifier: BSD-2-Clause
 * qa.c - questions about long documents from a file of JSON lines, each with "context", "question",
 * "answers" and, optionally, "id" and others */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/input.h"
#include "src/cli/json-parse.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { MAX_ANSWER = 64 };

struct line {
    size_t start, len, number;
};

struct qa {
    struct eval  e;                     /* must be first                                  */
    const char  *path;
    uint64_t     limit;
    char        *text;
    struct line *line;                  /* lines that are not blank                       */
    size_t       n;
    char       **task;                  /* distinct names of groups                       */
    size_t       n_task;
};

static const struct opt own[] = {
    { 0, 0, "data", "FILE", NULL,
      "the rows: JSON lines with \"context\" (without -L), \"question\" and \"answers\"",
      opt_text, offsetof(struct qa, path), 0, 0 },
    { 0, 0, "limit", "N", "all of them", "take the first N rows",
      opt_u64, offsetof(struct qa, limit), 1, UINT32_MAX },
    { .name = NULL }
};

static bool blank(const char *s, size_t n)
{
    while (n && strchr(" \t\r", *s))
        s++, n--;
    return !n;
}

static int read_lines(struct qa *q)
{
    size_t len, number = 0;
    int    code = input_slurp(q->e.o.io, q->path, &q->text, &len);

    if (code)
        return code;
    for (size_t at = 0, k; at < len && q->n < q->limit; at += k + 1) {
        const char *end = memchr(q->text + at, '\n', len - at);

        k = end ? (size_t)(end - q->text) - at : len - at;
        number++;
        if (blank(q->text + at, k))
            continue;
        if (!(q->n & (q->n - 1)))
            q->line = grow(q->line, 2 * q->n + 1, sizeof *q->line);
        q->line[q->n++] = (struct line){ at, k, number };
    }
    return q->n ? 0 : fail(q->e.o.io, EXIT_DOCUMENT, "%s: there are no rows in it", input_name(q->path));
}

/* A string member of the row; NUL bytes are refused, since no text has any. */
static char *text_of(const struct value *row, const char *key)
{
    const struct value *v = parse_member(row, key);

    return v && v->type == PARSE_STRING && strlen(v->text) == v->len ? format("%s", v->text)
                                                                      : NULL;
}

static void add_strings(struct refs *refs, const struct value *v)
{
    if (v && v->type == PARSE_STRING)
        refs_add(refs, format("%s", v->text));
    for (const struct value *i = v && v->type == PARSE_ARRAY ? v->first : NULL; i; i = i->next)
        if (i->type == PARSE_STRING)
            refs_add(refs, format("%s", i->text));
}

static const char *group(struct qa *q, const char *name)
{
    for (size_t i = 0; name && i < q->n_task; i++)
        if (!strcmp(q->task[i], name))
            return q->task[i];
    if (!name)
        return NULL;
    q->task = grow(q->task, q->n_task + 1, sizeof *q->task);
    q->task[q->n_task] = format("%s", name);
    return q->task[q->n_task++];
}

/* Fills the row; returns what is wrong with it, or NULL. */
static const char *fill(struct qa *q, const struct value *v, size_t number, struct row *row)
{
    const double max = parse_number(v, "max_tokens", MAX_ANSWER);
    const double depth = parse_number(v, "depth", -1);
    const char  *id = parse_string(v, "id"), *metric = parse_string(v, "metric");

    if (v->type != PARSE_OBJECT)
        return "not an object";
    row->id = id ? format("%s", id) : format("line-%zu", number);
    row->context = q->e.o.library ? NULL : text_of(v, "context");
    row->document = q->e.o.library ? text_of(v, "document") : NULL;
    row->question = text_of(v, "question");
    row->begin = text_of(v, "begin");
    row->group = group(q, parse_string(v, "task"));
    row->metric = metric ? metric_of(metric) : F1;
    row->max_tokens = max >= 1 && max <= INT32_MAX ? (uint32_t)max : MAX_ANSWER;
    row->depth = depth >= 0 && depth <= 100 ? depth : -1;
    add_strings(&row->answers, parse_member(v, "answers"));
    add_strings(&row->classes, parse_member(v, "classes"));
    return !row->context && !q->e.o.library ? "no text \"context\"" : !row->question ? "no text \"question\""
         : !row->answers.n ? "no \"answers\"" : row->metric == N_METRICS ? "no such \"metric\"" : NULL;
}

static int make(struct eval *e, void *arg, size_t i, struct row *row)
{
    struct qa         *q = arg;
    const struct line *l = &q->line[i];
    struct text        copy = { NULL, 0, 0 };
    struct value      *v;
    const char        *why;
    size_t             at;

    text_add(&copy, q->text + l->start, l->len);
    v = parse_json(copy.p, copy.n, &why, &at);
    if (v)
        why = fill(q, v, l->number, row);
    for (size_t j = 0; j < i && !why; j++)
        if (e->row[j].id && !strcmp(e->row[j].id, row->id))
            why = "its id is another row's";
    parse_free(v);
    text_free(&copy);
    row->where = format("%s:%zu", input_name(q->path), l->number);
    if (!why)
        return 0;
    warn(q->e.o.io, "%s: %s; left out", row->where, why);
    row_free(row);
    return EXIT_FAILED;
}

static double weight(const void *arg, size_t i)
{
    const struct qa *q = arg;

    return (double)q->line[i].len / 4;          /* about four bytes per token */
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct qa q = { .e = { .rounded = true, .shown = { EM, CONTAINS, ROUGE_L }, .n_shown = 3 },
                    .limit = UINT64_MAX };
    int       code;

    code = eval_parse(&q.e, self, io, argc, argv);
    if (!code && !q.path)
        code = usage(io, self, "no rows; give a file with --data");
    if (!code)
        code = eval_open(&q.e);
    if (!code)
        code = read_lines(&q);
    if (!code)
        code = eval_run(&q.e, q.n, make, weight, &q);
    eval_close(&q.e);
    for (size_t i = 0; i < q.n_task; i++)
        free(q.task[i]);
    free(q.task);
    free(q.line);
    free(q.text);
    return code;
}

const struct cmd eval_qa = {
    .name = "eval qa", .summary = "Questions about long documents, from a file",
    .synopsis = "--data FILE [options]", .takes = FOR_ROWS | FOR_QA, .own = own, .run = run
};
