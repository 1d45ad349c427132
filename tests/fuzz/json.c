/* SPDX-License-Identifier: BSD-2-Clause
 * json.c - any text as JSON: what was parsed and printed is parsed and printed as the same */
#include "config.h"
#include <string.h>
#include "src/cli/json-parse.h"
#include "src/cli/utf8.h"
#include "tests/fuzz/fuzz.h"

static bool is_utf8(const char *text, size_t len)
{
    uint32_t cp;

    for (size_t at = 0; at < len; at += utf8_next(text + at, len - at, &cp), len = cp == UTF8_BAD ? 0 : len)
        ;
    return len;
}

/* The text as it is printed, in *out; false: it is no JSON. */
static bool print(char *text, size_t len, struct text *out)
{
    const char   *why = NULL;
    size_t        at = 0;
    struct value *v = parse_json(text, len, &why, &at);

    *out = (struct text){ NULL, 0, 0 };
    must(v || (why && *why && at <= len));
    if (v)
        parse_print(v, out);
    parse_free(v);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char       *text = fuzz_text((struct input){ data, size });
    const bool  good = is_utf8(text, size);
    struct text once, twice;

    if (print(text, size, &once)) {
        char *copy = fuzz_text((struct input){ (const uint8_t *)once.p, once.n });

        must(!good || is_utf8(once.p, once.n));
        must(print(copy, once.n, &twice));
        must(twice.n == once.n && !memcmp(twice.p, once.p, once.n));
        free(copy);
        text_free(&twice);
    }
    text_free(&once);
    free(text);
    return 0;
}
