/* SPDX-License-Identifier: BSD-2-Clause
 * kind.h - between token.c, which knows names and special tokens, and the kinds of
 * tokenizer, which know how text without special tokens is cut. */
#ifndef GKV__TOKEN_KIND_H
#define GKV__TOKEN_KIND_H

#include "src/token/token.h"

enum {                          /* attributes of a token                                  */
    GKV__TOK_WORD    = 1,       /* the kind may produce it from text                      */
    GKV__TOK_CONTROL = 2,       /* matched by name where names are parsed                 */
    GKV__TOK_USER    = 4,       /* matched by name everywhere                             */
    GKV__TOK_END     = 8,       /* the model's turn is over                               */
    GKV__TOK_BYTE    = 16       /* stands for one byte of what is no word                 */
};

struct gkv__specials;

struct gkv__vocab {
    const struct gkv__tokenizer *kind;
    void       *state;          /* the kind's                                             */
    uint32_t    n;
    uint32_t   *start;          /* bytes of token id: text[start[id] .. start[id + 1])    */
    uint8_t    *text, *attr;
    uint32_t    bos;
    bool        add_bos;        /* the kind sets the default                              */
    const char *pre;            /* likewise                                               */
    bool        add_space;      /* in front of a text, and after a special token          */
    bool        strips;         /* control tokens swallow the white space behind them     */
    struct gkv__specials *special;
};

struct gkv__tokenizer {
    const char *model;          /* tokenizer.ggml.model                                   */
    const char *name;
    /* Write the bytes that an ordinary token's spelling stands for, at most as many as the
     * spelling has, and return their number; SIZE_MAX if it does not stand for any text. */
    size_t     (*spell)(struct gkv__str spelling, uint8_t *out);
    gkv_status (*open)(struct gkv__vocab *v, const struct gkv__gguf *g, gkv_error *err);
    void       (*close)(void *state);                   /* NULL is fine                   */
    size_t     (*bytes)(const void *state);
    /* Append the tokens of a text without special tokens, which goes on where out ends. */
    gkv_status (*encode)(const struct gkv__vocab *v, const uint8_t *text, size_t len,
                         struct gkv__tokens *out, gkv_error *err);
    /* Whether text may be cut between these two characters, whatever else it holds. */
    bool       (*parts)(const struct gkv__vocab *v, uint32_t before, uint32_t after);
};

extern const struct gkv__tokenizer gkv__tokenizer_bpe, gkv__tokenizer_spm;

#endif
