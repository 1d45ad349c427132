/* SPDX-License-Identifier: BSD-2-Clause
 * template.h - chat templates: one row per family, recognised in the file's own template.
 * The prompt is   open, documents, ask, question, close   where open and close are parsed for
 * special tokens and the rest never is, so that a document cannot speak as the system. */
#ifndef GKV__TEMPLATE_H
#define GKV__TEMPLATE_H

#include <stddef.h>

struct gkv__template {
    const char *name, *summary;
    const char *mark;           /* occurs in tokenizer.chat_template of this family; NULL: none */
    const char *open, *ask, *close;
};

const struct gkv__template *gkv__template_named(const char *name);          /* or NULL */
const struct gkv__template *gkv__template_recognise(const char *jinja, size_t len);
const struct gkv__template *gkv__template_at(size_t i);                     /* or NULL */

extern const struct gkv__template gkv__template_plain;  /* when the model's own is unknown */
extern const struct gkv__template gkv__template_raw;    /* nothing but the text            */

#endif
