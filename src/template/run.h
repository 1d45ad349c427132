/* SPDX-License-Identifier: BSD-2-Clause
 * run.h - a conversation as the text that a model was trained to see: the file's own
 * chat template, run.  What it may take in time, memory and output is bounded. */
#ifndef GKV__TEMPLATE_RUN_H
#define GKV__TEMPLATE_RUN_H

#include "src/token/token.h"

struct gkv__message { const char *role, *content; size_t content_len; };

struct gkv__chat {
    const struct gkv__message *message;
    size_t                     n;
    const char                *bos, *eos;       /* the text of these tokens, or ""            */
    bool                       answer_next;     /* add_generation_prompt                      */
    int64_t                    now;             /* seconds since 1970 in local time           */
};

struct gkv__rendered {          /* gkv__rendered_free when done */
    char              *text;    /* and a NUL                                                  */
    size_t             len;
    struct gkv__range *plain;   /* what came out of messages: no control token may be made    */
    size_t             n_plain; /* of it (gkv__tokenize)                                      */
};

/* GKV_UNSUPPORTED: it uses what we do not know; GKV_INVALID: it refuses this conversation, or is
 * wrong; GKV_LIMIT: it takes too much.  The error names the line of the template. */
gkv_status gkv__chat_render(const char *jinja, size_t len, const struct gkv__chat *chat,
                            struct gkv__rendered *out, gkv_error *err);
void       gkv__rendered_free(struct gkv__rendered *out);

#endif
