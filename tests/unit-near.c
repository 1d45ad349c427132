/* SPDX-License-Identifier: BSD-2-Clause
 * unit-near.c - which known word a misspelt one may be */
#include "config.h"
#include <string.h>
#include "gemkv.h"
#include "tests/tap.h"

static const struct { const char *list, *word, *near; } cases[] = {
    { "ask select index", "aks", "ask" },               /* two letters swapped: one mistake        */
    { "ask select index", "sel", NULL },                /* half of a word is no misspelling        */
    { "ask select index", "selct", "select" },          /* a letter left out ...                   */
    { "ask select index", "sselect", "select" },        /* ... one too many ...                    */
    { "ask select index", "indax", "index" },           /* ... and a wrong one                     */
    { " ask  select ", "SELECT", "select" },            /* capital letters are no mistake          */
    { "ask select index", "ask", "ask" },
    { "schedule", "shedlue", "schedule" },
    { "schedule", "skdlule", NULL },                    /* 3 of 7 letters are too many             */
    { "streamingllm-online", "streaminglm-onlinne", "streamingllm-online" },
    { "streamingllm-online", "streamlm-onlin", NULL },  /* never more than 3                       */
    { "full fill", "foll", "full" },                    /* of two as near, the first               */
    { "bull full", "fulls", "full" },                   /* of two, the nearer                      */
    { "k x", "z", NULL },                               /* no letter is right                      */
    { "h2o", "h2", "h2o" },
    { "ask", "", NULL },
    { "", "ask", NULL },
    { "0123456789012345678901234567890123456789", "012345678901234567890123456789012345678",
      "0123456789012345678901234567890123456789" },
    { "01234567890123456789012345678901234567890", "0123456789012345678901234567890123456789", NULL },
    { "0123456789012345678901234567890123456789", "01234567890123456789012345678901234567890", NULL },
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t      n = 99;
        const char *near = gkv_nearest(cases[i].list, cases[i].word, strlen(cases[i].word), &n);

        ok(cases[i].near ? near && n == strlen(cases[i].near) && !memcmp(near, cases[i].near, n) : !near,
           "\"%s\" in \"%s\": %s", cases[i].word, cases[i].list, cases[i].near ? cases[i].near : "none");
    }
    return done();
}
