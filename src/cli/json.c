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

static void separate(struct json *j)
{
    if (j->depth && !j->after_key && j->nest[j->depth - 1].some)
        text_add(&j->text, ", ", 2);
    if (j->depth)
        j->nest[j->depth - 1].some = true;
    j->after_key = false;
}

void json_open(struct json *j, char bracket)
{
    assert(j->depth < sizeof j->nest / sizeof *j->nest);
    separate(j);
    text_add(&j->text, &bracket, 1);
    j->nest[j->depth].end = bracket == '{' ? '}' : ']';
    j->nest[j->depth++].some = false;
}

void json_close(struct json *j)
{
    assert(j->depth);
    text_add(&j->text, &j->nest[--j->depth].end, 1);
    if (j->depth == 0)
        text_add(&j->text, "\n", 1);
}

void json_key(struct json *j, const char *key)
{
    json_string(j, key);
    text_add(&j->text, ": ", 2);
    j->after_key = true;
}

void json_text(struct json *j, const char *s, size_t n)
{
    uint32_t cp;

    separate(j);
    text_add(&j->text, "\"", 1);
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == UTF8_BAD)
            text_add(&j->text, "\xef\xbf\xbd", 3);
        else if (cp == '"' || cp == '\\')
            text_add(&j->text, (char[]){ '\\', (char)cp }, 2);
        else if (cp == '\n')
            text_add(&j->text, "\\n", 2);
        else if (cp == '\t')
            text_add(&j->text, "\\t", 2);
        else if (utf8_is_control(cp))           /* also C1 and bidi, for terminals */
            text_printf(&j->text, "\\u%04" PRIx32, cp);
        else
            text_add(&j->text, s + i, k);
    }
    text_add(&j->text, "\"", 1);
}

void json_string(struct json *j, const char *s)
{
    if (s)
        json_text(j, s, strlen(s));
    else
        json_null(j);
}

void json_uint(struct json *j, uint64_t u)
{
    char s[24];

    separate(j);
    text_add(&j->text, s, (size_t)snprintf(s, sizeof s, "%" PRIu64, u));
}

void json_real(struct json *j, double d)
{
    char s[32];

    if (!isfinite(d)) {
        json_null(j);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, d);
        if (strtod(s, NULL) == d)
            break;
    }
    separate(j);
    text_add(&j->text, s, strlen(s));
}

void json_score(struct json *j, float f)
{
    char s[32];

    if (!isfinite(f)) {
        json_null(j);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)f);
        if (strtof(s, NULL) == f)
            break;
    }
    separate(j);
    text_add(&j->text, s, strlen(s));
}

void json_bool(struct json *j, bool b)
{
    separate(j);
    text_puts(&j->text, b ? "true" : "false");
}

void json_null(struct json *j)
{
    separate(j);
    text_add(&j->text, "null", 4);
}

void json_named_uint(struct json *j, const char *key, uint64_t u)
{
    json_key(j, key);
    json_uint(j, u);
}

void json_named_real(struct json *j, const char *key, double d)
{
    json_key(j, key);
    json_real(j, d);
}

void json_named_string(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_string(j, s);
}

void json_named_raw(struct json *j, const char *key, const char *json)
{
    json_key(j, key);
    separate(j);
    text_puts(&j->text, json);
}

void json_named_open(struct json *j, const char *key, char bracket)
{
    json_key(j, key);
    json_open(j, bracket);
}

void json_named_layer(struct json *j, const char *key, int32_t layer)
{
    json_key(j, key);
    if (layer < 0)
        json_null(j);
    else
        json_uint(j, (uint64_t)layer);
}

void json_print(struct io *io, struct json *j)
{
    out_bytes(io, j->text.p, j->text.n);
    text_free(&j->text);
}
