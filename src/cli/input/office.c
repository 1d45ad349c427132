/* SPDX-License-Identifier: BSD-2-Clause
 * office.c - DOCX, PPTX, OpenDocument text and presentations, EPUB: XML files in a ZIP archive */
#include "config.h"
#include "src/cli/input/readers.h"
#if HAVE_LIBARCHIVE && HAVE_LIBXML2
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/markup.h"
#include "src/cli/input/zip.h"

static void give(struct text *t, FILE *out)
{
    fwrite(t->p ? t->p : "", 1, t->n, out);
    text_free(t);
}

static int lacks(FILE *err, const char *member)
{
    fprintf(err, "it has no %s, or that is damaged\n", member);
    return 1;
}

/* ---- relations between members ----------------------------------------------------------- */
struct relations {
    const char *from;           /* the member they are of                                 */
    struct relation { char *id, *member, *type; } *v;      /* type: the last word of its address */
    size_t      n;
};

static void relation(void *arg, const char *name, const char **att)
{
    struct relations *r = arg;
    const char *id = markup_att(att, "Id"), *target = markup_att(att, "Target"), *type = markup_att(att, "Type");
    const char *mode = markup_att(att, "TargetMode");

    if (strcmp(name, "Relationship") || !id || !target || !type || (mode && !strcmp(mode, "External")))
        return;
    type = strrchr(type, '/') ? strrchr(type, '/') + 1 : type;
    r->v = grow(r->v, r->n + 1, sizeof *r->v);
    r->v[r->n++] = (struct relation){ format("%s", id), zip_resolve(r->from, target), format("%s", type) };
}

static struct relations relations_of(int fd, const char *member)
{
    struct relations r = { member, NULL, 0 };
    const char *slash = strrchr(member, '/');
    const int   dir = slash ? (int)(slash + 1 - member) : 0;
    char       *name = format("%.*s_rels/%s.rels", dir, member, member + dir), *xml;
    size_t      n;

    xml = zip_member(fd, name, &n);
    if (xml)
        markup_each(xml, n, relation, &r);
    free(xml);
    free(name);
    return r;
}

static const char *related(const struct relations *r, const char *id)
{
    for (size_t i = 0; id && i < r->n; i++)
        if (!strcmp(r->v[i].id, id))
            return r->v[i].member;
    return NULL;
}

static void relations_free(struct relations *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->v[i].id);
        free(r->v[i].member);
        free(r->v[i].type);
    }
    free(r->v);
}

/* ---- Office Open XML ------------------------------------------------------------------- */
static const struct element ooxml[] = {
    { "p", DOES_BLOCK }, { "t", DOES_TEXT }, { "tab", DOES_TAB }, { "tabs", DOES_SKIP }, { "br", DOES_BREAK },
    { "cr", DOES_BREAK }, { "noBreakHyphen", DOES_HYPHEN }, { "Fallback", DOES_SKIP }, { "moveFrom", DOES_SKIP },
    { "tr", DOES_ROW }, { "tc", DOES_CELL }, { "lastRenderedPageBreak", DOES_PAGE }, { NULL, 0 }
};

/* Where the paragraphs of lists have their numbers from. */
struct level { char *abstract; int level; long start; bool bullet; char *text; };

struct lists {
    struct level *v;
    size_t        n;
    struct num { char *id, *abstract; } *num;
    size_t        n_num;
    struct style { char *id, *num; int level; } *style;
    size_t        n_style;
    char         *now;          /* while its members are read: the abstract list, list or style */
};

struct part {
    int               fd;
    struct relations *r;
    struct lists     *lists;
    struct count { const char *abstract; int level; long n; } *count;
    size_t            n_count;
    char              num_room[24], style[64];  /* of this paragraph: its list, its style */
    int               level;
    bool              own_num, pending, breaks_known, up;
};

static void keep_string(char **s, const char *value)
{
    free(*s);
    *s = format("%s", value ? value : "");
}

static void list_element(void *arg, const char *name, const char **att)
{
    struct lists *l = arg;
    const char   *val = markup_att(att, "val");

    if (!strcmp(name, "abstractNum")) {
        keep_string(&l->now, markup_att(att, "abstractNumId"));
    } else if (!strcmp(name, "num")) {
        l->num = grow(l->num, l->n_num + 1, sizeof *l->num);
        l->num[l->n_num++] = (struct num){ format("%s", markup_att(att, "numId") ? markup_att(att, "numId") : ""),
                                           format("%s", "") };
    } else if (!strcmp(name, "abstractNumId") && l->n_num) {
        keep_string(&l->num[l->n_num - 1].abstract, val);
    } else if (!strcmp(name, "lvl") && !l->n_num) {
        const char *at = markup_att(att, "ilvl");

        l->v = grow(l->v, l->n + 1, sizeof *l->v);
        l->v[l->n++] = (struct level){ format("%s", l->now ? l->now : ""), at ? atoi(at) : 0, 1, false,
                                       format("%s", "%1.") };
    } else if (!strcmp(name, "start") && l->n && !l->n_num) {
        const long first = val ? strtol(val, NULL, 10) : 1;

        l->v[l->n - 1].start = first >= 0 && first < 1000000 ? first : 1;
    } else if (!strcmp(name, "numFmt") && l->n && !l->n_num) {
        l->v[l->n - 1].bullet = val && (!strcmp(val, "bullet") || !strcmp(val, "none"));
    } else if (!strcmp(name, "lvlText") && l->n && !l->n_num) {
        keep_string(&l->v[l->n - 1].text, val);
    }
}

static void style_element(void *arg, const char *name, const char **att)
{
    struct lists *l = arg;
    const char   *val = markup_att(att, "val");

    if (!strcmp(name, "style")) {
        l->style = grow(l->style, l->n_style + 1, sizeof *l->style);
        l->style[l->n_style++] = (struct style){ format("%s", markup_att(att, "styleId") ? markup_att(att, "styleId") : ""),
                                                 NULL, 0 };
    } else if (!strcmp(name, "numId") && l->n_style) {
        keep_string(&l->style[l->n_style - 1].num, val);
    } else if (!strcmp(name, "ilvl") && l->n_style && val) {
        l->style[l->n_style - 1].level = atoi(val);
    }
}

static const struct level *level_of(const struct lists *l, const char *num, int level)
{
    for (size_t i = 0; i < l->n_num; i++)
        if (!strcmp(l->num[i].id, num))
            for (size_t k = 0; k < l->n; k++)
                if (!strcmp(l->v[k].abstract, l->num[i].abstract) && l->v[k].level == level)
                    return &l->v[k];
    return NULL;
}

static long *count_of(struct part *p, const struct level *v)
{
    for (size_t i = 0; i < p->n_count; i++)
        if (!strcmp(p->count[i].abstract, v->abstract) && p->count[i].level == v->level)
            return &p->count[i].n;
    p->count = grow(p->count, p->n_count + 1, sizeof *p->count);
    p->count[p->n_count] = (struct count){ v->abstract, v->level, v->start - 1 };
    return &p->count[p->n_count++].n;
}

/* "2.1. " before the first text of a paragraph of a list: the level's pattern with the numbers in it, in figures. */
static void put_label(struct markup *m, struct part *p)
{
    const struct level *v, *up;

    for (size_t i = 0; p->lists && !p->own_num && *p->style && i < p->lists->n_style; i++)
        if (!strcmp(p->lists->style[i].id, p->style) && p->lists->style[i].num) {
            snprintf(p->num_room, sizeof p->num_room, "%s", p->lists->style[i].num);
            p->level = p->lists->style[i].level;
        }
    v = p->lists && *p->num_room ? level_of(p->lists, p->num_room, p->level) : NULL;
    p->pending = false;
    if (!v)
        return;
    for (int i = 0; i < v->level && i < 9; i++)
        text_puts(m->out, "  ");
    if (v->bullet) {
        text_puts(m->out, "- ");
        return;
    }
    ++*count_of(p, v);
    for (size_t i = 0; i < p->n_count; i++)     /* lower levels begin again */
        if (!strcmp(p->count[i].abstract, v->abstract) && p->count[i].level > v->level) {
            p->count[i].n = level_of(p->lists, p->num_room, p->count[i].level)->start - 1;
        }
    for (const char *t = v->text; *t; t++)
        if (*t == '%' && t[1] >= '1' && t[1] <= '9') {
            up = level_of(p->lists, p->num_room, *++t - '1');
            text_printf(m->out, "%ld", up ? *count_of(p, up) : 1L);
        } else {
            text_add(m->out, t, 1);
        }
    text_puts(m->out, " ");
}

static bool office_xml(int fd, const char *member, struct lists *lists, struct text *out);

static bool ends_with(const struct text *t, const char *s)
{
    const size_t n = strlen(s);

    return t->n >= n && !memcmp(t->p + t->n - n, s, n);
}

static bool office_open(struct markup *m, const char *name, const char **att)
{
    struct part *p = m->arg;
    const char  *val = markup_att(att, "val");

    if (!strcmp(name, "p")) {
        *p->num_room = *p->style = 0;
        p->level = 0;
        p->own_num = false;
        p->pending = true;
        return ends_with(m->out, "] ");         /* the mark of a note has begun the line */
    } else if (!strcmp(name, "r")) {
        p->up = false;
    } else if (!strcmp(name, "pStyle") && val) {
        snprintf(p->style, sizeof p->style, "%s", val);
    } else if (!strcmp(name, "numId") && val) {
        snprintf(p->num_room, sizeof p->num_room, "%s", val);
        p->own_num = true;
    } else if (!strcmp(name, "ilvl") && val) {
        p->level = atoi(val);
    } else if (!strcmp(name, "vertAlign")) {
        p->up = val && !strcmp(val, "superscript");
    } else if (!strcmp(name, "t")) {
        if (p->pending)
            put_label(m, p);
        if (p->up)
            text_puts(m->out, "^");
        p->up = false;
    } else if (!strcmp(name, "footnoteReference") || !strcmp(name, "endnoteReference")) {
        text_printf(m->out, "[%s %s]", *name == 'f' ? "note" : "end note", markup_att(att, "id") ? markup_att(att, "id") : "");
    } else if (!strcmp(name, "footnote") || !strcmp(name, "endnote")) {
        const char *id = markup_att(att, "id");

        if (id && atoi(id) > 0)                 /* the others are lines */
            text_printf(m->out, "[%s %s] ", *name == 'f' ? "note" : "end note", id);
    } else if (!strcmp(name, "br") && markup_att(att, "type") && !strcmp(markup_att(att, "type"), "page")) {
        if (!p->breaks_known)
            markup_page(m);
        return true;
    } else if (!strcmp(name, "chart") || !strcmp(name, "relIds")) {
        const char *id = markup_att(att, *name == 'c' ? "r:id" : "r:dm"), *member = related(p->r, id);

        if (member) {
            markup_line(m);
            office_xml(p->fd, member, NULL, m->out);
        }
    } else if (!strcmp(name, "sym") && markup_att(att, "char")) {
        text_puts(m->out, "*");
    }
    return false;
}

/* ---- charts ---------------------------------------------------------------------------- */
/* A series is a name, categories and values: "Sales: 2017 12; 2018 14". */
struct chart {
    enum { IN_NOTHING, IN_NAME, IN_CATEGORY, IN_VALUE, IN_TITLE } in;
    struct text  name, title, now, *category, *value;
    size_t       n_category, n_value;
};

static bool chart_open(struct markup *m, const char *name, const char **att)
{
    struct chart *c = m->arg;

    (void)att;
    if (!strcmp(name, "title"))
        c->in = IN_TITLE;
    else if (!strcmp(name, "ser"))
        c->in = IN_NOTHING;
    else if (!strcmp(name, "tx") && c->in != IN_TITLE)
        c->in = IN_NAME;
    else if (!strcmp(name, "cat") || !strcmp(name, "xVal"))
        c->in = IN_CATEGORY;
    else if (!strcmp(name, "val") || !strcmp(name, "yVal"))
        c->in = IN_VALUE;
    return false;
}

static void add_to(struct text **v, size_t *n, const char *s)
{
    *v = grow(*v, *n + 1, sizeof **v);
    (*v)[*n] = (struct text){ NULL, 0, 0 };
    text_puts(&(*v)[(*n)++], s);
}

static void drop_all(struct text **v, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        text_free(&(*v)[i]);
    free(*v);
    *v = NULL;
    *n = 0;
}

static void chart_close(struct markup *m, const char *name)
{
    struct chart *c = m->arg;
    struct text  *t = m->out;

    if (!strcmp(name, "v") || !strcmp(name, "t")) {
        char *s = format("%.*s", (int)t->n, t->p ? t->p : "");

        t->n = 0;
        if (c->in == IN_NAME || c->in == IN_TITLE)
            text_puts(c->in == IN_NAME ? &c->name : &c->title, s);
        else if (c->in == IN_CATEGORY)
            add_to(&c->category, &c->n_category, s);
        else if (c->in == IN_VALUE)
            add_to(&c->value, &c->n_value, s);
        free(s);
    } else if (!strcmp(name, "title")) {
        c->in = IN_NOTHING;
        text_puts(&c->now, c->title.p ? c->title.p : "");
        text_puts(&c->now, "\n");
        text_free(&c->title);
    } else if (!strcmp(name, "ser")) {
        text_printf(&c->now, "%s:", c->name.n ? c->name.p : "Values");
        for (size_t i = 0; i < c->n_value; i++)
            text_printf(&c->now, "%s %s %s", i ? ";" : "", i < c->n_category ? c->category[i].p : "", c->value[i].p);
        text_puts(&c->now, "\n");
        drop_all(&c->category, &c->n_category);
        drop_all(&c->value, &c->n_value);
        text_free(&c->name);
        c->in = IN_NOTHING;
    }
}

static void chart_text(const char *xml, size_t n, struct text *out)
{
    static const struct element elements[] = { { "v", DOES_TEXT }, { "t", DOES_TEXT }, { NULL, 0 } };
    struct chart  c = { .in = IN_NOTHING };
    struct text   t = { NULL, 0, 0 };
    struct markup m = { .table = elements, .only_text = true, .open = chart_open, .close = chart_close, .arg = &c,
                        .out = &t };

    markup_xml(&m, xml, n);
    if (c.now.n)
        text_printf(out, "Chart: %s", c.now.p);
    text_free(&t);
    text_free(&c.name);
    text_free(&c.title);
    text_free(&c.now);
    drop_all(&c.category, &c.n_category);
    drop_all(&c.value, &c.n_value);
}

/* False: there is no such member, or it is damaged. */
static bool office_xml(int fd, const char *member, struct lists *lists, struct text *out)
{
    struct relations r = relations_of(fd, member);
    struct part      p = { .fd = fd, .r = &r, .lists = lists };
    struct markup    m = { .table = ooxml, .only_text = true, .open = office_open, .arg = &p, .out = out };
    size_t           n;
    char            *xml = zip_member(fd, member, &n);
    bool             good = xml;

    if (xml && memmem(xml, n < 4096 ? n : 4096, "chartSpace", 10)) {
        chart_text(xml, n, out);
    } else if (xml) {
        p.breaks_known = memmem(xml, n, "lastRenderedPageBreak", 21);
        good = markup_xml(&m, xml, n);
        markup_line(&m);
    }
    free(xml);
    free(p.count);
    relations_free(&r);
    return good;
}

/* Those of a type, each once, behind a word. */
static void all_of(int fd, const struct relations *r, const char *type, const char *word, struct text *out)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->v[i].type, type)) {
            struct text t = { NULL, 0, 0 };
            size_t      at = 0;

            office_xml(fd, r->v[i].member, NULL, &t);
            while (at < t.n && strchr(" \n\t\f", t.p[at]))
                at++;
            if (t.n > at)
                text_printf(out, "%s%s", word, t.p + at);
            text_free(&t);
        }
}

static void lists_read(struct lists *l, int fd)
{
    size_t n;
    char  *xml = zip_member(fd, "word/numbering.xml", &n);

    if (xml)
        markup_each(xml, n, list_element, l);
    free(xml);
    xml = zip_member(fd, "word/styles.xml", &n);
    if (xml)
        markup_each(xml, n, style_element, l);
    free(xml);
}

static void lists_free(struct lists *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].abstract);
        free(l->v[i].text);
    }
    for (size_t i = 0; i < l->n_num; i++) {
        free(l->num[i].id);
        free(l->num[i].abstract);
    }
    for (size_t i = 0; i < l->n_style; i++) {
        free(l->style[i].id);
        free(l->style[i].num);
    }
    free(l->v);
    free(l->num);
    free(l->style);
    free(l->now);
}

int read_docx(int fd, FILE *out, FILE *err)
{
    static const char main_part[] = "word/document.xml";
    struct relations  r = relations_of(fd, main_part);
    struct lists      lists = { .n = 0 };
    struct text       t = { NULL, 0, 0 };
    bool              good;

    lists_read(&lists, fd);
    all_of(fd, &r, "header", "", &t);
    good = office_xml(fd, main_part, &lists, &t);
    all_of(fd, &r, "footnotes", "", &t);
    all_of(fd, &r, "endnotes", "", &t);
    all_of(fd, &r, "footer", "", &t);
    all_of(fd, &r, "comments", "Comments: ", &t);
    relations_free(&r);
    lists_free(&lists);
    give(&t, out);
    return good ? 0 : lacks(err, main_part);
}

/* ---- presentations --------------------------------------------------------------------- */
struct members {
    const struct relations *r;
    char                  **v;
    size_t                  n;
};

static void slide(void *arg, const char *name, const char **att)
{
    struct members *s = arg;
    const char     *member = strcmp(name, "sldId") ? NULL : related(s->r, markup_att(att, "r:id"));

    if (member) {
        s->v = grow(s->v, s->n + 1, sizeof *s->v);
        s->v[s->n++] = format("%s", member);
    }
}

int read_pptx(int fd, FILE *out, FILE *err)
{
    static const char main_part[] = "ppt/presentation.xml";
    struct relations  r = relations_of(fd, main_part);
    struct members    s = { &r, NULL, 0 };
    struct text       t = { NULL, 0, 0 };
    size_t            n;
    int               bad = 0;
    char             *xml = zip_member(fd, main_part, &n);

    if (!xml) {
        relations_free(&r);
        return lacks(err, main_part);
    }
    markup_each(xml, n, slide, &s);
    free(xml);
    for (size_t i = 0; i < s.n; i++) {
        struct relations own = relations_of(fd, s.v[i]);

        text_puts(&t, i ? "\f" : "");
        if (!office_xml(fd, s.v[i], NULL, &t))
            bad = lacks(err, s.v[i]);
        all_of(fd, &own, "notesSlide", "Notes: ", &t);
        relations_free(&own);
        free(s.v[i]);
    }
    free(s.v);
    relations_free(&r);
    give(&t, out);
    return bad;
}

/* ---- OpenDocument ---------------------------------------------------------------------- */
static const struct element odf[] = {
    { "p", DOES_BLOCK }, { "h", DOES_BLOCK }, { "tab", DOES_TAB }, { "s", DOES_SPACES }, { "line-break", DOES_BREAK },
    { "table-row", DOES_ROW }, { "table-cell", DOES_CELL }, { "covered-table-cell", DOES_CELL },
    { "tracked-changes", DOES_SKIP }, { "soft-page-break", DOES_PAGE }, { "list", DOES_LIST }, { "list-item", DOES_ITEM },
    { "note", DOES_NOTE }, { "desc", DOES_SKIP }, { "scripts", DOES_SKIP }, { "annotation", DOES_NOTE },
    { "event-listeners", DOES_SKIP }, { NULL, 0 }
};

enum { STYLES = 4096, NAME = 48 };

struct odf {
    int    fd;
    bool   slides;              /* there was one                                          */
    /* Styles whose text is raised, and levels of lists that have numbers: by name and level. */
    struct named { char name[NAME]; int level; } *up, *ordered;
    size_t n_up, n_ordered;
    char   style[NAME], list[NAME];     /* the one that is described; of the list that is open */
};

static bool has(const struct named *v, size_t n, const char *name, int level)
{
    for (size_t i = 0; name && i < n; i++)
        if (v[i].level == level && !strcmp(v[i].name, name))
            return true;
    return false;
}

static void remember(struct named **v, size_t *n, const char *name, int level)
{
    if (*n == STYLES)
        return;
    *v = grow(*v, *n + 1, sizeof **v);
    (*v)[*n] = (struct named){ .level = level };
    snprintf((*v)[(*n)++].name, NAME, "%s", name);
}

static bool odf_xml(int fd, const char *member, struct text *out);

static bool odf_open(struct markup *m, const char *name, const char **att)
{
    struct odf *o = m->arg;
    const char *href = markup_att(att, "href"), *style = markup_att(att, "style:name");
    const char *up = markup_att(att, "text-position"), *level = markup_att(att, "text:level");

    if ((!strcmp(name, "style") || !strcmp(name, "list-style")) && style) {
        snprintf(o->style, sizeof o->style, "%s", style);
    } else if (!strcmp(name, "text-properties") && up && (!strncmp(up, "super", 5) || atoi(up) > 0)) {
        remember(&o->up, &o->n_up, o->style, 0);
    } else if (!strcmp(name, "list-level-style-number") && level) {
        remember(&o->ordered, &o->n_ordered, o->style, atoi(level));
    } else if (!strcmp(name, "list")) {
        const char *own = markup_att(att, "text:style-name");

        if (own)
            snprintf(o->list, sizeof o->list, "%s", own);
        markup_list(m, has(o->ordered, o->n_ordered, o->list, m->n_lists + 1));
        return true;
    } else if (!strcmp(name, "span") && has(o->up, o->n_up, markup_att(att, "text:style-name"), 0)) {
        text_puts(m->out, "^");
    } else if (!strcmp(name, "page") && markup_att(att, "draw:name")) {
        if (o->slides)
            markup_page(m);
        o->slides = true;
    } else if (!strcmp(name, "note-body")) {
        text_puts(m->out, " ");
    } else if (!strcmp(name, "p") && m->n_lists && (ends_with(m->out, "- ") || ends_with(m->out, ". "))) {
        return true;            /* a list's item has begun the line */
    } else if (!strcmp(name, "object") && href && !strstr(href, "://")) {
        char *member = format("%s/content.xml", !strncmp(href, "./", 2) ? href + 2 : href);

        markup_line(m);
        odf_xml(o->fd, member, m->out);
        free(member);
    }
    return false;
}

static bool odf_xml(int fd, const char *member, struct text *out)
{
    bool          good;
    struct odf    o = { .fd = fd };
    struct markup m = { .table = odf, .collapse = true, .open = odf_open, .arg = &o, .out = out };
    size_t        n;
    char         *xml = zip_member(fd, member, &n);

    good = xml && markup_xml(&m, xml, n);
    markup_line(&m);
    free(xml);
    free(o.up);
    free(o.ordered);
    return good;
}

/* Members are then cipher, which their list says. */
static bool is_locked(int fd)
{
    size_t     n;
    char      *list = zip_member(fd, "META-INF/manifest.xml", &n);
    const bool locked = list && strstr(list, "encryption-data");

    free(list);
    return locked;
}

int read_odf(int fd, FILE *out, FILE *err)
{
    struct text t = { NULL, 0, 0 };
    size_t      n;
    char       *xml = zip_member(fd, "content.xml", &n), *type = zip_member(fd, "mimetype", &n);
    int         code = 0;

    if (is_locked(fd))
        code = fprintf(err, "it has a password; save it without one\n") > 0;
    else if (!xml)
        code = lacks(err, "content.xml");
    else if (type && strstr(type, "spreadsheet"))
        code = read_ods(fd, out, err);
    else {
        if (type && strstr(type, "opendocument.text"))
            odf_xml(fd, "styles.xml", &t);      /* headers and footers */
        code = odf_xml(fd, "content.xml", &t) ? 0 : lacks(err, "content.xml");
        give(&t, out);
    }
    free(xml);
    free(type);
    return code;
}

/* ---- EPUB ------------------------------------------------------------------------------ */
struct book {
    char   *opf;
    struct item { char *id, *href; } *item;
    size_t  n;
    struct members spine;
};

static void root_file(void *arg, const char *name, const char **att)
{
    struct book *b = arg;

    if (!strcmp(name, "rootfile") && !b->opf && markup_att(att, "full-path"))
        b->opf = format("%s", markup_att(att, "full-path"));
}

static void package(void *arg, const char *name, const char **att)
{
    struct book *b = arg;
    const char  *id = markup_att(att, "id"), *href = markup_att(att, "href"), *ref = markup_att(att, "idref");

    if (!strcmp(name, "item") && id && href) {
        b->item = grow(b->item, b->n + 1, sizeof *b->item);
        b->item[b->n++] = (struct item){ format("%s", id), format("%s", href) };
    } else if (!strcmp(name, "itemref") && ref) {
        for (size_t i = 0; i < b->n; i++)
            if (!strcmp(b->item[i].id, ref)) {
                b->spine.v = grow(b->spine.v, b->spine.n + 1, sizeof *b->spine.v);
                b->spine.v[b->spine.n++] = format("%s", b->item[i].href);
                break;
            }
    }
}

/* "a%20b" is "a b". */
static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++) {
        unsigned c;

        if (*s == '%' && sscanf(s + 1, "%2x", &c) == 1 && c && s[2]) {
            *to++ = (char)c;
            s += 2;
        } else if (*s == '#') {
            break;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
}

int read_epub(int fd, FILE *out, FILE *err)
{
    struct book b = { .opf = NULL };
    struct text t = { NULL, 0, 0 };
    size_t      n;
    char       *xml = zip_member(fd, "META-INF/container.xml", &n);

    if (xml)
        markup_each(xml, n, root_file, &b);
    free(xml);
    xml = b.opf ? zip_member(fd, b.opf, &n) : NULL;
    if (!xml) {
        free(b.opf);
        return lacks(err, "list of chapters");
    }
    markup_each(xml, n, package, &b);
    free(xml);
    for (size_t i = 0; i < b.spine.n; i++) {
        char *member;

        unescape(b.spine.v[i]);
        member = zip_resolve(b.opf, b.spine.v[i]);
        xml = zip_member(fd, member, &n);
        text_puts(&t, i ? "\f" : "");
        if (xml)
            text_of_html(xml, n, false, &t);
        free(xml);
        free(member);
        free(b.spine.v[i]);
    }
    for (size_t i = 0; i < b.n; i++) {
        free(b.item[i].id);
        free(b.item[i].href);
    }
    free(b.item);
    free(b.spine.v);
    free(b.opf);
    give(&t, out);
    return 0;
}
#endif
