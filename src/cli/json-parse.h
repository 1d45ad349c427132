/* SPDX-License-Identifier: BSD-2-Clause
 * json-parse.h - parses JSON into a tree of values */
#ifndef GEMKV_CLI_JSON_PARSE_H
#define GEMKV_CLI_JSON_PARSE_H

#include <stddef.h>
#include "src/cli/text.h"

enum parse_type {
    PARSE_NULL, PARSE_FALSE, PARSE_TRUE, PARSE_NUMBER, PARSE_STRING, PARSE_ARRAY, PARSE_OBJECT
};

struct value {
    enum parse_type type;
    const char     *key;                /* of a member of an object                       */
    const char     *text;               /* of a string: len bytes and a NUL               */
    size_t          len;
    double          number;
    struct value   *first, *next;       /* first element or member; next sibling          */
};

/* Parses the one value in text[len], where text[len] is a NUL.  Changes the text; the tree points into it.
 * NULL when it is not JSON: *why says what is wrong, and *at where. */
struct value *parse_json(char *text, size_t len, const char **why, size_t *at);
void          parse_free(struct value *v);

const struct value *parse_member(const struct value *object, const char *key);   /* or NULL */
/* The text of a string member, or NULL when it is something else or there is none. */
const char *parse_string(const struct value *object, const char *key);
/* Appends the value as JSON again. */
void        parse_print(const struct value *v, struct text *out);
double      parse_number(const struct value *object, const char *key, double otherwise);

#endif
