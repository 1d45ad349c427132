/* SPDX-License-Identifier: BSD-2-Clause
 * lex.h - the tokens of a chat template's tags.  In text outside of tags there are none. */
#ifndef GKV__TEMPLATE_LEX_H
#define GKV__TEMPLATE_LEX_H

#include "src/template/value.h"

enum gkv__jtoken {
    GKV__JT_END,                /* of the template, or the run has failed                    */
    GKV__JT_NAME, GKV__JT_STRING, GKV__JT_INTEGER, GKV__JT_FLOAT, GKV__JT_SIGN,
    GKV__JT_CLOSE               /* the end of the tag                                        */
};

struct gkv__jparser {
    struct gkv__jrun *r;
    const char       *begin, *p, *end;
    const char       *close;            /* end of the present tag: "%}" or "}}"              */
    unsigned          brackets;         /* open ones; inside them a tag cannot end           */
    /* the next token */
    enum gkv__jtoken   kind;
    struct gkv__jstr  text;             /* a name, a number, a string without escapes, a sign */
    unsigned          line;
    /* white space of the text outside of tags */
    bool              strip;            /* the last tag ended with a dash                    */
    bool              at_line_start;    /* the last tag included a newline                   */
};

/* Reads the next token. */
void gkv__j_advance(struct gkv__jparser *s);
/* Goes behind the end of a tag, n bytes, and the white space that the tag includes. */
void gkv__j_leave_tag(struct gkv__jparser *s, size_t n, bool is_block);

/* Fails and returns; callers continue until they check the status.  The next token becomes GKV__JT_END, as after every
 * other failure, with s->p in front of a GKV__JT_CLOSE or behind any other token. */
void gkv__j_wrong(struct gkv__jparser *s, const char *expected);

/* Whether the next token is this one. */
bool gkv__j_sees(const struct gkv__jparser *s, enum gkv__jtoken kind, const char *text);
/* ... and if it is, goes on behind it. */
bool gkv__j_sign(struct gkv__jparser *s, const char *text);
bool gkv__j_word(struct gkv__jparser *s, const char *text);
/* Goes on behind this sign, or fails. */
void gkv__j_want(struct gkv__jparser *s, const char *text);
/* The next token, which is a name, or fails. */
struct gkv__jstr gkv__j_name(struct gkv__jparser *s);

#endif
