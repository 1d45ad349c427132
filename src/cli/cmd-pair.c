/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-pair.c - how well one model chooses for another, on a text: with which budget and which of its layers
 *
 * Rows are those of eval niah, and each is asked in several ways: every budget with every layer of the
 * reader, in the order of what they cost, so that the first good one is what is recommended; then, if that is
 * asked for, every budget without the reader, and the whole text. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/eval/chance.h"
#include "src/cli/eval/niah.h"
#include "src/cli/model-name.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

enum { MAX_BUDGETS = 16 };

struct budgets {
    float  percent[MAX_BUDGETS];
    size_t n;
};

struct pair {
    struct niah     n;                  /* must be first                                  */
    struct budgets  budgets;
    struct numbers  layers;             /* of the reader                                  */
    bool            self, full;
    uint32_t        own_layer;          /* of the model that answers                      */
    gkv_reading    *own_reading;        /* ... by itself; the reader's is n.e.reading     */
};

/* ---- options --------------------------------------------------------------------------- */
static int by_percent(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static int by_layer(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* A struct budgets: "2.5%,5%" in the order of size, without repetition. */
static int opt_budgets(const struct args *a, void *at)
{
    struct budgets *b = at;
    const char     *s = a->value;
    double          v;
    size_t          n = 0;

    for (b->n = 0; b->n < MAX_BUDGETS; s += 2) {
        s = parse_real(s, 0, 100, &v);
        if (!s || *s != '%' || v <= 0 || (s[1] && s[1] != ','))
            break;
        b->percent[b->n++] = (float)v;
        if (s[1])
            continue;
        qsort(b->percent, b->n, sizeof *b->percent, by_percent);
        for (size_t i = 0; i < b->n; i++)
            if (!n || b->percent[i] > b->percent[n - 1])
                b->percent[n++] = b->percent[i];
        b->n = n;
        return 0;
    }
    return args_bad(a, "a list of percentages like 5%,10%");
}

static int opt_layers(const struct args *a, void *at)
{
    struct numbers *l = at;
    size_t          n = 0;
    const int       code = opt_numbers(a, l);

    if (code)
        return code;
    qsort(l->v, l->n, sizeof *l->v, by_layer);
    for (size_t i = 0; i < l->n; i++)
        if (!n || l->v[i] > l->v[n - 1])
            l->v[n++] = l->v[i];
    l->n = n;
    return 0;
}

static const struct opt own[] = {
    { 0, 'k', "keep", "P%[,P%]...", NULL, "budgets to try, in percent of the prompt",
      opt_budgets, offsetof(struct pair, budgets), 0, 0 },
    { 0, 0, "layers", "N[,N]...", "its filter layer, and one before and behind it",
      "layers of the reader to try, counted from 0",
      opt_layers, offsetof(struct pair, layers), 0, INT32_MAX },
    { 0, 0, "self", NULL, NULL, "also let the model that answers choose for itself",
      opt_flag, offsetof(struct pair, self), 0, 0 },
    { 0, 0, "full", NULL, NULL, "also let it read everything",
      opt_flag, offsetof(struct pair, full), 0, 0 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "keep", "2.5%,5%,10%,20%" }, { "lengths", "2048,4096" }, { "depths", "0,25,50,75,100" },
    { "samples", "2" }, { NULL, NULL }
};

/* ---- what is asked --------------------------------------------------------------------- */
/* Whether the layer of the reader can filter. */
static bool attends(const gkv_model_info *m, uint64_t layer)
{
    const char *s = m->attending;
    char       *end;

    if (!s)
        return layer < m->n_layer;
    for (; *s; s = end) {
        if (strtoull(s, &end, 10) == layer && end > s)
            return true;
        if (end == s)
            break;
    }
    return false;
}

/* The filter layer, and the nearest ones that can be it, an eighth of the model or more before and behind. */
static void choose_layers(struct pair *p, const gkv_model_info *m)
{
    const uint32_t eighth = m->n_layer / 8 ? m->n_layer / 8 : 1;
    struct numbers *l = &p->layers;

    for (uint32_t il = m->filter_layer; il-- > 0 && !l->n;)
        if ((il + eighth <= m->filter_layer || !il) && attends(m, il))
            l->v[l->n++] = il;
    l->v[l->n++] = m->filter_layer;
    for (uint32_t il = m->filter_layer + eighth; il < m->n_layer; il++)
        if (attends(m, il)) {
            l->v[l->n++] = il;
            break;
        }
}

static size_t n_pairs(const struct pair *p)
{
    return p->budgets.n * p->layers.n;
}

static float budget_of(const struct pair *p, size_t way)
{
    const size_t n = n_pairs(p);

    return p->budgets.percent[way < n ? way / p->layers.n : way - n];
}

static bool is_full(const struct pair *p, size_t way)
{
    return p->full && way == p->n.e.n_way - 1;
}

/* -1: none */
static int32_t layer_of(const struct pair *p, size_t way)
{
    if (way < n_pairs(p))
        return (int32_t)p->layers.v[way % p->layers.n];
    return is_full(p, way) ? -1 : (int32_t)p->own_layer;
}

/* One reading of each prompt is enough for all budgets, and for all layers of the reader. */
static void add_readings(struct pair *p)
{
    uint32_t layer[MAX_NUMBERS];

    for (size_t i = 0; i < p->layers.n; i++)
        layer[i] = (uint32_t)p->layers.v[i];
    (void)gkv_reading_open(&p->n.e.reading, layer, p->layers.n, NULL);  /* without it, each way reads */
    (void)gkv_reading_open(&p->own_reading, NULL, 0, NULL);
}

static void add_ways(struct pair *p)
{
    struct eval *e = &p->n.e;
    struct way  *w;

    add_readings(p);
    for (size_t i = 0; i < n_pairs(p); i++) {
        w = eval_way(e, format("reader:keep=%g%%,layer=%" PRId32, (double)budget_of(p, i), layer_of(p, i)));
        w->opt.keep_percent = budget_of(p, i);
        w->opt.layer = layer_of(p, i);
        w->opt.reading = e->reading;
    }
    for (size_t i = 0; i < p->budgets.n && p->self; i++) {
        w = eval_way(e, format("self:keep=%g%%", (double)p->budgets.percent[i]));
        w->opt.keep_percent = p->budgets.percent[i];
        w->opt.reading = p->own_reading;
        w->alone = true;
    }
    if (p->full) {
        w = eval_way(e, format("full"));
        w->opt.method = "full";
        w->alone = true;
    }
}

/* Asks for each way whether it can be asked at all, and n tokens in the least memory that is possible. */
static int check_ways(const struct pair *p, uint64_t n)
{
    const struct eval *e = &p->n.e;
    const uint64_t     limit = e->o.gkv.memory_limit ? e->o.gkv.memory_limit : gkv_memory_default();

    for (size_t i = 0; i < e->n_way; i++) {
        gkv_options opt = e->way[i].opt;
        gkv_error   err = { 0 };
        uint64_t    bytes;
        gkv_status  status;
        char       *need, *most;
        int         code;

        opt.reader = e->way[i].alone ? NULL : e->reader;
        status = gkv_memory_needed(e->model, &opt, 1024, &bytes, &err);
        opt.schedule = opt.schedule || is_full(p, i) ? opt.schedule : "stream";
        opt.chunk = 16;
        if (!status)
            status = gkv_memory_needed(e->model, &opt, n, &bytes, &err);
        if (status)
            return fail_library(e->o.io, status, &err, NULL);
        if (!limit || bytes <= limit)
            continue;
        need = view_bytes(bytes);
        most = view_bytes(limit);
        code = fail(e->o.io, EXIT_TOO_BIG, "%s needs %s of memory for %" PRIu64 " tokens, the limit is %s; "
                    "raise --memory, or take shorter --lengths", e->way[i].name, need, n, most);
        free(need);
        free(most);
        return code;
    }
    return 0;
}

/* Leaves out lengths that the text does not have: what is repeated is no test. */
static int check_lengths(struct pair *p)
{
    struct io      *io = p->n.e.o.io;
    struct numbers *l = &p->n.e.o.lengths;
    const size_t    each = p->n.e.o.depths.n * p->n.e.o.samples;
    int             code = 0;

    for (size_t i = 0; i < l->n;) {
        struct row row = { .depth = -1 };
        bool       fits;

        code = niah_make(&p->n.e, &p->n, i * each, &row);
        fits = !code && p->n.units <= p->n.hay.n;
        row_free(&row);
        if (progress_cancelled())
            return fail(io, EXIT_FAILED, "cancelled");
        if (fits) {
            i++;
            continue;
        }
        if (!code)
            warn(io, "the text has less than %" PRIu64 " tokens; prompts of that length are left out",
                 l->v[i]);
        memmove(l->v + i, l->v + i + 1, (--l->n - i) * sizeof *l->v);
    }
    return l->n ? 0 : fail(io, EXIT_DOCUMENT, "there is no prompt to make of this text; give a longer one, or "
                           "other --lengths");
}

/* ---- what came out --------------------------------------------------------------------- */
struct outcome {
    signed char *right;                 /* [n_way][n_row], as in chance.h                 */
    size_t       choice, best;          /* ways, or the number of pairs: there is none     */
};

static struct outcome outcome_of(const struct pair *p)
{
    const struct eval *e = &p->n.e;
    struct outcome     o = { .right = grow(NULL, e->n_way * e->n_row, 1) };

    for (size_t w = 0; w < e->n_way; w++)
        for (size_t i = 0; i < e->n_row; i++) {
            const struct result *r = eval_at(e, i, w);

            o.right[w * e->n_row + i] = r->done ? r->score[e->row[i].metric] >= 1 : -1;
        }
    o.choice = chance_choose(o.right, n_pairs(p), e->n_row, &o.best);
    if (progress_cancelled())                           /* a part of the questions advises nobody */
        o.choice = n_pairs(p);
    return o;
}

static const signed char *right_of(const struct pair *p, const struct outcome *o, size_t way)
{
    return o->right + way * p->n.e.n_row;
}

/* Of a way, over the questions that were answered. */
struct cost {
    double   ttft, per_token;
    uint64_t peak;
    size_t   n, no_room;
};

static struct cost cost_of(const struct eval *e, size_t way)
{
    struct cost c = { .n = 0 };
    uint64_t    tokens = 0;

    for (size_t i = 0; i < e->n_row; i++) {
        const struct result *r = eval_at(e, i, way);

        c.no_room += r->no_room;
        if (!r->done || r->no_room)
            continue;
        c.n++;
        c.ttft += r->ttft;
        c.per_token += r->decode;
        tokens += r->n_answer;
        c.peak = r->peak > c.peak ? r->peak : c.peak;
    }
    c.ttft = c.n ? c.ttft / (double)c.n : NAN;
    c.per_token = tokens ? c.per_token / (double)tokens : NAN;
    return c;
}

/* The options of gemkv ask for a way of the reader; for free(). */
static char *options_of(const struct pair *p, size_t way)
{
    const char *snap = p->n.e.o.gkv.snap;
    char       *reader = name_quoted(p->n.e.o.reader);
    char       *s = format("--reader %s%s%s --keep %g%% --layer %" PRId32, reader, snap ? " --snap " : "",
                           snap ? snap : "", (double)budget_of(p, way), layer_of(p, way));

    free(reader);
    return s;
}

static void line(const struct pair *p, const struct outcome *o, size_t way)
{
    struct io         *io = p->n.e.o.io;
    const struct tally t = chance_tally(right_of(p, o, way), p->n.e.n_row);
    const struct cost  c = cost_of(&p->n.e, way);
    const bool         pair = way < n_pairs(p), full = is_full(p, way);
    char              *right = format("%zu of %zu", t.right, t.asked);
    double             low, high;

    chance_interval(t.right, t.asked, &low, &high);
    out_printf(io, "%c %-10s", pair && way == o->choice ? '*' : ' ',
               pair ? "reader" : full ? "everything" : "itself");
    if (full)
        out_printf(io, " %8s %6s", "100 %", "-");
    else
        out_printf(io, " %6g %% %6" PRId32, (double)budget_of(p, way), layer_of(p, way));
    out_printf(io, "  %-12s %6.1f %%  %5.1f - %5.1f %%", right,
               t.asked ? 100 * (double)t.right / (double)t.asked : 0, 100 * low, 100 * high);
    if (c.n)
        out_printf(io, "  %9.2f s\n", c.ttft);
    else
        out_printf(io, "  %9s\n", "-");
    free(right);
}

static void show_people(const struct pair *p, const struct outcome *o)
{
    const struct eval *e = &p->n.e;
    char              *options;

    out_printf(e->o.io, "  %-10s %8s %6s  %-12s %8s  %-15s  %11s\n", "chosen by", "kept", "layer", "right",
               "", "95 of 100 times", "first token");
    for (size_t i = 0; i < e->n_way; i++)
        line(p, o, i);
    if (o->choice == n_pairs(p))
        return;
    options = options_of(p, o->choice);
    out_printf(e->o.io, "\nrecommended: %s\n", options);
    free(options);
}

static void json_way(struct json *j, const struct pair *p, const struct outcome *o, size_t way)
{
    const struct eval *e = &p->n.e;
    const struct tally t = chance_tally(right_of(p, o, way), e->n_row);
    const struct cost  c = cost_of(e, way);
    double             low, high;

    chance_interval(t.right, t.asked, &low, &high);
    json_open(j, '{');
    json_named_string(j, "chosen_by", is_full(p, way) ? NULL : way < n_pairs(p) ? "reader" : "model");
    json_named_real(j, "keep_percent", is_full(p, way) ? 100 : (double)budget_of(p, way));
    json_named_layer(j, "layer", layer_of(p, way));
    json_named_uint(j, "right", t.right);
    json_named_uint(j, "asked", t.asked);
    json_named_uint(j, "no_room", c.no_room);
    json_named_real(j, "low", low);
    json_named_real(j, "high", high);
    json_named_open(j, "seconds", '{');
    json_named_real(j, "ttft", c.ttft);
    json_named_real(j, "per_token", c.per_token);
    json_close(j);
    json_named_uint(j, "memory", c.peak);
    json_close(j);
}

static void show_json(const struct pair *p, const struct outcome *o)
{
    const struct eval *e = &p->n.e;
    struct json        j = { .depth = 0 };
    char              *options;

    json_open(&j, '{');
    json_named_string(&j, "task", e->task);
    json_named_string(&j, "reader", e->o.reader);
    json_named_string(&j, "model", e->path);
    json_named_string(&j, "cpu", gkv_cpu());
    json_named_open(&j, "lengths", '[');
    for (size_t i = 0; i < e->o.lengths.n; i++)
        json_uint(&j, e->o.lengths.v[i]);
    json_close(&j);
    json_named_open(&j, "ways", '[');
    for (size_t i = 0; i < e->n_way; i++)
        json_way(&j, p, o, i);
    json_close(&j);
    json_key(&j, "recommended");
    if (o->choice == n_pairs(p)) {
        json_null(&j);
    } else {
        options = options_of(p, o->choice);
        json_open(&j, '{');
        json_named_real(&j, "keep_percent", (double)budget_of(p, o->choice));
        json_named_layer(&j, "layer", layer_of(p, o->choice));
        json_named_string(&j, "options", options);
        json_named_real(&j, "chance",
                        chance_between(right_of(p, o, o->best), right_of(p, o, o->choice), e->n_row));
        json_close(&j);
        free(options);
    }
    json_close(&j);
    json_print(e->o.io, &j);
}

/* What the numbers do not say by themselves. */
static void explain(const struct pair *p, const struct outcome *o)
{
    const struct eval *e = &p->n.e;
    const size_t       none = n_pairs(p);

    for (size_t i = 0; i < p->budgets.n; i++) {
        size_t n = 0;

        for (size_t w = 0; w < p->layers.n; w++)
            n += cost_of(e, i * p->layers.n + w).no_room;
        if (n)
            warn(e->o.io, "%g %% has no room for %zu of %zu questions, which count as wrong",
                 (double)p->budgets.percent[i], n, p->layers.n * e->n_row);
    }
    if (o->choice == none)
        warn(e->o.io, "no answer was right, so nothing is recommended");
    else if (o->choice != o->best)
        say(e->o.io, "%zu of %zu were right with it, %zu with %g %% and layer %" PRId32 ": that may be chance; "
            "more --samples tell more", chance_tally(right_of(p, o, o->choice), e->n_row).right, e->n_row,
            chance_tally(right_of(p, o, o->best), e->n_row).right, (double)budget_of(p, o->best),
            layer_of(p, o->best));
    if (p->full && o->choice != none &&
        chance_behind(right_of(p, o, e->n_way - 1), right_of(p, o, o->choice), e->n_row))
        warn(e->o.io, "the text as a whole gives more right answers than this");
}

static int show(const struct eval *e)
{
    const struct pair *p = (const struct pair *)e;      /* which it begins                */
    struct outcome     o = outcome_of(p);
    int                code;

    if (e->o.json)
        show_json(p, &o);
    else
        show_people(p, &o);
    code = out_flush(e->o.io);
    if (!progress_cancelled())
        explain(p, &o);
    free(o.right);
    return code;
}

/* ---- the command ----------------------------------------------------------------------- */
static int check(const struct pair *p)
{
    const struct options *o = &p->n.e.o;

    if (o->n_operand)
        return usage(o->io, o->cmd, "no operands; the text is given with -f");
    if (!o->reader)
        return usage(o->io, o->cmd, "which model reads? give it with --reader, the other with -m");
    return 0;
}

static int begin(struct pair *p)
{
    struct eval   *e = &p->n.e;
    gkv_model_info m;
    uint64_t       longest = 0;
    int            code = eval_open(e);

    if (code)
        return code;
    if (!e->reader && p->self && !e->o.gkv.snap)
        return usage(e->o.io, e->o.cmd, "--self: the model that reads is the one that answers");
    if (!e->reader && !e->o.gkv.snap)
        say(e->o.io, "the model that reads is the one that answers; nothing is handed over");
    gkv_model_describe(e->model, &m);
    p->own_layer = m.filter_layer;
    if (e->reader)
        gkv_model_describe(e->reader, &m);
    if (!p->layers.n)
        choose_layers(p, &m);
    add_ways(p);
    for (size_t i = 0; i < e->o.lengths.n; i++)
        longest = e->o.lengths.v[i] > longest ? e->o.lengths.v[i] : longest;
    code = check_ways(p, longest);
    if (!code)
        code = niah_read(&p->n);
    return code ? code : check_lengths(p);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct pair p = { .n = { .e = { .strict = true, .show = show } } };
    int         code = options_parse(&p.n.e.o, self, io, argc, argv);

    p.n.e.task = self->name;
    if (!code)
        code = check(&p);
    if (!code)
        code = begin(&p);
    if (!code)
        code = eval_run(&p.n.e, niah_rows(&p.n), niah_make, niah_weight, &p.n);
    eval_close(&p.n.e);
    gkv_reading_close(p.own_reading);
    niah_free(&p.n);
    return code;
}

const struct cmd cmd_pair = {
    .name = "pair", .summary = "Measure how well one model reads for another, and with which budget",
    .synopsis = "--reader FILE [options]", .takes = FOR_PAIR | FOR_LENGTHS | FOR_DEPTHS | FOR_NEEDLES,
    .own = own, .defaults = defaults, .needs = NEEDS_PROGRAMS, .run = run
};
