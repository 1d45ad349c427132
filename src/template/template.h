/* SPDX-License-Identifier: BSD-2-Clause
 * template.h - chat templates, reduced to what a question about documents needs.  The prompt is
 *     open, documents, ask, question, close, direct
 * and after earlier questions
 *     open, documents, ask, question, turn, answer, next, question, ..., close, direct
 * If the model shall think first, `start` stands in place of close and direct.
 * where special tokens are parsed in open, turn, next, close and direct only, so that a document cannot pretend to
 * be the system.
 *
 * A model file has a template of its own, a program that run.c runs.  If that fails, a row
 * for its family is used, recognised by a string that occurs in the program. */
#ifndef GKV__TEMPLATE_H
#define GKV__TEMPLATE_H

#include "src/base/status.h"

/* How a model writes what it thinks before it answers. */
struct gkv__marks {
    const char *open, *space;   /* what a thought begins with, and what follows that         */
    const char *before, *end;   /* what is in front of its end; what it ends with            */
    const char *after;          /* what stands between that and the answer                   */
};
enum { GKV__MARKS_BYTES = 64 }; /* of before, end and after together, at most                */

struct gkv__template {
    const char *name, *summary; /* "name: how it looks"                                      */
    const char *mark;           /* occurs in tokenizer.chat_template of this family; NULL: none */
    const char *open, *ask, *close;
    const char *turn, *next;    /* behind an earlier question, and behind its answer, in front of the next
                                   question; NULL: several turns are not known, or are not as above */
    const char *direct;         /* what an answer begins with that is no thought; or NULL      */
    const struct gkv__marks *marks;     /* or NULL: the model does not think                   */
    const char *after;          /* marks->after, as this template has it                     */
    char        start[256];     /* begins a thought; "": not possible after this `open`, or not known */
    bool        told;           /* the template was told that the model shall think          */
    char       *text;           /* NULL, or malloc'ed: these point into it                   */
    size_t      system, system_end; /* bytes of open that are the system prompt: plain       */
};

const struct gkv__template *gkv__template_named(const char *name);          /* or NULL */
const struct gkv__template *gkv__template_recognise(const char *jinja, size_t len);
const struct gkv__template *gkv__template_at(size_t i);                     /* or NULL */

/* The model's own template with a system prompt or NULL, named like its family or "own"; free(out->text)
 * when done.  bos_is_added: the tokenizer adds BOS, so open does not begin with it.  now: seconds since 1970
 * in local time, for templates that print the date.  think: it is told that the model shall think, which may change
 * `open`.  Fails as gkv__chat_render does, and with
 * GKV_UNSUPPORTED when documents cannot replace the user's message or the system prompt is left out. */
gkv_status gkv__template_own(struct gkv__template *out, const char *jinja, size_t len,
                             const char *system, const char *bos, const char *eos,
                             bool bos_is_added, bool think, int64_t now, gkv_error *err);

extern const struct gkv__template *const gkv__template_plain;   /* for unknown families       */
extern const struct gkv__template gkv__template_raw;            /* for text without template  */

#endif
