/* SPDX-License-Identifier: BSD-2-Clause
 * words.h - what a method of keywords sees of a prompt: words, as numbers. */
#ifndef GKV__WORDS_H
#define GKV__WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Two words have the same number when they are spelled alike, whatever the case; different words have
 * different ones but for chance (one in 2^32). */
struct gkv__words {
    uint32_t *of_token;         /* [n tokens of the prompt] the word that begins in it, or 0 */
    uint32_t *asked;            /* [n_asked] the question's, each once                       */
    size_t    n_asked;
};

#endif
