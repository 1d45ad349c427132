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
#include "src/cli/text.h"
#include "src/cli/utf8.h"

static struct { char end; bool some; } nest[8];
static size_t depth;
static bool   after_key;
static struct text *into;               /* NULL: standard output                          */

static void put(const char *s, size_t n)
{
    if (into)
        text_add(into, s, n);
    else
        out_bytes(s, n);
}

void json_into(struct text *t)
{
    into = t;
}

static void separate(void)
{
    if (depth && !after_key && nest[depth - 1].some)
        put(", ", 2);
    if (depth)
        nest[depth - 1].some = true;
    after_key = false;
}

void json_open(char bracket)
{
    assert(depth < sizeof nest / sizeof *nest);
    separate();
    put(&bracket, 1);
    nest[depth].end = bracket == '{' ? '}' : ']';
    nest[depth++].some = false;
}

void json_close(void)
{
    assert(depth);
    put(&nest[--depth].end, 1);
    if (depth == 0)
        put("\n", 1);
}

void json_key(const char *key)
{
    json_string(key);
    put(": ", 2);
    after_key = true;
}

void json_text(const char *s, size_t n)
{
    uint32_t cp;
    char     escaped[16];

    separate();
    put("\"", 1);
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == UTF8_BAD)
            put("\xef\xbf\xbd", 3);
        else if (cp == '"' || cp == '\\')
            put((char[]){ '\\', (char)cp }, 2);
        else if (cp == '\n')
            put("\\n", 2);
        else if (cp == '\t')
            put("\\t", 2);
        else if (utf8_is_control(cp))           /* all of them: a terminal may show this  */
            put(escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04" PRIx32, cp));
        else
            put(s + i, k);
    }
    put("\"", 1);
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
    char s[24];

    separate();
    put(s, (size_t)snprintf(s, sizeof s, "%" PRIu64, u));
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
    put(s, strlen(s));
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
    put(s, strlen(s));
}

void json_bool(bool b)
{
    separate();
    out_printf(b ? "true" : "false");
}

void json_null(void)
{
    separate();
    put("null", 4);
}

void json_named_uint(const char *key, uint64_t u)
{
    json_key(key);
    json_uint(u);
}

void json_named_real(const char *key, double d)
{
    json_key(key);
    json_real(d);
}

void json_named_string(const char *key, const char *s)
{
    json_key(key);
    json_string(s);
}
