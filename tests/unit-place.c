/* SPDX-License-Identifier: BSD-2-Clause
 * unit-place.c - pages, lines and sentences of passages */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/place.h"
#include "src/document.h"
#include "tests/rng.h"
#include "tests/tap.h"
#include "tests/marked.h"

/* The text with [ ] around what is kept; want: with [ ] around the sentences. */
static void rounds(const char *marked, const char *want)
{
    char   text[4096];
    size_t start = 0, end = 0;
    const size_t n = unmark(marked, text, &start, &end);
    const struct span s = place_sentences(text, n, (struct span){ start, end });

    is_marked(text, n, s.start, s.end, want);
}

static void sentences(void)
{
    rounds("One is. Tw[o i]s. Three is.", "One is. [Two is.] Three is.");
    rounds("One is. Two i[s. Thr]ee is. Four.", "One is. [Two is. Three is.] Four.");
    rounds("One is. Two is[. ]Three is.", "One is. [Two is.] Three is.");
    rounds("One is.[ ]Two is.", "[One is.] Two is.");
    rounds("One is. [Two is.] Three is.", "One is. [Two is.] Three is.");
    rounds("On[e]", "[One]");
    rounds("a  []  bb. C", "[a    bb.] C");
    rounds("He asked \"Why?\" She [s]aid no. Then", "He asked \"Why?\" [She said no.] Then");
    rounds("\"Why?\" a[sked he. (It was so.) T]hen", "[\"Why?\" asked he. (It was so.) Then]");
    rounds("It is Mr. Sm[i]th of St. Ives. He", "[It is Mr. Smith of St. Ives.] He");
    rounds("See J. R. R. Tol[k]ien, e.g. Fig. 3 and pp. 4. He", "[See J. R. R. Tolkien, e.g. Fig. 3 and pp. 4.] He");
    rounds("He said no. Th[e]n", "He said no. [Then]");
    rounds("In 2018. It[ was] 3.5 or 1.000 t. Then", "In 2018. [It was 3.5 or 1.000 t. Then]");
    rounds("Wrapped li[n]es\nare one sentence.\nThis is another.", "[Wrapped lines\nare one sentence.]\nThis is another.");
    rounds("A heading\n\nThe te[x]t\n \t\nmore", "A heading\n\n[The text]\n \t\nmore");
    rounds("end of page\fThe te[x]t\fmore", "end of page\f[The text]\fmore");
    rounds("Name    Age\nAn[n]a    31\nBob    44\n", "Name    Age\n[Anna    31]\nBob    44\n");
    rounds("Name\tAge\nAn[n]a\t31\nBob\t44\n", "Name\tAge\n[Anna\t31]\nBob\t44\n");
    rounds("| a | b |\n| c[ ]| d |\n| e | f |", "| a | b |\n[| c | d |]\n| e | f |");
    rounds("x,y,z\nu,[v],w\nr,s,t\n", "x,y,z\n[u,v,w]\nr,s,t\n");
    rounds("Text\n- o[n]e\n- two\n", "Text\n[- one]\n- two\n");
    rounds("Text\n 1. o[n]e\n 2. two\n", "Text\n [1. one]\n 2. two\n");
    rounds("# Title\nTe[x]t", "# Title\n[Text]");
    rounds("\xe4\xb8\x80\xe3\x80\x82\xe4\xba\x8c[\xe4]\xb8\x89\xe3\x80\x82\xe5\x9b\x9b",
           "\xe4\xb8\x80\xe3\x80\x82[\xe4\xba\x8c\xe4\xb8\x89\xe3\x80\x82]\xe5\x9b\x9b");
    rounds("\xe3\x80\x8c\xe4\xb8\x80\xe3\x80\x82\xe3\x80\x8d\xe4[\xba]\x8c\xef\xbc\x81\xe5\x9b\x9b",
           "\xe3\x80\x8c\xe4\xb8\x80\xe3\x80\x82\xe3\x80\x8d[\xe4\xba\x8c\xef\xbc\x81]\xe5\x9b\x9b");
    rounds("\xe0\xa4\x95 \xe0\xa5\xa4 \xe0\xa4\x96[ ]\xe0\xa4\x97 \xe0\xa5\xa4 \xe0\xa4\x98",
           "\xe0\xa4\x95 \xe0\xa5\xa4 [\xe0\xa4\x96 \xe0\xa4\x97 \xe0\xa5\xa4] \xe0\xa4\x98");
    rounds("CRLF one.\r\nTw[o] is.\r\nThree.", "CRLF one.\r\n[Two is.]\r\nThree.");
    rounds(" \n [\n ]", " \n []\n ");
}

/* Without sentences: to a line, to a word, to a character. */
static void without(void)
{
    static char text[1 << 20];
    const size_t n = sizeof text, at = n / 2;
    struct span s;
    size_t good = 0;

    memset(text, 'x', n);
    s = place_sentences(text, n, (struct span){ at, at + 5 });
    ok(s.start == at && s.end == at + 5, "a megabyte of one letter: the bytes themselves");
    for (size_t i = 0; i + 1 < n; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    s = place_sentences(text, n, (struct span){ at + 1, at + 3 });
    ok(s.start == at && s.end == at + 4, "... of one accented letter: whole characters");
    memset(text, 'x', n);
    text[at - 10] = text[at + 10] = text[at - 200] = text[at + 200] = ' ';
    s = place_sentences(text, n, (struct span){ at, at + 5 });
    ok(s.start == at - 9 && s.end == at + 10, "no lines: a word");
    text[at - 50] = text[at + 50] = '\n';
    s = place_sentences(text, n, (struct span){ at, at + 5 });
    ok(s.start == at - 49 && s.end == at + 50, "no sentences: a line");
    s = place_sentences(text, n, (struct span){ n - 3, n + 7 });
    ok(s.start == n - 3 && s.end == n, "a span behind the end ends there");

    for (size_t i = 0; i < n; i++)
        text[i] = i % 40 == 39 ? '\n' : 'x';
    {
        uint64_t next, end = place_sentence(text, n, 0, &next);

        ok(end < 700 && next == end + 1 && next % 40 == 0, "a text of lines without sentences is gone through by lines");
    }

    /* Any text: spans hold what was kept, cut no character, and sentences one by one are the same. */
    for (unsigned round = 0; round < 2000; round++) {
        static const char *const piece[] = { "a", "B", " ", "  ", "   ", "\n", "\f", ". ", ".", "? ", "\xc3\xa9",
                                             "\xe3\x80\x82", "\xe2\x80\x9d", "1", ",", "|", "\t", "\r\n", "- ", "Dr. ",
                                             "\xf0\x9f\x98\x80" };
        const size_t pieces = sizeof piece / sizeof *piece;
        size_t len = 0;
        uint64_t next;
        bool fine = true;

        while (len < 200) {
            const char *p = piece[rng() % pieces];

            memcpy(text + len, p, strlen(p));
            len += strlen(p);
        }
        for (uint64_t from = 0; from < len; from++) {
            struct span in = { from, from + 7 < len ? from + 7 : len }, kept = place_trim(text, in);

            s = place_sentences(text, len, in);
            fine = fine && s.start <= s.end && s.end <= len && (s.end == len || ((unsigned char)text[s.end] & 0xc0) != 0x80)
                && (s.start == len || ((unsigned char)text[s.start] & 0xc0) != 0x80)
                && (kept.start == kept.end || (s.start <= kept.start && s.end >= kept.end));
        }
        for (uint64_t p = 0; p < len; p = next) {
            const uint64_t end = place_sentence(text, len, p, &next);

            s = place_trim(text, (struct span){ p, end });
            if (s.start == s.end)
                continue;
            s = place_sentences(text, len, s);
            fine = fine && next > p && end <= next && s.end == end && (s.start == p || p == 0);
        }
        good += fine;
    }
    ok(good == 2000, "random texts: %zu of 2000", good);
}

static void cites(const char *text, const char *found, const char *want)
{
    const char *at = strstr(text, found);
    const struct span s = { (uint64_t)(at - text), (uint64_t)(at - text) + strlen(found) };
    const struct place p = place_of(text, strlen(text), s);
    char *got = place_cite("a", NULL, &p);

    ok(!strcmp(got, want), "%s", want);
    if (strcmp(got, want))
        printf("# got %s\n", got);
    free(got);
}

static void places(void)
{
    static const char *const pages = "one\ntwo\nthree\n\ffour\nfive\n\f\fsix";

    {
        const struct place one = { 3, 3, 1, 1 }, more = { 3, 4, 1, 2 };
        char *a = place_cite("a", "slide", &one), *b = place_cite("a", "sheet", &more), *c = place_cite("a", "page", &one);

        ok(!strcmp(a, "a slide 3, line 1") && !strcmp(b, "a sheet 3, line 1 - sheet 4, line 2") && !strcmp(c, "a p. 3, line 1"),
           "parts that are no pages have their own names");
        free(a);
        free(b);
        free(c);
    }
    cites("one\ntwo\nthree", "one", "a, line 1");
    cites("one\ntwo\nthree", "\ntwo\n", "a, line 2");
    cites("one\r\ntwo\r\nthree", "two\r\nthree", "a, lines 2-3");
    cites(pages, "one", "a p. 1, line 1");
    cites(pages, "two\nthree\n\f", "a p. 1, lines 2-3");
    cites(pages, "\n\ffour", "a p. 2, line 1");
    cites(pages, "five", "a p. 2, line 2");
    cites(pages, "six", "a p. 4, line 1");
    cites(pages, "three\n\ffour\nfive", "a p. 1, line 3 - p. 2, line 2");
    cites("only\f", "only", "a p. 1, line 1");
}

static void passages(void)
{
    static char text[] = "One is. Two is.\fThree is. Four is. Five is.\nSix. Other file. Its end.";
    const uint64_t other = (uint64_t)(strstr(text, "Other") - text);
    struct gkv__file file[] = { { 0, other }, { other, sizeof text - 1 } };
    gkv_document d = { .text = text, .len = sizeof text - 1, .file = file, .n_files = 2 };
    const uint64_t two = 9, three = 17, four = 27, five = 36;
    const gkv_kept kept[] = {
        { .file = 0, .start = two, .end = two + 1, .score = 1 },
        { .file = 0, .start = three, .end = three + 1, .score = 3 },
        { .file = 0, .start = three + 3, .end = four + 1, .score = 2 },
        { .file = 0, .start = four + 3, .end = four + 4, .score = 7 },
        { .file = 0, .start = five + 8, .end = five + 9, .score = 9 },
        { .file = 1, .start = 1, .end = 2, .score = 7 },
    };
    const struct { const char *text, *cite; float score; } want[] = {
        { "Six.", "x p. 2, line 2", 9 },
        { "Three is. Four is.", "x p. 2, line 1", 7 },
        { "Other file.", "x, line 1", 7 },
        { "Two is.", "x p. 1, line 1", 1 },
    };
    const size_t n_want = sizeof want / sizeof *want;
    size_t m;
    struct passage *p = place_passages(&d, kept, sizeof kept / sizeof *kept, &m);

    ok(m == n_want, "overlapping passages are one: %zu", m);
    for (size_t i = 0; i < m && i < n_want; i++) {
        char *cite = place_cite("x", NULL, &p[i].place);

        ok(p[i].span.end - p[i].span.start == strlen(want[i].text)
           && !memcmp(p[i].text, want[i].text, strlen(want[i].text)) && !strcmp(cite, want[i].cite)
           && p[i].best->score == want[i].score, "%s: %s", want[i].cite, want[i].text);
        free(cite);
    }
    free(p);

    /* Places of kept bytes, in any order, and white space, which is no passage. */
    {
        const gkv_kept      some[] = { { .file = 0, .start = five, .end = five + 8 }, { .file = 0, .start = 0, .end = 6 },
                                       { .file = 1, .start = 0, .end = 5 }, { .file = 0, .start = two - 2, .end = two + 3 } };
        const gkv_kept      blank = { .file = 0, .start = 1, .end = 3, .score = 3 };
        const gkv_kept      equal[] = { { .score = 5 }, { .score = 7 }, { .score = 5 }, { .score = 7 }, { .score = 5 } };
        const struct place  there[] = { { 2, 2, 1, 1 }, { 1, 1, 1, 1 }, { 0, 0, 1, 1 }, { 1, 1, 1, 1 } };
        static char         space[] = " \n \f \n";
        struct gkv__file    whole = { 0, sizeof space - 1 };
        const gkv_document  spaces = { .text = space, .len = sizeof space - 1, .file = &whole, .n_files = 1 };
        struct place       *at = place_kept(&d, some, 4);
        size_t             *rank = place_ranks(equal, 5);

        for (size_t i = 0; i < 4; i++)
            ok(at[i].page == there[i].page && at[i].page_end == there[i].page_end && at[i].line == there[i].line && at[i].line_end == there[i].line_end,
               "place %d: %d-%d, %d-%d", (int)i, (int)at[i].page, (int)at[i].page_end, (int)at[i].line, (int)at[i].line_end);
        free(at);
        ok(rank[0] == 3 && rank[1] == 1 && rank[2] == 4 && rank[3] == 2 && rank[4] == 5, "of equal ones the first is first");
        free(rank);
        p = place_passages(&spaces, &blank, 1, &m);
        ok(!m, "white space is no passage: %d", (int)m);
        free(p);
    }
    {
        static char wide[] = "\xe4\xb8\x80\xe3\x80\x82\xe4\xba\x8c\xe3\x80\x82";
        struct gkv__file all = { 0, sizeof wide - 1 };
        gkv_document cjk = { .text = wide, .len = sizeof wide - 1, .file = &all, .n_files = 1 };
        const gkv_kept touch[] = { { .end = 3, .score = 1 }, { .start = 6, .end = 9, .score = 2 } };
        size_t *rank = place_ranks(touch, 2);

        p = place_passages(&cjk, touch, 2, &m);
        ok(m == 2 && p[0].span.start == 6, "sentences that touch do not overlap");
        ok(rank[0] == 2 && rank[1] == 1, "ranks");
        free(rank);
        free(p);
    }
}

int main(void)
{
    sentences();
    without();
    places();
    passages();
    return done();
}
