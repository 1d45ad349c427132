/* SPDX-License-Identifier: BSD-2-Clause
 * document.h - the text that questions are asked about, as tokens: fed once, then read only.
 *
 *     open | file \n\n file ... | ask question close        (src/template/template.h)
 *
 * The text is held once.  A long one is tokenized while it arrives, in pieces that are cut where this
 * does not change the tokens.  So each question tokenizes only the text after the last cut, mostly one
 * word, together with the question (prompt.h). */
#ifndef GKV__DOCUMENT_H
#define GKV__DOCUMENT_H

#include "src/first/index.h"
#include "src/template/template.h"
#include "src/token/token.h"

struct gkv__file { uint64_t start, end; };      /* bytes of the document's text */

struct gkv_document {
    const gkv_model            *model;
    const struct gkv__vocab    *vocab;
    const struct gkv__template *tmpl;
    struct gkv__template        own_template;   /* with a system prompt in it                */
    char                        warning[256];   /* about the template, or ""                 */
    size_t                      piece;          /* bytes that are tokenized at a time        */
    uint64_t                    resident;       /* bytes of the process before any text      */
    uint64_t                    limit;          /* bytes of memory for the process; 0: none  */
    uint64_t                    max_context;    /* tokens; 0: no limit                       */
    /* Called after more text became tokens, unless NULL.       */
    gkv_status                (*check)(void *arg, uint64_t n_tokens, gkv_error *err);
    void                       *check_arg;

    char                       *text;
    size_t                      len, cap;
    size_t                      checked;        /* known to be whole UTF-8 characters        */
    size_t                      tokenized, next;/* next: try to cut at so many new bytes     */
    struct gkv__file           *file;
    size_t                      n_files;
    atomic_bool                 cancel;         /* gkv_document_index ends soon              */
    bool                        file_open, finished;
    bool                        broken;         /* a part of the text is missing             */
    struct gkv__tokens          tokens;         /* of text[0 .. tokenized); BOS first        */
    double                      seconds;        /* spent making them                         */
    struct gkv__index           index;          /* fd -1: none                               */
    struct gkv__part           *part;           /* what of it was indexed                    */
    size_t                      n_parts;
    gkv_document              **joined;         /* whose indexes these are, unless its own   */
    size_t                      n_joined;
};

/* *d is zero.  tmpl may be gkv__template_raw: then special tokens are parsed in the whole text. */
gkv_status gkv__document_init(gkv_document *d, const struct gkv__vocab *v,
                              const struct gkv__template *tmpl, size_t piece, gkv_error *err);
void       gkv__document_free(gkv_document *d);
/* Ends the text, and tokenizes all of it that does not depend on the question.  GKV_DOCUMENT: no text. */
gkv_status gkv__document_finish(gkv_document *d, gkv_error *err);

/* A number that tells chat templates apart.  Where a template prints the date, it is the same on all days. */
uint64_t   gkv__document_template(const gkv_document *d);
/* Append text, as it is, to the document's. */
gkv_status gkv__document_append(gkv_document *d, const char *text, size_t len, gkv_error *err);
/* The document has its own index: it is one part. */
gkv_status gkv__document_has_index(gkv_document *d, gkv_error *err);
/* To path, whole or not at all, with an index unless w is NULL. */
gkv_status gkv__document_write(const gkv_document *d, struct gkv__index_work *w, const char *path, gkv_error *err);

/* What a document without a template of its own is given: tokens are plain text in it, or special tokens
 * are parsed. */
static inline bool gkv__document_is_raw(const gkv_document *d)
{
    return d->tmpl == &gkv__template_raw;
}

#endif
