/* SPDX-License-Identifier: BSD-2-Clause
 * unit-cite.c - which sentences of passages support those of an answer */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/cite.h"
#include "src/cli/utf8.h"
#include "tests/rng.h"
#include "tests/tap.h"

static const char document[] =
    "The pass key is 48213 and the genie is in the bottle. The hat is red.\n"
    "Ann Miller founded the library in 1,902, not in 1899. She had come from Norway.\n"
    "The library burned down in the year 1944. Nobody was hurt.\n";
static const char other[] = "Again, the pass key is 48213 in this text too. Rain fell on 12 May 1950 in Bergen.\n"
    "\xe5\x9b\xbe\xe4\xb9\xa6\xe9\xa6\x86\xe5\x9c\xa8\xe5\x8c\x97\xe4\xba\xac\xe3\x80\x82\n"
    "- \xd0\x81\xd0\xb6 sleeps.\n- \xd0\x9c\xd0\xb8\xd1\x80 ends.\n- \xce\x9a\xcf\x89\xcf\x82 lies there.\n";

/* want: for each sentence of the answer the beginning of what supports it, or "-", with | between them. */
static void cites(const char *question, const char *answer, const char *clean, const char *want)
{
    const gkv_kept kept[] = { { .file = 0, .score = 2 }, { .file = 1, .score = 1 } };
    const struct passage p[] = {
        { .best = &kept[0], .text = document, .span = { 0, sizeof document - 1 } },
        { .best = &kept[1], .text = other, .span = { 0, sizeof other - 1 } },
    };
    struct cited c = cite_answer(answer, strlen(answer), question, p, 2);
    char got[1024] = "";
    size_t at = 0;

    for (size_t i = 0; i < c.n; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%.9s", i ? "|" : "", c.claim[i].passage
                               ? c.claim[i].passage->text + c.claim[i].support.start : "-");
    ok(!strcmp(got, want) && !strcmp(c.answer.p, clean), "%s", answer);
    if (strcmp(got, want) || strcmp(c.answer.p, clean))
        printf("# got %s of %s\n", got, c.answer.p);
    cite_free(&c);
}

#define CITES(question, answer, want) cites(question, answer, answer, want)

/* ---- letters ----------------------------------------------------------------------------- */
/* Whether a text supports all of an answer's one sentence. */
static bool supports(const char *text, const char *answer)
{
    const gkv_kept       kept = { .file = 0 };
    const struct passage p = { .best = &kept, .text = text, .span = { 0, strlen(text) } };
    struct cited         c = cite_answer(answer, strlen(answer), "q", &p, 1);
    const bool           is = c.n == 1 && c.claim[0].passage;

    cite_free(&c);
    return is;
}

/* A word with a character within. */
static const char *around(const char *before, uint32_t c, const char *after)
{
    static char text[2][64];
    static int  i;
    char        utf8[5] = "";

    i = !i;
    *utf8_put(utf8, c) = 0;
    snprintf(text[i], sizeof text[i], "%s%s%s", before, utf8, after);
    return text[i];
}

static void letters(void)
{
    static const uint32_t part[] = { '0', '9', 'A', 'Z', 'a', 'z', 0xaa, 0xac, 0xb6, 0xb8, 0xba, 0xbc, 0xd6, 0xd8, 0xf6, 0xf8, 0x1fff, 0x2c00, 0x2e7f,
                                     0xfe2f, 0xff10, 0xff19, 0xff21, 0xff3a, 0xff41, 0xff5a, 0xff66, 0xa000, 0xfb00, 0x1ffff, 0x40000 };
    static const uint32_t between[] = { '/', ':', '@', '[', '`', '{', '_', '-', 0xa0, 0xa9, 0xab, 0xb7, 0xbb, 0xd7, 0xf7, 0x2000, 0x2bff, 0x3000, 0x303f,
                                        0xfe30, 0xff0f, 0xff1a, 0xff20, 0xff3b, 0xff40, 0xff5b, 0xff65 };
    static const uint32_t ideograph[] = { 0x2e80, 0x2fff, 0x3040, 0x9fff, 0xf900, 0xfaff, 0x20000, 0x3ffff };
    static const struct { uint32_t large, small; bool same; } pair[] = {
        { 'A', 'a', true }, { 'Z', 'z', true }, { 0xc0, 0xe0, true }, { 0xde, 0xfe, true }, { 0xbf, 0xdf, false }, { 0xdf, 0xff, false },
        { 0x391, 0x3b1, true }, { 0x3a9, 0x3c9, true }, { 0x390, 0x3b0, false }, { 0x410, 0x430, true }, { 0x42f, 0x44f, true }, { 0x430, 0x450, false },
        { 0x400, 0x450, true }, { 0x40f, 0x45f, true }, { 0x3ff, 0x44f, false }
    };

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        ok(!supports("There were alpha beta gamma.", around("alpha", part[i], "beta"))
           && !supports(around("There were alpha", part[i], "beta gamma."), around("", part[i], ".")), "U+%04X is part of a word", (unsigned)part[i]);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        ok(supports("There were alpha beta gamma.", around("alpha", between[i], "beta")), "U+%04X is between words", (unsigned)between[i]);
    for (size_t i = 0; i < sizeof ideograph / sizeof *ideograph; i++)
        ok(supports(around("There were alpha", ideograph[i], "beta gamma."), around("", ideograph[i], "."))
           && supports(around("There were alpha", ideograph[i], "beta gamma."), around("alpha", ideograph[i], "beta")), "U+%04X is a word", (unsigned)ideograph[i]);
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        ok(supports(around("There were x", pair[i].large, "y."), around("x", pair[i].small, "y")) == pair[i].same, "U+%04X and U+%04X", (unsigned)pair[i].large,
           (unsigned)pair[i].small);
    ok(supports("It cost 1,000.5 there.", "1000.5") && !supports("It cost 1,000.5 there.", "1000") && !supports("It cost 1,000.5 there.", "5")
       && supports("It cost 1.", "1") && supports("It cost 1,x there.", "1"), "commas and points within numbers");
    ok(!supports("It cost a.5 there.", "a.5x") && supports("It cost a,5 there.", "5"), "... and of words");
}

static void enough(void)
{
    /* Two thirds of the words, and three of them or all in a run. */
    ok(supports("The pass key is red.", "the pass key is green") && !supports("The pass key is red.", "the pass key is green now"), "two thirds");
    ok(!supports("The pass key is red.", "pass red key") && supports("A pass key box is red.", "pass key box green")
       && !supports("A pass key is a box.", "pass key box green"), "three words in a run");
    ok(supports("A pass key is red.", "the pass key") && !supports("A pass of a key is red.", "the pass key"), "of two words both");
    ok(!supports("The pass key is red.", "the pass key is not red") && !supports("The pass key is not red.", "the pass key box is red")
       && supports("The pass key is not red.", "the pass key is not red") && !supports("The pass key is not red.", "the pass key is never red"), "negations");
    ok(!supports("The pass key is red.", "is the") && !supports("The pass key is 5.", "the pass key is 6") && !supports("", "pass") && !supports("Red.", ""), "none");
    {
        struct text t = { NULL, 0, 0 };
        gkv_kept    kept = { .file = 0 };
        size_t      good = 0;

        for (int i = 0; i < 40; i++)                            /* more sentences than the first table has room for */
            text_printf(&t, "Sentence %d is here. ", i);
        for (int i = 0; i < 40; i++) {
            const struct passage p = { .best = &kept, .text = t.p, .span = { 1000, 1000 + t.n } };
            char        *answer = format("%d", i), *want = format("Sentence %d is", i);
            struct cited c = cite_answer(answer, strlen(answer), "q", &p, 1);

            good += c.n == 1 && c.claim[0].passage && !strncmp(t.p + c.claim[0].support.start - 1000, want, strlen(want))
                    && t.p[c.claim[0].support.end - 1001] == '.';
            cite_free(&c);
            free(answer);
            free(want);
        }
        ok(good == 40, "each of 40 sentences: %d", (int)good);
        text_free(&t);
    }
}

int main(void)
{
    static char text[20000];
    struct cited c;
    size_t good = 0;

    CITES("What is the key?", "48213", "The pass ");
    CITES("What is the key?", "The pass key is 48213.", "The pass ");
    CITES("What is the key?", "The pass key is 48214.", "-");
    CITES("What is the key?", "It is 48213. The hat is red. The hat is blue.", "The pass |The hat i|-");
    CITES("Who founded the library?", "Ann Miller founded the library in 1902.", "Ann Mille");
    CITES("Who founded the library?", "Ann Miller founded the library in 1902, not in 1899.", "Ann Mille");
    CITES("Who founded the library?", "ANN MILLER", "Ann Mille");
    CITES("Who founded the library?", "The library was founded.", "-");
    CITES("When did it burn?", "The library burned down in 1944.", "The libra");
    CITES("When did it burn?", "The library had not burned down in 1944.", "-");
    CITES("When did it burn?", "The library burned down in 1902.", "-");
    CITES("Did the hat burn?", "Yes.", "-");
    CITES("Is the hat red?", "The hat is red.", "The hat i");
    CITES("Is the hat red?", "hat", "-");
    CITES("Where did Ann Miller come from?", "Ann Miller founded the library; she had come from Norway, not in 1899 or 1902.",
          "Ann Mille");
    CITES("q", "Rain fell on the library in 1944.", "-");
    CITES("q", "\xe5\x9c\xa8\xe5\x8c\x97\xe4\xba\xac\xe3\x80\x82", "\xe5\x9b\xbe\xe4\xb9\xa6\xe9\xa6\x86");
    CITES("When did it burn?", "The library burned down in 1944, and nobody was hurt.", "The libra");
    CITES("Who founded it?", "Ann Miller founded a library in 1902 there.", "-");
    CITES("When did it rain?", "Rain Bergen May fell 12 1950.", "-");
    CITES("What is the key?", "The pass key is 48213 in this text.", "Again, th");
    CITES("What is in this text?", "48213", "Again, th");
    CITES("q", "The library burned horribly.", "The libra");
    CITES("Is the hat red?", "Hat is red.", "The hat i");
    CITES("Is the hat red?", "Is red.", "-");
    CITES("q", "\xd1\x91\xd0\xb6.", "- \xd0\x81\xd0\xb6 sl");         /* capitals beyond Latin */
    CITES("q", "\xd0\xbc\xd0\xb8\xd1\x80.", "- \xd0\x9c\xd0\xb8\xd1\x80 ");
    CITES("q", "\xce\xba\xcf\x89\xcf\x82.", "- \xce\x9a\xcf\x89\xcf\x82 ");
    CITES("q", "", "");
    CITES("q", " \n ", "");
    cites("What is the key?", "The pass key is 48213. [2]", "The pass key is 48213.", "Again, th");
    cites("q", "Rain [fell] on 12 May 1950 [1].", "Rain [fell] on 12 May 1950.", "Rain fell");
    cites("q", "[9] The hat is red  [7]", " The hat is red", "The hat i");
    cites("q", "[9] The hat is red [7][12345].", " The hat is red[12345].", "-");

    cites("q", "[0] The hat is red  [3]", " The hat is red", "The hat i");
    cites("q", "The hat is red [0].", "The hat is red.", "The hat i");
    cites("q", "The hat is red [2", "The hat is red [2", "-");
    cites("q", "The hat is red [1234] [ 1] [1x] []", "The hat is red [ 1] [1x] []", "-");
    cites("What is the key?", "The pass key is 48213 [2].", "The pass key is 48213.", "Again, th");
    cites("What is the key?", "The pass key is 48213. [2] The pass key is 48213.", "The pass key is 48213. The pass key is 48213.", "Again, th|The pass ");
    letters();
    enough();

    cites("q", "\xe5\x9c\xa8\xe5\x8c\x97\xe4\xba\xac\xe3\x80\x82[2]48213.",
          "\xe5\x9c\xa8\xe5\x8c\x97\xe4\xba\xac\xe3\x80\x82" "48213.",
          "\xe5\x9b\xbe\xe4\xb9\xa6\xe9\xa6\x86|The pass ");            /* of the sentence before it */

    /* A mark chooses among those that support it. */
    for (unsigned want = 1; want <= 2; want++) {
        const gkv_kept kept[] = { { .file = 0 }, { .file = 1 } };
        const struct passage p[] = { { .best = &kept[0], .text = document, .span = { 0, sizeof document - 1 } },
                                     { .best = &kept[1], .text = other, .span = { 0, sizeof other - 1 } } };
        const char *answer = want == 1 ? "The pass key is 48213 [1]. So." : "The pass key is 48213 [2]. So.";

        c = cite_answer(answer, strlen(answer), "q", p, 2);
        ok(c.n == 2 && c.claim[0].passage == &p[want - 1], "mark [%u]", want);
        cite_free(&c);
    }

    /* The same support has the same number, and bytes are the document's. */
    {
        const gkv_kept kept = { .file = 0 };
        const struct passage p = { .best = &kept, .text = document + 54, .span = { 54, sizeof document - 1 } };
        const gkv_kept two = { .file = 1 };
        const struct passage same[] = { { .best = &kept, .text = "The hat is red.", .span = { 0, 15 } },
                                        { .best = &two, .text = "The cat is red.", .span = { 0, 15 } } };
        const char *answer = "The hat is red. She came. Nobody was hurt. The hat is red.";

        c = cite_answer(answer, strlen(answer), "q", &p, 1);
        ok(c.n == 4 && c.n_numbers == 2 && c.claim[0].number == 1 && !c.claim[1].number && c.claim[2].number == 2
           && c.claim[3].number == 1, "numbers");
        ok(c.claim[0].support.start == 54 && c.claim[0].support.end == 69, "bytes of the document");
        cite_free(&c);
        {       /* The hat's sentence alone: what follows it in the document is no support. */
            const struct passage hat = { .best = &kept, .text = document + 54, .span = { 54, 69 } };

            c = cite_answer("The hat is red. Ann Miller founded the library.", 47, "q", &hat, 1);
            ok(c.n == 2 && c.claim[0].number == 1 && !c.claim[1].passage, "only what is in the passage");
            cite_free(&c);
        }
        c = cite_answer("The hat is red. The cat is red.", 31, "q", same, 2);
        ok(c.n == 2 && c.n_numbers == 2, "the same bytes of two files are two");
        cite_free(&c);
        c = cite_answer(answer, strlen(answer), "q", NULL, 0);
        ok(c.n == 4 && !c.n_numbers, "no passages");
        cite_free(&c);
    }

    /* Any bytes. */
    for (unsigned round = 0; round < 200; round++) {
        const gkv_kept kept = { .file = 0 };
        struct passage p = { .best = &kept, .text = text };
        size_t len = 0;

        for (; len < 400; len++)
            text[len] = " .[1]ab\xc3\xa9\xe3\x80\x82\n"[rng() % 14];
        p.span = (struct span){ 0, 300 };
        c = cite_answer(text + 200, 200, "a b", &p, 1);
        good += c.n > 0 && c.answer.n <= 200;
        for (size_t i = 0; i < c.n; i++)
            good -= c.claim[i].sentence.end > c.answer.n || c.claim[i].support.end > 300;
        cite_free(&c);
    }
    ok(good == 200, "random bytes: %zu of 200", good);
    return done();
}
