/* SPDX-License-Identifier: BSD-2-Clause
 * call.h - what a chat template can call: filters, tests, methods and functions */
#ifndef GKV__TEMPLATE_CALL_H
#define GKV__TEMPLATE_CALL_H

#include "src/template/value.h"

enum { GKV__J_MAX_ARGS = 16 };

struct gkv__jargs {
    size_t             n;
    struct gkv__jvalue v[GKV__J_MAX_ARGS];
    struct gkv__jstr   name[GKV__J_MAX_ARGS];   /* length 0: none */
};

/* Argument i, or the one with this name (NULL: no name); undefined when it is missing. */
struct gkv__jvalue gkv__j_arg(const struct gkv__jargs *args, size_t i, const char *name);

/* Each of these fails when there is nothing of this name. */
struct gkv__jvalue gkv__j_filter(struct gkv__jrun *r, struct gkv__jstr name, struct gkv__jvalue v,
                                 const struct gkv__jargs *args);
bool               gkv__j_test(struct gkv__jrun *r, struct gkv__jstr name, struct gkv__jvalue v,
                               const struct gkv__jargs *args);
struct gkv__jvalue gkv__j_method(struct gkv__jrun *r, struct gkv__jvalue of, struct gkv__jstr name,
                                 const struct gkv__jargs *args);
struct gkv__jvalue gkv__j_function(struct gkv__jrun *r, struct gkv__jstr name,
                                   const struct gkv__jargs *args);
bool               gkv__j_is_function(struct gkv__jstr name);

#endif
