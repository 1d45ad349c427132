/* SPDX-License-Identifier: BSD-2-Clause
 * unit-report.c - the page of a report: how documents want to be set, and the page of two questions about five of them,
 * which is compared with tests/files/report.html.
 *
 *     UPDATE=1 tests/unit-report.test     makes the present page the expected one; read the diff */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/report-parts.h"
#include "src/cli/report.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "tests/tap.h"

static struct document look(const char *text)
{
    struct document d = { .text = text, .len = strlen(text) };

    report_look(&d);
    return d;
}

static void repeat(struct text *t, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        text_puts(t, s);
}

/* ---- how a document wants to be set ----------------------------------------------------- */
static void test_counts(void)
{
    struct document d = look("");

    ok(!d.pages && !d.lines && !d.paged && !d.columns && !d.width, "an empty document");
    d = look("a");
    ok(d.pages == 1 && d.lines == 1 && !d.paged, "a line without an end");
    d = look("a\nb\n");
    ok(d.pages == 1 && d.lines == 2, "lines");
    d = look("a\n\fb\f\fc");
    ok(d.paged && d.pages == 4 && d.lines == 2, "pages");
    d = look("a\fb\f");
    ok(d.paged && d.pages == 2, "a form feed at the end begins no page");
    ok(report_is_blank(" \t\r\n\f", 5) && !report_is_blank(" x", 2) && report_is_blank(" x", 1) && !report_is_blank("\0", 1), "blank");
}

static void test_columns(void)
{
    struct text t = { NULL, 0, 0 };

    repeat(&t, 9, "plain\n\n");
    text_puts(&t, "cell   cell\n");
    ok(!look(t.p).columns, "one line of ten with a gap: no columns");
    text_puts(&t, "cell\tcell\n");
    ok(look(t.p).columns, "one more: columns");
    text_free(&t);
    ok(!look("   indented\n\t\tindented").columns && !look("cell  cell").columns && !look("cell   \r").columns, "what is no gap");
    ok(look("cell  \t cell").columns && look("a \t b").columns && look(" a   b").columns, "what is one");
}

/* A line of n characters, as words of four and spaces, with a last word that fills it. */
static void words(struct text *t, size_t n, char first)
{
    for (size_t i = 0; i < n; i++)
        text_add(t, i == 0 ? &first : i % 5 == 4 && i + 1 < n ? " " : "w", 1);
    text_puts(t, "\n");
}

static void test_width(void)
{
    struct text     t = { NULL, 0, 0 };
    struct document d;

    for (size_t i = 0; i < 12; i++)
        words(&t, 50 + i % 3, 'a');
    d = look(t.p);
    ok(d.width == 52, "lines of up to 52 characters were wrapped there");
    ok(report_is_soft(&d, 50) && !report_is_soft(&d, d.len - 1), "a line that ends because the next word did not fit");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 50 + i % 3, 'A');
    ok(!look(t.p).width, "lines that begin with capitals are a list");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 43, 'a');
    ok(look(t.p).width == 45, "the narrowest text is 45 wide");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 32, 'a');
    ok(!look(t.p).width, "and no narrower");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 119, 'a');
    ok(look(t.p).width == 119, "the widest is 119 wide");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 121, 'a');
    ok(!look(t.p).width, "and no wider");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 50, 'a');
    for (size_t i = 0; i < 4; i++)
        words(&t, 56, 'a');
    ok(look(t.p).width == 56, "a few are longer than most");
    text_free(&t);
    for (size_t i = 0; i < 12; i++)
        words(&t, 5 + 9 * i, 'a');
    ok(!look(t.p).width, "lines of any length were not wrapped");
    text_free(&t);

    d = (struct document){ .text = "one two\nthree four\n\nfive six\n      x\ny", .width = 10 };
    d.len = strlen(d.text);
    ok(report_is_soft(&d, 7), "the next word is too long for the line");
    ok(!report_is_soft(&d, 18) && !report_is_soft(&d, 19), "an empty line follows, or is it");
    ok(!report_is_soft(&d, 28), "white space follows");
    ok(!report_is_soft(&d, d.len - 2), "the word would have fitted");
    d.width = 6;
    ok(!report_is_soft(&d, 7), "the line is longer than the text is wide");
    d.width = 7;
    ok(report_is_soft(&d, 7), "it is as long");
    d.width = 12;
    ok(report_is_soft(&d, 7), "the word is one too long");
    d.width = 13;
    ok(!report_is_soft(&d, 7), "it just fits");
    d.width = 0;
    ok(!report_is_soft(&d, 7), "not wrapped");
}

static void test_edges(void)
{
    struct document d = { .text = "ab c\xc3\xa9", .len = 6 };

    ok(report_is_edge(&d, 0) && !report_is_edge(&d, 1) && report_is_edge(&d, 2) && report_is_edge(&d, 3) && !report_is_edge(&d, 4)
       && report_is_edge(&d, 6), "where words begin and end");
    ok(!report_continues(&d, 4) && report_continues(&d, 5) && !report_continues(&d, 6), "where a character goes on");
}

static void test_blocks(void)
{
    struct text     t = { NULL, 0, 0 };
    struct document d;

    repeat(&t, 2000, "four\n");         /* 10000 bytes */
    text_puts(&t, "\n");
    repeat(&t, 4000, "four\n");         /* and 20000 */
    d = look(t.p);
    ok(report_block_end(&d, 0) == 10000, "a block ends at an empty line");
    ok(report_block_end(&d, 10001) == 10001 + 3 * 6144 + 3, "or at a line's end when there is none for long");
    ok(report_block_end(&d, 30001 - 6144) == 30001 && report_block_end(&d, 30000) == 30001, "or at the end");
    t.p[4998] = '\f';
    d = look(t.p);
    ok(report_block_end(&d, 0) == 4998 && report_block_end(&d, 4999) == 23436, "or at its page's");
    text_free(&t);
    repeat(&t, 6142, "x");
    text_puts(&t, "\n\n\n\nx");
    d = look(t.p);
    ok(report_block_end(&d, 0) == 6144, "it has at least 6144 bytes");
    text_free(&t);
}

static void test_grouped(void)
{
    static const struct { uint64_t n; const char *want; } row[] = {
        { 0, "0" }, { 999, "999" }, { 1000, "1,000" }, { 12345, "12,345" }, { 123456, "123,456" }, { 1234567, "1,234,567" },
        { UINT64_MAX, "18,446,744,073,709,551,615" }
    };
    bool good = true;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *s = report_grouped(row[i].n);

        good = good && !strcmp(s, row[i].want);
        free(s);
    }
    ok(good, "thousands are separated");
}

/* ---- the page --------------------------------------------------------------------------- */
enum { N_DOCUMENTS = 6 };

static struct document document[N_DOCUMENTS];

/* The first place of s in the document. */
static uint64_t at(size_t doc, const char *s)
{
    const char *p = strstr(document[doc].text, s);

    if (!p)
        exit(99);
    return (uint64_t)(p - document[doc].text);
}

static struct mark mark(size_t asked, size_t rank, size_t doc, const char *from, const char *to, const char *best, float score, int level)
{
    struct mark m = { .asked = asked, .rank = rank, .doc = doc, .start = at(doc, from), .score = score, .level = level };

    m.end = at(doc, to) + strlen(to);
    m.best = at(doc, best);
    m.place = place_of(document[doc].text, document[doc].len, (struct span){ m.start, m.end });
    return m;
}

static struct kept kept(size_t doc, const char *from, const char *to)
{
    struct kept k = { .doc = doc, .span = { .start = at(doc, from) } };

    k.span.end = at(doc, to) + strlen(to);
    return k;
}

static void make_documents(struct text text[N_DOCUMENTS])
{
    static const char *const name[N_DOCUMENTS] = { "pages <1>.pdf", "prose\n.txt", "table.csv", "nothing.txt", "many.txt", "none.txt" };

    text_puts(&text[0], "First page & its <text>.\r\nSecond line.\r\n\f \n\fThird page, the last one.\f");
    for (size_t i = 0; i < 8; i++)
        text_printf(&text[1], "w%zu sentence that goes on and on for fifty bytes\nand is wrapped there, so the next one follows it.\n", i);
    text_puts(&text[1], "\nA short line.\nThe end of it all");
    text_puts(&text[2], "name   number\ncat   1\nhat   2\n");
    text_puts(&text[3], "Nothing of this was kept.\n\fSecond slide\n");
    for (size_t i = 0; i < 14; i++)
        text_printf(&text[4], "Sentence s%02zu.\n", i);
    for (size_t i = 0; i < 60; i++)
        text_printf(&text[4], "%sword%02zu\xc3\xa9", i ? " " : "", i);
    text_puts(&text[4], ".\n");
    text_puts(&text[5], "Nothing here.");
    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        document[i] = (struct document){ .name = (char *)name[i], .part = (char *)(i == 3 ? "slide" : "page"), .text = text[i].p,
                                         .len = text[i].n, .marked = i != 3 && i != 5 };
        report_look(&document[i]);
    }
}

/* The page without what differs between versions: the style sheet and the version. */
static char *body_of(const char *path)
{
    struct text t = { NULL, 0, 0 };
    FILE       *f = fopen(path, "r");
    char       *style, *end;

    text_add(&t, "", 0);
    if (!f)
        return t.p;
    text_read(&t, fileno(f));
    fclose(f);
    style = strstr(t.p, "<style>\n");
    end = style ? strstr(style, "</style>") : NULL;
    if (end)
        memmove(style + 8, end, strlen(end) + 1);
    for (char *v; (v = strstr(t.p, "gemkv " PACKAGE_VERSION)); )
        memmove(v + 5, v + 6 + strlen(PACKAGE_VERSION), strlen(v + 6 + strlen(PACKAGE_VERSION)) + 1);
    return t.p;
}

static void test_page(void)
{
    struct text   text[N_DOCUMENTS] = { { NULL, 0, 0 } };
    struct mark   first[18], second[1];
    size_t        of_first[] = { 0, 1, 2, 3, 4, 5 }, of_second[] = { 0 }, n = 0;
    struct asked  asked[2] = { { .question = (char *)"What is <it>?", .answer = { (char *)"It is\n<b>.\n \r\n", 14, 0 }, .answered = true,
                                 .cut = true, .n_doc = 6, .doc = of_first, .k = first },
                               { .question = (char *)"Where?", .answer = { (char *)" \n", 2, 0 }, .answered = true, .n = 1, .n_doc = 1,
                                 .doc = of_second, .k = second } };
    struct report report = { .asked = asked, .doc = document, .n_asked = 2, .n_doc = N_DOCUMENTS };
    char          folder[] = "/tmp/gemkv-report-XXXXXX", path[64], expected[4096];
    struct io     io = { .out = stdout, .err = stderr };
    struct run    r = { .report = &report };
    struct kept   keeps[24];
    char         *got, *want, s[8];
    FILE         *f;

    make_documents(text);
    first[n] = mark(0, n, 4, "word00", "word59\xc3\xa9.", "word40", 12.3456f, 5);
    n++;
    first[n] = mark(0, n, 0, "First", "line.", "Second", 11, 4);
    n++;
    first[n] = mark(0, n, 1, "w1 sent", "w4 sent", "w3 sent", 10, 3);
    n++;
    first[n] = mark(0, n, 2, "cat", "1", "cat", 9, 2);
    n++;
    for (size_t i = 0; i < 13; i++, n++) {
        snprintf(s, sizeof s, "s%02zu", i);
        first[n] = mark(0, n, 4, s, s, s, 8 - (float)i / 2, 1);
    }
    asked[0].n = n;
    second[0] = mark(1, 0, 0, "text>", "last", "Third", -0.5f, 2);
    asked[0].kept = asked[1].kept = keeps;
    n = 0;
    keeps[n++] = kept(0, "page &", "its <text>.");
    keeps[n++] = kept(0, "Third", "page,");
    keeps[n++] = kept(1, "goes", "on and");
    keeps[n++] = kept(1, "wrapped", "there,");
    keeps[n++] = kept(2, "cat", "1");
    keeps[n++] = kept(4, "s01", "s02");
    keeps[n++] = kept(4, "word40", "word41\xc3\xa9");
    keeps[n++] = kept(4, "word43", "word43\xc3\xa9");
    asked[0].n_kept = asked[1].n_kept = n;
    first[0].kept = 6;
    first[2].kept = 2;
    first[3].kept = 4;
    for (size_t i = 4; i < asked[0].n; i++)
        first[i].kept = 5;
    second[0].kept = 0;
    asked[0].figure[0] = (struct figure){ "Model", (char *)"a & b" };
    asked[0].figure[1] = (struct figure){ "Date", (char *)"today" };
    asked[0].n_figure = 2;

    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/page.html", folder);
    ok(!output_new(&r.output, &io, path, false) && !report_write(&r), "a page is written");
    got = body_of(path);
    unlink(path);
    snprintf(expected, sizeof expected, "%s/tests/files/report.html", getenv("srcdir") ? getenv("srcdir") : ".");
    if (getenv("UPDATE") && (f = fopen(expected, "w"))) {
        fputs(got, f);
        fclose(f);
    }
    want = body_of(expected);
    ok(*got && !strcmp(got, want), "the page of two questions");
    for (size_t i = 0; strcmp(got, want) && got[i]; i++)
        if (got[i] != want[i]) {
            printf("# from byte %zu on: %.80s\n# instead of: %.80s\n", i, got + (i > 20 ? i - 20 : 0), want + (i > 20 ? i - 20 : 0));
            break;
        }
    free(got);
    free(want);

    report.n_asked = 1;                 /* one question: no list of them, and numbers without it */
    asked[0].answered = false;
    asked[0].n = 1;
    ok(!output_new(&r.output, &io, path, false) && !report_write(&r), "a page of one question");
    got = body_of(path);
    ok(!strstr(got, "class=\"contents\"") && !strstr(got, "class=\"answer\"") && strstr(got, "<span class=\"rank\">1</span>")
       && strstr(got, "<title>What is &lt;it&gt;?</title>") && strstr(got, ">1 passage<"), "it has no list of questions, and no answer");
    free(got);
    unlink(path);
    rmdir(folder);
    r.report = NULL;
    ok(!report_write(&r), "nothing was asked, nothing is written");
    for (size_t i = 0; i < N_DOCUMENTS; i++)
        text_free(&text[i]);
}

/* Strips of 120 pages show where they begin, those of more do not; and the narrowest bar is 3 wide, up to the end. */
static void test_ticks(void)
{
    struct text   text[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    struct mark   marks[3];
    size_t        docs[] = { 0, 1 };
    struct asked  asked = { .question = (char *)"Q", .n = 3, .n_doc = 2, .doc = docs, .k = marks };
    struct report report = { .asked = &asked, .doc = document, .n_asked = 1, .n_doc = 2 };
    char          folder[] = "/tmp/gemkv-report-XXXXXX", path[64], *got, *tick;
    struct io     io = { .out = stdout, .err = stderr };
    struct run    r = { .report = &report };

    for (size_t i = 0; i < 2; i++) {
        repeat(&text[i], 119 + i, "a page of it\n\f");
        text_puts(&text[i], "last one\n");
        document[i] = (struct document){ .name = (char *)"d", .part = (char *)"page", .text = text[i].p, .len = text[i].n, .marked = true };
        report_look(&document[i]);
        marks[i] = mark(0, i, i, "last", "one", "last", 1, 1);
    }
    marks[2] = mark(0, 2, 1, "a", "a", "a", 0, 1);
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/page.html", folder);
    ok(!output_new(&r.output, &io, path, false) && !report_write(&r), "a page of long documents");
    got = body_of(path);
    tick = strstr(got, "class=\"tick\"");
    ok(tick && !strstr(tick + 1, "class=\"tick\""), "120 pages are shown in the strip, and 121 are not");
    ok(strstr(got, "x=\"994.6\" y=\"27\" width=\"4.8\" height=\"13\"") != NULL, "a bar where its passage is");
    ok(strstr(got, "x=\"0.0\" y=\"27\" width=\"3.0\" height=\"13\"") != NULL, "the narrowest bar");
    free(got);
    marks[1] = mark(0, 1, 1, "ne\n", "ne", "ne\n", 1, 1);
    ok(!output_new(&r.output, &io, path, true) && !report_write(&r), "again");
    got = body_of(path);
    ok(strstr(got, "x=\"997.0\" y=\"27\" width=\"3.0\" height=\"13\"") != NULL, "and the last does not leave the strip");
    free(got);
    unlink(path);
    rmdir(folder);
    text_free(&text[0]);
    text_free(&text[1]);
}

int main(void)
{
    test_ticks();
    test_counts();
    test_columns();
    test_width();
    test_edges();
    test_blocks();
    test_grouped();
    test_page();
    return done();
}
