/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.h - the interface between libgemkv and a device plugin, gemkv-NAME.so.
 *
 * A plugin runs all layers of the second pass and of decoding on its device.  Once the weights are
 * uploaded, only token ids go to the device, and logits or the best token come back.
 *
 *     count, describe        list the devices
 *     open, plan, upload...  are called in a thread of their own, beside the first pass
 *     ready                  is called in that thread, after the last upload
 *     reserve, forward...    are called in the session's thread, never at the same time as the others
 *     close                  is always called last
 *
 * Every int is 0 for success; otherwise `error` has one line, and only close follows.  A plugin
 * never prints, exits, or holds a lock after a call. */
#ifndef GKV_PLUGIN_H
#define GKV_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Increased with any change below; a plugin with another number is not used. */
#define GKV_PLUGIN_ABI 1

enum { GKV_PLUGIN_ERROR = 256, GKV_PLUGIN_NAME = 64 };  /* bytes, with the NUL */

/* Tensors: of the model, then of each layer.  A model without OUTPUT uses EMBED in its place. */
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
    uint32_t      n_rot;        /* elements of a head that RoPE rotates                    */
    uint32_t      rope_halves;  /* pairs (i, i + n_rot / 2) rather than (2 i, 2 i + 1)     */
    float         eps;          /* of the norms                                            */
    const double *rope_freq;    /* [n_rot / 2] radians per position                        */
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

struct gkv_plugin {
    uint32_t    abi;            /* GKV_PLUGIN_ABI; if it differs, nothing else is read     */
    const char *name;

    int  (*count)(unsigned *n, char *error);
    int  (*describe)(unsigned device, struct gkv_plugin_device *out, char *error);

    /* budget: most bytes of device memory to use; 0: all that is free. */
    int  (*open)(void **out, unsigned device, uint64_t budget, char *error);
    /* Lists all tensors.  Both arrays may be freed after the call, but the tensors' data and the frequencies
     * stay valid.  Expected: n_tokens at once and n_positions in all.  Fails when something is not
     * supported, or does not fit. */
    int  (*plan)(void *d, const struct gkv_plugin_shape *s, const struct gkv_plugin_tensor *t,
                 size_t n, uint32_t n_tokens, uint32_t n_positions, char *error);
    int  (*upload)(void *d, size_t i, char *error);         /* tensor i of these           */
    int  (*ready)(void *d, char *error);

    int  (*reserve)(void *d, uint32_t n_positions, char *error);
    /* Tokens id[n] at positions pos ..., after those of earlier calls.  n is at most
     * largest_block().  Results: logits[n_vocab] of the last token, unless NULL; in *best, unless
     * NULL, the id of the largest (of equal ones the first). */
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
