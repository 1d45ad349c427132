/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.h - what libgemkv and a device plugin, gemkv-NAME.so, say to each other.
 *
 * A plugin runs all layers of the second pass and of decoding on its device.  Only token ids
 * go there once the weights are uploaded, and logits or the best token come back.
 *
 *     count, describe        the devices there are
 *     open, plan, upload...  in a thread of their own, beside the first pass
 *     ready                  in that thread, after the last upload
 *     reserve, forward...    in the thread of the session, never at once with the others
 *     close                  whatever happened before
 *
 * Every int is 0 or, with one line in error, a failure: then only close follows.  Nothing here
 * prints, exits, or keeps a lock over a call. */
#ifndef GKV_PLUGIN_H
#define GKV_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Goes up with any change below; a plugin of another number is not used. */
#define GKV_PLUGIN_ABI 1

enum { GKV_PLUGIN_ERROR = 256, GKV_PLUGIN_NAME = 64 };  /* bytes of one line with its NUL */

/* Tensors: of the model, then of each layer.  A model without an OUTPUT has EMBED there. */
enum gkv_plugin_role {
    GKV_PLUGIN_EMBED,           /* [n_vocab][n_embd]                                       */
    GKV_PLUGIN_OUTPUT_NORM,     /* [n_embd] f32                                            */
    GKV_PLUGIN_OUTPUT,          /* [n_vocab][n_embd]                                       */
    GKV_PLUGIN_ATTN_NORM,       /* [n_embd] f32                                            */
    GKV_PLUGIN_Q,               /* [n_head * head_dim][n_embd]                             */
    GKV_PLUGIN_K,               /* [n_head_kv * head_dim][n_embd]                          */
    GKV_PLUGIN_V,
    GKV_PLUGIN_O,               /* [n_embd][n_head * head_dim]                             */
    GKV_PLUGIN_FFN_NORM,        /* [n_embd] f32                                            */
    GKV_PLUGIN_GATE,            /* [n_ff][n_embd]                                          */
    GKV_PLUGIN_UP,
    GKV_PLUGIN_DOWN,            /* [n_embd][n_ff]                                          */
    GKV_PLUGIN_N_ROLES
};

/* One layer is  x += O attend(rope(Q norm(x)), rope(K norm(x)), V norm(x)),
 *               x += DOWN (silu(GATE norm(x)) * UP norm(x)). */
struct gkv_plugin_shape {
    uint32_t      n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab;
    uint32_t      n_rot;        /* of head_dim, what RoPE turns                            */
    uint32_t      rope_halves;  /* pairs (i, i + n_rot / 2) rather than (2 i, 2 i + 1)     */
    float         eps;          /* of the norms                                            */
    const double *rope_freq;    /* [n_rot / 2] radians per position                        */
};

struct gkv_plugin_tensor {
    uint32_t    role, layer;
    uint32_t    type;           /* ggml's number, as in a GGUF file: src/quant/quant.h           */
    uint32_t    n_out, n_in;    /* a vector has n_out 1                                    */
    const void *data;           /* stays there until close                                 */
    uint64_t    bytes;
};

struct gkv_plugin_device {
    char     name[GKV_PLUGIN_NAME];
    uint64_t memory, free;      /* bytes                                                   */
};

struct gkv_plugin_use {
    uint64_t bytes;             /* of the device's memory                                  */
    uint32_t n_resident;        /* layers that stay there; the others come with each pass  */
};

struct gkv_plugin {
    uint32_t    abi;            /* GKV_PLUGIN_ABI; nothing else is read if it differs      */
    const char *name;

    int  (*count)(unsigned *n, char *error);
    int  (*describe)(unsigned device, struct gkv_plugin_device *out, char *error);

    /* budget: bytes of device memory to use at most; 0: what is free. */
    int  (*open)(void **out, unsigned device, uint64_t budget, char *error);
    /* All that will come.  Both arrays may go away after the call, unlike the tensors' data
     * and the frequencies.  As far as is known, n_tokens will come at once and n_positions in
     * all.  Fails when something here is not supported, or cannot fit. */
    int  (*plan)(void *d, const struct gkv_plugin_shape *s, const struct gkv_plugin_tensor *t,
                 size_t n, uint32_t n_tokens, uint32_t n_positions, char *error);
    int  (*upload)(void *d, size_t i, char *error);         /* tensor i of these           */
    int  (*ready)(void *d, char *error);

    int  (*reserve)(void *d, uint32_t n_positions, char *error);
    /* Tokens id[n] at positions pos ..., after those of earlier calls.  n is at most
     * largest_block().  The last token's logits[n_vocab] unless NULL, and the id of
     * the largest (of equals the first) unless best is NULL. */
    int  (*forward)(void *d, const uint32_t *id, uint32_t n, uint32_t pos, float *logits,
                    uint32_t *best, char *error);
    uint32_t (*largest_block)(void *d);                     /* tokens of one forward       */
    void (*use)(void *d, struct gkv_plugin_use *out);
    void (*close)(void *d);
};

/* The one symbol of a plugin. */
#define GKV_PLUGIN_SYMBOL "gkv_plugin"
typedef const struct gkv_plugin *gkv_plugin_fn(void);

#endif
