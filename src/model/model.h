/* SPDX-License-Identifier: BSD-2-Clause
 * model.h - a model: its file mapped read-only, and its shape.  Sessions share it. */
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

/* Rows first .. first + n - 1 of a matrix, where a file stores several matrices as one. */
static inline struct gkv__mat gkv__mat_rows(const struct gkv__mat *w, uint32_t first, uint32_t n)
{
    return (struct gkv__mat){ w->format, w->data + first * gkv__mat_row_bytes(w), n, w->n_in };
}

/* What mixes the tokens of a layer. */
enum gkv__mixer {
    GKV__ATTENTION,             /* keys and values of all tokens, in the KV cache            */
    GKV__DELTA,                 /* gated DeltaNet (Yang et al. 2024): a state of fixed size  */
    GKV__MAMBA2,                /* a state space (Dao and Gu 2024): a state of fixed size    */
    GKV__SHORT_CONV,            /* a gated convolution over the last tokens (LFM2)           */
};

/* Everything beyond the common layer is data: layer.c and attend.c apply it if it is there.
 * NULL or 0: not in this model. */
struct gkv__layer_weights {
    const float    *attn_norm, *ffn_norm;           /* [n_embd] before attention, before MLP */
    const float    *attn_post, *ffn_post;           /* [n_embd] after them                   */
    struct gkv__mat q, k, v, o;                     /* [n_head * head_dim, n_embd], ...      */
    const float    *q_bias, *k_bias, *v_bias;       /* [n_head * head_dim], ...              */
    const float    *o_bias;                         /* [n_embd]                              */
    const float    *q_norm, *k_norm, *v_norm;       /* [head_dim], for each head, before RoPE */
    bool            norm_rows;                      /* they are [n_head * head_dim], ..., for all heads
                                                       together                              */
    const float    *sinks;                          /* [n_head] one more score in each softmax, which
                                                       takes attention from the keys         */
    const float    *out_scale;                      /* [1] factor of the rows after the layer */
    /* Embeddings of the layer's own, of n elements, which add to the rows after the MLP (layer.c): */
    struct gkv__mat embed_gate, embed_in, embed_out;    /* [n, n_embd] twice, [n_embd, n]     */
    const float    *embed_post;                     /* [n_embd]                              */
    struct gkv__mat gate, up, down;                 /* [n_ff, n_embd] twice, [n_embd, n_ff]  */
    struct gkv__mat router;                         /* [n_expert, n_embd]; gate, up and down are
                                                       then n_expert matrices, one after the other;
                                                       without up, gate has each expert's gate and up */
    const float    *router_bias;                    /* [n_expert]                            */
    const float    *gate_bias, *up_bias, *down_bias; /* [n_expert][n_ff] twice, [n_expert][n_embd] */
    struct gkv__mat shared_gate, shared_up, shared_down;    /* an expert for all rows ...    */
    const float    *shared_router;                  /* [n_embd] ... or NULL, times sigmoid(this . row) */
    const float    *router_norm, *expert_norm;      /* [n_embd] before the router and the experts, which are
                                                       beside the MLP (shared_gate ...), not in its place */
    const float    *shared_post, *expert_post;      /* [n_embd] after the MLP and the experts */
    const float    *expert_scale;                   /* [n_expert] factors of their shares    */
    uint32_t        window;                         /* tokens that a query sees, the last ones */
    enum gkv__mixer mixer;                          /* others than attention have, in place of q .. o: */
    struct gkv__mat qkv, z, beta, alpha, out;       /* [channels, n_embd], [v_heads * v_dim, n_embd],
                                                       [v_heads, n_embd] twice, [n_embd, v_heads * v_dim];
                                                       without alpha, beta has both for each head of keys,
                                                       its heads' beta and then their alpha; of a short
                                                       convolution it is [channels, n_embd]  */
    const float    *conv, *conv_bias;               /* [channels][width], [channels]         */
    const float    *dt, *a, *skip;                  /* [v_heads] each                        */
    const float    *state_norm;                     /* [v_dim]; of Mamba-2 [v_heads * v_dim] */
    uint32_t        chunk;                          /* a query sees its own chunk of so many tokens */
    bool            local_rope;                     /* uses the table GKV__ROPE_LOCAL        */
    bool            no_rope;                        /* uses the table GKV__ROPE_STILL        */
    bool            tempered;                       /* shape.temper applies                  */
    const struct gkv__shape *shape;                 /* of this layer's heads; NULL: the model's */
    bool            shares;                         /* no keys and values of its own, but those of ... */
    uint32_t        source;                         /* ... this layer                        */
};

/* What a layer behind the others needs to predict one token further (engine/mtp.h), beside its own weights.  eh.data
 * NULL: the model has none that we can use. */
struct gkv__mtp_weights {
    struct gkv__mat eh;                             /* [n_embd, 2 n_embd]                    */
    struct gkv__mat embed, head;                    /* [n_vocab, n_embd]: its own, or those of the model */
    const float    *enorm, *hnorm, *norm;           /* [n_embd] of an embedding and a row before eh; before the head */
};

/* Which keys the softmax of a query is over. */
struct gkv__view {
    uint32_t     window, chunk;                     /* as above; both may apply              */
    const float *sinks;
};

static inline struct gkv__view gkv__view_of(const struct gkv__layer_weights *w)
{
    return (struct gkv__view){ w->window, w->chunk, w->sinks };
}

/* The first key that the query in slot p sees. */
static inline uint64_t gkv__view_first(const struct gkv__view *v, uint64_t p)
{
    const uint64_t by_window = v->window && p + 1 > v->window ? p + 1 - v->window : 0;
    const uint64_t by_chunk = v->chunk ? p / v->chunk * v->chunk : 0;

    return by_window > by_chunk ? by_window : by_chunk;
}

/* Which elements of a head RoPE (Su et al. 2021) rotates together. */
enum gkv__rope_pairs {
    GKV__ROPE_ADJACENT,         /* (2i, 2i + 1): how GGUF stores architecture llama          */
    GKV__ROPE_HALVES,           /* (i, i + n_rot / 2): all other architectures               */
};

/* The activation function of the MLP's gate. */
enum gkv__glu {
    GKV__GLU_SILU,              /* x / (1 + e^-x)                                            */
    GKV__GLU_GELU,              /* by tanh (Hendrycks and Gimpel 2016)                       */
    GKV__GLU_CLAMPED,           /* gpt-oss: see layer.c                                      */
};

/* The shares of the experts that a row has chosen. */
enum gkv__router {
    GKV__ROUTER_SOFTMAX,        /* of their scores: factors of their outputs                 */
    GKV__ROUTER_SIGMOID,        /* the sigmoid of each, over their sum; biases only choose   */
    GKV__ROUTER_SIGMOID_IN,     /* the sigmoid of each score: factor of the expert's input   */
};

/* Layers with a state (engine/state.h). */
struct gkv__state_shape {
    uint32_t width;             /* of the convolution; 0: no layer has a state               */
    uint32_t k_heads, v_heads;  /* a key's head serves v_heads / k_heads heads of values ... */
    uint32_t k_dim, v_dim;
    bool     side_by_side;      /* ... that are neighbours; else every k_heads-th            */
};

struct gkv__shape {
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab, n_rot;
    uint32_t context;           /* trained context, in tokens                                */
    float    eps;
    enum gkv__rope_pairs pairs;
    enum gkv__glu glu;
    /* 0: the model does not have it, the common case. */
    uint32_t n_expert, n_used;  /* experts, and how many of them a row uses                  */
    uint32_t n_ff_expert;       /* an expert's n_ff; n_ff is the largest of all layers       */
    uint32_t n_ff_shared;       /* of an expert for all rows                                 */
    uint32_t n_ff_dense;        /* of layers without experts, if other than n_ff             */
    uint32_t expert_period;     /* only every so many layers has experts; 0 or 1: all        */
    enum gkv__router router;
    bool     beside;            /* experts are beside the MLP (moe.c)                        */
    float    embed_scale;       /* factor of embeddings                                      */
    double   attn_scale;        /* factor of scores; 0: 1 / root of head_dim                 */
    float    attn_cap;          /* scores become cap * tanh(score / cap) ...                 */
    float    logit_cap;         /* ... and so do logits                                      */
    bool     gated;             /* sums of attention are multiplied by sigmoid(gate); each head's gate
                                   is below its query in q                                   */
    struct gkv__state_shape state;
    float    logit_scale;       /* factor of logits                                          */
    float    residual_scale;    /* factor of what attention and MLP add to x                 */
    /* The query at position p times 1 + temper * ln(1 + floor((p + temper_shift) / temper_span)). */
    float    temper;
    uint32_t temper_span, temper_shift;
    /* Layers with a window have heads of their own size and number: head_dim, n_head_kv and n_rot of these. */
    struct { uint32_t head_dim, n_head_kv, n_rot; } near;
    uint32_t n_sharing;         /* the last layers, which have no keys and values of their own */
    uint32_t n_embd_layer;      /* embeddings of a token for each layer                      */
    uint32_t n_further;         /* layers of the file behind the n_layer, which predict further tokens */
};

/* The shape of layers with a window. */
static inline struct gkv__shape gkv__shape_near(const struct gkv__shape *s)
{
    struct gkv__shape near = *s;

    if (s->near.head_dim) {
        near.head_dim = s->near.head_dim;
        near.n_head_kv = s->near.n_head_kv;
        near.n_rot = s->near.n_rot;
    }
    return near;
}

/* RoPE scaling: see rope.c. */
enum gkv__rope_kind {
    GKV__ROPE_NONE, GKV__ROPE_LINEAR, GKV__ROPE_LLAMA3, GKV__ROPE_YARN, GKV__ROPE_LONGROPE, GKV__ROPE_PROPORTIONAL,
};

struct gkv__rope {
    double *freq;               /* [n_rot / 2] radians per position; NULL: no such table     */
    double  scale;              /* factor of cosines and sines                               */
};

enum {
    GKV__ROPE_ALL,              /* all passes and layers except:                             */
    GKV__ROPE_LONG,             /* passes of more than rope_context positions                */
    GKV__ROPE_LOCAL,            /* layers with a window, in some models                      */
    GKV__ROPE_STILL,            /* layers without RoPE: all angles are 0                     */
    GKV__N_ROPES
};

/* Needed only for text: token/token.h, template/template.h. */
struct gkv__vocab;
struct gkv__template;
struct gkv__arch;

struct gkv_model {
    struct gkv__gguf           *file;
    struct gkv__vocab          *vocab;              /* NULL: unsupported tokenizer           */
    gkv_error                   vocab_error;        /* then: why                             */
    const struct gkv__arch     *arch;               /* NULL: opened for its vocabulary only  */
    struct gkv__shape           shape, near;        /* near: gkv__shape_near                  */
    bool                       *bound;              /* [n tensors] while opening: in use     */
    struct gkv__layer_weights  *layer;              /* [n_layer], and one more if mtp is there */
    struct gkv__mtp_weights     mtp;
    gkv_error                   mtp_error;          /* why it is not, though the file has such layers */
    struct gkv__mat             embed, output;      /* [n_vocab, n_embd]                     */
    struct gkv__mat             layer_embed;        /* [n_vocab, n_layer * n_embd_layer]     */
    const float                *layer_embed_norm;   /* [n_embd_layer]                        */
    const float                *output_norm;        /* [n_embd]                              */
    enum gkv__rope_kind         rope_kind;
    float                      *ones;               /* [head_dim] for norms without weights, or NULL */
    float                       rope_base;
    uint32_t                    rope_context;       /* context before it was extended        */
    struct gkv__rope            rope[GKV__N_ROPES];
    const struct gkv__template *chat_template;      /* NULL: unknown                         */
    struct gkv__template       *own_template;       /* the file's, if it can be run; ...     */
    gkv_error                   template_error;     /* ... else why it cannot                */
    uint32_t                    filter_layer, tsp_layer;
    const char                 *filter_layer_source, *tsp_layer_source;
    char                        filters[160];       /* numbers of the layers that can filter, or "": all */
    char                        name[64];
    struct gkv__types           types;
    struct gkv__store          *store;              /* weights as products read them (repacked.h) */
    double                      load_seconds;
    char                        source[32];         /* of layers that the caller set         */
};

/* The RoPE table of layer il in a pass over positions 0 .. span - 1. */
const struct gkv__rope *gkv__model_rope(const struct gkv_model *m, uint32_t il, uint64_t span);
/* The file's own chat template with a system prompt, or NULL, and told whether the model shall think; free(out->text)
 * when done. */
gkv_status gkv__model_template(const struct gkv_model *m, const char *system, bool think,
                               struct gkv__template *out, gkv_error *err);

/* The matrices of layer il, i from 0 to GKV__N_MATRICES - 1; one that it lacks has no data.  Some are several matrices, one
 * after the other. */
enum { GKV__N_MATRICES = 19 };
const struct gkv__mat *gkv__model_matrix(const struct gkv_model *m, uint32_t il, size_t i);
uint32_t               gkv__model_pieces(const struct gkv_model *m, uint32_t il, size_t i);

/* The weights of layer il are needed soon / are not needed now: affects residency only. */
void gkv__model_layer_need(const struct gkv_model *m, uint32_t il, bool need);
/* Releases the memory of all weights; they are read again when they are used. */
void gkv__model_drop(const struct gkv_model *m);

/* The shape of layer il, whose heads may be others than those of most layers. */
static inline const struct gkv__shape *gkv__shape_of(const struct gkv_model *m, uint32_t il)
{
    return m->layer[il].shape ? m->layer[il].shape : &m->shape;
}
/* Whether keys and values are of one size in all layers, which methods of one pass need. */
static inline bool gkv__is_even(const struct gkv_model *m)
{
    return !m->shape.near.head_dim;
}
/* Whether the model can guess with a layer of its own what comes after the next token. */
static inline bool gkv__has_mtp(const struct gkv_model *m)
{
    return m->mtp.eh.data;
}
/* Whether layer il attends, and how many of the first n layers do. */
static inline bool gkv__attends(const struct gkv_model *m, uint32_t il)
{
    return m->layer[il].mixer == GKV__ATTENTION;
}
static inline bool gkv__has_keys(const struct gkv_model *m, uint32_t il)
{
    return gkv__attends(m, il) && !m->layer[il].shares;
}
uint32_t gkv__n_attending(const struct gkv_model *m, uint32_t n);
static inline bool gkv__has_states(const struct gkv_model *m)
{
    return m->shape.state.width;
}
/* Channels of the convolution, and floats of one layer's state: the last width - 1 rows of the channels, and a
 * matrix [k_dim][v_dim] for each of v_heads (a short convolution has k_dim 0, so none). */
static inline uint64_t gkv__state_channels(const struct gkv__shape *s)
{
    return 2 * (uint64_t)s->state.k_heads * s->state.k_dim + (uint64_t)s->state.v_heads * s->state.v_dim;
}
static inline uint64_t gkv__state_floats(const struct gkv__shape *s)
{
    return s->state.width ? (s->state.width - 1) * gkv__state_channels(s) +
                            (uint64_t)s->state.v_heads * s->state.k_dim * s->state.v_dim : 0;
}
/* Whether layer il has keys that can score tokens; if not, may_filter says which layers have, GKV_INVALID. */
bool       gkv__can_filter(const struct gkv_model *m, uint32_t il);
gkv_status gkv__may_filter(const struct gkv_model *m, uint32_t il, gkv_error *err);

uint64_t gkv__model_layer_bytes(const struct gkv_model *m, uint32_t il);
uint64_t gkv__model_weight_bytes(const struct gkv_model *m);    /* of a pass through all layers */
uint64_t gkv__model_mtp_bytes(const struct gkv_model *m);       /* of m->mtp and its layer, beyond those */
uint64_t gkv__model_embed_bytes(const struct gkv_model *m);     /* of the embeddings of all tokens */
/* Bytes of them that n tokens leave out of memory, at least; and the same of those that are no output matrix, too. */
uint64_t gkv__model_embed_spare(const struct gkv_model *m, uint64_t n);
uint64_t gkv__model_input_spare(const struct gkv_model *m, uint64_t n);

#endif
