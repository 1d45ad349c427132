/* SPDX-License-Identifier: BSD-2-Clause
 * parse.h - parses a chat template into a tree.  Supports the part of Jinja2 that such templates
 * use, with trim_blocks, lstrip_blocks and loop controls, as in Hugging Face. */
#ifndef GKV__TEMPLATE_PARSE_H
#define GKV__TEMPLATE_PARSE_H

#include "src/template/value.h"

enum gkv__jtype {
    /* statements; body, other: lists of statements */
    GKV__J_TEXT,                /* value                                                     */
    GKV__J_PRINT,               /* a                                                         */
    GKV__J_IF,                  /* a, body, other                                            */
    GKV__J_FOR,                 /* args: target names, a: list, b: condition, body, other    */
    GKV__J_SET,                 /* args: targets, a: value, or else body                     */
    GKV__J_DEFINE,              /* a macro: name, args: parameters (a: default), body        */
    GKV__J_BREAK, GKV__J_CONTINUE,
    GKV__J_BLOCK,               /* body, in tags without effect like {% generation %}        */
    GKV__J_FILTERED,            /* a: chain of filters on the text of body                   */
    /* expressions */
    GKV__J_CONST,               /* value                                                     */
    GKV__J_NAME,                /* name                                                      */
    GKV__J_MAKE_LIST,           /* args                                                      */
    GKV__J_MAKE_DICT,           /* args: key a, value b each                                 */
    GKV__J_ATTR,                /* a.name                                                    */
    GKV__J_ITEM,                /* a[b]                                                      */
    GKV__J_SLICE,               /* a[b:c:d], each may be missing                             */
    GKV__J_CALL,                /* a(args); arguments may have a name                        */
    GKV__J_FILTER,              /* a | name(args)                                            */
    GKV__J_TEST,                /* a is name(args); negated                                  */
    GKV__J_BINARY,              /* a op b                                                    */
    GKV__J_COMPARE,             /* a, then args, each with op and a                          */
    GKV__J_AND, GKV__J_OR, GKV__J_NOT, GKV__J_NEGATE,
    GKV__J_CHOICE               /* a if b else c                                             */
};

struct gkv__jnode {
    enum gkv__jtype    type;
    unsigned           line;
    char               op;      /* + - * / % f(loor) ~ ; < > l(e) g(e) = ! i(n) n(ot in)     */
    bool               negated;
    struct gkv__jstr   name;
    struct gkv__jvalue value;
    struct gkv__jnode *a, *b, *c, *d, *args, *body, *other, *next;
};

/* The statements of the template; text must live longer than they do.  NULL if there are none, or if the
 * run has failed. */
struct gkv__jnode *gkv__j_parse(struct gkv__jrun *r, const char *text, size_t len);

#endif
