/* SPDX-License-Identifier: BSD-2-Clause
 * kind.h - interface between token.c, which knows the names of tokens and the special ones, and the
 * kinds of tokenizer, which split text without special tokens. */
#ifndef GKV__TOKEN_KIND_H
#define GKV__TOKEN_KIND_H

#include "src/token/token.h"

enum {                          /* attributes of a token                                  */
    GKV__TOK_WORD    = 1,       /* the kind may produce it from text                      */
    GKV__TOK_CONTROL = 2,       /* matched by name where names are parsed                 */
    GKV__TOK_USER    = 4,       /* matched by name everywhere                             */
    GKV__TOK_END     = 8,       /* ends the model's turn                                  */
    GKV__TOK_BYTE    = 16       /* one byte of text that has no token                     */
};

struct gkv__specials;

struct gkv__vocab {
    const struct gkv__tokenizer *kind;
    void       *state;          /* state of the kind                                      */
    uint32_t    n;
    uint32_t   *start;          /* bytes of token id: text[start[id] .. start[id + 1])    */
    uint8_t    *text, *attr;
    uint32_t    bos;
    bool        add_bos;        /* the kind sets the default                              */
    const char *pre;            /* likewise                                               */
    bool        add_space;      /* in front of a text, and after a special token          */
    bool        strips;         /* control tokens include the white space after them      */
    struct gkv__specials *special;
};

struct gkv__tokenizer {
    const char *model;          /* tokenizer.ggml.model                                   */
    const char *name;
    /* Write the bytes that an ordinary token's spelling stands for, at most as many as the
     * spelling has, and return their number; SIZE_MAX if it does not stand for any text. */
    size_t     (*spell)(struct gkv__str spelling, uint8_t *out);
    gkv_status (*open)(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err);
    void       (*close)(void *state);                   /* state may be NULL              */
    size_t     (*bytes)(const void *state);
    /* Append the tokens of a text without special tokens, which continues the text of out. */
    gkv_status (*encode)(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                         struct gkv__tokens *out, gkv_error *err);
    /* Whether text may always be split between these two characters, whatever is around them. */
    bool       (*parts)(const struct gkv__vocab *v, uint32_t before, uint32_t after);
};

extern const struct gkv__tokenizer gkv__tokenizer_bpe, gkv__tokenizer_spm, gkv__tokenizer_gemma4;

#endif
