/* SPDX-License-Identifier: BSD-2-Clause
 * json.h - writes one JSON value as text; adds commas where they belong
 *
 *     struct json j = { .depth = 0 };
 *     json_open(&j, '{'); json_named_uint(&j, "n", 1); json_close(&j);      {"n": 1}     */
#ifndef GEMKV_CLI_JSON_H
#define GEMKV_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/text.h"

struct io;

struct json {                                   /* zeroed: nothing is written yet         */
    struct text text;                           /* text_free it, unless it is printed     */
    size_t      depth;
    bool        after_key;
    struct { char end; bool some; } nest[8];
};

void json_open(struct json *j, char bracket);           /* '{' or '[' */
void json_close(struct json *j);                        /* after the last bracket, a newline */
void json_key(struct json *j, const char *key);
void json_text(struct json *j, const char *s, size_t n); /* bytes that are not UTF-8 become U+FFFD */
void json_string(struct json *j, const char *s);        /* NULL: null */
void json_uint(struct json *j, uint64_t u);
void json_real(struct json *j, double d);               /* shortest that reads back the same; */
void json_score(struct json *j, float f);               /* ... null when it is not finite */
void json_bool(struct json *j, bool b);
void json_null(struct json *j);

/* A key with its value. */
void json_named_uint(struct json *j, const char *key, uint64_t u);
void json_named_real(struct json *j, const char *key, double d);
void json_named_string(struct json *j, const char *key, const char *s);
void json_named_raw(struct json *j, const char *key, const char *json); /* json: a value as text  */
void json_named_open(struct json *j, const char *key, char bracket);
void json_named_layer(struct json *j, const char *key, int32_t layer); /* -1: null */

void json_print(struct io *io, struct json *j);         /* as a result; empties j */

#endif
