/* SPDX-License-Identifier: BSD-2-Clause
 * pre.h - pre-tokenizers: split a text into the words that BPE works on. */
#ifndef GKV__TOKEN_PRE_H
#define GKV__TOKEN_PRE_H

#include "src/gguf/gguf.h"

struct gkv__pre {
    const char *name;           /* tokenizer.ggml.pre                                     */
    bool        whole_words;    /* a word that is a token is not merged ("ignore_merges") */
    bool        add_bos;        /* default, if the file does not say                      */
    /* Bytes of the word at p < end, at least 1.  p[0..end) is well-formed UTF-8. */
    size_t    (*word)(const uint8_t *p, const uint8_t *end);
};

/* NULL if there is none of this name. */
const struct gkv__pre *gkv__pre_find(struct gkv__str name);

/* True if every pre-tokenizer ends a word between these neighbours, whatever is around them, and
 * finds the same words before this place if the text ends there. */
bool gkv__pre_parts(uint32_t before, uint32_t after);

#endif
