/* SPDX-License-Identifier: BSD-2-Clause
 * value.h - values of a chat template, as Jinja has them, and the run that computes with them, which
 * limits their memory and steps.
 *
 * A failure stays with the run: the first one sets its status, and everything after it does
 * nothing and returns undefined values, so that only loops have to check. */
#ifndef GKV__TEMPLATE_VALUE_H
#define GKV__TEMPLATE_VALUE_H

#include "src/base/status.h"

struct gkv__jnode;

/* A string, and which of its bytes came from a message: user[i], or NULL for none.  All operations
 * keep track of that, because those bytes must never become control tokens. */
struct gkv__jstr { const char *p; const uint8_t *user; size_t n; };

enum gkv__jkind {
    GKV__J_UNDEFINED, GKV__J_NONE, GKV__J_BOOL, GKV__J_INT, GKV__J_FLOAT, GKV__J_STR,
    GKV__J_LIST, GKV__J_DICT, GKV__J_LOOP, GKV__J_MACRO
};

struct gkv__jvalue {
    enum gkv__jkind kind;
    union {
        bool                     b;
        int64_t                  i;
        double                   f;
        struct gkv__jstr         s;
        struct gkv__jlist       *list;
        struct gkv__jdict       *dict;
        const struct gkv__jloop *loop;
        const struct gkv__jnode *macro;
    } u;
};

struct gkv__jlist { struct gkv__jvalue *at; size_t n, cap; };
struct gkv__jpair { struct gkv__jvalue key, value; };
struct gkv__jdict { struct gkv__jpair *at; size_t n, cap; bool is_namespace; };
struct gkv__jloop { size_t i, n; const struct gkv__jvalue *item; };     /* item[n] */

struct gkv__jtext { char *p; uint8_t *user; size_t n, cap; };   /* a string under construction */

struct gkv__jvar { struct gkv__jstr name; struct gkv__jvalue value; };

struct gkv__jrun {
    gkv_status  status;
    gkv_error  *err;
    unsigned    line;           /* of the template, for messages                             */
    unsigned    depth;          /* of nested statements and expressions                      */
    uint64_t    steps;          /* left                                                      */
    size_t      memory;         /* left                                                      */
    void       *blocks;
    int64_t     now;            /* seconds since 1970, local time                            */
    struct gkv__jtext *out;
    struct gkv__jvar  *var;     /* globals first, then those of loops and macros             */
    size_t             n_var, var_cap, n_global, floor, frame;
};

enum { GKV__J_MAX_DEPTH = 200 };

void gkv__j_fail(struct gkv__jrun *r, gkv_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Zeroed memory that lives as long as the run; NULL, and the run fails, when its memory is used up. */
void *gkv__j_alloc(struct gkv__jrun *r, size_t n, size_t size);
void  gkv__j_free(struct gkv__jrun *r);         /* all of it                                 */
/* Announces work in proportion to n bytes or items; false when the run has failed. */
bool  gkv__j_charge(struct gkv__jrun *r, size_t n);

/* ---- making ----------------------------------------------------------------------------- */
struct gkv__jvalue gkv__j_bool(bool b);
struct gkv__jvalue gkv__j_int(int64_t i);
struct gkv__jvalue gkv__j_str(struct gkv__jstr s);
struct gkv__jvalue gkv__j_text(const char *s);          /* NUL-terminated, not copied        */
struct gkv__jvalue gkv__j_list(struct gkv__jrun *r);    /* empty                             */
struct gkv__jvalue gkv__j_dict(struct gkv__jrun *r);
void gkv__j_append(struct gkv__jrun *r, struct gkv__jvalue list, struct gkv__jvalue v);
void gkv__j_set(struct gkv__jrun *r, struct gkv__jvalue dict, struct gkv__jvalue key,
                struct gkv__jvalue v);
void gkv__j_put(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jstr s);
struct gkv__jvalue gkv__j_finish(const struct gkv__jtext *t);

/* ---- comparing and looking up ----------------------------------------------------------- */
bool gkv__j_true(struct gkv__jvalue v);
bool gkv__j_same(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b);
/* < 0, 0 or > 0; fails for values that have no order. */
int  gkv__j_order(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b);
bool gkv__j_contains(struct gkv__jrun *r, struct gkv__jvalue in, struct gkv__jvalue v);
const char *gkv__j_kind(struct gkv__jvalue v);          /* for messages                      */
bool gkv__j_is(struct gkv__jvalue v, const char *s);    /* whether it is this string         */
static inline bool gkv__j_named(struct gkv__jstr name, const char *s)
{
    return gkv__j_is((struct gkv__jvalue){ .kind = GKV__J_STR, .u.s = name }, s);
}

struct gkv__jvalue gkv__j_get(struct gkv__jrun *r, struct gkv__jvalue of, struct gkv__jvalue key);
struct gkv__jvalue gkv__j_slice(struct gkv__jrun *r, struct gkv__jvalue of,
                                struct gkv__jvalue from, struct gkv__jvalue to,
                                struct gkv__jvalue step);
/* The items that a loop over v goes through, as a list; fails where Python would. */
struct gkv__jvalue gkv__j_items(struct gkv__jrun *r, struct gkv__jvalue v);
size_t gkv__j_length(struct gkv__jrun *r, struct gkv__jvalue v);

/* Writes v as Python's str() does, or, if quoted, as repr() does. */
void gkv__j_write(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jvalue v, bool quoted);
struct gkv__jvalue gkv__j_string(struct gkv__jrun *r, struct gkv__jvalue v);
/* Writes v as json.dumps(ensure_ascii=False) does; indent < 0: on one line. */
void gkv__j_json(struct gkv__jrun *r, struct gkv__jtext *t, struct gkv__jvalue v, int indent,
                 int level);

/* Bytes of white space at the beginning or end of s, as in Python's strip(). */
size_t gkv__j_space(struct gkv__jstr s, bool at_end);
struct gkv__jstr gkv__j_sub(struct gkv__jstr s, size_t from, size_t to);

#endif
