/* SPDX-License-Identifier: BSD-2-Clause
 * template.h - chat templates, as far as a question about documents needs them.  The prompt is
 *     open, documents, ask, question, close
 * where open and close are parsed for special tokens and the rest never is, so that a document
 * cannot speak as the system.
 *
 * A file brings a template of its own, a program that run.c runs.  Where that fails
 * there is a row per family, recognised by what occurs in the program. */
#ifndef GKV__TEMPLATE_H
#define GKV__TEMPLATE_H

#include "src/base/status.h"

struct gkv__template {
    const char *name, *summary; /* "name: what it looks like"                                */
    const char *mark;           /* occurs in tokenizer.chat_template of this family; NULL: none */
    const char *open, *ask, *close;
    char       *text;           /* of a file's own: malloc'ed, open and close lie in it      */
    size_t      system, system_end; /* bytes of open that are a system prompt, so plain      */
};

const struct gkv__template *gkv__template_named(const char *name);          /* or NULL */
const struct gkv__template *gkv__template_recognise(const char *jinja, size_t len);
const struct gkv__template *gkv__template_at(size_t i);                     /* or NULL */

/* The file's own, with a system prompt or NULL, named like the family or "own"; free(out->text) when done.  bos_is_added: not
 * by open then.  now: seconds since 1970 in local time, for templates that say the date.  Fails
 * like gkv__chat_render, or when documents could not be put in the user's place. */
gkv_status gkv__template_own(struct gkv__template *out, const char *jinja, size_t len,
                             const char *system, const char *bos, const char *eos,
                             bool bos_is_added, int64_t now, gkv_error *err);

extern const struct gkv__template *const gkv__template_plain;   /* when nothing is known      */
extern const struct gkv__template gkv__template_raw;            /* nothing but the text       */

#endif
