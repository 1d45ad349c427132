/* SPDX-License-Identifier: BSD-2-Clause
 * unit-near.c - what messages say: which known word a misspelt one may be, and sizes */
#include "config.h"
#include <string.h>
#include "src/base/status.h"
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
    { "full", "fuxx", NULL },                           /* half of the letters                     */
    { "h2o", "h2", "h2o" },
    { "ask", "", NULL },
    { "", "ask", NULL },
    { "0123456789012345678901234567890123456789", "012345678901234567890123456789012345678",
      "0123456789012345678901234567890123456789" },
    { "01234567890123456789012345678901234567890", "0123456789012345678901234567890123456789", NULL },
    { "0123456789012345678901234567890123456789", "01234567890123456789012345678901234567890", NULL },
};

static const struct { uint64_t bytes; const char *needed, *limit; } sizes[] = {
    { 0, "0 bytes", "0 bytes" },
    { 999, "999 bytes", "999 bytes" },
    { 1000, "0.98 KiB", "0.97 KiB" },
    { 1024, "1.00 KiB", "1.00 KiB" },
    { 1025, "1.01 KiB", "1.00 KiB" },
    { 10 << 20, "10.0 MiB", "10.0 MiB" },
    { (10 << 20) + 1, "10.1 MiB", "10.0 MiB" },
    { UINT64_C(123456789012), "115 GiB", "114 GiB" },
    { UINT64_MAX, "16.0 EiB", "16.0 EiB" },
};

int main(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ok(!strcmp(gkv__needed(sizes[i].bytes).text, sizes[i].needed)
               && !strcmp(gkv__limit(sizes[i].bytes).text, sizes[i].limit),
           "%s needed, a limit of %s", gkv__needed(sizes[i].bytes).text, gkv__limit(sizes[i].bytes).text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t      n = 99;
        const char *near = gkv_nearest(cases[i].list, cases[i].word, strlen(cases[i].word), &n);

        ok(cases[i].near ? near && n == strlen(cases[i].near) && !memcmp(near, cases[i].near, n) : !near,
           "\"%s\" in \"%s\": %s", cases[i].word, cases[i].list, cases[i].near ? cases[i].near : "none");
    }
    return done();
}
