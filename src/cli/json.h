/* SPDX-License-Identifier: BSD-2-Clause
 * json.h - write one JSON value to standard output, or to a text; commas are put where they
 * belong
 *
 *     json_open('{'); json_key("n"); json_uint(1); json_close();      {"n": 1}          */
#ifndef GEMKV_CLI_JSON_H
#define GEMKV_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

void json_into(struct text *t);                 /* from now on; NULL: standard output     */
void json_open(char bracket);                   /* '{' or '['                             */
void json_close(void);                          /* after the last bracket, a newline      */
void json_key(const char *key);
void json_text(const char *s, size_t n);        /* bytes that are not UTF-8 become U+FFFD */
void json_string(const char *s);                /* NULL: null                             */
void json_uint(uint64_t u);
void json_real(double d);                       /* shortest that reads back the same;     */
void json_score(float f);                       /* ... null when it is not finite         */
void json_bool(bool b);
void json_null(void);

/* A key with its value. */
void json_named_uint(const char *key, uint64_t u);
void json_named_real(const char *key, double d);
void json_named_string(const char *key, const char *s);

#endif
