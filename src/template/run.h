/* SPDX-License-Identifier: BSD-2-Clause
 * run.h - runs a model's chat template, which turns a conversation into the text that the model
 * was trained on.  Its time, memory and output are limited. */
#ifndef GKV__TEMPLATE_RUN_H
#define GKV__TEMPLATE_RUN_H

#include "src/token/token.h"

enum { GKV__CHAT_STEPS = 2000000, GKV__CHAT_MEMORY = 32 << 20 };      /* at least; more for long messages */

struct gkv__message { const char *role, *content; size_t content_len; };

struct gkv__chat {
    const struct gkv__message *message;
    size_t                     n;
    const char                *bos, *eos;       /* text of these tokens, or ""                */
    bool                       answer_next;     /* add_generation_prompt                      */
    bool                       no_thinking;     /* enable_thinking is false, not undefined    */
    bool                       thinking;        /* it is true, and so is DeepSeek's `thinking` */
    int64_t                    now;             /* seconds since 1970 in local time           */
    uint64_t                   less_steps;      /* that it may take, and                      */
    size_t                     less_memory;     /* ... bytes: tests let it end anywhere       */
};

struct gkv__rendered {          /* gkv__rendered_free when done */
    char              *text;    /* NUL-terminated                                             */
    size_t             len;
    struct gkv__range *plain;   /* text that came from messages: must not become control */
    size_t             n_plain; /* tokens (gkv__tokenize)                                     */
};

/* GKV_UNSUPPORTED: the template uses something unknown; GKV_INVALID: it refuses this conversation, or
 * has an error; GKV_LIMIT: it needs too much.  The error names the line of the template. */
gkv_status gkv__chat_render(const char *jinja, size_t len, const struct gkv__chat *chat,
                            struct gkv__rendered *out, gkv_error *err);
void       gkv__rendered_free(struct gkv__rendered *out);

#endif
