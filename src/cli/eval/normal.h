/* SPDX-License-Identifier: BSD-2-Clause
 * normal.h - what the measures of answers share: letters, SQuAD's normal form, words.  Text is UTF-8; what
 * is not valid is left as it is. */
#ifndef GEMKV_CLI_NORMAL_H
#define GEMKV_CLI_NORMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t letter_lower(uint32_t c);
bool     letter_space(uint32_t c);      /* as Python's str.split has it                   */
bool     letter_word(uint32_t c);       /* a letter, digit, number or '_', or unknown     */
bool     letter_digit(uint32_t c);      /* a decimal digit, of the alphabets that have many texts */
char    *letter_lowered(const char *s);         /* for free() */

/* SQuAD's: lower case if fold, no ASCII punctuation, then no articles (as whole words), then single spaces
 * for white space.  For free(). */
char *normal_form(const char *s, bool fold);

struct wordlist {
    char  *text;
    char **word;
    size_t n;
};

/* Splits text at single spaces, and takes ownership of it. */
struct wordlist wordlist_split(char *text);
/* Words as ROUGE has them: runs of ASCII letters and digits; if stemmed, those of more than three are stemmed. */
struct wordlist wordlist_rouge(const char *s, bool stemmed);
void            wordlist_free(struct wordlist *w);
/* Number of words in common, counting repeated words as often as both have them; sorts both. */
size_t wordlist_overlap(struct wordlist *a, struct wordlist *b);
/* Length of the longest common subsequence. */
size_t wordlist_common(const struct wordlist *a, const struct wordlist *b);
double f_measure(size_t same, size_t n_answer, size_t n_ref);   /* 0 if nothing is the same */

#endif
