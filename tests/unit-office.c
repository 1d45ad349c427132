/* SPDX-License-Identifier: BSD-2-Clause
 * unit-office.c - the text of Office files, OpenDocument and EPUB, from members that are written here */
#include "config.h"
#include <stdio.h>
#include "tests/tap.h"
#if HAVE_LIBARCHIVE && HAVE_LIBXML2
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/input/grid.h"
#include "src/cli/input/readers.h"
#include "src/cli/input/zip.h"
#include "src/cli/text.h"

enum { ROOM = 4 << 20 };

struct member { const char *name, *text; };

/* Says of each member that its name is UTF-8, as programs do: in its head, and in the list at the end. */
static void say_utf8(char *zip, size_t n)
{
    for (char *p = zip; (p = memmem(p, n - (size_t)(p - zip), "PK", 2)); p += 2)
        if (!memcmp(p, "PK\3\4", 4))
            p[7] |= 8;
        else if (!memcmp(p, "PK\1\2", 4))
            p[9] |= 8;
}

/* A file with these members, stored as they are. */
static FILE *zipped(const struct member *m)
{
    static char     zip[ROOM];
    struct archive *a = archive_write_new();
    size_t          used = 0;
    FILE           *f = tmpfile();

    archive_write_set_format_zip(a);
    archive_write_zip_set_compression_store(a);
    archive_write_open_memory(a, zip, sizeof zip, &used);
    for (; m->name; m++) {
        struct archive_entry *e = archive_entry_new();

        archive_entry_set_pathname(e, m->name);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_size(e, (la_int64_t)strlen(m->text));
        archive_write_header(a, e);
        archive_write_data(a, m->text, strlen(m->text));
        archive_entry_free(e);
    }
    archive_write_close(a);
    archive_write_free(a);
    say_utf8(zip, used);
    if (!f || fwrite(zip, 1, used, f) != used || fflush(f)) {
        printf("Bail out! no temporary file\n");
        exit(1);
    }
    return f;
}

/* Asked by LeakSanitizer.  Readers leave what they have to the end of their process. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
    return 1;
}

/* why: what is said, and the reader fails; NULL: it does not. */
static void shows(int line, child_reader *read, const struct member *m, const char *want, const char *why)
{
    char  *out = NULL, *err = NULL;
    size_t n_out, n_err;
    FILE  *f = zipped(m), *to = open_memstream(&out, &n_out), *say_to = open_memstream(&err, &n_err);
    int    code = read(fileno(f), to, say_to);
    bool   good;

    fclose(to);
    fclose(say_to);
    fclose(f);
    good = !strcmp(out, want) && !strcmp(err, why ? why : "") && code == (why != NULL);
    ok(good, "line %d", line);
    if (!good)
        printf("# want %s\n# got  %s\n# %s\n", want, out, err);
    free(out);
    free(err);
}

#define SHOWS(read, want, why, ...) shows(__LINE__, read, (const struct member[]){ __VA_ARGS__, { NULL, NULL } }, want, why)

/* ---- members ----------------------------------------------------------------------------- */
static void resolves(const char *from, const char *target, const char *want)
{
    char *got = zip_resolve(from, target);

    ok(!strcmp(got, want), "%s in %s is %s", target, from, want);
    free(got);
}

static void members(void)
{
    const struct member m[] = { { "a", "first" }, { "b/c", "second" }, { "e", "" }, { NULL, NULL } };
    FILE  *f = zipped(m);
    size_t n;
    char  *s, data[1000];

    s = zip_member(fileno(f), "b/c", &n);
    ok(s && n == 6 && !strcmp(s, "second"), "a member");
    free(s);
    s = zip_member(fileno(f), "a", &n);
    ok(s && n == 5 && !strcmp(s, "first"), "... and one before it, wherever the file is");
    free(s);
    s = zip_member(fileno(f), "e", &n);
    ok(s && !n && !*s, "an empty one is there");
    free(s);
    s = zip_member(fileno(f), "b", &n);
    ok(!s && !n, "no member");
    rewind(f);
    n = fread(data, 1, sizeof data, f);
    s = memmem(data, n, "second", 6);
    s[2] = 'C';
    rewind(f);
    fwrite(data, 1, n, f);
    fflush(f);
    ok(!zip_member(fileno(f), "b/c", &n), "a member whose sum is wrong is none");
    s = zip_member(fileno(f), "a", &n);
    ok(s && n == 5, "... and the others are read");
    free(s);
    fclose(f);
    f = zipped((const struct member[]){ { "\xff", "x" }, { "a", "first" }, { NULL, NULL } });
    s = zip_member(fileno(f), "a", &n);
    ok(s && n == 5, "behind a member whose name is no UTF-8, which it is said to be");
    free(s);
    fclose(f);
    f = tmpfile();
    ok(!zip_member(fileno(f), "a", &n), "no archive");
    fclose(f);
    resolves("xl/workbook.xml", "sheets/a.xml", "xl/sheets/a.xml");
    resolves("xl/workbook.xml", "/xl/a.xml", "xl/a.xml");
    resolves("ppt/slides/a.xml", "../notes/b.xml", "ppt/notes/b.xml");
    resolves("a/b/c/d.xml", "../../e.xml", "a/e.xml");
    resolves("a/b/c/d.xml", "../x/../e.xml", "a/b/e.xml");
    resolves("a.xml", "../../b.xml", "b.xml");
    resolves("a.xml", "b.xml", "b.xml");
    resolves("a/b.xml", "../../../c.xml", "c.xml");
}

/* ---- Word -------------------------------------------------------------------------------- */
#define NAMES " xmlns:w='w' xmlns:r='r' xmlns:c='c' xmlns:a='a' xmlns:p='p'"
#define DOC(body) "<w:document" NAMES "><w:body>" body "</w:body></w:document>"
#define P(inside, text) "<w:p>" inside "<w:r><w:t>" text "</w:t></w:r></w:p>"
#define NUM(id, level) "<w:pPr><w:numPr><w:ilvl w:val='" level "'/><w:numId w:val='" id "'/></w:numPr></w:pPr>"
#define STYLE(name) "<w:pPr><w:pStyle w:val='" name "'/></w:pPr>"
#define REL(id, type, target) "<Relationship Id='" id "' Type='" type "' Target='" target "'/>"
#define RELS(rows) "<Relationships>" rows "</Relationships>"
#define DOCX(body) { "word/document.xml", DOC(body) }
#define DOCX_RELS(rows) { "word/_rels/document.xml.rels", RELS(rows) }

static void word(void)
{
    SHOWS(read_docx, "", "it has no word/document.xml, or that is damaged\n", { "a", "" });
    SHOWS(read_docx, "a\n", "it has no word/document.xml, or that is damaged\n",
          { "word/document.xml", "<w:document" NAMES ">" P("", "a") });
    SHOWS(read_docx, "a\nb\n", NULL, DOCX(P("", "a") P("", "b")));
    /* Only w:t is text. */
    SHOWS(read_docx, "a\n", NULL, DOCX("<w:p>x<w:r>y<w:t>a</w:t>z</w:r><w:instrText>no</w:instrText></w:p>"));
    SHOWS(read_docx, "a\tb\nc\nd-e*\n", NULL,
          DOCX("<w:p><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t><w:noBreakHyphen/><w:t>e</w:t>"
               "<w:sym w:char='F0FC'/><w:sym/></w:p>"));
    SHOWS(read_docx, "a\nb\n", NULL, DOCX("<w:p><w:t>a</w:t><w:br w:type='textWrapping'/><w:t>b</w:t></w:p>"));
    SHOWS(read_docx, "a\n\fb\n", NULL, DOCX("<w:p><w:t>a</w:t><w:br w:type='page'/><w:t>b</w:t></w:p>"));
    SHOWS(read_docx, "ab\n\fc\n", NULL,
          DOCX("<w:p><w:t>a</w:t><w:br w:type='page'/><w:t>b</w:t><w:lastRenderedPageBreak/><w:t>c</w:t></w:p>"));
    SHOWS(read_docx, "10^6 m^2 x 3\n", NULL,
          DOCX("<w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t><w:t> m</w:t></w:r>"
               "<w:r><w:vertAlign w:val='superscript'/><w:t>2</w:t></w:r><w:r><w:vertAlign w:val='superscript'/></w:r>"
               "<w:r><w:t> x</w:t></w:r><w:r><w:vertAlign w:val='subscript'/><w:t> </w:t></w:r><w:r><w:vertAlign/><w:t>3</w:t></w:r></w:p>"));
    SHOWS(read_docx, "a | b\nc d |\n", NULL,
          DOCX("<w:tbl><w:tr><w:tc>" P("", "a") "</w:tc><w:tc>" P("", "b") "</w:tc></w:tr><w:tr><w:tc>" P("", "c") P("", "d")
               "</w:tc><w:tc/></w:tr></w:tbl>"));
    SHOWS(read_docx, "a b\n", NULL, DOCX("<w:tbl><w:tr><w:tc><w:p><w:t>a</w:t><w:tab/><w:t>b</w:t></w:p></w:tc></w:tr></w:tbl>"));
    /* Entities of the file's own are none. */
    SHOWS(read_docx, "x<\n", NULL, DOCX("<w:p><w:t>x&lt;</w:t></w:p>"));
    SHOWS(read_docx, "x\n", "it has no word/document.xml, or that is damaged\n",
          { "word/document.xml", "<!DOCTYPE x [<!ENTITY a 'haha'>]>" DOC("<w:p><w:t>x&a;</w:t></w:p>") });
    /* No page ends within a table. */
    SHOWS(read_docx, "ab\n", NULL,
          DOCX("<w:tbl><w:tr><w:tc><w:p><w:t>a</w:t><w:br w:type='page'/><w:t>b</w:t></w:p></w:tc></w:tr></w:tbl>"));
}

static void word_lists(void)
{
#define LEVEL(at, inside) "<w:lvl w:ilvl='" at "'>" inside "</w:lvl>"
#define LVL_TEXT(text) "<w:lvlText w:val='" text "'/>"
#define START(n) "<w:start w:val='" n "'/>"
#define LISTS(inside) { "word/numbering.xml", "<w:numbering" NAMES ">" inside "</w:numbering>" }
#define LIST(id, levels) "<w:abstractNum w:abstractNumId='" id "'>" levels "</w:abstractNum>"
#define USE(num, id) "<w:num w:numId='" num "'><w:abstractNumId w:val='" id "'/></w:num>"

    SHOWS(read_docx, "1. a\n2. b\n  1) c\n3. d\n  1) e\n  2) f\n1. g\n4. h\ni\n", NULL,
          DOCX(P(NUM("7", "0"), "a") P(NUM("7", "0"), "b") P(NUM("7", "1"), "c") P(NUM("7", "0"), "d") P(NUM("7", "1"), "e")
               P(NUM("7", "1"), "f") P(NUM("8", "0"), "g") P(NUM("7", "0"), "h") P(NUM("9", "0"), "i")),
          LISTS(LIST("3", LEVEL("0", "") LEVEL("1", LVL_TEXT("%2)"))) LIST("4", LEVEL("0", "")) USE("7", "3") USE("8", "4")));
    /* Numbers of the levels above are in a label; of one that had none yet, the one before its first. */
    SHOWS(read_docx, "  4.1 a\n5. b\n  5.1 c\n  5.2 d\n6. e\n  6.1 f\n", NULL,
          DOCX(P(NUM("7", "1"), "a") P(NUM("7", "0"), "b") P(NUM("7", "1"), "c") P(NUM("7", "1"), "d") P(NUM("7", "0"), "e")
               P(NUM("7", "1"), "f")),
          LISTS(LIST("3", LEVEL("0", START("5")) LEVEL("1", LVL_TEXT("%1.%2"))) USE("7", "3")));
    /* What is no level is 1; a percent sign without a figure is itself. */
    SHOWS(read_docx, "1|1|%0|%x|% a\n", NULL, DOCX(P(NUM("7", "0"), "a")),
          LISTS(LIST("3", LEVEL("0", LVL_TEXT("%1|%9|%0|%x|%"))) USE("7", "3")));
    SHOWS(read_docx, "- a\n  - b\nc\n", NULL,
          DOCX(P(NUM("1", "0"), "a") P(NUM("1", "1"), "b") P(NUM("1", "2"), "c")),
          LISTS(LIST("3", LEVEL("0", "<w:numFmt w:val='bullet'/>") "<w:lvl w:ilvl='1'><w:numFmt w:val='none'/></w:lvl>") USE("1", "3")));
    /* Where a list begins: not below 0, not a million; 0 is a number. */
    SHOWS(read_docx, "0. a\n1. b\n1. c\n1. d\n999999. e\n1. f\n1. g\n", NULL,
          DOCX(P(NUM("1", "0"), "a") P(NUM("1", "0"), "b") P(NUM("2", "0"), "c") P(NUM("3", "0"), "d") P(NUM("4", "0"), "e")
               P(NUM("5", "0"), "f") P(NUM("6", "0"), "g")),
          LISTS(START("7") "<w:numFmt w:val='bullet'/>" LVL_TEXT("x") "<w:abstractNumId w:val='1'/>"
                LIST("1", LEVEL("0", START("0"))) LIST("2", LEVEL("0", START("-1"))) LIST("3", LEVEL("0", START("1000000")))
                LIST("4", LEVEL("0", START("999999"))) LIST("5", LEVEL("0", "<w:start/>")) LIST("6", "<w:lvl><w:numFmt/></w:lvl>")
                USE("1", "1") USE("2", "2") USE("3", "3") USE("4", "4") USE("5", "5") USE("6", "6")
                "<w:num><w:lvlOverride>" LEVEL("0", START("9") "<w:numFmt w:val='bullet'/>" LVL_TEXT("y")) "</w:lvlOverride></w:num>"));
    /* A list without an id, and one of which nothing is known. */
    SHOWS(read_docx, "1. a\n   b\nc\n", NULL, DOCX(P(NUM("1", "0"), "a") P(NUM("1", "1"), "b") P(NUM("2", "0"), "c")),
          LISTS("<w:lvl w:ilvl='0'/><w:lvl w:ilvl='1'><w:lvlText/><w:numFmt w:val='decimal'/></w:lvl><w:num w:numId='1'>"
                "<w:abstractNumId/></w:num><w:num w:numId='2'><w:abstractNumId w:val='5'/></w:num><w:num/>"));
    /* Deep levels are indented by nine. */
    SHOWS(read_docx, "                  - a\n", NULL, DOCX(P(NUM("1", "30"), "a")),
          LISTS(LIST("3", LEVEL("30", "<w:numFmt w:val='bullet'/>")) USE("1", "3")));
    /* The paragraph's own list is before its style's; a style without one changes nothing. */
    SHOWS(read_docx, "  - a\n1. b\nc\nd\n- e\n1. f\n", NULL,
          DOCX(P(STYLE("S"), "a") P(STYLE("S") NUM("2", "0"), "b") P(STYLE("T"), "c") P(STYLE("U"), "d") P(STYLE("V"), "e")
               P("<w:pPr><w:pStyle/><w:numPr><w:ilvl/><w:numId/></w:numPr></w:pPr>" NUM("3", "0"), "f")),
          LISTS(LIST("3", LEVEL("0", "<w:numFmt w:val='bullet'/>") LEVEL("1", "<w:numFmt w:val='bullet'/>")) LIST("4", LEVEL("0", ""))
                LIST("5", LEVEL("0", "")) USE("1", "3") USE("2", "4") USE("3", "5")),
          { "word/styles.xml", "<w:styles" NAMES "><w:numId w:val='2'/><w:ilvl w:val='1'/><w:style><w:numId w:val='1'/></w:style>"
            "<w:style w:styleId='S'><w:ilvl w:val='1'/><w:ilvl/><w:numId w:val='1'/></w:style><w:style w:styleId='T'/>"
            "<w:style w:styleId='V'><w:numId w:val='1'/></w:style></w:styles>" });
    /* Of paragraphs without text no number is taken. */
    SHOWS(read_docx, "1. a\n2. b\n", NULL, DOCX(P(NUM("7", "0"), "a") "<w:p>" NUM("7", "0") "</w:p>" P(NUM("7", "0"), "b")),
          LISTS(LIST("3", LEVEL("0", "")) USE("7", "3")));
    SHOWS(read_docx, "a\n", NULL, DOCX(P(NUM("7", "0"), "a")));
}

static void word_parts(void)
{
    SHOWS(read_docx, "Head\na[note 2] b[end note 3] c[note ]\n[note 2] Why.\n[end note 3] Because.\nFoot\nComments: Who?\n", NULL,
          DOCX("<w:p><w:t>a</w:t><w:footnoteReference w:id='2'/><w:t> b</w:t><w:endnoteReference w:id='3'/><w:t> c</w:t>"
               "<w:footnoteReference/></w:p>"),
          DOCX_RELS(REL("1", "footer", "f.xml") REL("2", "http://x/header", "h.xml") REL("3", "footnotes", "n.xml")
                    REL("4", "endnotes", "e.xml") REL("5", "comments", "c.xml") REL("6", "header", "none.xml")
                    REL("7", "header", "blank.xml")
                    "<Relationship Id='8' Type='header' Target='h.xml' TargetMode='External'/>"
                    "<Relationship Type='header' Target='h.xml'/><Relationship Id='8' Target='h.xml'/>"
                    "<Relationship Id='8' Type='header'/><Other Id='8' Type='header' Target='h.xml'/>"),
          { "word/h.xml", DOC(P("", "Head")) }, { "word/f.xml", DOC(P("", "Foot")) }, { "word/c.xml", DOC(P("", "Who?")) },
          { "word/blank.xml", DOC(P("", " ") "<w:p><w:t>\t</w:t><w:br w:type='page'/></w:p>") },
          { "word/n.xml", DOC("<w:footnote w:id='-1'>" P("", "") "</w:footnote><w:footnote w:id='0'/><w:footnote/><w:footnote w:id='2'>"
                              P("", "Why.") "</w:footnote>") },
          { "word/e.xml", DOC("<w:endnote w:id='3'>" P("", "Because.") "</w:endnote>") });
    SHOWS(read_docx, "Head\na\n", NULL, DOCX(P("", "a")),
          DOCX_RELS("<Relationship Id='8' Type='header' Target='h.xml' TargetMode='Internal'/>"), { "word/h.xml", DOC(P("", "Head")) });
    SHOWS(read_docx, "Head\na\n", NULL, DOCX(P("", "a")), DOCX_RELS(REL("8", "header", "/h.xml")), { "h.xml", DOC(P("", "Head")) });
    /* White space before the text of a part goes. */
    SHOWS(read_docx, "Head\na\n", NULL, DOCX(P("", "a")), DOCX_RELS(REL("8", "header", "h.xml")), { "word/h.xml", DOC("<w:p/>" P("", " Head")) });
}

static void charts(void)
{
#define SPACE(inside) "<c:chartSpace" NAMES ">" inside "</c:chartSpace>"
#define V(text) "<c:pt><c:v>" text "</c:v></c:pt>"
#define SHOWS_CHART(want, inside) SHOWS(read_docx, want, NULL, DOCX("<w:p><w:t>a</w:t><c:chart r:id='1'/></w:p>"), \
                                        DOCX_RELS(REL("0", "x", "x.xml") REL("1", "chart", "c/d.xml")), { "word/c/d.xml", SPACE(inside) })

    SHOWS_CHART("a\nChart: Sales\n2019: East 1; West 2\nValues: North 3;  4\n",
                "<c:v>lost</c:v><c:title><c:tx><a:t>Sales</a:t></c:tx></c:title><c:ser><c:tx>" V("2019") "</c:tx><c:cat>" V("East") V("West")
                "</c:cat><c:val>" V("1") V("2") "</c:val></c:ser><c:ser><c:cat>" V("North") "</c:cat><c:val>" V("3") V("4") "</c:val></c:ser>");
    SHOWS_CHART("a\nChart: S: 1 2\nT: 3 4\n",
                "<c:ser><c:v>lost</c:v><c:tx>" V("S") "</c:tx><c:xVal>" V("1") "</c:xVal><c:yVal>" V("2") "</c:yVal></c:ser>"
                "<c:ser><c:tx>" V("T") "</c:tx><c:xVal>" V("3") "</c:xVal><c:yVal>" V("4") "</c:yVal></c:ser>");
    SHOWS_CHART("a\nChart: S: x 2\n", "<c:ser> <c:tx><c:f>A!$A$1</c:f>" V("S") "</c:tx><c:cat><c:f>A!$B$1</c:f>" V("x") " </c:cat>\n<c:val><c:f>A!$C$1</c:f>" V("2")
                "</c:val></c:ser>");
    SHOWS_CHART("a\nChart: \nAxis\n", "<c:title/><c:v>lost</c:v><c:title><a:t>Ax</a:t><a:t>is</a:t></c:title>");
    SHOWS_CHART("a\n", "");
    SHOWS_CHART("a\nChart: Values:  \n", "<c:ser><c:cat><c:v/></c:cat><c:val><c:v/></c:val></c:ser>");
    /* What is there when it breaks off. */
    SHOWS_CHART("a\nChart: S:\n", "<c:ser><c:tx>" V("S") "</c:tx></c:ser><c:ser><c:tx>" V("T") "</c:tx><c:cat>" V("u") "</c:cat><c:val>" V("v"));
    SHOWS(read_docx, "a\nc\nb\n", NULL,
          DOCX("<w:p><w:t>a</w:t><c:chart/><c:chart r:id='9'/><c:relIds r:dm='1'/><w:t>b</w:t></w:p>"),
          DOCX_RELS(REL("1", "diagram", "d.xml")), { "word/d.xml", DOC("<a:p><a:t>c</a:t></a:p>") });
}

/* ---- PowerPoint -------------------------------------------------------------------------- */
static void slides(void)
{
#define DECK(ids) { "ppt/presentation.xml", "<p:presentation" NAMES ">" ids "</p:presentation>" }
#define SLIDE(n, text) { "ppt/slides/" n ".xml", "<p:sld" NAMES "><a:p><a:r><a:t>" text "</a:t></a:r></a:p></p:sld>" }
#define DECK_RELS { "ppt/_rels/presentation.xml.rels", RELS(REL("a", "slide", "slides/1.xml") REL("b", "slide", "slides/2.xml")) }

    SHOWS(read_pptx, "", "it has no ppt/presentation.xml, or that is damaged\n", DECK_RELS);
    SHOWS(read_pptx, "Two\nNotes: Say\n\fOne\n", NULL,
          DECK("<p:sldId r:id='b'/><p:sldId r:id='a'/><p:sldId r:id='c'/><p:sldId/><p:other r:id='a'/>"), DECK_RELS, SLIDE("1", "One"),
          SLIDE("2", "Two"), { "ppt/slides/_rels/2.xml.rels", RELS(REL("n", "http://x/notesSlide", "../notes/n.xml")) },
          { "ppt/notes/n.xml", "<p:notes" NAMES "><a:p><a:t>Say</a:t></a:p></p:notes>" });
    SHOWS(read_pptx, "\fTwo\n", "it has no ppt/slides/1.xml, or that is damaged\n", DECK("<p:sldId r:id='a'/><p:sldId r:id='b'/>"),
          DECK_RELS, SLIDE("2", "Two"));
    SHOWS(read_pptx, "One\n\f", "it has no ppt/slides/2.xml, or that is damaged\n", DECK("<p:sldId r:id='a'/><p:sldId r:id='b'/>"),
          DECK_RELS, SLIDE("1", "One"));
}

/* ---- OpenDocument ------------------------------------------------------------------------ */
#define ODF_NAMES " xmlns:text='text' xmlns:table='table' xmlns:office='office' xmlns:style='style' xmlns:draw='draw' xmlns:xlink='xlink'"
#define CONTENT(inside) { "content.xml", "<office:document-content" ODF_NAMES ">" inside "</office:document-content>" }
#define TYPE(kind) { "mimetype", "application/vnd.oasis.opendocument." kind }
#define TP(text) "<text:p>" text "</text:p>"

static void odf(void)
{
    SHOWS(read_odf, "", "it has no content.xml, or that is damaged\n", TYPE("text"));
    SHOWS(read_odf, "a\n", "it has no content.xml, or that is damaged\n", { "content.xml", "<x" ODF_NAMES ">" TP("a") });
    SHOWS(read_odf, "", "it has a password; save it without one\n", TYPE("text"), CONTENT(TP("a")),
          { "META-INF/manifest.xml", "<manifest><encryption-data/></manifest>" });
    SHOWS(read_odf, "a\n", NULL, CONTENT(TP("a")), { "META-INF/manifest.xml", "<manifest/>" });
    /* Headers and footers are with the styles, of texts only. */
    SHOWS(read_odf, "Head\na\n", NULL, TYPE("text"), CONTENT(TP("a")), { "styles.xml", "<x" ODF_NAMES ">" TP("Head") "</x>" });
    SHOWS(read_odf, "a\n", NULL, TYPE("presentation"), CONTENT(TP("a")), { "styles.xml", "<x" ODF_NAMES ">" TP("Head") "</x>" });
    SHOWS(read_odf, "Sheet S\na\n", NULL, TYPE("spreadsheet"),
          CONTENT("<table:table table:name='S'><table:table-row><table:table-cell>" TP("a") "</table:table-cell></table:table-row></table:table>"));
    SHOWS(read_odf, "H\na b\nc   d e\tf\ng\n", NULL, TYPE("text"),
          CONTENT("<text:h>H</text:h>" TP(" a\n \t b ") TP("c<text:s text:c='3'/>d<text:s/>e<text:tab/>f<text:line-break/>g<text:s text:c='1001'/>"
                                                          "<text:s text:c='0'/><text:s text:c='-1'/>")
                  "<text:tracked-changes>" TP("gone") "</text:tracked-changes><office:scripts>x</office:scripts><draw:desc>y</draw:desc>"));
    SHOWS(read_odf, "a [1 Why.]b [Said]\n", NULL, TYPE("text"),
          CONTENT(TP("a<text:note><text:note-citation>1</text:note-citation><text:note-body>Why.</text:note-body></text:note>b"
                     "<office:annotation>Said</office:annotation>")));
    SHOWS(read_odf, "a\n\fb\n", NULL, TYPE("text"), CONTENT(TP("a") "<text:soft-page-break/>" TP("b")));
    SHOWS(read_odf, "a\n\fb\n", NULL, TYPE("presentation"),
          CONTENT("<draw:page draw:name='1'>" TP("a") "</draw:page><draw:page/><draw:page draw:name='2'>" TP("b") "</draw:page>"));
    SHOWS(read_odf, "x^2 y^3 z4 u5 v6 w7\n", NULL, TYPE("text"),
          CONTENT("<style:text-properties style:text-position='super'/>"
                  "<style:style style:name='A'><style:text-properties style:text-position='super 58%'/></style:style>"
                  "<style:style style:name='B'><style:text-properties style:text-position='33% 58%'/></style:style>"
                  "<style:style style:name='C'><style:text-properties style:text-position='-33% 58%'/></style:style>"
                  "<style:style style:name='D'><style:text-properties/></style:style><style:style/>"
                  TP("x<text:span text:style-name='A'>2</text:span> y<text:span text:style-name='B'>3</text:span> z<text:span text:style-name='C'>4"
                     "</text:span> u<text:span text:style-name='D'>5</text:span> v<text:span>6</text:span> w<text:span text:style-name='E'>7</text:span>")));
    SHOWS(read_odf, "1. a\n  1. b\n  2. c\n2. d\ne\n- f\n  - g\n- h\nx\n", NULL, TYPE("text"),
          CONTENT("<text:list-style style:name='L'><text:list-level-style-number text:level='1'/><text:list-level-style-number text:level='2'/>"
                  "<text:list-level-style-number/></text:list-style><text:list-style style:name='M'><text:list-level-style-bullet text:level='1'/></text:list-style>"
                  "<text:list text:style-name='L'><text:list-item>" TP("a") "<text:list><text:list-item>" TP("b") "</text:list-item><text:list-item>"
                  TP("c") "</text:list-item></text:list></text:list-item><text:list-item>" TP("d") TP("e") "</text:list-item></text:list>"
                  "<text:list text:style-name='M'><text:list-item>" TP("f") "<text:list><text:list-item>" TP("g") "</text:list-item></text:list></text:list-item>"
                  "<text:list-item>" TP("h") "</text:list-item></text:list>" TP("x")));
    SHOWS(read_odf, "a | b c\nd\n", NULL, TYPE("text"),
          CONTENT("<table:table><table:table-row><table:table-cell>" TP("a") "</table:table-cell><table:table-cell>" TP("b") TP("c")
                  "</table:table-cell></table:table-row><table:table-row><table:table-cell>" TP("d") "</table:table-cell></table:table-row></table:table>"));
    /* Objects within it, and those elsewhere, which are not got. */
    SHOWS(read_odf, "a\nO\nb\nO\nc\n", NULL, TYPE("text"),
          CONTENT(TP("a<draw:object xlink:href='./Object 1'/>b<draw:object xlink:href='Object 1'/>c<draw:object xlink:href='http://x/Object 1'/><draw:object/>")),
          { "Object 1/content.xml", "<x" ODF_NAMES ">" TP("O") "</x>" }, { "http://x/Object 1/content.xml", "<x" ODF_NAMES ">" TP("no") "</x>" });
}

/* More styles than are remembered: the last are forgotten, and nothing breaks. */
static void many_styles(void)
{
    struct text t = { NULL, 0, 0 };

    text_puts(&t, "<x" ODF_NAMES ">");
    for (int i = 0; i < 4097; i++)
        text_printf(&t, "<style:style style:name='s%d'><style:text-properties style:text-position='super'/></style:style>", i);
    text_puts(&t, TP("a<text:span text:style-name='s4095'>b</text:span><text:span text:style-name='s4096'>c</text:span>") "</x>");
    SHOWS(read_odf, "a^bc\n", NULL, TYPE("text"), { "content.xml", t.p });
    text_free(&t);
}

static void ods(void)
{
#define CELL(text) "<table:table-cell>" TP(text) "</table:table-cell>"
#define ROW(cells) "<table:table-row>" cells "</table:table-row>"
#define TABLE(rows) "<table:table table:name='S'>" rows "</table:table>"

    SHOWS(read_ods, "", "it has no content.xml, or that is damaged\n", TYPE("spreadsheet"));
    SHOWS(read_ods, "", "it has no content.xml, or that is damaged\n", { "content.xml", "<x" ODF_NAMES "><table:table table:name='S'>" });
    SHOWS(read_ods, "", NULL, CONTENT(""));
    SHOWS(read_ods, "Sheet S\nName | Fee\nName: Ann; Fee: 5\n\n\n\nName: Bob\n\fSheet S\n7\n", NULL,
          CONTENT(TABLE(ROW(CELL("Name") CELL("Fee")) ROW(CELL("Ann") CELL("5")) ROW("<table:table-cell/>")
                        "<table:table-row table:number-rows-repeated='2'><table:table-cell/></table:table-row>" ROW(CELL("Bob")) ROW(""))
                  TABLE(ROW(CELL("7")))));
    SHOWS(read_ods, "Sheet S\na b c  d\n5; 5; x; 6\n", NULL,
          CONTENT(TABLE(ROW("<table:table-cell>" TP("a<text:s text:c='1'/>b<text:line-break/>c") TP("") TP("d") "<office:annotation>" TP("no") "</office:annotation></table:table-cell>")
                        ROW("<table:table-cell table:number-columns-repeated='2'>" TP("5") "</table:table-cell><table:covered-table-cell table:number-columns-repeated='3'/>"
                            "<table:covered-table-cell>" TP("x") "</table:covered-table-cell><table:table-cell table:number-columns-repeated='0'>" TP("6") "</table:table-cell>"))));
    /* Repeated beyond all columns. */
    SHOWS(read_ods, "Sheet S\na\n", NULL,
          CONTENT(TABLE(ROW(CELL("a") "<table:table-cell table:number-columns-repeated='16383'/><table:table-cell>" TP("b") "</table:table-cell>"))));
    SHOWS(read_ods, "Sheet S\na | b\n", NULL,
          CONTENT(TABLE(ROW(CELL("a") "<table:table-cell table:number-columns-repeated='16382'/><table:table-cell>" TP("b") "</table:table-cell>"))));
    SHOWS(read_ods, "Sheet S\na\n", NULL,
          CONTENT("<table:table><table:table-row/></table:table>" TABLE(ROW(CELL("a") "<table:table-cell table:number-columns-repeated='99999999999999999999'/>" CELL("b")))));
}

/* Empty rows between others are lines, up to a thousand. */
static void gaps(void)
{
    static const struct { const char *repeated; int lines; } gap[] = { { "999", 999 }, { "1000", 1000 }, { "1001", 1001 }, { "5000", 1001 } };

    for (size_t i = 0; i < sizeof gap / sizeof *gap; i++) {
        char  *xml = format("<x" ODF_NAMES ">" TABLE(ROW(CELL("1")) "<table:table-row table:number-rows-repeated='%s'/>" ROW(CELL("2"))) "</x>", gap[i].repeated);
        struct text want = { NULL, 0, 0 };

        text_puts(&want, "Sheet S\n1\n");
        for (int k = 0; k < gap[i].lines; k++)
            text_puts(&want, "\n");
        text_puts(&want, "2\n");
        SHOWS(read_ods, want.p, NULL, { "content.xml", xml });
        text_free(&want);
        free(xml);
    }
}

/* ---- Excel ------------------------------------------------------------------------------- */
#define BOOK(inside) { "xl/workbook.xml", "<workbook xmlns:r='r'>" inside "<sheet name='S' r:id='a'/></workbook>" }
#define BOOK_RELS { "xl/_rels/workbook.xml.rels", RELS(REL("a", "worksheet", "a.xml")) }
#define SHEET(rows) { "xl/a.xml", "<worksheet>" rows "</worksheet>" }
#define XLSX(rows) BOOK(""), BOOK_RELS, SHEET(rows)
#define INLINE(text) "<c t='inlineStr'><is><t>" text "</t></is></c>"
#define N(value) "<c><v>" value "</v></c>"

static void sheets(void)
{
    SHOWS(read_xlsx, "", "it has no list of sheets, or that is damaged\n", BOOK_RELS);
    SHOWS(read_xlsx, "", "it has no list of sheets, or that is damaged\n", { "xl/workbook.xml", "<workbook xmlns:r='r'><sheet name='S'/><sheet r:id='a'/><other name='S' r:id='a'/></workbook>" });
    SHOWS(read_xlsx, "Sheet S\n1; 2\n", NULL, XLSX("<row>" N("1") N("2") "</row>"));
    SHOWS(read_xlsx, "", "sheet S is damaged\n", BOOK(""), BOOK_RELS, { "xl/a.xml", "<worksheet><row>" });
    SHOWS(read_xlsx, "Sheet S\n1\n\fSheet None\n\fSheet Lost\n", NULL,
          { "xl/workbook.xml", "<workbook xmlns:r='r'><sheet name='S' r:id='a'/><sheet name='None' r:id='b'/><sheet name='Lost' r:id='c'/></workbook>" },
          { "xl/_rels/workbook.xml.rels", RELS("<Relationship Id='a'/><Relationship Target='a.xml'/><Other Id='a' Target='b.xml'/>" REL("a", "worksheet", "/xl/a.xml") REL("c", "worksheet", "c.xml")) },
          SHEET("<row>" N("1") "</row>"));
    /* Columns by their letters, or the next one; rows by their numbers. */
    SHOWS(read_xlsx, "Sheet S\nA | B | C | AB\nA: 1; B: 2; C: 3; AB: 4\n\nAB: 5; 6\n7\n", NULL,
          XLSX("<row r='1'><c r='A1' t='inlineStr'><is><t>A</t></is></c>" INLINE("B") "<c r='C1' t='inlineStr'><is><t>C</t></is></c>"
               "<c r='AB1' t='inlineStr'><is><t>AB</t></is></c></row>"
               "<row><c r='A2'><v>1</v></c><c r=''><v>2</v></c><c r='c2'><v>3</v></c><c r='AB2'><v>4</v></c></row>"
               "<row r='4'><c r='AB4'><v>5</v></c>" N("6") "</row><row r='2'><c r='AD1'><v>7</v></c></row>"));
    SHOWS(read_xlsx, "Sheet S\na | b\n", NULL,
          XLSX("<row><c r='A1' t='inlineStr'><is><t>a</t></is></c><c r='XFD1'><v>b</v></c><c r='XFE1'><v>c</v></c><c r='ZZZZZZZZZZZZZZZZZZZZ1'><v>d</v></c>" N("e") "</row>"));
    SHOWS(read_xlsx, "Sheet S\n2\n", NULL, XLSX("<row><c/><c><f/></c>" N("2") "</row>"));
    /* A row within a cell, which no program writes: the cell is lost, and nothing breaks. */
    SHOWS(read_xlsx, "Sheet S\n\n2\n", NULL, XLSX("<row><c><row/><v>1</v></c>" N("2") "</row>"));
    SHOWS(read_xlsx, "Sheet S\nab | TRUE | #N/A | x\nab: FALSE; TRUE: =A1*2; #N/A: 5\n", NULL,
          XLSX("<row><c t='str'><f>A1</f><v>ab</v></c><c t='b'><v>1</v></c><c t='e'><v>#N/A</v></c>" INLINE("x") "</row>"
               "<row><c t='b'><v>0</v></c><c><f>A1*2</f></c><c><f>A1</f><v>5</v></c><c/></row>"));
    /* Shared texts: parts in a row are one, what is said of pronunciation is none; numbers that are none. */
    SHOWS(read_xlsx, "Sheet S\none | two | t hree | four\none: one\n", NULL,
          BOOK(""), BOOK_RELS,
          { "xl/sharedStrings.xml", "<sst><si><t>one</t></si><si><r><t>t</t></r><r><t>wo</t></r><rPh><t>TWO</t></rPh></si><si><t>t\nhree</t></si><si><t>four</t></si><si/></sst>" },
          SHEET("<row><c t='s'><v>0</v></c><c t='s'><v>1</v></c><c t='s'><v>2</v></c><c t='s'><v>3</v></c></row>"
                "<row><c t='s'><v>0</v></c><c t='s'><v>5</v></c><c t='s'><v>x</v></c><c t='s'><v>4</v></c></row>"));
}

/* A number in a cell of that format; code: the format's own, or NULL. */
static void looks(const char *id, const char *code, const char *value, const char *want)
{
    char *styles = format("<styleSheet>%s%s%s<cellStyleXfs><xf numFmtId='9'/></cellStyleXfs><cellXfs><xf/><xf numFmtId='%s'/></cellXfs>"
                          "<cellStyles><xf numFmtId='9'/></cellStyles></styleSheet>", code ? "<numFmt numFmtId='170' formatCode='" : "", code ? code : "",
                          code ? "'/><numFmt/><numFmt numFmtId='170'/>" : "", id);
    char *cell = format("<worksheet><row><c s='1'><v>%s</v></c></row></worksheet>", value), *out = format("Sheet S\n%s\n", want);

    SHOWS(read_xlsx, out, NULL, BOOK(""), BOOK_RELS, { "xl/styles.xml", styles }, { "xl/a.xml", cell });
    free(styles);
    free(cell);
    free(out);
}

static void formats(void)
{
    static const struct { const char *code, *value, *want; } own[] = {
        { "General", "0.1", "0.1" }, { "@", "1234567.891", "1234567.891" }, { "0", "2.5", "2" }, { "0.00", "-2.555", "-2.56" }, { "#,##0", "1234567", "1,234,567" },
        { "#,##0.00", "999.5", "999.50" }, { "#,##0.00", "123456.789", "123,456.79" }, { "0%", "0.256", "26%" }, { "0.00%;-0", "-0.2561", "-25.61%" },
        { "&quot;EUR &quot;0.0", "3", "EUR 3.0" }, { "0 &quot;kg&quot;", "3", "3 kg" }, { "0&quot;kg", "3", "3" }, { "[$$-409]#,##0", "1000", "$1,000" },
        { "[$x]0", "3", "x3" }, { "[Red]0", "3", "3" }, { "[Red]$0", "3", "$3" }, { "0[x", "3.25", "3.25" }, { "\\a0\\b", "3", "a3b" }, { "\\a\\c0", "3", "ac3" }, { "_-$0", "3", "$3" }, { "_-0_-", "3", "3" }, { "*x0*", "3", "3" },
        { "0\\", "3", "3" }, { "?0.?0", "3", "3.0" }, { "#.##", "3.25", "3" }, { "($0)", "-3", "-$3" }, { "-0+ ", "3", "-3+" }, { "0E+00", "3", "3" }, { "0.0e0", "3", "3" },
        { "0.00000000000000000000", "0.5", "0.500000000000000" }, { "#,##0", "1e15", "1e+15" }, { "#,##0", "999999999999999", "999,999,999,999,999" },
        { "#,##0", "-1e15", "-1e+15" }, { "0;[$", "3", "3" }, { "x0z", "3", "3" },
        { "&quot;123456789012345678901&quot;0", "3", "1234567890123456789013" }, { "&quot;12345678901234567890123&quot;0", "3", "123456789012345678901233" },
        { "&quot;123456789012345678901234&quot;0", "3", "3" }, { "&quot;a&quot;&quot;12345678901234567890123&quot;0", "3", "a3" },
        { "yyyy-mm-dd", "29358", "1980-05-17" }, { "D.M.", "29358", "1980-05-17" }, { "Y", "29358.25", "1980-05-17 06:00" }, { "d", "1", "1899-12-31" }, { "mmmm", "29358", "1980-05-17" }, { "M", "29358", "1980-05-17" }, { "mm:ss", "0.5", "12:00" }, { "d", "0", "1899-12-30" },
        { "d", "60", "1900-02-28" }, { "d", "61", "1900-03-01" }, { "d", "36584", "2000-02-28" }, { "d", "36585", "2000-02-29" }, { "d", "36586", "2000-03-01" },
        { "d", "36525", "1999-12-31" }, { "d", "36526", "2000-01-01" }, { "d", "73050", "2099-12-31" }, { "d", "73110", "2100-03-01" }, { "d", "-693899", "0000-03-01" },
        { "d", "-693900", "-693900" }, { "d", "3290000", "10907-09-17" }, { "d", "-1000000", "-1000000" }, { "d", "3306101", "10951-10-17" }, { "d", "3306102", "3306102" }, { "d", "5000000", "5000000" },
        { "d", "29357.999999", "1980-05-17" }, { "d h", "29358.999", "1980-05-17 23:58" }, { "d H:M:S", "29358", "1980-05-17 00:00" }, { "h:mm", "0.5", "12:00" },
        { "h:mm", "1.50001", "36:00:01" }, { "s", "0.0001", "00:00:09" }, { "[h]:mm", "2.25", "54:00" }, { "[m]", "0.5", "12:00" }, { "h[x]", "0.5", "12:00" }, { "[s]", "0.5", "12:00" }, { "[d]", "0.5", "0" },
        { "S", "0.99999999", "24:00" }, { "h", "-0.5", "-12:00" }, { "h", "4e6", "4000000" }, { "d", "x1", "x1" }, { "d", "1x", "1x" }, { "0", "inf", "inf" },
    };
    static const struct { const char *id, *value, *want; } known[] = {
        { "0", "29358.5", "29358.5" }, { "1", "2.6", "3" }, { "2", "2", "2.00" }, { "3", "-1000", "-1,000" }, { "4", "1000", "1,000.00" }, { "9", "0.5", "50%" }, { "10", "0.5", "50.00%" },
        { "14", "29358", "1980-05-17" }, { "15", "29358", "1980-05-17" }, { "16", "29358", "1980-05-17" }, { "17", "29358", "1980-05-17" }, { "18", "0.25", "06:00" }, { "19", "0.25", "06:00" },
        { "20", "0.25", "06:00" }, { "21", "0.25", "06:00" }, { "22", "29358.25", "1980-05-17 06:00" }, { "37", "1000", "1,000" }, { "38", "1000", "1,000" }, { "39", "1000", "1,000.00" },
        { "40", "1000", "1,000.00" }, { "45", "0.25", "06:00" }, { "46", "1.25", "30:00" }, { "47", "0.25", "06:00" }, { "49", "7", "7" }, { "x", "7", "7" },
    };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        looks("170", own[i].code, own[i].value, own[i].want);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        looks(known[i].id, NULL, known[i].value, known[i].want);
    looks("14", "0.0", "2", "1900-01-01");
    SHOWS(read_xlsx, "Sheet S\n1984-05-18; 5; 5\n", NULL, BOOK("<workbookPr date1904='1'/>"), BOOK_RELS,
          { "xl/styles.xml", "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>" },
          SHEET("<row><c s='1'><v>29358</v></c><c s='0'><v>5</v></c><c s='2'><v>5</v></c></row>"));
    SHOWS(read_xlsx, "Sheet S\n1904-01-02\n", NULL, BOOK("<workbookPr date1904='true'/>"), BOOK_RELS,
          { "xl/styles.xml", "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>" }, SHEET("<row><c s='1'><v>1</v></c></row>"));
    SHOWS(read_xlsx, "Sheet S\n1899-12-31\n", NULL, BOOK("<workbookPr date1904='1'/><workbookPr/><workbookPr date1904='0'/><other date1904='1'/>"), BOOK_RELS,
          { "xl/styles.xml", "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>" }, SHEET("<row><c s='1'><v>1</v></c></row>"));
}

/* The first and the last days of months, over 400 years. */
static void dates(void)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct text xml = { NULL, 0, 0 }, want = { NULL, 0, 0 };
    long serial = 2;            /* 1900-01-01 */

    text_puts(&xml, "<worksheet>");
    text_puts(&want, "Sheet S\n");
    for (int year = 1900; year <= 2300; year++)
        for (int month = 1; month <= 12; month++) {
            const int last = days[month - 1] + (month == 2 && (year % 4 == 0 && (year % 100 || year % 400 == 0)));

            text_printf(&xml, "<row><c s='1'><v>%ld</v></c><c s='1'><v>%ld</v></c></row>", serial, serial + last - 1);
            text_printf(&want, "%04d-%02d-01; %04d-%02d-%02d\n", year, month, year, month, last);
            serial += last;
        }
    text_puts(&xml, "</worksheet>");
    SHOWS(read_xlsx, want.p, NULL, BOOK(""), BOOK_RELS,
          { "xl/styles.xml", "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>" }, { "xl/a.xml", xml.p });
    text_free(&xml);
    text_free(&want);
}

/* Rows that are left out. */
static void row_gaps(void)
{
    static const struct { const char *row; int lines; } gap[] = { { "2", 0 }, { "3", 1 }, { "1001", 999 }, { "1002", 1000 }, { "1003", 1000 }, { "99999", 1000 } };

    for (size_t i = 0; i < sizeof gap / sizeof *gap; i++) {
        char  *xml = format("<worksheet><row r='1'>" N("1") "</row><row r='%s'>" N("2") "</row><row>" N("3") "</row></worksheet>", gap[i].row);
        struct text want = { NULL, 0, 0 };

        text_puts(&want, "Sheet S\n1\n");
        for (int k = 0; k < gap[i].lines; k++)
            text_puts(&want, "\n");
        text_puts(&want, "2\n3\n");
        SHOWS(read_xlsx, want.p, NULL, BOOK(""), BOOK_RELS, { "xl/a.xml", xml });
        text_free(&want);
        free(xml);
    }
}

/* ---- EPUB -------------------------------------------------------------------------------- */
static void books(void)
{
#define CONTAINER { "META-INF/container.xml", "<c><other full-path='x'/><rootfile/><rootfile full-path='O/b.opf'/><rootfile full-path='x'/></c>" }
#define OPF(inside) { "O/b.opf", "<package>" inside "</package>" }
#define HTML(text) "<html><head><title>no</title></head><body><p>" text "</p></body></html>"

    const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

    SHOWS(read_epub, "", "it has no list of chapters, or that is damaged\n", OPF(""));
    SHOWS(read_epub, "", "it has no list of chapters, or that is damaged\n", CONTAINER);
    SHOWS(read_epub, "", NULL, CONTAINER, OPF(""));
    SHOWS(read_epub, "Two\n\fOne\n\f\fOne\n", NULL, CONTAINER,
          OPF("<item id='1' href='1.xhtml'/><item id='2' href='../p/2.xhtml#part'/><item id='3' href='none.xhtml'/><item id='1' href='no.xhtml'/><item id='4'/>"
              "<item href='1.xhtml'/><itemref idref='2'/><itemref/><itemref idref='1'/><itemref idref='4'/><itemref idref='3'/><itemref idref='1'/><other idref='1'/>"),
          { "O/1.xhtml", HTML("One") }, { "p/2.xhtml", HTML("Two") }, { "O/no.xhtml", HTML("No") });
    if (utf8)
        SHOWS(read_epub, "One\n\fOne\n", NULL, CONTAINER,
              OPF("<item id='1' href='caf\xc3\xa9.xhtml'/><item id='2' href='caf%C3%A9.xhtml'/><itemref idref='1'/><itemref idref='2'/>"),
              { "O/caf\xc3\xa9.xhtml", HTML("One") });
    else
        skip("this system has no locale of UTF-8", "names in other letters");
    SHOWS(read_epub, "a\n\fb\n\fc\n\fd\n\fe\n\ff\n", NULL, CONTAINER,
          OPF("<item id='1' href='a%20b'/><item id='2' href='%7a'/><item id='3' href='100%'/><item id='4' href='%zz'/><item id='5' href='%004'/><item id='6' href='f%a'/>"
              "<itemref idref='1'/><itemref idref='2'/><itemref idref='3'/><itemref idref='4'/><itemref idref='5'/><itemref idref='6'/>"),
          { "O/a b", HTML("a") }, { "O/z", HTML("b") }, { "O/100%", HTML("c") }, { "O/%zz", HTML("d") }, { "O/%004", HTML("e") }, { "O/f%a", HTML("f") });
    if (utf8)
        freelocale(utf8);
}

int main(void)
{
    members();
    word();
    word_lists();
    word_parts();
    charts();
    slides();
    odf();
    many_styles();
    ods();
    gaps();
    sheets();
    formats();
    dates();
    row_gaps();
    books();
    return done();
}
#else
int main(void)
{
    return skip_all("built without libarchive or libxml2");
}
#endif
