/* SPDX-License-Identifier: BSD-2-Clause
 * score-parts.h - what the scripts of several data sets do */
#ifndef GEMKV_CLI_SCORE_PARTS_H
#define GEMKV_CLI_SCORE_PARTS_H

#include <string.h>
#include "src/cli/eval/score-sets.h"

/* ---- text ---------------------------------------------------------------------------- */
static inline bool has(const char *s, const char *what)
{
    return strstr(s, what) != NULL;
}

static inline bool begins(const char *s, const char *what)
{
    return !strncmp(s, what, strlen(what));
}

/* Length of the white space that begins there, of one character; 0: none does. */
size_t space_at(const char *s);
/* Without white space at both ends; for free(). */
char *stripped(const char *s);
/* Words between white space, in an order and as often as they occur. */
struct wordlist white_words(const char *s);
/* s with each `from` replaced, from left to right; frees s. */
char *replaced(char *s, const char *from, const char *to);
/* The next run of digits, from *s; n: its length in bytes.  False: there is none. */
bool next_digits(const char **s, size_t *n, bool ascii);

/* ---- ROUGE --------------------------------------------------------------------------- */
/* F-measure of the words that both have; frees them. */
double words_overlap(struct wordlist a, struct wordlist r);

/* Sentences of a text, as lists of words. */
struct sentences {
    struct wordlist *list;
    size_t           n, words;
};

/* Pieces between separators that are not empty. */
struct sentences sentences_of(const char *s, char separator, struct wordlist (*split)(const char *s));
void sentences_free(struct sentences *s);
/* The words of r that are in the longest common subsequence of their sentence with any sentence of a; they are r's. */
struct wordlist common_of(const struct sentences *r, const struct sentences *a, bool r_first);
struct wordlist sentences_joined(const struct sentences *s);

#endif
