/* SPDX-License-Identifier: BSD-2-Clause
 * rows.c - see rows.h */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/batch/rows.h"
#include "src/cli/input.h"
#include "src/cli/mix.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

/* ---- one row ------------------------------------------------------------------------- */
char *row_number(double d)
{
    char *s;

    if (fabs(d) < 1e15 && floor(d) >= d)
        return format("%.0f", d);
    for (int digits = 6;; digits++) {
        s = format("%.*g", digits, d);
        if (digits == 17 || !(strtod(s, NULL) < d || strtod(s, NULL) > d))
            return s;
        free(s);
    }
}

char *row_id(const struct value *v, bool *bad)
{
    const struct value *id = parse_member(v, "id");
    struct text         t = { NULL, 0, 0 };

    *bad = false;
    if (!id || id->type == PARSE_NULL)
        return NULL;
    if (id->type == PARSE_NUMBER && fabs(id->number) < 1e15 && floor(id->number) >= id->number)
        return row_number(id->number);
    *bad = id->type != PARSE_STRING;
    if (!*bad)
        parse_print(id, &t);
    return t.p;
}

static bool is_text(const struct value *v)
{
    return v->type == PARSE_STRING && strlen(v->text) == v->len;
}

static bool is_blank(const char *s)
{
    return !s[strspn(s, " \t\r\n\v\f")];
}

/* Adds the texts of "one" or of the list "many".  What is wrong, or NULL; *list: it is the list. */
static char *take(const struct value *v, const char *one, const char *many, struct words *out, bool *list)
{
    const struct value *a = parse_member(v, one), *b = parse_member(v, many);

    *list = b;
    if (a && b)
        return format("\"%s\" and \"%s\": one of them", one, many);
    if (a && !is_text(a))
        return format("\"%s\" is not a text", one);
    if (b && (b->type != PARSE_ARRAY || !b->first))
        return format("\"%s\" is not a list of texts", many);
    if (a)
        words_add(out, a->text);
    for (const struct value *i = b ? b->first : NULL; i; i = i->next) {
        if (!is_text(i))
            return format("\"%s\" is not a list of texts", many);
        words_add(out, i->text);
    }
    return NULL;
}

static char *take_document(struct row *row)
{
    const struct value *text = parse_member(row->v, "text");
    bool                list;
    char               *why = take(row->v, "file", "files", &row->file, &list);

    if (why)
        return why;
    if (text && row->file.n)
        return format("\"text\" and \"file\": one of them");
    if (text && text->type != PARSE_STRING)
        return format("\"text\" is not a text");
    if (!text && !row->file.n)
        return format("no document: neither \"text\" nor \"file\" nor \"files\"");
    for (size_t i = 0; i < row->file.n; i++)
        if (!strcmp(row->file.v[i], "-"))
            return format("standard input is no document of a row");
    row->text = text ? text->text : NULL;
    row->n_text = text ? text->len : 0;
    return NULL;
}

static char *take_question(struct row *row)
{
    char *why = take(row->v, "question", "questions", &row->question, &row->several);

    if (why)
        return why;
    if (!row->question.n)
        return format("no question: neither \"question\" nor \"questions\"");
    for (size_t i = 0; i < row->question.n; i++)
        if (is_blank(row->question.v[i]))
            return format("the question is empty");
    return NULL;
}

static char *look_at(struct row *row, size_t n)
{
    const char *why = NULL;
    size_t      at = 0, i = 0;
    uint32_t    cp = 0;
    bool        bad;
    char       *id, *wrong;

    for (size_t k; i < n && (k = utf8_next(row->line + i, n - i, &cp), cp != UTF8_BAD); i += k)
        ;
    row->v = parse_json(row->line, n, &why, &at);       /* it may have an id all the same */
    if (i < n)
        return format("not UTF-8, at byte %zu of the line", i + 1);
    if (!row->v)
        return format("not JSON: %s, at byte %zu of the line", why, at + 1);
    if (row->v->type != PARSE_OBJECT)
        return format("not a JSON object");
    id = row_id(row->v, &bad);
    free(id);
    if (bad)
        return format("\"id\" is neither a text nor a whole number of up to 15 digits");
    wrong = take_document(row);
    return wrong ? wrong : take_question(row);
}

static int changed(const struct rows *r)
{
    return fail(r->io, EXIT_DOCUMENT, "%s: it was changed while it was read; begin again", input_name(r->path));
}

int row_read(const struct rows *r, const struct entry *e, struct row *row)
{
    *row = (struct row){ .line = grow(NULL, e->n + 1, 1) };
    for (size_t at = 0; at < e->n; ) {
        const ssize_t k = pread(fileno(r->f), row->line + at, e->n - at, e->start + (off_t)at);

        if (k < 0 && errno == EINTR && !progress_cancelled())
            continue;
        if (k <= 0) {
            const int why = k ? errno : 0;

            row_done(row);
            return !why ? changed(r) : fail(r->io, EXIT_DOCUMENT, "%s: cannot read: %s", input_name(r->path),
                                            strerror(why));
        }
        at += (size_t)k;
    }
    row->line[e->n] = 0;
    if (mix(MIX_START, row->line, e->n) != e->number) {
        row_done(row);
        return changed(r);
    }
    row->why = look_at(row, e->n);
    if (!row->why && e->twin)
        row->why = format("its id is that of line %zu", e->twin);
    return 0;
}

void row_done(struct row *row)
{
    parse_free(row->v);
    free(row->file.v);
    free(row->question.v);
    free(row->why);
    free(row->line);
    *row = (struct row){ .v = NULL };
}

bool row_same_document(const struct row *a, const struct row *b)
{
    if (!a->text != !b->text || a->n_text != b->n_text || a->file.n != b->file.n)
        return false;
    if (a->text && memcmp(a->text, b->text, a->n_text))
        return false;
    for (size_t i = 0; i < a->file.n; i++)
        if (strcmp(a->file.v[i], b->file.v[i]))
            return false;
    return true;
}

/* ---- ids ----------------------------------------------------------------------------- */
/* The slot of that id, or the free one where it belongs. */
static size_t *slot_of(const struct rows *r, const char *id)
{
    size_t i = (size_t)mix_string(MIX_START, id) % r->n_slots;

    while (r->slot[i] && strcmp(r->entry[r->slot[i] - 1].id, id))
        i = (i + 1) % r->n_slots;
    return &r->slot[i];
}

struct entry *rows_find(const struct rows *r, const char *id)
{
    const size_t i = r->n_slots ? *slot_of(r, id) : 0;

    return i ? &r->entry[i - 1] : NULL;
}

static void more_slots(struct rows *r)
{
    const size_t n = r->n_slots ? 2 * r->n_slots : 1024;

    r->slot = grow(r->slot, n, sizeof *r->slot);
    memset(r->slot, 0, n * sizeof *r->slot);
    r->n_slots = n;
    for (size_t i = 0; i < r->n; i++)
        if (!r->entry[i].twin)
            *slot_of(r, r->entry[i].id) = i + 1;
}

/* ---- documents ----------------------------------------------------------------------- */
/* What a file is taken for, since its size may not be the same wherever this runs; and what an answer takes. */
enum { FILE_BYTES = 64 << 10, ANSWER_BYTES = 4 << 10 };

/* A row with something wrong shares its document with none. */
static uint64_t document_of(const struct row *row, const struct entry *e)
{
    uint64_t h = mix_uint(MIX_START, row->why ? 2 : row->text != NULL);

    if (row->why)
        return mix_uint(h, e->line);
    if (row->text)
        return mix(h, row->text, row->n_text);
    for (size_t i = 0; i < row->file.n; i++)
        h = mix_string(h, row->file.v[i]);
    return h;
}

static uint64_t weight_of(const struct row *row)
{
    return row->why ? 1 : row->text ? row->n_text + 1 : FILE_BYTES * row->file.n;
}

struct place { uint64_t document; size_t row; };

static int by_document(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->document != y->document ? (x->document > y->document) - (x->document < y->document)
                                      : (x->row > y->row) - (x->row < y->row);
}

static int by_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Groups in the order of their first rows; there is one at least. */
static void make_groups(struct rows *r, struct place *p, const uint64_t *weight, const size_t *asks)
{
    qsort(p, r->n, sizeof *p, by_document);
    for (size_t i = 0; i < r->n; i++) {
        struct entry *e = &r->entry[p[i].row];
        struct group *g;

        if (!i || p[i].document != p[i - 1].document) {
            if (!(r->n_groups & (r->n_groups - 1)))
                r->group = grow(r->group, 2 * r->n_groups + 1, sizeof *r->group);
            r->group[r->n_groups++] = (struct group){ .document = p[i].document, .weight = weight[p[i].row],
                                                      .first = p[i].row, .last = p[i].row };
        }
        g = &r->group[r->n_groups - 1];
        e->next = SIZE_MAX;
        if (g->n)
            r->entry[g->last].next = p[i].row;
        g->last = p[i].row;
        g->n++;
        g->weight += ANSWER_BYTES * asks[p[i].row];
    }
    qsort(r->group, r->n_groups, sizeof *r->group, by_first);
    for (size_t i = 0; i < r->n_groups; i++)
        for (size_t k = r->group[i].first; k != SIZE_MAX; k = r->entry[k].next)
            r->entry[k].group = i;
}

/* ---- shards -------------------------------------------------------------------------- */
struct load { uint64_t weight; size_t shard; };

static bool lighter(const struct load *a, const struct load *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->shard < b->shard;
}

/* The first of n loads, a heap with the lightest first, has become heavier. */
static void sink(struct load *heap, size_t n)
{
    for (size_t i = 0, k; (k = 2 * i + 1) < n; i = k) {
        struct load t = heap[i];

        k += k + 1 < n && lighter(&heap[k + 1], &heap[k]);
        if (!lighter(&heap[k], &heap[i]))
            return;
        heap[i] = heap[k];
        heap[k] = t;
    }
}

struct heavy { uint64_t weight; size_t group; };

static int by_weight(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;

    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->group > y->group) - (x->group < y->group);
}

/* The heaviest group first, each to the shard that has least so far. */
size_t *rows_order(const struct rows *r)
{
    struct heavy *h = grow(NULL, r->n_groups, sizeof *h);
    size_t       *order = grow(NULL, r->n_groups, sizeof *order);

    for (size_t i = 0; i < r->n_groups; i++)
        h[i] = (struct heavy){ r->group[i].weight, i };
    if (r->n_groups)
        qsort(h, r->n_groups, sizeof *h, by_weight);
    for (size_t i = 0; i < r->n_groups; i++)
        order[i] = h[i].group;
    free(h);
    return order;
}

void rows_deal(struct rows *r, size_t n)
{
    struct load  *heap = grow(NULL, n, sizeof *heap);
    size_t       *order = rows_order(r);

    for (size_t i = 0; i < n; i++)
        heap[i] = (struct load){ 0, i };
    for (size_t i = 0; i < r->n_groups; i++) {
        r->group[order[i]].shard = heap->shard;
        heap->weight += r->group[order[i]].weight;
        sink(heap, n);
    }
    free(heap);
    free(order);
}

/* ---- the file ------------------------------------------------------------------------ */
/* What can be read only once goes into a file without a name. */
static int spool(struct rows *r, int from)
{
    char    piece[65536];
    ssize_t n;

    r->f = tmpfile();
    if (!r->f)
        return fail(r->io, EXIT_FAILED, "cannot make a temporary file: %s", strerror(errno));
    while ((n = read(from, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR && !progress_cancelled())
            continue;
        if (n < 0)
            return progress_cancelled() ? fail(r->io, EXIT_FAILED, "cancelled while reading %s", input_name(r->path))
                                        : fail(r->io, EXIT_DOCUMENT, "%s: cannot read: %s", input_name(r->path),
                                               strerror(errno));
        if (fwrite(piece, 1, (size_t)n, r->f) != (size_t)n)
            return fail(r->io, EXIT_FAILED, "temporary file: %s", strerror(errno));
    }
    if (fflush(r->f))
        return fail(r->io, EXIT_FAILED, "temporary file: %s", strerror(errno));
    rewind(r->f);
    return 0;
}

static int open_file(struct rows *r)
{
    const bool  named = strcmp(r->path, "-");
    FILE       *f = named ? fopen(r->path, "re") : stdin;
    struct stat st;
    int         code;

    if (!f)
        return fail(r->io, EXIT_DOCUMENT, "%s: %s", r->path, strerror(errno));
    if (named && !fstat(fileno(f), &st) && S_ISREG(st.st_mode)) {
        r->f = f;
        return 0;
    }
    code = named && S_ISDIR(st.st_mode) ? fail(r->io, EXIT_DOCUMENT, "%s: a folder", r->path) : spool(r, fileno(f));
    if (named)
        fclose(f);
    return code;
}

/* Its line number is the id of a row that has none. */
static void add(struct rows *r, const struct entry *where, const struct row *row, const char *line)
{
    struct entry *e;
    size_t       *slot;
    bool          bad = false;
    char         *id = row_id(row->v, &bad);

    if (!(r->n & (r->n - 1)))
        r->entry = grow(r->entry, 2 * r->n + 1, sizeof *r->entry);
    e = &r->entry[r->n];
    *e = *where;
    e->id = id ? id : format("%zu", e->line);
    e->number = mix(MIX_START, line, e->n);
    if (2 * r->n >= r->n_slots)
        more_slots(r);
    slot = slot_of(r, e->id);
    if (*slot)
        e->twin = r->entry[*slot - 1].line;
    else
        *slot = r->n + 1;
    r->n++;
}

/* Reads all lines and notes of each row its document, what that weighs and how much is asked. */
static int read_lines(struct rows *r, struct place **place, uint64_t **weight, size_t **asks, size_t *n_objects)
{
    char        *line = NULL;
    size_t       room = 0;
    ssize_t      got;
    struct entry e = { .start = 0 };

    while (!progress_cancelled() && (got = getline(&line, &room, r->f)) > 0) {
        struct row row = { .line = line };
        size_t     n = (size_t)got, mark = e.start == 0 && n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3) ? 3 : 0;

        e.line++;
        while (n > mark && strchr(" \t\r\n", line[n - 1]) && line[n - 1])
            line[--n] = 0;
        while (mark < n && strchr(" \t", line[mark]))
            mark++;
        if (mark < n) {
            struct entry at = { .start = e.start + (off_t)mark, .n = n - mark, .line = e.line };
            char        *copy = grow(NULL, at.n + 1, 1);        /* to be unescaped in place       */
            size_t       i = r->n;

            memcpy(copy, line + mark, at.n + 1);
            row.line = copy;
            row.why = look_at(&row, at.n);
            add(r, &at, &row, line + mark);
            if (!row.why && r->entry[i].twin)
                row.why = format("twin");
            if (!(i & (i - 1))) {
                *place = grow(*place, 2 * i + 1, sizeof **place);
                *weight = grow(*weight, 2 * i + 1, sizeof **weight);
                *asks = grow(*asks, 2 * i + 1, sizeof **asks);
            }
            (*place)[i] = (struct place){ document_of(&row, &r->entry[i]), i };
            (*weight)[i] = weight_of(&row);
            (*asks)[i] = row.why ? 0 : row.question.n;
            *n_objects += row.v && row.v->type == PARSE_OBJECT;
            row_done(&row);
        }
        e.start += (off_t)got;
    }
    free(line);
    if (progress_cancelled())
        return fail(r->io, EXIT_FAILED, "cancelled while reading %s", input_name(r->path));
    return ferror(r->f) ? fail(r->io, EXIT_DOCUMENT, "%s: cannot read: %s", input_name(r->path), strerror(errno)) : 0;
}

int rows_open(struct rows *r, struct io *io, const char *path)
{
    struct place *place = grow(NULL, 1, sizeof *place);
    uint64_t     *weight = grow(NULL, 1, sizeof *weight);
    size_t       *asks = grow(NULL, 1, sizeof *asks), n_objects = 0;
    int           code;

    *r = (struct rows){ .io = io, .path = path };
    code = open_file(r);
    if (!code)
        code = read_lines(r, &place, &weight, &asks, &n_objects);
    if (!code && !r->n)
        code = fail(io, EXIT_DOCUMENT, "%s: there are no rows in it", input_name(path));
    if (!code && !n_objects)
        code = fail(io, EXIT_DOCUMENT, "%s: no line of it is a JSON object; rows are like "
                    "{\"id\": \"a\", \"file\": \"report.pdf\", \"question\": \"Who ...?\"}", input_name(path));
    if (!code)
        make_groups(r, place, weight, asks);
    free(place);
    free(weight);
    free(asks);
    return code;
}

void rows_close(struct rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->entry[i].id);
    free(r->entry);
    free(r->group);
    free(r->slot);
    if (r->f)
        fclose(r->f);
    *r = (struct rows){ .n = 0 };
}
