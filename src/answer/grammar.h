/* SPDX-License-Identifier: BSD-2-Clause
 * grammar.h - GBNF, llama.cpp's notation for grammars: parsed once (grammar.c), then matched against answers as they
 * are written (match.c). */
#ifndef GKV__GRAMMAR_H
#define GKV__GRAMMAR_H

#include <stdbool.h>
#include "src/base/status.h"

/* An alternative of a rule is a run of symbols up to GKV__G_END.  Repetitions and groups are rules without a name. */
enum gkv__g_kind { GKV__G_END, GKV__G_RULE, GKV__G_CHAR, GKV__G_CLASS };

struct gkv__g_symbol { uint32_t kind : 2, arg : 30; };          /* arg: rule, code point, class     */
struct gkv__g_alt    { uint32_t start, next, rule; };           /* next: of the rule, or GKV__G_NONE */
struct gkv__g_range  { uint32_t lo, hi; };
struct gkv__g_class  { uint32_t first, n, ascii[4]; };          /* ranges, ascending and disjoint   */

#define GKV__G_NONE UINT32_MAX

struct gkv__g_rule {
    uint32_t alt, last;         /* the first alternative and the last; GKV__G_NONE: not defined */
    bool     nullable;          /* it may be nothing                                        */
    uint32_t least;             /* bytes of a short text of it; GKV__G_NONE: it never ends  */
};

struct gkv_grammar {
    struct gkv__g_symbol *sym;
    struct gkv__g_alt    *alt;
    struct gkv__g_rule   *rule;
    struct gkv__g_class  *set;
    struct gkv__g_range  *range;
    uint32_t             *least;        /* of each symbol: bytes in a text of the rest of its alternative, a short one */
    size_t                n_sym, n_alt, n_rule, n_set, n_range;
    uint32_t              root;
};

/* An answer so far.  After each character it knows which ones may follow: an Earley parser without a memory of what it
 * has read, so left recursion and ambiguity are no trouble, and a character takes a time that does not depend on the
 * length of the answer unless the grammar is ambiguous. */
struct gkv__match;

/* What a prediction of memory counts for it. */
enum { GKV__MATCH_BYTES = 1 << 20 };

/* It takes no more than `memory` bytes: GKV_LIMIT here and from the functions below where it would need more. */
gkv_status gkv__match_open(struct gkv__match **out, const gkv_grammar *g, uint64_t memory, gkv_error *err);
void       gkv__match_close(struct gkv__match *m);
/* Whether the answer may go on with these bytes, which may end inside a character, and can then be brought to an end
 * with `room` more.  Nothing changes. */
bool       gkv__match_fits(struct gkv__match *m, const char *text, size_t len, uint64_t room);
/* Bytes that bring it to an end, not many more than needed. */
uint64_t   gkv__match_least(const struct gkv__match *m);
/* It does go on with them.  GKV_INVALID: they do not fit. */
gkv_status gkv__match_take(struct gkv__match *m, const char *text, size_t len, gkv_error *err);
bool       gkv__match_may_end(const struct gkv__match *m);
bool       gkv__match_must_end(const struct gkv__match *m);     /* nothing can follow */
/* Sets fits[b] for each byte that may come next. */
void       gkv__match_bytes(const struct gkv__match *m, bool fits[256]);
/* GKV_OK, or why an earlier gkv__match_fits could not be computed and has said no. */
gkv_status gkv__match_status(const struct gkv__match *m, gkv_error *err);

#endif
