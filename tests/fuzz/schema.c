/* SPDX-License-Identifier: BSD-2-Clause
 * schema.c - a JSON Schema: it becomes a grammar that can be read, unless nothing of finite length fits it, or is
 * refused in words */
#include "config.h"
#include <stdbool.h>
#include <string.h>
#include <gemkv.h>
#include "src/cli/schema.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        *text = fuzz_text((struct input){ data, size }), *why = NULL;
    char        *grammar = schema_grammar(text, size, &why);
    gkv_grammar *g = NULL;
    gkv_error    err = { 0 };
    gkv_status   status;
    bool         good;

    must(!grammar == !!why && (!why || !strchr(why, '\n')));
    if (grammar) {
        status = gkv_grammar_open(&g, grammar, strlen(grammar), &err);
        good = status == GKV_OK || status == GKV_LIMIT || strstr(err.text, "never ends");
        if (!good)
            fprintf(stderr, "%s\n%s\n", err.text, grammar);
        must(good);
        gkv_grammar_close(g);
    }
    free(grammar);
    free(why);
    free(text);
    return 0;
}
