/* SPDX-License-Identifier: BSD-2-Clause
 * show.c - results: table and grids for people, JSON, CSV, SVG */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/eval.h"
#include "src/cli/json.h"
#include "src/cli/plot.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

/* ---- sums ---------------------------------------------------------------------------- */
struct mean {
    double   score, metric[N_COMMON];
    double   ttft, per_token;           /* seconds                                        */
    uint64_t peak;
    size_t   n;
};

static bool answered(const struct eval *e, size_t row)
{
    for (size_t i = 0; i < e->n_way; i++)
        if (eval_at(e, row, i)->done)
            return true;
    return false;
}

/* The means over the rows that method answered (and the other method too, unless it is SIZE_MAX). */
static struct mean mean_of(const struct eval *e, size_t method, size_t other)
{
    struct mean m = { .n = 0 };
    double      decode = 0;
    uint64_t    tokens = 0;

    for (size_t i = 0; i < e->n_row; i++) {
        const struct result *r = eval_at(e, i, method);

        if (!r->done || (other != SIZE_MAX && !eval_at(e, i, other)->done))
            continue;
        m.n++;
        m.score += r->score[e->row[i].metric];
        for (int j = 0; j < N_COMMON; j++)
            m.metric[j] += r->score[j];
        m.ttft += r->ttft;
        decode += r->decode;
        tokens += r->n_answer;
        m.peak = r->peak > m.peak ? r->peak : m.peak;
    }
    if (m.n) {
        m.score /= (double)m.n;
        for (int j = 0; j < N_COMMON; j++)
            m.metric[j] /= (double)m.n;
        m.ttft /= (double)m.n;
    }
    m.per_token = tokens ? decode / (double)tokens : 0;
    return m;
}

/* The metric of the score, when it is the same for all rows; else -1. */
static int common_metric(const struct eval *e)
{
    int metric = -1;

    for (size_t i = 0; i < e->n_row; i++) {
        if (!answered(e, i))
            continue;
        if (metric >= 0 && metric != (int)e->row[i].metric)
            return -1;
        metric = (int)e->row[i].metric;
    }
    return metric;
}

/* ---- grids --------------------------------------------------------------------------- */
static uint64_t length_of(const struct eval *e, size_t i)
{
    uint64_t n = 1;

    if (!e->rounded)
        return e->row[i].length;
    while (n < e->row[i].length)
        n *= 2;
    return n;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t distinct(double *v, size_t n)
{
    size_t k = 0;

    qsort(v, n, sizeof *v, by_number);
    for (size_t i = 0; i < n; i++)
        if (!k || v[i] > v[k - 1])
            v[k++] = v[i];
    return k;
}

static size_t index_of(const double *v, size_t n, double x)
{
    size_t i = 0;

    while (i + 1 < n && v[i] < x)
        i++;
    return i;
}

/* The groups in the order in which they occur, or one without a name. */
static size_t groups(const struct eval *e, const char **group)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_row; i++) {
        size_t j = 0;

        if (!answered(e, i))
            continue;
        while (j < n && group[j] != e->row[i].group)
            j++;
        if (j == n)
            group[n++] = e->row[i].group;
    }
    return n;
}

struct axes {
    double      *length, *depth;
    const char **group;
    size_t       n_length, n_depth, n_group;
};

static struct axes axes_of(const struct eval *e)
{
    struct axes a = { grow(NULL, e->n_row, sizeof(double)), grow(NULL, e->n_row, sizeof(double)),
                      grow(NULL, e->n_row, sizeof(char *)), 0, 0, 0 };

    for (size_t i = 0; i < e->n_row; i++)
        if (answered(e, i)) {
            a.length[a.n_length++] = (double)length_of(e, i);
            a.depth[a.n_depth++] = e->row[i].depth;
        }
    a.n_length = distinct(a.length, a.n_length);
    a.n_depth = distinct(a.depth, a.n_depth);
    a.n_group = groups(e, a.group);
    return a;
}

static void axes_free(struct axes *a)
{
    free(a->length);
    free(a->depth);
    free(a->group);
}

/* Lines are depths when there are several, else groups. */
static struct grid grid_of(const struct eval *e, const struct axes *a, size_t method)
{
    const bool  deep = a->n_group == 1 && a->n_depth > 1;
    const struct mean m = mean_of(e, method, SIZE_MAX);
    struct grid g = {
        .title = format("%s: mean %.1f %%", e->way[method].name, 100 * m.score),
        .x = e->rounded ? "tokens, up to" : "tokens",
        .y = deep ? "depth" : "",
        .n_column = a->n_length, .n_line = deep ? a->n_depth : a->n_group,
    };
    const size_t n = g.n_line * g.n_column;
    size_t      *count = grow(NULL, n, sizeof *count);

    g.value = grow(NULL, n, sizeof *g.value);
    memset(g.value, 0, n * sizeof *g.value);
    memset(count, 0, n * sizeof *count);
    for (size_t i = 0; i < e->n_row; i++) {
        const struct row *row = &e->row[i];
        size_t line = 0, cell;

        if (!eval_at(e, i, method)->done)
            continue;
        if (deep)
            line = index_of(a->depth, a->n_depth, row->depth);
        else
            while (a->group[line] != row->group)
                line++;
        cell = line * g.n_column + index_of(a->length, a->n_length, (double)length_of(e, i));
        g.value[cell] += eval_at(e, i, method)->score[row->metric];
        count[cell]++;
    }
    for (size_t i = 0; i < n; i++)
        g.value[i] = count[i] ? g.value[i] / (double)count[i] : NAN;
    free(count);
    g.column = grow(NULL, g.n_column, sizeof *g.column);
    for (size_t i = 0; i < g.n_column; i++)
        g.column[i] = format("%.0f", a->length[i]);
    g.line = grow(NULL, g.n_line, sizeof *g.line);
    for (size_t i = 0; i < g.n_line; i++)
        g.line[i] = deep ? format("%g %%", a->depth[i])
                         : format("%s", a->group[i] ? a->group[i] : "all");
    return g;
}

static void grid_free(struct grid *g)
{
    for (size_t i = 0; i < g->n_column; i++)
        free(g->column[i]);
    for (size_t i = 0; i < g->n_line; i++)
        free(g->line[i]);
    free(g->column);
    free(g->line);
    free(g->value);
    free(g->title);
}

int show_plot(struct eval *e)
{
    struct axes  a = axes_of(e);
    struct grid *g = grow(NULL, e->n_way, sizeof *g);
    int          code;

    for (size_t i = 0; i < e->n_way; i++)
        g[i] = grid_of(e, &a, i);
    code = plot_grids_svg(&e->plot, g, e->n_way);
    for (size_t i = 0; i < e->n_way; i++)
        grid_free(&g[i]);
    free(g);
    axes_free(&a);
    return code;
}

/* ---- text output --------------------------------------------------------------------- */
static void ratio(struct io *io, double v, double full_v, bool compare)
{
    if (compare && full_v > 0)
        out_printf(io, " %8.2f", v / full_v);
    else if (compare)
        out_printf(io, " %8s", "-");
}

static void head(const struct eval *e, int width, bool compare)
{
    const int   metric = common_metric(e);
    const char *of = compare ? "  of full" : "";

    out_printf(e->o.io, "%-*s %8s%s", width, e->task, metric < 0 ? "score" : metric_name[metric], of);
    for (size_t i = 0; i < e->n_shown; i++)
        out_printf(e->o.io, " %8s", metric_name[e->shown[i]]);
    out_printf(e->o.io, " %11s%s %11s%s %10s%s %6s\n", "first token", of, "per token", of, "memory", of,
               "rows");
}

/* Ratios are over the rows that both methods answered. */
static void table(const struct eval *e)
{
    const size_t of = methods_full(&e->o.methods);
    const bool   compare = of != SIZE_MAX && e->n_way > 1;
    int          width = 9;

    for (size_t i = 0; i < e->n_way; i++)
        if ((int)strlen(e->way[i].name) > width)
            width = (int)strlen(e->way[i].name);
    head(e, width, compare);
    for (size_t i = 0; i < e->n_way; i++) {
        const struct mean m = mean_of(e, i, SIZE_MAX);
        const struct mean both = mean_of(e, i, compare ? of : SIZE_MAX);
        const struct mean f = compare ? mean_of(e, of, i) : m;
        char             *peak = view_bytes(m.peak);

        out_printf(e->o.io, "%-*s %6.1f %%", width, e->way[i].name, 100 * m.score);
        ratio(e->o.io, both.score, f.score, compare);
        for (size_t j = 0; j < e->n_shown; j++)
            out_printf(e->o.io, " %6.1f %%", 100 * m.metric[e->shown[j]]);
        out_printf(e->o.io, " %9.2f s", m.ttft);
        ratio(e->o.io, both.ttft, f.ttft, compare);
        out_printf(e->o.io, " %8.1f ms", 1000 * m.per_token);
        ratio(e->o.io, both.per_token, f.per_token, compare);
        out_printf(e->o.io, " %10s", peak);
        ratio(e->o.io, (double)both.peak, (double)f.peak, compare);
        out_printf(e->o.io, " %6zu\n", m.n);
        free(peak);
    }
}

static void show_people(const struct eval *e)
{
    struct axes a = axes_of(e);

    table(e);
    if (a.n_group > 1 || a.n_depth > 1 || a.n_length > 1)
        for (size_t i = 0; i < e->n_way; i++) {
            struct grid g = grid_of(e, &a, i);

            out_char(e->o.io, '\n');
            plot_grid(e->o.io, &g);
            grid_free(&g);
        }
    axes_free(&a);
}

void json_cost(struct json *j, const struct result *r)
{
    json_named_open(j, "tokens", '{');
    json_named_uint(j, "prompt", r->n_prompt);
    json_named_uint(j, "kept", r->n_kept);
    json_named_uint(j, "answer", r->n_answer);
    json_close(j);
    json_named_open(j, "seconds", '{');
    json_named_real(j, "ttft", r->ttft);
    json_named_real(j, "decode", r->decode);
    json_close(j);
}

/* ---- JSON and CSV -------------------------------------------------------------------- */
static void json_row(struct json *j, const struct row *row, const struct result *r)
{
    json_open(j, '{');
    json_named_string(j, "id", row->id);
    if (row->group)
        json_named_string(j, "task", row->group);
    json_named_uint(j, "length", row->length);
    if (row->depth >= 0)
        json_named_real(j, "depth", row->depth);
    json_named_real(j, "score", r->score[row->metric]);
    json_named_string(j, "metric", metric_name[row->metric]);
    for (int i = 0; i < N_COMMON; i++)
        json_named_real(j, metric_name[i], r->score[i]);
    json_cost(j, r);
    json_named_uint(j, "memory", r->peak);
    json_close(j);
}

static void json_method(struct json *j, const struct eval *e, size_t method)
{
    const struct mean m = mean_of(e, method, SIZE_MAX);

    json_open(j, '{');
    json_named_string(j, "task", e->task);
    json_named_string(j, "method", e->way[method].name);
    json_named_string(j, "model", e->path);
    json_named_string(j, "cpu", gkv_cpu());
    json_named_open(j, "rows", '[');
    for (size_t i = 0; i < e->n_row; i++)
        if (eval_at(e, i, method)->done)
            json_row(j, &e->row[i], eval_at(e, i, method));
    json_close(j);
    json_named_real(j, "mean", m.score);
    json_named_open(j, "means", '{');
    for (int i = 0; i < N_COMMON; i++)
        json_named_real(j, metric_name[i], m.metric[i]);
    json_close(j);
    json_named_open(j, "seconds", '{');
    json_named_real(j, "ttft", m.ttft);
    json_named_real(j, "per_token", m.per_token);
    json_close(j);
    json_named_open(j, "memory", '{');
    json_named_uint(j, "peak", m.peak);
    json_close(j);
    json_close(j);
}

static void show_json(const struct eval *e)
{
    struct json j = { .depth = 0 };

    if (e->n_way > 1)
        json_open(&j, '[');
    for (size_t i = 0; i < e->n_way; i++)
        json_method(&j, e, i);
    if (e->n_way > 1)
        json_close(&j);
    json_print(e->o.io, &j);
}

/* As in RFC 4180; and with an apostrophe before text that a spreadsheet would compute, because names of rows
 * come from other people's files. */
static void csv_text(struct io *io, const char *s)
{
    const char *mark = *s && strchr("=+-@\t\r", *s) ? "'" : "";

    if (!s[strcspn(s, ",\"\r\n")]) {
        out_printf(io, "%s%s,", mark, s);
        return;
    }
    out_printf(io, "\"%s", mark);
    for (; *s; s++) {
        if (*s == '"')
            out_char(io, '"');
        out_char(io, *s);
    }
    out_printf(io, "\",");
}

static void show_csv(const struct eval *e)
{
    out_printf(e->o.io, "task,method,id,group,length,depth,metric,score");
    for (int i = 0; i < N_COMMON; i++)
        out_printf(e->o.io, ",%s", metric_name[i]);
    out_printf(e->o.io, ",prompt,kept,answer,ttft,decode,memory\n");
    for (size_t k = 0; k < e->n_row * e->n_way; k++) {
        const struct row    *row = &e->row[k / e->n_way];
        const struct result *r = &e->result[k];

        if (!r->done)
            continue;
        csv_text(e->o.io, e->task);
        csv_text(e->o.io, e->way[k % e->n_way].name);
        csv_text(e->o.io, row->id);
        csv_text(e->o.io, row->group ? row->group : "");
        out_printf(e->o.io, "%" PRIu64 ",", row->length);
        if (row->depth >= 0)
            out_printf(e->o.io, "%g", row->depth);
        out_printf(e->o.io, ",%s,%.6g", metric_name[row->metric], r->score[row->metric]);
        for (int i = 0; i < N_COMMON; i++)
            out_printf(e->o.io, ",%.6g", r->score[i]);
        out_printf(e->o.io, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g,%.6g,%" PRIu64 "\n", r->n_prompt,
                   r->n_kept, r->n_answer, r->ttft, r->decode, r->peak);
    }
}

int show_results(const struct eval *e)
{
    if (e->o.json)
        show_json(e);
    else if (e->o.csv)
        show_csv(e);
    else
        show_people(e);
    return out_flush(e->o.io);
}
