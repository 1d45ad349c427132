/* SPDX-License-Identifier: BSD-2-Clause
 * schema.h - JSON Schema as a grammar for answers */
#ifndef GEMKV_CLI_SCHEMA_H
#define GEMKV_CLI_SCHEMA_H

#include <stddef.h>

/* A grammar in GBNF of JSON texts that the schema in text[len] describes; text[len] is a NUL, and the text is changed.
 * Properties come in the order in which the schema has them, and others only where additionalProperties allows them
 * in so many words.  oneOf means anyOf.  What the grammar cannot say is refused by name: NULL, and *why is one line.
 * Both for free(). */
char *schema_grammar(char *text, size_t len, char **why);

#endif
