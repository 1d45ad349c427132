/* SPDX-License-Identifier: BSD-2-Clause
 * sheet.c - spreadsheets: XLSX and OpenDocument; a form feed between sheets, a line for each row */
#include "config.h"
#include "src/cli/input/readers.h"
#if HAVE_LIBARCHIVE && HAVE_LIBXML2
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/grid.h"
#include "src/cli/input/markup.h"
#include "src/cli/input/zip.h"

/* Rows that are left out in a sheet are empty lines, so that a row's number can be told; but not more than these. */
enum { MOST_GAP = 1000 };

/* ---- how numbers look ------------------------------------------------------------------ */
enum looks { LOOKS_GENERAL, LOOKS_NUMBER, LOOKS_DATE, LOOKS_TIME, LOOKS_DATE_TIME };

struct style {
    enum looks looks;
    int        decimals;
    bool       percent, groups;
    char       before[24], after[24];   /* "$", " kg"                                     */
};

static void add_literal(struct style *s, bool begun, const char *p, size_t n)
{
    char  *to = begun ? s->after : s->before;
    size_t k = strlen(to);

    if (k + n < sizeof s->before) {
        memcpy(to + k, p, n);
        to[k + n] = 0;
    }
}

/* The first section of a number format. */
static struct style style_of(const char *code)
{
    struct style s = { .looks = LOOKS_NUMBER };
    bool         date = false, time = false, months = false, begun = false, point = false;

    if (!strcmp(code, "General") || !strcmp(code, "@"))
        return (struct style){ .looks = LOOKS_GENERAL };
    for (const char *p = code; *p && *p != ';'; p++) {
        const char *end;

        switch (*p) {
        case '"':
            end = strchr(p + 1, '"');
            if (!end)
                return (struct style){ .looks = LOOKS_GENERAL };
            add_literal(&s, begun, p + 1, (size_t)(end - p - 1));
            p = end;
            break;
        case '[':
            end = strchr(p, ']');
            if (!end)
                return (struct style){ .looks = LOOKS_GENERAL };
            if (p[1] == '$')
                add_literal(&s, begun, p + 2, strcspn(p + 2, "-]"));
            time = time || ((p[1] == 'h' || p[1] == 'm' || p[1] == 's'));
            p = end;
            break;
        case '\\': case '_': case '*':
            if (p[1]) {
                p++;
                if (p[-1] == '\\')
                    add_literal(&s, begun, p, 1);
            }
            break;
        case '0': case '#': case '?':
            begun = true;
            s.decimals += point && *p == '0';
            break;
        case '.': point = true; break;
        case ',': s.groups = true; break;
        case '%': s.percent = true; break;
        case 'y': case 'Y': case 'd': case 'D': date = true; break;
        case 'h': case 'H': case 's': case 'S': time = true; break;
        case 'm': case 'M': months = true; break;       /* or minutes, beside hours or seconds */
        case '$': case '-': case '+': case ' ': case '(': case ')': add_literal(&s, begun, p, *p != '(' && *p != ')'); break;
        case 'E': case 'e': return (struct style){ .looks = LOOKS_GENERAL };
        default: break;
        }
    }
    date = date || (months && !time);
    if (date || time)
        s.looks = date && time ? LOOKS_DATE_TIME : date ? LOOKS_DATE : LOOKS_TIME;
    return s;
}

static const struct { int id; const char *code; } builtin[] = {
    { 1, "0" }, { 2, "0.00" }, { 3, "#,##0" }, { 4, "#,##0.00" }, { 9, "0%" }, { 10, "0.00%" }, { 14, "yyyy-mm-dd" },
    { 15, "d-mmm-yy" }, { 16, "d-mmm" }, { 17, "mmm-yy" }, { 18, "h:mm" }, { 19, "h:mm:ss" }, { 20, "h:mm" },
    { 21, "h:mm:ss" }, { 22, "yyyy-mm-dd h:mm" }, { 37, "#,##0" }, { 38, "#,##0" }, { 39, "#,##0.00" },
    { 40, "#,##0.00" }, { 45, "h:mm:ss" }, { 46, "h:mm:ss" }, { 47, "h:mm:ss" }
};

/* Days since 1899-12-30, as the Gregorian calendar has them. */
static char *date_text(double serial, enum looks looks, bool from_1904)
{
    int64_t days = (int64_t)floor(serial), seconds = (int64_t)llround((serial - floor(serial)) * 86400), z, era, doe, yoe, doy, mp;
    int64_t year;
    int     month, day, h, m, s;

    if (seconds >= 86400) {
        seconds -= 86400;
        days++;
    }
    h = (int)(seconds / 3600), m = (int)(seconds / 60 % 60), s = (int)(seconds % 60);
    if (looks == LOOKS_TIME)
        return s ? format("%02lld:%02d:%02d", (long long)days * 24 + h, m, s)
                 : format("%02lld:%02d", (long long)days * 24 + h, m);
    z = days + (from_1904 ? 1462 : 0) - 25569 + 719468;
    if (z < 0 || z > 4000000)
        return format("%.11g", serial);
    era = z / 146097;
    doe = z - era * 146097;
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    mp = (5 * doy + 2) / 153;
    day = (int)(doy - (153 * mp + 2) / 5 + 1);
    month = (int)(mp < 10 ? mp + 3 : mp - 9);
    year = yoe + era * 400 + (month <= 2);
    if (looks == LOOKS_DATE && !seconds)
        return format("%04lld-%02d-%02d", (long long)year, month, day);
    return format("%04lld-%02d-%02d %02d:%02d", (long long)year, month, day, h, m);
}

static char *number_text(double v, const struct style *s)
{
    char  *digits, *out;
    size_t n, at = 0, whole;

    if (!isfinite(v) || fabs(v) >= 1e15 || s->looks == LOOKS_GENERAL)
        return format("%.11g", v);
    digits = format("%.*f", s->decimals < 15 ? s->decimals : 15, fabs(v) * (s->percent ? 100 : 1));
    n = strlen(digits);
    whole = strcspn(digits, ".");
    out = grow(NULL, n + n / 3 + 2, 1);
    for (size_t i = 0; i < n; i++) {
        if (s->groups && i && i < whole && (whole - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    free(digits);
    digits = format("%s%s%s%s%s", v < 0 ? "-" : "", s->before, out, s->percent ? "%" : "", s->after);
    free(out);
    return digits;
}

/* ---- XLSX ------------------------------------------------------------------------------ */
struct xlsx {
    int           fd;
    bool          from_1904;
    struct sheet { char *name, *id; } *sheet;
    size_t        n_sheet;
    struct target { char *id, *member; } *target;
    size_t        n_target;
    struct style *style;        /* of each cell format                                    */
    size_t        n_style;
    struct code { int id; struct style style; } *code;
    size_t        n_code;
    bool          in_formats;   /* within cellXfs                                         */
    struct text   strings;      /* shared ones, a NUL after each                          */
    size_t       *string, n_string;

    struct grid   grid;         /* of the sheet that is read                              */
    struct text   now, formula;
    size_t        row, column, cell_style;
    char          type[12];
};

static void workbook(void *arg, const char *name, const char **att)
{
    struct xlsx *x = arg;
    const char  *n = markup_att(att, "name"), *id = markup_att(att, "r:id"), *d = markup_att(att, "date1904");

    if (!strcmp(name, "sheet") && n && id) {
        x->sheet = grow(x->sheet, x->n_sheet + 1, sizeof *x->sheet);
        x->sheet[x->n_sheet++] = (struct sheet){ format("%s", n), format("%s", id) };
    } else if (!strcmp(name, "workbookPr") && d) {
        x->from_1904 = !strcmp(d, "1") || !strcmp(d, "true");
    }
}

static void targets(void *arg, const char *name, const char **att)
{
    struct xlsx *x = arg;
    const char  *id = markup_att(att, "Id"), *target = markup_att(att, "Target");

    if (!strcmp(name, "Relationship") && id && target) {
        x->target = grow(x->target, x->n_target + 1, sizeof *x->target);
        x->target[x->n_target++] = (struct target){ format("%s", id), zip_resolve("xl/workbook.xml", target) };
    }
}

static void styles(void *arg, const char *name, const char **att)
{
    struct xlsx *x = arg;
    const char  *id = markup_att(att, "numFmtId"), *code = markup_att(att, "formatCode");

    if (!strcmp(name, "numFmt") && id && code) {
        x->code = grow(x->code, x->n_code + 1, sizeof *x->code);
        x->code[x->n_code++] = (struct code){ atoi(id), style_of(code) };
    } else if (!strcmp(name, "cellXfs") || !strcmp(name, "cellStyleXfs") || !strcmp(name, "cellStyles")) {
        x->in_formats = !strcmp(name, "cellXfs");
    } else if (!strcmp(name, "xf") && x->in_formats) {
        struct style s = { .looks = LOOKS_GENERAL };

        for (size_t i = 0; id && i < sizeof builtin / sizeof *builtin; i++)
            if (builtin[i].id == atoi(id))
                s = style_of(builtin[i].code);
        for (size_t i = 0; id && i < x->n_code; i++)
            if (x->code[i].id == atoi(id))
                s = x->code[i].style;
        x->style = grow(x->style, x->n_style + 1, sizeof *x->style);
        x->style[x->n_style++] = s;
    }
}

static void shared_close(struct markup *m, const char *name)
{
    struct xlsx *x = m->arg;

    if (strcmp(name, "si"))
        return;
    if (!(x->n_string & (x->n_string - 1)))
        x->string = grow(x->string, 2 * x->n_string + 2, sizeof *x->string);
    x->string[x->n_string++] = x->now.n;        /* where it ends */
}

/* "BC12" is column 54. */
static size_t column_of(const char *ref)
{
    size_t n = 0;

    for (; ref && *ref >= 'A' && *ref <= 'Z' && n < GRID_COLUMNS; ref++)
        n = n * 26 + (size_t)(*ref - 'A' + 1);
    return n;
}

static bool cell_open(struct markup *m, const char *name, const char **att)
{
    struct xlsx *x = m->arg;
    const char  *r = markup_att(att, "r"), *s = markup_att(att, "s"), *t = markup_att(att, "t");

    if (!strcmp(name, "row")) {
        const size_t row = r ? (size_t)strtoul(r, NULL, 10) : x->row + 1;

        for (size_t gap = 0; x->row + 1 < row && gap < MOST_GAP; x->row++, gap++)
            grid_row(&x->grid);
        x->row = row;
        x->column = 0;
    } else if (!strcmp(name, "c")) {
        const size_t c = column_of(r);

        x->column = c ? c : x->column + 1;
        x->cell_style = s ? (size_t)strtoul(s, NULL, 10) : 0;
        snprintf(x->type, sizeof x->type, "%s", t ? t : "n");
        m->out->n = 0;
        x->formula.n = 0;
    }
    return false;
}

static void cell_value(struct xlsx *x, const char *v)
{
    static const struct style general = { .looks = LOOKS_GENERAL };
    const struct style *s = x->cell_style < x->n_style ? &x->style[x->cell_style] : &general;
    char               *end, *text;
    double              number;

    if (!strcmp(x->type, "s")) {
        const size_t i = (size_t)strtoul(v, &end, 10);

        if (end > v && i < x->n_string) {
            const size_t from = i ? x->string[i - 1] : 0;

            grid_put(&x->grid, x->column - 1, x->strings.p + from, x->string[i] - from);
        }
        return;
    }
    number = strtod(v, &end);
    if (!strcmp(x->type, "b"))
        text = format("%s", *v == '1' ? "TRUE" : "FALSE");
    else if (strcmp(x->type, "n") || end == v || *end)
        text = format("%s", v);
    else if (s->looks >= LOOKS_DATE && fabs(number) < 4e6)          /* a day of some year */
        text = date_text(number, s->looks, x->from_1904);
    else
        text = number_text(number, s);
    grid_put(&x->grid, x->column - 1, text, strlen(text));
    free(text);
}

static void cell_close(struct markup *m, const char *name)
{
    struct xlsx *x = m->arg;

    if (!strcmp(name, "f")) {
        text_add(&x->formula, m->out->p ? m->out->p : "", m->out->n);
        m->out->n = 0;
    } else if (!strcmp(name, "c") && x->column) {
        char *v = format("%.*s", (int)m->out->n, m->out->p ? m->out->p : "");

        if (*v)
            cell_value(x, v);
        else if (x->formula.n) {                /* a program that does not compute has written it */
            grid_put(&x->grid, x->column - 1, "=", 1);
            grid_put(&x->grid, x->column - 1, x->formula.p, x->formula.n);
        }
        free(v);
    } else if (!strcmp(name, "row")) {
        grid_row(&x->grid);
    }
}

static void each_of(int fd, const char *member, void (*f)(void *, const char *, const char **), struct xlsx *x)
{
    size_t n;
    char  *xml = zip_member(fd, member, &n);

    if (xml)
        markup_each(xml, n, f, x);
    free(xml);
}

int read_xlsx(int fd, FILE *out, FILE *err)
{
    static const struct element elements[] = { { "t", DOES_TEXT }, { "v", DOES_TEXT }, { "f", DOES_TEXT },
                                               { "rPh", DOES_SKIP }, { NULL, 0 } };
    struct xlsx   x = { .fd = fd };
    struct text   t = { NULL, 0, 0 };
    struct markup shared = { .table = elements, .only_text = true, .close = shared_close, .arg = &x, .out = &x.now };
    size_t        n;
    char         *xml;

    each_of(fd, "xl/workbook.xml", workbook, &x);
    if (!x.n_sheet) {
        fprintf(err, "it has no list of sheets, or that is damaged\n");
        return 1;
    }
    each_of(fd, "xl/_rels/workbook.xml.rels", targets, &x);
    each_of(fd, "xl/styles.xml", styles, &x);
    xml = zip_member(fd, "xl/sharedStrings.xml", &n);
    if (xml)
        markup_xml(&shared, xml, n);
    free(xml);
    x.strings = x.now;
    x.now = (struct text){ NULL, 0, 0 };
    x.grid.out = &t;
    for (size_t i = 0; i < x.n_sheet; i++) {
        struct markup m = { .table = elements, .only_text = true, .open = cell_open, .close = cell_close, .arg = &x,
                            .out = &x.now };
        const char   *member = NULL;

        for (size_t k = 0; k < x.n_target; k++)
            member = strcmp(x.target[k].id, x.sheet[i].id) ? member : x.target[k].member;
        xml = member ? zip_member(fd, member, &n) : NULL;
        text_printf(&t, "%sSheet %s\n", i ? "\f" : "", x.sheet[i].name);
        x.row = 0;
        if (xml && !markup_xml(&m, xml, n)) {
            fprintf(err, "sheet %s is damaged\n", x.sheet[i].name);
            return 1;
        }
        free(xml);
        grid_free(&x.grid);
        fwrite(t.p, 1, t.n, out);
        t.n = 0;
    }
    return 0;                   /* the process ends, and its memory with it */
}

/* ---- OpenDocument ---------------------------------------------------------------------- */
struct ods {
    struct grid grid;
    struct text sheet;
    bool        some;           /* a sheet has ended                                      */
    size_t      column, columns, rows;  /* of this row; how often cell and row are repeated */
    size_t      gap;
};

static size_t times(const char **att, const char *name)
{
    const char *s = markup_att(att, name);
    long        n = s ? strtol(s, NULL, 10) : 1;

    return n > 0 ? (size_t)n : 1;
}

static bool ods_open(struct markup *m, const char *name, const char **att)
{
    struct ods *o = m->arg;

    if (!strcmp(name, "table") && markup_att(att, "name")) {
        text_printf(&o->sheet, "%sSheet %s\n", o->some ? "\f" : "", markup_att(att, "name"));
        o->some = true;
        o->gap = 0;
    } else if (!strcmp(name, "table-row")) {
        o->column = 0;
        o->rows = times(att, "number-rows-repeated");
    } else if (!strcmp(name, "table-cell") || !strcmp(name, "covered-table-cell")) {
        o->columns = times(att, "number-columns-repeated");
        m->out->n = 0;
    } else if (!strcmp(name, "p") && m->out->n) {
        text_puts(m->out, "\n");                /* between the paragraphs of a cell */
    }
    return false;
}

static void ods_close(struct markup *m, const char *name)
{
    struct ods *o = m->arg;

    if (!strcmp(name, "table-cell") || !strcmp(name, "covered-table-cell")) {
        for (; m->out->n && o->gap; o->gap = o->gap > MOST_GAP ? MOST_GAP : o->gap - 1)
            grid_row(&o->grid);                 /* rows that are empty, as one follows */
        for (size_t i = 0; m->out->n && i < o->columns && o->column + i < GRID_COLUMNS; i++)
            grid_put(&o->grid, o->column + i, m->out->p, m->out->n);
        o->column = o->column + o->columns < GRID_COLUMNS ? o->column + o->columns : GRID_COLUMNS;
        m->out->n = 0;
    } else if (!strcmp(name, "table-row")) {
        if (o->grid.used)
            grid_row(&o->grid);
        else
            o->gap += o->rows;
    } else if (!strcmp(name, "table")) {
        grid_free(&o->grid);
    }
}

int read_ods(int fd, FILE *out, FILE *err)
{
    static const struct element elements[] = { { "p", DOES_TEXT }, { "s", DOES_SPACES }, { "annotation", DOES_SKIP },
                                               { "line-break", DOES_TAB }, { NULL, 0 } };
    struct ods    o = { .some = false };
    struct text   now = { NULL, 0, 0 };
    struct markup m = { .table = elements, .only_text = true, .open = ods_open, .close = ods_close, .arg = &o, .out = &now };
    size_t        n;
    char         *xml = zip_member(fd, "content.xml", &n);

    o.grid.out = &o.sheet;
    if (!xml || !markup_xml(&m, xml, n)) {
        fprintf(err, "it has no content.xml, or that is damaged\n");
        return 1;
    }
    fwrite(o.sheet.p ? o.sheet.p : "", 1, o.sheet.n, out);
    return 0;
}
#endif
