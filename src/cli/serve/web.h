/* SPDX-License-Identifier: BSD-2-Clause
 * web.h - the server's side of HTTP, through libmicrohttpd, without which all of it is refused
 *
 * A connection has a thread of its own, in which its requests are handled one after the other: a handler may wait.
 * What a handler is given is the client's and of any kind, but whole, within the limits, and of a sender that may ask:
 * Host, Origin and key were checked before. */
#ifndef GEMKV_CLI_SERVE_WEB_H
#define GEMKV_CLI_SERVE_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/json-parse.h"
#include "src/cli/text.h"

struct io;
struct web_call;

/* A route is a method and a path; one that ends with "*" stands for all that begin so. */
struct web_route {
    const char *method, *path;          /* NULL path: the last row                        */
    void      (*handle)(struct web_call *c);
    bool        open;                   /* to those without a key, too                    */
    bool        form;                   /* its body is a form, whose file goes to the disk */
};

struct web_options {
    struct io  *io;
    const char *host;                   /* a name, an address, or a path that begins with "/": a Unix socket */
    uint32_t    port;                   /* 0: one that is free                            */
    const char *key;                    /* or NULL                                        */
    uint64_t    most;                   /* bytes of a body                                */
    uint64_t    most_held;              /* of all bodies that are in memory               */
    const char *folder;                 /* for files of forms                             */
    const struct web_route *routes;
    void       *arg;
};

struct web;
/* *address: where it listens, for people, for free().  0, or an exit status after saying why not. */
int  web_start(struct web **w, const struct web_options *o, char **address);
/* From now on requests are refused, because the server ends. */
void web_drain(struct web *w);
size_t web_running(struct web *w);      /* requests that are being handled                */
void web_stop(struct web *w);           /* ends all connections, and waits for their handlers */
/* Requests so far, and those of them with an answer of 400 and more. */
void web_counts(struct web *w, uint64_t *all, uint64_t *refused);
/* NULL, or why this build cannot. */
const char *web_missing(void);

/* ---- a request ----------------------------------------------------------------------- */
void       *web_arg(const struct web_call *c);
const char *web_path(const struct web_call *c);
/* The body, n bytes and a NUL, which may be changed. */
char       *web_body(struct web_call *c, size_t *n);
/* Of a form: the value of a field, the file's path in the folder, which the handler may keep by renaming it, and its name
 * where it came from.  NULL: there is none. */
const char *web_field(const struct web_call *c, const char *name);
const char *web_file(const struct web_call *c, const char **name);
/* Whether nobody waits for the answer any more. */
bool        web_gone(struct web_call *c);

/* ---- its answer: one of these, once --------------------------------------------------- */
void web_answer(struct web_call *c, unsigned status, const char *type, const void *body, size_t n);
/* {"error": {...}}, as OpenAI's servers have it; code may be NULL. */
void web_fail(struct web_call *c, unsigned status, const char *code, const char *fmt, ...) SAY_FORMAT(4, 5);
/* A stream of events: `more` adds to out what there is to send, waiting up to about a second for it, and returns false at
 * the end; `end` is called in any case, when there is no more or nobody listens. */
void web_stream(struct web_call *c, bool (*more)(void *arg, struct text *out), void (*end)(void *arg), void *arg);

#endif
