/* SPDX-License-Identifier: BSD-2-Clause
 * expression.h - parses the expressions of a chat template.  Each function returns NULL only when the run has failed. */
#ifndef GKV__TEMPLATE_EXPRESSION_H
#define GKV__TEMPLATE_EXPRESSION_H

#include "src/template/lex.h"
#include "src/template/parse.h"

struct gkv__jnode *gkv__j_expression(struct gkv__jparser *s);
/* ... that is no "a if b else c". */
struct gkv__jnode *gkv__j_no_choice(struct gkv__jparser *s);
/* One expression, or several with commas, which become a list. */
struct gkv__jnode *gkv__j_expressions(struct gkv__jparser *s);

/* Arguments, up to the sign `close` and behind it; filters and tests of a that follow. */
struct gkv__jnode *gkv__j_arguments(struct gkv__jparser *s, const char *close);
struct gkv__jnode *gkv__j_filters(struct gkv__jparser *s, struct gkv__jnode *a);

struct gkv__jnode *gkv__j_node(struct gkv__jparser *s, enum gkv__jtype type);
struct gkv__jnode *gkv__j_join(struct gkv__jparser *s, enum gkv__jtype type, char op, struct gkv__jnode *a,
                               struct gkv__jnode *b);

/* Around what may contain more of its kind.  False: the run has failed, or it is nested too deeply.  gkv__j_leave
 * returns the node. */
bool               gkv__j_enter(struct gkv__jparser *s);
struct gkv__jnode *gkv__j_leave(struct gkv__jparser *s, struct gkv__jnode *node);

#endif
