/* SPDX-License-Identifier: BSD-2-Clause
 * passage.h - a text as passages that are searched for words, and a question as words. */
#ifndef GKV__PASSAGE_H
#define GKV__PASSAGE_H

#include <stddef.h>
#include "src/base/status.h"

enum { GKV__PASSAGE = 1000 };           /* bytes of a passage, about                         */

/* Where the passage that begins at byte `at` of text[len] ends: after `want` bytes or up to a half less,
 * at the end of a page or paragraph if there is one, else of a sentence, else of a word, else of a character;
 * or with the text, if that is not much longer.
 * The text is UTF-8.  Returns more than `at` unless that is len. */
size_t gkv__passage_end(const char *text, size_t len, size_t at, size_t want);

/* The words of a question as an expression of FTS5: "word" OR "word", for free().  "" if there are none;
 * NULL: out of memory.  Of very many words the first count. */
char *gkv__passage_words(const char *question);

#endif
