/* SPDX-License-Identifier: BSD-2-Clause
 * model.h - a read-only mapping plus a shape.  Any number of sessions may share it. */
#ifndef GKV__MODEL_H
#define GKV__MODEL_H

#include "src/gguf.h"
#include "src/quant.h"
#include "src/token.h"
#include "src/template.h"

/* A weight matrix as the file stores it: n_out rows of n_in elements.  y = W x. */
struct gkv__mat {
    const struct gkv__quant *format;
    const uint8_t           *data;
    uint32_t                 n_out, n_in;
};

static inline uint64_t gkv__mat_row_bytes(const struct gkv__mat *w)
{
    return (uint64_t)(w->n_in / w->format->block) * w->format->bytes;
}

static inline uint64_t gkv__mat_bytes(const struct gkv__mat *w)
{
    return gkv__mat_row_bytes(w) * w->n_out;
}

struct gkv__layer_weights {
    const float    *attn_norm, *ffn_norm;           /* [n_embd]                              */
    struct gkv__mat q, k, v, o;                     /* [n_head * head_dim, n_embd], ...      */
    struct gkv__mat gate, up, down;                 /* [n_ff, n_embd] twice, [n_embd, n_ff]  */
};

/* Which elements of a head RoPE (Su et al. 2021) turns together. */
enum gkv__rope_pairs {
    GKV__ROPE_ADJACENT,         /* (2i, 2i + 1): how GGUF stores architecture llama          */
    GKV__ROPE_HALVES,           /* (i, i + n_rot / 2): the others                            */
};

struct gkv__shape {
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab, n_rot;
    uint32_t context;           /* trained                                                   */
    float    eps, rope_base, rope_factor;           /* factor: linear scaling, 1 = none      */
    enum gkv__rope_pairs pairs;
};

struct gkv__arch;

struct gkv_model {
    struct gkv__gguf           *file;
    struct gkv__vocab          *vocab;              /* NULL: the file's tokenizer is not ours */
    gkv_error                   vocab_error;        /* why not                               */
    const struct gkv__arch     *arch;               /* NULL: opened for its vocabulary only  */
    struct gkv__shape           shape;
    struct gkv__layer_weights  *layer;              /* [n_layer]                             */
    struct gkv__mat             embed, output;      /* [n_vocab, n_embd]                     */
    const float                *output_norm;        /* [n_embd]                              */
    const float                *rope_divisor;       /* [n_rot / 2] or NULL: llama3 scaling   */
    double                     *rope_freq;          /* [n_rot / 2] radians per position      */
    const struct gkv__template *chat_template;      /* NULL: unknown                         */
    uint32_t                    filter_layer;
    const char                 *filter_layer_source;
    char                        name[64], types[96];
    uint64_t                    parameters;
    double                      load_seconds;
};

/* The weights of layer il are wanted soon / not any more: residency, not content. */
void gkv__model_layer_need(const struct gkv_model *m, uint32_t il, bool need);

uint64_t gkv__model_layer_bytes(const struct gkv_model *m, uint32_t il);
uint64_t gkv__model_weight_bytes(const struct gkv_model *m);    /* all that a pass touches   */

#endif
