/* SPDX-License-Identifier: BSD-2-Clause
 * merge.c - see merge.h.  An answer counts more than an error, and of several answers the first one. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/batch/answers.h"
#include "src/cli/batch/merge.h"
#include "src/cli/output.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

enum { MOST_SAID = 20 };

/* What was found for a row. */
struct found {
    size_t   file, n;
    off_t    start;
    uint64_t said;
    unsigned times;                     /* answers, or errors if there is no answer       */
    bool     there, failed, differ, old;
};

struct merge {
    struct io           *io;
    const struct options *o;
    struct rows         *rows;
    const char *const   *in;
    size_t               file;          /* that is read                                   */
    struct found        *found;         /* of each row                                    */
    char                 run[20];       /* of the first answer; "": there was none        */
    bool                 runs;          /* there are several                              */
    size_t               n_strange;     /* lines of ids that no row has                   */
};

static int take(void *arg, const struct answer *a)
{
    struct merge       *m = arg;
    const struct entry *e = answers_row(m->rows, a);
    struct found       *f = e ? &m->found[e - m->rows->entry] : NULL;
    char                hex[20];

    if (!*m->run)
        snprintf(m->run, sizeof m->run, "%s", a->run);
    m->runs = m->runs || strcmp(m->run, a->run);
    if (!e) {
        m->n_strange++;
        return 0;
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, e->number);
    if (strcmp(hex, a->row)) {
        f->old = true;
    } else if (!f->there || (f->failed && !a->failed)) {
        *f = (struct found){ .file = m->file, .n = a->n, .start = a->start, .said = a->said, .times = 1, .there = true,
                             .failed = a->failed };
    } else if (f->failed == a->failed) {
        f->differ = f->differ || a->said != f->said;
        f->times++;
    }
    return 0;
}

static int read_all(struct merge *m, size_t n)
{
    int code = 0;

    for (m->file = 0; m->file < n && !code; m->file++) {
        const char *path = m->in[m->file];
        FILE       *f = fopen(path, "re");
        struct tail tail;

        if (!f)
            return fail(m->io, EXIT_FAILED, "%s: %s", path, strerror(errno));
        code = answers_each(m->io, path, f, take, m, &tail);
        if (!code && tail.cut)
            warn(m->io, "%s:%zu: the line has no end; left out", path, tail.line);
        fclose(f);
    }
    return code;
}

/* ---- what is wrong ------------------------------------------------------------------- */
typedef bool kind(const struct found *f, const struct entry *e);

static bool is_missing(const struct found *f, const struct entry *e)
{
    (void)e;
    return !f->there && !f->old;
}

static bool is_old(const struct found *f, const struct entry *e)
{
    (void)e;
    return !f->there && f->old;
}

static bool is_failed(const struct found *f, const struct entry *e)
{
    (void)e;
    return f->there && f->failed;
}

static bool is_double(const struct found *f, const struct entry *e)
{
    (void)e;
    return f->there && !f->failed && f->times > 1 && !f->differ;
}

static bool differs(const struct found *f, const struct entry *e)
{
    (void)e;
    return f->differ;
}

/* Names the rows of that kind; returns how many there are. */
static size_t name(const struct merge *m, kind *is, const char *what)
{
    size_t n = 0;

    for (size_t i = 0; i < m->rows->n; i++) {
        const struct entry *e = &m->rows->entry[i];

        if (is(&m->found[i], e) && n++ < MOST_SAID)
            say(m->io, "%s: %s, line %zu", what, e->id, e->line);
    }
    if (n > MOST_SAID)
        say(m->io, "%s: %zu more", what, n - MOST_SAID);
    return n;
}

/* ---- the file ------------------------------------------------------------------------ */
static int cannot_read(const struct merge *m, size_t file, const char *why)
{
    return fail(m->io, EXIT_FAILED, "%s: %s", m->in[file], why);
}

static int write_all(const struct merge *m, struct output *out)
{
    size_t room = 4096, open = SIZE_MAX;
    char  *line = grow(NULL, room, 1);
    FILE  *f = NULL;
    int    code = 0;

    for (size_t i = 0; i < m->rows->n && !code && !ferror(out->f); i++) {
        const struct found *a = &m->found[i];

        if (!a->there)
            continue;
        if (a->file != open && f) {
            fclose(f);
            f = NULL;
        }
        f = f ? f : fopen(m->in[a->file], "re");
        open = a->file;
        if (a->n + 1 > room)
            line = grow(line, room = 2 * a->n + 1, 1);
        if (!f)
            code = cannot_read(m, a->file, strerror(errno));
        else if (fseeko(f, a->start, SEEK_SET) || fread(line, 1, a->n, f) != a->n)
            code = cannot_read(m, a->file, "it has changed meanwhile");
        else {
            line[a->n] = '\n';
            fwrite(line, 1, a->n + 1, out->f);
        }
        if (progress_cancelled())
            code = fail(m->io, EXIT_FAILED, "cancelled");
    }
    if (f)
        fclose(f);
    free(line);
    return code;
}

int merge_answers(const struct options *o, struct rows *rows, const char *path, const char *const *in, size_t n)
{
    struct merge  m = { .io = o->io, .o = o, .rows = rows, .in = in, .found = grow(NULL, rows->n, sizeof *m.found) };
    struct output out;
    size_t        missing, old, failed, same, other;
    int           code = output_new(&out, o->io, path, o->force);

    memset(m.found, 0, rows->n * sizeof *m.found);
    if (!code)
        code = read_all(&m, n);
    if (!code)
        code = write_all(&m, &out);
    if (!code)
        code = output_keep(&out);
    output_drop(&out);
    if (!code) {
        missing = name(&m, is_missing, "missing");
        old = name(&m, is_old, "missing, as its row is another by now");
        other = name(&m, differs, "answered differently");
        same = name(&m, is_double, "answered more than once");
        failed = name(&m, is_failed, "failed");
        if (m.runs)
            warn(o->io, "the answers were made with different options or models");
        if (m.n_strange)
            warn(o->io, "%zu lines have ids that no row has; left out", m.n_strange);
        say(o->io, "%zu rows: %zu answered, %zu failed, %zu missing, %zu more than once", rows->n,
            rows->n - missing - old - failed, failed, missing + old, same + other);
        code = missing + old + other || m.runs ? EXIT_FAILED : failed ? EXIT_ROWS : 0;
    }
    free(m.found);
    return code;
}
