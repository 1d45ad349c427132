/* SPDX-License-Identifier: BSD-2-Clause
 * request.h - what is asked in OpenAI's words, of chat completions and of responses
 *
 * Where the document is in a conversation: each file, each part of a text but the last, and of a message that is long all
 * but its question, which is the last paragraph, or the first if that is one.  A long system message is a document. */
#ifndef GEMKV_CLI_SERVE_REQUEST_H
#define GEMKV_CLI_SERVE_REQUEST_H

#include "src/cli/json.h"
#include "src/cli/serve/api.h"

struct request {                        /* zeroed; after request_open, request_close it   */
    struct web_call *call;
    struct api      *api;
    struct ask      *ask;
    struct value    *body;              /* until request_start                            */
    char            *pending;           /* a question that has no answer yet              */
    struct words     brought;           /* ids of files that are in the request itself    */
    char             id[32];
    int64_t          created;
    bool             stream;
};

/* These return false after the request was refused.  kind: what its id begins with. */
bool request_open(struct request *c, struct web_call *call, const char *kind);
bool request_numbers(struct request *c);        /* and stop strings, and whether it is a stream */
bool request_messages(struct request *c, const struct value *messages);
bool request_message(struct request *c, const char *text, size_t n);    /* of the user    */
void request_system(struct request *c, const struct value *text);
bool request_schema(struct request *c, const struct value *schema);     /* NULL: any object */
bool request_question(struct request *c);       /* after the messages: there is one       */
bool request_start(struct request *c);
bool request_bad(struct request *c, const char *fmt, ...) SAY_FORMAT(2, 3);
void request_close(struct request *c);

/* True: it asks for something that is not here, and was refused. */
bool request_refuses(struct request *c);
bool request_flag(const struct value *object, const char *key);         /* a member that is true */

/* ---- parts of the reply ---------------------------------------------------------------- */
/* Members of an object: document, page and lines; and what was read, kept of it, and what it cost. */
void reply_place(struct json *j, const struct ask *a, const struct ask_passage *p);
void reply_evidence(struct json *j, const struct ask *a);
/* An event of a stream; type NULL: without its name.  *j is empty then. */
void reply_event(struct text *out, const char *type, struct json *j);
/* What a client is told while it waits: a comment that keeps the connection alive. */
void reply_waits(struct text *out, const struct ask_now *before, const struct ask_now *now);
/* Tokens that were not read for this question. */
uint64_t reply_cached(const struct ask *a);

#endif
