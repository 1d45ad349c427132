/* SPDX-License-Identifier: BSD-2-Clause
 * model.h - a read-only mapping plus a shape.  Any number of sessions may share it. */
#ifndef GKV__MODEL_H
#define GKV__MODEL_H

#include <stdbool.h>
#include "src/model/describe.h"
#include "src/gguf/gguf.h"
#include "src/quant/quant.h"

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

/* Rows first .. first + n - 1: of matrices that a file has as one. */
static inline struct gkv__mat gkv__mat_rows(const struct gkv__mat *w, uint32_t first, uint32_t n)
{
    return (struct gkv__mat){ w->format, w->data + first * gkv__mat_row_bytes(w), n, w->n_in };
}

/* What a layer does beyond the common is data: layer.c and attend.c follow it wherever it is
 * there.  NULL or 0: not in this model. */
struct gkv__layer_weights {
    const float    *attn_norm, *ffn_norm;           /* [n_embd] before attention, before MLP */
    const float    *attn_post, *ffn_post;           /* [n_embd] after them                   */
    struct gkv__mat q, k, v, o;                     /* [n_head * head_dim, n_embd], ...      */
    const float    *q_bias, *k_bias, *v_bias;       /* [n_head * head_dim], ...              */
    const float    *q_norm, *k_norm;                /* [head_dim] of each head, then RoPE    */
    struct gkv__mat gate, up, down;                 /* [n_ff, n_embd] twice, [n_embd, n_ff]  */
    struct gkv__mat router;                         /* [n_expert, n_embd]; the three above are
                                                       n_expert matrices, one under the other */
    uint32_t        window;                         /* the last so many tokens are seen      */
    bool            local_rope;                     /* angles of GKV__ROPE_LOCAL             */
};

/* Which elements of a head RoPE (Su et al. 2021) turns together. */
enum gkv__rope_pairs {
    GKV__ROPE_ADJACENT,         /* (2i, 2i + 1): how GGUF stores architecture llama          */
    GKV__ROPE_HALVES,           /* (i, i + n_rot / 2): the others                            */
};

/* What the gate of the MLP goes through. */
enum gkv__glu {
    GKV__GLU_SILU,              /* x / (1 + e^-x)                                            */
    GKV__GLU_GELU,              /* by tanh (Hendrycks and Gimpel 2016)                       */
};

struct gkv__shape {
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab, n_rot;
    uint32_t context;           /* trained                                                   */
    float    eps;
    enum gkv__rope_pairs pairs;
    enum gkv__glu glu;
    /* 0: none, the common case. */
    uint32_t n_expert, n_used;  /* experts in the place of the MLP, and how many a row takes */
    float    embed_scale;       /* of embeddings                                             */
    uint32_t attn_dim;          /* scores are divided by its root; 0: head_dim               */
    float    attn_cap;          /* scores become cap * tanh(score / cap) ...                 */
    float    logit_cap;         /* ... and logits                                            */
};

/* Position to angles: rope.c. */
enum gkv__rope_kind {
    GKV__ROPE_NONE, GKV__ROPE_LINEAR, GKV__ROPE_LLAMA3, GKV__ROPE_YARN, GKV__ROPE_LONGROPE,
};

struct gkv__rope {
    double *freq;               /* [n_rot / 2] radians per position; NULL: no such table     */
    double  scale;              /* of cosines and sines                                      */
};

enum {
    GKV__ROPE_ALL,              /* of all passes and layers but for ...                      */
    GKV__ROPE_LONG,             /* passes of more than rope_context positions                */
    GKV__ROPE_LOCAL,            /* layers that look near                                     */
    GKV__N_ROPES
};

/* What only the text needs: token/token.h, template/template.h. */
struct gkv__vocab;
struct gkv__template;
struct gkv__arch;

struct gkv_model {
    struct gkv__gguf           *file;
    struct gkv__vocab          *vocab;              /* NULL: the file's tokenizer is not ours */
    gkv_error                   vocab_error;        /* why not                               */
    const struct gkv__arch     *arch;               /* NULL: opened for its vocabulary only  */
    struct gkv__shape           shape;
    bool                       *bound;              /* [n tensors] used, while it is opened  */
    struct gkv__layer_weights  *layer;              /* [n_layer]                             */
    struct gkv__mat             embed, output;      /* [n_vocab, n_embd]                     */
    const float                *output_norm;        /* [n_embd]                              */
    enum gkv__rope_kind         rope_kind;
    float                       rope_base;
    uint32_t                    rope_context;       /* before the context was extended       */
    struct gkv__rope            rope[GKV__N_ROPES];
    const struct gkv__template *chat_template;      /* NULL: unknown                         */
    struct gkv__template       *own_template;       /* what chat_template is, unless ...     */
    gkv_error                   template_error;     /* ... this says why not                 */
    uint32_t                    filter_layer, tsp_layer;
    const char                 *filter_layer_source, *tsp_layer_source;
    char                        name[64];
    struct gkv__types           types;
    double                      load_seconds;
    char                        source[32];         /* of layers that were set               */
};

/* The angles of layer il in a pass over positions 0 .. span - 1. */
const struct gkv__rope *gkv__model_rope(const struct gkv_model *m, uint32_t il, uint64_t span);
/* The file's own chat template with a system prompt, or NULL; free(out->text) when done. */
gkv_status gkv__model_template(const struct gkv_model *m, const char *system,
                               struct gkv__template *out, gkv_error *err);

/* The weights of layer il are wanted soon / not any more: residency, not content. */
void gkv__model_layer_need(const struct gkv_model *m, uint32_t il, bool need);
/* No weights are wanted any more, until they are used again. */
void gkv__model_drop(const struct gkv_model *m);

uint64_t gkv__model_layer_bytes(const struct gkv_model *m, uint32_t il);
uint64_t gkv__model_weight_bytes(const struct gkv_model *m);    /* all that a pass touches   */
/* Of the embeddings, what no one of n tokens brings into memory, at least. */
uint64_t gkv__model_embed_spare(const struct gkv_model *m, uint64_t n);

#endif
