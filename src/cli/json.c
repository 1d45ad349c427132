/* SPDX-License-Identifier: BSD-2-Clause
 * json.c - see json.h
 *
 * Numbers are printed by printf: this program never calls setlocale, so the decimal point
 * is a point. */
#include "config.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/json.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

static struct { char end; bool some; } nest[8];
static size_t depth;
static bool   after_key;

static void separate(void)
{
    if (depth && !after_key && nest[depth - 1].some)
        out_bytes(", ", 2);
    if (depth)
        nest[depth - 1].some = true;
    after_key = false;
}

void json_open(char bracket)
{
    assert(depth < sizeof nest / sizeof *nest);
    separate();
    out_char(bracket);
    nest[depth].end = bracket == '{' ? '}' : ']';
    nest[depth++].some = false;
}

void json_close(void)
{
    assert(depth);
    out_char(nest[--depth].end);
    if (depth == 0)
        out_char('\n');
}

void json_key(const char *key)
{
    json_string(key);
    out_bytes(": ", 2);
    after_key = true;
}

void json_text(const char *s, size_t n)
{
    uint32_t cp;

    separate();
    out_char('"');
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == UTF8_BAD)
            out_bytes("\xef\xbf\xbd", 3);
        else if (cp == '"' || cp == '\\')
            out_printf("\\%c", (int)cp);
        else if (cp == '\n')
            out_bytes("\\n", 2);
        else if (cp == '\t')
            out_bytes("\\t", 2);
        else if (utf8_is_control(cp))           /* all of them: a terminal may show this  */
            out_printf("\\u%04" PRIx32, cp);
        else
            out_bytes(s + i, k);
    }
    out_char('"');
}

void json_string(const char *s)
{
    if (s)
        json_text(s, strlen(s));
    else
        json_null();
}

void json_uint(uint64_t u)
{
    separate();
    out_printf("%" PRIu64, u);
}

void json_real(double d)
{
    char s[32];

    if (!isfinite(d)) {
        json_null();
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, d);
        if (strtod(s, NULL) == d)
            break;
    }
    separate();
    out_bytes(s, strlen(s));
}

void json_score(float f)
{
    char s[32];

    if (!isfinite(f)) {
        json_null();
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)f);
        if (strtof(s, NULL) == f)
            break;
    }
    separate();
    out_bytes(s, strlen(s));
}

void json_null(void)
{
    separate();
    out_bytes("null", 4);
}
