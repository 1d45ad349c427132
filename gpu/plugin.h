/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.h - the interface between libgemkv and a device plugin, gemkv-NAME.so.
 *
 * A plugin runs all layers of the second pass and of decoding on its device.  Once the weights are
 * uploaded, only token ids go to the device, and logits or the best tokens come back.
 *
 *     count, describe        list the devices
 *     open, plan, upload...  are called in a thread of their own, beside the first pass
 *     ready                  is called in that thread, after the last upload
 *     begin, keys...         are called in the session's thread, never at the same time as the others
 *     forward...
 *     close                  is always called last
 *
 * What a model has is data: its tensors by their roles, and facts of its layers.  `plan` refuses what the plugin
 * cannot compute, and says what that is.
 *
 * Every int is 0 for success; otherwise `error` has one line, and only close follows.  A plugin
 * never prints, exits, or holds a lock after a call. */
#ifndef GKV_PLUGIN_H
#define GKV_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Increased with any change below; a plugin with another number is not used. */
#define GKV_PLUGIN_ABI 3

enum { GKV_PLUGIN_ERROR = 256, GKV_PLUGIN_NAME = 64 };  /* bytes, with the NUL */
enum { GKV_PLUGIN_ROWS = 5 };           /* tokens of a forward that have results, at most    */

/* Tensors, with the names by which messages call them.  Vectors are f32, [n_embd] unless said.  What a model or a layer
 * does not have is not listed; a model without OUTPUT uses EMBED in its place. */
#define GKV_PLUGIN_MODEL_ROLES(X)                                                                                   \
    X(EMBED, "embeddings")              /* [n_vocab][n_embd]                                 */                     \
    X(OUTPUT_NORM, "output norm")                                                                                   \
    X(OUTPUT, "output")                 /* [n_vocab][n_embd]                                 */                     \
    X(LAYER_EMBED, "embeddings of layers")      /* [n_vocab][n_layer * n_embd_layer]         */                     \
    X(LAYER_EMBED_NORM, "norm of embeddings of layers")
#define GKV_PLUGIN_LAYER_ROLES(X)                                                                                   \
    X(ATTN_NORM, "attention norm")                                                                                  \
    X(Q, "Q")                           /* [n_head * head_dim][n_embd]                       */                     \
    X(K, "K")                           /* [n_head_kv * head_dim][n_embd]                    */                     \
    X(V, "V")                           /* the same; without it, values are K times the row  */                     \
    X(O, "O")                           /* [n_embd][n_head * head_dim]                       */                     \
    X(Q_BIAS, "bias of Q")              /* [rows of Q]                                       */                     \
    X(K_BIAS, "bias of K")                                                                                          \
    X(V_BIAS, "bias of V")                                                                                          \
    X(O_BIAS, "bias of O")                                                                                          \
    X(Q_NORM, "norm of queries")        /* [head_dim], or of all heads: whole_norms          */                     \
    X(K_NORM, "norm of keys")                                                                                       \
    X(V_NORM, "norm of values")         /* [head_dim]                                        */                     \
    X(SINKS, "sinks")                   /* [n_head] a score of no key                        */                     \
    X(ATTN_POST, "norm after attention")                                                                            \
    X(FFN_NORM, "MLP norm")                                                                                         \
    X(GATE, "gate")                     /* [n_ff][n_embd]                                    */                     \
    X(UP, "up")                                                                                                     \
    X(DOWN, "down")                     /* [n_embd][n_ff]                                    */                     \
    X(FFN_POST, "norm after the MLP")                                                                               \
    X(OUT_SCALE, "scale of the layer")  /* [1]                                               */                     \
    /* Experts: GATE, UP and DOWN are n_expert matrices, one after the other.  Without UP, GATE has each expert's   \
     * gate and then its up. */                                                                                     \
    X(ROUTER, "router")                 /* [n_expert][n_embd]                                */                     \
    X(ROUTER_BIAS, "bias of the router")        /* [n_expert]                                */                     \
    X(GATE_BIAS, "bias of gates")       /* [n_expert][n_ff]                                  */                     \
    X(UP_BIAS, "bias of ups")                                                                                       \
    X(DOWN_BIAS, "bias of downs")       /* [n_expert][n_embd]                                */                     \
    X(SHARED_GATE, "gate for all rows") /* an expert for all rows                            */                     \
    X(SHARED_UP, "up for all rows")                                                                                 \
    X(SHARED_DOWN, "down for all rows")                                                                             \
    X(SHARED_ROUTER, "share of the expert for all rows")    /* times sigmoid(this . row)     */                     \
    X(ROUTER_NORM, "norm before the router")        /* of experts beside the MLP             */                     \
    X(EXPERT_NORM, "norm before the experts")                                                                       \
    X(SHARED_POST, "norm after the MLP beside experts")                                                             \
    X(EXPERT_POST, "norm after the experts")                                                                        \
    X(EXPERT_SCALE, "scales of experts")        /* [n_expert]                                */                     \
    X(EMBED_GATE, "gate of the layer's embeddings")                                                                 \
    X(EMBED_IN, "input of the layer's embeddings")                                                                  \
    X(EMBED_OUT, "output of the layer's embeddings")                                                                \
    X(EMBED_POST, "norm of the layer's embeddings")                                                                 \
    /* In place of Q .. O in layers with a state: src/model/model.h. */                                             \
    X(STATE_QKV, "projection of the state")                                                                         \
    X(STATE_Z, "gate of the state")                                                                                 \
    X(STATE_BETA, "rates of the state")                                                                             \
    X(STATE_ALPHA, "decays of the state")                                                                           \
    X(STATE_OUT, "output of the state")                                                                             \
    X(STATE_CONV, "convolution")        /* [channels][width]                                 */                     \
    X(STATE_CONV_BIAS, "bias of the convolution")                                                                   \
    X(STATE_DT, "bias of decays")                                                                                   \
    X(STATE_A, "decay of the state")                                                                                \
    X(STATE_SKIP, "share of the input")                                                                             \
    X(STATE_NORM, "norm of the state")

enum gkv_plugin_role {
#define GKV_PLUGIN_ROLE(NAME, text) GKV_PLUGIN_##NAME,
    GKV_PLUGIN_MODEL_ROLES(GKV_PLUGIN_ROLE)
    GKV_PLUGIN_LAYER_ROLES(GKV_PLUGIN_ROLE)
#undef GKV_PLUGIN_ROLE
    GKV_PLUGIN_N_ROLES
};

/* What mixes the tokens of a layer: the values are those of enum gkv__mixer in src/model/model.h. */
enum gkv_plugin_mixer { GKV_PLUGIN_ATTENTION, GKV_PLUGIN_DELTA, GKV_PLUGIN_MAMBA2, GKV_PLUGIN_SHORT_CONV };

/* The MLP's activation: silu, gelu by tanh, or, of g at most 7 and u in -7 .. 7,  (1 + u) g / (1 + e^(-1.702 g)). */
enum gkv_plugin_glu { GKV_PLUGIN_SILU, GKV_PLUGIN_GELU, GKV_PLUGIN_CLAMPED };

/* Shares of the experts of a row: enum gkv__router in src/model/model.h. */
enum gkv_plugin_router { GKV_PLUGIN_SOFTMAX, GKV_PLUGIN_SIGMOID, GKV_PLUGIN_SIGMOID_IN };

/* RoPE tables of a model: of most layers, and of layers with a window in some models. */
enum { GKV_PLUGIN_ROPE_ALL, GKV_PLUGIN_ROPE_LOCAL, GKV_PLUGIN_N_ROPES };

struct gkv_plugin_rope {
    const double *freq;         /* [n_rot / 2] radians per position; NULL: not used          */
    uint32_t      n_rot;        /* elements of a head that it rotates                        */
    double        scale;        /* factor of cosines and sines                               */
};

struct gkv_plugin_layer {
    uint32_t mixer;             /* enum gkv_plugin_mixer                                     */
    uint32_t head_dim, n_head_kv;
    uint32_t rope;              /* its table; GKV_PLUGIN_N_ROPES: its heads are not rotated  */
    uint32_t window;            /* a query sees the last so many slots ...                   */
    uint32_t chunk;             /* ... and of those its own chunk of so many; 0: no limit    */
    uint32_t whole_norms;       /* Q_NORM and K_NORM are over all heads together             */
    uint32_t tempered;
    uint32_t source;            /* the layer whose keys and values it uses: itself, or an earlier one */
};

/* One layer is  x += O attend(rope(Q norm(x)), rope(K norm(x)), V norm(x)),
 *               x += DOWN (silu(GATE norm(x)) * UP norm(x)),
 * with what there is besides: src/engine/layer.c computes the same. */
struct gkv_plugin_shape {
    uint32_t n_layer, n_embd, n_head, n_vocab;
    uint32_t rope_halves;       /* pairs (i, i + n_rot / 2) rather than (2 i, 2 i + 1)       */
    uint32_t glu;               /* enum gkv_plugin_glu                                       */
    uint32_t gated;             /* sums of attention times sigmoid(gate); each head's is below its query in Q */
    float    eps;               /* of the norms                                              */
    float    embed_scale, logit_scale, residual_scale;      /* factors, 1 in most models     */
    double   attn_scale;        /* factor of scores; 0: 1 / root of head_dim                 */
    float    attn_cap, logit_cap;   /* c > 0: x becomes c tanh(x / c)                        */
    /* Queries at position p of tempered layers, times 1 + temper * ln(1 + floor((p + temper_shift) / temper_span)). */
    float    temper;
    uint32_t temper_span, temper_shift;
    uint32_t n_expert, n_used, n_ff_expert, router;
    uint32_t beside;            /* experts are beside the MLP: src/engine/moe.c              */
    uint32_t n_embd_layer, n_sharing;
    uint32_t state_width, k_heads, v_heads, k_dim, v_dim, side_by_side;
    const struct gkv_plugin_layer *layer;                   /* [n_layer]                     */
    struct gkv_plugin_rope         rope[GKV_PLUGIN_N_ROPES];    /* as expected in begin      */
    /* n elements of a tensor type, whole blocks, as floats: for types that the plugin does not know. */
    void (*widen)(uint32_t type, const void *from, float *to, size_t n);
};

struct gkv_plugin_tensor {
    uint32_t    role, layer;
    uint32_t    type;           /* ggml's number, as in a GGUF file: src/quant/types.h */
    uint32_t    n_out, n_in;    /* n_out is 1 for a vector                                 */
    const void *data;           /* valid until close                                       */
    uint64_t    bytes;
};

struct gkv_plugin_device {
    char     name[GKV_PLUGIN_NAME];
    uint64_t memory, free;      /* bytes                                                   */
};

struct gkv_plugin_use {
    uint64_t bytes;             /* used of the device's memory                             */
    uint32_t n_resident;        /* layers that stay there; others are copied per pass      */
};

/* Slots of a layer's keys and values: one for each token, unless a method kept some tokens of each head. */
struct gkv_plugin_slots {
    uint32_t n;                 /* room for so many                                          */
    uint32_t n_head_kv;         /* a multiple of the layer's: query heads of a group may keep different tokens */
    uint32_t shift;             /* the token at position p is in slot p - shift              */
};

struct gkv_plugin_begin {
    uint32_t first, n;          /* forward will be called for positions first .. first + n - 1 */
    struct gkv_plugin_rope rope[GKV_PLUGIN_N_ROPES];
    const struct gkv_plugin_slots *layer;                   /* [n_layer]                     */
};

struct gkv_plugin {
    uint32_t    abi;            /* GKV_PLUGIN_ABI; if it differs, nothing else is read     */
    const char *name;

    int  (*count)(unsigned *n, char *error);
    int  (*describe)(unsigned device, struct gkv_plugin_device *out, char *error);

    /* budget: most bytes of device memory to use; 0: all that is free. */
    int  (*open)(void **out, unsigned device, uint64_t budget, char *error);
    /* Lists all tensors.  The array may be freed after the call, but the tensors' data and what the shape points to
     * stay valid.  Expected: n_tokens at once and n_positions in all.  Fails when something is not supported, or does not
     * fit. */
    int  (*plan)(void *d, const struct gkv_plugin_shape *s, const struct gkv_plugin_tensor *t,
                 size_t n, uint32_t n_tokens, uint32_t n_positions, char *error);
    int  (*upload)(void *d, size_t i, char *error);         /* tensor i of these           */
    int  (*ready)(void *d, char *error);

    /* Makes room for a prompt and its answer, and forgets the one before. */
    int  (*begin)(void *d, const struct gkv_plugin_begin *b, char *error);
    /* Slots 0 .. n - 1 of one head of a layer: keys, rotated, and values, f16 [n][head_dim]. */
    int  (*keys)(void *d, uint32_t layer, uint32_t head, uint32_t n, const uint16_t *k, const uint16_t *v, char *error);
    /* Tokens id[n] at positions pos ..., behind those of earlier calls or in the place of some: what there was at pos and
     * behind it is forgotten.  (A model with states of layers never goes back, but to position 0.)  n is at most
     * largest_block().  Results of the last `rows` tokens, at most n and GKV_PLUGIN_ROWS: logits[rows][n_vocab], unless NULL;
     * in best[rows], unless NULL, the ids of the largest (of equal ones the first). */
    int  (*forward)(void *d, const uint32_t *id, uint32_t n, uint32_t pos, uint32_t rows, float *logits,
                    uint32_t *best, char *error);
    uint32_t (*largest_block)(void *d);                     /* tokens of one forward       */
    void (*use)(void *d, struct gkv_plugin_use *out);
    void (*close)(void *d);
};

/* The one symbol of a plugin. */
#define GKV_PLUGIN_SYMBOL "gkv_plugin"
typedef const struct gkv_plugin *gkv_plugin_fn(void);

#endif
