/* SPDX-License-Identifier: BSD-2-Clause
 * grammar.c - a grammar in GBNF and an answer: the grammar, a NUL, the answer */
#include "config.h"
#include <string.h>
#include "src/answer/grammar.h"
#include "tests/fuzz/fuzz.h"

enum { LONGEST = 200 };

/* What fits goes on, byte by byte, and gkv__match_bytes says the same. */
static void match(const gkv_grammar *g, struct input in)
{
    struct gkv__match *m = NULL;
    gkv_error          err = { 0 };
    bool               fits[256];

    if (gkv__match_open(&m, g, UINT64_MAX, &err) != GKV_OK)
        return;
    for (size_t i = 0; i < in.n && i < LONGEST && gkv__match_status(m, NULL) == GKV_OK; i++) {
        const char next = (char)in.p[i];
        const bool may = gkv__match_fits(m, &next, 1, 1 << 20);
        gkv_status taken;

        if (gkv__match_status(m, NULL) != GKV_OK)
            break;
        gkv__match_bytes(m, fits);
        must(!may || fits[in.p[i]]);
        must(!gkv__match_must_end(m) || gkv__match_may_end(m));
        taken = gkv__match_take(m, &next, 1, &err);
        must(taken == GKV_OK || !may || taken == GKV_LIMIT || taken == GKV_NOMEM);
        if (taken != GKV_OK)
            break;
        gkv__match_least(m);
    }
    gkv__match_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input       in = { data, size };
    const struct input text = take_until(&in, 0);
    gkv_grammar       *g = NULL;
    gkv_error          err = { 0 };

    if (gkv_grammar_open(&g, (const char *)text.p, text.n, &err) == GKV_OK)
        match(g, in);
    else
        must(!g && *err.text && !strchr(err.text, '\n'));
    gkv_grammar_close(g);
    return 0;
}
