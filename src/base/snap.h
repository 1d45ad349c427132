/* SPDX-License-Identifier: BSD-2-Clause
 * snap.h - widens a piece of text to whole characters, words or sentences. */
#ifndef GKV__SNAP_H
#define GKV__SNAP_H

#include <stdbool.h>
#include <stddef.h>

struct gkv__range { size_t start, end; };       /* bytes of a text */

enum gkv__snap { GKV__SNAP_NONE, GKV__SNAP_WORD, GKV__SNAP_SENTENCE };

const char *gkv__snap_name(enum gkv__snap how);
/* False: there is no such name. */
bool gkv__snap_named(const char *name, enum gkv__snap *how);

/* s without white space at its ends; empty, at its start, if there is nothing else. */
struct gkv__range gkv__trim(const char *text, struct gkv__range s);

/* Widened, whatever s is, to whole UTF-8 characters. */
struct gkv__range gkv__characters(const char *text, size_t len, struct gkv__range s);
/* ... to whole words, without white space at the ends: letters, digits and marks that follow each other, numbers
 * with their points; in scripts without spaces between words, and for all other signs, to characters as people see
 * them, such as an emoji of several.  No further than 64 bytes, so that a megabyte without a space is no word. */
struct gkv__range gkv__words_around(const char *text, size_t len, struct gkv__range s);
/* ... to whole sentences, without white space at the ends: see gkv_sentences. */
struct gkv__range gkv__sentences(const char *text, size_t len, struct gkv__range s);

struct gkv__range gkv__snap(const char *text, size_t len, enum gkv__snap how, struct gkv__range s);

#endif
